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
    /// Number of the rows that the sample was drawn from, by slice.
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
    /// The points in the order of measurement, each with its noise band.
    pub points: Vec<(Point, Option<NoiseBand>)>,
}

impl DrawCounts {
    /// Number of rows that the sample was drawn from.
    pub fn rows(&self) -> usize {
        self.slices.values().sum()
    }
}

impl Drawn {
    /// Returns true if the device measures the points as they were recorded.
    pub fn is_judged(&self, device: &dyn Device) -> bool {
        let own = |p: &Point| {
            let is_proxy = p.call.as_ref().is_some_and(|call| call.proxy.is_some());
            !is_proxy && p.work.as_ref().is_none_or(|work| !device.stands_in(work))
        };
        self.points.iter().all(|(point, _)| own(point))
    }
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
    let larger = larger(points, &mut rows, device);
    let asked = rows.len();
    rows.retain(|row| points.is_measurable(*row, device));
    let without_recipe = asked - rows.len();
    // A proxy measurement does not judge the table; proxies are drawn only if there is nothing else.
    let (others, judged): (Vec<usize>, Vec<usize>) =
        rows.into_iter().partition(|row| points.is_proxy(*row, device));
    let (rows, proxies) = if judged.is_empty() { (others, 0) } else { (judged, others.len()) };
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
        table: points.served(),
        slices: counted(rows.iter().map(|row| points.slice(*row))),
        without_recipe,
        larger,
        proxies,
        strata: strata.len(),
        replaced: draw.replaced,
    };
    Drawn { file: file.clone(), counts, points: draw.points.iter().map(point).collect() }
}

/// Leaves out the rows that need more GPUs than the device has, and states how many they need.
fn larger(
    points: &MeasurablePoints<'_>,
    rows: &mut Vec<usize>,
    device: &dyn Device,
) -> Option<String> {
    let here = device.about().gpus?;
    let more: Vec<usize> = rows.extract_if(.., |row| points.gpus(*row) > here).collect();
    let needed = more.iter().map(|row| points.gpus(*row)).min()?;
    Some(format!("{needed} GPUs needed, {here} here ({})", plural(more.len(), "row")))
}

/// Counts equal texts.
fn counted(texts: impl Iterator<Item = String>) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    texts.for_each(|text| *counts.entry(text).or_default() += 1);
    counts
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
