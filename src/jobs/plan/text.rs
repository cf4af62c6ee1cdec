//! Renders a plan for people.

use super::RerunPlan;
use crate::base::words::{count, plural};

impl RerunPlan {
    /// Renders the plan: one line per operation with reasons and commands, then the notes and the
    /// total.
    pub fn text(&self) -> String {
        let mut out = String::new();
        for operation in &self.list.operations {
            out += &format!(
                "{} {} {} {}: {}, {}\n",
                operation.table,
                operation.backend,
                operation.version,
                operation.system,
                plural(operation.points.len(), "point"),
                time(operation.seconds),
            );
            let mut reasons: Vec<(&str, usize)> = Vec::new();
            for point in &operation.points {
                let rule = point.reason.split(" (").next().unwrap_or(&point.reason);
                match reasons.iter_mut().find(|(known, _)| *known == rule) {
                    Some((_, points)) => *points += 1,
                    None => reasons.push((rule, 1)),
                }
            }
            reasons.sort_by_key(|(_, points)| std::cmp::Reverse(*points));
            for (reason, points) in reasons.iter().take(5) {
                out += &format!("  {} of {reason}\n", count(*points));
            }
            for command in operation.collect.iter().take(3) {
                out += &format!("  {command}\n");
            }
            if operation.collect.len() > 3 {
                out += &format!("  and {} more\n", plural(operation.collect.len() - 3, "command"));
            }
        }
        for note in &self.notes {
            out += &format!("{note}\n");
        }
        let operations = plural(self.list.operations.len(), "table");
        out += &format!(
            "{} of {operations}, {}\n",
            plural(self.list.points(), "point"),
            time(self.list.seconds)
        );
        out
    }
}

/// Renders a duration in seconds for people.
fn time(seconds: Option<f64>) -> String {
    match seconds {
        None => "time unknown".to_owned(),
        Some(s) if s < 120.0 => format!("about {s:.1} s"),
        Some(s) if s < 7200.0 => format!("about {:.0} min", s / 60.0),
        Some(s) => format!("about {:.1} h", s / 3600.0),
    }
}
