//! Draws the rows of a table that are measured again, from strata of slice and latency.
//!
//! A slice contains the rows that agree in every text, such as dtype, kernel and operation. The rows of a slice are
//! divided by latency into ten parts, so that the few long rows are drawn as often as the many short ones.

use std::collections::{BTreeMap, BTreeSet};

use crate::base::random::Random;
use crate::base::words::plural;
use crate::database::catalog::TableFile;
use crate::gpu::device::{Device, Point};
use crate::gpu::points::MeasurablePoints;
use crate::specs::{Noise, NoiseBand};

/// The minimum number of groups of rows to draw. A group contains the rows that one call measures together. Few groups
/// are drawn, because a call takes minutes.
const GROUPS: usize = 3;

/// The settings of a random draw of points from a table.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DrawRules<'a> {
    /// The number of points to draw.
    pub count: usize,
    /// The seed of the random draw.
    pub seed: u64,
    /// True if power is also measured, for rows that have a recorded power.
    pub power: bool,
    /// The dtypes of rows that may be drawn; `None` means all.
    pub dtypes: Option<&'a BTreeSet<String>>,
}

/// Counts of a table's rows in a random draw, such as the number of rows from which the points were drawn.
#[derive(Debug, Clone)]
pub struct DrawCounts {
    /// Seed of the random draw.
    pub seed: u64,
    /// Number of the table's rows that the loader serves.
    pub table: usize,
    /// Number of rows from which the points were drawn.
    pub rows: usize,
    /// Number of rows from which the points were drawn, by slice.
    pub slices: BTreeMap<String, usize>,
    /// Number of the table's rows that cannot be measured, because no recipe or runner matches them or the device does
    /// not support them.
    pub without_recipe: usize,
    /// A sentence on the rows that were left out because they need more GPUs than this machine has; `None` without such
    /// rows.
    pub larger: Option<String>,
    /// Number of rows left out because the device's times cannot be compared with the recorded ones, for example
    /// because the device runs another kernel.
    pub proxies: usize,
    /// Number of strata. A stratum contains the rows of one slice and one latency decile.
    pub strata: usize,
    /// Number of drawn rows that were replaced because they do not fit in GPU memory.
    pub replaced: usize,
}

/// Points drawn from a table, not yet measured.
pub(crate) struct Drawn {
    pub file: TableFile,
    /// Counts of the table's rows, such as the number of rows from which the points were drawn.
    pub counts: DrawCounts,
    /// True if the table can be judged by these points. False if no point's time can be compared with the recorded
    /// time, for example because the device runs another kernel.
    pub is_judged: bool,
    /// The points in the order of measurement, each with its noise band: percentiles of the ratio between two
    /// measurements of the same point. The band is `None` if unknown.
    pub points: Vec<(Point, Option<NoiseBand>)>,
}

/// Draws points at random from `rows`. Draws nothing if the device cannot measure any of these rows.
pub(crate) fn draw(
    file: &TableFile,
    points: &MeasurablePoints<'_>,
    mut rows: Vec<usize>,
    rules: DrawRules<'_>,
    (device, noise): (&dyn Device, &Noise),
) -> Drawn {
    if let Some(dtypes) = rules.dtypes {
        rows.retain(|row| points.dtypes(*row).all(|dtype| dtypes.contains(dtype)));
    }
    let here = device.about().gpus.unwrap_or(u64::MAX);
    let more: Vec<usize> = rows.extract_if(.., |row| points.gpus(*row) > here).collect();
    let needed = more.iter().map(|row| points.gpus(*row)).min();
    let count = plural(more.len(), "row");
    let larger = needed.map(|needed| format!("{needed} GPUs needed, {here} here ({count})"));
    let asked = rows.len();
    rows.retain(|row| points.is_measurable(*row, device));
    let without_recipe = asked - rows.len();
    // A proxy does not judge the table, so proxies are drawn only if there are no other rows.
    let (others, judged): (Vec<usize>, Vec<usize>) =
        rows.into_iter().partition(|row| points.is_proxy(*row, device));
    let is_judged = !judged.is_empty();
    let (rows, proxies) = if judged.is_empty() { (others, 0) } else { (judged, others.len()) };
    let mut slices = BTreeMap::new();
    rows.iter().for_each(|row| *slices.entry(points.slice(*row)).or_default() += 1);
    let left = grouped(points, &rows, rules);
    let strata = strata(left.iter().map(|r| (*r, points.slice(*r), points.latency(*r))));
    let draw = drawn_rows(&strata, rules.count, rules.seed, |row| points.fits(row, device));
    let point = |(stratum, row): &(usize, usize)| {
        let Stratum { slice, decile, .. } = &strata[*stratum];
        let mut point = points.point(*row, slice, *decile);
        point.power = rules.power && point.recorded_w.is_some();
        let band = noise.at(&file.table, &file.place.backend, point.recorded_ms).cloned();
        (point, band)
    };
    let counts = DrawCounts {
        seed: rules.seed,
        table: points.served,
        rows: rows.len(),
        slices,
        without_recipe,
        larger,
        proxies,
        strata: strata.len(),
        replaced: draw.replaced,
    };
    let points = draw.points.iter().map(point).collect();
    Drawn { file: file.clone(), counts, is_judged, points }
}

/// Reduces `rows` to the rows of a few random groups. A group contains the rows that one call measures together. If
/// each call measures only one row, returns all rows.
fn grouped(points: &MeasurablePoints<'_>, rows: &[usize], rules: DrawRules<'_>) -> Vec<usize> {
    if rows.first().is_none_or(|row| points.group(*row).is_none()) {
        return rows.to_vec();
    }
    let mut groups: BTreeMap<Option<String>, Vec<usize>> = BTreeMap::new();
    rows.iter().for_each(|row| groups.entry(points.group(*row)).or_default().push(*row));
    let mut groups: Vec<Vec<usize>> = groups.into_values().collect();
    Random::new(rules.seed).shuffle(&mut groups);
    let mut left = Vec::new();
    for (index, group) in groups.into_iter().enumerate() {
        if index >= GROUPS && left.len() >= rules.count {
            break;
        }
        left.extend(group);
    }
    left
}

/// The number of parts into which the rows of a slice are divided by latency.
const PARTS: usize = 10;

/// The rows of one slice and latency decile.
#[derive(Debug, Clone, PartialEq)]
struct Stratum {
    /// The slice's text values, joined by spaces.
    slice: String,
    /// Latency decile within the slice, from 1.
    decile: usize,
    /// Row numbers in the table.
    rows: Vec<usize>,
}

/// Divides rows into strata: one for each slice and latency decile. `rows` yields the row number, slice and latency of
/// each row.
fn strata(rows: impl IntoIterator<Item = (usize, String, f64)>) -> Vec<Stratum> {
    let mut slices: BTreeMap<String, Vec<(f64, usize)>> = BTreeMap::new();
    for (row, slice, latency) in rows {
        slices.entry(slice).or_default().push((latency, row));
    }
    let mut strata = Vec::new();
    for (slice, mut rows) in slices {
        rows.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        for part in 0..PARTS {
            let bounds = rows.len() * part / PARTS..rows.len() * (part + 1) / PARTS;
            let rows: Vec<usize> = rows[bounds].iter().map(|(_, row)| *row).collect();
            if !rows.is_empty() {
                strata.push(Stratum { slice: slice.clone(), decile: part + 1, rows });
            }
        }
    }
    strata
}

/// Rows that were drawn at random.
#[derive(Debug, Clone, PartialEq)]
struct DrawnRows {
    /// The stratum index and row number of each point, in the order of measurement.
    points: Vec<(usize, usize)>,
    /// Number of drawn rows that do not fit in GPU memory and were replaced by other rows of the same stratum.
    replaced: usize,
}

/// Draws `count` rows, or all rows if there are fewer. The draw is spread evenly over slices, then over latency
/// deciles. `fits` returns true for a row that fits in GPU memory.
fn drawn_rows(
    strata: &[Stratum],
    count: usize,
    seed: u64,
    fits: impl Fn(usize) -> bool,
) -> DrawnRows {
    let mut random = Random::new(seed);
    let mut left: Vec<Vec<usize>> = strata.iter().map(|s| s.rows.clone()).collect();
    left.iter_mut().for_each(|rows| random.shuffle(rows));
    let mut slices: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (index, stratum) in strata.iter().enumerate() {
        slices.entry(&stratum.slice).or_default().push(index);
    }
    let mut slices: Vec<Vec<usize>> = slices.into_values().collect();
    random.shuffle(&mut slices);
    slices.iter_mut().for_each(|s| random.shuffle(s));

    let mut draw = DrawnRows { points: Vec::new(), replaced: 0 };
    let mut round = 0;
    while draw.points.len() < count && left.iter().any(|rows| !rows.is_empty()) {
        for slice in &slices {
            let index = slice[round % slice.len()];
            while draw.points.len() < count
                && let Some(row) = left[index].pop()
            {
                if fits(row) {
                    draw.points.push((index, row));
                    break;
                }
                draw.replaced += 1;
            }
        }
        round += 1;
    }
    // The order is random, so that the warming up of the GPU does not look like a dependence on latency.
    random.shuffle(&mut draw.points);
    draw
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows() -> Vec<Stratum> {
        let row =
            |i: usize| (i, if i < 400 { "a" } else { "b" }.to_owned(), (i % 400) as f64 + 1.0);
        strata((0..500).map(row))
    }

    #[test]
    fn every_row_is_in_one_stratum_of_similar_latency() {
        let strata = rows();
        assert_eq!(strata.len(), 20);
        assert!(strata[..10].iter().all(|s| s.rows.len() == 40 && s.slice == "a"));
        assert_eq!(strata[0].rows, (0..40).collect::<Vec<_>>());
        assert_eq!(strata[19].rows, (490..500).collect::<Vec<_>>());
        assert_eq!(super::strata([(7, "x".to_owned(), 1.0)])[0].rows, [7]);
    }

    #[test]
    fn a_sample_covers_all_strata_and_depends_only_on_the_seed() {
        let strata = rows();
        let one = drawn_rows(&strata, 20, 1, |_| true);
        assert_eq!(one, drawn_rows(&strata, 20, 1, |_| true));
        assert_ne!(one.points, drawn_rows(&strata, 20, 2, |_| true).points);
        let mut hit: Vec<usize> = one.points.iter().map(|(s, _)| *s).collect();
        hit.sort_unstable();
        assert_eq!(hit, (0..20).collect::<Vec<_>>(), "one of each stratum");
        assert_eq!(drawn_rows(&strata, 10_000, 1, |_| true).points.len(), 500);
    }

    #[test]
    fn a_sampled_row_that_does_not_fit_is_replaced_and_counted() {
        let strata = rows();
        let draw = drawn_rows(&strata, 40, 3, |row| row % 2 == 0);
        assert_eq!(draw.points.len(), 40);
        assert!(draw.points.iter().all(|(_, row)| row % 2 == 0));
        assert!(draw.replaced > 10, "{}", draw.replaced);
        assert!(drawn_rows(&strata, 5, 3, |_| false).points.is_empty());
    }
}
