//! The served keys of two tables, key by key: the data behind a [`ServedDiff`](super::ServedDiff).

use super::join::JoinedKeys;
use super::ratios::{PairedTables, ratio};
use crate::base::expr::ExprError;
use crate::database::catalog::TableFile;
use crate::database::served::rows::{has_key, read_rows, served_rows};
use crate::database::table::{Keys, Table, TableScope};
use crate::specs::{Lookups, TableSpec};

/// A key that both tables serve.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ServedPair {
    /// The row of the base that serves the key.
    pub base: u32,
    /// The row of the head that serves the key.
    pub head: u32,
    /// The latency in ms that a lookup of the base returns.
    pub before: f64,
    /// The latency in ms that a lookup of the head returns.
    pub after: f64,
}

/// The served keys of two tables.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ServedPairs {
    /// Keys that both tables serve, in the order of the head's rows.
    pub common: Vec<ServedPair>,
    /// Rows of the base that serve keys which the head does not serve.
    pub lost: Vec<u32>,
    /// Rows of the head that serve keys which the base does not serve.
    pub gained: Vec<u32>,
}

impl ServedPair {
    /// Returns the head's latency over the base's, if both are positive.
    pub fn ratio(&self) -> Option<f64> {
        ratio(self.before, self.after)
    }
}

impl ServedPairs {
    /// Pairs the served rows of two tables by the loader's key. `None` if a table lacks columns of the key.
    ///
    /// # Errors
    ///
    /// If a formula of the spec does not fit the tables' columns.
    pub fn between(
        files: (&TableFile, &TableFile),
        tables: (&Table, &Table),
        spec: &TableSpec,
        lookups: &Lookups,
    ) -> Result<Option<Self>, ExprError> {
        let (base, head) = tables;
        let sides = PairedTables {
            files,
            tables: (Some(base), Some(head)),
            spec,
            lookups,
            base_spec: spec,
            base_lookups: lookups,
        };
        let (base, head) = (sides.base_scope(base), sides.head_scope(head));
        if spec.key.is_empty() || !has_key(&base) || !has_key(&head) {
            return Ok(None);
        }
        let keys = (Keys::new(&spec.key, &base)?, Keys::new(&spec.key, &head)?);
        let before = served_rows(&base, &keys.0)?;
        let after = served_rows(&head, &keys.1)?;
        let mut joined = JoinedKeys::new(&before, &after);
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

/// Returns the rows that the loader reads, each with the hash of its key, in the order of the hashes and then
/// of the file. A row may have several keys. `None` if the table lacks columns of the key.
///
/// # Errors
///
/// If a formula of the spec does not fit the table's columns.
pub fn rows_by_key(scope: &TableScope<'_>) -> Result<Option<Vec<(u64, u32)>>, ExprError> {
    let spec = scope.spec;
    if spec.key.is_empty() || !has_key(scope) {
        return Ok(None);
    }
    read_rows(scope, &Keys::new(&spec.key, scope)?).map(Some)
}
