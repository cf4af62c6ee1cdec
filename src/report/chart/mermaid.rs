//! Writes a scene as Mermaid text, which GitHub draws. Mermaid has linear axes only, so ratios of latencies are drawn
//! instead of latencies.

use std::collections::BTreeSet;

use serde::Serialize;

use super::scene::{ChartFigure, ChartLine, ChartPoint, LineKind, Panel, Scale};
use super::{short, three_digits};

/// The minimum number of points that a line must have to be drawn.
const FEWEST: usize = 3;
/// The maximum number of points on the x axis, which must be even. The labels of more points would overlap.
const POINTS: usize = 16;

/// The colour of texts and axes, a grey that is readable on light and dark pages.
const INK: &str = "#768390";
/// The colour of the line: vermilion by Okabe and Ito.
const COLOUR: &str = "#D55E00";

/// A chart of one series as Mermaid text.
#[derive(Debug, PartialEq, Serialize)]
pub(crate) struct MermaidChart {
    /// The Mermaid text.
    pub text: String,
    /// The full name of the series.
    pub name: String,
    /// A text for the chart's caption that explains the grey lines, such as `grey: before` for values before the
    /// change; empty if no explanation is needed.
    pub greys: &'static str,
    /// True if the chart shows a change of latency, power or a metric.
    #[serde(skip)]
    pub is_change: bool,
}

/// Draws one series of a chart as Mermaid text: the series that changed most, or else a series that findings name.
/// `None` if the chart has no ratios, rates or power.
pub(crate) fn mermaid(figure: &ChartFigure) -> Option<MermaidChart> {
    let (panel, line, is_change) = subject(figure)?;
    let before = panel.line(line.series, LineKind::Base);
    let was = |x: f64| {
        let here = before?.points.iter().find(|point| point.x == x);
        here.map(|point| point.y)
    };
    let points = line.points.iter().filter(|p| before.is_none() || was(p.x).is_some());
    let points: Vec<_> = points.collect();
    if points.len() < FEWEST {
        return None;
    }
    let shown = thinned(&points);
    let same = |value: f64| vec![value; shown.len()];
    let (lines, greys) = match (panel.scale, before, panel.mark) {
        (Scale::Change(noise), _, _) => {
            let lines = vec![same(1.0), same(noise), same(1.0 / noise)];
            (lines, "grey: no change, and the range of 99 % of reruns")
        }
        (_, Some(_), _) => (vec![shown.iter().filter_map(|p| was(p.x)).collect()], "grey: before"),
        (_, None, Some(mark)) => {
            (vec![same(mark)], if mark == 1.0 { "" } else { "grey: the limit" })
        }
        (_, None, None) => (Vec::new(), ""),
    };
    let lines = std::iter::once(shown.iter().map(|p| p.y).collect()).chain(lines);
    let lines: Vec<Vec<f64>> = lines.collect();
    let most = lines.iter().flatten().copied().fold(0.0, f64::max);
    let xs: Vec<String> = shown.iter().map(|p| format!("\"{}\"", short(p.x))).collect();
    let line_texts = lines.iter().map(|ys| {
        let ys: Vec<String> = ys.iter().map(|y| three_digits(*y)).collect();
        format!("    line [{}]\n", ys.join(", "))
    });
    let name = figure.series.get(line.series).map_or("", |name| &name.whole);
    let text = format!(
        "{}\nxychart-beta\n    title \"{}\"\n    x-axis \"{}\" [{}]\n    y-axis \"{}\" 0 --> {}\n{}",
        theme(),
        plain(&figure.title),
        plain(&figure.x),
        xs.join(", "),
        plain(&panel.y),
        three_digits(most * 1.1),
        line_texts.collect::<String>(),
    );
    Some(MermaidChart { text, name: name.to_owned(), greys, is_change })
}

/// Reduces points to at most [`POINTS`]. If there are more, the points are divided by x into groups of equal size, and
/// only the lowest and the highest point of each group are kept.
fn thinned<'p>(points: &[&'p ChartPoint]) -> Vec<&'p ChartPoint> {
    if points.len() <= POINTS {
        return points.to_vec();
    }
    let of_part = |part: &[&'p ChartPoint]| {
        let by = |a: &usize, b: &usize| part[*a].y.total_cmp(&part[*b].y);
        let ends = [(0..part.len()).min_by(by), (0..part.len()).max_by(by)];
        let kept: BTreeSet<usize> = ends.into_iter().flatten().collect();
        kept.into_iter().map(|at| part[at]).collect::<Vec<_>>()
    };
    points.chunks(points.len().div_ceil(POINTS / 2)).flat_map(of_part).collect()
}

/// Chooses the line to draw. Returns the line's panel, the line, and a flag: true if the line shows a change or power.
///
/// The chosen line is the first of these that exists:
/// - the line that changed most
/// - a line of power
/// - a line with a ringed point, in any panel except the first
/// - the slowest line of the second panel
///
/// If the requested slice has lines, only these lines are considered.
fn subject(figure: &ChartFigure) -> Option<(&Panel, &ChartLine, bool)> {
    let mut all: Vec<(usize, &Panel, &ChartLine)> = Vec::new();
    for (number, panel) in figure.panels.iter().enumerate() {
        let heads = panel.lines.iter().filter(|line| line.kind == LineKind::Head);
        all.extend(heads.map(|line| (number, panel, line)));
    }
    let is_asked = |line: &ChartLine| figure.asked.contains(&line.series);
    if all.iter().any(|(.., line)| is_asked(line) && line.points.len() >= FEWEST) {
        all.retain(|(.., line)| is_asked(line));
    }
    let moved = all.iter().filter_map(|drawn| Some((change(drawn.1, drawn.2)?, drawn)));
    let most = moved.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, drawn)| drawn);
    let is_ringed = |line: &ChartLine| line.points.iter().any(|point| !point.rings.is_empty());
    let power = || all.iter().find(|(_, panel, _)| panel.scale == Scale::Linear);
    if let Some((_, panel, line)) = most.or_else(power) {
        return Some((panel, line, true));
    }
    let ringed = all.iter().rfind(|(number, _, line)| *number > 0 && is_ringed(line));
    let (_, panel, line) = ringed.or_else(|| all.iter().rfind(|(number, _, _)| *number == 1))?;
    Some((panel, line, false))
}

/// Returns the largest change of a line's values, computed as `|ln(after / before)|`. `None` if the line has too few
/// points or the panel does not show values before the change.
fn change(panel: &Panel, line: &ChartLine) -> Option<f64> {
    if line.points.len() < FEWEST {
        return None;
    }
    let far = |ratio: f64| ratio.ln().abs();
    let largest = |all: &mut dyn Iterator<Item = f64>| all.map(far).fold(0.0, f64::max);
    if matches!(panel.scale, Scale::Change(_)) {
        return Some(largest(&mut line.points.iter().map(|point| point.y)));
    }
    let before = panel.line(line.series, LineKind::Base)?;
    let was = |x: f64| before.points.iter().find(|point| point.x == x);
    Some(largest(&mut line.points.iter().filter_map(|p| Some(p.y / was(p.x)?.y))))
}

/// Returns Mermaid's settings for the colours of a chart. With the default colours, GitHub draws dark texts on a dark
/// page.
fn theme() -> String {
    let inks = "titleColor xAxisLabelColor xAxisTitleColor xAxisTickColor xAxisLineColor \
                yAxisLabelColor yAxisTitleColor yAxisTickColor yAxisLineColor";
    let inks: String = inks.split(' ').map(|name| format!("\"{name}\": \"{INK}\", ")).collect();
    format!(
        "%%{{init: {{\"xyChart\": {{\"titleFontSize\": 14}}, \"themeVariables\": {{\"xyChart\": \
         {{\"backgroundColor\": \"transparent\", {inks}\"plotColorPalette\": \"{COLOUR}, {INK}, {INK}, {INK}\"}}}}}}}}%%"
    )
}

/// Replaces characters that could end a quoted string, a line or the code block by `_`.
fn plain(text: &str) -> String {
    text.chars().map(|c| if is_plain(c) { c } else { '_' }).collect()
}

fn is_plain(c: char) -> bool {
    c.is_alphanumeric() || " _-=.,:/()".contains(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn panel(y: &str, scale: Scale, lines: &[(LineKind, &[f64])]) -> Panel {
        let mut panel = Panel { scale, ..Panel::named(y) };
        for (kind, ys) in lines {
            let point = |(i, y): (usize, &f64)| ChartPoint::plain((1_u64 << i) as f64, *y);
            panel.add(0, *kind, ys.iter().enumerate().map(point).collect());
        }
        panel
    }

    fn figure(panels: Vec<Panel>) -> ChartFigure {
        ChartFigure {
            title: "gemm\"]\n```".into(),
            x: "m".into(),
            series: vec!["n 1".into()],
            panels,
            ..ChartFigure::default()
        }
    }

    #[test]
    fn a_mermaid_chart_of_a_change_draws_ratios_and_escapes_names() {
        let latency = panel("latency, ms", Scale::Log, &[(LineKind::Head, &[1.0, 3.0, 4.0])]);
        let ratios: &[f64] = &[1.0, 1.5, 1.0];
        let name = "latency, after / before";
        let change = panel(name, Scale::Change(1.25), &[(LineKind::Head, ratios)]);
        let sketch = mermaid(&figure(vec![latency, change])).expect("a sketch");
        assert_eq!(sketch.name, "n 1");
        assert_eq!(sketch.greys, "grey: no change, and the range of 99 % of reruns");
        let (theme, chart) = sketch.text.split_once('\n').expect("the theme, then the chart");
        let json = theme.strip_prefix("%%{init: ").and_then(|t| t.strip_suffix("}%%")).unwrap();
        let theme: serde_json::Value = serde_json::from_str(json).expect("JSON");
        assert_eq!(theme["themeVariables"]["xyChart"]["titleColor"], INK);
        assert_eq!(
            chart,
            "xychart-beta\n    title \"gemm______\"\n    x-axis \"m\" [\"1\", \"2\", \"4\"]\n    \
             y-axis \"latency, after / before\" 0 --> 1.65\n    line [1, 1.5, 1]\n    line [1, 1, 1]\n    \
             line [1.25, 1.25, 1.25]\n    line [0.8, 0.8, 0.8]\n"
        );
    }

    #[test]
    fn the_changed_metric_is_drawn_before_and_after_the_change() {
        let same: &[f64] = &[4.0, 2.0, 1.0];
        let slower: &[f64] = &[4.0, 3.0, 1.0];
        let panels = [("TTFT", slower), ("throughput", same)];
        let panels = panels
            .map(|(y, now)| panel(y, Scale::Log, &[(LineKind::Base, same), (LineKind::Head, now)]));
        let [ttft, throughput] = panels;
        let sketch = mermaid(&figure(vec![throughput, ttft])).expect("a sketch");
        assert!(sketch.text.contains("y-axis \"TTFT\""), "{}", sketch.text);
        assert!(
            sketch.text.ends_with("    line [4, 3, 1]\n    line [4, 2, 1]\n"),
            "{}",
            sketch.text
        );
        assert_eq!((sketch.greys, sketch.is_change), ("grey: before", true));
    }

    #[test]
    fn an_overlay_of_power_is_drawn_with_its_limit() {
        let watts: &[f64] = &[300.0, 400.0, 500.0];
        let mut power = panel("power, W", Scale::Linear, &[(LineKind::Head, watts)]);
        power.mark = Some(700.0);
        let sketch = mermaid(&figure(vec![power])).expect("a sketch");
        assert!(
            sketch.text.ends_with("    line [300, 400, 500]\n    line [700, 700, 700]\n"),
            "{}",
            sketch.text
        );
        assert_eq!((sketch.greys, sketch.is_change), ("grey: the limit", true));
    }

    /// Returns the contrast ratio of two colours by WCAG 2.2. For graphics and large text, 3 is enough.
    fn contrast(a: &str, b: &str) -> f64 {
        let luminance = |colour: &str| {
            let part = |i: usize| u8::from_str_radix(&colour[i..i + 2], 16).unwrap();
            let linear = |i: usize| {
                let c = f64::from(part(i)) / 255.0;
                if c <= 0.040_45 { c / 12.92 } else { ((c + 0.055) / 1.055).powf(2.4) }
            };
            0.2126 * linear(1) + 0.7152 * linear(3) + 0.0722 * linear(5)
        };
        let (a, b) = (luminance(a), luminance(b));
        (a.max(b) + 0.05) / (a.min(b) + 0.05)
    }

    #[test]
    fn mermaid_colours_have_contrast_on_light_and_dark_pages() {
        for page in ["#ffffff", "#0d1117"] {
            for colour in [COLOUR, INK] {
                assert!(contrast(colour, page) >= 3.0, "{colour} on {page}");
            }
        }
    }

    #[test]
    fn a_mermaid_chart_of_many_points_keeps_the_extreme_points() {
        let mut ratios = vec![1.0; 40];
        (ratios[7], ratios[33]) = (0.25, 11.6);
        let change = panel("after / before", Scale::Change(1.2), &[(LineKind::Head, &ratios)]);
        let sketch = mermaid(&figure(vec![change])).expect("a sketch");
        let line = sketch.text.split("line [").nth(1).unwrap().split(']').next().unwrap();
        assert!(line.contains("11.6") && line.contains("0.25"), "{line}");
        assert!(line.split(", ").count() <= POINTS, "{line}");
    }

    #[test]
    fn a_requested_slice_is_drawn_before_the_most_changed_slice() {
        let mut change =
            panel("after / before", Scale::Change(1.2), &[(LineKind::Head, &[9.0; 4])]);
        let points = (0..4).map(|i| ChartPoint::plain(f64::from(i) + 1.0, 1.5)).collect();
        change.add(1, LineKind::Head, points);
        let series = vec!["n 1".into(), "n 2".into()];
        let figure = ChartFigure { asked: vec![1], series, ..figure(vec![change]) };
        assert_eq!(mermaid(&figure).expect("a sketch").name, "n 2");
    }

    #[test]
    fn latency_alone_is_not_drawn_on_a_linear_axis() {
        let latency = panel("latency, ms", Scale::Log, &[(LineKind::Head, &[1.0, 2.0, 3.0])]);
        assert_eq!(mermaid(&figure(vec![latency])), None);
    }
}
