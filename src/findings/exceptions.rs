//! Exceptions that the owners of a database have signed, in `collector/evidence_exceptions.yaml`:
//!
//! ```yaml
//! standards_exceptions:
//! - rule: measure-the-serving-path
//!   tables: [mhc_module_perf]
//!   backend: trtllm
//!   versions: [1.3.0rc23]
//!   systems: [b200_sxm]
//!   approved_by: a maintainer
//!   expires: 2026-10-31
//! ```
//!
//! The predictions that their gate expects to lose are listed in `expected_data_misses.csv`. A JSON manifest of the
//! same name has the list's digest.

use std::collections::{BTreeMap, BTreeSet};

use jiff::civil::Date;
use serde::Deserialize;
use serde_json::Value;

use super::waiver::parse_date;
use super::{Finding, Severity};
use crate::base::digest::sha256;
use crate::base::error::Reason;

/// Path of the exceptions file, relative to the repository root.
pub const PATH: &str = "collector/evidence_exceptions.yaml";

/// Path of the list of predictions that the owners expect to lose, relative to the repository root and without
/// extension. The list is a `.csv` file, its manifest a `.json` file.
pub const MISSES: &str = "tools/prediction_regression_gate/expected_data_misses";

/// The exceptions that the owners of a repository approved, and the predictions that they expect to lose.
#[derive(Debug, Default)]
pub(crate) struct Exceptions {
    entries: Vec<(Exception, Date)>,
    misses: BTreeSet<ExpectedMiss>,
    /// Descriptions of the entries that cannot be read and excuse nothing.
    pub unread: Vec<String>,
}

/// An exception of one rule for some tables.
#[derive(Debug, Deserialize)]
struct Exception {
    rule: String,
    tables: OneOrMoreNames,
    backend: OneOrMoreNames,
    versions: OneOrMoreNames,
    systems: OneOrMoreNames,
    approved_by: String,
    expires: String,
}

/// A model's prediction that the owners expect to lose.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
struct ExpectedMiss {
    /// Path of the file with the predictions for a system, backend and version: `h200_sxm/vllm/0.24.0.csv`.
    combo: String,
    model: String,
}

/// The manifest of the list of expected losses. It states the list's digest; a list with another digest is invalid.
#[derive(Debug, Deserialize)]
struct MissManifest {
    csv_sha256: String,
    expected_failure_enabled: bool,
}

/// One name, or a list of names.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum OneOrMoreNames {
    One(String),
    Several(Vec<String>),
}

impl OneOrMoreNames {
    fn has(&self, name: &str) -> bool {
        let names = match self {
            Self::One(own) => std::slice::from_ref(own),
            Self::Several(names) => names,
        };
        names.iter().any(|own| own.strip_suffix(".parquet").unwrap_or(own) == name)
    }
}

impl Exceptions {
    /// Parses the exceptions file. Lists whose name does not end in `exceptions` are ignored. An entry that cannot be
    /// read becomes a description in `unread` instead of an error, since the file has another owner.
    pub(crate) fn parse(text: &str) -> Self {
        let mut all = Self::default();
        let lists: BTreeMap<String, Value> = match crate::base::yaml::parse(text) {
            Ok(lists) => lists,
            Err(why) => {
                all.unread.push(format!("the exceptions cannot be read: {why}"));
                return all;
            }
        };
        let lists = lists.into_iter().filter(|(name, _)| name.ends_with("exceptions"));
        for (name, list) in lists {
            for (i, entry) in list.as_array().into_iter().flatten().enumerate() {
                match Exception::read(entry) {
                    Ok(entry) => all.entries.push(entry),
                    Err(why) => all.unread.push(format!("{name}[{i}] excuses nothing: {why}")),
                }
            }
        }
        all
    }

    /// Adds the list of expected losses (`misses`, CSV). The list is ignored unless `manifest` (JSON) states the list's
    /// digest and enables the list.
    pub(crate) fn add_expected_losses(&mut self, manifest: &str, misses: &str) {
        let signed = serde_json::from_str::<MissManifest>(manifest).is_ok_and(|manifest| {
            manifest.csv_sha256 == sha256(misses.as_bytes()) && manifest.expected_failure_enabled
        });
        let lines = csv::Reader::from_reader(misses.as_bytes()).into_deserialize();
        self.misses.extend(lines.filter_map(Result::ok).filter(|_| signed));
    }

    fn expects(&self, finding: &Finding) -> bool {
        let (Some(at), Some(Value::Array(models))) =
            (&finding.place, finding.evidence.get("models"))
        else {
            return false;
        };
        let combo = format!("{}/{}/{}.csv", at.system, at.backend, at.version);
        let mut models = models.iter().filter_map(Value::as_str);
        models.all(|model| {
            let miss = ExpectedMiss { combo: combo.clone(), model: model.to_owned() };
            self.misses.contains(&miss)
        })
    }

    /// Changes excused findings to infos, and names the exception in their messages. Returns descriptions of expired
    /// exceptions.
    ///
    /// `is_rule` returns true for a rule of this program. An exception of such a rule excuses the rule's findings on
    /// the exception's tables. An exception of any other rule excuses all warnings on its tables, but no errors.
    pub(crate) fn apply(
        &self,
        findings: &mut [Finding],
        today: Date,
        is_rule: &dyn Fn(&str) -> bool,
    ) -> Vec<String> {
        let lost = findings.iter_mut().filter(|finding| finding.rule == "prediction-lost");
        for finding in lost.filter(|finding| self.expects(finding)) {
            finding.severity = Severity::Info;
            finding.message += &format!("; expected by {MISSES}.csv, which has no expiry");
        }
        let mut expired = Vec::new();
        for (exception, until) in &self.entries {
            let Exception { rule, approved_by, .. } = exception;
            if *until < today {
                expired.push(format!("the exception of {rule} by {approved_by} ended on {until}"));
                continue;
            }
            let is_own = is_rule(rule);
            let is_meant = |finding: &&mut Finding| {
                if is_own {
                    finding.rule == *rule && finding.severity != Severity::Info
                } else {
                    finding.severity == Severity::Warning
                }
            };
            let meant = findings.iter_mut().filter(is_meant);
            for finding in meant.filter(|finding| exception.covers(finding)) {
                finding.severity = Severity::Info;
                finding.message += &format!(
                    "; excused by {PATH}: {rule}, approved by {approved_by} until {until}"
                );
            }
        }
        expired
    }
}

impl Exception {
    fn read(entry: &Value) -> Result<(Self, Date), Reason> {
        let exception: Self =
            serde_json::from_value(entry.clone()).map_err(|why| Reason::from(why.to_string()))?;
        if exception.approved_by.trim().is_empty() {
            return Err("approved_by is empty".into());
        }
        let until = parse_date(&exception.expires)?;
        Ok((exception, until))
    }

    fn covers(&self, finding: &Finding) -> bool {
        let (Some(place), Some(table)) = (&finding.place, &finding.table) else { return false };
        self.tables.has(table)
            && self.backend.has(&place.backend)
            && self.versions.has(&place.version)
            && self.systems.has(&place.system)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::database::catalog::Place;

    #[test]
    fn a_lost_prediction_of_expected_models_is_an_info() {
        let csv = "combo,model,quant\nh200_sxm/vllm/0.24.0.csv,acme/A,fp8\n";
        let manifest = |digest: &str, enabled: bool| {
            format!(
                "{{\"case_count\": 1, \"csv_sha256\": \"{digest}\", \"expected_failure_enabled\": {enabled}}}"
            )
        };
        let place = |version: &str| Place {
            system: "h200_sxm".to_owned(),
            family: None,
            backend: "vllm".to_owned(),
            version: version.to_owned(),
        };
        let severity = |manifest: &str, version: &str, models: &[&str]| {
            let mut exceptions = Exceptions::default();
            exceptions.add_expected_losses(manifest, csv);
            let lost = Finding::on_path("prediction-lost", Severity::Error, "p", "m");
            let mut found = [lost.at(&place(version)).evidence("models", models.to_vec())];
            exceptions.apply(&mut found, "2026-11-01".parse().unwrap(), &|_| true);
            found[0].severity
        };
        let signed = manifest(&sha256(csv.as_bytes()), true);
        assert_eq!(severity(&signed, "0.24.0", &["acme/A"]), Severity::Info);
        assert_eq!(severity(&signed, "0.24.0", &["acme/A", "acme/B"]), Severity::Error);
        assert_eq!(severity(&signed, "0.25.0", &["acme/A"]), Severity::Error);
        let disabled = manifest(&sha256(csv.as_bytes()), false);
        assert_eq!(severity(&disabled, "0.24.0", &["acme/A"]), Severity::Error);
        assert_eq!(severity(&manifest("0", true), "0.24.0", &["acme/A"]), Severity::Error);
    }
}
