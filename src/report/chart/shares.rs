//! Charts of shares between 0 and 1 over sizes on a logarithmic axis.

use plotters::prelude::*;

use super::canvas::{
    COLOURS, FINE, Failed, GRID, INK, NAMES, WIDTH, darker, font, pixel, sized, with_font,
};
use super::ends::{End, draw_ends};
use super::scale::{span, ticks};
use super::short;
use super::text::cut;
use crate::base::error::{Error, Result};
use crate::base::escape::clean;

const HEIGHT: u32 = 420;
/// The height of the title in pixels.
const HEAD: u32 = 58;

/// A line of shares over sizes.
pub struct ShareLine {
    /// The name of the line.
    pub name: String,
    /// The points as positive size and share, ascending by size.
    pub points: Vec<(f64, f64)>,
}

/// A chart of shares over sizes.
pub struct ShareChart {
    /// The title above the chart.
    pub title: String,
    /// The subtitle below the title.
    pub subtitle: String,
    /// The label of the size axis.
    pub x: String,
    /// The label of the share axis.
    pub y: String,
    /// The lines of the chart.
    pub lines: Vec<ShareLine>,
}

impl ShareChart {
    /// Draws the chart as SVG.
    ///
    /// # Errors
    ///
    /// If plotters cannot draw, which is a bug of this program.
    pub fn svg(&self) -> Result<String> {
        with_font();
        let mut drawn = String::new();
        self.paint(&mut drawn).map_err(|e| Error::new(format!("cannot draw a chart: {e}"), ""))?;
        Ok(sized(&drawn, HEIGHT, &format!("{}. {}", self.title, self.subtitle)))
    }

    fn paint<'a>(&self, drawn: &'a mut String) -> std::result::Result<(), Failed<'a>> {
        let px = |n: u32| n * FINE;
        let root = SVGBackend::with_string(drawn, (px(WIDTH), px(HEIGHT))).into_drawing_area();
        root.fill(&WHITE)?;
        root.draw_text(&cut(&clean(&self.title), 90), &font(17, INK), pixel(12, 8))?;
        root.draw_text(&cut(&clean(&self.subtitle), 116), &font(13, INK), pixel(12, 32))?;
        let x = span(self.lines.iter().flat_map(|line| &line.points).map(|(x, _)| *x));
        let area = root.clone().shrink(pixel(0, HEAD), (px(WIDTH), px(HEIGHT - HEAD)));
        let mut chart = ChartBuilder::on(&area)
            .margin_top(px(10))
            .margin_right(px(NAMES))
            .x_label_area_size(px(46))
            .margin_left(px(8))
            .y_label_area_size(px(66))
            .build_cartesian_2d(
                (x.0 / 1.05..x.1 * 1.05).log_scale().with_key_points(ticks(x)),
                -0.02..1.02,
            )?;
        chart
            .configure_mesh()
            .bold_line_style(GRID.stroke_width(FINE))
            .light_line_style(TRANSPARENT)
            .axis_style(INK.stroke_width(FINE))
            .label_style(font(13, INK))
            .axis_desc_style(font(13, INK))
            .x_desc(&self.x)
            .y_desc(&self.y)
            .y_labels(6)
            .x_label_formatter(&|v| short(*v))
            .y_label_formatter(&|v| format!("{v:.1}"))
            .draw()?;
        let mut ends: Vec<End<'_>> = Vec::new();
        for (number, line) in self.lines.iter().enumerate() {
            let colour = COLOURS[number % COLOURS.len()];
            let style = colour.stroke_width(2 * FINE);
            chart.draw_series(LineSeries::new(line.points.iter().copied(), style))?;
            for point in &line.points {
                let at = chart.backend_coord(point);
                root.draw(&Circle::new(at, 3 * FINE, colour.filled()))?;
            }
            if let Some(last) = line.points.last() {
                let at = chart.backend_coord(last);
                ends.push(End { name: &line.name, colour: number, ink: darker(colour), at });
            }
        }
        draw_ends(&root, ends, chart.plotting_area().get_pixel_range().1)?;
        root.present()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_names_are_drawn() {
        let line =
            |name: &str| ShareLine { name: name.into(), points: vec![(1.5, 0.0), (3.0, 1.0)] };
        let chart = ShareChart {
            title: "recall".into(),
            subtitle: "synthetic".into(),
            x: "factor".into(),
            y: "share found".into(),
            lines: vec![line("points"), line("</svg>")],
        };
        let drawn = chart.svg().unwrap();
        let page = roxmltree::Document::parse(&drawn).unwrap();
        let texts =
            page.descendants().filter(|n| n.has_tag_name("text") || n.tag_name().name() == "text");
        let texts: Vec<&str> = texts.filter_map(|n| n.text()).map(str::trim).collect();
        for text in ["recall", "synthetic", "factor", "share found", "points", "</svg>"] {
            assert!(texts.contains(&text), "{text} is drawn: {texts:?}");
        }
    }
}
