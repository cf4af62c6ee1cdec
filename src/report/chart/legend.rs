//! Draws rings around points, and their legend.

use plotters::prelude::*;

use super::canvas::{Area, FINE, Failed, font, pixel};
use super::{ChartFigure, ChartPoint, Ring};
use crate::base::words::plural;
use crate::findings::Severity;

/// Returns the colour of a ring by the finding's severity.
fn ring_colour(severity: Severity) -> RGBColor {
    match severity {
        Severity::Error => RGBColor(200, 0, 0),
        Severity::Warning => RGBColor(176, 96, 0),
        Severity::Info => RGBColor(110, 110, 110),
    }
}

/// Draws the legend: each rule, and how many of the rows that its findings name are drawn.
pub(super) fn draw_legend<'a>(
    root: &Area<'a>,
    figure: &ChartFigure,
    top: u32,
) -> Result<(), Failed<'a>> {
    let mut left = 12;
    for (index, ring) in figure.rings.iter().enumerate() {
        let points = figure.panels.first().into_iter().flat_map(|panel| &panel.lines);
        let points = points.flat_map(|line| &line.points);
        let drawn = points.filter(|point| point.rings.contains(&index)).count();
        let text = format!("{}, {drawn} of {} here", ring.name, plural(ring.rows, "row"));
        let colour = ring_colour(ring.severity);
        let at = pixel(left + 5, top + 8);
        root.draw(&Circle::new(at, 5 * FINE, colour.stroke_width(2 * FINE)))?;
        root.draw_text(&text, &font(13, colour), pixel(left + 15, top))?;
        // A letter of this font is about 7 pixels wide.
        left += 15 + 7 * text.chars().count() as u32 + 14;
    }
    Ok(())
}

/// Draws a ring around a point that findings name, in the colour of the worst finding.
pub(super) fn draw_ring<'a>(
    root: &Area<'a>,
    rings: &[Ring],
    point: &ChartPoint,
    at: (i32, i32),
) -> Result<(), Failed<'a>> {
    let severities = point.rings.iter().filter_map(|ring| rings.get(*ring));
    match severities.map(|ring| ring.severity).min() {
        None => Ok(()),
        Some(worst) => {
            let style = ring_colour(worst).stroke_width(2 * FINE);
            root.draw(&Circle::new(at, 6 * FINE, style))
        }
    }
}
