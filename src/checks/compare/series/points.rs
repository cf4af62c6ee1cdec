//! The points of a series, in its order.

use std::f64::consts::LN_2;

use super::neighbours::NO_ROW;
use super::times::RowTimes;
use crate::base::logarithm::{COARSE_ERROR, coarse_log2};

/// A point of a series.
#[derive(Clone, Copy)]
pub(super) struct SeriesPoint {
    pub at: f64,
    pub time: f64,
    pub row: u32,
    pub log_at: f64,
}

impl SeriesPoint {
    /// A point of another table: of no row.
    pub fn new(at: f64, time: f64) -> Self {
        Self { at, time, row: NO_ROW, log_at: log_of_size(at) }
    }
}

/// A size of 0 is one step below 1.
fn log_of_size(size: f64) -> f64 {
    size.max(0.5).ln()
}

/// What is off a line by less than this in coarse logarithms is off by less than `least` in natural ones: the error is
/// that of the point, and of a line between two others.
pub(super) fn coarse_bound(least: f64) -> f64 {
    least / LN_2 - 2.0 * COARSE_ERROR
}

/// Points in the order of their sizes.
pub(super) trait Points {
    /// How many there are.
    fn count(&self) -> usize;

    /// One of them, by its place in the order.
    fn get(&self, i: usize) -> Option<SeriesPoint>;
}

impl Points for [SeriesPoint] {
    fn count(&self) -> usize {
        self.len()
    }

    fn get(&self, i: usize) -> Option<SeriesPoint> {
        <[SeriesPoint]>::get(self, i).copied()
    }
}

/// The points of a series of a table. Most are looked at in passing, so they lie column by column.
#[derive(Clone, Copy)]
pub(super) struct Series<'a> {
    pub rows: &'a [u32],
    times: &'a [f64],
    sizes: &'a OrderedSizes,
}

impl Points for Series<'_> {
    fn count(&self) -> usize {
        self.rows.len()
    }

    fn get(&self, i: usize) -> Option<SeriesPoint> {
        let (row, time) = (*self.rows.get(i)?, *self.times.get(i)?);
        Some(SeriesPoint { at: self.sizes.at[i], time, row, log_at: self.sizes.logs[i] })
    }
}

impl Series<'_> {
    /// The points that coarse logarithms do not show to be less than `least` off the line between their
    /// neighbours, in natural logarithms: few. Those at the ends are among them.
    pub fn unsettled(&self, least: f64, coarse: &mut Vec<f64>, found: &mut Vec<usize>) {
        found.clear();
        let Some(last) = self.count().checked_sub(1) else { return };
        coarse.clear();
        coarse.extend(self.times.iter().map(|time| coarse_log2(*time)));
        let least = coarse_bound(least);
        found.push(0);
        let shares = self.sizes.shares.get(1..).unwrap_or(&[]);
        for (i, (three, share)) in coarse.windows(3).zip(shares).enumerate() {
            let [before, point, after] = three else { continue };
            let is_settled = (point - (before + share * (after - before))).abs() < least;
            if !is_settled {
                found.push(i + 1);
            }
        }
        if last > 0 {
            found.push(last);
        }
    }
}

/// The points of series after series.
#[derive(Default)]
pub(super) struct SeriesPoints {
    /// The rows of the series under way that have a time, where not all have one.
    timed: Vec<u32>,
    /// Its points in the order of the file.
    read: ReadPoints,
    order: SweepOrder,
    /// Those of the series under way, in its order.
    rows: Vec<u32>,
    times: Vec<f64>,
    /// Its sizes, where points share one.
    distinct: OrderedSizes,
}

/// Points in the order of the file.
#[derive(Default)]
struct ReadPoints {
    sizes: Vec<i64>,
    times: Vec<f64>,
}

/// Sizes in the order of the file, and what follows from them: the next series mostly has the same, in an order
/// that has to be found only once.
#[derive(Default)]
struct SweepOrder {
    sizes: Vec<i64>,
    /// Places in the order of the file, in the order of their sizes.
    places: Vec<u32>,
    /// Whether that is the order of the file.
    is_file_order: bool,
    ordered: OrderedSizes,
    /// Those of the sizes before.
    earlier: OrderedSizes,
    /// Each size with its place in its low half, which is sorted as one number.
    keys: Vec<i128>,
    /// Whether several points have one size.
    repeats: bool,
}

/// Sizes of a series in their order.
#[derive(Default)]
struct OrderedSizes {
    at: Vec<f64>,
    /// Their logarithms.
    logs: Vec<f64>,
    /// How far each is on the way from the one before to the one after, by logarithms; 0 at the ends.
    shares: Vec<f64>,
}

impl SeriesPoints {
    /// The points of a series, of rows in the order of the file, in its own order; of several at one place the
    /// fastest, which is the least disturbed. `sizes` are those of all rows.
    pub fn of<'s>(
        &'s mut self,
        of_series: &'s [u32],
        sizes: &[i64],
        latencies: &RowTimes<'_>,
    ) -> Series<'s> {
        let Self { timed, read, order, rows, times, distinct } = self;
        let of_series = latencies.timed(of_series, timed);
        read.take(of_series, sizes, latencies);
        order.take(&read.sizes);
        if order.repeats {
            read.fastest(of_series, &order.places, rows, times, distinct);
            return Series { rows, times, sizes: distinct };
        }
        let sizes = &order.ordered;
        if order.is_file_order {
            return Series { rows: of_series, times: &read.times, sizes };
        }
        rows.clear();
        rows.extend(order.places.iter().map(|place| of_series[*place as usize]));
        times.clear();
        times.extend(order.places.iter().map(|place| read.times[*place as usize]));
        Series { rows, times, sizes }
    }
}

impl ReadPoints {
    fn take(&mut self, rows: &[u32], sizes: &[i64], latencies: &RowTimes<'_>) {
        self.sizes.clear();
        self.sizes.extend(rows.iter().map(|row| sizes[*row as usize]));
        self.times.clear();
        self.times.extend(rows.iter().map(|row| latencies.time(*row)));
    }

    /// The fastest point of each size, by the places of all in the order of their sizes.
    fn fastest(
        &self,
        of_series: &[u32],
        places: &[u32],
        rows: &mut Vec<u32>,
        times: &mut Vec<f64>,
        sizes: &mut OrderedSizes,
    ) {
        rows.clear();
        times.clear();
        sizes.clear();
        let places: Vec<usize> = places.iter().map(|place| *place as usize).collect();
        for of_size in places.chunk_by(|a, b| self.sizes[*a] == self.sizes[*b]) {
            let by_time = |a: &&usize, b: &&usize| {
                let (time, row) = (|p: usize| self.times[p], |p: usize| of_series[p]);
                time(**a).total_cmp(&time(**b)).then(row(**a).cmp(&row(**b)))
            };
            if let Some(fastest) = of_size.iter().min_by(by_time) {
                rows.push(of_series[*fastest]);
                times.push(self.times[*fastest]);
                let at = self.sizes[*fastest] as f64;
                sizes.push(at, log_of_size(at));
            }
        }
        sizes.take_shares();
    }
}

impl OrderedSizes {
    fn clear(&mut self) {
        self.at.clear();
        self.logs.clear();
        self.shares.clear();
    }

    fn push(&mut self, at: f64, log: f64) {
        self.at.push(at);
        self.logs.push(log);
    }

    fn take_shares(&mut self) {
        self.shares.clear();
        self.shares.resize(self.logs.len(), 0.0);
        for (three, share) in self.logs.windows(3).zip(self.shares.iter_mut().skip(1)) {
            *share = (three[1] - three[0]) / (three[2] - three[0]);
        }
    }
}

impl SweepOrder {
    /// Takes in the sizes of a series, where they are others than before.
    fn take(&mut self, sizes: &[i64]) {
        if self.sizes == sizes {
            return;
        }
        self.sizes.clear();
        self.sizes.extend(sizes);
        self.keys.clear();
        let key = |(place, size): (u32, &i64)| i128::from(*size) << 32 | i128::from(place);
        self.keys.extend((0..).zip(sizes).map(key));
        self.is_file_order = self.keys.is_sorted();
        if !self.is_file_order {
            self.keys.sort_unstable();
        }
        self.places.clear();
        std::mem::swap(&mut self.ordered, &mut self.earlier);
        self.ordered.clear();
        let mut known = self.earlier.at.iter().zip(&self.earlier.logs).peekable();
        for key in &self.keys {
            let place = *key as u32;
            let size = sizes[place as usize] as f64;
            // Most sizes were those of the series before, too, and a logarithm takes longer than all else.
            while known.next_if(|(earlier, _)| **earlier < size).is_some() {}
            let same = known.peek().filter(|(earlier, _)| **earlier == size);
            self.ordered.push(size, same.map_or_else(|| log_of_size(size), |(_, log)| **log));
            self.places.push(place);
        }
        self.ordered.take_shares();
        self.repeats = self.ordered.at.windows(2).any(|two| two[0] == two[1]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::expr::Vals;

    /// Synthetic: one series, a row for each size.
    fn series_of<T>(
        series: &mut SeriesPoints,
        sizes: &[i64],
        times: &[f64],
        see: impl FnOnce(Series<'_>) -> T,
    ) -> T {
        let times = Vals::Rows(times.into());
        let times = RowTimes::of(&times, sizes.len(), |_| true);
        let rows: Vec<u32> = (0..sizes.len() as u32).collect();
        see(series.of(&rows, sizes, &times))
    }

    #[test]
    fn a_series_is_in_the_order_of_its_sizes_whatever_the_one_before_had() {
        let mut series = SeriesPoints::default();
        let mut order = |sizes: &[i64]| {
            series_of(&mut series, sizes, &vec![1.0; sizes.len()], |points| points.rows.to_vec())
        };
        assert_eq!(order(&[4, 1, 2]), [1, 2, 0]);
        assert_eq!(order(&[4, 1, 2]), [1, 2, 0]);
        assert_eq!(order(&[4, 1]), [1, 0]);
        assert_eq!(order(&[1, 2, 4]), [0, 1, 2]);
        assert_eq!(order(&[]), [0_u32; 0]);
    }

    #[test]
    fn of_several_points_at_one_place_the_fastest_counts() {
        let sizes = [2, 1, 2, 2, 1];
        let mut series = SeriesPoints::default();
        for _ in 0..2 {
            series_of(&mut series, &sizes, &[9.0, 5.0, 3.0, 3.0, f64::NAN], |found| {
                assert_eq!(found.rows, [1, 2]);
                assert_eq!(
                    [0, 1].map(|i| found.get(i).map(|p| (p.at, p.time))),
                    [Some((1.0, 5.0)), Some((2.0, 3.0))]
                );
            });
        }
    }

    #[test]
    fn points_on_the_line_are_settled_and_ends_never() {
        let (mut series, mut coarse, mut found) = <(SeriesPoints, _, _)>::default();
        let mut unsettled = |times: &[f64]| {
            let sizes: Vec<i64> = (0..times.len()).map(|n| 1 << n).collect();
            series_of(&mut series, &sizes, times, |points| {
                points.unsettled(1.2_f64.ln(), &mut coarse, &mut found);
            });
            found.clone()
        };
        assert_eq!(unsettled(&[1.0, 2.0, 4.0, 8.0, 16.0]), [0, 4]);
        assert_eq!(unsettled(&[1.0, 2.0, 6.0, 8.0, 16.0]), [0, 1, 2, 3, 4]);
        assert_eq!(unsettled(&[1.0, 2.2, 4.0, 8.0, 16.0]), [0, 4]);
        assert_eq!(unsettled(&[1.0]), [0]);
        assert_eq!(unsettled(&[]), [0_usize; 0]);
    }
}
