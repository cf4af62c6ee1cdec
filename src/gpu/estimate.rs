//! The expected time of a run, in words.

use crate::base::words::plural;
use crate::gpu::device::{Point, SAMPLES};
use crate::gpu::draw::Drawn;
use crate::gpu::measuring::{CONTROLS, PASSES};

/// Seconds of a measurement by a framework or a command: few and many.
const FOREIGN_S: (f64, f64) = (1.0, 3.0);

/// Seconds of a measurement by a recipe, besides its runs: memory, plans and the card's rest.
const OWN_S: f64 = 0.1;

/// Returns how many measurements the tables of a run need, and how long they take.
pub fn estimate(drawn: &[Drawn]) -> String {
    let (mut few, mut many, mut calls) = (0.0, 0.0, 0);
    for Drawn { points, .. } in drawn {
        let all = points.len() + PASSES * CONTROLS.min(points.len());
        let repeated = all as f64 / points.len().max(1) as f64;
        for (low, high) in points.iter().map(|(point, _)| seconds(point)) {
            (few, many) = (few + low * repeated, many + high * repeated);
        }
        calls += all;
    }
    let (calls, tables) = (plural(calls, "measurement"), plural(drawn.len(), "table"));
    let least = if few < many { format!("{few:.0} to ") } else { String::new() };
    format!("{calls} of {tables}, control tables and points included: about {least}{many:.0} s")
}

fn seconds(point: &Point) -> (f64, f64) {
    let Some(work) = point.work.as_ref() else { return FOREIGN_S };
    let units = f64::from(SAMPLES * (work.warmups + work.runs)) * work.copies as f64;
    let own = units * point.recorded_ms / 1e3 + OWN_S;
    (own, own)
}
