//! What was measured again, on a terminal.

use std::fmt::Write;

use super::view::{MeasuredView, PointView, SampleView};
use crate::base::words::{count, plural};
use crate::gpu::judge::{percent, size};
use crate::gpu::outcome::Sample;
use crate::report::style::{self, BOLD, DIM, styled};

/// Writes the device, then each sample: its points, its figures and its verdict.
pub(in crate::report) fn write(out: &mut String, view: &MeasuredView<'_>) {
    let versions = match view.versions.as_str() {
        "" => String::new(),
        versions => format!(": {versions}"),
    };
    let _ = writeln!(out, "{}{versions}", styled(BOLD, &view.device));
    if !view.settings.is_empty() {
        let _ = writeln!(out, "{}", view.settings);
    }
    for (when, state) in &view.states {
        let _ = writeln!(out, "{when}: {state}");
    }
    for sample in &view.samples {
        write_sample(out, sample);
    }
    if !view.unmeasured.is_empty() {
        let _ = writeln!(
            out,
            "\nnot measured, because there is no recipe, this device cannot, or no row is selected:"
        );
        for path in &view.unmeasured {
            let _ = writeln!(out, "  {path}");
        }
    }
}

fn write_sample(out: &mut String, view: &SampleView<'_>) {
    let sample = view.raw;
    let _ = writeln!(out, "\n{}", styled(BOLD, &view.path));
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
    if let Some(with) = &view.measured_with {
        let _ = writeln!(out, "  measured with {with}, recorded with {}", view.version);
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
    write_points(out, view);
    write_verdict(out, sample);
    let outcome = sample.verdict.outcome;
    let why = if view.reasons.is_empty() { String::new() } else { format!(": {}", view.reasons) };
    let _ = writeln!(out, "  {}{why}", styled(style::of_outcome(outcome), outcome.name()));
}

/// One line per point, by recorded latency.
fn write_points(out: &mut String, view: &SampleView<'_>) {
    let _ = writeln!(
        out,
        "{}",
        styled(DIM, "    recorded ms  measured ms   ratio  its samples      2 %  W now/then   MHz")
    );
    for point in &view.points {
        let line = match measured_line(point, view.raw.confidence) {
            Some(line) => line,
            None => format!("not measured: {}  {}", point.fault, point.key),
        };
        let _ = writeln!(out, "    {:>11.6}  {line}", point.raw.point.recorded_ms);
    }
}

/// What follows the recorded latency of a point that was measured; `None` where it was not.
fn measured_line(view: &PointView<'_>, confidence: f64) -> Option<String> {
    let (measured, point) = (view.raw, &view.raw.point);
    let answer = measured.answer.as_ref().ok()?;
    let (ms, ratio) = (measured.measured_ms()?, measured.ratio()?);
    let (low, high) = measured.interval(confidence).unwrap_or((ratio, ratio));
    let two = if measured.within_2_percent() == Some(true) { "yes" } else { "no" };
    let watts = match (answer.power_w, point.recorded_w) {
        (None, None) => "-".to_owned(),
        (now, then) => format!("{}/{}", whole(now), whole(then)),
    };
    Some(format!(
        "{ms:>11.6}  {ratio:>6.3}  {low:.3} … {high:.3}  {two:>3}  {watts:>10}  {:>4}  {}{}",
        whole(answer.clocks_mhz),
        styled(DIM, &view.key),
        view.note
    ))
}

/// A figure without digits after the point; a dash where there is none.
fn whole(figure: Option<f64>) -> String {
    figure.map_or("-".to_owned(), |v| format!("{v:.0}"))
}

fn write_verdict(out: &mut String, sample: &Sample) {
    let v = &sample.verdict;
    if let Some(i) = v.interval {
        let _ = writeln!(
            out,
            "  {} {} in the median ({} to {} at {:.0} %); {:.0} of 100 honest samples as wide differ by at most {}",
            styled(BOLD, "bias"),
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
            styled(BOLD, "excludes"),
            size(v.excluded)
        );
        let _ = writeln!(
            out,
            "  {} {} of {} beyond 99 % of reruns; that many or more in {} % of honest collections",
            styled(BOLD, "tail"),
            v.beyond,
            v.judged,
            short(v.tail * 100.0)
        );
        let _ = writeln!(
            out,
            "  {} {} of {}; of honest reruns {:.0} % are",
            styled(BOLD, "within 2 %"),
            v.within_2_percent,
            v.judged,
            v.honest_within * 100.0
        );
    }
    if !v.drift.is_empty() {
        let moved: Vec<String> = v.drift.iter().map(|d| percent(*d)).collect();
        let _ = writeln!(
            out,
            "  {} {} since the first pass",
            styled(BOLD, "controls"),
            moved.join(", ")
        );
    }
}

/// A percentage with as many digits as say something.
fn short(percent: f64) -> String {
    if percent < 0.01 {
        "under 0.01".to_owned()
    } else if percent < 1.0 {
        format!("{percent:.2}")
    } else {
        format!("{percent:.0}")
    }
}
