//! Outliers: points far from their neighbours along every axis of their sweep.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use schemars::JsonSchema;
use serde::Deserialize;

use crate::base::expr::ExprError;
use crate::base::stats::upper_median;
use crate::base::words::{count, names, plural};
use crate::checks::CrossContext;
use crate::checks::compare::series::Outlier;
use crate::checks::compare::sketch::{SketchOutlier, Slice};
use crate::checks::judge::{CheckInputs, Found, Judge};
use crate::checks::rule::Rule;
use crate::database::catalog::TableFile;
use crate::database::table::number_json;
use crate::findings::{EXAMPLES, Example, Finding, Reads, Severity, SliceEvidence};
use crate::specs::TableSpec;

/// Rows that a finding lists, at most.
const LISTED: usize = 1000;

/// When a point stands out.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Standout")]
pub struct OutlierLimits {
    /// Factor over (or under) every neighbour that few points exceed.
    factor: f64,
    /// How many times the tail of honest reruns, by logarithm, the factor has to exceed, too.
    tails: f64,
    /// Latency in ms that the slower side must reach; below it the timer explains much.
    floor_ms: f64,
    /// Factor from which on a point at the same key elsewhere stands out as well.
    recurs: f64,
}

/// Points slower than both neighbours along every axis.
#[derive(Debug, Deserialize)]
#[serde(transparent)]
pub struct Spikes(OutlierLimits);

/// Points faster than both neighbours along every axis.
#[derive(Debug, Deserialize)]
#[serde(transparent)]
pub struct Drops(OutlierLimits);

impl Judge for Spikes {
    fn reads(&self, spec: &TableSpec) -> Reads {
        Reads::loaded(spec)
    }

    fn needs(&self) -> CheckInputs {
        self.0.needs()
    }

    fn cross(&self, rule: &Rule, at: &CrossContext<'_>) -> Result<Found, ExprError> {
        Ok(self.0.check(rule, at, true))
    }
}

impl Judge for Drops {
    fn reads(&self, spec: &TableSpec) -> Reads {
        Reads::loaded(spec)
    }

    fn needs(&self) -> CheckInputs {
        self.0.needs()
    }

    fn cross(&self, rule: &Rule, at: &CrossContext<'_>) -> Result<Found, ExprError> {
        Ok(self.0.check(rule, at, false))
    }
}

/// Keys that are outliers: table, key, spike or drop → their places and latencies.
type OutliersByKey<'a> = HashMap<(&'a str, u64, bool), Vec<(&'a TableFile, f64)>>;

fn outliers_by_key<'a>(at: &CrossContext<'a>, spike: bool) -> OutliersByKey<'a> {
    let mut by_key = OutliersByKey::new();
    for file in &at.catalog.tables {
        let sketch = at.sketches.by_path.get(&file.entry.path);
        for outlier in sketch.into_iter().flat_map(|s| &s.outliers) {
            if outlier.outlier.spike() == spike {
                let places = by_key.entry((&file.table, outlier.hash, spike)).or_default();
                places.push((file, outlier.outlier.latency));
            }
        }
    }
    by_key
}

/// Whether an outlier of a table is one elsewhere, too, by its places. The same figure is the same
/// measurement, in a copy or a later version.
fn recurs(places: Option<&Vec<(&TableFile, f64)>>, file: &TableFile, outlier: &Outlier) -> bool {
    let mut places = places.into_iter().flatten();
    places.any(|(other, latency)| other.place != file.place && *latency != outlier.latency)
}

impl OutlierLimits {
    fn needs(&self) -> CheckInputs {
        CheckInputs { outliers: Some(self.recurs), ..CheckInputs::default() }
    }

    /// One finding for each table with outliers; an info where all of them are outliers elsewhere, too.
    fn check(&self, rule: &Rule, at: &CrossContext<'_>, spike: bool) -> Vec<Finding> {
        let by_key = outliers_by_key(at, spike);
        let mut found = Vec::new();
        for file in at.catalog.tables.iter().filter(|f| at.judged(f)) {
            let Some(sketch) = at.sketches.by_path.get(&file.entry.path) else { continue };
            let is_outlier = |o: &&SketchOutlier| {
                o.outlier.spike() == spike && self.is_outlier(file, &o.outlier, at)
            };
            let all: Vec<&SketchOutlier> = sketch.outliers.iter().filter(is_outlier).collect();
            for half in at.halves(rule, file) {
                let part = all.iter().copied().filter(|o| half.has(o.outlier.row as usize));
                let (recurring, alone): (Vec<_>, Vec<_>) = part.partition(|o| {
                    let places = by_key.get(&(file.table.as_str(), o.hash, spike));
                    recurs(places, file, &o.outlier)
                });
                let (alone, unsupported) =
                    alone.into_iter().partition(|o| self.supported(at, file, &all, o));
                let outliers =
                    TableOutliers { file, slices: &sketch.slices, recurring, unsupported, alone };
                let finding = outliers.finding(rule, at);
                found.extend(finding.map(|finding| finding.half(&half, all.len())));
            }
        }
        found
    }

    /// Whether something beside its neighbours speaks for an outlier. A drop at the end of every axis has
    /// neighbours on one side only, and a cache or an idle expert makes a first point fast: it needs a
    /// second one of its slice, or a peer on the machine that is as slow as the neighbours say. Any other
    /// drop has neighbours that are slow themselves where the machine's other tables are at its level.
    fn supported(
        &self,
        at: &CrossContext<'_>,
        file: &TableFile,
        all: &[&SketchOutlier],
        one: &SketchOutlier,
    ) -> bool {
        if one.outlier.spike() {
            return true;
        }
        let mut peers = peer_latencies(at, file, one.hash);
        let Outlier { latency, ratio, inner, .. } = one.outlier;
        if inner {
            // Between the two levels, by ratio.
            return peers.is_empty() || upper_median(&mut peers) > latency / ratio.sqrt();
        }
        let is_second = |o: &&&SketchOutlier| o.slice == one.slice && o.hash != one.hash;
        let slower = |peer: &f64| *peer >= self.factor * latency;
        all.iter().any(|o| is_second(&o)) || !peers.is_empty() && peers.iter().all(slower)
    }

    fn is_outlier(&self, file: &TableFile, point: &Outlier, at: &CrossContext<'_>) -> bool {
        // What the neighbours took, where they are the slower side.
        let slower = if point.spike() { point.latency } else { point.latency / point.ratio };
        let tail =
            at.specs.noise.at(&file.table, &file.place.backend, slower).map_or(1.0, |b| b.p99);
        slower >= self.floor_ms && point.factor() >= self.factor.max(tail.powf(self.tails))
    }
}

/// What other tables of the machine take at a key.
fn peer_latencies(at: &CrossContext<'_>, file: &TableFile, key: u64) -> Vec<f64> {
    let is_peer = |f: &&TableFile| {
        f.table == file.table && f.place.system == file.place.system && f.place != file.place
    };
    let peers = at.catalog.tables.iter().filter(is_peer);
    peers.filter_map(|f| at.sketches.by_path.get(&f.entry.path)?.latency(key)).collect()
}

/// The outliers of a table.
struct TableOutliers<'a> {
    file: &'a TableFile,
    /// The slices of the table's sketch.
    slices: &'a [Slice],
    /// Those that are outliers elsewhere, too: a kernel's steps.
    recurring: Vec<&'a SketchOutlier>,
    /// Those that nothing but a neighbour speaks for.
    unsupported: Vec<&'a SketchOutlier>,
    /// Those that are neither.
    alone: Vec<&'a SketchOutlier>,
}

impl<'a> TableOutliers<'a> {
    /// Those that a finding shows: unsupported ones, then recurring ones, only where there are no others.
    fn shown(&self) -> &[&'a SketchOutlier] {
        let order = [&self.alone, &self.unsupported];
        order.into_iter().find(|some| !some.is_empty()).unwrap_or(&self.recurring)
    }

    fn finding(&self, rule: &Rule, at: &CrossContext<'_>) -> Option<Finding> {
        let mut order: Vec<&SketchOutlier> = self.shown().to_vec();
        order.sort_by(|a, b| {
            let (a, b) = (a.outlier, b.outlier);
            b.factor().total_cmp(&a.factor()).then(a.row.cmp(&b.row))
        });
        let worst = order.first()?.outlier;
        let axes = self.axes(at);
        let side = if worst.spike() { "slower" } else { "faster" };
        let mut message = format!(
            "{} {side} than the neighbours along {}, by up to {:.1}×",
            plural(order.len(), "point"),
            names(axes.keys().map(String::as_str)),
            worst.factor(),
        );
        let mut severity = rule.severity;
        if self.alone.is_empty() && !self.unsupported.is_empty() {
            severity = severity.at_most(Severity::Info);
            message += if worst.inner {
                "; the machine's other tables take no longer, so the neighbours are slow"
            } else {
                "; at the end of every axis, with no second point and no peer, a cache or an idle expert explains it"
            };
        } else if self.alone.is_empty() {
            severity = severity.at_most(Severity::Info);
            message += "; other places show the same, so it is the kernel's step";
        } else if !self.recurring.is_empty() {
            let recurring = count(self.recurring.len());
            message += &format!("; {recurring} more recur elsewhere, a kernel's step");
        }
        let examples = order.iter().take(EXAMPLES).map(|o| example(o)).collect();
        // All of them, the worst first: `plan` measures them again.
        let rows: Vec<u32> = order.iter().take(LISTED).map(|o| o.outlier.row).collect();
        let finding = Finding::on_table(&rule.id, severity, self.file, message)
            .rows(order.len())
            .naming(order.iter().map(|o| o.outlier.row as usize))
            .examples(examples)
            .evidence("worst", number_json(worst.factor()))
            .evidence("axes", serde_json::json!(axes))
            .evidence("recurring", self.recurring.len())
            .evidence("point_rows", rows)
            .slices(self.points_by_slice());
        Some(finding)
    }

    /// Points by axis that shows them.
    fn axes(&self, at: &CrossContext<'_>) -> BTreeMap<String, usize> {
        let mut axes = BTreeMap::new();
        let sweep = at.specs.tables.get(&self.file.table).map_or(&[][..], |s| &s.sweep);
        for (number, axis) in sweep.iter().enumerate() {
            let shown = self.shown().iter();
            let points = shown.filter(|o| o.outlier.axes >> number & 1 == 1).count();
            if points > 0 {
                axes.insert(axis.clone(), points);
            }
        }
        axes
    }

    /// Points by slice, the slices with most of them first.
    fn points_by_slice(&self) -> Vec<SliceEvidence> {
        const SHOWN: usize = 10;
        let mut counts: BTreeMap<&Slice, usize> = BTreeMap::new();
        for outlier in self.shown() {
            *counts.entry(&self.slices[outlier.slice as usize]).or_default() += 1;
        }
        let mut counts: Vec<_> = counts.into_iter().collect();
        counts.sort_by_key(|(slice, points)| (Reverse(*points), *slice));
        let told = counts.into_iter().take(SHOWN);
        told.map(|(slice, points)| SliceEvidence {
            slice: slice.clone(),
            figure: ("points", points.into()),
        })
        .collect()
    }
}

fn example(outlier: &SketchOutlier) -> Example {
    let point = outlier.outlier;
    Example {
        row: u64::from(point.row),
        key: outlier.key.clone(),
        values: vec![
            ("latency_ms".into(), number_json(point.latency)),
            ("over_neighbours".into(), number_json(point.ratio)),
        ],
    }
}
