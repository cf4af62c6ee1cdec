//! Renders remeasurements for people and for programs.

pub(super) mod human;
pub(super) mod json;

use super::run::Report;
use super::style;

/// Renders a run's measurements on a GPU as lines without colours; empty if nothing was measured.
pub(super) fn lines(report: &Report) -> Vec<String> {
    let mut text = String::new();
    report.remeasured.iter().for_each(|remeasured| human::write(&mut text, remeasured));
    style::plain(&text).lines().map(str::to_owned).collect()
}
