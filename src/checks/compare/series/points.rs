//! The points of a series, in its order.

use std::cell::Cell;

use super::neighbours::NO_ROW;
use crate::base::logarithm::coarse_log2;

/// A point of a series.
pub(super) struct SeriesPoint {
    pub at: f64,
    pub time: f64,
    pub row: u32,
    pub log_at: f64,
    /// To the base of 2, by [`coarse_log2`].
    pub coarse: f64,
    /// NaN until it is asked for.
    log_time: Cell<f64>,
}

impl SeriesPoint {
    /// A point of another table: of no row.
    pub fn new(at: f64, time: f64) -> Self {
        Self::of(ReadPoint { at, time, row: NO_ROW }, log_of_size(at))
    }

    fn of(read: ReadPoint, log_at: f64) -> Self {
        let ReadPoint { at, time, row } = read;
        Self { at, time, row, log_at, coarse: coarse_log2(time), log_time: Cell::new(f64::NAN) }
    }

    /// The logarithm of its latency. Most points are settled without it.
    pub fn log_time(&self) -> f64 {
        if self.log_time.get().is_nan() {
            self.log_time.set(self.time.ln());
        }
        self.log_time.get()
    }
}

/// A size of 0 is one step below 1.
fn log_of_size(size: f64) -> f64 {
    size.max(0.5).ln()
}

/// A point as the file has it.
#[derive(Clone, Copy)]
pub(super) struct ReadPoint {
    pub at: f64,
    pub time: f64,
    pub row: u32,
}

/// The points of series after series.
#[derive(Default)]
pub(super) struct SeriesPoints {
    /// Those of the series under way, in the order of the file.
    read: Vec<ReadPoint>,
    order: SweepOrder,
    /// Those of the series under way, in its order.
    points: Vec<SeriesPoint>,
}

/// Sizes in the order of the file, and what follows from them: the next series mostly has the same, in an order
/// that has to be found only once.
#[derive(Default)]
struct SweepOrder {
    sizes: Vec<f64>,
    /// The points in the order of their sizes.
    places: Vec<SizePlace>,
    /// Those of the sizes before.
    earlier: Vec<SizePlace>,
    /// Each size with its place in its low half, which is sorted as one number.
    keys: Vec<i128>,
    /// Whether several points have one size.
    repeats: bool,
}

/// A size and the point that has it.
#[derive(Clone, Copy)]
struct SizePlace {
    size: f64,
    log: f64,
    /// Place of the point in the order of the file.
    place: u32,
}

impl SeriesPoints {
    /// The points of a series in its order; of several at one place the fastest, which is the least disturbed.
    pub fn of(&mut self, points: impl Iterator<Item = ReadPoint>) -> &[SeriesPoint] {
        let Self { read, order, points: sorted } = self;
        read.clear();
        read.extend(points);
        order.take(read);
        sorted.clear();
        let in_order = order.places.iter();
        sorted.extend(in_order.map(|at| SeriesPoint::of(read[at.place as usize], at.log)));
        if order.repeats {
            sorted.sort_unstable_by(|a, b| {
                a.at.total_cmp(&b.at).then(a.time.total_cmp(&b.time)).then(a.row.cmp(&b.row))
            });
            sorted.dedup_by(|later, first| later.at == first.at);
        }
        sorted
    }
}

impl SweepOrder {
    /// Takes in the sizes of a series, where they are others than before.
    fn take(&mut self, points: &[ReadPoint]) {
        let sizes = || points.iter().map(|point| point.at);
        if self.sizes.len() == points.len() && self.sizes.iter().copied().eq(sizes()) {
            return;
        }
        self.sizes.clear();
        self.sizes.extend(sizes());
        self.keys.clear();
        // Sizes are whole numbers.
        let key = |(place, size): (u32, f64)| i128::from(size as i64) << 32 | i128::from(place);
        self.keys.extend((0..).zip(sizes()).map(key));
        if !self.keys.is_sorted() {
            self.keys.sort_unstable();
        }
        std::mem::swap(&mut self.places, &mut self.earlier);
        self.places.clear();
        let mut known = self.earlier.iter().peekable();
        for key in &self.keys {
            let place = *key as u32;
            let size = self.sizes[place as usize];
            // Most sizes were those of the series before, too, and a logarithm takes longer than all else.
            while known.next_if(|earlier| earlier.size < size).is_some() {}
            let same = known.peek().filter(|earlier| earlier.size == size);
            let log = same.map_or_else(|| log_of_size(size), |earlier| earlier.log);
            self.places.push(SizePlace { size, log, place });
        }
        self.repeats = self.places.windows(2).any(|two| two[0].size == two[1].size);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(points: &[SeriesPoint]) -> Vec<u32> {
        points.iter().map(|point| point.row).collect()
    }

    #[test]
    fn a_series_is_in_the_order_of_its_sizes_whatever_the_one_before_had() {
        let mut series = SeriesPoints::default();
        let mut order = |sizes: &[f64]| {
            let read =
                |(row, at): (u32, &f64)| ReadPoint { at: *at, time: 1.0 + f64::from(row), row };
            rows(series.of((0..).zip(sizes).map(read)))
        };
        assert_eq!(order(&[4.0, 1.0, 2.0]), [1, 2, 0]);
        assert_eq!(order(&[4.0, 1.0, 2.0]), [1, 2, 0]);
        assert_eq!(order(&[4.0, 1.0]), [1, 0]);
        assert_eq!(order(&[1.0, 2.0, 4.0]), [0, 1, 2]);
        assert_eq!(order(&[]), [0_u32; 0]);
    }

    #[test]
    fn of_several_points_at_one_place_the_fastest_counts() {
        let read = [(2.0, 9.0), (1.0, 5.0), (2.0, 3.0), (2.0, 3.0)];
        let mut series = SeriesPoints::default();
        for _ in 0..2 {
            let points = (0..).zip(read).map(|(row, (at, time))| ReadPoint { at, time, row });
            assert_eq!(rows(series.of(points)), [1, 2]);
        }
    }
}
