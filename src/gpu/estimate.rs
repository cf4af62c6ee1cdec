//! The expected time of a run, in words.

use crate::base::words::plural;
use crate::gpu::device::{Point, SAMPLES};
use crate::gpu::draw::Drawn;
use crate::gpu::measuring::{CONTROLS, PASSES};

/// Seconds of a measurement by a framework or a command: few and many.
const FOREIGN_S: (f64, f64) = (1.0, 3.0);

/// Seconds of a measurement by a recipe, besides its runs: memory, plans and the card's rest.
const OWN_S: f64 = 0.1;

/// The number of points and control measurements of drawn tables, of which the first `judged` are judged, and how
/// long they take.
pub fn estimate(drawn: &[Drawn], judged: usize) -> String {
    let (mut few, mut many, mut controls) = (0.0, 0.0, 0);
    for table in drawn {
        let wakes = table.points.first().is_some_and(|(point, _)| point.call.is_none());
        let calls = (PASSES + usize::from(wakes)) * CONTROLS.min(table.points.len());
        let repeated = (table.points.len() + calls) as f64 / table.points.len().max(1) as f64;
        for (point, _) in &table.points {
            let (low, high) = seconds(point);
            (few, many) = (few + low * repeated, many + high * repeated);
        }
        controls += calls;
    }
    let points: usize = drawn.iter().map(|table| table.points.len()).sum();
    let others = match drawn.len() - judged {
        0 => String::new(),
        others => format!(" and {}", plural(others, "control table")),
    };
    format!(
        "{} of {}{others}, and {}: about {}",
        plural(points, "point"),
        plural(judged, "table"),
        plural(controls, "control measurement"),
        words(few, many)
    )
}

fn seconds(point: &Point) -> (f64, f64) {
    let Some(work) = point.work.as_ref().filter(|_| point.call.is_none()) else { return FOREIGN_S };
    let units = f64::from(SAMPLES * (work.warmups + work.runs));
    let own = units * work.copies as f64 * point.recorded_ms / 1e3 + OWN_S;
    (own, own)
}

/// A time in words.
fn words(few: f64, many: f64) -> String {
    let (unit, name) = if many < 120.0 { (1.0, "s") } else { (60.0, "min") };
    let (few, many) = ((few / unit).ceil(), (many / unit).ceil());
    if few < many { format!("{few} to {many} {name}") } else { format!("{many} {name}") }
}
