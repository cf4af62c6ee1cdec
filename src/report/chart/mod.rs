//! Charts for reviewers: the latencies of a table along its sweep, before and after a change, and with the bound.
//!
//! A [`Gallery`] picks the tables of a pull request that changed most. For each table, `table` builds a scene, a
//! [`ChartFigure`], from the few series that show the change or finding best. `charts/*.yaml` or the table's spec
//! states the axis and the slice. Lines are the rows that the loader serves, and [`Rings`] mark the rows that findings
//! name. Other rooms build scenes of their own. Two back ends draw a scene: [`mod@svg`], and [`mod@mermaid`] as text
//! from which GitHub draws a chart.

mod axis;
mod canvas;
mod change;
mod choose;
mod gallery;
mod legend;
mod mermaid;
mod names;
mod panels;
mod peer;
mod rings;
mod scene;
mod series;
mod spec;
mod svg;
mod table;
mod ticks;

pub(in crate::report) use axis::{axes, fixed_parts, slice_parts};
pub use gallery::{Drawing, Gallery, curves, drawings, number};
pub(crate) use mermaid::{MermaidChart, mermaid};
pub(crate) use rings::Rings;
pub use scene::{
    ChartFigure, ChartLine, ChartPoint, LineKind, Panel, RingedRule, Scale, SeriesName,
};
pub(in crate::report) use series::{POINTS, RowUse, SeriesSet};
pub use spec::ChartSpec;
pub use spec::read;
pub use svg::svg;

/// Formats a number with three significant digits and a letter for thousands, millions and so on.
fn short(value: f64) -> String {
    let (value, unit) = match value.abs() {
        v if v >= 1e9 => (value / 1e9, "G"),
        v if v >= 1e6 => (value / 1e6, "M"),
        v if v >= 1e4 => (value / 1e3, "k"),
        _ => (value, ""),
    };
    format!("{}{unit}", three_digits(value))
}

/// Formats a number with at most three significant digits.
fn three_digits(value: f64) -> String {
    let digits = (2.0 - value.abs().max(1e-12).log10().floor()).clamp(0.0, 9.0) as usize;
    let text = format!("{value:.digits$}");
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::short;

    #[test]
    fn numbers_in_charts_have_three_significant_digits() {
        assert_eq!(
            [1.0, 0.02, 0.001_234, 65_536.0, 4096.0, 1_048_576.0].map(short),
            ["1", "0.02", "0.00123", "65.5k", "4096", "1.05M"]
        );
    }
}
