//! Power that no meter reads: a repeated value, values that hardly change, nearly no power, random values, or
//! kilowatts.
//!
//! The power of a kernel depends on its operation and sizes. Readings of a sweep rise from near idle to near the
//! limit, and neighbours are similar.

use std::cell::OnceCell;
use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use super::Readings;
use crate::base::stats::upper_median;
use crate::base::words::plural;
use crate::checks::series::AxisSeries;
use crate::checks::{Judge, Judged, RowContext};
use crate::database::table::NumberedRows;
use crate::findings::{Hits, Severity};
use crate::specs::system::POWER;

/// The minimum number of readings in the sample of a large slice. If the sample is clearly plausible, the other
/// readings of the slice are not judged.
const SAMPLE: usize = 64;

/// Limits for the check of power readings that no meter can have produced.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PowerSigns {
    /// A slice is judged if it has at least this many readings.
    readings: usize,
    /// A slice is reported if at least this share of its readings has the same value.
    one_value: f64,
    /// The minimum standard deviation of the logarithms of a slice's readings. A slice whose readings vary less is
    /// reported, since real power depends on the size of the operation.
    flat: f64,
    /// An exception for slices of long kernels at the power limit, whose readings may hardly vary.
    cap: PowerCap,
    /// The readings of a slice are taken for kilowatts if their median is below this share of the power limit.
    kilowatts: f64,
    /// The readings of a table are reported as idle power if at least 99 % of them are below this share of the power
    /// limit.
    idle: f64,
    /// A table is tested for random readings if it has at least this many readings.
    series_readings: usize,
    /// Readings count as random if neighbouring rows differ nearly as much as unrelated rows do: along every axis, the
    /// median difference between neighbours is more than this share of the median difference between unrelated rows.
    chance: f64,
}

/// An exception for slices whose power hardly varies because the GPU always runs at its power limit. It applies only if
/// all kernels of the slice are long.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct PowerCap {
    /// The minimum median of a slice's readings, as a share of the power limit.
    share: f64,
    /// The minimum latency in ms of every row of the slice.
    small_ms: f64,
}

/// A fault of power readings: its description, the rows that show it, and its severity.
struct PowerSign {
    says: &'static str,
    rows: Vec<usize>,
    severity: Severity,
}

/// The readings of a table that are above zero.
struct PowerReadings<'a> {
    readings: Readings<'a>,
    /// Indices of the rows with a reading above zero, ascending.
    rows: Vec<usize>,
    rating: Option<f64>,
}

impl Judge for PowerSigns {
    /// Returns one hit for each kind of implausible power in a table.
    fn table<'v>(&'v self, rows: &'v RowContext<'v>) -> Judged<'v> {
        let Some(readings) = Readings::of(rows) else { return Ok(Hits::new()) };
        let is_read = |row: &usize| {
            let power = readings.power[*row];
            readings.measured(*row) && power > 0.0 && power.is_finite()
        };
        let read: Vec<usize> = (0..rows.count).filter(is_read).collect();
        let rating = rows.figure(POWER);
        let table = PowerReadings { readings, rows: read, rating };
        let hit = |PowerSign { says, rows: bad, severity }| {
            let message =
                move |bad: &[usize]| format!("{} {says}", plural(bad.len(), "power reading"));
            rows.hit(severity, bad, ["power", "power_limit"], message)
        };
        Ok(self.signs(rows, &table).into_iter().flat_map(hit).collect())
    }
}

impl PowerSigns {
    fn signs(&self, rows: &RowContext<'_>, table: &PowerReadings<'_>) -> Vec<PowerSign> {
        let Some(keys) = rows.keys() else { return Vec::new() };
        let NumberedRows { of_rows, counts } = keys.slice_numbers();
        let mut slices: Vec<Vec<usize>> = vec![Vec::new(); counts.len()];
        table.rows.iter().for_each(|row| slices[of_rows[*row] as usize].push(*row));
        let mut signs: BTreeMap<&'static str, PowerSign> = BTreeMap::new();
        for slice in slices.into_iter().filter(|rows| rows.len() >= self.readings) {
            let Some((says, severity)) = self.of_slice(rows, table, &slice) else { continue };
            let sign = signs.entry(says);
            let sign = sign.or_insert_with(|| PowerSign { says, rows: Vec::new(), severity });
            sign.rows.extend(slice);
        }
        let mut signs: Vec<PowerSign> = signs.into_values().collect();
        signs.iter_mut().for_each(|sign| sign.rows.sort_unstable());
        if signs.is_empty() {
            signs.extend(self.of_table(rows, table));
        }
        signs
    }

    /// Returns the fault of a slice's readings and its severity; `None` if the readings are plausible. `slice` has the
    /// slice's rows.
    fn of_slice(
        &self,
        rows: &RowContext<'_>,
        table: &PowerReadings<'_>,
        slice: &[usize],
    ) -> Option<(&'static str, Severity)> {
        if self.is_metered(table, slice) {
            return None;
        }
        let mut power: Vec<f64> = slice.iter().map(|row| table.power(*row)).collect();
        power.sort_by(f64::total_cmp);
        let count = power.len() as f64;
        let (runs, severity) = (power.chunk_by(|a, b| a == b), rows.rule.severity);
        let most = runs.map(<[f64]>::len).max().unwrap_or(0);
        let share = upper_median(&mut table.shares(slice));
        // Without a limit the share is NaN, and the comparison is false.
        if share < self.kilowatts {
            return Some((
                "are a thousandth of what the GPU draws: they are in kilowatts, not in watts",
                Severity::Error,
            ));
        }
        if most as f64 >= self.one_value * count {
            let limit = power[power.len() / 2];
            let at_limit = slice.iter().all(|row| table.limit(*row) == Some(limit));
            let says = if at_limit {
                "are exactly the power limit at different keys: they were not measured"
            } else {
                "repeat one value at different keys of their slice: they were not measured"
            };
            return Some((says, severity));
        }
        let says = "hardly change with the size: no kernel draws the same power at its smallest and its largest size";
        let is_large = |(_, latency): (&str, &[f64])| {
            slice.iter().all(|row| latency[*row] >= self.cap.small_ms)
        };
        let is_capped = share >= self.cap.share && rows.measured().is_some_and(is_large);
        (deviation_of_logs(&power) < self.flat && !is_capped).then_some((says, severity))
    }

    /// Returns true if a large slice need not be judged in full, since a sample of its readings is on the plausible
    /// side of each limit by at least a factor of 2. Returns false for small slices.
    fn is_metered(&self, table: &PowerReadings<'_>, slice: &[usize]) -> bool {
        let step = slice.len() / SAMPLE;
        if step < 4 {
            return false;
        }
        let sample: Vec<usize> = slice.iter().copied().step_by(step).collect();
        let mut shares = table.shares(&sample);
        let mut power: Vec<f64> = sample.iter().map(|row| table.power(*row)).collect();
        power.sort_by(f64::total_cmp);
        let most = power.chunk_by(|a, b| a == b).map(<[f64]>::len).max().unwrap_or(0);
        (shares.is_empty() || upper_median(&mut shares) >= 2.0 * self.kilowatts)
            && most as f64 <= 0.5 * self.one_value * power.len() as f64
            && deviation_of_logs(&power) >= 2.0 * self.flat
    }

    /// The fault of a table's readings as a whole; `None` if they are plausible or too few.
    fn of_table(&self, rows: &RowContext<'_>, table: &PowerReadings<'_>) -> Option<PowerSign> {
        let sign = |says| {
            let (rows, severity) = (table.rows.clone(), rows.rule.severity);
            Some(PowerSign { says, rows, severity })
        };
        if table.rows.len() < self.series_readings {
            return None;
        }
        let shares = table.shares(&table.rows);
        let idle = shares.iter().filter(|share| **share < self.idle).count();
        if !shares.is_empty() && idle as f64 >= 0.99 * shares.len() as f64 {
            return sign("stay near idle at every size: the meter did not see the kernel");
        }
        let apart = ReadingDistances::new(table, self.series_readings);
        let along = rows.series().iter().filter_map(|axis| apart.median(neighbours(axis)));
        // Without a sweep, such as with sizes drawn at random, neighbours need not be similar.
        let nearest = along.min_by(f64::total_cmp)?;
        if nearest <= self.chance {
            return None;
        }
        // The rows of a file are often in the order of a sweep.
        let by_row = apart.median(table.rows.windows(2).map(|w| [w[0], w[1]]));
        let nearest = by_row.map_or(nearest, |by_row| by_row.min(nearest));
        if nearest <= self.chance {
            return None;
        }
        sign(
            "jump from point to point as random numbers do: neighbours differ as much as any two rows",
        )
    }
}

/// Distances between the power readings of rows. The distance of two readings is the larger divided by the smaller.
struct ReadingDistances<'a> {
    table: &'a PowerReadings<'a>,
    /// The readings by row; NaN where there is none.
    power: Vec<f64>,
    /// The minimum number of pairs of rows from which a median is computed.
    least: usize,
    /// The cached result of [`Self::far`].
    far: OnceCell<f64>,
}

impl<'a> ReadingDistances<'a> {
    fn new(table: &'a PowerReadings<'a>, least: usize) -> Self {
        let mut power = vec![f64::NAN; table.rows.last().map_or(0, |last| last + 1)];
        table.rows.iter().for_each(|row| power[*row] = table.power(*row));
        Self { table, power, least, far: OnceCell::new() }
    }

    /// Returns ln(a) / ln(b): a is the median distance between the two readings of a pair, and b is the median distance
    /// between the readings of unrelated rows. `None` if there are too few pairs.
    fn median(&self, pairs: impl Iterator<Item = [usize; 2]>) -> Option<f64> {
        let power = |row: usize| self.power.get(row).copied().unwrap_or(f64::NAN);
        let near = pairs.map(|[a, b]| ratio_up(power(a), power(b)));
        let mut near: Vec<f64> = near.filter(|times| !times.is_nan()).collect();
        (near.len() >= self.least).then(|| median_log(&mut near) / self.far())
    }

    /// Returns the logarithm of the median distance between the readings of unrelated rows.
    fn far(&self) -> f64 {
        *self.far.get_or_init(|| {
            let rows = &self.table.rows;
            let half = rows.len() / 2;
            // The stride is a prime number, so that the rows are rarely neighbours of a sweep.
            let other = |i: usize| rows[(i * 7919 + half) % rows.len()];
            let far = rows.iter().enumerate();
            let far = far.map(|(i, row)| ratio_up(self.power[*row], self.power[other(i)]));
            median_log(&mut far.collect::<Vec<f64>>())
        })
    }
}

/// The larger of two readings divided by the smaller; NaN if one of them is NaN.
fn ratio_up(a: f64, b: f64) -> f64 {
    (a / b).max(b / a)
}

/// Returns the median of the values' logarithms. It is computed as the logarithm of the median, which is faster.
fn median_log(all: &mut [f64]) -> f64 {
    upper_median(all).ln()
}

/// The standard deviation of the logarithms of some readings.
fn deviation_of_logs(power: &[f64]) -> f64 {
    let count = power.len() as f64;
    let logs: Vec<f64> = power.iter().map(|p| p.ln()).collect();
    let mean = logs.iter().sum::<f64>() / count;
    (logs.iter().map(|log| (log - mean).powi(2)).sum::<f64>() / count).sqrt()
}

/// Pairs of rows that are neighbours along an axis.
fn neighbours(axis: &AxisSeries) -> impl Iterator<Item = [usize; 2]> {
    let pairs = axis.iter().flat_map(|(rows, _)| rows.windows(2));
    pairs.map(|pair| [pair[0] as usize, pair[1] as usize])
}

impl PowerReadings<'_> {
    fn power(&self, row: usize) -> f64 {
        self.readings.power[row]
    }

    /// Returns a row's power limit in watts, or the GPU's rating if the row has no limit; `None` if both are missing.
    fn limit(&self, row: usize) -> Option<f64> {
        self.readings.limit(row, self.rating)
    }

    /// Returns the power of each row as a share of its power limit; rows without a limit are left out.
    fn shares(&self, rows: &[usize]) -> Vec<f64> {
        rows.iter().filter_map(|row| Some(self.power(*row) / self.limit(*row)?)).collect()
    }
}
