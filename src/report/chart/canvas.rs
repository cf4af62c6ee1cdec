//! The size, colours, font, texts and tick marks of a picture that plotters draws.

use std::sync::Once;

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::{FontStyle, register_font};

use crate::report::xml::xml;

/// The width of a picture in pixels. Text stays readable if a page shows the picture 600 pixels wide.
pub(super) const WIDTH: u32 = 800;
/// The width in pixels of the space for the names at the ends of lines.
pub(super) const NAMES: u32 = 226;
/// The factor by which pictures are drawn larger than they are shown. Plotters rounds to whole pixels, so lines would
/// not be smooth otherwise.
pub(super) const FINE: u32 = 4;

/// Colours that colour-blind people can distinguish, by Okabe and Ito (Color Universal Design,
/// 2008).
pub(super) const COLOURS: [RGBColor; 6] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
];
pub(super) const INK: RGBColor = RGBColor(34, 34, 34);
pub(super) const GRID: RGBColor = RGBColor(228, 228, 228);

pub(super) type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
pub(super) type Failed<'a> = DrawingAreaErrorKind<<SVGBackend<'a> as DrawingBackend>::ErrorType>;

/// Registers the embedded font.
pub(super) fn with_font() {
    static FONT: Once = Once::new();
    FONT.call_once(|| {
        // Registering embedded bytes cannot fail. If it did, drawing a text would fail.
        let _ = register_font("sans-serif", FontStyle::Normal, notosans::REGULAR_TTF);
    });
}

/// Sets the size of an SVG picture to [`WIDTH`] and `height` pixels, and adds the label `said` for screen readers.
/// Moves line breaks in the SVG text so that no line starts with a name from a table, because CI logs can interpret
/// such a line as a command.
pub(super) fn sized(drawn: &str, height: u32, said: &str) -> String {
    let drawn = drawn.replace(">\n", ">").replace("><", ">\n<");
    let (fine_w, fine_h) = (WIDTH * FINE, height * FINE);
    let plain = format!("<svg width=\"{fine_w}\" height=\"{fine_h}\"");
    let label = xml(said);
    let sized =
        format!("<svg width=\"{WIDTH}\" height=\"{height}\" role=\"img\" aria-label=\"{label}\"");
    drawn.replacen(&plain, &sized, 1)
}

/// Converts a position in pixels of the shown picture into a position in pixels of the larger drawing.
pub(super) fn pixel(x: u32, y: u32) -> (i32, i32) {
    ((x * FINE) as i32, (y * FINE) as i32)
}

/// Returns the colour of a series by its index in the chart.
pub(super) fn colour(series: usize) -> RGBColor {
    COLOURS[series % COLOURS.len()]
}

/// Darkens a colour for text, which needs more contrast than lines.
pub(super) fn darker(RGBColor(r, g, b): RGBColor) -> RGBColor {
    let less = |c: u8| (f64::from(c) * 0.72) as u8;
    RGBColor(less(r), less(g), less(b))
}

pub(super) fn font(size: u32, colour: RGBColor) -> TextStyle<'static> {
    ("sans-serif", size * FINE).into_font().color(&colour)
}

/// Cuts a text to at most `most` characters.
pub(super) fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        None => text.to_owned(),
        Some((at, _)) => format!("{}…", &text[..at]),
    }
}

/// Wraps a text at spaces into at most `most` lines of at most `chars` characters. Text that does not fit is cut.
pub(super) fn broken(text: &str, chars: usize, most: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        let fits = |line: &&mut String| line.chars().count() + 1 + word.chars().count() <= chars;
        match lines.last_mut().filter(fits) {
            Some(line) => *line = format!("{line} {word}"),
            None => lines.push(word.to_owned()),
        }
    }
    if lines.len() > most {
        let rest = lines.split_off(most.saturating_sub(1)).join(" ");
        lines.push(rest);
    }
    lines.iter().map(|line| cut(line, chars)).collect()
}

#[cfg(test)]
mod tests {
    use super::broken;

    #[test]
    fn long_texts_in_a_chart_are_wrapped_at_spaces() {
        assert_eq!(broken("num_heads 8, head_dim 128", 12, 3), ["num_heads 8,", "head_dim 128"]);
        assert_eq!(broken("a b c d e f", 3, 2), ["a b", "c d…"]);
        assert_eq!(broken("abcdefgh", 3, 2), ["abc…"]);
    }
}
