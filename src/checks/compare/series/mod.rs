//! Points that stand out from their neighbours along every axis of a sweep.
//!
//! A series holds the points that differ in one axis alone: shapes, dtypes, kernel, framework and
//! version are fixed. Time grows along an axis, so a point slower than both its neighbours is a
//! spike and one faster than both a drop. A kernel that does badly at some size does so along that
//! axis only, a disturbed measurement stands out along all of them.
//!
//! [`scan`] walks over all series of a table once. It finds the [`Outlier`]s, which stand out by
//! themselves; the [`Bend`]s, much milder and mostly right, which are held against other tables; and a
//! sample of each series ([`Shape`]).

mod bend;
mod candidate;
mod line;
mod neighbours;
mod order;
mod point;
mod points;
mod scan;
mod times;

pub use self::bend::Bend;
pub use self::line::least_telling;
pub use self::neighbours::{AxisNeighbours, Sizes, Window, bend_of, stands_out};
pub use self::point::NO_ROW;
pub use self::scan::{SHAPE_POINTS, Scan, ScanTerms, Shape, scan};
use crate::database::table::{Column, Combinations, IntValues, Numbering, Table, number_bits};
use crate::specs::{TableSpec, measured_unit};
/// A point that stands out.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Outlier {
    /// The point's row.
    pub row: u32,
    /// Its latency in ms.
    pub latency: f64,
    /// Latency over that of the nearest neighbour, of the axis that shows least.
    /// Above 1 for a spike, below for a drop.
    pub ratio: f64,
    /// The axes with three points or more, a bit each, in the order of the spec's sweep.
    pub axes: u8,
    /// Whether it lies between two neighbours along one of them, not at an end of all.
    pub inner: bool,
}

impl Outlier {
    /// Whether it is slower than its neighbours, not faster.
    pub fn spike(&self) -> bool {
        self.ratio > 1.0
    }

    /// Its latency over that of its neighbours, or theirs over its own: 1 or more.
    pub fn factor(&self) -> f64 {
        self.ratio.max(1.0 / self.ratio)
    }
}

/// Everything that is neither a measurement nor `swept`, so far as it varies.
fn fixed<'t>(table: &'t Table, swept: &[&str]) -> Combinations<'t> {
    let mut fixed = Combinations::default();
    let is_fixed = |name: &str| measured_unit(name).is_none() && !swept.contains(&name);
    for (_, column) in table.columns().filter(|(name, _)| is_fixed(name)) {
        match column {
            Column::Text { codes, dict, nulls } => fixed.add_texts(codes, dict.len(), *nulls),
            Column::Int { values, .. } => fixed.add_numbers(values.coded()),
            Column::Float { values, .. } => {
                let mut numbering = Numbering::default();
                let codes = values.iter().map(|value| numbering.number(number_bits(*value)));
                let codes: Vec<u32> = codes.collect();
                fixed.add_codes(codes, numbering.count());
            }
            Column::Bool { values, .. } => {
                fixed.add_codes(values.iter().copied().map(u32::from).collect::<Vec<_>>(), 2);
            }
            Column::Other(_) => {}
        }
    }
    fixed
}

/// The place of an axis in the spec's sweep.
#[derive(Debug, Clone, Copy, PartialEq)]
struct AxisNumber(u8);

impl AxisNumber {
    /// Its bit in [`Outlier::axes`]; all from the eighth on have one.
    fn bit(self) -> u8 {
        1 << self.0.min(7)
    }
}

/// Whether two latencies are less than a factor apart.
pub fn is_near(a: f64, b: f64, factor: f64) -> bool {
    a < factor * b && b < factor * a
}

/// A column that is swept.
struct Axis<'a> {
    number: AxisNumber,
    name: &'a str,
    values: &'a IntValues,
}

impl<'a> Axis<'a> {
    /// Those of a table. Sizes are whole numbers; a column that holds anything else has findings of its own.
    fn all(table: &'a Table, spec: &'a TableSpec) -> Vec<Self> {
        let numbered = spec.sweep.iter().enumerate();
        let whole = numbered.filter_map(|(number, name)| {
            let Column::Int { values, nulls: None } = table.column(name)? else { return None };
            let number = AxisNumber(number.try_into().unwrap_or(u8::MAX));
            Some(Self { number, name, values })
        });
        whole.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::expr::Vals;
    use crate::database::catalog::Format;
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
        let terms = ScanTerms { outliers: Some(1.5), bends: None };
        let found = scan(table, specs.tables.get("gemm_perf").unwrap(), &latency, |_| true, terms);
        found.outliers.into_iter().map(|(outlier, _)| outlier).collect()
    }

    #[test]
    fn a_point_stands_out_along_every_axis_or_not_at_all() {
        let spike = found(&grid(|m, n| if (m, n) == (512, 2048) { 30.0 } else { 1.0 }, |_| {}));
        assert_eq!(spike.len(), 1);
        // m tells 30 / 2 and n 30 / 2; k has one value and tells nothing.
        assert_eq!((spike[0].row, spike[0].ratio, spike[0].axes), (4, 15.0, 0b011));
        let kernel = found(&grid(|m, _| if m == 512 { 30.0 } else { 1.0 }, |_| {}));
        assert!(kernel.is_empty(), "a kernel is slow at one m: {kernel:?}");
    }

    #[test]
    fn the_order_of_rows_does_not_matter() {
        let factor = |m, n| if (m, n) == (1024, 2048) { 0.01 } else { 1.0 };
        let (a, b) = (grid(factor, |_| {}), grid(factor, |rows| rows.reverse()));
        let (a, b) = (found(&a), found(&b));
        assert_eq!((a.len(), b.len()), (1, 1));
        assert_eq!((a[0].row, b[0].row), (7, 11 - 7));
        assert!(!a[0].spike() && a[0].ratio == b[0].ratio);
    }

    #[test]
    fn ends_tell_what_growth_allows() {
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
    fn a_fast_point_next_to_an_end_makes_no_spike_of_it() {
        assert_eq!(line(&[1.0, 1.2, 1.4, 0.01, 1.8]), [(3, false)]);
        assert_eq!(line(&[1.0, 0.01, 1.4, 1.6, 1.8]), [(1, false)]);
        // An end that is slow beside all of its series stays one.
        assert_eq!(line(&[1.0, 1.2, 1.4, 1.6, 90.0]), [(4, true)]);
        assert_eq!(line(&[90.0, 1.2, 1.4, 1.6, 1.8]), [(0, true)]);
    }

    #[test]
    fn a_slow_second_point_makes_no_drop_of_the_first() {
        // One token, then a disturbed two, as sweeps of experts have them.
        let slow = |m, _| if m == 512 { 12.0 } else { 1.0 };
        assert!(found(&grid(slow, |_| {})).iter().all(Outlier::spike));
        let fast = |m, n| if (m, n) == (256, 1024) { 0.05 } else { 1.0 };
        let found = found(&grid(fast, |_| {}));
        assert_eq!((found.len(), found[0].row, found[0].inner), (1, 0, false));
    }

    #[test]
    fn a_level_between_two_slow_points_is_no_drop() {
        let slow = |m, _| if m == 512 || m == 2048 { 40.0 } else { 1.0 };
        assert!(found(&grid(slow, |_| {})).iter().all(Outlier::spike));
    }
}
