//! Parts of the key that change the work and not the time: a window that the kernel ignores.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use super::odd::OddSlice;
use crate::base::words::{Figure, count};
use crate::checks::context::RowContext;
use crate::database::table::{Keys, PartNumbers};

/// The approximate maximum number of rows that are compared for one key part. A larger table is sampled: of the rows
/// that differ only in this part, the sample has all or none.
const ROWS: usize = 65_536;

/// Limits for the check of a key part that changes the work of a row, but not its latency.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct IgnoredLimits {
    /// Two rows that differ only in one key part are compared if the work of one is at least this many times the work
    /// of the other. The shortest time that the machine's rates allow for a row serves as its work.
    work: f64,
    /// The row with more work must take at least this many times the table's fastest latency.
    above: f64,
    /// The maximum relative difference of latencies that count as equal: the noise of a rerun.
    noise: f64,
    /// A value of a key part is judged only if at least this many of its rows can be compared with rows of more work.
    rows: usize,
    /// A value of a key part is reported if at least this share of the compared rows with this value takes as long as
    /// the rows with more work.
    share: f64,
}

/// The rows with one value of a key part, compared with rows that have more work. The two rows of a comparison differ
/// only in this key part.
#[derive(Default)]
struct ComparedValue {
    rows: usize,
    /// The rows with this value that take as long as the row with more work.
    equal: Vec<usize>,
    /// The value of the key part in the row with more work. After several comparisons, it is the value of the last one.
    other: f64,
}

impl IgnoredLimits {
    /// Finds values of key parts that the timed kernel seems to ignore. `bounds` has the lower bound of each row's
    /// latency in ms, which follows from the machine's rates.
    pub(crate) fn odd(
        &self,
        rows: &RowContext<'_>,
        keys: &Keys<'_>,
        latency: &[f64],
        bounds: &[f64],
    ) -> Vec<OddSlice> {
        let fastest = latency.iter().copied().filter(|latency| *latency > 0.0);
        let least = self.above * fastest.fold(f64::INFINITY, f64::min);
        let is_work = |name: &String| rows.spec.axes.contains(name);
        let parts = (0..rows.spec.key.len()).filter(|part| !is_work(&rows.spec.key[*part].name));
        let parts: Vec<usize> = parts.filter(|part| keys.numbers(*part).is_some()).collect();
        // Rows that differ in one of the parts have the same hash without all of them.
        let most = u64::MAX / latency.len().div_ceil(ROWS).max(1) as u64;
        let is_compared = |row: &usize| {
            latency[*row] > 0.0
                && bounds[*row] > 0.0
                && (most == u64::MAX || keys.without(&parts, *row) <= most)
        };
        let count_rows = if parts.is_empty() { 0 } else { rows.count };
        let compared: Vec<usize> = (0..count_rows).filter(is_compared).collect();
        let varies = |part: &&usize| {
            let value = |row: &usize| keys.numbers(**part).map(|values| values.get(*row).to_bits());
            compared.iter().any(|row| value(row) != value(&compared[0]))
        };
        let mut odd = Vec::new();
        for part in parts.iter().filter(varies) {
            let mut placed: Vec<(u64, usize)> =
                compared.iter().map(|row| (keys.without(&[*part], *row), *row)).collect();
            placed.sort_unstable();
            let of_value = self.compared(&placed, keys.numbers(*part), latency, bounds, least);
            for (value, found) in of_value {
                let (value, equal) = (f64::from_bits(value), found.equal.len());
                if found.rows < self.rows || (equal as f64) < self.share * found.rows as f64 {
                    continue;
                }
                let says = format!(
                    "{} {} takes as long as {} at {} of {} keys where it has at most 1/{} of the work: the kernel that was timed seems to ignore it",
                    rows.spec.key[*part].name,
                    Figure(value),
                    Figure(found.other),
                    count(equal),
                    count(found.rows),
                    Figure(self.work),
                );
                odd.push(OddSlice { says, rows: found.equal });
            }
        }
        odd
    }

    /// Compares rows that differ only in one key part with the row among them that has the most work, if this row takes
    /// at least `least` ms. `placed` has the rows, sorted by the hash of their other key parts. Returns one result for
    /// each value of the key part, by the bits of the value.
    fn compared(
        &self,
        placed: &[(u64, usize)],
        values: Option<PartNumbers<'_>>,
        latency: &[f64],
        bounds: &[f64],
        least: f64,
    ) -> BTreeMap<u64, ComparedValue> {
        let mut found: BTreeMap<u64, ComparedValue> = BTreeMap::new();
        for group in placed.chunk_by(|a, b| a.0 == b.0) {
            let by_work =
                |a: &&(u64, usize), b: &&(u64, usize)| bounds[a.1].total_cmp(&bounds[b.1]);
            let full = group.iter().max_by(by_work).filter(|(_, row)| latency[*row] >= least);
            let (Some((_, full)), Some(values)) = (full, values) else { continue };
            let is_less = |(_, row): &&(u64, usize)| self.work * bounds[*row] <= bounds[*full];
            for (_, row) in group.iter().filter(is_less) {
                let compared = found.entry(values.get(*row).to_bits()).or_default();
                compared.rows += 1;
                compared.other = values.get(*full);
                let is_equal = (latency[*row] / latency[*full] - 1.0).abs() <= self.noise;
                compared.equal.extend(is_equal.then_some(*row));
            }
        }
        found
    }
}
