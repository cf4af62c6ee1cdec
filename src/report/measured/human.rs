//! Renders a remeasurement for a terminal. Texts from data are escaped.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::base::error::Reason;
use crate::base::escape::clean;
use crate::base::stats::Interval;
use crate::base::words::{Figure, count, plural};
use crate::gpu::device::CardState;
use crate::gpu::judge::{Measured, Offset, PointVerdict, against_recorded, longer, percent, size};
use crate::gpu::outcome::{Remeasured, Sample};
use crate::report::style::{self, BOLD, DIM, styled};
use crate::report::view::finding::pairs;

/// Writes the result of a remeasurement: the device, then for each table the verdict, sentences that explain the
/// verdict, and the measured points.
pub(in crate::report) fn write(out: &mut String, remeasured: &Remeasured) {
    let about = &remeasured.about;
    let versions = match clean(&list(&about.versions)) {
        versions if versions.is_empty() => versions,
        versions => format!(": {versions}"),
    };
    let _ = writeln!(out, "{}{versions}", styled(BOLD, clean(&about.name)));
    let settings = Some(list(&about.settings)).filter(|settings| !settings.is_empty());
    let states = remeasured.states.iter();
    let states = states.map(|(when, state)| format!("{when}: {}", card_state(state)));
    for line in settings.into_iter().chain(states).chain(remeasured.notes.iter().cloned()) {
        let _ = writeln!(out, "{}", clean(&line));
    }
    remeasured.samples.iter().for_each(|sample| write_sample(out, sample));
    if !remeasured.unmeasured.is_empty() {
        let _ = writeln!(
            out,
            "\nnot measured, because there is no recipe, the device cannot measure them, or no row is selected:"
        );
        for path in &remeasured.unmeasured {
            let _ = writeln!(out, "  {}", clean(path));
        }
    }
}

/// Formats the clocks, power, temperature and throttling of a GPU on one line.
fn card_state(state: &CardState) -> String {
    let throttled = state.throttled.join(", ");
    let parts = [
        state.sm_mhz.map(|v| format!("{v} MHz SM")),
        state.memory_mhz.map(|v| format!("{v} MHz memory")),
        state.power_w.map(|v| format!("{v:.0} W")),
        state.celsius.map(|v| format!("{v} °C")),
        (!throttled.is_empty()).then(|| format!("throttled: {throttled}")),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

fn write_sample(out: &mut String, sample: &Sample) {
    let outcome = sample.verdict.outcome;
    let _ = writeln!(out, "\n{}", styled(BOLD, clean(&sample.file.entry.path)));
    let _ = writeln!(
        out,
        "  {}: {}",
        styled(style::of_outcome(outcome), outcome.name()),
        clean(&sample.sentence())
    );
    for sentence in sentences(sample) {
        let _ = writeln!(out, "  {sentence}");
    }
    write_points(out, sample);
}

/// Returns sentences that explain the verdict on a table. They state, for example, the measured bias and the bias that
/// undisturbed measurements usually have.
fn sentences(sample: &Sample) -> Vec<String> {
    let verdict = &sample.verdict;
    let mut said = Vec::new();
    if let Some(interval) = verdict.interval {
        let points = plural(verdict.judged, "point");
        let median = median(verdict.bias, &points, interval);
        said.push(format!("Measured times are {median}."));
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
            verdict.near.points,
            verdict.near.undisturbed * 100.0
        ));
    }
    said.extend(sample.offset.as_ref().map(card));
    said.extend(verdict.slices.iter().filter(|slice| slice.differs).map(|slice| {
        let points = plural(slice.points, "point");
        format!("{}: {}.", clean(&slice.slice), median(slice.bias, &points, slice.interval))
    }));
    let bound = sample.points.iter().filter(|p| p.is_host_bound()).count();
    if bound > 0 {
        said.push(format!(
            "Bound by the host: {}, shown and not judged. The table contains the time of launches there, not of kernels.",
            plural(bound, "point")
        ));
    }
    said.push(compared(sample));
    said.extend(sample.complaints.sentence().map(|why| clean(&format!("Meanwhile {why}."))));
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

/// Describes how fast the GPU of this run is, compared with the recorded times of other tables.
fn card(offset: &Offset) -> String {
    format!(
        "In {} other tables this card's times are {} in the median; the table is judged relative to a card that is {}.",
        offset.tables,
        against_recorded(offset.median),
        longer(offset.log)
            .replace("longer", "slower")
            .replace("shorter", "faster")
            .replace("as long", "as fast"),
    )
}

/// Formats a median log ratio and its confidence interval as text. `points` is a text such as `60 points`.
fn median(bias: f64, points: &str, interval: Interval) -> String {
    let (low, high) = (longer(interval.low), longer(interval.high));
    let (bias, percent) = (against_recorded(bias), interval.confidence * 100.0);
    format!("{bias} in the median of {points} ({percent:.0} % confidence: {low} to {high})")
}

/// Describes how many points were compared, from how many rows they were drawn, and why points were left out.
fn compared(sample: &Sample) -> String {
    let draw = &sample.draw;
    let strata = plural(draw.strata, "stratum").replace("stratums", "strata");
    let drawn = format!("drawn with seed {} from {strata}", draw.seed);
    let is_replay = sample.points.iter().any(|measured| measured.point.reply.is_some());
    let origin = if is_replay { "by the replies of a log" } else { &drawn };
    let (judged, rows) = (count(sample.verdict.judged), plural(draw.rows, "row"));
    let first = format!("Compared: {judged} of {rows}, {origin}");
    let points = |standing| sample.points.iter().filter(|p| p.verdict() == standing).count();
    let rows = |rows: usize| plural(rows, "row");
    let some = |count: usize, words: String| (count > 0).then_some(words);
    let (missing, proxies) = (points(PointVerdict::Missing), points(PointVerdict::Proxy));
    let version = clean(&sample.file.place.version);
    let with = sample.measured_with.as_deref().map(clean);
    let parts = [
        Some(first),
        some(missing, format!("{} more could not be measured", count(missing))),
        some(proxies, format!("{} more are proxies", count(proxies))),
        with.map(|with| format!("measured with {with}, recorded with {version}")),
        some(
            draw.replaced,
            format!("{} were replaced, because they do not fit in memory", draw.replaced),
        ),
        some(draw.without_recipe, format!("{} without a recipe", rows(draw.without_recipe))),
        draw.larger.as_ref().map(|larger| format!("left out: {larger}")),
        some(
            draw.proxies,
            format!(
                "{} left out, because this device cannot measure them as recorded",
                rows(draw.proxies)
            ),
        ),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join("; ") + "."
}

/// Writes one line per point, sorted by recorded latency.
fn write_points(out: &mut String, sample: &Sample) {
    let heads =
        "    recorded ms  measured ms   ratio        µs  sample range     2 %  W now/then   MHz";
    let _ = writeln!(out, "{}", styled(DIM, heads));
    let mut points: Vec<&Measured> = sample.points.iter().collect();
    points.sort_by(|a, b| a.point.recorded_ms.total_cmp(&b.point.recorded_ms));
    let mut above = String::new();
    for measured in points {
        let key = key(measured);
        let fault = measured.answer.as_ref().err().map(Reason::to_string);
        let why = fault.or(measured.proxy().map(str::to_owned)).unwrap_or_default();
        let said = if why == above { "as above" } else { &why };
        let end = styled(DIM, &key) + &clean(&remarks(measured, said));
        let line = measured_line(measured, &end, sample.margins.confidence);
        let line = line.unwrap_or_else(|| format!("not measured: {}  {key}", clean(said)));
        let _ = writeln!(out, "    {:>11.6}  {line}", measured.point.recorded_ms);
        above = why;
    }
}

/// Formats a point's measured values as columns, followed by `end`, which contains the key and the remarks. `None` if
/// the point was not measured.
fn measured_line(measured: &Measured, end: &str, confidence: f64) -> Option<String> {
    let answer = measured.answer.as_ref().ok()?;
    let (ms, ratio) = (measured.measured_ms()?, measured.ratio()?);
    let (low, high) = measured.interval(confidence).unwrap_or((ratio, ratio));
    let two = if measured.within_2_percent() == Some(true) { "yes" } else { "no" };
    let watts = match (answer.power_w, measured.point.recorded_w) {
        (None, None) => "-".to_owned(),
        (now, then) => format!("{}/{}", whole(now), whole(then)),
    };
    Some(format!(
        "{:>11.6}  {:>6.3}  {:>+8.1}  {:.3} … {:.3}  {two:>3}  {watts:>10}  {:>4}  {end}",
        Figure(ms),
        Figure(ratio),
        Figure((ms - measured.point.recorded_ms) * 1e3),
        Figure(low),
        Figure(high),
        whole(answer.clocks_mhz),
    ))
}

/// Returns the columns that identify a point, escaped.
fn key(measured: &Measured) -> String {
    // Columns that are equal in all rows of a table.
    const PLACE: [&str; 3] = ["framework", "version", "device"];
    let key = measured.point.key.iter().filter(|(name, _)| !PLACE.contains(&name.as_str()));
    clean(&pairs(key))
}

/// Returns the remarks on a point, such as `outside rerun noise`. A proxy is a point whose measured time cannot be
/// compared with the recorded one; `why` is the reason.
fn remarks(measured: &Measured, why: &str) -> String {
    let standing = match measured.verdict() {
        PointVerdict::Beyond => "  outside rerun noise".to_owned(),
        PointVerdict::HostBound => "  bound by the host".to_owned(),
        PointVerdict::Proxy => format!("  proxy: {why}"),
        PointVerdict::Within | PointVerdict::Missing => String::new(),
    };
    let note = measured.answer.as_ref().ok().and_then(|answer| answer.note.as_ref());
    standing + &note.map(|note| format!("  ({note})")).unwrap_or_default()
}

fn list(named: &BTreeMap<String, String>) -> String {
    named.iter().map(|(name, value)| format!("{name} {value}")).collect::<Vec<_>>().join(", ")
}

/// Formats a number without decimals, or a dash if the number is unknown.
fn whole(figure: Option<f64>) -> String {
    figure.map_or("-".to_owned(), |v| format!("{v:.0}"))
}

/// Formats a percentage. Small percentages have more decimals.
fn short(percent: f64) -> String {
    if percent < 0.01 {
        "under 0.01".to_owned()
    } else if percent < 1.0 {
        format!("{percent:.2}")
    } else {
        format!("{percent:.0}")
    }
}
