//! Draws recall over the size of faults, one line per kind.

use super::score::Scores;
use crate::base::error::Result;
use crate::base::words::plural;
use crate::report::chart::{ShareChart, ShareLine};

/// Draws the recall of faults that come in several sizes, as SVG.
///
/// # Errors
///
/// Returns the errors of [`ShareChart::svg`].
pub fn recall_curves(scores: &Scores) -> Result<String> {
    let mut lines: Vec<ShareLine> = Vec::new();
    for fault in scores.faults.iter().filter(|fault| fault.planted > 0) {
        let (Some(name), Some(by)) = (&fault.variant.fault.curve, fault.variant.by) else {
            continue;
        };
        // A latency multiplied by 0.7 is off by a factor of 1.43.
        let point = (by.max(1.0 / by), fault.found as f64 / fault.planted as f64);
        match lines.iter_mut().find(|line| line.name == *name) {
            Some(line) => line.points.push(point),
            None => lines.push(ShareLine { name: name.clone(), points: vec![point] }),
        }
    }
    for line in &mut lines {
        line.points.sort_by(|a, b| a.0.total_cmp(&b.0));
    }
    let chart = ShareChart {
        title: "Recall over the size of a fault".into(),
        subtitle: format!(
            "{} planted in {}, seed {}; {}",
            plural(scores.planted(), "fault"),
            plural(scores.tables, "table"),
            scores.seed,
            plural(scores.alarms.len(), "false alarm")
        ),
        x: "how many times off".into(),
        y: "share found".into(),
        lines,
    };
    chart.svg()
}
