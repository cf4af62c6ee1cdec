//! Waivers: findings that a maintainer has signed for, until a date.
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

use std::borrow::Cow;
use std::collections::BTreeSet;

use globset::GlobMatcher;
use jiff::civil::Date;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value as Json;

use crate::base::error::{Error, nearest, unknown};
use crate::base::expr::{Expr, ExprError, Lookup, Scope, Vals, Value};
use crate::base::glob::{Of, matcher};
use crate::base::reason::Reason;
use crate::findings::Finding;

/// A signed exception.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Waiver {
    /// The rule it waives.
    pub rule: String,
    /// Which files, as a glob over the finding's path; `**` crosses folders.
    pub path: String,
    /// A condition on the finding's `rows`, `severity` and evidence.
    #[serde(default, rename = "where")]
    pub predicate: Option<Expr>,
    /// Why the finding is right to be there.
    pub reason: String,
    /// Where that can be seen.
    pub evidence: String,
    /// Who says so.
    pub approved_by: String,
    /// The last day it holds, `2027-06-30`.
    #[schemars(extend("format" = "date"))]
    pub until: String,
}

/// A file of waivers, checked.
#[derive(Debug, Default)]
pub struct Waivers {
    entries: Vec<(Waiver, GlobMatcher, Date)>,
    /// The file they are from.
    pub path: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct File {
    waivers: Vec<Waiver>,
}

/// The schema of a file of waivers.
pub(crate) fn schema(generator: schemars::SchemaGenerator) -> schemars::Schema {
    generator.into_root_schema_for::<File>()
}

impl Waiver {
    /// The paths that it matches and its last day, where it is signed.
    fn check(&self) -> Result<(GlobMatcher, Date), Reason> {
        let signed = [
            ("reason", &self.reason),
            ("evidence", &self.evidence),
            ("approved_by", &self.approved_by),
        ];
        if let Some((name, _)) = signed.iter().find(|(_, value)| value.trim().is_empty()) {
            return Err(format!("{name} is empty").into());
        }
        let glob = matcher(&self.path, Of::Paths)?;
        let until = self.until.parse().map_err(|_| format!("'{}' is not a date", self.until))?;
        Ok((glob, until))
    }
}

/// Where the format of waivers is described.
pub const WAIVER_HINT: &str = "docs/validate.md explains how a waiver is written, in \"The repository's own settings\"; \
                               `perfdb-gate schema waivers` prints its fields for an editor";

/// Why waivers cannot be applied.
#[derive(Debug, thiserror::Error)]
pub enum WaiverError {
    /// Its condition cannot be evaluated.
    #[error(transparent)]
    Formula(#[from] ExprError),
    /// Its condition reads what no finding of its rule has: it would never hold, or always.
    #[error("the condition of the waiver of {rule} uses {name}")]
    Unknown {
        /// The rule waived.
        rule: String,
        /// What it reads.
        name: String,
        /// What it could read.
        known: Vec<String>,
    },
}

impl WaiverError {
    /// The error that ends a run, of a file of waivers.
    pub fn of(self, path: &str) -> Error {
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
    /// The rules that they are for, in their order.
    pub fn rules(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().map(|(waiver, ..)| waiver.rule.as_str())
    }

    /// Parses a file of waivers.
    pub fn parse(path: &str, text: &str) -> Result<Self, Reason> {
        let file: File = crate::base::yaml::parse(text)?;
        let mut entries = Vec::new();
        for (i, waiver) in file.waivers.into_iter().enumerate() {
            let (glob, until) =
                waiver.check().map_err(|why| Reason::from(format!("waivers[{i}]: {why}")))?;
            entries.push((waiver, glob, until));
        }
        Ok(Self { entries, path: path.to_owned() })
    }

    /// Marks what is waived on `today`; returns the waivers that are past their date and those that
    /// matched nothing, in words.
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

/// What is to be said of the waivers themselves.
#[derive(Debug, Default)]
pub struct Applied {
    /// Past their date.
    pub expired: Vec<String>,
    /// Matching no finding: the rule, and what is to be said.
    pub unused: Vec<(String, String)>,
}

impl Applied {
    /// What is to be said of waivers that match nothing, of rules that ran or that there are not: a
    /// run over tables cannot know what a waiver of a rule on traces is for.
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

/// That the condition reads no misspelt name, by the figures of the findings that it is for.
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
    // A figure that today's findings happen to lack is told by what they do not match; a misspelt one looks
    // like one that they have.
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

/// A finding as predicates see it: one row.
struct FindingFacts<'a>(&'a Finding);

impl Scope for FindingFacts<'_> {
    fn rows(&self) -> usize {
        1
    }

    fn column(&self, name: &str) -> Option<Value<'_>> {
        let text = |t: &str| Value::Text(Vals::One(0), Cow::Owned(vec![t.into()]));
        match (name, self.0.evidence.get(name)) {
            // A pull request's half of a finding is no smaller finding.
            ("rows", _) => {
                let rows = self.0.all_rows.unwrap_or(self.0.rows);
                Some(Value::Number(Vals::One(rows as f64)))
            }
            ("severity", _) => Some(text(self.0.severity.name())),
            (_, Some(Json::Number(n))) => {
                Some(Value::Number(Vals::One(n.as_f64().unwrap_or(f64::NAN))))
            }
            (_, Some(Json::String(t))) => Some(text(&t)),
            _ => None,
        }
    }

    fn field(&self, _: &str) -> Option<f64> {
        None
    }

    fn lookup(&self, _: &Lookup, _: &str) -> Option<f64> {
        None
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
    fn a_waiver_holds_for_its_rule_path_predicate_and_time() {
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
    fn a_name_that_no_finding_has_is_an_error_with_the_nearest() {
        let waivers = Waivers::parse("w", &FILE.replace("rows <= 5", "worst_ratoi < 5")).unwrap();
        let mut findings = [finding("x/a/t", 5).evidence("worst_ratio", 2.0)];
        let error =
            waivers.apply(&mut findings, "2030-01-31".parse().unwrap()).unwrap_err().of("w");
        assert_eq!(
            error.message,
            "w: the condition of the waiver of r uses worst_ratoi, which the findings of this rule do not have"
        );
        assert!(error.hint.starts_with("did you mean worst_ratio?"), "{}", error.hint);
        // Without a finding that it is for, nothing tells what there could be.
        assert!(waivers.apply(&mut [], "2030-01-31".parse().unwrap()).is_ok());
    }

    #[test]
    fn an_unsigned_waiver_is_refused() {
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
