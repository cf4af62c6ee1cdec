//! Writes the names of series at the ends of their lines, draws rings around points, and writes the legend of the
//! rings.

use plotters::prelude::*;

use super::canvas::{Area, FINE, Failed, NAMES, WIDTH, broken, colour, darker, font, pixel};
use super::scene::{ChartFigure, ChartPoint, RingedRule};
use crate::base::words::plural;
use crate::findings::Severity;

/// The maximum number of characters per line of a series' name.
const CHARS: usize = 34;
/// The maximum number of lines of a series' name. Six names of four lines fill the first panel.
const LINES: usize = 4;
/// The height of a line of text in pixels.
const LINE_HEIGHT: u32 = 14;

/// Returns true if the name of a series fits into the space beside its chart line without being cut.
pub(super) fn fits(name: &str) -> bool {
    broken(name, CHARS, LINES).iter().all(|line| !line.ends_with('…'))
}

/// The name of a series, and the end point of the chart line beside which the name is written.
pub(super) struct End<'a> {
    pub name: &'a str,
    /// The index of the series in the chart.
    pub series: usize,
    pub at: (i32, i32),
}

/// Writes the name of each series at the end of its chart line. Names that would overlap are moved apart.
pub(super) fn draw_ends<'a>(
    root: &Area<'a>,
    mut ends: Vec<End<'_>>,
    rows: std::ops::Range<i32>,
) -> Result<(), Failed<'a>> {
    ends.sort_by_key(|end| (end.at.1, end.series));
    let names: Vec<Vec<String>> = ends.iter().map(|end| broken(end.name, CHARS, LINES)).collect();
    let apart = (LINE_HEIGHT * FINE) as i32;
    let heights: Vec<i32> = names.iter().map(|lines| apart * lines.len() as i32).collect();
    let tops: Vec<i32> = ends.iter().zip(&heights).map(|(end, h)| end.at.1 - h / 2).collect();
    let left = ((WIDTH - NAMES + 12) * FINE) as i32;
    let fine = FINE as i32;
    for (number, top) in placed(&tops, &heights, rows).into_iter().enumerate() {
        let (End { at, series, .. }, height) = (&ends[number], heights[number]);
        let ink = darker(colour(*series));
        let leader = [(at.0 + 3 * fine, at.1), (left - 3 * fine, top + height / 2)];
        root.draw(&PathElement::new(leader, ink.mix(0.4).stroke_width(FINE)))?;
        for (line, text) in names[number].iter().enumerate() {
            root.draw_text(text, &font(13, ink), (left, top + apart * line as i32))?;
        }
    }
    Ok(())
}

fn ring_colour(severity: Severity) -> RGBColor {
    match severity {
        Severity::Error => RGBColor(200, 0, 0),
        Severity::Warning => RGBColor(176, 96, 0),
        Severity::Info => RGBColor(110, 110, 110),
    }
}

/// Draws the legend of the rings around points. The legend states for each rule how many points have a ring and how
/// many rows the rule's findings name.
pub(super) fn draw_rings<'a>(
    root: &Area<'a>,
    figure: &ChartFigure,
    top: u32,
) -> Result<(), Failed<'a>> {
    let mut left = 12;
    for (index, ring) in figure.rings.iter().enumerate() {
        let points = figure.panels.first().into_iter().flat_map(|panel| &panel.lines);
        let points = points.flat_map(|line| &line.points);
        let drawn = points.filter(|point| point.rings.contains(&index)).count();
        let text = format!("{}: {drawn} of {} ringed", ring.name, plural(ring.rows, "row"));
        let colour = ring_colour(ring.severity);
        let at = pixel(left + 5, top + 8);
        root.draw(&Circle::new(at, 5 * FINE, colour.stroke_width(2 * FINE)))?;
        root.draw_text(&text, &font(13, colour), pixel(left + 15, top))?;
        // A letter of this font is about 7 pixels wide.
        left += 15 + 7 * text.chars().count() as u32 + 14;
    }
    Ok(())
}

/// Draws a ring around a point that findings name, in the colour of the most severe finding.
pub(super) fn draw_ring<'a>(
    root: &Area<'a>,
    rings: &[RingedRule],
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

/// Places blocks of text below each other without overlap, and returns the y positions of their upper edges in pixels.
/// `tops` contains the preferred positions, and `rows` is the available range.
fn placed(tops: &[i32], heights: &[i32], rows: std::ops::Range<i32>) -> Vec<i32> {
    let mut free = rows.start;
    let mut placed: Vec<i32> = Vec::new();
    for (top, height) in tops.iter().zip(heights) {
        placed.push((*top).max(free));
        free = placed[placed.len() - 1] + height;
    }
    // Blocks below the lower edge move up and push the blocks above them.
    let mut most = rows.end;
    for (top, height) in placed.iter_mut().zip(heights).rev() {
        *top = (*top).min(most - height);
        most = *top;
    }
    placed
}

#[cfg(test)]
mod tests {
    use super::placed;

    #[test]
    fn legend_names_do_not_overlap_and_are_within_the_panel() {
        assert_eq!(placed(&[0, 5, 90], &[10, 20, 15], 0..100), [0, 10, 85]);
        assert_eq!(placed(&[95, 95], &[10, 20], 0..100), [70, 80]);
    }
}
