//! The slices that a change moved, as rows of a table.

use serde::Serialize;

use crate::base::escape::clean;
use crate::base::words::{Figure, count};
use crate::database::diff::{Diff, SliceDiff, SliceLatency, TableDiff};

/// A slice of a table that a change moved. The texts are escaped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SliceRow {
    /// System, backend, version and name of the table.
    pub table: String,
    /// The texts of the key that name the slice; empty if they name none.
    pub slice: String,
    /// The number of keys served before and after.
    pub keys: String,
    /// The number of keys served only before; empty if there are none.
    pub lost: String,
    /// The number of keys served only after; empty if there are none.
    pub gained: String,
    /// The median latency before and after in ms; empty without common keys.
    pub latency: String,
    /// The median ratio, after over before; `same` if no latency changed.
    pub ratio: String,
    /// The 5th and the 95th percentile of the ratios; empty if no latency changed.
    pub range: String,
    /// The number of keys that differ by more than honest reruns do; empty if no latency changed.
    pub beyond: String,
}

/// Lists the slices whose latencies moved, those whose median moved most first, and then those that only gained or
/// lost keys.
pub(super) fn moved(diff: &Diff) -> Vec<SliceRow> {
    let mut moved: Vec<(&TableDiff, &SliceDiff)> = Vec::new();
    for table in &diff.tables {
        let slices = table.served.iter().flat_map(|served| &served.slices);
        moved.extend(slices.filter(|slice| is_moved(slice)).map(|slice| (table, slice)));
    }
    let far = |slice: &SliceDiff| slice.latency.map_or(0.0, |latency| latency.ratio.ln().abs());
    let beyond = |slice: &SliceDiff| slice.latency.map_or(0, |latency| latency.beyond_noise);
    moved.sort_by(|(_, a), (_, b)| {
        let keys = |slice: &SliceDiff| slice.lost + slice.gained;
        let by_latency = far(b).total_cmp(&far(a)).then(beyond(b).cmp(&beyond(a)));
        by_latency.then(keys(b).cmp(&keys(a)))
    });
    moved.into_iter().map(|(table, slice)| row(table, slice)).collect()
}

/// Returns true if a key came or went, or a latency changed.
fn is_moved(slice: &SliceDiff) -> bool {
    slice.lost + slice.gained > 0 || slice.latency.is_some_and(|latency| !latency.is_unchanged())
}

fn row(table: &TableDiff, diff: &SliceDiff) -> SliceRow {
    let place = &table.place;
    let name = [&*place.system, &*place.backend, &*place.version, &*table.table].join(" ");
    let slice = diff.slice.iter().map(|(column, text)| format!("{column}={text}"));
    let some = |n: u64| if n > 0 { count(n as usize) } else { String::new() };
    let mut row = SliceRow {
        table: clean(&name),
        slice: clean(&slice.collect::<Vec<_>>().join(" ")),
        keys: count(diff.common as usize),
        lost: some(diff.lost),
        gained: some(diff.gained),
        latency: String::new(),
        ratio: String::new(),
        range: String::new(),
        beyond: String::new(),
    };
    if let Some(latency) = diff.latency.filter(SliceLatency::is_unchanged) {
        row.latency = format!("{} ms", significant(latency.after));
        row.ratio = "same".to_owned();
    } else if let Some(latency) = diff.latency {
        let [ratio, low, high] = [latency.ratio, latency.low, latency.high].map(Figure);
        row.latency =
            format!("{} → {} ms", significant(latency.before), significant(latency.after));
        row.ratio = format!("× {ratio:.2}");
        row.range = format!("{low:.2} … {high:.2}");
        row.beyond = count(latency.beyond_noise as usize);
    }
    row
}

/// Formats a latency in ms with three significant digits.
fn significant(ms: f64) -> String {
    let digits = (2 - ms.abs().log10().floor() as i32).clamp(0, 6) as usize;
    format!("{:.digits$}", Figure(ms))
}

#[cfg(test)]
mod tests {
    use super::significant;

    #[test]
    fn latencies_have_three_digits() {
        let shown = [0.0123456, 0.5, 12.345, 1234.5].map(significant);
        assert_eq!(shown, ["0.0123", "0.500", "12.3", "1234"]);
    }
}
