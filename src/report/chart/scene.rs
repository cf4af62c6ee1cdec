//! The scene of a chart: its panels, lines and texts, independent of SVG and Mermaid.

use crate::base::escape::clean;
use crate::findings::Severity;

/// A chart: panels below each other with a common x axis.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ChartFigure {
    /// The file name of the chart without its extension.
    pub name: String,
    /// The path of the file from which the chart is drawn.
    pub path: String,
    /// The title: the table's name with its system, backend and version.
    pub title: String,
    /// The subtitle: the number of series shown, the kinds of lines, and the columns that all series share.
    pub subtitle: String,
    /// The label of the x axis.
    pub x: String,
    /// The indices of the drawn series that belong to the requested slice; empty if no slice is requested or none of
    /// its series is drawn.
    pub asked: Vec<usize>,
    /// The names of the series, by index. A series has one colour in all panels.
    pub series: Vec<SeriesName>,
    /// The rules with findings on the table's rows. The points of these rows can have rings.
    pub rings: Vec<RingedRule>,
    /// The panels; the first shows the measured quantity.
    pub panels: Vec<Panel>,
}

/// The name of a series.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SeriesName {
    /// A short name: the columns in which the series differs from the other series of the chart, with shortened values.
    pub label: String,
    /// The full name: all columns that are constant along the series, with their values.
    pub whole: String,
}

impl<T: Into<String>> From<T> for SeriesName {
    fn from(name: T) -> Self {
        let label = name.into();
        Self { whole: label.clone(), label }
    }
}

/// A rule that has findings on a chart's rows. The chart draws rings around the points of these rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RingedRule {
    /// The rule's id.
    pub name: String,
    /// The worst severity of the rule's findings.
    pub severity: Severity,
    /// The number of rows that the rule's findings name, whether the chart shows these rows or not.
    pub rows: usize,
}

/// A panel of lines over a logarithmic x axis.
#[derive(Debug, Clone, PartialEq)]
pub struct Panel {
    /// The label of the y axis, with the unit.
    pub y: String,
    /// The kind of the y axis.
    pub scale: Scale,
    /// The y value of a horizontal line: the limit of the machine, or 1 for ratios. `None` for no line.
    pub mark: Option<f64>,
    /// The shaded range of y values; `None` for no range.
    pub band: Option<(f64, f64)>,
    /// The lines, grouped by series.
    pub lines: Vec<ChartLine>,
}

impl Panel {
    /// Creates a panel without lines, with a logarithmic y axis.
    pub fn named(y: &str) -> Self {
        Self { y: y.to_owned(), scale: Scale::Log, mark: None, band: None, lines: Vec::new() }
    }

    /// Adds a line, unless it has no points.
    pub fn add(&mut self, series: usize, kind: LineKind, points: Vec<ChartPoint>) {
        if !points.is_empty() {
            self.lines.push(ChartLine { series, kind, points });
        }
    }

    /// Returns the line of a kind and series.
    pub(crate) fn line(&self, series: usize, kind: LineKind) -> Option<&ChartLine> {
        self.lines.iter().find(|line| line.series == series && line.kind == kind)
    }
}

/// The kind of a y axis.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Scale {
    /// A logarithmic y axis.
    Log,
    /// A linear y axis that starts at zero.
    Linear,
    /// A y axis for ratios: the value after a change divided by the value before it. The variant contains the largest
    /// ratio that counts as noise: for 1.2, the shaded range is from 1 / 1.2 to 1.2. The axis is linear and starts at
    /// zero. If a ratio is large, the axis is logarithmic.
    Change(f64),
}

/// A line of a panel: points of one series.
#[derive(Debug, Clone, PartialEq)]
pub struct ChartLine {
    /// The index of the series.
    pub series: usize,
    /// The kind of the line, such as the served rows before the change.
    pub kind: LineKind,
    /// The points, sorted by x.
    pub points: Vec<ChartPoint>,
}

/// The kind of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineKind {
    /// The served rows of the table, after the change if there is one.
    Head,
    /// The served rows of the table before the change.
    Base,
    /// The served rows of a peer.
    Peer,
    /// Rows that the loader does not serve, such as copies of a served row. They are drawn as single points.
    Copies,
    /// The speed-of-light bound.
    Bound,
    /// Computed values for comparison, drawn as a dotted line. Charts of traces show perfect scaling from the first
    /// point. Charts of a remeasurement show the median of the compared points.
    Ideal,
    /// Single points without a connecting line.
    Points,
}

impl LineKind {
    /// Returns true if the line shows computed values, such as a bound, and not measurements.
    pub(super) fn is_limit(self) -> bool {
        matches!(self, Self::Bound | Self::Ideal)
    }
}

/// A point of a line. Its coordinates are positive on logarithmic axes.
#[derive(Debug, Clone, PartialEq)]
pub struct ChartPoint {
    /// The position on the x axis.
    pub x: f64,
    /// The value on the y axis.
    pub y: f64,
    /// The row number of a ringed point; `None` for other points.
    pub row: Option<usize>,
    /// The rings around the point, as indices of [`ChartFigure::rings`].
    pub rings: Vec<usize>,
}

impl ChartPoint {
    /// Creates a point without a ring.
    pub fn plain(x: f64, y: f64) -> Self {
        Self { x, y, row: None, rings: Vec::new() }
    }
}

impl ChartFigure {
    /// Returns a copy of the chart in which titles, labels and names of series are escaped for display.
    pub(super) fn escaped(&self) -> Self {
        let mut figure = self.clone();
        let own = [&mut figure.title, &mut figure.subtitle, &mut figure.x].into_iter();
        let rings = figure.rings.iter_mut().map(|ring| &mut ring.name);
        let series = figure.series.iter_mut().flat_map(|name| [&mut name.label, &mut name.whole]);
        let panels = figure.panels.iter_mut().map(|panel| &mut panel.y);
        own.chain(rings).chain(series).chain(panels).for_each(|text| *text = clean(text));
        figure
    }
}
