//! The distance of a point from the line between its neighbours.

use super::point::{Points, SeriesPoint};

/// Returns the logarithm that is closer to 0, or 0 if the two have different signs.
pub fn least_telling(a: f64, b: f64) -> f64 {
    if a * b <= 0.0 {
        0.0
    } else if a.abs() < b.abs() {
        a
    } else {
        b
    }
}

/// Returns the logarithm of a point's latency divided by the line between its neighbours; `None` at an end of the series.
pub(super) fn log_ratio(points: &(impl Points + ?Sized), i: usize) -> Option<f64> {
    around(points, i).map(off_line)
}

/// Returns true for a point whose latency is less than `least` off the line between its two neighbours, in
/// logarithms. The first and the last point of a series have no such line.
pub(super) fn is_on_line(points: &impl Points, i: usize, least: f64) -> bool {
    log_ratio(points, i).is_some_and(|off| off.abs() < least)
}

/// Returns a point with the points before and after it; `None` at an end of the series.
fn around(points: &(impl Points + ?Sized), i: usize) -> Option<[SeriesPoint; 3]> {
    Some([points.get(i.checked_sub(1)?)?, points.get(i)?, points.get(i + 1)?])
}

/// Returns the distance of the middle point above the line between the other two, in logarithms of latency.
fn off_line([before, point, after]: [SeriesPoint; 3]) -> f64 {
    let share = (point.log_at - before.log_at) / (after.log_at - before.log_at);
    let [log_before, log, log_after] = [before, point, after].map(|point| point.time.ln());
    log - (log_before + share * (log_after - log_before))
}
