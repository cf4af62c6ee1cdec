//! What a base state has of the findings of a later one, wherever they lie.

use std::collections::BTreeSet;

use super::{Finding, Severity};

/// What a finding is about, in whatever layout: rule, place, table or file, slice.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Subject(Vec<String>);

impl Subject {
    /// What a finding is about.
    pub(crate) fn of(finding: &Finding) -> Self {
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
pub(crate) struct Known {
    severity: Option<Severity>,
    rows: u64,
    parts: BTreeSet<String>,
}

impl Known {
    /// Takes a finding of the base.
    pub(crate) fn add(&mut self, finding: Finding) {
        let worst = self.severity.map_or(finding.severity, |s| s.min(finding.severity));
        self.severity = Some(worst);
        self.rows = self.rows.max(finding.all_rows.unwrap_or(finding.rows));
        self.parts.extend(finding.parts);
    }

    /// Whether the head's finding is more than what was there.
    pub(crate) fn grew(&self, finding: &Finding) -> bool {
        self.severity.is_none_or(|known| finding.severity < known)
            || finding.all_rows.is_some_and(|rows| rows > self.rows)
            || !finding.parts.is_subset(&self.parts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::database::catalog::Place;

    fn known(finding: Finding) -> Known {
        let mut known = Known::default();
        known.add(finding);
        known
    }

    fn finding(severity: Severity) -> Finding {
        Finding::on_path("r", severity, "systems/data/x/comm/nccl/1/reuse.yaml", "m")
    }

    #[test]
    fn what_is_worse_or_more_was_not_there() {
        let warning = || finding(Severity::Warning).parts(["a", "b"]);
        let base = known(warning());
        assert!(!base.grew(&warning()) && !base.grew(&finding(Severity::Info).parts(["b"])));
        assert!(base.grew(&finding(Severity::Error)));
        assert!(base.grew(&finding(Severity::Warning).parts(["c"])));
        // Rows tell more only where each is told; a table as a whole just has more of them.
        assert!(!base.grew(&warning().rows(9)));
        assert!(base.grew(&Finding { all_rows: Some(9), ..warning() }));
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
