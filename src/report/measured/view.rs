//! What was measured again, as a person reads it: each text that may hold words from data is escaped.

use std::collections::BTreeMap;

use crate::base::escape::clean;
use crate::base::reason::Reason;
use crate::gpu::device::CardState;
use crate::gpu::judge::{Measured, Standing};
use crate::gpu::outcome::{Remeasured, Sample};
use crate::report::view::finding::pairs;

/// A device and the samples that it measured.
pub struct MeasuredView<'a> {
    /// The device's name.
    pub device: String,
    /// Versions of its software: `driver 580.1, cublas 13.0`.
    pub versions: String,
    /// Its settings, likewise.
    pub settings: String,
    /// The card before and after.
    pub states: Vec<(&'static str, String)>,
    /// What happened on the way.
    pub notes: Vec<String>,
    /// By table.
    pub samples: Vec<SampleView<'a>>,
    /// Paths of the selected tables that nothing was measured of.
    pub unmeasured: Vec<String>,
}

/// The sample of one table.
pub struct SampleView<'a> {
    /// The sample itself, for numbers.
    pub raw: &'a Sample,
    /// The table.
    pub path: String,
    /// The version whose table it is.
    pub version: String,
    /// The device's version, where that is another.
    pub measured_with: Option<String>,
    /// Why it does not pass; empty where it does.
    pub reasons: String,
    /// The points, by recorded latency.
    pub points: Vec<PointView<'a>>,
}

/// One point.
pub struct PointView<'a> {
    /// The measurement itself, for numbers.
    pub raw: &'a Measured,
    /// The columns that name it.
    pub key: String,
    /// Why it was not measured; empty where it was.
    pub fault: String,
    /// How it stands and what the device says of it; empty or begins with two spaces.
    pub note: String,
}

impl<'a> MeasuredView<'a> {
    /// Escapes what was measured.
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

/// The state of a card on one line.
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
        // Columns of every row, which name no point.
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
