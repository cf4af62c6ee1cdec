//! Writes charts as Mermaid text, which GitHub draws. Mermaid's axes are linear, so ratios are
//! shown instead of latencies.

use super::{ChartFigure, ChartLine, ChartPoint, LineKind, short, three_digits};

/// The fewest points of a line.
const FEWEST: usize = 3;
/// The most points along the axis; with more, the labels would overlap.
const POINTS: usize = 16;

/// The colour of texts and axes, a grey that is readable on light and dark pages.
const INK: &str = "#768390";
/// The colours of the line and of the line at ratio 1: vermilion by Okabe and Ito, and grey.
const LINES: &str = "#D55E00, #768390";

/// A chart of one series.
struct TextChart<'a> {
    /// The label of the y axis.
    y: String,
    series: &'a ChartLine,
    points: Vec<(f64, f64)>,
    /// True if the values are ratios, for which 1 means unchanged.
    is_ratio: bool,
}

/// Returns the chart of a figure's most changed series as the ratio of after to before; for a new
/// table, the fraction of the bound that the slowest series reaches. `None` if the figure has
/// neither.
pub fn mermaid(figure: &ChartFigure) -> Option<String> {
    let sketch = most_changed(figure).or_else(|| part_reached(figure))?;
    if sketch.points.len() < FEWEST {
        return None;
    }
    let step = sketch.points.len().div_ceil(POINTS);
    let shown: Vec<(f64, f64)> = sketch.points.iter().copied().step_by(step).collect();
    let most = shown.iter().map(|(_, y)| *y).fold(1.0, f64::max);
    let xs: Vec<String> = shown.iter().map(|(x, _)| format!("\"{}\"", short(*x))).collect();
    let ys: Vec<String> = shown.iter().map(|(_, y)| three_digits(*y)).collect();
    let name = [&figure.title, &sketch.series.series].map(|text| plain(text)).join(": ");
    let mut lines = format!("    line [{}]\n", ys.join(", "));
    if sketch.is_ratio {
        lines += &format!("    line [{}]\n", vec!["1"; ys.len()].join(", "));
    }
    Some(format!(
        "{}\nxychart-beta\n    title \"{}\"\n    x-axis \"{}\" [{}]\n    y-axis \"{}\" 0 --> {}\n{lines}",
        theme(),
        name.trim_end_matches([':', ' ']),
        plain(&figure.x),
        xs.join(", "),
        plain(&sketch.y),
        three_digits(most * 1.1),
    ))
}

/// Returns the colour settings; without them GitHub draws dark texts on a dark page.
fn theme() -> String {
    let inks = [
        "titleColor",
        "xAxisLabelColor",
        "xAxisTitleColor",
        "xAxisTickColor",
        "xAxisLineColor",
        "yAxisLabelColor",
        "yAxisTitleColor",
        "yAxisTickColor",
        "yAxisLineColor",
    ];
    let inks: String = inks.iter().map(|name| format!("\"{name}\": \"{INK}\", ")).collect();
    format!(
        "%%{{init: {{\"xyChart\": {{\"titleFontSize\": 14}}, \"themeVariables\": {{\"xyChart\": \
         {{\"backgroundColor\": \"transparent\", {inks}\"plotColorPalette\": \"{LINES}\"}}}}}}}}%%"
    )
}

/// Returns the series whose latency changed most, after over before; `None` without a previous
/// state.
fn most_changed(figure: &ChartFigure) -> Option<TextChart<'_>> {
    let panel = figure.panels.iter().find(|panel| panel.noise.is_some())?;
    let lines = panel.lines.iter().map(|line| (line, places(&line.points)));
    let (series, points) = lines.max_by(|a, b| change(&a.1).total_cmp(&change(&b.1)))?;
    Some(TextChart { y: panel.y.clone(), series, points, is_ratio: true })
}

/// Returns the largest absolute log of the ratios.
fn change(ratios: &[(f64, f64)]) -> f64 {
    ratios.iter().map(|(_, ratio)| ratio.ln().abs()).fold(0.0, f64::max)
}

/// Returns the fraction of the bound that the slowest series reaches; `None` without a bound.
fn part_reached(figure: &ChartFigure) -> Option<TextChart<'_>> {
    let panel = figure.panels.get(1).filter(|p| p.mark.is_none())?;
    let slowest = panel.lines.iter().rfind(|l| l.kind == LineKind::Head);
    let series =
        slowest.or_else(|| figure.panels[0].lines.iter().rfind(|l| l.kind == LineKind::Head))?;
    let points = places(&series.points);
    Some(TextChart { y: panel.y.clone(), series, points, is_ratio: false })
}

/// Returns the coordinates of points.
fn places(points: &[ChartPoint]) -> Vec<(f64, f64)> {
    points.iter().map(|p| (p.x, p.y)).collect()
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
    use super::super::{ChartPoint, Panel};
    use super::*;

    fn line(kind: LineKind, y: &[f64]) -> ChartLine {
        let point = |(i, y): (usize, &f64)| ChartPoint::plain((1 << i) as f64, *y);
        let points = y.iter().enumerate().map(point).collect();
        ChartLine { series: "n 1".into(), colour: 0, kind, points }
    }

    fn figure(lines: Vec<ChartLine>) -> ChartFigure {
        ChartFigure {
            name: "f".into(),
            path: "t".into(),
            title: "gemm\"]\n```".into(),
            subtitle: String::new(),
            x: "m".into(),
            rings: Vec::new(),
            panels: vec![Panel { lines, ..Panel::named("latency, ms") }],
        }
    }

    #[test]
    fn a_change_is_a_ratio_and_names_cannot_break_out() {
        let mut figure = figure(vec![line(LineKind::Head, &[1.0, 3.0, 4.0])]);
        let lines = vec![line(LineKind::Head, &[1.0, 1.5, 1.0])];
        let change = Panel::named("latency, after / before");
        figure.panels.push(Panel { noise: Some(1.1), lines, ..change });
        let text = mermaid(&figure).expect("a sketch");
        let (theme, chart) = text.split_once('\n').expect("the theme, then the chart");
        let json = theme.strip_prefix("%%{init: ").and_then(|t| t.strip_suffix("}%%")).unwrap();
        let theme: serde_json::Value = serde_json::from_str(json).expect("JSON");
        assert_eq!(theme["themeVariables"]["xyChart"]["titleColor"], INK);
        assert_eq!(
            chart,
            "xychart-beta\n    title \"gemm______: n 1\"\n    x-axis \"m\" [\"1\", \"2\", \"4\"]\n    \
             y-axis \"latency, after / before\" 0 --> 1.65\n    line [1, 1.5, 1]\n    line [1, 1, 1]\n"
        );
    }

    /// Contrast by WCAG 2.2: of graphics and large text 3 is enough.
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
    fn a_sketch_shows_on_light_pages_and_on_dark_ones() {
        for page in ["#ffffff", "#0d1117"] {
            for colour in LINES.split(", ").chain([INK]) {
                assert!(contrast(colour, page) >= 3.0, "{colour} on {page}");
            }
        }
    }

    #[test]
    fn latency_alone_is_no_linear_chart() {
        assert_eq!(mermaid(&figure(vec![line(LineKind::Head, &[1.0, 2.0, 3.0])])), None);
    }
}
