//! The JSON of a remeasurement.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::gpu::device::{CardState, Complaints};
use crate::gpu::judge::{Measured, SliceVerdict};
use crate::gpu::outcome::{Remeasured, Sample};

/// The measurement of one point.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Measurement")]
pub(in crate::report) struct JsonMeasurement<'a> {
    path: &'a str,
    row: u64,
    key: BTreeMap<&'a str, &'a Value>,
    slice: &'a str,
    decile: usize,
    recorded_ms: f64,
    samples_ms: &'a [f64],
    measured_ms: Option<f64>,
    ratio: Option<f64>,
    interval: Vec<f64>,
    within_2_percent: Option<bool>,
    verdict: &'static str,
    proxy: Option<&'a str>,
    power_w: Option<f64>,
    recorded_power_w: Option<f64>,
    clocks_mhz: Option<f64>,
    throttled: &'a [String],
    note: Option<String>,
    /// The name of the kernel that ran; null if the runner does not report it.
    kernel_source: Option<&'a str>,
}

/// The device, the samples with their verdicts, and the incidents of a remeasurement.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Summary")]
pub(in crate::report) struct JsonRemeasure<'a> {
    device: &'a str,
    versions: &'a BTreeMap<String, String>,
    settings: &'a BTreeMap<String, String>,
    states: BTreeMap<&'static str, &'a CardState>,
    tables: Vec<JsonSample<'a>>,
    /// The paths of the selected tables without any measurement.
    unmeasured: &'a [String],
    /// Incidents of the run, such as a restarted runner or skipped lines of its output.
    notes: &'a [String],
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Judged")]
struct JsonSample<'a> {
    path: &'a str,
    verdict: &'static str,
    reasons: &'a [String],
    /// The version of the software that was used for the remeasurement; null if it equals the table's version.
    measured_with: Option<&'a str>,
    seed: u64,
    /// Number of the table's rows that the loader serves.
    table_rows: usize,
    /// Number of rows from which the sample was drawn.
    rows: usize,
    /// The number of the table's rows in slices that the verdict covers. The verdict covers a slice if at least one of
    /// its points was compared with its recorded latency.
    covered_rows: usize,
    /// A text about rows that were left out because they need more GPUs than the machine has; null if there are none.
    larger: Option<&'a str>,
    without_recipe: usize,
    proxies: usize,
    strata: usize,
    /// Number of drawn points, including points that could not be measured.
    points: usize,
    replaced: usize,
    /// Number of points that were compared with their recorded latency.
    judged: usize,
    detects: Option<f64>,
    false_alarm: f64,
    bias: Option<f64>,
    interval: Vec<f64>,
    confidence: Option<f64>,
    allowed: f64,
    level: f64,
    excluded: Option<f64>,
    beyond: usize,
    tail: f64,
    within_2_percent: usize,
    honest_within_2_percent: f64,
    drift: Vec<f64>,
    /// Number of points whose time is bound by kernel launches on the host.
    host_bound: usize,
    /// The speed of the run's GPU relative to the recorded times, as estimated from other measured tables; null if too
    /// few other tables were measured.
    card: Option<JsonCard>,
    /// The slices that have enough points to estimate a bias.
    slices: Vec<JsonSlice<'a>>,
    /// A sentence that states whether the collector that measured the table changed since then; null if the table did
    /// not fail or has no known collector.
    origin: Option<&'a str>,
    /// Lines of errors and warnings that the runner wrote to standard error while the table was measured.
    complaints: &'a Complaints,
}

/// The speed of the run's GPU relative to the recorded times. It is estimated from control tables, which are the other
/// tables that the run measures.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Card")]
struct JsonCard {
    /// The median relative difference between measured and recorded times of the control tables, such as 0.02 if
    /// measured times are 2 % longer.
    seen: f64,
    /// The estimated effect of the run's GPU on measured times: 0.02 if they are 2 % longer than recorded because of
    /// this GPU. The table's measured times are corrected by this effect before the verdict.
    offset: f64,
    /// Number of control tables, from which the GPU's speed is estimated.
    tables: usize,
}

/// The measurements of a slice.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "MeasuredSlice")]
struct JsonSlice<'a> {
    slice: &'a str,
    points: usize,
    bias: f64,
    interval: [f64; 2],
    /// True if the slice's bias is larger than the bias that undisturbed measurements usually have.
    differs: bool,
}

/// Converts the natural logarithm of a ratio into a relative difference: ln(1.02) becomes 0.02.
fn share(log: f64) -> f64 {
    log.exp() - 1.0
}

pub(in crate::report) fn measurements(
    remeasured: &Remeasured,
) -> impl Iterator<Item = JsonMeasurement<'_>> {
    remeasured
        .samples
        .iter()
        .flat_map(|s| s.points.iter().map(|p| measurement(p, s.margins.confidence)))
}

fn measurement(measured: &Measured, confidence: f64) -> JsonMeasurement<'_> {
    let (point, answer) = (&measured.point, measured.answer.as_ref());
    let note = match answer {
        Ok(answer) => answer.note.clone(),
        Err(why) => Some(why.to_string()),
    };
    let answer = answer.ok();
    JsonMeasurement {
        path: &point.path,
        row: point.row,
        key: point.key.iter().map(|(k, v)| (k.as_str(), v)).collect(),
        slice: &point.slice,
        decile: point.decile,
        recorded_ms: point.recorded_ms,
        samples_ms: answer.map_or(&[], |a| &a.samples_ms),
        measured_ms: measured.measured_ms(),
        ratio: measured.ratio(),
        interval: measured.interval(confidence).map_or(Vec::new(), |(low, high)| vec![low, high]),
        within_2_percent: measured.within_2_percent(),
        verdict: measured.verdict().name(),
        proxy: measured.proxy(),
        power_w: answer.and_then(|a| a.power_w),
        recorded_power_w: point.recorded_w,
        clocks_mhz: answer.and_then(|a| a.clocks_mhz),
        throttled: answer.map_or(&[], |a| &a.throttled),
        note,
        kernel_source: answer.and_then(|a| a.kernel_source.as_deref()),
    }
}

pub(in crate::report) fn remeasure(remeasured: &Remeasured) -> JsonRemeasure<'_> {
    JsonRemeasure {
        device: &remeasured.about.name,
        versions: &remeasured.about.versions,
        settings: &remeasured.about.settings,
        states: remeasured.states.iter().map(|(when, state)| (*when, state)).collect(),
        tables: remeasured.samples.iter().map(sample).collect(),
        unmeasured: &remeasured.unmeasured,
        notes: &remeasured.notes,
    }
}

fn sample(sample: &Sample) -> JsonSample<'_> {
    let verdict = &sample.verdict;
    JsonSample {
        path: &sample.file.entry.path,
        verdict: verdict.outcome.name(),
        reasons: &verdict.reasons,
        measured_with: sample.measured_with.as_deref(),
        seed: sample.draw.seed,
        table_rows: sample.draw.table,
        rows: sample.draw.rows,
        covered_rows: sample.covered().values().sum(),
        larger: sample.draw.larger.as_deref(),
        without_recipe: sample.draw.without_recipe,
        proxies: sample.draw.proxies,
        strata: sample.draw.strata,
        points: sample.points.len(),
        replaced: sample.draw.replaced,
        judged: verdict.judged,
        detects: sample.power.detects.map(share),
        false_alarm: sample.power.false_alarm,
        bias: verdict.bias.is_finite().then(|| share(verdict.bias)),
        interval: verdict.interval.map_or(Vec::new(), |i| vec![share(i.low), share(i.high)]),
        confidence: verdict.interval.map(|i| i.confidence),
        allowed: share(verdict.allowed),
        level: sample.margins.level,
        excluded: verdict.excluded.is_finite().then(|| share(verdict.excluded)),
        beyond: verdict.beyond,
        tail: verdict.tail,
        within_2_percent: verdict.near.points,
        honest_within_2_percent: verdict.near.undisturbed,
        drift: verdict.drift.iter().copied().map(share).collect(),
        host_bound: sample.points.iter().filter(|p| p.is_host_bound()).count(),
        card: sample.offset.map(|o| JsonCard {
            seen: share(o.median),
            offset: share(o.log),
            tables: o.tables,
        }),
        slices: verdict.slices.iter().map(slice).collect(),
        origin: sample.origin.as_deref(),
        complaints: &sample.complaints,
    }
}

fn slice(slice: &SliceVerdict) -> JsonSlice<'_> {
    JsonSlice {
        slice: &slice.slice,
        points: slice.points,
        bias: share(slice.bias),
        interval: [share(slice.interval.low), share(slice.interval.high)],
        differs: slice.differs,
    }
}
