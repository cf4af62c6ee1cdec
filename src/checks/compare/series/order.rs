//! The order of the sizes of a series, found once for series one after the other that have the same.

use super::point::log_of_size;
use super::times::RowTimes;
use crate::database::table::CodedColumn;

/// The sizes of an axis in ascending order.
pub(super) struct AxisSizes {
    pub at: Vec<f64>,
    /// Their logarithms.
    logs: Vec<f64>,
    /// The place of each in their order, by its code.
    ranks: Vec<u32>,
}

/// The sizes of a series in the order of the file, and what follows from them.
#[derive(Default)]
pub(super) struct SweepOrder {
    /// The places of the sizes.
    places: Vec<u32>,
    /// Places with the number of their point in the order of the file in the low half, sorted.
    sorted: Vec<u64>,
    /// Whether that is the order of the file.
    pub is_file_order: bool,
    pub sizes: OrderedSizes,
    /// Whether several points have one size.
    pub repeats: bool,
}

/// Sizes of a series in their order.
#[derive(Default)]
pub(super) struct OrderedSizes {
    /// Their places among those of the axis.
    pub places: Vec<u32>,
    /// Their logarithms.
    pub logs: Vec<f64>,
}

impl AxisSizes {
    pub fn of(axis: &CodedColumn) -> Self {
        let (sizes, ranks) = axis.ranked();
        let at: Vec<f64> = sizes.iter().map(|size| *size as f64).collect();
        let logs = at.iter().map(|size| log_of_size(*size)).collect();
        Self { at, logs, ranks }
    }

    /// The place of a size in their order, by its code.
    #[inline]
    pub fn place(&self, code: u32) -> u32 {
        self.ranks[code as usize]
    }
}

impl SweepOrder {
    /// Becomes the order of the sizes at some places, where it is not already. Orders before the last are not kept: to
    /// find one takes as long as to make it again.
    pub fn take(&mut self, places: impl ExactSizeIterator<Item = u32> + Clone, axis: &AxisSizes) {
        if self.places.len() == places.len() && places.clone().eq(self.places.iter().copied()) {
            return;
        }
        self.places.clear();
        self.places.extend(places);
        self.is_file_order = self.places.is_sorted();
        self.sorted.clear();
        let key = |(point, place): (u64, &u32)| u64::from(*place) << 32 | point;
        self.sorted.extend((0..).zip(&self.places).map(key));
        if !self.is_file_order {
            self.sorted.sort_unstable();
        }
        self.sizes.places.clear();
        self.sizes.places.extend(self.sorted.iter().map(|key| (key >> 32) as u32));
        self.repeats = self.sizes.places.windows(2).any(|two| two[0] == two[1]);
        self.sizes.take_logs(axis);
    }

    /// Numbers of points in the order of the file, in the order of their sizes.
    pub fn points(&self) -> impl Iterator<Item = usize> {
        self.sorted.iter().map(|key| *key as u32 as usize)
    }

    /// The row of the fastest point of each size, and the sizes, of a series of this order.
    pub fn fastest(
        &self,
        of_series: &[u32],
        latencies: &RowTimes<'_>,
        rows: &mut Vec<u32>,
        sizes: &mut OrderedSizes,
        axis: &AxisSizes,
    ) {
        rows.clear();
        sizes.places.clear();
        let mut points = self.points().map(|point| of_series[point]);
        let by_time =
            |a: &u32, b: &u32| latencies.time(*a).total_cmp(&latencies.time(*b)).then(a.cmp(b));
        for of_size in self.sizes.places.chunk_by(|a, b| a == b) {
            rows.extend(points.by_ref().take(of_size.len()).min_by(by_time));
            sizes.places.push(of_size[0]);
        }
        sizes.take_logs(axis);
    }
}

impl OrderedSizes {
    /// Looks up the logarithms of the sizes that are here.
    fn take_logs(&mut self, axis: &AxisSizes) {
        self.logs.clear();
        self.logs.extend(self.places.iter().map(|place| axis.logs[*place as usize]));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Synthetic: series of more and fewer sizes than the one before, each looked at twice.
    #[test]
    fn points_are_in_the_order_of_their_sizes_whatever_the_series_before_had() {
        let values: Vec<i64> = (0..500).map(|n| 1 << (n % 60)).collect();
        let axis = AxisSizes::of(&CodedColumn::of(&values));
        let mut order = SweepOrder::default();
        for first in 0..60_u32 {
            for count in [59, 1, 60, 7, 80] {
                let places: Vec<u32> = (0..count).map(|n| (first + n * 7) % 60).collect();
                for _ in 0..2 {
                    order.take(places.iter().copied(), &axis);
                    let points: Vec<usize> = order.points().collect();
                    assert!(points.is_sorted_by_key(|point| (places[*point], *point)));
                    assert_eq!(order.is_file_order, points.is_sorted());
                    assert_eq!(order.repeats, count > 60);
                    let at = points.iter().map(|point| places[*point]);
                    assert!(at.clone().eq(order.sizes.places.iter().copied()));
                    let logs = at.map(|place| log_of_size((1_i64 << place) as f64));
                    assert!(logs.eq(order.sizes.logs.iter().copied()));
                }
            }
        }
    }
}
