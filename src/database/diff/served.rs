//! The keys that the loader serves from a table before and after a change.
//!
//! Two rows have the same key if the loader would serve only one of them. Identity columns outside of the key are
//! attributes. A table that was measured again on another device serves the same keys, with another device and other
//! latencies.

use std::collections::{BTreeMap, BTreeSet};

use super::held::{attributes, changed_keys, columns_changed, filled, rekeyed_values, unmeasured};
use super::key_notes::farthest;
use super::slices::{SlicedKeys, slices};
use super::{
    AttributeChange, FarthestKey, FilledColumn, HashedRow, JoinedKeys, LatencyChange, LostKey,
    NewKeys, PairedTables, Relabelled, RowDiff, SharedColumns, SliceDiff, SliceName,
};
use crate::base::expr::ExprError;
use crate::base::stats::quantile;
use crate::database::served::rows::{has_key, served_rows};
use crate::database::table::{Keys, TableScope};
use crate::specs::NoiseBands;

/// A key counts as much slower or much faster if its latency changed by more than this factor.
const FAR_FACTOR: f64 = 2.0;

/// The differences between the keys that the loader serves from a table before and after a change.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ServedDiff {
    /// The number of common keys, which are served before and after the change.
    pub common: u64,
    /// The number of keys that are served only before the change.
    pub lost: u64,
    /// The number of keys that are served only after the change.
    pub gained: u64,
    /// The number of corrected keys, whose measurements are served under another key after the change. Corrected keys
    /// are neither lost nor gained.
    pub rekeyed: u64,
    /// The latency ratios, after over before, of keys that are served before and after the change, sorted. Keys whose
    /// latency is not positive are left out.
    pub ratios: Vec<f64>,
    /// The number of keys with a changed measurement, among the keys that are served before and after the change.
    pub changed: u64,
    /// The attributes, such as `device`, that changed in the rows of keys served before and after the change.
    pub attributes: Vec<AttributeChange>,
    /// The differences in each slice, sorted by the slice's name.
    pub slices: Vec<SliceDiff>,
    /// The keys that are served only before the change. Keys of renamed slices are left out.
    pub lost_keys: Vec<LostKey>,
    /// The names of all slices, indexed by [`LostKey::slice`].
    pub key_slices: Vec<SliceName>,
    /// The number of keys that lost a measurement other than the latency, by the column of the measurement. Only keys
    /// that are served before and after the change are counted.
    pub unmeasured: BTreeMap<String, u64>,
    /// The rows of base and head that serve the keys, and further details of the differences.
    pub rows: ServedRows,
}

/// The rows of base and head that serve the keys of a [`ServedDiff`], and further details of the differences.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ServedRows {
    /// The rows of keys that are served before and after the change, as pairs of a base row and a head row.
    pub common: Vec<(u32, u32)>,
    /// The number of keys whose latency changed and is not positive before or after the change. Such keys have no
    /// latency ratio.
    pub without_ratio: u64,
    /// The slices that have another name after the change.
    pub relabelled: Vec<Relabelled>,
    /// The measured columns that the loader does not read, such as power. Each has its statistics before and after the
    /// change.
    pub filled: Vec<FilledColumn>,
    /// The changed values in key columns of corrected keys, the most frequent change first.
    pub rekeyed_values: Vec<AttributeChange>,
    /// The key whose latency changed by the largest factor; `None` if no key has a latency ratio.
    pub farthest: Option<FarthestKey>,
    /// The numeric values that occur in new keys, by key part. A new key is a key that only the head serves.
    pub new: NewKeys,
    /// The rows that serve corrected keys, as pairs of a base row and a head row.
    pub(super) rekeyed: Vec<(u32, u32)>,
    /// The key hash of every row of the base, and the key hash of every row of the head.
    pub(super) keys: (Vec<u64>, Vec<u64>),
}

impl ServedDiff {
    /// Returns the median latency ratio, after over before; `None` if no key has a ratio.
    pub(crate) fn median_ratio(&self) -> Option<f64> {
        (!self.ratios.is_empty()).then(|| quantile(&self.ratios, 0.5))
    }

    /// Counts the keys whose latency more than doubled.
    pub(crate) fn slower_2x(&self) -> u64 {
        self.ratios.iter().filter(|r| **r > FAR_FACTOR).count() as u64
    }

    /// Counts the keys whose latency fell below half.
    pub(crate) fn faster_2x(&self) -> u64 {
        self.ratios.iter().filter(|r| **r < 1.0 / FAR_FACTOR).count() as u64
    }

    /// Returns the slices that lost or gained keys, or whose median latency ratio is far from that of the whole table.
    /// Returns no slices if the table has only one slice.
    pub(crate) fn differing_slices(&self) -> impl Iterator<Item = &SliceDiff> {
        let whole = self.median_ratio();
        let are_several = self.slices.len() > 1;
        self.slices.iter().filter(move |slice| are_several && slice.differs_from_table(whole))
    }

    /// Returns true if every key that is served before and after the change has exactly the same latency.
    pub(crate) fn same_latencies(&self) -> bool {
        self.rows.without_ratio == 0 && self.ratios.iter().all(|r| *r == 1.0)
    }

    /// Combines the differences of several tables: adds up the numbers of keys, and joins the lists of latency ratios.
    /// Other fields are left empty.
    pub(crate) fn sum<'a>(all: impl IntoIterator<Item = &'a Self>) -> Self {
        let mut sum = Self::default();
        for one in all {
            sum.common += one.common;
            sum.lost += one.lost;
            sum.gained += one.gained;
            sum.rekeyed += one.rekeyed;
            sum.rows.without_ratio += one.rows.without_ratio;
            sum.changed += one.changed;
            sum.ratios.extend(&one.ratios);
        }
        sum.ratios.sort_unstable_by(f64::total_cmp);
        sum
    }
}

impl PairedTables<'_> {
    /// Compares the keys that base and head serve; `None` if the table's key is unknown or a table lacks columns of the
    /// key. `shared` are the columns of both tables. `rekeyed` are pairs of a base row and a head row that differ in
    /// key columns only. `noise` is the spread between reruns of the table.
    ///
    /// # Errors
    ///
    /// If a formula of the spec does not fit the tables' columns.
    pub(crate) fn served(
        &self,
        shared: Option<&SharedColumns<'_>>,
        rekeyed: &[(u32, u32)],
        noise: NoiseBands<'_>,
    ) -> Result<Option<ServedDiff>, ExprError> {
        if self.spec.inferred || self.spec.key.is_empty() {
            return Ok(None);
        }
        let (base, head) = self.tables;
        let base_scope = base.map(|table| self.base_scope(table));
        let head_scope = head.map(|table| self.head_scope(table));
        if [&base_scope, &head_scope].into_iter().flatten().any(|scope| !has_key(scope)) {
            return Ok(None);
        }
        let base_keys = self.keys(base_scope.as_ref())?;
        let head_keys = self.keys(head_scope.as_ref())?;
        let before = served_by(base_scope.as_ref(), base_keys.as_ref())?;
        let after = served_by(head_scope.as_ref(), head_keys.as_ref())?;
        let mut joined = JoinedKeys::new(&before, &after);
        let rekeyed = joined.take_rekeyed(rekeyed);
        let mut served = ServedDiff {
            common: joined.common.len() as u64,
            lost: joined.lost.len() as u64,
            gained: joined.gained.len() as u64,
            rekeyed: rekeyed.len() as u64,
            ..ServedDiff::default()
        };
        let latencies = self.latencies(&joined.common)?;
        served.ratios = latencies.iter().filter_map(LatencyChange::ratio).collect();
        served.ratios.sort_unstable_by(f64::total_cmp);
        if let (Some(base), Some(head)) = (base, head) {
            served.changed = shared.map_or(0, |shared| changed_keys(shared, &joined.common));
            served.unmeasured = unmeasured(self.spec, base, head, &joined.common);
            served.attributes = attributes(self.spec, base, head, &joined.common);
            served.rows.filled = filled(self.spec, base, head);
            let values = shared.map(|shared| rekeyed_values(shared, (base, head), &rekeyed));
            served.rows.rekeyed_values = values.unwrap_or_default();
        }
        let (base, head) = (base_keys.as_ref(), head_keys.as_ref());
        if let Some(keys) = head {
            served.rows.farthest = farthest(&joined, &latencies, keys);
            served.rows.new = NewKeys::of(&joined, keys, &self.spec.axes);
        }
        let relabelled = self.relabelled(&joined, (base, head), &noise)?;
        let SlicedKeys { all, mut lost, names } = slices(&joined, &latencies, base, head, noise);
        let is_back =
            |key: &LostKey| relabelled.iter().any(|slice| slice.from == names[key.slice as usize]);
        lost.retain(|key| !is_back(key));
        (served.slices, served.lost_keys, served.key_slices) = (all, lost, names);
        let hashes = |keys: Option<Keys<'_>>| keys.map(Keys::into_hashes).unwrap_or_default();
        let keys = (hashes(base_keys), hashes(head_keys));
        let without_ratio = latencies.iter().filter(|l| l.is_without_ratio()).count() as u64;
        let (common, rows) = (joined.common, served.rows);
        served.rows = ServedRows { common, without_ratio, relabelled, rekeyed, keys, ..rows };
        Ok(Some(served))
    }

    /// Returns the columns that only one of the two tables has, and the columns whose cells differ between paired rows.
    /// A pair consists of a base row and a head row that serve the same key, that serve a key and its corrected form,
    /// or that count as a changed row in `rows`.
    pub(crate) fn columns_changed(
        &self,
        shared: Option<&SharedColumns<'_>>,
        rows: &RowDiff,
        served: Option<&ServedDiff>,
    ) -> Vec<String> {
        let ((Some(base), Some(head)), Some(shared)) = (self.tables, shared) else {
            return Vec::new();
        };
        let served = served.map(|served| &served.rows);
        let (common, rekeyed) =
            served.map_or((&[][..], &[][..]), |rows| (&rows.common[..], &rows.rekeyed[..]));
        let pairs = common.iter().chain(rekeyed).chain(&rows.changed).copied();
        columns_changed(shared, base, head, pairs).into_iter().map(str::to_owned).collect()
    }

    /// Returns true if one of the columns is part of the key or of the latency.
    pub(crate) fn changes_latency(&self, columns: &[String]) -> bool {
        let parts = self.spec.latency.iter().chain(&self.spec.key);
        let read: BTreeSet<&str> = parts.flat_map(|part| part.value.columns()).collect();
        columns.iter().any(|column| read.contains(column.as_str()))
    }

    fn keys<'s>(&'s self, view: Option<&'s TableScope<'_>>) -> Result<Option<Keys<'s>>, ExprError> {
        view.map(|scope| Keys::new(&self.spec.key, scope)).transpose()
    }
}

fn served_by(
    scope: Option<&TableScope<'_>>,
    keys: Option<&Keys<'_>>,
) -> Result<Vec<HashedRow>, ExprError> {
    match (scope, keys) {
        (Some(scope), Some(keys)) => served_rows(scope, keys),
        _ => Ok(Vec::new()),
    }
}
