//! Charts that a site draws from text. Its axes are linear, so ratios are shown, not latencies.

use super::line::ratios;
use super::{ChartLine, ChartPoint, Figure, LineKind, short, three_digits};

/// Points that make a line.
const FEWEST: usize = 3;
/// Points along the axis; more are thinned out, since its labels would run into each other.
const POINTS: usize = 16;

/// Texts and axes: grey that is read on a light page as on a dark one.
const INK: &str = "#768390";
/// The line, then 1 where it is drawn beside a ratio: vermilion by Okabe and Ito, and the grey.
const LINES: &str = "#D55E00, #768390";

/// One series as a site draws it.
struct TextChart<'a> {
    /// What is shown.
    y: String,
    series: &'a ChartLine,
    points: Vec<(f64, f64)>,
    /// Whether 1 is as before.
    is_ratio: bool,
}

/// A figure's most changed series, after over before; of a table that is new, the part of the bound
/// that its slowest series reaches. `None` where the figure has neither.
pub fn mermaid(figure: &Figure) -> Option<String> {
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

/// The colours, whatever the page's: without them a site draws dark texts on a dark page.
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

/// The series whose latency changed most, after over before; `None` where none has a before.
fn most_changed(figure: &Figure) -> Option<TextChart<'_>> {
    let panel = figure.panels.first()?;
    let ratios = panel.lines.iter().filter(|l| l.kind == LineKind::Head).filter_map(|after| {
        let mut lines = panel.lines.iter();
        let before = lines.find(|l| l.kind == LineKind::Base && l.colour == after.colour)?;
        Some((after, places(&ratios(&after.points, &before.points))))
    });
    let (series, points) = ratios.max_by(|a, b| change(&a.1).total_cmp(&change(&b.1)))?;
    // The name of what is shown, without its unit.
    let shown = panel.y.split(',').next().unwrap_or_default();
    Some(TextChart { y: format!("{shown}, after / before"), series, points, is_ratio: true })
}

/// How far the ratio farthest from 1 is from it, as a log.
fn change(ratios: &[(f64, f64)]) -> f64 {
    ratios.iter().map(|(_, ratio)| ratio.ln().abs()).fold(0.0, f64::max)
}

/// The part of the bound that the slowest series reaches; `None` where no bound is known.
fn part_reached(figure: &Figure) -> Option<TextChart<'_>> {
    let panel = figure.panels.get(1).filter(|p| p.mark.is_none())?;
    let slowest = panel.lines.iter().rfind(|l| l.kind == LineKind::Head);
    let series =
        slowest.or_else(|| figure.panels[0].lines.iter().rfind(|l| l.kind == LineKind::Head))?;
    let points = places(&series.points);
    Some(TextChart { y: panel.y.clone(), series, points, is_ratio: false })
}

/// Points without their rings.
fn places(points: &[ChartPoint]) -> Vec<(f64, f64)> {
    points.iter().map(|p| (p.x, p.y)).collect()
}

/// Text that cannot end a quoted string, a line or the block it stands in.
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

    fn figure(lines: Vec<ChartLine>) -> Figure {
        Figure {
            name: "f".into(),
            path: "t".into(),
            title: "gemm\"]\n```".into(),
            subtitle: String::new(),
            x: "m".into(),
            rings: Vec::new(),
            panels: vec![Panel { y: "latency, ms".into(), mark: None, lines }],
        }
    }

    #[test]
    fn a_change_is_a_ratio_and_names_cannot_break_out() {
        let text = mermaid(&figure(vec![
            line(LineKind::Base, &[1.0, 2.0, 4.0]),
            line(LineKind::Head, &[1.0, 3.0, 4.0]),
        ]));
        let text = text.expect("a sketch");
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
