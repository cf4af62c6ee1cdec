//! The texts of a remeasurement, escaped.

use std::collections::BTreeMap;

use crate::base::escape::clean;
use crate::base::reason::Reason;
use crate::gpu::device::CardState;
use crate::gpu::judge::{Measured, Standing};
use crate::gpu::outcome::{Remeasured, Sample};
use crate::report::view::finding::pairs;

/// The device of a remeasurement and the samples measured on it.
pub struct MeasuredView<'a> {
    /// The device's name.
    pub device: String,
    /// Versions of the device's software: `driver 580.1, cublas 13.0`.
    pub versions: String,
    /// Settings of the device as names and values.
    pub settings: String,
    /// The state of the GPU before and after measuring.
    pub states: Vec<(&'static str, String)>,
    /// Incidents while measuring, such as a restarted runner.
    pub notes: Vec<String>,
    /// One sample per table.
    pub samples: Vec<SampleView<'a>>,
    /// Paths of selected tables without any measurement.
    pub unmeasured: Vec<String>,
}

/// The sample of one table.
pub struct SampleView<'a> {
    /// The sample itself, for its numbers.
    pub raw: &'a Sample,
    /// The table's path.
    pub path: String,
    /// The version of the table.
    pub version: String,
    /// The device's software version if it differs from the table's.
    pub measured_with: Option<String>,
    /// The reasons why the sample does not pass; empty if it passes.
    pub reasons: String,
    /// The points, ordered by recorded latency.
    pub points: Vec<PointView<'a>>,
}

/// One measured point of a sample.
pub struct PointView<'a> {
    /// The measurement itself, for its numbers.
    pub raw: &'a Measured,
    /// The columns that identify the point.
    pub key: String,
    /// The reason why the point was not measured; empty if it was.
    pub fault: String,
    /// Remarks on the point and from the device; empty or starting with two spaces.
    pub note: String,
}

impl<'a> MeasuredView<'a> {
    /// Escapes the texts of a remeasurement.
    pub fn new(remeasured: &'a Remeasured) -> Self {
        let about = &remeasured.about;
        Self {
            device: clean(&about.name),
            versions: clean(&list(&about.versions)),
            settings: clean(&list(&about.settings)),
            states: remeasured.states.iter().map(|(w, state)| (*w, clean(&line(state)))).collect(),
            notes: remeasured.notes.iter().map(|note| clean(note)).collect(),
            samples: remeasured.samples.iter().map(SampleView::new).collect(),
            unmeasured: remeasured.unmeasured.iter().map(|path| clean(path)).collect(),
        }
    }
}

fn list(named: &BTreeMap<String, String>) -> String {
    named.iter().map(|(name, value)| format!("{name} {value}")).collect::<Vec<_>>().join(", ")
}

/// Formats the state of a GPU on one line.
fn line(state: &CardState) -> String {
    let mut parts: Vec<String> = [
        state.sm_mhz.map(|v| format!("{v} MHz SM")),
        state.memory_mhz.map(|v| format!("{v} MHz memory")),
        state.power_w.map(|v| format!("{v:.0} W")),
        state.celsius.map(|v| format!("{v} °C")),
    ]
    .into_iter()
    .flatten()
    .collect();
    if !state.throttled.is_empty() {
        parts.push(format!("throttled: {}", state.throttled.join(", ")));
    }
    parts.join(", ")
}

impl<'a> SampleView<'a> {
    fn new(sample: &'a Sample) -> Self {
        let mut points: Vec<&Measured> = sample.points.iter().collect();
        points.sort_by(|a, b| a.point.recorded_ms.total_cmp(&b.point.recorded_ms));
        Self {
            raw: sample,
            path: clean(&sample.file.entry.path),
            version: clean(&sample.file.place.version),
            measured_with: sample.measured_with.as_deref().map(clean),
            reasons: clean(&sample.verdict.reasons.join("; ")),
            points: points.into_iter().map(PointView::new).collect(),
        }
    }
}

impl<'a> PointView<'a> {
    fn new(measured: &'a Measured) -> Self {
        // Columns that are alike in all rows of a table.
        const PLACE: [&str; 3] = ["framework", "version", "device"];
        let key = measured.point.key.iter().filter(|(name, _)| !PLACE.contains(&name.as_str()));
        let standing = match (measured.standing(), measured.proxy()) {
            (Standing::Beyond, _) => "  outside rerun noise".to_owned(),
            (_, Some(why)) => format!("  proxy: {why}"),
            _ => String::new(),
        };
        let note = measured.answer.as_ref().ok().and_then(|answer| answer.note.as_ref());
        let note = note.map(|note| format!("  ({note})")).unwrap_or_default();
        let fault = measured.answer.as_ref().err().map(Reason::to_string).unwrap_or_default();
        Self {
            raw: measured,
            key: clean(&pairs(key)),
            fault: clean(&fault),
            note: clean(&format!("{standing}{note}")),
        }
    }
}
