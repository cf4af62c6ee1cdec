//! The texts that a page shows for a point under the pointer.

use std::fmt::Write;

use super::canvas::FINE;
use super::{ChartLine, ChartPoint, LineKind, Panel, Ring, short};
use crate::report::xml::xml;

/// Returns the text for a point: its values, and the findings that name it.
pub(super) fn describe(
    line: &ChartLine,
    panel: &Panel,
    rings: &[Ring],
    point: &ChartPoint,
) -> String {
    let state = match line.kind {
        LineKind::Base => " before",
        LineKind::Copies => ", not served",
        LineKind::Head | LineKind::Peer | LineKind::Bound | LineKind::Points => "",
    };
    let comma = if line.series.is_empty() { "" } else { ", " };
    let mut text = format!(
        "{}{comma}at {}: {} {}{state}",
        line.series,
        short(point.x),
        short(point.y),
        panel.y
    );
    let names: Vec<&str> = point
        .rings
        .iter()
        .filter_map(|ring| rings.get(*ring))
        .map(|ring| ring.name.as_str())
        .collect();
    if !names.is_empty() {
        let row = point.row.map(|row| format!("row {row}: ")).unwrap_or_default();
        let _ = write!(text, "; {row}{}", names.join(", "));
    }
    text
}

/// Writes an invisible circle that shows a text under the pointer.
pub(super) fn hover(out: &mut String, (x, y): (i32, i32), values: &str) {
    let r = 6 * FINE;
    let _ = writeln!(
        out,
        "<circle cx=\"{x}\" cy=\"{y}\" r=\"{r}\" fill=\"#000\" fill-opacity=\"0\"><title>{}</title></circle>",
        xml(values)
    );
}
