//! The draw of a table's points: which of its rows are measured again.

use std::collections::{BTreeMap, BTreeSet};

use crate::base::random::Random;
use crate::base::words::plural;
use crate::database::catalog::TableFile;
use crate::gpu::device::{Device, Point};
use crate::gpu::points::MeasurablePoints;
use crate::gpu::sample;
use crate::specs::{Noise, NoiseBand};

/// Number of groups that the points of a table are drawn from, if one call measures a group: a call
/// takes minutes.
const GROUPS: usize = 3;

/// A draw of rows.
#[derive(Debug, Clone, Copy)]
pub struct DrawRules<'a> {
    /// Number of points.
    pub count: usize,
    /// Seed of the draw.
    pub seed: u64,
    /// True to measure power at rows that have a power.
    pub power: bool,
    /// The dtypes of rows that may be drawn; `None` means all.
    pub dtypes: Option<&'a BTreeSet<String>>,
}

/// The figures of a draw.
#[derive(Debug, Clone)]
pub struct DrawCounts {
    /// Seed of the random draw.
    pub seed: u64,
    /// Number of the table's rows that the loader serves.
    pub table: usize,
    /// Number of rows that the sample was drawn from.
    pub rows: usize,
    /// The same, by slice.
    pub slices: BTreeMap<String, usize>,
    /// Number of the table's rows that no recipe or runner describes.
    pub without_recipe: usize,
    /// Rows left out because they need more GPUs than there are; `None` if there are no such rows.
    pub larger: Option<String>,
    /// Number of rows left out because the device cannot measure them as they were recorded.
    pub proxies: usize,
    /// Number of strata that the sample was drawn from.
    pub strata: usize,
    /// Number of drawn points that do not fit in memory and were replaced.
    pub replaced: usize,
}

/// Points drawn from a table, not yet measured.
pub struct Drawn {
    /// The table.
    pub file: TableFile,
    /// The figures of the draw.
    pub counts: DrawCounts,
    /// True if the device measures the points as they were recorded.
    pub is_judged: bool,
    /// The points in the order of measurement, each with its noise band.
    pub points: Vec<(Point, Option<NoiseBand>)>,
}

/// Draws points of `rows`; none if the device can measure none of them.
pub fn draw(
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
    // A proxy measurement does not judge the table; proxies are drawn only if there is nothing else.
    let (others, judged): (Vec<usize>, Vec<usize>) =
        rows.into_iter().partition(|row| points.is_proxy(*row, device));
    let is_judged = !judged.is_empty();
    let (rows, proxies) = if judged.is_empty() { (others, 0) } else { (judged, others.len()) };
    let mut slices = BTreeMap::new();
    rows.iter().for_each(|row| *slices.entry(points.slice(*row)).or_default() += 1);
    let left = grouped(points, &rows, rules);
    let strata = sample::strata(left.iter().map(|r| (*r, points.slice(*r), points.latency(*r))));
    let draw = sample::draw(&strata, rules.count, rules.seed, |row| points.fits(row, device));
    let point = |(stratum, row): &(usize, usize)| {
        let mut point = points.point(*row, &strata[*stratum]);
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

/// The rows of a few groups, if one call measures a group; otherwise all rows.
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
