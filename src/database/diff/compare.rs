//! Compares two states of a table.

use std::sync::Arc;

use super::class::class;
use super::relabel::rekeyed;
use super::{
    Class, Details, DiffSide, FaultReason, FilePair, PairedTables, ReadFault, RowDiff, RowMatch,
    SharedColumns, Status, TableDiff,
};
use crate::base::error::{Error, Result};
use crate::base::expr::ExprError;
use crate::database::catalog::Format;
use crate::database::table::{Table, TableFault};
use crate::specs::Specs;

/// The settings for comparing a table of the base with the same table of the head.
#[derive(Clone, Copy)]
pub(crate) struct Comparison<'a> {
    /// The specs of all known tables, with the facts that the head states.
    pub specs: &'a Specs,
    /// The specs of all known tables, with the facts that the base states.
    pub base_specs: &'a Specs,
    /// The output folder for lists of changed rows; `None` if no lists are requested.
    pub details: Option<&'a Details>,
}

/// The rows of a table in the base or in the head, or the reason why there are none.
enum TableSide<'t> {
    /// The table's file does not exist.
    Absent,
    /// The file's bytes are unavailable: a git-LFS object or a git object was not fetched.
    Unavailable(FaultReason),
    /// A decoded table with rows.
    Rows(&'t Table),
    /// A table without rows.
    Empty,
    /// The table cannot be read, for this reason.
    Unreadable(String),
}

/// A decoded table, or the reason why it cannot be read; `None` if its file does not exist.
type ReadTable<'t> = Option<Result<&'t Table, &'t TableFault>>;

impl<'t> TableSide<'t> {
    fn of(read: ReadTable<'t>) -> Self {
        match read {
            None => Self::Absent,
            Some(Ok(table)) => Self::Rows(table),
            Some(Err(TableFault::Empty | TableFault::Torn(_))) => Self::Empty,
            Some(Err(TableFault::LfsPointer(_) | TableFault::InLfs)) => {
                Self::Unavailable(FaultReason::Pointer)
            }
            Some(Err(TableFault::Missing)) => Self::Unavailable(FaultReason::Missing),
            Some(Err(TableFault::Unreadable(why))) => Self::Unreadable(why.clone()),
        }
    }

    fn table(&self) -> Option<&'t Table> {
        match self {
            Self::Rows(table) => Some(table),
            _ => None,
        }
    }

    fn rows(&self) -> Option<u64> {
        match self {
            Self::Rows(table) => Some(table.rows as u64),
            Self::Absent | Self::Empty => Some(0),
            Self::Unavailable(_) | Self::Unreadable(_) => None,
        }
    }

    fn fault(&self, side: DiffSide) -> Option<ReadFault> {
        let why = match self {
            Self::Unavailable(why) => why.clone(),
            Self::Unreadable(why) => FaultReason::Damaged(why.clone()),
            _ => return None,
        };
        Some(ReadFault { side, why })
    }
}

impl Comparison<'_> {
    /// Compares a table in base and head. Files with equal bytes are not read.
    ///
    /// # Errors
    ///
    /// If the lists of changed rows cannot be written, or a formula of the table's spec fails.
    pub(crate) fn compare(
        &self,
        pair: &FilePair<'_>,
        (base, head): (ReadTable<'_>, ReadTable<'_>),
    ) -> Result<TableDiff> {
        let mut diff = moved(pair);
        if pair.same_bytes {
            return Ok(diff);
        }
        let (mut base, head) = (TableSide::of(base), TableSide::of(head));
        diff.fault = match (&base, &head) {
            (TableSide::Unavailable(_), TableSide::Unavailable(why)) => {
                Some(ReadFault { side: DiffSide::Both, why: why.clone() })
            }
            _ => head.fault(DiffSide::Head).or(base.fault(DiffSide::Base)),
        };
        // If only the old path has a pointer without its LFS object, the rows before are unknown, so all rows of the
        // new table count as added.
        let pointer_gone = matches!(base, TableSide::Unavailable(_))
            && pair.head.is_some()
            && pair.old_path().is_some();
        if pointer_gone {
            base = TableSide::Absent;
        }
        (diff.base_rows, diff.head_rows) = (base.rows(), head.rows());
        let is_compared = match (&base, &head) {
            (_, TableSide::Unavailable(_) | TableSide::Unreadable(_))
            | (TableSide::Unavailable(_), _) => false,
            (TableSide::Unreadable(_), _) => pair.head.is_some(),
            _ => true,
        };
        if is_compared {
            self.compare_rows(pair, (base.table(), head.table()), pointer_gone, &mut diff)?;
        } else {
            diff.status = status(pair, pointer_gone, None);
            (diff.rows, diff.class) = (None, None);
        }
        Ok(diff)
    }

    /// Compares the rows of a table in base and head, and adds the differences to `diff`. `pointer_gone` is true if the
    /// table's path changed and the contents at the old path were not fetched, for example from git-LFS.
    fn compare_rows(
        &self,
        pair: &FilePair<'_>,
        tables: (Option<&Table>, Option<&Table>),
        pointer_gone: bool,
        diff: &mut TableDiff,
    ) -> Result<()> {
        let (shown, (base, head)) = (pair.shown, tables);
        let both = base.zip(head).map(|(base, head)| (SharedColumns::of(base, head), base, head));
        let shared = both.as_ref().map(|(shared, ..)| shared);
        let spec = shown.spec(self.specs, head.or(base));
        let base_spec = shown.spec(self.base_specs, base.or(head));
        let sides = PairedTables {
            files: (pair.base.unwrap_or(shown), shown),
            tables,
            spec: &spec,
            lookups: &self.specs.lookups,
            base_spec: &base_spec,
            base_lookups: &self.base_specs.lookups,
        };
        let failed = |e: ExprError| {
            Error::new(
                format!("cannot compare {}: {e}", shown.entry.path),
                "the formula is in rules/tables; `perfdb-gate explain` lists the rules",
            )
        };
        let rows = || match &both {
            Some((shared, base, head)) => RowDiff::over(shared, base, head),
            None => RowDiff::one_sided(base, head),
        };
        let rows = rows();
        let candidates = shared.map(|shared| rekeyed(shared, &rows)).unwrap_or_default();
        diff.status = status(pair, pointer_gone, Some(&rows));
        let noise = self.specs.noise.bands(&shown.table, &shown.place.backend);
        diff.served = sides.served(shared, &candidates, noise).map_err(failed)?;
        let keys = diff.served.as_mut().map(|served| std::mem::take(&mut served.rows.keys));
        let is_rekeyed = diff.served.as_ref().is_some_and(|served| served.rekeyed > 0);
        let matched = || {
            both.as_ref().map(|(shared, base, head)| match keys {
                Some(keys) => {
                    let rekeyed = if is_rekeyed { &candidates[..] } else { &[] };
                    RowMatch::new(shared, (base, keys.0), (head, keys.1), rekeyed)
                }
                None => RowMatch::by_identity(shared, base, head),
            })
        };
        let summed = || {
            let latencies = sides.latencies(&rows.changed)?;
            let ratios = sides.sum_up(&rows.changed, &latencies)?;
            let columns = sides.columns_changed(shared, &rows, diff.served.as_ref());
            Ok((latencies, ratios, columns))
        };
        let (matched, summed) = rayon::join(matched, summed);
        let (latencies, ratios, columns) = summed.map_err(failed)?;
        let latency_changed = sides.changes_latency(&columns);
        diff.class = Some(class(diff.status, &rows, diff.served.as_ref(), latency_changed));
        (diff.ratios, diff.columns_changed) = (ratios, columns);
        diff.matched = matched.map(Arc::new);
        if let Some(details) = self.details {
            details.write(shown, tables, &rows, &latencies)?;
        }
        diff.rows = Some(rows);
        Ok(())
    }
}

/// Creates the differences of a table whose path changed but whose bytes did not.
fn moved(pair: &FilePair<'_>) -> TableDiff {
    let shown = pair.shown;
    TableDiff {
        path: shown.entry.path.clone(),
        old_path: pair.old_path().map(str::to_owned),
        status: Status::Renamed,
        place: shown.place.clone(),
        table: shown.table.clone(),
        base_rows: None,
        head_rows: None,
        rows: Some(RowDiff::default()),
        ratios: None,
        class: Some(Class::Move),
        served: None,
        columns_changed: Vec::new(),
        matched: None,
        fault: None,
    }
}

/// Returns the kind of change to a table's file. `rows` is `None` if the rows were not compared.
fn status(pair: &FilePair<'_>, pointer_gone: bool, rows: Option<&RowDiff>) -> Status {
    match (pair.base, pair.head) {
        (Some(_), None) => Status::Deleted,
        (None, _) => Status::Added,
        _ if pointer_gone => Status::Added,
        (Some(base), Some(head)) if base.entry.path != head.entry.path => {
            // Converting text to Parquet counts as adding a table.
            let converted = (base.format, head.format) == (Format::Csv, Format::Parquet);
            if converted { Status::Added } else { Status::Renamed }
        }
        _ if rows.is_some_and(RowDiff::is_empty) => Status::Rewritten,
        _ => Status::Modified,
    }
}
