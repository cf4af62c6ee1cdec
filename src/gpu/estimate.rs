//! The expected time of a run, in words.

use crate::base::words::plural;
use crate::gpu::draw::Drawn;
use crate::gpu::measuring::{CONTROLS, PASSES};

/// Seconds of a measurement by a recipe: few and many.
const OWN_S: (f64, f64) = (0.07, 0.15);

/// Seconds of a measurement by a framework or by a command without a recipe.
const FOREIGN_S: (f64, f64) = (1.0, 3.0);

/// Returns how many measurements the tables of a run need, and how long they take.
pub fn estimate(drawn: &[Drawn]) -> String {
    let (mut few, mut many, mut calls) = (0.0, 0.0, 0);
    for Drawn { points, .. } in drawn {
        let all = points.len() + PASSES * CONTROLS.min(points.len());
        let is_own = points.iter().all(|(point, _)| point.work.is_some());
        let (low, high) = if is_own { OWN_S } else { FOREIGN_S };
        (few, many, calls) = (few + low * all as f64, many + high * all as f64, calls + all);
    }
    let (calls, tables) = (plural(calls, "measurement"), plural(drawn.len(), "table"));
    format!("{calls} of {tables}, with controls: about {few:.0} to {many:.0} s")
}
