//! What a page shows of a point under the pointer.

use std::fmt::Write;

use super::draw::FINE;
use super::{ChartLine, ChartPoint, LineKind, Panel, short};
use crate::report::xml::xml;

/// What is shown of a point under the pointer.
pub(super) fn describe(line: &ChartLine, panel: &Panel, point: ChartPoint) -> String {
    let before = if line.kind == LineKind::Base { " before" } else { "" };
    let name = if line.series.is_empty() { "" } else { ", " };
    format!("{}{name}at {}: {} {}{before}", line.series, short(point.x), short(point.y), panel.y)
}

/// A place that shows its values under the pointer.
pub(super) fn hover(out: &mut String, (x, y): (i32, i32), values: &str) {
    let r = 6 * FINE;
    let _ = writeln!(
        out,
        "<circle cx=\"{x}\" cy=\"{y}\" r=\"{r}\" fill=\"#000\" fill-opacity=\"0\"><title>{}</title></circle>",
        xml(values)
    );
}
