//! What a base state has of the findings of a later one, wherever they lie.

use std::collections::{BTreeMap, BTreeSet};

use super::{Finding, Novelty, Severity};

/// What a finding is about, in whatever layout: rule, place, table or file, slice.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Subject(Vec<String>);

impl Subject {
    /// What a finding is about.
    fn of(finding: &Finding) -> Self {
        let mut of = vec![finding.rule.clone()];
        let file = finding.path.rsplit('/').next().unwrap_or(&finding.path);
        match (&finding.place, &finding.table) {
            (Some(place), Some(table)) => {
                of.extend(
                    [&place.system, &place.backend, &place.version, table].map(String::to_owned),
                );
            }
            // A directory is named for its version, a sidecar lies in it.
            (Some(place), None) => {
                let family = place.family.as_deref().unwrap_or_default();
                of.extend(
                    [&place.system, family, &place.backend, &place.version, file]
                        .map(str::to_owned),
                );
            }
            (None, _) => {
                let at = finding.path.rfind("systems/").unwrap_or(0);
                of.push(finding.path[at..].to_owned());
            }
        }
        of.push(serde_json::to_string(&finding.slice).unwrap_or_default());
        Self(of)
    }
}

/// What the base has of a subject.
#[derive(Debug, Default)]
struct Precedent {
    severity: Option<Severity>,
    rows: u64,
    parts: BTreeSet<String>,
}

impl Precedent {
    /// Takes a finding of the base.
    fn add(&mut self, finding: Finding) {
        let worst = self.severity.map_or(finding.severity, |s| s.min(finding.severity));
        self.severity = Some(worst);
        self.rows = self.rows.max(finding.all_rows.unwrap_or(finding.rows));
        self.parts.extend(finding.parts);
    }

    /// Whether the head's finding is more than what was there.
    fn is_exceeded_by(&self, finding: &Finding) -> bool {
        self.severity.is_none_or(|known| finding.severity < known)
            || finding.all_rows.is_some_and(|rows| rows > self.rows)
            || !finding.parts.is_subset(&self.parts)
    }
}

/// The findings of a base state, by what they are about.
#[derive(Debug, Default)]
pub(crate) struct BaseFindings(BTreeMap<Subject, Precedent>);

impl FromIterator<Finding> for BaseFindings {
    fn from_iter<I: IntoIterator<Item = Finding>>(findings: I) -> Self {
        let mut base = Self::default();
        for finding in findings {
            base.0.entry(Subject::of(&finding)).or_default().add(finding);
        }
        base
    }
}

impl BaseFindings {
    /// Whether a finding of a later state is new: the base does not have it, or has less of it.
    pub(crate) fn novelty(&self, finding: &Finding) -> Novelty {
        let precedent = self.0.get(&Subject::of(finding));
        Novelty::of(precedent.is_none_or(|p| p.is_exceeded_by(finding)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::database::catalog::Place;

    fn finding(severity: Severity) -> Finding {
        Finding::on_path("r", severity, "systems/data/x/comm/nccl/1/reuse.yaml", "m")
    }

    #[test]
    fn what_is_worse_or_more_was_not_there() {
        let warning = || finding(Severity::Warning).parts(["a", "b"]);
        let base: BaseFindings = [warning()].into_iter().collect();
        let is_new = |finding: Finding| base.novelty(&finding) == Novelty::New;
        assert!(!is_new(warning()) && !is_new(finding(Severity::Info).parts(["b"])));
        assert!(is_new(finding(Severity::Error)));
        assert!(is_new(finding(Severity::Warning).parts(["c"])));
        // Rows tell more only where each is told; a table as a whole just has more of them.
        assert!(!is_new(warning().rows(9)));
        assert!(is_new(Finding { all_rows: Some(9), ..warning() }));
        assert!(is_new(Finding { rule: "another".into(), ..warning() }));
    }

    #[test]
    fn a_subject_is_the_same_in_another_layout() {
        let place = |family: Option<&str>| Place {
            system: "x".into(),
            family: family.map(Into::into),
            backend: "vllm".into(),
            version: "1".into(),
        };
        let on = |path: &str, family| {
            let finding = Finding::on_path("r", Severity::Error, path, "m").at(&place(family));
            Subject::of(&Finding { table: Some("gemm_perf".into()), ..finding })
        };
        let flat = on("systems/data/x/vllm/1/gemm_perf.txt", None);
        assert_eq!(flat, on("systems/data/x/gemm/vllm/1/gemm_perf.parquet", Some("gemm")));
        let system = |path| Subject::of(&Finding::on_path("r", Severity::Error, path, "m"));
        assert_eq!(system("src/systems/x.yaml"), system("aic-core/src/systems/x.yaml"));
        assert_ne!(system("systems/x.yaml"), system("systems/y.yaml"));
    }
}
