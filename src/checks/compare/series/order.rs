//! The order of the sizes of a series, found once for all series that have the same.

use std::mem;

use hashbrown::HashTable;

use super::points::log_of_size;
use super::times::RowTimes;
use crate::database::table::{CodedColumn, mix};

/// Points of the orders that are kept, at most.
const KEPT_POINTS: usize = 1 << 16;

/// The sizes of an axis in ascending order.
pub(super) struct AxisSizes {
    at: Vec<f64>,
    /// Their logarithms.
    logs: Vec<f64>,
    /// The place of each in their order, by its code.
    ranks: Vec<u32>,
}

/// The orders of series so far: most series have the sizes of an earlier one.
#[derive(Default)]
pub(super) struct SweepOrders {
    all: Vec<SweepOrder>,
    /// Hashes of their places, with their numbers.
    by_hash: HashTable<(u64, usize)>,
    /// That of the series under way.
    current: usize,
    /// Its places, where they are not those of the series before.
    read: Vec<u32>,
    /// Points of all of them.
    points: usize,
}

/// The sizes of a series in the order of the file, and what follows from them.
pub(super) struct SweepOrder {
    /// The places of the sizes.
    places: Vec<u32>,
    /// Numbers of points in the order of the file, in the order of their sizes.
    pub points: Vec<u32>,
    /// Whether that is the order of the file.
    pub is_file_order: bool,
    pub sizes: OrderedSizes,
    /// Whether several points have one size.
    pub repeats: bool,
}

/// Sizes of a series in their order.
#[derive(Default)]
pub(super) struct OrderedSizes {
    pub at: Vec<f64>,
    /// Their logarithms.
    pub logs: Vec<f64>,
    /// How far each is on the way from the one before to the one after, by logarithms; 0 at the ends.
    pub shares: Vec<f64>,
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

impl SweepOrders {
    /// The order of the sizes at some places.
    pub fn of(
        &mut self,
        places: impl ExactSizeIterator<Item = u32> + Clone,
        sizes: &AxisSizes,
    ) -> &SweepOrder {
        let has_places = |order: &SweepOrder| {
            order.places.len() == places.len() && places.clone().eq(order.places.iter().copied())
        };
        if !self.all.get(self.current).is_some_and(has_places) {
            let mut read = mem::take(&mut self.read);
            read.clear();
            read.extend(places);
            self.current = self.find(&read, sizes);
            self.read = read;
        }
        &self.all[self.current]
    }

    /// The number of an order, a new one where there is none of these places.
    fn find(&mut self, places: &[u32], sizes: &AxisSizes) -> usize {
        let hash = places.iter().fold(0, |hash, place| mix(hash, u64::from(*place)));
        let is_same = |known: &(u64, usize)| self.all[known.1].places == places;
        if let Some((_, known)) = self.by_hash.find(hash, is_same) {
            return *known;
        }
        self.points += places.len();
        if self.points > KEPT_POINTS {
            *self = Self { points: places.len(), ..Self::default() };
        }
        let next = self.all.len();
        self.by_hash.insert_unique(hash, (hash, next), |(hash, _)| *hash);
        self.all.push(SweepOrder::of(places, sizes));
        next
    }
}

impl SweepOrder {
    fn of(places: &[u32], sizes: &AxisSizes) -> Self {
        let is_file_order = places.is_sorted();
        let points: Vec<u32> = if is_file_order {
            (0..places.len() as u32).collect()
        } else {
            // Places with the number of their point in the low half, which are sorted as one number.
            let key = |(point, place): (u64, &u32)| u64::from(*place) << 32 | point;
            let mut keys: Vec<u64> = (0..).zip(places).map(key).collect();
            keys.sort_unstable();
            keys.into_iter().map(|key| key as u32).collect()
        };
        let place = |point: &u32| places[*point as usize] as usize;
        let repeats = points.windows(2).any(|two| place(&two[0]) == place(&two[1]));
        let mut ordered = OrderedSizes {
            at: points.iter().map(|point| sizes.at[place(point)]).collect(),
            logs: points.iter().map(|point| sizes.logs[place(point)]).collect(),
            shares: Vec::new(),
        };
        ordered.take_shares();
        Self { places: places.to_vec(), points, is_file_order, sizes: ordered, repeats }
    }

    /// The row of the fastest point of each size, and the sizes, of a series of this order.
    pub fn fastest(
        &self,
        of_series: &[u32],
        latencies: &RowTimes<'_>,
        rows: &mut Vec<u32>,
        sizes: &mut OrderedSizes,
    ) {
        rows.clear();
        sizes.clear();
        let place = |point: &u32| self.places[*point as usize];
        let mut start = 0;
        for of_size in self.points.chunk_by(|a, b| place(a) == place(b)) {
            let of_size_rows = of_size.iter().map(|point| of_series[*point as usize]);
            let by_time =
                |a: &u32, b: &u32| latencies.time(*a).total_cmp(&latencies.time(*b)).then(a.cmp(b));
            rows.extend(of_size_rows.min_by(by_time));
            sizes.push(self.sizes.at[start], self.sizes.logs[start]);
            start += of_size.len();
        }
        sizes.take_shares();
    }
}

impl OrderedSizes {
    pub fn clear(&mut self) {
        self.at.clear();
        self.logs.clear();
        self.shares.clear();
    }

    pub fn push(&mut self, at: f64, log: f64) {
        self.at.push(at);
        self.logs.push(log);
    }

    /// Computes the shares of the sizes that are here.
    pub fn take_shares(&mut self) {
        self.shares.clear();
        self.shares.resize(self.logs.len(), 0.0);
        for (three, share) in self.logs.windows(3).zip(self.shares.iter_mut().skip(1)) {
            *share = (three[1] - three[0]) / (three[2] - three[0]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Synthetic: more different series than are kept.
    #[test]
    fn an_order_is_the_same_whether_it_is_known_or_not() {
        let values: Vec<i64> = (0..500).map(|n| 1 << (n % 60)).collect();
        let axis = AxisSizes::of(&CodedColumn::of(&values));
        let mut orders = SweepOrders::default();
        for round in 0..3 {
            for first in 0..60_u32 {
                for count in 1..60 {
                    let places: Vec<u32> = (0..count).map(|n| (first + n * 7) % 60).collect();
                    let order = orders.of(places.iter().copied(), &axis);
                    let points: Vec<usize> = order.points.iter().map(|p| *p as usize).collect();
                    assert!(points.is_sorted_by_key(|point| places[*point]), "round {round}");
                    let at = points.iter().map(|point| (1_i64 << places[*point]) as f64);
                    assert!(at.eq(order.sizes.at.iter().copied()));
                    assert_eq!(order.sizes.shares.len(), places.len());
                }
            }
            assert!(orders.points <= KEPT_POINTS);
        }
    }
}
