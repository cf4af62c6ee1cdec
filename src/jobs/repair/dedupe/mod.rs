//! Removes repeated measurements: rows that agree in every column that is not a measurement.
//!
//! As in the collectors' own merge, all other columns identify a measurement. The loader's key
//! often has fewer columns. Rows with the same key that differ in another column, such as a
//! kernel's name, are therefore different measurements. They are kept and reported, since no policy
//! knows which one is right.

mod plan;

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use super::restate::TableContent;
use super::{DiskChange, Refused, RepairOptions, refusals};
use crate::base::error::{Error, Exit, Result, unknown};
use crate::base::words::{Figure, count, plural, plural_verb};
use crate::database::table::Table;
use crate::specs::Serves;

use plan::Rewrite;
pub use plan::{KeptCopy, Policy, RemovedRow, TablePlan};

/// The plan of the command `dedupe`: the rows to remove from the selected tables.
#[derive(Debug)]
pub struct DedupePlan {
    /// Number of tables in the selection.
    pub tables: usize,
    /// Plans of the tables with repeated measurements or repeated keys, sorted by path.
    pub plans: Vec<TablePlan>,
    /// Tables that cannot be judged or changed, each with a reason.
    pub refused: Vec<Refused>,
    policy: Policy,
    change: DiskChange,
}

/// Plans which rows of the selected tables to remove; nothing is written.
///
/// # Errors
///
/// Returns an error if there is no database, if the selection names something unknown, or if a column to ignore is in
/// no table. Tables that cannot be changed are in [`DedupePlan::refused`].
pub fn run(options: &RepairOptions, policy: Policy) -> Result<DedupePlan> {
    let (site, tree) = super::open(options)?;
    let columns = Mutex::new(BTreeSet::new());
    let seen = |table: &Table| {
        let names = table.columns().map(|(name, _)| name.to_owned());
        columns.lock().unwrap_or_else(PoisonError::into_inner).extend(names);
    };
    let made = super::map(&site, |_| true, |file| plan::plan(&site, file, &policy, &seen));
    let tables = made.len();
    let mut change = DiskChange::of(&site, tree);
    let (mut plans, mut refused) = (Vec::new(), Vec::new());
    for made in made {
        match made.and_then(|made| made.map(|made| add_to(&mut change, made)).transpose()) {
            Ok(plan) => plans.extend(plan),
            Err(why) => refused.push(why),
        }
    }
    let columns = columns.into_inner().unwrap_or_else(PoisonError::into_inner);
    // A column that no table has is a typing error, unless no table could be read.
    if let Some(name) = policy.ignore.iter().find(|name| !columns.contains(*name))
        && !columns.is_empty()
    {
        return Err(unknown("column", name, columns.iter().map(String::as_str)));
    }
    Ok(DedupePlan { tables, plans, refused, policy, change })
}

/// Adds the new bytes of a table's file to `change`, with the update of the sidecar. Refuses the table if the sidecar
/// cannot be updated.
fn add_to(
    change: &mut DiskChange,
    (plan, rewrite): (TablePlan, Option<Rewrite>),
) -> Result<TablePlan, Refused> {
    if let Some((file, bytes)) = rewrite {
        let rows = (plan.rows - plan.dropped.len()) as u64;
        let now = TableContent { table: &plan.table, rows, bytes: &bytes };
        if let Err(why) = change.restate(&file, &now) {
            return Err(Refused { path: plan.path, why: why.into() });
        }
        change.files.push((file, bytes));
    }
    Ok(plan)
}

impl DedupePlan {
    /// Returns the number of rows to remove.
    pub(crate) fn dropped(&self) -> usize {
        self.plans.iter().map(|p| p.dropped.len()).sum()
    }

    /// Returns the exit code: findings if a table was refused, or if copies of a measurement were kept although their
    /// latencies disagree.
    pub fn exit(&self) -> Exit {
        let kept = !self.policy.disagreeing && self.plans.iter().any(|p| p.disagreeing > 0);
        if self.tables == 0 {
            Exit::Inconclusive
        } else if kept || !self.refused.is_empty() {
            Exit::Findings
        } else {
            Exit::Clean
        }
    }

    /// Writes a record of each row to remove to `ledger`, one JSON object per line, then removes
    /// the rows. Writes nothing if there are no rows to remove.
    ///
    /// # Errors
    ///
    /// Returns an error if `ledger` exists already, since it may be the only record of an earlier
    /// run, or if a file cannot be written.
    pub fn write(self, ledger: &Path) -> Result<()> {
        self.change.sweep();
        if self.dropped() == 0 {
            return Ok(());
        }
        if ledger.exists() {
            return Err(Error::new(
                format!("{} exists already", ledger.display()),
                "it may be the record of an earlier run: name another file with --dropped",
            ));
        }
        let lines: String = self.plans.iter().map(|p| p.ledger(&self.policy)).collect();
        self.change.make(Some((ledger, lines.as_bytes())))
    }

    /// Renders the plan for people. `ledger` is the file that lists the removed rows; `None` if no rows were removed.
    pub fn text(&self, ledger: Option<&Path>) -> String {
        let mut out = refusals(&self.refused);
        self.plans.iter().for_each(|plan| out += &self.plan_text(plan));
        let dropped = self.dropped();
        let touched = self.plans.iter().filter(|p| !p.dropped.is_empty()).count();
        if !out.is_empty() {
            out.push('\n');
        }
        out += &format!(
            "{} in {} of {} (--keep {})\n",
            plural(dropped, "repeated measurement"),
            count(touched),
            plural(self.tables, "table"),
            self.policy.keep.into_str(),
        );
        out += &match ledger {
            _ if dropped == 0 => String::new(),
            None => "dry run: nothing was written; add --write to remove them\n".into(),
            Some(ledger) => {
                let beside = match self.change.sidecars.len() {
                    0 => String::new(),
                    n => format!(" and {} updated", plural(n, "sidecar")),
                };
                format!("rows removed{beside}; {} lists the removed rows\n", ledger.display())
            }
        };
        out
    }

    /// Renders the plan of one table.
    fn plan_text(&self, plan: &TablePlan) -> String {
        let mut out = format!("{}\n", plan.path);
        let mut line = |text: String| out += &format!("  {text}\n");
        if !plan.dropped.is_empty() {
            let equal = match plan.equal {
                0 => String::new(),
                n if n == plan.dropped.len() => ", all with exactly the same values".into(),
                n => format!(", {} of them with exactly the same values", count(n)),
            };
            line(format!(
                "{} of {} rows repeat a measurement{equal}",
                count(plan.dropped.len()),
                count(plan.rows)
            ));
        }
        if plan.disagreeing > 0 {
            let most = format!("up to {:.2}×", Figure(plan.worst));
            let keys = plural_verb(plan.disagreeing, "measurement", ["has", "have"]);
            line(if self.policy.disagreeing {
                format!("{keys} of them copies that differ by more than rerun noise ({most})")
            } else {
                format!(
                    "{keys} copies that differ by more than rerun noise ({most}), so all are kept; \
                     --disagreeing removes them too"
                )
            });
        }
        if let Some((row, before, after)) = plan.served.first() {
            let place = if plan.loader == Serves::Last { "last" } else { "first" };
            line(format!(
                "the loader uses the {place} row of a key, so {} get another row than before; the \
                 largest change is row {row}: {:.4} ms → {:.4} ms",
                plural(plan.served.len(), "key"),
                Figure(*before),
                Figure(*after)
            ));
        }
        if plan.loader == Serves::Error && !plan.dropped.is_empty() {
            line("the loader refuses tables with repeated keys".into());
        }
        if plan.remaining > 0 {
            line(format!(
                "{} several rows that differ in {}; these are not copies of one measurement, so \
                 they stay",
                plural_verb(plan.remaining, "key", ["has", "have"]),
                plan.differs.join(", ")
            ));
        }
        out
    }
}
