//! What a reviewer looks at: latency along a sweep, before and after, and how near it comes to what
//! the machine allows.
//!
//! A [`Gallery`] picks the tables of a pull request that changed most, [`figure`] a few series of a
//! table, by `charts/*.yaml` or by the table's spec: lines are what the loader serves, [`Rings`] what
//! findings name. [`svg`] draws a [`Figure`], and [`mermaid`] writes it as a chart that a site draws
//! from text.

mod axis;
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

/// A chart: panels one below the other over one axis.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    /// A file's name without its ending.
    pub name: String,
    /// Path of the file that it is drawn from.
    pub path: String,
    /// The table.
    pub title: String,
    /// Which of its rows.
    pub subtitle: String,
    /// What the axis shows.
    pub x: String,
    /// What points are ringed for.
    pub rings: Vec<Ring>,
    /// Latency first.
    pub panels: Vec<Panel>,
}

/// Lines over the figure's axis; both axes are logarithmic.
#[derive(Debug, Clone, PartialEq)]
pub struct Panel {
    /// What is shown, with its unit.
    pub y: String,
    /// A value that is marked: what the machine allows at most, where that is one, or 1 of ratios.
    pub mark: Option<f64>,
    /// The lines, those of one series together.
    pub lines: Vec<ChartLine>,
}

/// Points of one series.
#[derive(Debug, Clone, PartialEq)]
pub struct ChartLine {
    /// The series, by what it differs in from the others.
    pub series: String,
    /// Number of the series; lines of one have one colour.
    pub colour: usize,
    /// What the points are.
    pub kind: LineKind,
    /// By x.
    pub points: Vec<ChartPoint>,
}

/// What a line shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineKind {
    /// What the table holds.
    Head,
    /// What it held before.
    Base,
    /// What a peer holds, by its place.
    Peer,
    /// Rows that the loader passes over for another row of their key, in no order.
    Copies,
    /// What physics allows.
    Bound,
    /// Single points, in no order.
    Points,
}

/// A point; both values are above zero.
#[derive(Debug, Clone, PartialEq)]
pub struct ChartPoint {
    /// Place on the sweep.
    pub x: f64,
    /// Value there.
    pub y: f64,
    /// Row of the table that is drawn, of a point that is ringed.
    pub row: Option<usize>,
    /// What it is ringed for, as indices of the figure's rings.
    pub rings: Vec<usize>,
}

impl ChartPoint {
    /// A point without a ring.
    pub fn plain(x: f64, y: f64) -> Self {
        Self { x, y, row: None, rings: Vec::new() }
    }
}

impl Figure {
    /// The same figure with its texts escaped: they may hold names from tables.
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

/// A number as axes and hovers show it: three digits, thousands by letter.
fn short(value: f64) -> String {
    let (value, unit) = match value.abs() {
        v if v >= 1e9 => (value / 1e9, "G"),
        v if v >= 1e6 => (value / 1e6, "M"),
        v if v >= 1e4 => (value / 1e3, "k"),
        _ => (value, ""),
    };
    format!("{}{unit}", three_digits(value))
}

/// A number with the three digits that count, and no more.
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
