//! Writes the names of series at the ends of their lines.

use plotters::prelude::*;

use super::canvas::{Area, FINE, Failed, NAMES, WIDTH, font};
use super::text::broken;

/// The most characters per line of a name.
const CHARS: usize = 30;
const LINES: usize = 3;
/// The height of a line of a name in pixels.
const APART: u32 = 15;

/// The end of a line and the name to write there.
pub(super) struct End<'a> {
    pub name: &'a str,
    /// The number of the series.
    pub colour: usize,
    /// The colour of the name.
    pub ink: RGBColor,
    pub at: (i32, i32),
}

/// Writes each series' name at the end of its line. Names that would overlap are moved apart.
pub(super) fn draw_ends<'a>(
    root: &Area<'a>,
    mut ends: Vec<End<'_>>,
    rows: std::ops::Range<i32>,
) -> Result<(), Failed<'a>> {
    ends.sort_by_key(|end| (end.at.1, end.colour));
    let names: Vec<Vec<String>> = ends.iter().map(|end| broken(end.name, CHARS, LINES)).collect();
    let heights: Vec<i32> =
        names.iter().map(|lines| (APART * FINE) as i32 * lines.len() as i32).collect();
    let tops: Vec<i32> = ends.iter().zip(&heights).map(|(end, h)| end.at.1 - h / 2).collect();
    let left = ((WIDTH - NAMES + 12) * FINE) as i32;
    for ((end, lines), (top, height)) in
        ends.iter().zip(&names).zip(placed(&tops, &heights, rows).into_iter().zip(&heights))
    {
        let leader =
            [(end.at.0 + 3 * FINE as i32, end.at.1), (left - 3 * FINE as i32, top + height / 2)];
        root.draw(&PathElement::new(leader, end.ink.mix(0.4).stroke_width(FINE)))?;
        for (number, line) in lines.iter().enumerate() {
            let y = top + (APART * FINE) as i32 * number as i32;
            root.draw_text(line, &font(13, end.ink), (left, y))?;
        }
    }
    Ok(())
}

/// Moves blocks so that they do not overlap, and returns their tops in the order of `tops`, the
/// preferred ones.
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
    fn names_do_not_overlap_and_stay_within_the_panel() {
        assert_eq!(placed(&[0, 5, 90], &[10, 20, 15], 0..100), [0, 10, 85]);
        assert_eq!(placed(&[95, 95], &[10, 20], 0..100), [70, 80]);
    }
}
