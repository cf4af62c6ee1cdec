//! The latencies of a table's rows, as series take them.

use std::borrow::Cow;

use crate::base::expr::Vals;

/// The latency of each row in ms.
pub(super) struct RowTimes<'a> {
    /// By row; NaN where there is none.
    times: Cow<'a, [f64]>,
    /// Whether each row has one.
    of_all: bool,
}

impl<'a> RowTimes<'a> {
    /// Those of rows that the loader reads and whose latency is a time: finite and above 0.
    pub fn of(latency: &'a Vals<'_, f64>, rows: usize, loaded: impl Fn(usize) -> bool) -> Self {
        let is_time = |time: f64| time > 0.0 && time < f64::INFINITY;
        let is_timed = |row: usize| is_time(latency.get(row)) && loaded(row);
        // Nearly all tables have a time in every row: without a branch for each.
        let are_times = match latency {
            Vals::Rows(times) => times.iter().fold(true, |all, time| all & is_time(*time)),
            Vals::One(time) => is_time(*time),
        };
        let of_all = are_times && (0..rows).all(&loaded);
        let times = match latency {
            Vals::Rows(times) if of_all => Cow::Borrowed(&times[..]),
            Vals::Rows(_) | Vals::One(_) => {
                let time = |row| if is_timed(row) { latency.get(row) } else { f64::NAN };
                Cow::Owned((0..rows).map(time).collect())
            }
        };
        Self { times, of_all }
    }

    /// The time of a row, NaN where it has none.
    pub fn time(&self, row: u32) -> f64 {
        self.times[row as usize]
    }

    /// Those of some rows that have a time; `buffer` holds them where others have none.
    pub fn timed<'r>(&self, rows: &'r [u32], buffer: &'r mut Vec<u32>) -> &'r [u32] {
        if self.of_all {
            return rows;
        }
        buffer.clear();
        buffer.extend(rows.iter().filter(|row| !self.time(**row).is_nan()));
        buffer
    }
}
