//! Repeated measurements, removed: rows that agree in every column that is not a measurement.
//!
//! What identifies a row here is every such column, as in the collectors' own merge; the loader's key
//! is often less. So rows of one loader's key that differ in another column, a kernel's name for example,
//! are measurements of different things. They are kept, and reported: no policy knows which is right.

mod plan;
mod policy;

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Mutex;

use super::restate::Now;
use super::{DiskChange, Refused, RepairOptions, Site};
use crate::base::error::{Error, Result, unknown};
use crate::base::exit::Exit;
use crate::base::words::{Figure, count, plural, plural_verb};
use crate::database::catalog::TableFile;
use crate::database::table::Table;
use crate::specs::Serves;

pub use plan::{Dropped, TablePlan};
pub use policy::{Keep, Policy};

/// What would be removed, and what was left alone.
#[derive(Debug)]
pub struct Deduped {
    /// Tables looked at.
    pub tables: usize,
    /// Those that repeat a measurement, or a key of the loader's, by path.
    pub plans: Vec<TablePlan>,
    /// Those that cannot be judged or changed.
    pub refused: Vec<Refused>,
    policy: Policy,
    change: DiskChange,
}

/// Plans what to remove from the tables selected; nothing is written.
///
/// # Errors
///
/// When there is no database, nothing that the selection names, or a column to ignore that no table
/// has. What is wrong with a table is reported in [`Deduped::refused`].
pub fn run(options: &RepairOptions, policy: Policy) -> Result<Deduped> {
    let site = Site::open(options)?;
    let columns = Mutex::new(BTreeSet::new());
    let work = |file: &TableFile| {
        let seen = |table: &Table| {
            let names = table.columns().map(|(name, _)| name.to_owned());
            columns.lock().unwrap_or_else(std::sync::PoisonError::into_inner).extend(names);
        };
        let made = plan::plan(&site, file, &policy, &seen);
        made.map_err(|why| Refused { path: file.entry.path.clone(), why })
    };
    let (mut plans, mut refused) = (Vec::new(), Vec::new());
    let mut change = site.change();
    for made in site.map(|_| true, work) {
        match made {
            Ok(None) => {}
            Ok(Some((plan, None))) => plans.push(plan),
            Ok(Some((plan, Some((file, bytes))))) => {
                let now = Now {
                    table: &plan.table,
                    rows: (plan.rows - plan.dropped.len()) as u64,
                    bytes: &bytes,
                };
                match change.restate(&file, &now) {
                    Err(why) => refused.push(Refused { path: plan.path, why: why.into() }),
                    Ok(()) => {
                        change.files.push((file, bytes));
                        plans.push(plan);
                    }
                }
            }
            Err(why) => refused.push(why),
        }
    }
    let columns = columns.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    // A name that no table has is a slip of the hand, unless none could be read.
    if let Some(name) = policy.ignore.iter().find(|name| !columns.contains(*name))
        && !columns.is_empty()
    {
        return Err(unknown("column", name, columns.iter().map(String::as_str)));
    }
    Ok(Deduped { tables: site.tables.len(), plans, refused, policy, change })
}

impl Deduped {
    /// Rows that would be removed.
    pub fn dropped(&self) -> usize {
        self.plans.iter().map(|p| p.dropped.len()).sum()
    }

    /// How the run ends: with findings where something was left alone that a person must look at.
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

    /// Removes the rows, after a record of each is at `ledger`: one JSON object per line. Nothing is
    /// written where nothing is to be removed.
    ///
    /// # Errors
    ///
    /// When `ledger` is there already, which may be the only record of an earlier run, or a file
    /// cannot be written.
    pub fn write(mut self, ledger: &Path) -> Result<()> {
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
        self.change.files.insert(0, (ledger.to_owned(), lines.into_bytes()));
        self.change.make()
    }

    /// What a person reads; `ledger` names the record where rows are removed.
    pub fn text(&self, ledger: Option<&Path>) -> String {
        let mut out = String::new();
        for refused in &self.refused {
            out += &format!("{}: not changed: {}\n", refused.path, refused.why);
        }
        self.plans.iter().for_each(|plan| out += &self.tell(plan));
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
            self.policy.keep.name(),
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

    fn tell(&self, plan: &TablePlan) -> String {
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
