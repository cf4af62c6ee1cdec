//! Slices that are noisier than the same slices in other tables: many small disturbances, or a lasting one.
//!
//! There are two signs, both in the ratio to other tables, in which the steps of kernels cancel. First, too many
//! points deviate a little from their neighbours ([`super::curves::TableScores`]): something else ran on the machine at
//! times. Second, successive points are not on a line in the ratio to any other table ([`super::curves::Roughness`]):
//! the whole slice was measured too few times, or while the clock changed. A changed table is also compared with its
//! base, in which it may have been smoother.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::base::group::grouped;
use crate::base::stats::upper_median;
use crate::base::words::{Figure, plural, plural_verb};
use crate::checks::compare::curves::{
    CurveScores, DeviatingPoints, Roughness, TableScores, comparable,
};
use crate::checks::compare::sketch::{SketchedTable, Slice, slice_id, slice_name, slice_words};
use crate::checks::context::{CrossContext, RowContext};
use crate::checks::inputs::{CheckInputs, CurveTerms, Input, RuleHead};
use crate::checks::judge::{Found, Judge, Judged};
use crate::checks::series::AxisSeries;
use crate::database::catalog::TableFile;
use crate::database::table::{Keys, NumberedRows};
use crate::findings::{Finding, Hits, SliceEvidence, wholes};

/// Limits for a slice to count as noisy.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NoiseLimits {
    /// A point is disturbed if it deviates from its neighbours by at least this factor, after division by another
    /// table's latencies.
    disturbed: f64,
    /// The minimum latency in ms of a compared point. At shorter latencies, the timer explains much of a deviation.
    floor_ms: f64,
    /// At least this many independent groups of other tables must show that a point is disturbed.
    groups: usize,
    /// A slice is judged only if at least this many of its points are compared.
    scored: u32,
    /// A noisy slice has at least this many disturbed points.
    points: u32,
    /// A noisy slice has at least this share of disturbed points among its compared points.
    share: f64,
    /// The minimum roughness of a rough slice, as the logarithm of a factor. The roughness is the median distance of
    /// the slice's points from the line between their neighbours, after division by another table's latencies. The
    /// other table that gives the smallest roughness counts.
    roughness: f64,
    /// At least this many other tables must show that the slice is rough.
    references: usize,
    /// Limits for zigzags in a slice, which are found without a comparison with other tables.
    zigzag: ZigzagLimits,
}

/// Limits for zigzags, in which successive points are alternately above and below the line between their neighbours.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ZigzagLimits {
    /// A slice is judged along an axis only if at least this many of its points have two neighbours.
    points: usize,
    /// In a zigzag, the median distance of the points from the line between their neighbours is at least this limit, as
    /// the logarithm of a factor.
    distance: f64,
    /// The points of a zigzag lie above or below the line between their neighbours. This is the minimum and the maximum
    /// share of points that lie on the opposite side from the point before. Random noise has a share of two thirds. A
    /// larger share than the maximum means that every other size takes longer, as with a kernel that pads.
    flips: [f64; 2],
}

/// A noisy slice with the signs of its noise.
struct NoisySlice<'a> {
    slice: &'a Slice,
    /// The number of disturbed points, if the slice has too many of them; `None` otherwise.
    spiked: Option<DeviatingPoints>,
    /// The slice's roughness if it is too rough; `None` otherwise.
    roughness: Option<RoughSlice>,
}

/// The roughness of a slice that is too rough.
#[derive(Clone, Copy)]
struct RoughSlice {
    median: f64,
    /// True if the slice is rough compared with the base of a pull request, false if it is compared with other
    /// tables.
    since_base: bool,
}

impl Judge for NoiseLimits {
    fn needs(&self) -> CheckInputs {
        let curves = Some(CurveTerms { least_deviation: self.disturbed, floor_ms: self.floor_ms });
        CheckInputs::of(&[Input::Peers]).with(None, curves)
    }

    /// Reports the slice of a table that has the largest zigzag.
    fn table<'v>(&'v self, rows: &'v RowContext<'v>) -> Judged<'v> {
        let (Some(keys), Some((_, latency))) = (rows.keys(), rows.measured()) else {
            return Ok(Hits::new());
        };
        let NumberedRows { of_rows, counts } = keys.slice_numbers();
        let zigzags = rows.series().iter().flat_map(|axis| Zigzag::all(axis, latency, of_rows));
        let slices = grouped(zigzags);
        let found = slices.into_values().filter_map(|along| self.zigzag.least(along));
        let most = found.max_by(|a, b| a.distance.total_cmp(&b.distance));
        Ok(wholes(most.map(|zigzag| zigzag.finding(rows, keys, counts.len() > 1))))
    }

    /// One finding for each table with noisy slices.
    fn cross<'v>(&'v self, rule: RuleHead<'v>, at: &'v CrossContext<'v>) -> Judged<'v> {
        let all = at.curve_scores();
        let mut found = Found::new();
        for file in at.judged_tables() {
            let Some(sketch) = at.sketches.by_path.get(&file.entry.path) else { continue };
            let Some(scores) = all.of_table(file) else { continue };
            let slices = (0u32..).zip(&sketch.slices);
            let noisy = slices.filter_map(|(number, slice)| {
                let spiked = self.spiked(all, at, (file, sketch), scores, number);
                let roughness = self.rough(scores, number);
                let is_noisy = spiked.is_some() || roughness.is_some();
                is_noisy.then_some(NoisySlice { slice, spiked, roughness })
            });
            found.extend(finding(rule, at, file, &noisy.collect::<Vec<_>>()));
        }
        Ok(wholes(found))
    }
}

/// The points of a slice along an axis, compared with the line between their neighbours.
struct Zigzag<'a> {
    axis: &'a str,
    /// The index of a row of the slice. The row's key names the slice in messages.
    row: usize,
    /// The number of points with two neighbours.
    points: usize,
    /// The median distance of the points from the line between their neighbours, as the logarithm of a factor.
    distance: f64,
    /// The share of points that are on the opposite side of the line from the point before.
    flips: f64,
}

impl<'a> Zigzag<'a> {
    /// Returns the zigzag of each slice along an axis, by slice number. `slices` contains the slice number of each row.
    fn all(axis: &'a AxisSeries, latency: &[f64], slices: &[u32]) -> BTreeMap<u32, Self> {
        /// Sums over a slice: the distances of its points from the line, the number of successive points on different
        /// sides of the line (`flips`), and the number of compared pairs of points.
        #[derive(Default)]
        struct ZigzagSums {
            row: usize,
            distances: Vec<f64>,
            flips: usize,
            pairs: usize,
        }
        let mut all: BTreeMap<u32, ZigzagSums> = BTreeMap::new();
        for (series, sizes) in axis.iter() {
            let Some(first) = series.first().map(|row| *row as usize) else { continue };
            let sides = all
                .entry(slices[first])
                .or_insert_with(|| ZigzagSums { row: first, ..ZigzagSums::default() });
            let point =
                |(row, size): (&u32, &f64)| (size.max(0.5).ln(), latency[*row as usize].ln());
            let points: Vec<(f64, f64)> = series.iter().zip(sizes).map(point).collect();
            let mut before: Option<f64> = None;
            for [low, own, high] in points.array_windows() {
                let share = (own.0 - low.0) / (high.0 - low.0);
                let off = own.1 - (low.1 + (high.1 - low.1) * share);
                sides.distances.push(off.abs());
                if let Some(before) = before {
                    sides.pairs += 1;
                    sides.flips += usize::from((off > 0.0) != (before > 0.0));
                }
                before = Some(off);
            }
        }
        let zigzag = |mut sides: ZigzagSums| Self {
            axis: &axis.axis,
            row: sides.row,
            points: sides.distances.len(),
            distance: upper_median(&mut sides.distances),
            flips: sides.flips as f64 / sides.pairs as f64,
        };
        all.into_iter().map(|(slice, sides)| (slice, zigzag(sides))).collect()
    }

    /// Creates the finding on a zigzag. If `named` is true, the message names the slice.
    fn finding(&self, rows: &RowContext<'_>, keys: &Keys<'_>, named: bool) -> Finding {
        let texts = if named { keys.texts(self.row) } else { Vec::new() };
        let words = slice_words(texts.iter().map(|(name, text)| (name, text)));
        let of = if words.is_empty() { words } else { format!(" of {words}") };
        let message = format!(
            "along {}, half of {}{of} are {:.0} % or more away from the line between their neighbours, on alternate sides: the kernel or its clock changes from point to point",
            self.axis,
            plural(self.points, "point"),
            Figure(100.0 * (self.distance.exp() - 1.0))
        );
        rows.finding(message).rows(self.points)
    }
}

impl ZigzagLimits {
    /// Takes a slice's points along each axis (`along`). If they are a zigzag along every axis that has enough points,
    /// returns the zigzag with the smallest `distance`; otherwise, returns `None`.
    fn least<'a>(self, along: Vec<Zigzag<'a>>) -> Option<Zigzag<'a>> {
        let [least, most] = self.flips;
        let is_noise = |zigzag: &Zigzag<'_>| {
            let Zigzag { points, distance, flips, row, axis } = *zigzag;
            tracing::debug!(points, distance, flips, row, axis, "zigzag");
            distance >= self.distance && (least..=most).contains(&flips)
        };
        let mut told: Vec<Zigzag<'_>> =
            along.into_iter().filter(|zigzag| zigzag.points >= self.points).collect();
        told.sort_by(|a, b| a.distance.total_cmp(&b.distance));
        told.iter().all(is_noise).then(|| told.into_iter().next()).flatten()
    }
}

impl NoiseLimits {
    /// Returns the number of disturbed points of a slice if there are too many; `None` otherwise.
    fn spiked(
        &self,
        all: &CurveScores,
        at: &CrossContext<'_>,
        (file, sketch): SketchedTable<'_>,
        scores: &TableScores,
        slice: u32,
    ) -> Option<DeviatingPoints> {
        let (factor, groups, floor_ms) = (self.disturbed, self.groups, self.floor_ms);
        let is_much = |own: &DeviatingPoints| {
            own.scored >= self.scored
                && own.count_deviating >= self.points
                && own.share() >= self.share
        };
        // Nearly every slice ends here, before other tables are read.
        let stands_out = |bend: usize| scores.deviations[bend].reaches(factor, groups);
        if !is_much(&scores.spiked(slice, floor_ms, stands_out)) {
            return None;
        }
        let alone = scores.spiked(slice, floor_ms, |bend| {
            stands_out(bend) && !all.recurs(at.peers, file, scores, bend, factor)
        });
        let is_smooth =
            |beside: DeviatingPoints| beside.scored >= self.scored && beside.share() < self.share;
        let is_noisy = is_much(&alone)
            && !comparable(at.peers, (file, sketch))
                .any(|o| is_smooth(scores.count_deviating_from(o, slice, factor, floor_ms)));
        is_noisy.then_some(alone)
    }

    /// Returns the roughness of a slice if it is too rough; `None` otherwise.
    fn rough(&self, scores: &TableScores, slice: u32) -> Option<RoughSlice> {
        let of_slice = |r: &&Roughness| r.slice == slice && r.median >= self.roughness;
        let beside = scores.roughness.iter().find(of_slice);
        let beside = beside.filter(|r| r.references >= self.references);
        let since = || scores.rougher.iter().find(of_slice).map(|r| (r, true));
        let (found, since_base) = beside.map(|r| (r, false)).or_else(since)?;
        Some(RoughSlice { median: found.median, since_base })
    }
}

fn finding(
    rule: RuleHead<'_>,
    at: &CrossContext<'_>,
    file: &TableFile,
    noisy: &[NoisySlice<'_>],
) -> Option<Finding> {
    let spiked = |n: &NoisySlice<'_>| n.spiked.map_or(0.0, DeviatingPoints::share);
    let rough = |n: &NoisySlice<'_>| n.roughness.map_or(0.0, |r| r.median);
    let worst = noisy
        .iter()
        .max_by(|a, b| rough(a).total_cmp(&rough(b)).then(spiked(a).total_cmp(&spiked(b))))?;
    let name = slice_name(worst.slice);
    let mut said = Vec::new();
    if let Some(roughness) = worst.roughness {
        let percent = Figure(roughness.median.exp_m1() * 100.0);
        said.push(format!(
            "half of the points are at least {percent:.1} % off the line between their neighbours"
        ));
    }
    if let Some(points) = worst.spiked {
        said.push(format!(
            "{} of {} are outliers",
            points.count_deviating,
            plural(points.scored as usize, "point")
        ));
    }
    let since_base = worst.roughness.is_some_and(|r| r.since_base);
    let (is_noisy, beside) = if since_base {
        ("noisier than before", ", in the ratio to the base")
    } else {
        ("noisy beside every other table", "")
    };
    let message = format!(
        "{} {is_noisy}: at {name}, {}{beside}",
        plural_verb(noisy.len(), "slice", ["is", "are"]),
        said.join(", and ")
    );
    let points = noisy.iter().filter_map(|n| n.spiked).map(|p| p.count_deviating as usize).sum();
    let slices = noisy.iter().map(|n| {
        let figure = serde_json::json!({"disturbed_share": spiked(n), "roughness": n.roughness.map(|r| r.median)});
        SliceEvidence { slice: n.slice.clone(), figure: ("noise".into(), figure) }
    });
    let finding = rule.on_table(file, message).rows(points);
    let finding = finding.parts(noisy.iter().map(|n| slice_id(n.slice))).slices(slices);
    let declared = at.declared(file);
    Some(match declared {
        Some(said) => finding.evidence("declared", said),
        None => finding,
    })
}
