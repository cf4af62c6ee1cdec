//! Charts that a site draws from text. Its axes are linear, so ratios are shown, not latencies.

use super::{Figure, Kind, Line, short, three_digits};

/// Points that make a line.
const FEWEST: usize = 3;
/// Points along the axis; more are thinned out, since its labels would run into each other.
const POINTS: usize = 16;

/// A figure's most changed series, after over before; of a table that is new, the part of the bound
/// that its slowest series reaches. `None` where the figure has neither.
pub fn mermaid(figure: &Figure) -> Option<String> {
    let before = |after: &Line| {
        let mut lines = figure.panels[0].lines.iter();
        lines.find(|l| l.kind == Kind::Base && l.colour == after.colour)
    };
    let heads = || figure.panels.first()?.lines.iter().rfind(|l| l.kind == Kind::Head);
    let changed = figure.panels.first()?.lines.iter().filter(|l| l.kind == Kind::Head);
    let ratios = changed.filter_map(|after| Some((after, ratio(before(after)?, after))));
    let apart =
        |points: &[(f64, f64)]| points.iter().map(|(_, r)| r.ln().abs()).fold(0.0, f64::max);
    let (y, line, points) = match ratios.max_by(|a, b| apart(&a.1).total_cmp(&apart(&b.1))) {
        Some((line, points)) => {
            // The name of what is shown, without its unit.
            let what = figure.panels[0].y.split(',').next().unwrap_or_default();
            (format!("{what}, after / before"), line, points)
        }
        None => {
            let panel = figure.panels.get(1).filter(|p| p.limit.is_none())?;
            let line = panel.lines.iter().rfind(|l| l.kind == Kind::Head).or_else(heads)?;
            (panel.y.clone(), line, line.points.iter().map(|p| (p.x, p.y)).collect())
        }
    };
    if points.len() < FEWEST {
        return None;
    }
    let step = points.len().div_ceil(POINTS);
    let shown: Vec<&(f64, f64)> = points.iter().step_by(step).collect();
    let list = |of: &dyn Fn(&(f64, f64)) -> String| {
        shown.iter().map(|p| of(p)).collect::<Vec<_>>().join(", ")
    };
    let most = shown.iter().map(|(_, y)| *y).fold(1.0, f64::max);
    let name = [&figure.title, &line.series].map(|t| plain(t)).join(": ");
    Some(format!(
        "xychart-beta\n    title \"{}\"\n    x-axis \"{}\" [{}]\n    y-axis \"{}\" 0 --> {}\n    line [{}]\n",
        name.trim_end_matches([':', ' ']),
        plain(&figure.x),
        list(&|(x, _)| format!("\"{}\"", short(*x))),
        plain(&y),
        three_digits(most * 1.1),
        list(&|(_, y)| three_digits(*y)),
    ))
}

/// After over before at the places that both have.
fn ratio(before: &Line, after: &Line) -> Vec<(f64, f64)> {
    let at = |x: f64| before.points.iter().find(|p| p.x == x);
    after.points.iter().filter_map(|p| Some((p.x, p.y / at(p.x)?.y))).collect()
}

/// Text that cannot end a quoted string, a line or the block it stands in.
fn plain(text: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || " _-=.,:/()".contains(c);
    text.chars().map(|c| if plain(c) { c } else { '_' }).collect()
}

#[cfg(test)]
mod tests {
    use super::super::{Panel, Point};
    use super::*;

    fn line(kind: Kind, y: &[f64]) -> Line {
        let point = |(i, y): (usize, &f64)| Point { x: (1 << i) as f64, y: *y, marked: false };
        let points = y.iter().enumerate().map(point).collect();
        Line { series: "n=1".into(), colour: 0, kind, points }
    }

    fn figure(lines: Vec<Line>) -> Figure {
        Figure {
            name: "f".into(),
            title: "gemm\"]\n```".into(),
            subtitle: String::new(),
            x: "m".into(),
            panels: vec![Panel { y: "latency, ms".into(), limit: None, lines }],
        }
    }

    #[test]
    fn a_change_is_a_ratio_and_names_cannot_break_out() {
        let text = mermaid(&figure(vec![
            line(Kind::Base, &[1.0, 2.0, 4.0]),
            line(Kind::Head, &[1.0, 3.0, 4.0]),
        ]));
        assert_eq!(
            text.as_deref(),
            Some(
                "xychart-beta\n    title \"gemm______: n=1\"\n    x-axis \"m\" [\"1\", \"2\", \"4\"]\n    \
                 y-axis \"latency, after / before\" 0 --> 1.65\n    line [1, 1.5, 1]\n"
            )
        );
    }

    #[test]
    fn latency_alone_is_no_linear_chart() {
        assert_eq!(mermaid(&figure(vec![line(Kind::Head, &[1.0, 2.0, 3.0])])), None);
    }
}
