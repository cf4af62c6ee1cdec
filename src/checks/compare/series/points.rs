//! The points of a series, in its order.

use super::line::log_ratio;
use super::order::{AxisSizes, OrderedSizes, SweepOrder};
use super::point::{Points, SeriesPoint};
use super::times::RowTimes;
use crate::database::table::CodedColumn;

/// The points of a series of a table. Most are looked at in passing, so they lie column by column.
#[derive(Clone, Copy)]
pub(super) struct Series<'a> {
    pub rows: &'a [u32],
    times: &'a [f64],
    sizes: &'a OrderedSizes,
    axis: &'a AxisSizes,
}

impl Points for Series<'_> {
    fn count(&self) -> usize {
        self.rows.len()
    }

    #[inline]
    fn get(&self, i: usize) -> Option<SeriesPoint> {
        let (row, time) = (*self.rows.get(i)?, *self.times.get(i)?);
        let at = self.axis.at[self.sizes.places[i] as usize];
        Some(SeriesPoint { at, time, row, log_at: self.sizes.logs[i] })
    }
}

impl Series<'_> {
    /// The places of the points that are at least `least` off the line between their neighbours, in logarithms, with how
    /// far they are off; and the places of both ends, which have no such line.
    pub fn unsettled(&self, least: f64) -> impl Iterator<Item = (usize, Option<f64>)> {
        let places = (0..self.count()).map(|i| (i, log_ratio(self, i)));
        places.filter(move |(_, off)| off.is_none_or(|off| off.is_nan() || off.abs() >= least))
    }
}

/// The points of series after series along an axis.
pub(super) struct SeriesPoints<'a> {
    /// The code of each row's size.
    codes: &'a [u32],
    axis: AxisSizes,
    latencies: &'a RowTimes<'a>,
    /// That of the series under way.
    order: SweepOrder,
    /// The rows of the series under way that have a time, where not all have one.
    timed: Vec<u32>,
    /// Its points in its order.
    rows: Vec<u32>,
    times: Vec<f64>,
    /// Its sizes, where points share one.
    distinct: OrderedSizes,
}

impl<'a> SeriesPoints<'a> {
    /// Along an axis; of no series yet.
    pub fn along(axis: &'a CodedColumn, latencies: &'a RowTimes<'a>) -> Self {
        Self {
            codes: &axis.codes,
            axis: AxisSizes::of(axis),
            latencies,
            order: SweepOrder::default(),
            timed: Vec::new(),
            rows: Vec::new(),
            times: Vec::new(),
            distinct: OrderedSizes::default(),
        }
    }

    /// The points of a series, of rows in the order of the file, in its own order; of several at one place the
    /// fastest, which is the least disturbed.
    pub fn of<'s>(&'s mut self, of_series: &'s [u32]) -> Series<'s> {
        let Self { codes, axis, latencies, order, timed, rows, times, distinct } = self;
        let of_series = latencies.timed(of_series, timed);
        order.take(of_series.iter().map(|row| axis.place(codes[*row as usize])), axis);
        let (rows, sizes) = if order.repeats {
            order.fastest(of_series, latencies, rows, distinct, axis);
            (&rows[..], &*distinct)
        } else if order.is_file_order {
            (of_series, &order.sizes)
        } else {
            rows.clear();
            rows.extend(order.points().map(|point| of_series[point]));
            (&rows[..], &order.sizes)
        };
        times.clear();
        times.extend(rows.iter().map(|row| latencies.time(*row)));
        Series { rows, times, sizes, axis }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::expr::Vals;

    /// Synthetic: series after series along one axis, a row for each of their sizes.
    fn series_of(all: &[(&[i64], &[f64])], mut see: impl FnMut(Series<'_>)) {
        let sizes: Vec<i64> = all.iter().flat_map(|(sizes, _)| sizes.iter().copied()).collect();
        let times: Vec<f64> = all.iter().flat_map(|(_, times)| times.iter().copied()).collect();
        let axis = CodedColumn::of(&sizes);
        let times = Vals::Rows(times.into());
        let times = RowTimes::of(&times, sizes.len(), |_| true);
        let mut series = SeriesPoints::along(&axis, &times);
        let mut start = 0;
        for (sizes, _) in all {
            let end = start + sizes.len() as u32;
            let rows: Vec<u32> = (start..end).collect();
            see(series.of(&rows));
            start = end;
        }
    }

    #[test]
    fn a_series_is_in_the_order_of_its_sizes_whatever_the_one_before_had() {
        let all: [&[i64]; 5] = [&[4, 1, 2], &[4, 1, 2], &[4, 1], &[1, 2, 4], &[]];
        let timed = all.map(|sizes| (sizes, &[1.0; 3][..sizes.len()]));
        let mut found = Vec::new();
        series_of(&timed, |points| found.push(points.rows.to_vec()));
        assert_eq!(found, [vec![1, 2, 0], vec![4, 5, 3], vec![7, 6], vec![8, 9, 10], vec![]]);
    }

    #[test]
    fn of_several_points_at_one_place_the_fastest_counts() {
        let series: (&[i64], &[f64]) = (&[2, 1, 2, 2, 1], &[9.0, 5.0, 3.0, 3.0, f64::NAN]);
        let mut first = 0;
        series_of(&[series, series], |found| {
            assert_eq!(found.rows, [first + 1, first + 2]);
            assert_eq!(
                [0, 1].map(|i| found.get(i).map(|p| (p.at, p.time))),
                [Some((1.0, 5.0)), Some((2.0, 3.0))]
            );
            first += 5;
        });
    }

    #[test]
    fn points_on_the_line_are_settled_and_ends_never() {
        let unsettled = |times: &[f64]| {
            let mut found = Vec::new();
            let sizes: Vec<i64> = (0..times.len()).map(|n| 1 << n).collect();
            series_of(&[(&sizes, times)], |points| {
                found.extend(points.unsettled(1.2_f64.ln()).map(|(i, _)| i));
            });
            found
        };
        assert_eq!(unsettled(&[1.0, 2.0, 4.0, 8.0, 16.0]), [0, 4]);
        assert_eq!(unsettled(&[1.0, 2.0, 6.0, 8.0, 16.0]), [0, 1, 2, 3, 4]);
        assert_eq!(unsettled(&[1.0, 2.2, 4.0, 8.0, 16.0]), [0, 4]);
        assert_eq!(unsettled(&[1.0]), [0]);
        assert_eq!(unsettled(&[]), [0_usize; 0]);
    }
}
