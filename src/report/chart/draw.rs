//! Draws a figure as SVG with plotters and the embedded font.

use plotters::coord::ranged1d::ValueFormatter;
use plotters::prelude::*;

use super::canvas::{
    Area, COLOURS, FINE, Failed, GRID, INK, NAMES, WIDTH, darker, font, pixel, sized, with_font,
};
use super::ends::{End, draw_ends};
use super::hover::{describe, hover};
use super::legend::{draw_legend, draw_ring};
use super::scale::{span, ticks};
use super::text::{broken, cut};
use super::{ChartFigure, ChartLine, LineKind, Panel, Ring, short};
use crate::base::error::{Error, Result};

/// The height of the panel of latencies in pixels.
const LATENCY: u32 = 360;
/// The height of every other panel in pixels.
const RATE: u32 = 230;
/// The height of the title in pixels.
const HEAD: u32 = 40;
/// The height of a line below the title in pixels.
const LINE: u32 = 18;
/// The most characters of a line below the title.
const LINE_CHARS: usize = 116;
/// The most lines of the subtitle.
const SUBTITLE: usize = 3;
/// The largest ratio that a linear axis shows; with larger ones, the others would be a flat line.
const LINEAR: f64 = 4.0;
/// The largest factor between the ends of a logarithmic axis; smaller values are not shown.
const DECADES: f64 = 1e4;

/// Draws a figure as SVG. Its texts are escaped. If a page contains the SVG inline, points show
/// their values on hover.
///
/// # Errors
///
/// If plotters cannot draw, which is a bug of this program.
pub fn svg(figure: &ChartFigure) -> Result<String> {
    with_font();
    let figure = &figure.escaped();
    let heights: Vec<u32> =
        (0..figure.panels.len()).map(|i| if i == 0 { LATENCY } else { RATE }).collect();
    let said = broken(&figure.subtitle, LINE_CHARS, SUBTITLE);
    let lines = said.len() + usize::from(!figure.rings.is_empty());
    let head = HEAD + LINE * lines as u32;
    let height = head + heights.iter().sum::<u32>();
    let (mut drawn, mut hovers) = (String::new(), String::new());
    let frame = FigureFrame { figure, said, heights, head, height };
    paint(&frame, &mut drawn, &mut hovers)
        .map_err(|e| Error::new(format!("cannot draw a chart: {e}"), ""))?;
    let said = format!("{}. {}", figure.title, figure.subtitle);
    let end = format!("{hovers}</svg>");
    Ok(sized(&drawn, height, &said).replacen("</svg>", &end, 1))
}

/// The parts of a picture with their heights.
struct FigureFrame<'f> {
    figure: &'f ChartFigure,
    /// The lines of the subtitle.
    said: Vec<String>,
    /// The height of each panel in pixels.
    heights: Vec<u32>,
    head: u32,
    height: u32,
}

fn paint<'a>(
    frame: &FigureFrame<'_>,
    drawn: &'a mut String,
    hovers: &mut String,
) -> std::result::Result<(), Failed<'a>> {
    let FigureFrame { figure, said, heights, head, height } = frame;
    let root = SVGBackend::with_string(drawn, (WIDTH * FINE, height * FINE)).into_drawing_area();
    root.fill(&WHITE)?;
    root.draw_text(&cut(&figure.title, 90), &font(17, INK), pixel(12, 8))?;
    for (line, text) in said.iter().enumerate() {
        root.draw_text(text, &font(13, INK), pixel(12, 32 + LINE * line as u32))?;
    }
    draw_legend(&root, figure, 32 + LINE * said.len() as u32)?;
    let span =
        span(figure.panels.iter().flat_map(|p| &p.lines).flat_map(|l| &l.points).map(|p| p.x));
    let mut top = *head;
    for (i, (panel, height)) in figure.panels.iter().zip(heights).enumerate() {
        let area = root.clone().shrink(pixel(0, top), (WIDTH * FINE, height * FINE));
        let last = i + 1 == figure.panels.len();
        let shown = PanelShown { panel, rings: &figure.rings, x: span };
        draw_panel(&area, &root, shown, last.then_some(figure.x.as_str()), hovers)?;
        top += height;
    }
    root.present()
}

/// A panel with the figure's rings and the range of the x axis.
#[derive(Clone, Copy)]
struct PanelShown<'f> {
    panel: &'f Panel,
    rings: &'f [Ring],
    x: (f64, f64),
}

fn draw_panel<'a>(
    area: &Area<'a>,
    root: &Area<'a>,
    shown: PanelShown<'_>,
    x_name: Option<&str>,
    hovers: &mut String,
) -> std::result::Result<(), Failed<'a>> {
    let PanelShown { panel, x, .. } = shown;
    // A bound may be decades below the measured values; only its visible part is drawn.
    let measured = panel.lines.iter().filter(|l| l.kind != LineKind::Bound);
    let values = measured.flat_map(|l| &l.points).map(|p| p.y);
    let (low, high) = span(values.chain(panel.mark));
    let px = |n: u32| n * FINE;
    let mut chart = ChartBuilder::on(area);
    chart
        .margin_top(px(10))
        .margin_right(px(NAMES))
        .x_label_area_size(px(if x_name.is_some() { 46 } else { 26 }))
        .margin_left(px(8))
        .y_label_area_size(px(66));
    let along = || (x.0 / 1.1..x.1 * 1.1).log_scale().with_key_points(ticks(x));
    match panel.noise {
        Some(noise) if high.max(noise) <= LINEAR => {
            let y = (0.0, high.max(noise) * 1.1);
            let across = y.0..y.1;
            let chart = chart.build_cartesian_2d(along(), across)?;
            draw_lines(chart, root, shown, y, x_name, hovers)
        }
        _ => {
            let y = (low.max(high / DECADES) / 1.25, high * 1.25);
            let across = (y.0..y.1).log_scale().with_key_points(ticks(y));
            let chart = chart.build_cartesian_2d(along(), across)?;
            draw_lines(chart, root, shown, y, x_name, hovers)
        }
    }
}

/// Draws the axes and lines of a panel whose y axis shows the range `y`.
fn draw_lines<'a, X, Y>(
    mut chart: ChartContext<'_, SVGBackend<'a>, Cartesian2d<X, Y>>,
    root: &Area<'a>,
    PanelShown { panel, rings, x }: PanelShown<'_>,
    y: (f64, f64),
    x_name: Option<&str>,
    hovers: &mut String,
) -> std::result::Result<(), Failed<'a>>
where
    X: Ranged<ValueType = f64> + ValueFormatter<f64>,
    Y: Ranged<ValueType = f64> + ValueFormatter<f64>,
{
    let px = |n: u32| n * FINE;
    let is_seen = |value: f64| (y.0..=y.1).contains(&value);
    if let Some(noise) = panel.noise {
        let band = [(x.0 / 1.1, 1.0 / noise), (x.1 * 1.1, noise)];
        chart.draw_series([Rectangle::new(band, GRID.filled())])?;
    }
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
    if let Some(mark) = panel.mark {
        let ends = [(x.0 / 1.1, mark), (x.1 * 1.1, mark)];
        chart.draw_series(LineSeries::new(ends, INK.stroke_width(2 * FINE)))?;
    }
    let mut ends: Vec<End<'_>> = Vec::new();
    for line in &panel.lines {
        let colour = COLOURS[line.colour % COLOURS.len()];
        let points = || line.points.iter().map(|p| (p.x, p.y)).filter(|p| is_seen(p.1));
        match line.kind {
            LineKind::Head => {
                chart.draw_series(LineSeries::new(points(), colour.stroke_width(2 * FINE)))?;
            }
            LineKind::Base => {
                let style = colour.stroke_width(2 * FINE);
                let (dash, gap) = (px(7) as i32, px(5) as i32);
                chart.draw_series(DashedLineSeries::new(points(), dash, gap, style))?;
            }
            LineKind::Peer => {
                chart
                    .draw_series(LineSeries::new(points(), colour.mix(0.3).stroke_width(px(6))))?;
            }
            LineKind::Points | LineKind::Copies => {}
            LineKind::Bound => {
                let style = colour.mix(0.55).stroke_width(FINE);
                chart.draw_series(LineSeries::new(points(), style))?;
            }
        }
        if line.kind == LineKind::Bound {
            continue;
        }
        for point in line.points.iter().filter(|p| is_seen(p.y)) {
            let at = chart.backend_coord(&(point.x, point.y));
            draw_point(root, line, at, colour)?;
            draw_ring(root, rings, point, at)?;
            hover(hovers, at, &describe(line, panel, rings, point));
        }
        if let (LineKind::Head | LineKind::Points, Some(last)) =
            (line.kind, line.points.iter().rfind(|p| is_seen(p.y)))
            && !line.series.is_empty()
        {
            let at = chart.backend_coord(&(last.x, last.y));
            ends.retain(|end: &End<'_>| end.colour != line.colour);
            ends.push(End { name: &line.series, colour: line.colour, ink: darker(colour), at });
        }
    }
    draw_ends(root, ends, chart.plotting_area().get_pixel_range().1)
}

/// Draws a point in the style of its line.
fn draw_point<'a>(
    root: &Area<'a>,
    line: &ChartLine,
    at: (i32, i32),
    colour: RGBColor,
) -> std::result::Result<(), Failed<'a>> {
    let (size, style) = match line.kind {
        LineKind::Head => (2, colour.filled()),
        LineKind::Points => (3, colour.filled()),
        LineKind::Copies => (3, colour.stroke_width(FINE)),
        LineKind::Base | LineKind::Peer | LineKind::Bound => return Ok(()),
    };
    root.draw(&Circle::new(at, size * FINE, style))
}

#[cfg(test)]
mod tests {
    use super::super::ChartPoint;
    use super::*;
    use crate::findings::Severity;

    const SVG: &str = "http://www.w3.org/2000/svg";

    fn figure(series: &str) -> ChartFigure {
        let line = |kind, colour, factor: f64| ChartLine {
            series: series.to_owned(),
            colour,
            kind,
            points: (0..8)
                .map(|i| ChartPoint {
                    rings: (i == 3).then_some(0).into_iter().collect(),
                    row: (i == 3).then_some(3),
                    ..ChartPoint::plain(f64::from(1 << i), factor * f64::from(1 + i))
                })
                .collect(),
        };
        ChartFigure {
            name: "f".into(),
            path: "t".into(),
            title: format!("gemm_perf {series}"),
            subtitle: "synthetic".into(),
            x: "m".into(),
            rings: vec![Ring {
                name: "latency-spike".into(),
                severity: Severity::Warning,
                rows: 7,
            }],
            panels: vec![Panel {
                lines: vec![
                    line(LineKind::Base, 0, 0.9),
                    line(LineKind::Head, 0, 1.0),
                    line(LineKind::Head, 1, 1.0),
                ],
                ..Panel::named("latency, ms")
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
        let blank = svg(&ChartFigure { panels: Vec::new(), ..figure("") }).unwrap();
        assert_eq!(blank.matches("<polyline").count() + blank.matches("<title>").count(), 0);
        assert!(count((SVG, "polyline")) >= 2, "lines are drawn: {drawn}");
        let texts = page.descendants().filter(|n| n.has_tag_name((SVG, "text")));
        let texts: Vec<&str> = texts.filter_map(|n| n.text()).map(str::trim).collect();
        let ringed = "latency-spike, 3 of 7 rows here";
        for text in ["gemm_perf n=128", "synthetic", "latency, ms", "n=128", ringed] {
            assert!(texts.contains(&text), "{text} is drawn: {texts:?}");
        }
    }

    #[test]
    fn a_ring_names_its_rule_and_row() {
        let drawn = svg(&figure("n=128")).unwrap();
        let named = "n=128, at 8: 4 latency, ms; row 3: latency-spike</title>";
        assert_eq!(drawn.matches(named).count(), 2, "{drawn}");
    }

    #[test]
    fn names_are_text_whatever_they_hold() {
        let drawn = svg(&figure("</svg><script>\"&\u{202e}")).unwrap();
        assert!(!drawn.contains("<script>") && !drawn.contains('\u{202e}'), "{drawn}");
        assert_eq!(drawn.matches("</svg>").count(), 1);
    }
}
