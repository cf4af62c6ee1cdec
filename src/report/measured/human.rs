//! Renders a remeasurement for a terminal.

use std::fmt::Write;

use super::view::{MeasuredView, PointView, SampleView};
use crate::base::words::{Figure, count, plural};
use crate::gpu::judge::{against_recorded, longer, percent, size};
use crate::report::style::{self, BOLD, DIM, styled};

/// Writes the device, then the verdict, figures and points of each sample.
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
    for note in &view.notes {
        let _ = writeln!(out, "{note}");
    }
    for sample in &view.samples {
        write_sample(out, sample);
    }
    if !view.unmeasured.is_empty() {
        let _ = writeln!(
            out,
            "\nnot measured, because there is no recipe, the device cannot measure them, or no row is selected:"
        );
        for path in &view.unmeasured {
            let _ = writeln!(out, "  {path}");
        }
    }
}

fn write_sample(out: &mut String, view: &SampleView<'_>) {
    let sample = view.raw;
    let _ = writeln!(out, "\n{}", styled(BOLD, &view.path));
    let outcome = sample.verdict.outcome;
    let _ = writeln!(
        out,
        "  {}: {}",
        styled(style::of_outcome(outcome), outcome.name()),
        sample.verdict.sentence(&view.reasons)
    );
    for sentence in sentences(view) {
        let _ = writeln!(out, "  {sentence}");
    }
    write_points(out, view);
}

/// Words the figures behind the verdict: the measured bias, the comparison, and the detectable
/// bias.
fn sentences(view: &SampleView<'_>) -> Vec<String> {
    let (sample, verdict) = (view.raw, &view.raw.verdict);
    let mut said = Vec::new();
    if let Some(interval) = verdict.interval {
        let points = plural(verdict.judged, "point");
        said.push(format!(
            "Measured times are {} in the median of {points} ({:.0} % confidence: {} to {}).",
            against_recorded(verdict.bias),
            interval.confidence * 100.0,
            longer(interval.low),
            longer(interval.high)
        ));
        said.push(format!(
            "{:.0} of 100 undisturbed collections differ by at most {} in a sample that spreads like this one.",
            100.0 * (1.0 - sample.margins.level),
            size(verdict.allowed)
        ));
        said.push(format!(
            "{} of {points} are outside rerun noise (the 99th percentile of reruns); {} % of undisturbed collections have as many such points.",
            verdict.beyond,
            short(verdict.tail * 100.0)
        ));
        said.push(format!(
            "{} of {points} are within 2 % of the record; in undisturbed reruns {:.0} % are.",
            verdict.within_2_percent,
            verdict.honest_within * 100.0
        ));
    }
    said.push(compared(view));
    said.push(match sample.power.detects {
        Some(detects) => format!(
            "A usual sample of this size finds 9 of 10 tables that are off by {}; its false alarms are {} % of correct tables.",
            size(detects),
            short(sample.power.false_alarm * 100.0)
        ),
        None => "The points are too few to find any bias.".to_owned(),
    });
    if !verdict.drift.is_empty() {
        let moved: Vec<String> = verdict.drift.iter().map(|moved| percent(*moved)).collect();
        let moved = moved.join(", then ");
        said.push(format!("Drift of the control points since the start: {moved}."));
    }
    said
}

/// Words the number of points compared and the rows from which they were drawn.
fn compared(view: &SampleView<'_>) -> String {
    let sample = view.raw;
    let mut said = format!(
        "Compared: {} of {}, drawn with seed {} from {}",
        count(sample.points.len()),
        plural(sample.rows, "row"),
        sample.seed,
        plural(sample.strata, "stratum").replace("stratums", "strata"),
    );
    if let Some(with) = &view.measured_with {
        said += &format!("; measured with {with}, recorded with {}", view.version);
    }
    if sample.replaced > 0 {
        said += &format!("; {} were replaced, because they do not fit in memory", sample.replaced);
    }
    if sample.without_recipe > 0 {
        said += &format!("; {} without a recipe", plural(sample.without_recipe, "row"));
    }
    if sample.proxies > 0 {
        let proxies = plural(sample.proxies, "row");
        said +=
            &format!("; {proxies} left out, because this device cannot measure them as recorded");
    }
    said + "."
}

/// Writes one line per point, ordered by recorded latency.
fn write_points(out: &mut String, view: &SampleView<'_>) {
    let _ = writeln!(
        out,
        "{}",
        styled(DIM, "    recorded ms  measured ms   ratio  sample range     2 %  W now/then   MHz")
    );
    for point in &view.points {
        let line = match measured_line(point, view.raw.margins.confidence) {
            Some(line) => line,
            None => format!("not measured: {}  {}", point.fault, point.key),
        };
        let _ = writeln!(out, "    {:>11.6}  {line}", point.raw.point.recorded_ms);
    }
}

/// Returns the columns after the recorded latency; `None` if the point was not measured.
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
        "{:>11.6}  {:>6.3}  {:.3} … {:.3}  {two:>3}  {watts:>10}  {:>4}  {}{}",
        Figure(ms),
        Figure(ratio),
        Figure(low),
        Figure(high),
        whole(answer.clocks_mhz),
        styled(DIM, &view.key),
        view.note
    ))
}

/// Formats a figure without decimals; a dash if it is unknown.
fn whole(figure: Option<f64>) -> String {
    figure.map_or("-".to_owned(), |v| format!("{v:.0}"))
}

/// Formats a percentage with more digits the smaller it is.
fn short(percent: f64) -> String {
    if percent < 0.01 {
        "under 0.01".to_owned()
    } else if percent < 1.0 {
        format!("{percent:.2}")
    } else {
        format!("{percent:.0}")
    }
}
