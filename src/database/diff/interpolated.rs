//! The latency that the planner interpolates for a removed key between the remaining points of its sweep.

use hashbrown::HashMap;
use smallvec::SmallVec;

/// The values of a key along the axes of its table, in the order of the axes.
pub(crate) type AxisPoint = SmallVec<[f64; 2]>;

/// Identifies a line of points: points of one version whose keys differ only in the value along one axis. The elements
/// are the version, a hash of the key parts that are not axes, the index of the axis, and the bits of the values along
/// all other axes.
type Line<'a> = (&'a str, u64, usize, SmallVec<[u64; 2]>);

/// The served points, grouped into lines along one axis. Each point is stored as its value along that axis and its
/// latency in ms.
#[derive(Default)]
pub(super) struct ServedLines<'a>(HashMap<Line<'a>, Vec<(f64, f64)>>);

fn line<'a>(version: &'a str, shape: u64, axis: usize, point: &[f64]) -> Line<'a> {
    let others = point.iter().enumerate().filter(|(number, _)| *number != axis);
    (version, shape, axis, others.map(|(_, value)| value.to_bits()).collect())
}

impl<'a> ServedLines<'a> {
    /// Adds a served point to the lines that contain the point, one line for each axis. `shape` is a hash of the key
    /// parts that are not axes. `latency` is in ms.
    pub(crate) fn add(&mut self, version: &'a str, shape: u64, point: &[f64], latency: f64) {
        for (axis, value) in point.iter().enumerate() {
            let points = self.0.entry(line(version, shape, axis, point)).or_default();
            points.push((*value, latency));
        }
    }

    /// Sorts the points of each line by axis value. If several points of a line have the same axis value, only the
    /// first one is kept.
    pub(crate) fn sort(&mut self) {
        for points in self.0.values_mut() {
            points.sort_by(|a, b| a.0.total_cmp(&b.0));
            points.dedup_by(|later, first| later.0 == first.0);
        }
    }

    /// Interpolates the latency of a point linearly between its neighbours along an axis. Returns the interpolated
    /// latency divided by `latency`, the measured latency in ms. If several axes have a neighbour on each side, the
    /// ratio closest to 1 is returned. `None` if no axis has such neighbours.
    pub(crate) fn interpolation_ratio(
        &self,
        version: &'a str,
        shape: u64,
        point: &[f64],
        latency: f64,
    ) -> Option<f64> {
        let ratios = point.iter().enumerate().filter_map(|(axis, value)| {
            let points = self.0.get(&line(version, shape, axis, point))?;
            let above = points.partition_point(|(at, _)| at < value);
            let (low, high) = (points.get(above.checked_sub(1)?)?, points.get(above)?);
            let share = (value - low.0) / (high.0 - low.0);
            super::ratios::ratio(latency, low.1 + share * (high.1 - low.1))
        });
        ratios.min_by(|a, b| a.ln().abs().total_cmp(&b.ln().abs()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_point_is_interpolated_along_the_axis_with_the_best_fit() {
        let mut lines = ServedLines::default();
        for (x, y, latency) in [(1.0, 1.0, 1.0), (3.0, 1.0, 3.0), (2.0, 0.0, 9.0), (2.0, 2.0, 9.0)]
        {
            lines.add("1", 7, &[x, y], latency);
        }
        lines.sort();
        assert_eq!(lines.interpolation_ratio("1", 7, &[2.0, 1.0], 2.0), Some(1.0));
        assert_eq!(lines.interpolation_ratio("1", 7, &[2.0, 1.0], 9.0), Some(1.0));
        assert_eq!(lines.interpolation_ratio("1", 7, &[4.0, 1.0], 4.0), None);
        assert_eq!(lines.interpolation_ratio("2", 7, &[2.0, 1.0], 2.0), None);
    }
}
