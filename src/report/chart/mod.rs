//! Charts for reviewers: latency along a sweep, before and after a change, and the fraction of the
//! speed-of-light bound reached.
//!
//! A [`Gallery`] picks the tables of a pull request that changed most. [`figure`] picks a few
//! series of a table, by `charts/*.yaml` or by the table's spec: lines are the rows that the loader
//! serves, [`Rings`] mark the rows that findings name. [`svg`] draws a [`ChartFigure`], and [`mermaid`]
//! writes it as text from which GitHub draws a chart.

mod axis;
mod canvas;
mod choose;
mod draw;
mod ends;
mod gallery;
mod hover;
mod label;
mod legend;
mod line;
mod mermaid;
mod moves;
mod peer;
mod pick;
mod rings;
mod scale;
mod series;
mod series_choice;
mod shares;
mod spec;
mod text;
mod undrawn;

pub(in crate::report) use axis::{axes, fixed_parts, slice_parts};
pub use choose::{Beside, figure};
pub use draw::svg;
pub use gallery::{Charts, Drawing, Gallery, drawings, overview};
pub use mermaid::mermaid;
pub use moves::TableChange;
pub use peer::Peer;
pub use rings::{Ring, Rings};
pub(in crate::report) use series::{POINTS, RowUse, SeriesSet};
pub use shares::{ShareChart, ShareLine};
pub use spec::ChartSpec;
pub(crate) use spec::read;
pub use undrawn::{NoChart, Undrawn};

use crate::base::escape::clean;

/// A chart: panels above each other with a common x axis.
#[derive(Debug, Clone, PartialEq)]
pub struct ChartFigure {
    /// The file name of the chart without its extension.
    pub name: String,
    /// The path of the file from which the chart is drawn.
    pub path: String,
    /// The title: the table and its place.
    pub title: String,
    /// The rows shown and the kinds of lines, in words.
    pub subtitle: String,
    /// The label of the x axis.
    pub x: String,
    /// The rules whose findings name ringed points.
    pub rings: Vec<Ring>,
    /// The panels; latency is the first.
    pub panels: Vec<Panel>,
}

/// A panel of lines. Both axes are logarithmic, except that of ratios of a change.
#[derive(Debug, Clone, PartialEq)]
pub struct Panel {
    /// The label of the y axis, with the unit.
    pub y: String,
    /// A value marked by a horizontal line: the limit of the machine, or 1 for ratios.
    pub mark: Option<f64>,
    /// The factor by which honest reruns differ, for latencies after a change over before; `None` for other values.
    /// Such ratios have a linear axis, and the range of reruns is shaded.
    pub noise: Option<f64>,
    /// The lines, grouped by series.
    pub lines: Vec<ChartLine>,
}

/// A line: points of one series.
#[derive(Debug, Clone, PartialEq)]
pub struct ChartLine {
    /// The series' name: the columns in which it differs from the others.
    pub series: String,
    /// The number of the series; all lines of a series have one colour.
    pub colour: usize,
    /// The kind of the points.
    pub kind: LineKind,
    /// The points by x, unless the kind has no order.
    pub points: Vec<ChartPoint>,
}

/// The kind of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineKind {
    /// Rows of the table that are served.
    Head,
    /// Rows of the table that were served before the change.
    Base,
    /// Rows of a peer.
    Peer,
    /// Rows that the loader does not serve because it serves another row of their key, in no order.
    Copies,
    /// The speed-of-light bound.
    Bound,
    /// Single points, in no order.
    Points,
}

/// A point of a line; both coordinates are above zero.
#[derive(Debug, Clone, PartialEq)]
pub struct ChartPoint {
    /// The position on the x axis.
    pub x: f64,
    /// The value on the y axis.
    pub y: f64,
    /// The row number of a ringed point; `None` for other points.
    pub row: Option<usize>,
    /// The rings around the point, as indices of the figure's rings.
    pub rings: Vec<usize>,
}

impl ChartPoint {
    /// Creates a point without a ring.
    pub fn plain(x: f64, y: f64) -> Self {
        Self { x, y, row: None, rings: Vec::new() }
    }
}

impl ChartFigure {
    /// Returns a copy with escaped texts, which may contain names from tables.
    fn escaped(&self) -> Self {
        let mut figure = self.clone();
        let own = [&mut figure.title, &mut figure.subtitle, &mut figure.x].into_iter();
        let own = own.chain(figure.rings.iter_mut().map(|ring| &mut ring.name));
        let panels = figure.panels.iter_mut().flat_map(|panel| {
            let series = panel.lines.iter_mut().map(|line| &mut line.series);
            std::iter::once(&mut panel.y).chain(series)
        });
        own.chain(panels).for_each(|text| *text = clean(text));
        figure
    }
}

/// Formats a number with three significant digits, and thousands by letter.
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
    fn numbers_are_short_and_keep_three_digits() {
        assert_eq!(
            [1.0, 0.02, 0.001_234, 65_536.0, 4096.0, 1_048_576.0].map(short),
            ["1", "0.02", "0.00123", "65.5k", "4096", "1.05M"]
        );
    }
}
