//! A point against the line between its neighbours along an axis.

use super::neighbours::AxisNeighbours;
use super::points::{Points, SeriesPoint};

/// A point that lies off the line between its neighbours along every axis on which it has two.
///
/// A power law joins two neighbours: a line in the logarithms of size and latency. Kernels step, so most
/// bends are right; which of them is a disturbed measurement shows against other tables.
#[derive(Debug, Clone, PartialEq)]
pub struct Bend {
    /// Its row.
    pub row: u32,
    /// Logarithm of its latency over that of the line, of the axis that shows least. Above 0 for a slow
    /// point.
    pub log_ratio: f64,
    /// Its neighbours, an entry for each axis on which it has one on either side.
    pub axes: Vec<AxisNeighbours>,
}

/// A point on its way to be a bend.
#[derive(Default)]
pub(super) struct BendCandidate {
    /// None until an axis has shown something.
    log_ratio: Option<f64>,
}

impl BendCandidate {
    /// Takes in what an axis says: the least telling stays, and nothing does where two contradict.
    pub fn judge(&mut self, log_ratio: Option<f64>) {
        let Some(ratio) = log_ratio else { return };
        self.log_ratio = Some(self.log_ratio.map_or(ratio, |known| least_telling(known, ratio)));
    }

    /// Whether nothing said yet keeps it from bending by that much.
    pub fn may_bend(&self, least: f64) -> bool {
        self.log_ratio.is_none_or(|ratio| ratio.abs() >= least)
    }

    /// How far it bends; none where that is less, or it lies at the end of every axis.
    pub fn log_ratio(&self, least: f64) -> Option<f64> {
        self.log_ratio.filter(|ratio| ratio.abs() >= least)
    }
}

/// Of two logarithms the one nearer to 0; 0 where they have different signs.
pub fn least_telling(a: f64, b: f64) -> f64 {
    if a * b <= 0.0 {
        0.0
    } else if a.abs() < b.abs() {
        a
    } else {
        b
    }
}

/// The logarithm of a point's latency over the line between its neighbours; none at an end.
pub(super) fn log_ratio(points: &(impl Points + ?Sized), i: usize) -> Option<f64> {
    around(points, i).map(off_line)
}

/// Returns true for a point whose latency is less than `least` off the line between its two neighbours, in
/// logarithms. The first and the last point of a series have no such line.
pub(super) fn is_on_line(points: &impl Points, i: usize, least: f64) -> bool {
    log_ratio(points, i).is_some_and(|off| off.abs() < least)
}

/// A point between its neighbours; none at an end.
fn around(points: &(impl Points + ?Sized), i: usize) -> Option<[SeriesPoint; 3]> {
    Some([points.get(i.checked_sub(1)?)?, points.get(i)?, points.get(i + 1)?])
}

/// How far the middle of three points is over the line between the others, in logarithms of latency.
fn off_line([before, point, after]: [SeriesPoint; 3]) -> f64 {
    let share = (point.log_at - before.log_at) / (after.log_at - before.log_at);
    let [log_before, log, log_after] = [before, point, after].map(|point| point.time.ln());
    log - (log_before + share * (log_after - log_before))
}
