//! Compares two collections, table by table and key by key.
//!
//! The keys of two tables are paired by the rows that the loader serves, as in `sanity`. The ratios
//! are judged by rerun noise and by the usual difference between honest collections, as in
//! `remeasure`.

mod chart;
mod human;
mod report;
mod side;
mod table;
mod tendency;

use std::sync::atomic::{AtomicUsize, Ordering};

use self::side::{ComparedSide, pair};
use self::table::TwoTables;
use crate::base::error::{Error, Result};
use crate::base::escape::inert_json;
use crate::base::exit::Exit;
use crate::base::progress::Progress;
use crate::base::threads;
use crate::database::catalog::TableFile;
use crate::gpu::recipe::{Margins, Recipes};
use crate::jobs::DocumentFormat;
use crate::specs::Specs;

pub use chart::figures;
pub use report::{CompareOptions, CompareReport, UnreadTable};
pub use table::{FarKey, SliceSummary, TableComparison};
pub use tendency::{RatioSummary, Tendency};

/// The outcome of comparing one pair of tables.
enum PairOutcome {
    Compared(Box<TableComparison>),
    Identical,
    Unread(UnreadTable),
}

/// Compares two collections.
///
/// # Errors
///
/// Returns an error if a side does not exist or has no table, or if a formula of a spec fails.
pub fn run(options: &CompareOptions, progress: &dyn Progress) -> Result<CompareReport> {
    let specs = Specs::overlaid(options.rules.as_deref())?;
    let limits = Recipes::read(&specs.library)?.judge;
    let a = ComparedSide::open(&options.a, options, &specs)?;
    let b = ComparedSide::open(&options.b, options, &specs)?;
    let pairing = pair(&a.tables, &b.tables, &specs);
    let done = AtomicUsize::new(0);
    let size = |(of_a, _): &(TableFile, TableFile)| of_a.entry.size;
    let outcomes = threads::map_largest_first(&pairing.both, size, |(of_a, of_b)| {
        let outcome = compare((&a, of_a), (&b, of_b), &specs, &limits);
        progress.step(done.fetch_add(1, Ordering::Relaxed) + 1, pairing.both.len());
        outcome
    });
    let mut report = CompareReport {
        schema: "perfdb-gate/compare/v1",
        a: options.a.clone(),
        b: options.b.clone(),
        verdict: Tendency::Unclear,
        tables: Vec::new(),
        identical: 0,
        only_a: pairing.only_a,
        only_b: pairing.only_b,
        unread: Vec::new(),
    };
    for outcome in outcomes {
        match outcome? {
            PairOutcome::Identical => report.identical += 1,
            PairOutcome::Compared(table) => report.tables.push(*table),
            PairOutcome::Unread(unread) => report.unread.push(unread),
        }
    }
    report.verdict = report.conclude();
    Ok(report)
}

fn compare(
    a: (&ComparedSide, &TableFile),
    b: (&ComparedSide, &TableFile),
    specs: &Specs,
    limits: &Margins,
) -> Result<PairOutcome> {
    let id = |(side, file): (&ComparedSide, &TableFile)| side.source.id(&file.entry);
    if id(a).is_some() && id(a) == id(b) {
        return Ok(PairOutcome::Identical);
    }
    let unread = |file: &TableFile, why| UnreadTable { path: file.entry.path.clone(), why };
    let read = |(side, file): (&ComparedSide, &TableFile)| {
        let bytes = side.source.read(&file.entry).map_err(|e| e.to_string());
        let table = bytes.and_then(|bytes| file.decode(specs, &bytes).map_err(|e| e.to_string()));
        table.map_err(|why| unread(file, why))
    };
    let (of_a, of_b) = match (read(a), read(b)) {
        (Ok(of_a), Ok(of_b)) => (of_a, of_b),
        (Err(unread), _) | (_, Err(unread)) => return Ok(PairOutcome::Unread(unread)),
    };
    let two = TwoTables { files: (a.1, b.1), tables: (&of_a, &of_b), specs, limits };
    match two.compare() {
        Ok(Some(table)) => Ok(PairOutcome::Compared(Box::new(table))),
        Ok(None) => {
            let why = "it lacks columns of the key that the loader uses".to_owned();
            Ok(PairOutcome::Unread(unread(b.1, why)))
        }
        Err(e) => {
            let message = format!("cannot compare {}", a.1.entry.path);
            Err(Error::caused(message, "the formula is in rules/tables", e))
        }
    }
}

impl CompareReport {
    /// Combines the verdicts of all tables; an unclear table does not change the verdict of the
    /// others.
    fn conclude(&self) -> Tendency {
        let mut all: Vec<Tendency> = self.tables.iter().map(|t| t.verdict).collect();
        all.extend((self.identical > 0).then_some(Tendency::Same));
        all.retain(|t| *t != Tendency::Unclear);
        all.sort_unstable();
        all.dedup();
        match all[..] {
            [] => Tendency::Unclear,
            [one] => one,
            _ if all.contains(&Tendency::Mixed) => Tendency::Mixed,
            [Tendency::Same, other] => other,
            _ => Tendency::Mixed,
        }
    }

    /// Returns the exit code: findings if the collections differ, inconclusive if the verdict is
    /// unclear or a table could not be read.
    pub fn exit(&self) -> Exit {
        match self.verdict {
            Tendency::Faster | Tendency::Slower | Tendency::Mixed => Exit::Findings,
            Tendency::Same if self.unread.is_empty() => Exit::Clean,
            Tendency::Same | Tendency::Unclear => Exit::Inconclusive,
        }
    }

    /// Renders the report. A brief report and Markdown show one line per table, without details.
    pub fn render(&self, format: DocumentFormat) -> String {
        match format {
            DocumentFormat::Human { brief } => human::document(self, !brief).text(),
            DocumentFormat::Markdown => human::document(self, false).markdown(),
            DocumentFormat::Json => {
                inert_json(&serde_json::to_string_pretty(self).unwrap_or_default()) + "\n"
            }
        }
    }
}
