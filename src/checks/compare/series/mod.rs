//! Points that deviate from their neighbours along every axis of a sweep.
//!
//! A series holds the points that differ only in one size: shapes, dtypes, kernel, framework and version are fixed.
//! Time grows along an axis, so a point slower than both its neighbours is a spike and one faster than both is a
//! drop. A kernel that is slow at some size is slow only along that axis; a disturbed measurement deviates along all
//! axes.
//!
//! [`mod@scan`] walks over all series of a table once. It finds the [`Outlier`]s, which are visible in the table alone.
//! It finds [`DeviatingPoint`]s: they deviate much less, are mostly right and are compared with other tables. It also
//! takes a sample of each series ([`SeriesSample`]). [`TableCurve`] and [`KeyLatencies`] are kept to compare a
//! table's curves with the curves of other tables.

mod columns;
mod curve;
mod points;
mod scan;

pub(crate) use self::curve::{
    AxisPoints, CurveRows, DeviatingPoint, FivePoints, KeyLatencies, KeyPoint, SeriesSamplePoints,
    TableCurve,
};
pub(crate) use self::points::{
    AxisNeighbours, NO_ROW, Sizes, Window, deviation_from_line, smaller_deviation, stands_out,
};
pub(crate) use self::scan::{SHAPE_POINTS, Scan, ScanTerms, SeriesSample, scan};

use crate::base::stats::times_off;

/// A point that deviates from its neighbours along every axis.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Outlier {
    /// The point's row.
    pub row: u32,
    /// The point's latency in ms.
    pub latency: f64,
    /// The point's latency divided by that of the neighbour with the nearest latency: above 1 for a spike, below 1 for
    /// a drop. If there are several axes, the smallest deviation counts.
    pub ratio: f64,
    /// The axes along which the point's series has at least three points, one bit per axis in the order of the spec's
    /// sweep.
    pub axes: u8,
    /// True if the point has neighbours on both sides along one of the axes.
    pub inner: bool,
}

impl Outlier {
    /// Returns true if the point is slower than its neighbours, false if it is faster.
    pub(crate) fn spike(&self) -> bool {
        self.ratio > 1.0
    }

    /// Returns the factor by which the point is too slow or too fast, which is at least 1.
    pub(crate) fn factor(&self) -> f64 {
        times_off(self.ratio)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::expr::Vals;
    use crate::database::catalog::Format;
    use crate::database::table::{Column, Table};
    use crate::specs::Specs;

    /// Synthetic: a grid of GEMMs whose time is m·n/10⁶ ms, some points multiplied.
    fn grid(factor: impl Fn(i64, i64) -> f64, order: impl Fn(&mut Vec<String>)) -> Table {
        let mut rows = Vec::new();
        for m in [256, 512, 1024, 2048] {
            for n in [1024, 2048, 4096] {
                let time = (m * n) as f64 / 1e6 * factor(m, n);
                rows.push(format!("bfloat16,{m},{n},64,{time}"));
            }
        }
        order(&mut rows);
        let text = format!("gemm_dtype,m,n,k,latency\n{}\n", rows.join("\n"));
        Table::decode(text.as_bytes(), Format::Csv, &|_| false).unwrap()
    }

    fn found(table: &Table) -> Vec<Outlier> {
        let specs = Specs::embedded().unwrap();
        let Some(Column::Float { values, .. }) = table.column("latency") else { panic!() };
        let latency = Vals::Rows(values.into());
        let terms = ScanTerms { outliers: Some(1.5), deviations: None };
        let found = scan(
            table,
            specs.tables.get("gemm_perf").unwrap(),
            &latency,
            |_| true,
            |_| false,
            terms,
        );
        found.outliers.into_iter().map(|(outlier, _)| outlier).collect()
    }

    #[test]
    fn a_point_is_an_outlier_only_if_it_is_one_along_every_axis() {
        let spike = found(&grid(|m, n| if (m, n) == (512, 2048) { 30.0 } else { 1.0 }, |_| {}));
        assert_eq!(spike.len(), 1);
        // m and n each show a factor of 30 / 2. k has a single value and shows nothing.
        assert_eq!((spike[0].row, spike[0].ratio, spike[0].axes), (4, 15.0, 0b011));
        let kernel = found(&grid(|m, _| if m == 512 { 30.0 } else { 1.0 }, |_| {}));
        assert!(kernel.is_empty(), "a kernel is slow at one m: {kernel:?}");
    }

    #[test]
    fn outliers_do_not_depend_on_the_order_of_rows() {
        let factor = |m, n| if (m, n) == (1024, 2048) { 0.01 } else { 1.0 };
        let (a, b) = (grid(factor, |_| {}), grid(factor, |rows| rows.reverse()));
        let (a, b) = (found(&a), found(&b));
        assert_eq!((a.len(), b.len()), (1, 1));
        assert_eq!((a[0].row, b[0].row), (7, 11 - 7));
        assert!(!a[0].spike() && a[0].ratio == b[0].ratio);
    }

    #[test]
    fn an_end_of_a_series_is_an_outlier_if_growth_cannot_explain_it() {
        let ends = |m, n| match (m, n) {
            (256, 1024) => 40.0,  // slower than what follows: a spike
            (2048, 4096) => 0.01, // faster than what came before: a drop
            (2048, 1024) => 40.0, // slower than growth in proportion: a spike
            _ => 1.0,
        };
        let found = found(&grid(ends, |_| {}));
        let rows: Vec<(u32, bool, u8)> = found.iter().map(|o| (o.row, o.spike(), o.axes)).collect();
        assert_eq!(rows, [(0, true, 0b11), (9, true, 0b11), (11, false, 0b11)]);
    }

    /// Synthetic: one series of GEMMs.
    fn line(times: &[f64]) -> Vec<(u32, bool)> {
        let row =
            |(number, time): (usize, &f64)| format!("bfloat16,{},64,64,{time}", 256 << number);
        let rows: Vec<String> = times.iter().enumerate().map(row).collect();
        let text = format!("gemm_dtype,m,n,k,latency\n{}\n", rows.join("\n"));
        let table = Table::decode(text.as_bytes(), Format::Csv, &|_| false).unwrap();
        found(&table).iter().map(|outlier| (outlier.row, outlier.spike())).collect()
    }

    #[test]
    fn a_drop_next_to_an_end_does_not_make_the_end_a_spike() {
        assert_eq!(line(&[1.0, 1.2, 1.4, 0.01, 1.8]), [(3, false)]);
        assert_eq!(line(&[1.0, 0.01, 1.4, 1.6, 1.8]), [(1, false)]);
        // A last point that is slower than the whole series is a spike.
        assert_eq!(line(&[1.0, 1.2, 1.4, 1.6, 90.0]), [(4, true)]);
        assert_eq!(line(&[90.0, 1.2, 1.4, 1.6, 1.8]), [(0, true)]);
    }

    #[test]
    fn adjacent_slow_points_are_both_spikes() {
        assert_eq!(line(&[1.0, 1.2, 30.0, 33.0, 1.6, 1.8]), [(2, true), (3, true)]);
        // A kernel's steps, first up and then down.
        assert_eq!(line(&[1.0, 1.2, 6.0, 6.2, 1.6, 1.8]), []);
    }

    #[test]
    fn a_slow_second_point_does_not_make_the_first_a_drop() {
        // A sweep of experts: one token, then a disturbed measurement at two.
        let slow = |m, _| if m == 512 { 12.0 } else { 1.0 };
        assert!(found(&grid(slow, |_| {})).iter().all(Outlier::spike));
        let fast = |m, n| if (m, n) == (256, 1024) { 0.05 } else { 1.0 };
        let found = found(&grid(fast, |_| {}));
        assert_eq!((found.len(), found[0].row, found[0].inner), (1, 0, false));
    }

    #[test]
    fn points_between_two_slow_points_are_not_drops() {
        let slow = |m, _| if m == 512 || m == 2048 { 40.0 } else { 1.0 };
        assert!(found(&grid(slow, |_| {})).iter().all(Outlier::spike));
    }

    #[test]
    fn points_on_the_line_between_their_neighbours_do_not_deviate() {
        let deviations = |times: &[f64]| -> Vec<(u32, bool)> {
            let row = |(n, time): (usize, &f64)| format!("bfloat16,{},64,64,{time}", 256 << n);
            let rows: Vec<String> = times.iter().enumerate().map(row).collect();
            let text = format!("gemm_dtype,m,n,k,latency\n{}\n", rows.join("\n"));
            let table = Table::decode(text.as_bytes(), Format::Csv, &|_| false).unwrap();
            let specs = Specs::embedded().unwrap();
            let terms = ScanTerms { outliers: None, deviations: Some(1.2) };
            let latency = Vals::Rows(times.into());
            let spec = specs.tables.get("gemm_perf").unwrap();
            let found = scan(&table, spec, &latency, |_| true, |_| false, terms);
            found.deviations.iter().map(|bend| (bend.row, bend.log_ratio > 0.0)).collect()
        };
        assert_eq!(deviations(&[1.0, 2.0, 4.0, 8.0, 16.0]), []);
        assert_eq!(deviations(&[1.0, 2.0, 6.0, 8.0, 16.0]), [(1, false), (2, true), (3, false)]);
        assert_eq!(deviations(&[1.0, 2.2, 4.0, 8.0, 16.0]), []);
        assert_eq!(deviations(&[1.0]), []);
    }

    #[test]
    fn the_fastest_of_several_points_with_one_key_is_compared() {
        let twice = |order: fn(&mut Vec<String>)| {
            found(&grid(
                |_, _| 1.0,
                |rows| {
                    let slow: Vec<String> = rows.iter().map(|row| format!("{row}e2")).collect();
                    rows.extend(slow);
                    order(rows);
                },
            ))
        };
        assert_eq!(twice(|_| {}), []);
        assert_eq!(twice(|rows| rows.reverse()), []);
    }
}
