//! A point and its neighbours along an axis, in the table itself or in another one.

use smallvec::SmallVec;

/// The row number that stands for a point that does not exist.
pub(crate) const NO_ROW: u32 = u32::MAX;

/// The sizes of five points along an axis: two before a point, the point itself, and two after it; NaN beyond an end of
/// the series. `f32` suffices, since rounding hardly changes ratios of sizes.
pub(crate) type Sizes = [f32; 5];

/// The index of the point itself in [`Sizes`].
const OWN: usize = 2;

/// The neighbours of a point along an axis, in the order of the sweep.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct AxisNeighbours {
    /// The axis as a bit, as in [`super::Outlier::axes`].
    pub bit: u8,
    /// The rows of the neighbours: two before the point and two after it; [`NO_ROW`] beyond an end of the series.
    pub rows: [u32; 4],
    /// The sizes of the neighbours and of the point itself.
    pub sizes: Sizes,
}

impl AxisNeighbours {
    /// Returns the neighbours of the point at index `i` of a series.
    pub(super) fn new(points: &[SeriesPoint], i: usize, bit: u8) -> Self {
        let near = |step: usize| points.get((i + step).checked_sub(OWN)?);
        let row = |step| near(step).map_or(NO_ROW, |point| point.row);
        let sizes = [0, 1, 2, 3, 4].map(|step| near(step).map_or(f32::NAN, |p| p.size as f32));
        Self { bit, rows: [row(0), row(1), row(3), row(4)], sizes }
    }

    /// Returns true if the point has neighbours on both sides.
    pub(crate) fn are_on_either_side(&self) -> bool {
        self.rows[1] != NO_ROW && self.rows[2] != NO_ROW
    }
}

/// Two neighbouring slow points count as equally slow if their latencies differ by at most this factor.
const ALIKE: f64 = 3.0;

/// Two slow points side by side count as wrong measurements only if their latency is at least this many times that of
/// the next point. A kernel's true latency changes less from one size to the next.
const SHIELDED: f64 = 10.0;

#[derive(Clone, Copy)]
pub(super) struct SeriesPoint {
    pub row: u32,
    pub size: f64,
    pub time: f64,
}

impl SeriesPoint {
    /// The logarithm of the size; a size of 0 counts as 0.5.
    fn log_size(&self) -> f64 {
        self.size.max(0.5).ln()
    }
}

/// A point with its neighbours along an axis, with the latencies of one table.
pub(crate) struct Window {
    points: SmallVec<[SeriesPoint; 5]>,
    own: usize,
}

impl Window {
    /// Creates a window from five sizes and their latencies in ms. Neighbours without a latency are left out; `None`
    /// if the middle point has none.
    pub(crate) fn of(sizes: &Sizes, times: [Option<f32>; 5]) -> Option<Self> {
        times[OWN].filter(|time| *time > 0.0)?;
        let mut this = Self { points: SmallVec::new(), own: 0 };
        for (place, (size, time)) in sizes.iter().zip(times).enumerate() {
            let Some(time) = time.filter(|time| *time > 0.0 && !size.is_nan()) else { continue };
            if place == OWN {
                this.own = this.points.len();
            }
            let (size, time) = (f64::from(*size), f64::from(time));
            this.points.push(SeriesPoint { row: NO_ROW, size, time });
        }
        Some(this)
    }
}

/// The smaller of two deviations, which are logarithms: the one closer to 0. It is 0 if they have different signs.
pub(crate) fn smaller_deviation(a: f64, b: f64) -> f64 {
    if a * b <= 0.0 {
        0.0
    } else if a.abs() < b.abs() {
        a
    } else {
        b
    }
}

/// Returns the logarithm of a point's latency divided by the latency on the line between its neighbours: above 0 for a
/// slow point. Of several axes, the smallest deviation counts. `None` if the point has two neighbours along no axis.
pub(crate) fn deviation_from_line(windows: impl Iterator<Item = Window>) -> Option<f64> {
    windows.filter_map(|window| log_ratio(&window.points, window.own)).reduce(smaller_deviation)
}

/// Returns true if a point is an outlier by a factor of at least `least` along every axis that has enough points: a
/// spike if `spike` is true, otherwise a drop.
pub(crate) fn stands_out(windows: impl Iterator<Item = Window>, spike: bool, least: f64) -> bool {
    let mut ratios = windows
        .filter_map(|window| ratio_over_neighbours(&window.points, window.own, spike, least))
        .peekable();
    let is_out = |ratio: f64| (if spike { ratio } else { 1.0 / ratio }) >= least;
    ratios.peek().is_some() && ratios.all(is_out)
}

/// Returns true if a point has neighbours on both sides.
pub(super) fn is_inner(points: &[SeriesPoint], i: usize) -> bool {
    i > 0 && i + 1 < points.len()
}

/// Returns the logarithm of a point's latency divided by the latency on the line between its two neighbours; `None` at
/// an end of the series. The line is straight in the logarithms of size and latency.
pub(super) fn log_ratio(points: &[SeriesPoint], i: usize) -> Option<f64> {
    let [before, point, after] = *points.get(i.checked_sub(1)?..i + 2)? else { return None };
    let share = (point.log_size() - before.log_size()) / (after.log_size() - before.log_size());
    let [log_before, log, log_after] = [before, point, after].map(|point| point.time.ln());
    Some(log - (log_before + share * (log_after - log_before)))
}

/// Returns the latency with which a slow point is compared on one side: usually the latency of the neighbour `near`. If
/// `near` is about as slow as the point and far slower than the next point `beyond`, then `near` is disturbed as well,
/// and the latency of `beyond` is returned.
fn neighbour_latency(time: f64, near: &SeriesPoint, beyond: Option<&SeriesPoint>) -> f64 {
    let is_as_slow = near.time * ALIKE >= time;
    let lower = beyond.filter(|far| is_as_slow && near.time >= SHIELDED * far.time);
    lower.map_or(near.time, |far| far.time)
}

/// Returns a point's latency divided by a neighbour's latency. For a spike, the slower neighbour is taken; for a drop,
/// the faster one. `None` if the series has fewer than three points.
///
/// At an end of the series, the missing neighbour's latency is estimated in proportion to the size. `least` is the
/// minimum factor of an outlier. It decides whether the point's neighbour is the outlier, and not the point itself.
pub(super) fn ratio_over_neighbours(
    points: &[SeriesPoint],
    i: usize,
    spike: bool,
    least: f64,
) -> Option<f64> {
    let SeriesPoint { size, time, .. } = *points.get(i)?;
    let earlier = |steps: usize| points.get(i.checked_sub(steps)?);
    let later = points.get(i + 1);
    let beyond = points.get(i + 2);
    let in_proportion = |other: &SeriesPoint| other.time * size / other.size;
    if points.len() < 3 {
        return None;
    }
    let (before, after) = match (earlier(1), later) {
        (Some(before), Some(after)) if spike => {
            (neighbour_latency(time, before, earlier(2)), neighbour_latency(time, after, beyond))
        }
        (Some(before), Some(after)) => (before.time, after.time),
        (Some(before), None) if spike => {
            // If the neighbour is faster than the point before it, the neighbour is the fast one.
            let level = earlier(2).filter(|level| before.time * least <= level.time);
            let grown = |from: &SeriesPoint| in_proportion(from).max(from.time);
            (grown(before).max(level.map_or(0.0, grown)), before.time)
        }
        (Some(before), None) => (before.time, before.time),
        (None, after) if spike => {
            // The same holds if the neighbour is faster than the point after it.
            let after = after?;
            let fell = |far: &&SeriesPoint| after.time * least <= far.time * after.size / far.size;
            (beyond.filter(fell).map_or(0.0, |far| far.time), after.time)
        }
        (None, after) => (f64::INFINITY, in_proportion(after?)),
    };
    if spike {
        return Some(time / before.max(after));
    }
    match (earlier(2), later) {
        // The point is at the level of the point two before it, so the point between them is the slow one.
        (Some(level), _) if time * least > level.time => Some(1.0),
        // The first point's neighbour is slower than the one beyond it, so the neighbour is slow.
        (None, Some(next)) if beyond.is_some_and(|b| next.time > least * b.time) => Some(1.0),
        (None, Some(next)) => Some(time / before.min(in_proportion(next))),
        _ => Some(time / before.min(after)),
    }
}
