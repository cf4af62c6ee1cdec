//! Waivers: findings that a maintainer has accepted until a date.
//!
//! ```yaml
//! waivers:
//! - rule: duplicate-key
//!   path: "**/h200_sxm/comm/nccl/2.26.2/*"
//!   where: rows <= 504
//!   reason: collected twice, the runs agree
//!   evidence: https://example.org/issues/1
//!   approved_by: a maintainer
//!   until: 2027-06-30
//! ```

use std::collections::BTreeSet;

use globset::GlobMatcher;
use jiff::civil::Date;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::base::error::{Error, Reason, nearest, unknown};
use crate::base::expr::{Expr, ExprError, Scope, Vals, Value};
use crate::base::glob::{GlobScope, matcher};
use crate::findings::Finding;

/// A waiver: states which findings of a rule a maintainer accepts, why, and until when.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Waiver {
    /// Id of the waived rule.
    pub rule: String,
    /// Glob over the finding's path; `**` crosses folders.
    pub path: String,
    /// Condition on the finding's `rows`, `severity` and evidence. Without a condition, all findings of the rule on the
    /// path are waived.
    #[serde(default, rename = "where")]
    pub predicate: Option<Expr>,
    /// The reason why the finding is acceptable.
    pub reason: String,
    /// Reference to the evidence for the reason.
    pub evidence: String,
    /// Name of the person who approved the waiver.
    pub approved_by: String,
    /// Last day on which the waiver applies, such as `2027-06-30`.
    #[schemars(extend("format" = "date"))]
    pub until: String,
}

/// The validated waivers of a file.
#[derive(Debug, Default)]
pub struct Waivers {
    entries: Vec<(Waiver, GlobMatcher, Date)>,
    /// Path of the file with the waivers.
    pub path: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct File {
    #[schemars(with = "Vec<Waiver>", required)]
    waivers: Option<Vec<Waiver>>,
}

/// The JSON schema of a file of waivers.
pub(crate) fn schema(generator: schemars::SchemaGenerator) -> schemars::Schema {
    generator.into_root_schema_for::<File>()
}

impl Waiver {
    /// Returns the matcher of the waiver's path and the waiver's last day. Fails if the reason, the evidence or the
    /// name of the approver is empty.
    fn check(&self) -> Result<(GlobMatcher, Date), Reason> {
        let signed = [
            ("reason", &self.reason),
            ("evidence", &self.evidence),
            ("approved_by", &self.approved_by),
        ];
        if let Some((name, _)) = signed.iter().find(|(_, value)| value.trim().is_empty()) {
            return Err(format!("{name} is empty").into());
        }
        let glob = matcher(&self.path, GlobScope::Paths)?;
        let until = parse_date(&self.until)?;
        Ok((glob, until))
    }
}

/// Parses a date; the error says how dates are written.
pub(crate) fn parse_date(text: &str) -> Result<Date, Reason> {
    text.parse()
        .map_err(|_| format!("'{text}' is not a date: write YYYY-MM-DD, such as 2027-12-31").into())
}

/// A hint for error messages, which names the documentation of waivers.
pub(crate) const WAIVER_HINT: &str = "docs/validate.md explains how a waiver is written, in \"The repository's own settings\"; \
                               `perfdb-gate schema waivers` prints its fields for an editor";

/// An error in the condition of a waiver.
#[derive(Debug, thiserror::Error)]
pub enum WaiverError {
    /// The waiver's condition cannot be evaluated.
    #[error(transparent)]
    Formula(#[from] ExprError),
    /// The waiver's condition uses a name that no finding of the rule has, such as a misspelt one.
    #[error("the condition of the waiver of {rule} uses {name}")]
    Unknown {
        /// Id of the waived rule.
        rule: String,
        /// The unknown name in the condition.
        name: String,
        /// Names that the condition may use.
        known: Vec<String>,
    },
}

impl WaiverError {
    /// Converts to an error of the program, which names the waiver file at `path`.
    pub(crate) fn of(self, path: &str) -> Error {
        let message = format!("{path}: {self}");
        match &self {
            Self::Formula(_) => Error::new(message, WAIVER_HINT),
            Self::Unknown { name, known, .. } => {
                let near = unknown("name", name, known.iter().map(String::as_str));
                Error::new(message + ", which the findings of this rule do not have", near.hint)
            }
        }
    }
}

impl Waivers {
    /// Returns the id of each waiver's rule, in the order of the waivers.
    pub(crate) fn rules(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().map(|(waiver, ..)| waiver.rule.as_str())
    }

    /// Parses and validates a file of waivers.
    pub fn parse(path: &str, text: &str) -> Result<Self, Reason> {
        // A file without any entry, such as one of comments alone, has no waivers.
        let file: Option<File> = crate::base::yaml::parse(text)?;
        let waivers = file.and_then(|file| file.waivers).unwrap_or_default();
        let mut entries = Vec::new();
        for (i, waiver) in waivers.into_iter().enumerate() {
            let (glob, until) =
                waiver.check().map_err(|why| Reason::from(format!("waivers[{i}]: {why}")))?;
            entries.push((waiver, glob, until));
        }
        Ok(Self { entries, path: path.to_owned() })
    }

    /// Marks the findings that are waived on `today`. Returns messages on waivers that have expired or matched
    /// nothing.
    ///
    /// # Errors
    ///
    /// If a condition cannot be evaluated or has a misspelt name.
    pub fn apply(&self, findings: &mut [Finding], today: Date) -> Result<Applied, WaiverError> {
        let mut applied = Applied::default();
        for (waiver, glob, until) in &self.entries {
            let mut matched = false;
            let is_for = |f: &Finding| f.rule == waiver.rule && glob.is_match(&f.path);
            let meant: Vec<usize> = (0..findings.len()).filter(|i| is_for(&findings[*i])).collect();
            check_names(waiver, meant.iter().map(|i| &findings[*i]))?;
            for i in meant {
                let finding = &mut findings[i];
                if !holds(waiver, finding)? {
                    continue;
                }
                matched = true;
                if *until >= today {
                    finding.waived_by.get_or_insert_with(|| waiver.approved_by.clone());
                }
            }
            let named = format!("{} on {}", waiver.rule, waiver.path);
            if *until < today {
                applied.expired.push(format!("the waiver of {named} ended on {until}"));
            } else if !matched {
                let told = format!("the waiver of {named} does not match any finding");
                applied.unused.push((waiver.rule.clone(), told));
            }
        }
        Ok(applied)
    }
}

/// Messages on waivers that had no effect.
#[derive(Debug, Default)]
pub struct Applied {
    /// Messages on waivers whose last day has passed.
    pub expired: Vec<String>,
    /// Messages on the owners' exceptions past their last day.
    pub expired_exceptions: Vec<String>,
    /// The rule's id and a message for each waiver that matches no finding.
    pub unused: Vec<(String, String)>,
}

impl Applied {
    /// Returns the messages on waivers that match no finding although their rule ran, or whose rule does not exist.
    /// `ran` returns true for a rule that ran, and `known` for a rule that exists.
    pub fn unused_by(
        &self,
        ran: &dyn Fn(&str) -> bool,
        known: &dyn Fn(&str) -> bool,
    ) -> Vec<String> {
        let is_decided = |rule: &String| !known(rule) || ran(rule);
        self.unused
            .iter()
            .filter(|(rule, _)| is_decided(rule))
            .map(|(_, said)| said.clone())
            .collect()
    }
}

/// Rejects a condition with a misspelt name: none of the findings has a value with this name, but one has a value with
/// a similar name.
fn check_names<'a>(
    waiver: &Waiver,
    findings: impl Iterator<Item = &'a Finding>,
) -> Result<(), WaiverError> {
    let Some(predicate) = &waiver.predicate else { return Ok(()) };
    let mut findings = findings.peekable();
    if findings.peek().is_none() {
        return Ok(());
    }
    let mut known: BTreeSet<String> =
        findings.flat_map(|finding| finding.evidence.json().into_keys()).collect();
    known.extend(["rows", "severity"].map(str::to_owned));
    // A correct name may be missing from today's findings; the waiver then matches nothing. A misspelt
    // name resembles a name that the findings have.
    let is_misspelt = |name: &&str| {
        !known.contains(*name) && nearest(name, known.iter().map(String::as_str)).is_some()
    };
    match predicate.columns().into_iter().find(is_misspelt) {
        None => Ok(()),
        Some(name) => Err(WaiverError::Unknown {
            rule: waiver.rule.clone(),
            name: name.to_owned(),
            known: known.into_iter().collect(),
        }),
    }
}

fn holds(waiver: &Waiver, finding: &Finding) -> Result<bool, ExprError> {
    let Some(predicate) = &waiver.predicate else { return Ok(true) };
    Ok(predicate.mask(&FindingFacts(finding))?.get(0))
}

/// A finding whose values a waiver's condition can read by name.
struct FindingFacts<'a>(&'a Finding);

impl Scope for FindingFacts<'_> {
    fn column(&self, name: &str) -> Option<Value<'_>> {
        match name {
            // All rows count, even if the finding reports only the new or the old ones.
            "rows" => {
                let rows = self.0.all_rows.unwrap_or(self.0.rows);
                Some(Value::Number(Vals::One(rows as f64)))
            }
            "severity" => Some(Value::text(self.0.severity.into_str())),
            _ => self.0.evidence.get(name).map(|value| Value::of_json(&value)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::Severity;

    const FILE: &str = "waivers:\n- rule: r\n  path: \"**/a/*\"\n  where: rows <= 5\n  reason: x\n  evidence: x\n  approved_by: me\n  until: 2030-01-31\n";

    fn finding(path: &str, rows: usize) -> Finding {
        Finding::on_path("r", Severity::Error, path, "m").rows(rows)
    }

    #[test]
    fn a_waiver_applies_to_its_rule_path_and_condition_until_its_date() {
        let waivers = Waivers::parse("w", FILE).unwrap();
        let mut findings = [finding("x/a/t", 5), finding("x/a/t", 6), finding("x/b/t", 5)];
        let applied = waivers.apply(&mut findings, "2030-01-31".parse().unwrap()).unwrap();
        assert_eq!(findings.each_ref().map(|f| f.waived_by.is_some()), [true, false, false]);
        assert!(applied.expired.is_empty() && applied.unused.is_empty());

        let mut findings = [finding("x/a/t", 5)];
        let late = waivers.apply(&mut findings, "2030-02-01".parse().unwrap()).unwrap();
        assert_eq!((findings[0].waived_by.is_none(), late.expired.len()), (true, 1));
        let none = waivers.apply(&mut [], "2030-01-31".parse().unwrap()).unwrap();
        assert_eq!(none.unused[0].1, "the waiver of r on **/a/* does not match any finding");
    }

    #[test]
    fn an_unknown_name_in_a_waiver_is_an_error_that_suggests_the_nearest() {
        let waivers = Waivers::parse("w", &FILE.replace("rows <= 5", "worst_ratoi < 5")).unwrap();
        let mut findings = [finding("x/a/t", 5).evidence("worst_ratio", 2.0)];
        let error =
            waivers.apply(&mut findings, "2030-01-31".parse().unwrap()).unwrap_err().of("w");
        assert_eq!(
            error.message,
            "w: the condition of the waiver of r uses worst_ratoi, which the findings of this rule do not have"
        );
        assert!(error.hint.starts_with("did you mean worst_ratio?"), "{}", error.hint);
        // Without a matching finding, the valid names are unknown.
        assert!(waivers.apply(&mut [], "2030-01-31".parse().unwrap()).is_ok());
    }

    #[test]
    fn a_waiver_without_approval_is_refused() {
        let unsigned = FILE.replace("approved_by: me", "approved_by: ''");
        assert_eq!(
            Waivers::parse("w", &unsigned).unwrap_err().to_string(),
            "waivers[0]: approved_by is empty"
        );
        assert!(
            Waivers::parse("w", &FILE.replace("2030-01-31", "soon"))
                .unwrap_err()
                .to_string()
                .contains("not a date")
        );
    }
}
