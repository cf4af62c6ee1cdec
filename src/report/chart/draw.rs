//! A figure → SVG, through plotters, with the font of the binary.

use std::collections::BTreeMap;
use std::sync::Once;

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::{FontStyle, register_font};

use super::hover::{describe, hover};
use super::scale::{span, ticks};
use super::{Figure, LineKind, Panel, short};
use crate::base::error::{Error, Result};
use crate::report::xml::xml;

/// Size in pixels; text stays readable where a page shows it 600 wide.
const WIDTH: u32 = 760;
const LATENCY: u32 = 360;
const RATE: u32 = 230;
const HEAD: u32 = 56;
/// Room for the names at the lines' ends.
const NAMES: u32 = 170;
/// plotters draws at whole pixels; drawn this much larger, lines are smooth.
pub(super) const FINE: u32 = 4;

/// Colours that everybody tells apart, by Okabe and Ito (Color Universal Design, 2008).
const COLOURS: [RGBColor; 6] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
];
const INK: RGBColor = RGBColor(34, 34, 34);
const GRID: RGBColor = RGBColor(228, 228, 228);
const MARK: RGBColor = RGBColor(200, 0, 0);

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Failed<'a> = DrawingAreaErrorKind<<SVGBackend<'a> as DrawingBackend>::ErrorType>;

/// Draws a figure, whose texts are escaped first. Points show their values where a page shows it inline.
///
/// # Errors
///
/// When plotters cannot draw, which is a fault of this program.
pub fn svg(figure: &Figure) -> Result<String> {
    static FONT: Once = Once::new();
    FONT.call_once(|| {
        // Its bytes are part of the binary; a text without a font fails below.
        let _ = register_font("sans-serif", FontStyle::Normal, notosans::REGULAR_TTF);
    });
    let figure = &figure.escaped();
    let heights: Vec<u32> =
        (0..figure.panels.len()).map(|i| if i == 0 { LATENCY } else { RATE }).collect();
    let height = HEAD + heights.iter().sum::<u32>();
    let (mut drawn, mut hovers) = (String::new(), String::new());
    paint(figure, &heights, (WIDTH, height), &mut drawn, &mut hovers)
        .map_err(|e| Error::new(format!("cannot draw a chart: {e}"), ""))?;
    // The picture has its own size and scales with the page.
    let (fine_w, fine_h) = (WIDTH * FINE, height * FINE);
    let plain = format!("<svg width=\"{fine_w}\" height=\"{fine_h}\"");
    let sized = format!(
        "<svg width=\"{WIDTH}\" height=\"{height}\" role=\"img\" aria-label=\"{}\"",
        xml(&format!("{}. {}", figure.title, figure.subtitle))
    );
    let end = format!("{hovers}</svg>");
    Ok(drawn.replacen(&plain, &sized, 1).replacen("</svg>", &end, 1))
}

fn paint<'a>(
    figure: &Figure,
    heights: &[u32],
    (width, height): (u32, u32),
    drawn: &'a mut String,
    hovers: &mut String,
) -> std::result::Result<(), Failed<'a>> {
    let root = SVGBackend::with_string(drawn, (width * FINE, height * FINE)).into_drawing_area();
    root.fill(&WHITE)?;
    let pixel = |x: u32, y: u32| ((x * FINE) as i32, (y * FINE) as i32);
    root.draw_text(&cut(&figure.title, 90), &font(17, INK), pixel(12, 8))?;
    root.draw_text(&cut(&figure.subtitle, 110), &font(13, INK), pixel(12, 32))?;
    let span =
        span(figure.panels.iter().flat_map(|p| &p.lines).flat_map(|l| &l.points).map(|p| p.x));
    let mut top = HEAD;
    for (i, (panel, height)) in figure.panels.iter().zip(heights).enumerate() {
        let area = root.clone().shrink(pixel(0, top), (width * FINE, height * FINE));
        let last = i + 1 == figure.panels.len();
        draw_panel(&area, &root, panel, span, last.then_some(figure.x.as_str()), hovers)?;
        top += height;
    }
    root.present()
}

fn draw_panel<'a>(
    area: &Area<'a>,
    root: &Area<'a>,
    panel: &Panel,
    x: (f64, f64),
    x_name: Option<&str>,
    hovers: &mut String,
) -> std::result::Result<(), Failed<'a>> {
    // A bound may lie decades below what is measured; it is drawn as far as it comes into view.
    let measured = panel.lines.iter().filter(|l| l.kind != LineKind::Bound);
    let values = measured.flat_map(|l| &l.points).map(|p| p.y);
    let (low, high) = span(values.chain(panel.limit));
    let y = (low / 1.25, high * 1.25);
    let px = |n: u32| n * FINE;
    let mut chart = ChartBuilder::on(area)
        .margin_top(px(10))
        .margin_right(px(NAMES))
        .x_label_area_size(px(if x_name.is_some() { 46 } else { 26 }))
        .margin_left(px(8))
        .y_label_area_size(px(66))
        .build_cartesian_2d(
            (x.0 / 1.1..x.1 * 1.1).log_scale().with_key_points(ticks(x)),
            (y.0..y.1).log_scale().with_key_points(ticks(y)),
        )?;
    chart
        .configure_mesh()
        .bold_line_style(GRID.stroke_width(FINE))
        .light_line_style(TRANSPARENT)
        .axis_style(INK.stroke_width(FINE))
        .label_style(font(13, INK))
        .axis_desc_style(font(13, INK))
        .x_desc(x_name.unwrap_or_default())
        .y_desc(&panel.y)
        .x_label_formatter(&|v| short(*v))
        .y_label_formatter(&|v| short(*v))
        .draw()?;
    if let Some(limit) = panel.limit {
        let ends = [(x.0 / 1.1, limit), (x.1 * 1.1, limit)];
        chart.draw_series(LineSeries::new(ends, INK.stroke_width(2 * FINE)))?;
    }
    let mut ends: BTreeMap<usize, (i32, i32)> = BTreeMap::new();
    for line in &panel.lines {
        let colour = COLOURS[line.colour % COLOURS.len()];
        let points = || line.points.iter().map(|p| (p.x, p.y));
        match line.kind {
            LineKind::Head => {
                chart.draw_series(LineSeries::new(points(), colour.stroke_width(2 * FINE)))?;
            }
            LineKind::Base => {
                let style = colour.stroke_width(2 * FINE);
                let (dash, gap) = (px(7) as i32, px(5) as i32);
                chart.draw_series(DashedLineSeries::new(points(), dash, gap, style))?;
            }
            LineKind::Points => {}
            LineKind::Bound => {
                let style = colour.mix(0.55).stroke_width(FINE);
                let seen = points().filter(|p| (y.0..=y.1).contains(&p.1));
                chart.draw_series(LineSeries::new(seen, style))?;
            }
        }
        if line.kind == LineKind::Bound {
            continue;
        }
        for point in &line.points {
            let at = chart.backend_coord(&(point.x, point.y));
            if matches!(line.kind, LineKind::Head | LineKind::Points) {
                let size = if line.kind == LineKind::Head { 2 } else { 3 };
                root.draw(&Circle::new(at, px(size), colour.filled()))?;
                ends.insert(line.colour, at);
            }
            if point.marked {
                root.draw(&Circle::new(at, px(6), MARK.stroke_width(2 * FINE)))?;
            }
            hover(hovers, at, &describe(line, panel, *point));
        }
    }
    draw_names(root, panel, ends, chart.plotting_area().get_pixel_range().1)
}

/// Writes each series' name at its line's end, moved apart where lines end close together.
fn draw_names<'a>(
    root: &Area<'a>,
    panel: &Panel,
    ends: BTreeMap<usize, (i32, i32)>,
    rows: std::ops::Range<i32>,
) -> std::result::Result<(), Failed<'a>> {
    let apart = (15 * FINE) as i32;
    let mut names: Vec<(usize, (i32, i32))> = ends.into_iter().collect();
    names.sort_by_key(|(colour, at)| (at.1, *colour));
    let mut free = rows.start;
    let mut placed: Vec<i32> = Vec::new();
    for (_, at) in &names {
        placed.push(at.1.max(free));
        free = placed[placed.len() - 1] + apart;
    }
    // What was pushed off the foot goes back up, and takes those above along.
    let mut most = rows.end;
    for y in placed.iter_mut().rev() {
        *y = (*y).min(most);
        most = *y - apart;
    }
    let left = ((WIDTH - NAMES + 12) * FINE) as i32;
    for ((colour, at), y) in names.iter().zip(placed) {
        let ink = COLOURS[colour % COLOURS.len()];
        let name = panel.lines.iter().find(|l| l.colour == *colour).map_or("", |l| &l.series);
        let leader = [(at.0 + 3 * FINE as i32, at.1), (left - 3 * FINE as i32, y)];
        root.draw(&PathElement::new(leader, ink.mix(0.5).stroke_width(FINE)))?;
        let middle = y - 8 * FINE as i32;
        root.draw_text(&cut(name, 26), &font(13, darker(ink)), (left, middle))?;
    }
    Ok(())
}

/// Text needs more contrast than lines.
fn darker(RGBColor(r, g, b): RGBColor) -> RGBColor {
    let less = |c: u8| (f64::from(c) * 0.72) as u8;
    RGBColor(less(r), less(g), less(b))
}

fn font(size: u32, colour: RGBColor) -> TextStyle<'static> {
    ("sans-serif", size * FINE).into_font().color(&colour)
}

fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        None => text.to_owned(),
        Some((at, _)) => format!("{}…", &text[..at]),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{ChartLine, ChartPoint};
    use super::*;

    const SVG: &str = "http://www.w3.org/2000/svg";

    fn figure(series: &str) -> Figure {
        let line = |kind, colour, factor: f64| ChartLine {
            series: series.to_owned(),
            colour,
            kind,
            points: (0..8)
                .map(|i| ChartPoint {
                    x: f64::from(1 << i),
                    y: factor * f64::from(1 + i),
                    marked: i == 3,
                })
                .collect(),
        };
        Figure {
            name: "f".into(),
            title: format!("gemm_perf {series}"),
            subtitle: "synthetic".into(),
            x: "m".into(),
            panels: vec![Panel {
                y: "latency, ms".into(),
                limit: None,
                lines: vec![
                    line(LineKind::Base, 0, 0.9),
                    line(LineKind::Head, 0, 1.0),
                    line(LineKind::Head, 1, 1.0),
                ],
            }],
        }
    }

    #[test]
    fn a_chart_is_the_same_twice_and_draws_what_the_figure_holds() {
        let drawn = svg(&figure("n=128")).unwrap();
        assert_eq!(drawn, svg(&figure("n=128")).unwrap());
        assert_eq!(drawn.matches("<title>").count(), 24);
        let page = roxmltree::Document::parse(&drawn).unwrap();
        let count = |tag| page.descendants().filter(|n| n.has_tag_name(tag)).count();
        let blank = svg(&Figure { panels: Vec::new(), ..figure("") }).unwrap();
        assert_eq!(blank.matches("<polyline").count() + blank.matches("<title>").count(), 0);
        assert!(count((SVG, "polyline")) >= 2, "lines are drawn: {drawn}");
        let texts = page.descendants().filter(|n| n.has_tag_name((SVG, "text")));
        let texts: Vec<&str> = texts.filter_map(|n| n.text()).map(str::trim).collect();
        for text in ["gemm_perf n=128", "synthetic", "latency, ms", "n=128"] {
            assert!(texts.contains(&text), "{text} is drawn: {texts:?}");
        }
    }

    #[test]
    fn names_are_text_whatever_they_hold() {
        let drawn = svg(&figure("</svg><script>\"&\u{202e}")).unwrap();
        assert!(!drawn.contains("<script>") && !drawn.contains('\u{202e}'), "{drawn}");
        assert_eq!(drawn.matches("</svg>").count(), 1);
    }
}
