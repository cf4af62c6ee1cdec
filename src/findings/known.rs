//! Compares the findings of two states: which findings of the head the base already has, even in another
//! place, and which findings of the base the head has repaired.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use super::{ComparedRows, Finding, Novelty, RowChange, Severity};
use crate::database::catalog::Place;

/// What a finding is about: its rule, place, table or file, and slice. Does not depend on the layout of the database's
/// files.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Subject(Vec<String>);

impl Subject {
    fn of(finding: &Finding) -> Self {
        let place = finding.place.as_ref();
        let family = place.and_then(|p| p.family.as_deref()).unwrap_or_default();
        Self::at(finding, place, finding.table.as_deref(), family)
    }

    /// Returns the subject of a finding on a directory or file, without the family (a folder that groups operations,
    /// such as `moe`). Findings that differ only in the family thus have equal subjects.
    fn in_any_family(finding: &Finding) -> Self {
        Self::at(finding, finding.place.as_ref(), finding.table.as_deref(), "")
    }

    fn at(finding: &Finding, place: Option<&Place>, table: Option<&str>, family: &str) -> Self {
        let mut of = vec![finding.rule.clone()];
        let file = finding.path.rsplit('/').next().unwrap_or(&finding.path);
        match (place, table) {
            (Some(place), Some(table)) => {
                of.extend([&place.system, &place.backend, &place.version].map(String::to_owned));
                of.push(table.to_owned());
            }
            // A directory is named after its version, and a sidecar is in a directory.
            (Some(place), None) => {
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

/// A summary of the base's findings that have the same subject: the worst severity, the largest number of rows, and the
/// names of everything affected, such as columns.
#[derive(Debug, Default)]
struct Precedent {
    severity: Option<Severity>,
    rows: u64,
    parts: BTreeSet<String>,
    /// True if at least one of the summarized findings is on a file that has another path in the head.
    moved: bool,
}

impl Precedent {
    /// Adds a finding of the base. `moved` is true if the finding's file has another path in the head.
    fn add(&mut self, finding: &Finding, moved: bool) {
        let worst = self.severity.map_or(finding.severity, |s| s.min(finding.severity));
        self.severity = Some(worst);
        self.rows = self.rows.max(finding.all_rows.unwrap_or(finding.rows));
        self.parts.extend(finding.parts.iter().cloned());
        self.moved |= moved;
    }

    /// Returns true if a finding of the head exceeds the summarized findings of the base: its severity is worse, it has
    /// more rows, or it affects something that none of them affects, such as a further column.
    fn is_exceeded_by(&self, finding: &Finding) -> bool {
        self.is_milder_than(finding)
            || finding.all_rows.is_some_and(|rows| rows > self.rows)
            || !finding.parts.is_subset(&self.parts)
    }

    fn is_milder_than(&self, finding: &Finding) -> bool {
        self.severity.is_none_or(|known| finding.severity < known)
    }
}

/// The head's counterpart of a table of the base.
pub struct Successor<'a> {
    /// Path of the table in the head.
    pub path: &'a str,
    /// Place of the table in the head.
    pub place: &'a Place,
    /// File stem of the table in the head.
    pub table: &'a str,
}

/// A finding of the base that the head no longer has.
#[derive(Debug, Clone, PartialEq)]
pub struct Repaired {
    /// The finding as it was in the base.
    pub finding: Finding,
    /// True if the finding disappeared because its table was deleted.
    pub with_table: bool,
}

/// The findings of the base, by their subjects.
#[derive(Debug, Default)]
pub struct BaseFindings {
    findings: Vec<BaseFinding>,
    precedents: BTreeMap<Subject, Precedent>,
}

/// A finding of the base, with the subject and path that it would have in the head.
#[derive(Debug)]
struct BaseFinding {
    finding: Finding,
    /// The subject that the finding would have in the head.
    subject: Subject,
    /// The path of the finding's table in the head, if the table still exists.
    path: Option<String>,
}

/// Collects findings of the base whose files have the same paths in the head.
impl FromIterator<Finding> for BaseFindings {
    fn from_iter<I: IntoIterator<Item = Finding>>(findings: I) -> Self {
        Self::new(findings.into_iter().collect(), |_| None)
    }
}

impl BaseFindings {
    /// Creates the collection. `successor` returns the head's counterpart of a table of the base.
    pub(crate) fn new<'a>(
        findings: Vec<Finding>,
        successor: impl Fn(&str) -> Option<Successor<'a>>,
    ) -> Self {
        let mut base = Self::default();
        for finding in findings {
            let successor = successor(&finding.path).filter(|_| finding.table.is_some());
            let subject = match &successor {
                Some(s) => Subject::at(&finding, Some(s.place), Some(s.table), ""),
                None => Subject::of(&finding),
            };
            let moved = successor.as_ref().is_some_and(|s| s.path != finding.path);
            base.precedents.entry(subject.clone()).or_default().add(&finding, moved);
            let path = successor.map(|s| s.path.to_owned());
            base.findings.push(BaseFinding { finding, subject, path });
        }
        base
    }

    /// Returns the novelty of a finding of the head that is not on individual rows. The finding is new if the base has
    /// no finding with the same subject. It is also new if it has a worse severity or more rows than in the base, or if
    /// it affects something new, such as a further column.
    pub(crate) fn novelty(&self, finding: &Finding) -> Novelty {
        match self.precedents.get(&Subject::of(finding)) {
            Some(precedent) if !precedent.is_exceeded_by(finding) => {
                if precedent.moved {
                    Novelty::Moved
                } else {
                    Novelty::Inherited
                }
            }
            _ => Novelty::New,
        }
    }

    /// Marks findings on directories and sidecars as moved if the base has the same finding in the folder of another
    /// family, such as `moe`, and the head no longer has it there.
    pub(crate) fn mark_moved(&self, head: &mut [Finding]) {
        let still: BTreeSet<Subject> = head.iter().map(Subject::of).collect();
        let gone = self.findings.iter().filter(|base| !still.contains(&base.subject));
        let gone = gone.map(|base| &base.finding);
        let gone = gone.filter(|f| f.table.is_none() && f.place.is_some());
        let mut precedents: BTreeMap<Subject, Precedent> = BTreeMap::new();
        for finding in gone {
            precedents.entry(Subject::in_any_family(finding)).or_default().add(finding, true);
        }
        let on_dirs = |f: &&mut Finding| f.is_new() && f.table.is_none() && f.place.is_some();
        for finding in head.iter_mut().filter(on_dirs) {
            let precedent = precedents.get(&Subject::in_any_family(finding));
            if precedent.is_some_and(|precedent| !precedent.is_exceeded_by(finding)) {
                finding.novelty = Novelty::Moved;
            }
        }
    }

    /// Returns the findings of the base that are repaired in the head. A finding on rows is repaired if the head has no
    /// finding of the same rule on the same rows. Any other finding is repaired if the head has no finding with the
    /// same subject.
    ///
    /// `change` returns how the rows of a table changed, given the table's path in the head; `None` if the table cannot
    /// be read.
    pub(crate) fn repaired<'a>(
        self,
        head: &[Finding],
        change: impl Fn(&str) -> Option<&'a RowChange>,
    ) -> Vec<Repaired> {
        let mut still: BTreeMap<Subject, Vec<&Finding>> = BTreeMap::new();
        for finding in head {
            still.entry(Subject::of(finding)).or_default().push(finding);
            if finding.novelty == Novelty::Moved && finding.table.is_none() {
                still.entry(Subject::in_any_family(finding)).or_default().push(finding);
            }
        }
        let is_repaired = |base: &BaseFinding| {
            let found = still.get(&base.subject).map_or(&[][..], Vec::as_slice);
            let elsewhere = || {
                let any = Subject::in_any_family(&base.finding);
                base.finding.table.is_none() && still.contains_key(&any)
            };
            match base.path.as_deref().map(&change) {
                // A table that cannot be read is not repaired.
                Some(None) => false,
                Some(Some(RowChange::Compared(rows))) => !same_rows(&base.finding, found, rows),
                _ => found.is_empty() && !elsewhere(),
            }
        };
        let repaired = self.findings.into_iter().filter(is_repaired);
        let with_file = |base: BaseFinding| Repaired {
            with_table: base.finding.table.is_some() && base.path.is_none(),
            finding: base.finding,
        };
        repaired.map(with_file).collect()
    }
}

/// Returns true if a finding in `head` is on one of the rows of the finding `base`. Rows count as the same if their
/// keys are equal. A finding that names no rows counts as being on all rows.
fn same_rows(base: &Finding, head: &[&Finding], rows: &ComparedRows) -> bool {
    if base.named_rows.is_empty() || head.iter().any(|f| f.named_rows.is_empty()) {
        return !head.is_empty();
    }
    let keys: HashSet<u64> =
        base.named_rows.iter().filter_map(|row| rows.base_key(*row as usize)).collect();
    let named = head.iter().flat_map(|f| &f.named_rows);
    let mut found = named.filter_map(|row| rows.head_key(*row as usize));
    found.any(|key| keys.contains(&key))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::NewFacts;

    fn finding(severity: Severity) -> Finding {
        Finding::on_path("r", severity, "systems/data/x/comm/nccl/1/reuse.yaml", "m")
    }

    fn base(findings: Vec<Finding>) -> BaseFindings {
        findings.into_iter().collect()
    }

    fn place(family: Option<&str>) -> Place {
        Place {
            system: "x".into(),
            family: family.map(Into::into),
            backend: "vllm".into(),
            version: "1".into(),
        }
    }

    #[test]
    fn a_worse_severity_or_a_further_part_makes_a_finding_new() {
        let warning = || finding(Severity::Warning).parts(["a", "b"]);
        let base = base(vec![warning()]);
        let is_new = |finding: Finding| base.novelty(&finding) == Novelty::New;
        assert!(!is_new(warning()) && !is_new(finding(Severity::Info).parts(["b"])));
        assert!(is_new(finding(Severity::Error)));
        assert!(is_new(finding(Severity::Warning).parts(["c"])));
        // More rows are new only if `all_rows` counts them; on a whole table the count does not matter.
        assert!(!is_new(warning().rows(9)));
        assert!(is_new(Finding { all_rows: Some(9), ..warning() }));
        assert!(is_new(Finding { rule: "another".into(), ..warning() }));
    }

    #[test]
    fn the_subject_of_a_finding_is_the_same_in_another_layout() {
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

    #[test]
    fn a_sidecar_whose_family_folder_changed_is_moved() {
        let at = |family: &str| {
            let path = format!("systems/data/x/{family}/vllm/1/reuse.yaml");
            let finding = Finding::on_path("r", Severity::Error, &path, "m");
            Finding { novelty: Novelty::New, ..finding.at(&place(Some(family))) }
        };
        let state = |mut head: Vec<Finding>| {
            base(vec![at("moe")]).mark_moved(&mut head);
            head[0].novelty
        };
        assert_eq!(state(vec![at("megamoe")]), Novelty::Moved);
        assert_eq!(state(vec![at("megamoe"), at("moe")]), Novelty::New, "it is still there, too");
        let mut head = [at("megamoe")];
        base(vec![at("moe")]).mark_moved(&mut head);
        assert!(base(vec![at("moe")]).repaired(&head, |_| None).is_empty());
    }

    #[test]
    fn a_finding_is_repaired_if_its_rows_are_no_longer_named() {
        let on_rows = |rows: &[usize]| {
            let finding = Finding::on_path("r", Severity::Error, "t", "m").at(&place(None));
            let finding = Finding { table: Some("t".into()), ..finding };
            finding.naming(rows.iter().copied())
        };
        let change =
            RowChange::Compared(ComparedRows { facts: NewFacts::All, ..ComparedRows::default() });
        let place = place(None);
        let left = |rows: &[usize], change: Option<&RowChange>| {
            let successor = |_: &str| Some(Successor { path: "t", place: &place, table: "t" });
            let base = BaseFindings::new(vec![on_rows(&[1, 2])], successor);
            let head: Vec<Finding> =
                (!rows.is_empty()).then(|| on_rows(rows)).into_iter().collect();
            base.repaired(&head, |_| change).len()
        };
        assert_eq!(left(&[], Some(&change)), 1);
        assert_eq!(left(&[3], Some(&change)), 1, "other rows");
        assert_eq!(left(&[2], Some(&change)), 0);
        assert_eq!(left(&[], None), 0, "the head cannot be read");
    }
}
