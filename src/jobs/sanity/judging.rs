//! Judges the roots of a pull request, one by one.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::time::Instant;

use tracing::debug;

use crate::base::error::{Error, Result};
use crate::base::progress::Progress;
use crate::checks::frame::Terms;
use crate::checks::rule::Rule;
use crate::checks::settings::Settings;
use crate::checks::{ChangeContext, Input, Item};
use crate::database::diff::{AuditedTable, Details, Diff, VersionChanges, files};
use crate::database::source::Source;
use crate::database::state::State;
use crate::findings::{Finding, Repaired};
use crate::jobs::pull_request::{Root, judge_change};
use crate::report::AbsentFiles;

/// The hint of an error message about a formula that fails.
const IN_TABLES: &str = "the formula is in rules/tables; `perfdb-gate explain` lists the rules";

/// The settings and rules of a run.
#[derive(Clone, Copy)]
pub(super) struct JudgingContext<'a> {
    pub settings: &'a Settings,
    pub rules: &'a [Arc<Rule>],
    /// The start of the run.
    pub start: Instant,
    /// True if the report includes an audit: the contents of each changed table in the base and in the head.
    pub audits: bool,
}

/// The result of judging all roots of a database, before and after a change.
#[derive(Default)]
pub(super) struct JudgedChange {
    /// The findings on the head and on the change.
    pub findings: Vec<Finding>,
    /// The findings on the base that the head no longer has.
    pub repaired: Vec<Repaired>,
    /// The differences between the base and the head of each root.
    pub diffs: Vec<Diff>,
    /// Files that could not be judged because the clone does not contain their contents.
    pub absent: AbsentFiles,
}

impl JudgedChange {
    /// Judges the head of each root against its base.
    pub(crate) fn judge(
        roots: &[Root],
        (base, head): (&dyn Source, &dyn Source),
        by: JudgingContext<'_>,
        details: Option<&Details>,
        progress: &dyn Progress,
    ) -> Result<Self> {
        let JudgingContext { settings, rules, .. } = by;
        // Any rule can report an excused error, even if only `excused-by-change` was selected.
        let judging = if rules.iter().any(|rule| rule.check.needs().has(Input::Excused)) {
            settings.rules.choose(&[], &[], &|_| true)?
        } else {
            rules.to_vec()
        };
        let terms = Terms { rules: &judging, all_rules: &settings.rules, ledger: None };
        let mut all = Self::default();
        for root in roots {
            all.add(root.states(base, head), (by, terms), details, progress)?;
        }
        Ok(all)
    }

    fn add<'a>(
        &mut self,
        (base, head): (State<'a>, State<'a>),
        (JudgingContext { rules, start, audits, .. }, terms): (JudgingContext<'a>, Terms<'a>),
        details: Option<&'a Details>,
        progress: &dyn Progress,
    ) -> Result<()> {
        let files = files(base, head);
        let mut judged = judge_change((base, head), &files, details, terms, progress)?;
        debug!(tables = judged.diff.len(), files = files.len(), took = ?start.elapsed(), "judged");
        let impossible = impossible_rows(terms.rules, &judged.repaired);
        let mut diff = Diff {
            tables: std::mem::take(&mut judged.diff),
            files,
            versions: VersionChanges::between(base, head),
            ..Diff::default()
        };
        if audits {
            let mut examined = std::mem::take(&mut judged.examined);
            let tables = diff.tables.iter();
            let tables =
                tables.map(|t| AuditedTable::of((base, head), t, examined.remove(&t.path)));
            diff.audited = tables.collect();
        }
        let unserved = diff.find_unserved(base, head, &impossible);
        let failed =
            |why| Error::caused("cannot find the keys that are not served", IN_TABLES, why);
        diff.unserved = unserved.map_err(failed)?;
        let failed = |why| Error::caused("cannot compare the added tables", IN_TABLES, why);
        diff.added = diff.find_references(head).map_err(failed)?;
        judged.keep(rules);
        self.findings.extend(judged.findings);
        self.absent.in_lfs.extend(judged.in_lfs);
        self.repaired.extend(judged.repaired);
        let (excused, specs) = (&judged.hidden_by_facts[..], head.specs);
        let change = ChangeContext { base, head, diff: &diff, excused, specs };
        let catalogs = Item::Catalogs { before: base.catalog, after: head.catalog };
        for rule in rules {
            self.findings.extend(rule.item(&catalogs));
            let of_change = rule.check.judge().change(rule.head(), &change);
            self.findings.extend(of_change.map_err(|why| rule.head().unjudged(IN_TABLES, why))?);
        }
        self.diffs.push(diff);
        Ok(())
    }
}

/// Returns the impossible rows of the base that the head corrects or removes, as row numbers by the table's path. A row
/// is impossible if its key or latency cannot be right, such as a latency of zero. Its removal does not count as a loss
/// of data.
fn impossible_rows<'f>(
    rules: &[Arc<Rule>],
    repaired: &'f [Repaired],
) -> BTreeMap<&'f str, HashSet<u32>> {
    let mut rows: BTreeMap<&str, HashSet<u32>> = BTreeMap::new();
    for finding in repaired.iter().map(|repaired| &repaired.finding) {
        let rule = rules.iter().find(|rule| rule.id == finding.rule);
        if rule.is_some_and(|rule| rule.check.finds_impossible_rows()) && finding.is_error() {
            rows.entry(&finding.path).or_default().extend(&finding.named_rows);
        }
    }
    rows
}
