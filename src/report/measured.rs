//! What was measured again, for people and for programs.

use std::collections::BTreeMap;
use std::fmt::Write;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::human::Paint;
use crate::base::escape::clean;
use crate::base::words::{count, plural};
use crate::gpu::device::State;
use crate::gpu::judge::{Measured, Outcome, Standing, percent, size};
use crate::gpu::outcome::{Remeasured, Sample};

/// One point, as the contract has it.
#[derive(Serialize, JsonSchema)]
pub(super) struct Measurement<'a> {
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
    note: Option<&'a str>,
}

/// How the points were drawn and judged.
#[derive(Serialize, JsonSchema)]
pub(super) struct Summary<'a> {
    device: &'a str,
    versions: &'a BTreeMap<String, String>,
    settings: &'a BTreeMap<String, String>,
    states: BTreeMap<&'static str, &'a State>,
    tables: Vec<Judged<'a>>,
    /// Selected tables that nothing was measured of.
    unmeasured: &'a [String],
}

#[derive(Serialize, JsonSchema)]
struct Judged<'a> {
    path: &'a str,
    verdict: &'static str,
    reasons: &'a [String],
    /// What the table's version is of, where the device has another.
    measured_with: Option<&'a str>,
    seed: u64,
    rows: usize,
    without_recipe: usize,
    proxies: usize,
    strata: usize,
    points: usize,
    replaced: usize,
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
}

/// A log ratio as a share: 0.02 for 2 % more.
fn share(log: f64) -> f64 {
    log.exp() - 1.0
}

pub(super) fn measurements(remeasured: &Remeasured) -> impl Iterator<Item = Measurement<'_>> {
    remeasured.samples.iter().flat_map(|s| s.points.iter().map(|p| measurement(p, s.confidence)))
}

fn measurement(measured: &Measured, confidence: f64) -> Measurement<'_> {
    let (point, answer) = (&measured.point, measured.answer.as_ref());
    let note = match answer {
        Ok(answer) => answer.note.as_deref(),
        Err(why) => Some(why.as_str()),
    };
    let answer = answer.ok();
    Measurement {
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
        verdict: measured.standing().name(),
        proxy: measured.proxy(),
        power_w: answer.and_then(|a| a.power_w),
        recorded_power_w: point.recorded_w,
        clocks_mhz: answer.and_then(|a| a.clocks_mhz),
        throttled: answer.map_or(&[], |a| &a.throttled),
        note,
    }
}

pub(super) fn summary(remeasured: &Remeasured) -> Summary<'_> {
    Summary {
        device: &remeasured.about.name,
        versions: &remeasured.about.versions,
        settings: &remeasured.about.settings,
        states: remeasured.states.iter().map(|(when, state)| (*when, state)).collect(),
        tables: remeasured.samples.iter().map(judged).collect(),
        unmeasured: &remeasured.unmeasured,
    }
}

fn judged(sample: &Sample) -> Judged<'_> {
    let verdict = &sample.verdict;
    Judged {
        path: &sample.file.entry.path,
        verdict: verdict.outcome.name(),
        reasons: &verdict.reasons,
        measured_with: sample.measured_with.as_deref(),
        seed: sample.seed,
        rows: sample.rows,
        without_recipe: sample.without_recipe,
        proxies: sample.proxies,
        strata: sample.strata,
        points: sample.points.len(),
        replaced: sample.replaced,
        judged: verdict.judged,
        detects: sample.power.detects.map(share),
        false_alarm: sample.power.false_alarm,
        bias: verdict.bias.is_finite().then(|| share(verdict.bias)),
        interval: verdict.interval.map_or(Vec::new(), |i| vec![share(i.low), share(i.high)]),
        confidence: verdict.interval.map(|i| i.confidence),
        allowed: share(verdict.allowed),
        level: sample.level,
        excluded: verdict.excluded.is_finite().then(|| share(verdict.excluded)),
        beyond: verdict.beyond,
        tail: verdict.tail,
        within_2_percent: verdict.within_2_percent,
        honest_within_2_percent: verdict.honest_within,
        drift: verdict.drift.iter().copied().map(share).collect(),
    }
}

/// The verdicts on one line.
pub(super) fn headline(remeasured: &Remeasured) -> String {
    let table = |sample: &Sample| {
        let v = &sample.verdict;
        let bias = if v.bias.is_finite() { percent(v.bias) } else { "nothing judged".into() };
        let left = match sample.proxies {
            0 => String::new(),
            rows => format!("; {} rows left out", count(rows)),
        };
        format!("{} ({bias}, {}{left})", v.outcome.name(), plural(v.judged, "point"))
    };
    let told: Vec<String> = remeasured.samples.iter().map(table).collect();
    let left = match remeasured.unmeasured.len() {
        0 => String::new(),
        n => format!("; {} not measured", plural(n, "table")),
    };
    format!("measured again on {}: {}{left}", remeasured.about.name, told.join(", "))
}

/// The report a person reads.
pub(super) fn write(out: &mut String, remeasured: &Remeasured, paint: &Paint) {
    let about = &remeasured.about;
    let list = |of: &BTreeMap<String, String>| {
        of.iter().map(|(name, value)| format!("{name} {value}")).collect::<Vec<_>>().join(", ")
    };
    let versions = match list(&about.versions) {
        none if none.is_empty() => none,
        some => format!(": {}", clean(&some)),
    };
    let _ = writeln!(out, "{}{versions}", paint.bold(&clean(&about.name)));
    if !about.settings.is_empty() {
        let _ = writeln!(out, "{}", clean(&list(&about.settings)));
    }
    for (when, state) in &remeasured.states {
        let _ = writeln!(out, "{when}: {}", line_of(state));
    }
    for sample in &remeasured.samples {
        write_sample(out, sample, paint);
    }
    if !remeasured.unmeasured.is_empty() {
        let _ = writeln!(
            out,
            "\nnot measured, since no recipe tells how, this device cannot or no row is selected:"
        );
        for path in &remeasured.unmeasured {
            let _ = writeln!(out, "  {}", clean(path));
        }
    }
}

fn line_of(state: &State) -> String {
    let part = |value: Option<String>, unit: &str| value.map(|v| format!("{v} {unit}"));
    let mut parts: Vec<String> = [
        part(state.sm_mhz.map(|v| v.to_string()), "MHz SM"),
        part(state.memory_mhz.map(|v| v.to_string()), "MHz memory"),
        part(state.power_w.map(|v| format!("{v:.0}")), "W"),
        part(state.celsius.map(|v| v.to_string()), "°C"),
    ]
    .into_iter()
    .flatten()
    .collect();
    if !state.throttled.is_empty() {
        parts.push(format!("throttled: {}", state.throttled.join(", ")));
    }
    parts.join(", ")
}

fn write_sample(out: &mut String, sample: &Sample, paint: &Paint) {
    let v = &sample.verdict;
    let _ = writeln!(out, "\n{}", paint.bold(&clean(&sample.file.entry.path)));
    let mut line = format!(
        "  {} of {} rows, seed {}, from {}",
        sample.points.len(),
        count(sample.rows),
        sample.seed,
        plural(sample.strata, "stratum").replace("stratums", "strata"),
    );
    if sample.replaced > 0 {
        line += &format!("; {} replaced that do not fit the memory", sample.replaced);
    }
    if sample.without_recipe > 0 {
        line += &format!("; {} rows have no recipe", count(sample.without_recipe));
    }
    if sample.proxies > 0 {
        line += &format!(
            "; {} rows left out that this device cannot measure as recorded",
            count(sample.proxies)
        );
    }
    let _ = writeln!(out, "{line}");
    if let Some(with) = &sample.measured_with {
        let version = &sample.file.place.version;
        let _ = writeln!(out, "  measured with {}, recorded with {}", clean(with), clean(version));
    }
    match sample.power.detects {
        Some(detects) => {
            let _ = writeln!(
                out,
                "  fails 9 times of 10 when times are off by {}; fails honest collections {} % of the time",
                size(detects),
                short(sample.power.false_alarm * 100.0)
            );
        }
        None => {
            let _ = writeln!(out, "  too few points to find any bias");
        }
    }
    write_points(out, sample, paint);
    write_verdict(out, sample, paint);
    let code = match v.outcome {
        Outcome::Pass => "32;1",
        Outcome::Inconclusive => "33;1",
        Outcome::Fail => "31;1",
    };
    let why =
        if v.reasons.is_empty() { String::new() } else { format!(": {}", v.reasons.join("; ")) };
    let _ = writeln!(out, "  {}{}", paint.wrap(code, v.outcome.name()), clean(&why));
}

/// A point a line, by recorded latency.
fn write_points(out: &mut String, sample: &Sample, paint: &Paint) {
    let _ = writeln!(
        out,
        "{}",
        paint.dim("    recorded ms  measured ms   ratio  its samples      2 %  W now/then   MHz")
    );
    let mut points: Vec<&Measured> = sample.points.iter().collect();
    points.sort_by(|a, b| a.point.recorded_ms.total_cmp(&b.point.recorded_ms));
    for measured in points {
        let point = &measured.point;
        let key = point
            .key
            .iter()
            .filter(|(name, _)| !["framework", "version", "device"].contains(&name.as_str()));
        let key: Vec<(String, Value)> = key.cloned().collect();
        let key = clean(&super::human::pairs(&key));
        let (Some(ms), Some(ratio), Ok(answer)) =
            (measured.measured_ms(), measured.ratio(), &measured.answer)
        else {
            let why = measured.answer.as_ref().err().map_or("", String::as_str);
            let _ = writeln!(
                out,
                "    {:>11.6}  not measured: {}  {key}",
                point.recorded_ms,
                clean(why)
            );
            continue;
        };
        let (low, high) = measured.interval(sample.confidence).unwrap_or((ratio, ratio));
        let two = if measured.within_2_percent() == Some(true) { "yes" } else { "no" };
        let figure = |v: Option<f64>| v.map_or("-".to_owned(), |v| format!("{v:.0}"));
        let watts = |now: Option<f64>, then: Option<f64>| match (now, then) {
            (None, None) => "-".to_owned(),
            (now, then) => format!("{}/{}", figure(now), figure(then)),
        };
        let what = match (measured.standing(), measured.proxy()) {
            (Standing::Beyond, _) => "  beyond reruns".to_owned(),
            (_, Some(why)) => format!("  proxy: {why}"),
            _ => String::new(),
        };
        let note = answer.note.as_ref().map_or(String::new(), |n| format!("  ({n})"));
        let _ = writeln!(
            out,
            "    {:>11.6}  {ms:>11.6}  {ratio:>6.3}  {low:.3} … {high:.3}  {two:>3}  {:>10}  {:>4}  {}{}",
            point.recorded_ms,
            watts(answer.power_w, point.recorded_w),
            figure(answer.clocks_mhz),
            paint.dim(&key),
            clean(&format!("{what}{note}"))
        );
    }
}

fn write_verdict(out: &mut String, sample: &Sample, paint: &Paint) {
    let v = &sample.verdict;
    if let Some(i) = v.interval {
        let _ = writeln!(
            out,
            "  {} {} in the median ({} to {} at {:.0} %); {:.0} of 100 honest samples as wide differ by at most {}",
            paint.bold("bias"),
            percent(v.bias),
            percent(i.low),
            percent(i.high),
            i.confidence * 100.0,
            100.0 * (1.0 - sample.level),
            size(v.allowed)
        );
        let _ = writeln!(
            out,
            "  {} that the table is off by {} or more",
            paint.bold("excludes"),
            size(v.excluded)
        );
        let _ = writeln!(
            out,
            "  {} {} of {} beyond 99 % of reruns; that many or more in {} % of honest collections",
            paint.bold("tail"),
            v.beyond,
            v.judged,
            short(v.tail * 100.0)
        );
        let _ = writeln!(
            out,
            "  {} {} of {}; of honest reruns {:.0} % are",
            paint.bold("within 2 %"),
            v.within_2_percent,
            v.judged,
            v.honest_within * 100.0
        );
    }
    if !v.drift.is_empty() {
        let moved: Vec<String> = v.drift.iter().map(|d| percent(*d)).collect();
        let _ =
            writeln!(out, "  {} {} since the first pass", paint.bold("controls"), moved.join(", "));
    }
}

/// A percentage with as many digits as say something.
fn short(percent: f64) -> String {
    match percent {
        p if p < 0.01 => "under 0.01".into(),
        p if p < 1.0 => format!("{p:.2}"),
        p => format!("{p:.0}"),
    }
}
