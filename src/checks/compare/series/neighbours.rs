//! A point and what lies around it along an axis, to be looked at again in other tables.

use smallvec::SmallVec;

use super::candidate::ratio_over_neighbours;
use super::line::{least_telling, log_ratio};
use super::point::{NO_ROW, Points, SeriesPoint};
use super::{Axis, AxisNumber};

/// The sizes of a point and of its neighbours along an axis: two before it, its own, and two after; NaN
/// beyond an end. Rounded, which ratios of sizes hardly show.
pub type Sizes = [f32; 5];

/// Where the point itself is in [`Sizes`].
const OWN: usize = 2;

/// The neighbours of a point along an axis, in the order of the sweep.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AxisNeighbours {
    /// Its bit, as in [`super::Outlier::axes`].
    pub bit: u8,
    /// Two rows before it and two after; [`NO_ROW`] beyond an end.
    pub rows: [u32; 4],
    /// The sizes there.
    pub sizes: Sizes,
}

impl AxisNeighbours {
    /// Whether the point lies between two others.
    pub fn are_on_either_side(&self) -> bool {
        self.rows[1] != NO_ROW && self.rows[2] != NO_ROW
    }
}

/// The neighbours of a candidate, axis by axis. Most tables are swept along two axes; millions of points are
/// candidates.
pub(super) type CandidateAxes = SmallVec<[CandidateAxis; 2]>;

/// The neighbours of a candidate along an axis.
#[derive(Clone, Copy)]
pub(super) struct CandidateAxis {
    axis: AxisNumber,
    rows: [u32; 4],
}

impl CandidateAxis {
    /// Those of a point of a series.
    pub fn of(points: &impl Points, i: usize, axis: AxisNumber) -> Self {
        let row = |at: Option<usize>| at.and_then(|at| points.get(at)).map_or(NO_ROW, |p| p.row);
        let rows =
            [row(i.checked_sub(2)), row(i.checked_sub(1)), row(Some(i + 1)), row(Some(i + 2))];
        Self { axis, rows }
    }

    /// Them with their sizes, of the point of a row.
    pub fn sized(&self, row: u32, axes: &[Axis<'_>]) -> AxisNeighbours {
        let axis = axes.iter().find(|axis| axis.number == self.axis);
        let size = |row: u32| match axis {
            Some(axis) if row != NO_ROW => axis.values.get(row as usize) as f32,
            _ => f32::NAN,
        };
        let [far_before, before, after, far_after] = self.rows;
        let sizes = [far_before, before, row, after, far_after].map(size);
        AxisNeighbours { bit: self.axis.bit(), rows: self.rows, sizes }
    }
}

/// A point among its neighbours along an axis, in some table.
pub struct Window {
    points: SmallVec<[SeriesPoint; 5]>,
    own: usize,
}

impl Window {
    /// The points of some sizes that have a latency, in ms. None where the point in the middle has none.
    pub fn of(sizes: &Sizes, times: [Option<f32>; 5]) -> Option<Self> {
        times[OWN].filter(|time| *time > 0.0)?;
        let mut this = Self { points: SmallVec::new(), own: 0 };
        for (place, (size, time)) in sizes.iter().zip(times).enumerate() {
            let Some(time) = time.filter(|time| *time > 0.0 && !size.is_nan()) else { continue };
            if place == OWN {
                this.own = this.points.len();
            }
            this.points.push(SeriesPoint::new(f64::from(*size), f64::from(time)));
        }
        Some(this)
    }

    /// Logarithm of the point's latency over the line between its neighbours; none at an end.
    pub fn log_ratio(&self) -> Option<f64> {
        log_ratio(&self.points[..], self.own)
    }

    /// The point's latency over its neighbours', for a spike or for a drop; none where there are too few.
    pub fn ratio(&self, spike: bool, least: f64) -> Option<f64> {
        ratio_over_neighbours(&self.points[..], self.own, spike, least)
    }
}

/// What several axes say of how far a point bends: the least telling.
pub fn bend_of(windows: impl Iterator<Item = Window>) -> Option<f64> {
    windows.filter_map(|window| window.log_ratio()).reduce(least_telling)
}

/// Whether a point is a spike, or a drop, of a factor along every axis that says anything.
pub fn stands_out(mut windows: impl Iterator<Item = Window>, spike: bool, least: f64) -> bool {
    let mut says_anything = false;
    let is_out = windows.all(|window| match window.ratio(spike, least) {
        None => true,
        Some(ratio) => {
            says_anything = true;
            let factor = if spike { ratio } else { 1.0 / ratio };
            factor >= least
        }
    });
    is_out && says_anything
}
