//! What two tables serve, key by key: the pairs behind a [`ServedDiff`](super::ServedDiff).

use super::ratios::{PairedTables, ratio};
use super::served::join;
use crate::base::expr::ExprError;
use crate::database::catalog::TableFile;
use crate::database::served::rows::{has_key, read_rows, served_rows};
use crate::database::table::{Keys, Table, TableScope};
use crate::specs::{Lookups, TableSpec};

/// A key that both tables serve.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ServedPair {
    /// The row of the base that serves it.
    pub base: u32,
    /// The row of the head that does.
    pub head: u32,
    /// What a lookup returned, in ms.
    pub before: f64,
    /// What it returns.
    pub after: f64,
}

/// What two tables serve.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ServedPairs {
    /// Keys that both serve, in the order of the head's rows.
    pub common: Vec<ServedPair>,
    /// Rows of the base that serve what the head does not.
    pub lost: Vec<u32>,
    /// Rows of the head that serve what the base did not.
    pub gained: Vec<u32>,
}

impl ServedPair {
    /// The latency after over before, where both are above zero.
    pub fn ratio(&self) -> Option<f64> {
        ratio(self.before, self.after)
    }
}

impl ServedPairs {
    /// Pairs the rows of two tables by the key that the loader looks up. None where no key can be made of
    /// their columns.
    ///
    /// # Errors
    ///
    /// When a formula of the spec does not fit the tables' columns.
    pub fn between(
        files: (&TableFile, &TableFile),
        tables: (&Table, &Table),
        spec: &TableSpec,
        lookups: &Lookups,
    ) -> Result<Option<Self>, ExprError> {
        let (base, head) = tables;
        let sides = PairedTables { files, tables: (Some(base), Some(head)), spec, lookups };
        let (base, head) = (sides.scope(files.0, base), sides.scope(files.1, head));
        if spec.key.is_empty() || !has_key(&base) || !has_key(&head) {
            return Ok(None);
        }
        let keys = (Keys::new(&spec.key, &base)?, Keys::new(&spec.key, &head)?);
        let before = served_rows(&base, &keys.0)?;
        let after = served_rows(&head, &keys.1)?;
        let mut joined = join(before, after);
        joined.common.sort_unstable_by_key(|(base, head)| (*head, *base));
        // A row that goes into two of the loader's maps is one measurement.
        joined.common.dedup();
        let latencies = sides.latencies(&joined.common)?;
        let lost = joined.lost.into_iter().map(|(_, row)| row).collect();
        let mut pairs = Self { lost, gained: joined.gained, ..Self::default() };
        for (i, (base, head)) in joined.common.iter().enumerate() {
            let change = latencies.get(i);
            let (before, after) = change.map_or((f64::NAN, f64::NAN), |c| (c.before, c.after));
            pairs.common.push(ServedPair { base: *base, head: *head, before, after });
        }
        pairs.lost.sort_unstable();
        pairs.gained.sort_unstable();
        Ok(Some(pairs))
    }
}

/// The rows of a table that the loader reads, by key: a hash of it, with its rows in file order. A row
/// may be read under several keys. None where no key can be made of the columns.
///
/// # Errors
///
/// When a formula of the spec does not fit the table's columns.
pub fn rows_by_key(scope: &TableScope<'_>) -> Result<Option<Vec<(u64, u32)>>, ExprError> {
    let spec = scope.spec;
    if spec.key.is_empty() || !has_key(scope) {
        return Ok(None);
    }
    read_rows(scope, &Keys::new(&spec.key, scope)?).map(Some)
}
