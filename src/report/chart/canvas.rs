//! The size, colours and font of a picture that plotters draws.

use std::sync::Once;

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::{FontStyle, register_font};

use crate::report::xml::xml;

/// The width of a picture in pixels; text stays readable if a page shows it 600 pixels wide.
pub(super) const WIDTH: u32 = 800;
/// The width in pixels for the names at the ends of lines.
pub(super) const NAMES: u32 = 226;
/// The factor by which pictures are drawn larger: plotters rounds to whole pixels, so that lines
/// would not be smooth.
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
        // Registering embedded bytes cannot fail; without a font, drawing a text would.
        let _ = register_font("sans-serif", FontStyle::Normal, notosans::REGULAR_TTF);
    });
}

/// Sets the size of a picture, and its label for screen readers. Texts are moved to the lines of their tags: a log
/// could take a line that begins with a name from data for a command.
pub(super) fn sized(drawn: &str, height: u32, said: &str) -> String {
    let drawn = drawn.replace(">\n", ">").replace("><", ">\n<");
    let (fine_w, fine_h) = (WIDTH * FINE, height * FINE);
    let plain = format!("<svg width=\"{fine_w}\" height=\"{fine_h}\"");
    let label = xml(said);
    let sized =
        format!("<svg width=\"{WIDTH}\" height=\"{height}\" role=\"img\" aria-label=\"{label}\"");
    drawn.replacen(&plain, &sized, 1)
}

/// Converts pixels of the picture into those of the larger drawing.
pub(super) fn pixel(x: u32, y: u32) -> (i32, i32) {
    ((x * FINE) as i32, (y * FINE) as i32)
}

/// Darkens a colour for text, which needs more contrast than lines.
pub(super) fn darker(RGBColor(r, g, b): RGBColor) -> RGBColor {
    let less = |c: u8| (f64::from(c) * 0.72) as u8;
    RGBColor(less(r), less(g), less(b))
}

pub(super) fn font(size: u32, colour: RGBColor) -> TextStyle<'static> {
    ("sans-serif", size * FINE).into_font().color(&colour)
}
