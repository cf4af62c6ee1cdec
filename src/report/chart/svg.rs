//! Draws a scene as SVG with plotters and the embedded font.

use std::collections::BTreeSet;
use std::fmt::Write;

use plotters::coord::ranged1d::ValueFormatter;
use plotters::prelude::*;

use super::canvas::{
    Area, FINE, Failed, GRID, INK, NAMES, WIDTH, broken, colour, cut, font, pixel, sized, with_font,
};
use super::legend::{End, draw_ends, draw_ring, draw_rings};
use super::scene::{ChartFigure, ChartLine, ChartPoint, LineKind, Panel, Scale};
use super::short;
use super::ticks::{at_points, extended, span, ticks};
use crate::base::error::{Error, Result};
use crate::report::xml::xml;

/// The height of the first panel in pixels.
const FIRST: u32 = 400;
/// The height of every other panel in pixels.
const OTHER: u32 = 230;
/// The height of the title in pixels.
const HEAD: u32 = 40;
/// The height of a line below the title in pixels.
const LINE: u32 = 18;
/// The maximum number of characters per line below the title.
const LINE_CHARS: usize = 116;
/// The maximum number of lines of the subtitle.
const SUBTITLE: usize = 4;
/// The largest ratio that is shown on a linear y axis. If a panel has larger ratios, its axis is logarithmic, since
/// small ratios would look like a flat line.
const LINEAR: f64 = 4.0;
/// The maximum ratio of the largest to the smallest value on a logarithmic y axis. Smaller values are cut off.
const DECADES: f64 = 1e4;

/// Draws a chart as SVG, with escaped texts. If a page contains the SVG inline, points show their values on hover.
///
/// # Errors
///
/// If plotters cannot draw, which is a bug of this program.
pub fn svg(figure: &ChartFigure) -> Result<String> {
    with_font();
    let figure = &figure.escaped();
    let said = broken(&figure.subtitle, LINE_CHARS, SUBTITLE);
    let lines = said.len() + usize::from(!figure.rings.is_empty());
    let head = HEAD + LINE * lines as u32;
    let others = figure.panels.len().saturating_sub(1) as u32;
    let height = head + FIRST.min(FIRST * figure.panels.len() as u32) + OTHER * others;
    let (mut drawn, mut hovers) = (String::new(), String::new());
    paint(figure, &said, (head, height), &mut drawn, &mut hovers)
        .map_err(|e| Error::new(format!("cannot draw a chart: {e}"), ""))?;
    let said = format!("{}. {}", figure.title, figure.subtitle);
    let end = format!("{hovers}</svg>");
    Ok(sized(&drawn, height, &said).replacen("</svg>", &end, 1))
}

/// Draws a chart as SVG text into `drawn`: the title, the lines `said` of the subtitle, and the panels.
fn paint<'a>(
    figure: &ChartFigure,
    said: &[String],
    (head, height): (u32, u32),
    drawn: &'a mut String,
    hovers: &mut String,
) -> std::result::Result<(), Failed<'a>> {
    let root = SVGBackend::with_string(drawn, (WIDTH * FINE, height * FINE)).into_drawing_area();
    root.fill(&WHITE)?;
    root.draw_text(&cut(&figure.title, 90), &font(17, INK), pixel(12, 8))?;
    for (line, text) in said.iter().enumerate() {
        root.draw_text(text, &font(13, INK), pixel(12, 32 + LINE * line as u32))?;
    }
    draw_rings(&root, figure, 32 + LINE * said.len() as u32)?;
    let all = figure.panels.iter().flat_map(|panel| &panel.lines).flat_map(|line| &line.points);
    let places: Vec<f64> = all.map(|point| point.x).collect();
    let x = span(places.iter().copied());
    let ticks = at_points(places, x);
    let named = BTreeSet::new();
    let mut painter = Painter { figure, root: &root, x, ticks, named, hovers };
    let mut top = head;
    for number in 0..figure.panels.len() {
        let height = if number == 0 { FIRST } else { OTHER };
        let area = root.clone().shrink(pixel(0, top), (WIDTH * FINE, height * FINE));
        painter.panel(&area, number)?;
        top += height;
    }
    root.present()
}

/// The data that all panels of a chart share while they are drawn, such as the x axis.
struct Painter<'f, 'a> {
    figure: &'f ChartFigure,
    root: &'f Area<'a>,
    x: (f64, f64),
    ticks: Vec<f64>,
    /// The series whose names are already drawn, by index.
    named: BTreeSet<usize>,
    hovers: &'f mut String,
}

impl<'a> Painter<'_, 'a> {
    fn panel(&mut self, area: &Area<'a>, number: usize) -> std::result::Result<(), Failed<'a>> {
        let panel = &self.figure.panels[number];
        let is_last = number + 1 == self.figure.panels.len();
        let values = |is_limit: bool| {
            let lines = panel.lines.iter().filter(move |line| line.kind.is_limit() == is_limit);
            lines.flat_map(|line| &line.points).map(|point| point.y)
        };
        let (low, high) = extended(span(values(false).chain(panel.mark)), values(true));
        let px = |n: u32| n * FINE;
        let mut chart = ChartBuilder::on(area);
        chart
            .margin_top(px(10))
            .margin_right(px(NAMES))
            .x_label_area_size(px(if is_last { 46 } else { 26 }))
            .margin_left(px(8))
            .y_label_area_size(px(66));
        let along =
            (self.x.0 / 1.1..self.x.1 * 1.1).log_scale().with_key_points(self.ticks.clone());
        let linear = match panel.scale {
            Scale::Log => None,
            Scale::Linear => Some(high),
            Scale::Change(noise) => Some(high.max(noise)).filter(|most| *most <= LINEAR),
        };
        if let Some(most) = linear {
            let y = (0.0, most * 1.1);
            let chart = chart.build_cartesian_2d(along, y.0..y.1)?;
            self.lines(chart, panel, y, is_last)
        } else {
            let y = (low.max(high / DECADES) / 1.25, high * 1.25);
            let across = (y.0..y.1).log_scale().with_key_points(ticks(y));
            let chart = chart.build_cartesian_2d(along, across)?;
            self.lines(chart, panel, y, is_last)
        }
    }

    /// Draws the axes and lines of a panel whose y axis has the range `y`.
    fn lines<X, Y>(
        &mut self,
        mut chart: ChartContext<'_, SVGBackend<'a>, Cartesian2d<X, Y>>,
        panel: &Panel,
        y: (f64, f64),
        is_last: bool,
    ) -> std::result::Result<(), Failed<'a>>
    where
        X: Ranged<ValueType = f64> + ValueFormatter<f64>,
        Y: Ranged<ValueType = f64> + ValueFormatter<f64>,
    {
        let x = (self.x.0 / 1.1, self.x.1 * 1.1);
        if let Some((low, high)) = panel.band {
            let band = [(x.0, low.max(y.0)), (x.1, high.min(y.1))];
            chart.draw_series([Rectangle::new(band, GRID.filled())])?;
        }
        chart
            .configure_mesh()
            .bold_line_style(GRID.stroke_width(FINE))
            .light_line_style(TRANSPARENT)
            .axis_style(INK.stroke_width(FINE))
            .label_style(font(13, INK))
            .axis_desc_style(font(13, INK))
            .x_desc(if is_last { self.figure.x.as_str() } else { "" })
            .y_desc(&panel.y)
            .x_label_formatter(&|v| short(*v))
            .y_label_formatter(&|v| short(*v))
            .draw()?;
        if let Some(mark) = panel.mark {
            let ends = [(x.0, mark), (x.1, mark)];
            chart.draw_series(LineSeries::new(ends, INK.stroke_width(2 * FINE)))?;
        }
        let mut ends: Vec<End<'_>> = Vec::new();
        for line in &panel.lines {
            let seen: Vec<&ChartPoint> =
                line.points.iter().filter(|p| (y.0..=y.1).contains(&p.y)).collect();
            draw_line(&mut chart, line, seen.iter().map(|p| (p.x, p.y)))?;
            let places = seen.iter().map(|p| (*p, chart.backend_coord(&(p.x, p.y))));
            let places: Vec<(&ChartPoint, (i32, i32))> = places.collect();
            for (point, at) in places.iter().filter(|_| !line.kind.is_limit()) {
                draw_point(self.root, line, *at)?;
                draw_ring(self.root, &self.figure.rings, point, *at)?;
                self.hover(panel, line, point, *at);
            }
            let name = self.figure.series.get(line.series).map_or("", |name| &name.label);
            if let (LineKind::Head | LineKind::Points, Some((_, at))) = (line.kind, places.last())
                && !name.is_empty()
                && self.named.insert(line.series)
            {
                ends.push(End { name, series: line.series, at: *at });
            }
        }
        draw_ends(self.root, ends, chart.plotting_area().get_pixel_range().1)
    }

    /// Adds an invisible circle around a point. While the pointer is over the circle, a tooltip shows the series,
    /// values and findings of the point.
    fn hover(&mut self, panel: &Panel, line: &ChartLine, point: &ChartPoint, (x, y): (i32, i32)) {
        let figure = self.figure;
        let state = match line.kind {
            LineKind::Base => ", before",
            LineKind::Copies => ", not served",
            LineKind::Peer => ", in the other table",
            LineKind::Head | LineKind::Bound | LineKind::Ideal | LineKind::Points => "",
        };
        let name = figure.series.get(line.series).map_or("", |name| &name.whole);
        let colon = if name.is_empty() { "" } else { ": " };
        let (at, value) = (short(point.x), short(point.y));
        let mut text = format!("{name}{colon}{} {at}, {} {value}{state}", figure.x, panel.y);
        let rules = point.rings.iter().filter_map(|ring| figure.rings.get(*ring));
        let rules: Vec<&str> = rules.map(|ring| ring.name.as_str()).collect();
        if !rules.is_empty() {
            let row = point.row.map(|row| format!("row {row}: ")).unwrap_or_default();
            let _ = write!(text, "; {row}{}", rules.join(", "));
        }
        let circle = format!("<circle cx=\"{x}\" cy=\"{y}\" r=\"{}\"", 6 * FINE);
        let title = xml(&text);
        let _ = writeln!(
            self.hovers,
            "{circle} fill=\"#000\" fill-opacity=\"0\"><title>{title}</title></circle>"
        );
    }
}

/// Draws a line in the style of its kind.
fn draw_line<'a, X, Y>(
    chart: &mut ChartContext<'_, SVGBackend<'a>, Cartesian2d<X, Y>>,
    line: &ChartLine,
    points: impl Iterator<Item = (f64, f64)> + Clone,
) -> std::result::Result<(), Failed<'a>>
where
    X: Ranged<ValueType = f64>,
    Y: Ranged<ValueType = f64>,
{
    let colour = colour(line.series);
    let dashes = |dash: u32, gap: u32| ((dash * FINE) as i32, (gap * FINE) as i32);
    let (style, (dash, gap)) = match line.kind {
        LineKind::Head => (colour.stroke_width(2 * FINE), dashes(0, 0)),
        LineKind::Base => (colour.stroke_width(2 * FINE), dashes(7, 5)),
        LineKind::Peer => (colour.mix(0.3).stroke_width(6 * FINE), dashes(0, 0)),
        LineKind::Bound => (colour.mix(0.55).stroke_width(FINE), dashes(0, 0)),
        LineKind::Ideal => (colour.stroke_width(FINE), dashes(2, 3)),
        LineKind::Points | LineKind::Copies => return Ok(()),
    };
    if gap == 0 {
        chart.draw_series(LineSeries::new(points, style))?;
    } else {
        chart.draw_series(DashedLineSeries::new(points, dash, gap, style))?;
    }
    Ok(())
}

/// Draws a point in the style of its line.
fn draw_point<'a>(
    root: &Area<'a>,
    line: &ChartLine,
    at: (i32, i32),
) -> std::result::Result<(), Failed<'a>> {
    let colour = colour(line.series);
    let (size, style) = match line.kind {
        LineKind::Head => (2, colour.filled()),
        LineKind::Points => (3, colour.filled()),
        LineKind::Copies => (3, colour.stroke_width(FINE)),
        LineKind::Base | LineKind::Peer | LineKind::Bound | LineKind::Ideal => return Ok(()),
    };
    root.draw(&Circle::new(at, size * FINE, style))
}

#[cfg(test)]
mod tests {
    use super::super::scene::{RingedRule, SeriesName};
    use super::*;
    use crate::findings::Severity::Warning;

    const SVG: &str = "http://www.w3.org/2000/svg";

    fn figure(series: &str) -> ChartFigure {
        let line = |kind, number, factor: f64| ChartLine {
            series: number,
            kind,
            points: (0..8)
                .map(|i| ChartPoint {
                    rings: (i == 3).then_some(0).into_iter().collect(),
                    row: (i == 3).then_some(3),
                    ..ChartPoint::plain(f64::from(1 << i), factor * f64::from(1 + i))
                })
                .collect(),
        };
        let whole = format!("dtype fp8, {series}");
        let name = |label: String| SeriesName { label, whole: whole.clone() };
        let ring = RingedRule { name: "latency-spike".into(), severity: Warning, rows: 7 };
        ChartFigure {
            title: format!("gemm_perf {series}"),
            subtitle: "synthetic".into(),
            x: "m".into(),
            series: vec![name(series.to_owned()), name(format!("{series} too"))],
            rings: vec![ring],
            panels: vec![Panel {
                lines: vec![
                    line(LineKind::Base, 0, 0.9),
                    line(LineKind::Head, 0, 1.0),
                    line(LineKind::Head, 1, 1.0),
                ],
                ..Panel::named("latency, ms")
            }],
            ..ChartFigure::default()
        }
    }

    /// Returns the texts of a picture.
    fn texts(drawn: &str) -> Vec<String> {
        let page = roxmltree::Document::parse(drawn).unwrap();
        let texts = page.descendants().filter(|n| n.has_tag_name((SVG, "text")));
        texts.filter_map(|n| n.text()).map(|text| text.trim().to_owned()).collect()
    }

    #[test]
    fn a_chart_is_deterministic_and_draws_every_point_of_the_figure() {
        let drawn = svg(&figure("n=128")).unwrap();
        assert_eq!(drawn, svg(&figure("n=128")).unwrap());
        assert_eq!(drawn.matches("<title>").count(), 24);
        let page = roxmltree::Document::parse(&drawn).unwrap();
        let count = |tag| page.descendants().filter(|n| n.has_tag_name(tag)).count();
        let blank = svg(&ChartFigure { panels: Vec::new(), ..figure("") }).unwrap();
        assert_eq!(blank.matches("<polyline").count() + blank.matches("<title>").count(), 0);
        assert!(count((SVG, "polyline")) >= 2, "lines are drawn: {drawn}");
        let texts = texts(&drawn);
        let ringed = "latency-spike: 3 of 7 rows ringed";
        for text in ["gemm_perf n=128", "synthetic", "latency, ms", "n=128", "n=128 too", ringed] {
            assert!(texts.iter().any(|own| own == text), "{text} is drawn: {texts:?}");
        }
    }

    #[test]
    fn a_series_is_named_once_and_few_points_have_their_own_ticks() {
        let mut figure = figure("n=128");
        let mut other = figure.panels[0].clone();
        other.y = "share".into();
        figure.panels.push(other);
        figure.panels.iter_mut().flat_map(|p| &mut p.lines).for_each(|l| l.points.truncate(4));
        let texts = texts(&svg(&figure).unwrap());
        let count = |text: &str| texts.iter().filter(|own| *own == text).count();
        assert_eq!((count("n=128"), count("n=128 too")), (1, 1), "{texts:?}");
        assert!(["1", "2", "4", "8"].iter().all(|tick| count(tick) >= 2), "{texts:?}");
    }

    #[test]
    fn a_ring_names_its_rule_and_row() {
        let drawn = svg(&figure("n=128")).unwrap();
        let named = "dtype fp8, n=128: m 8, latency, ms 4; row 3: latency-spike</title>";
        assert_eq!(drawn.matches(named).count(), 2, "{drawn}");
    }

    #[test]
    fn names_in_a_chart_are_escaped() {
        let drawn = svg(&figure("</svg><script>\"&\u{202e}")).unwrap();
        assert!(!drawn.contains("<script>") && !drawn.contains('\u{202e}'), "{drawn}");
        assert_eq!(drawn.matches("</svg>").count(), 1);
    }
}
