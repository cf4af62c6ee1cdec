//! A point against its neighbours along an axis.

use super::point::{Points, SeriesPoint};
use super::{AxisNumber, Outlier};

/// A point on its way to be an outlier.
pub(super) struct OutlierCandidate {
    pub row: u32,
    time: f64,
    pub spike: bool,
    ratio: f64,
    pub axes: u8,
    inner: bool,
}

impl OutlierCandidate {
    /// Takes in what an axis says: the least telling ratio stays.
    pub fn judge(&mut self, ratio: Option<f64>, axis: AxisNumber, inner: bool) {
        let Some(ratio) = ratio else { return };
        let first = self.axes == 0;
        self.axes |= axis.bit();
        self.inner |= inner;
        self.ratio = match self.spike {
            _ if first => ratio,
            true => self.ratio.min(ratio),
            false => self.ratio.max(ratio),
        };
    }

    pub fn factor(&self) -> f64 {
        if self.spike { self.ratio } else { 1.0 / self.ratio }
    }

    pub fn outlier(&self) -> Outlier {
        Outlier {
            row: self.row,
            latency: self.time,
            ratio: self.ratio,
            axes: self.axes,
            inner: self.inner,
        }
    }
}

/// Whether a point has a neighbour on either side.
pub(super) fn is_inner(points: &impl Points, i: usize) -> bool {
    i > 0 && i + 1 < points.count()
}

/// A point's latency over its neighbours', for a spike or for a drop; `None` in a series too short.
///
/// At an end of the series growth in proportion to the axis stands for the neighbour that lacks.
pub(super) fn ratio_over_neighbours(
    points: &(impl Points + ?Sized),
    i: usize,
    spike: bool,
    least: f64,
) -> Option<f64> {
    let SeriesPoint { at, time, .. } = points.get(i)?;
    let earlier = |steps: usize| points.get(i.checked_sub(steps)?);
    let later = points.get(i + 1);
    let beyond = points.get(i + 2);
    let in_proportion = |other: SeriesPoint| other.time * at / other.at;
    if points.count() < 3 {
        return None;
    }
    let (before, after) = match (earlier(1), later) {
        (Some(before), Some(after)) => (before.time, after.time),
        (Some(before), None) if spike => {
            // Where the neighbour fell below the one before it, it is that neighbour which is fast.
            let level = earlier(2).filter(|level| before.time * least <= level.time);
            let grown = |from: SeriesPoint| in_proportion(from).max(from.time);
            (grown(before).max(level.map_or(0.0, grown)), before.time)
        }
        (Some(before), None) => (before.time, before.time),
        (None, after) if spike => {
            // Likewise where the neighbour is fast beside the one that follows.
            let after = after?;
            let fell = |far: &SeriesPoint| after.time * least <= far.time * after.at / far.at;
            (beyond.filter(fell).map_or(0.0, |far| far.time), after.time)
        }
        (None, after) => (f64::INFINITY, in_proportion(after?)),
    };
    if spike {
        return Some(time / before.max(after));
    }
    match (earlier(2), later) {
        // At the level of the point before the last it is the one between that is slow.
        (Some(level), _) if time * least > level.time => Some(1.0),
        // So it is where the first point's neighbour is slower than the one beyond it.
        (None, Some(next)) if beyond.is_some_and(|b| next.time > least * b.time) => Some(1.0),
        (None, Some(next)) => Some(time / before.min(in_proportion(next))),
        _ => Some(time / before.min(after)),
    }
}

/// A point that stands out along the first axis.
pub(super) fn candidate(
    points: &impl Points,
    i: usize,
    least: f64,
    axis: AxisNumber,
) -> Option<OutlierCandidate> {
    let SeriesPoint { time, row, .. } = points.get(i)?;
    let earlier = i.checked_sub(1).and_then(|i| points.get(i));
    if let (Some(before), Some(after)) = (earlier, points.get(i + 1)) {
        // Whatever else lies around it, a point is off both of its neighbours by its factor. Rounding must not hide
        // what is exactly at the limit.
        let factor = least * (1.0 - 1e-9);
        let is_over = time >= factor * before.time.max(after.time);
        let is_under = time * factor <= before.time.min(after.time);
        if !is_over && !is_under {
            return None;
        }
    }
    for spike in [true, false] {
        let mut candidate =
            OutlierCandidate { row, time, spike, ratio: 1.0, axes: 0, inner: false };
        let ratio = ratio_over_neighbours(points, i, spike, least);
        candidate.judge(ratio, axis, is_inner(points, i));
        if candidate.factor() >= least {
            return Some(candidate);
        }
    }
    None
}
