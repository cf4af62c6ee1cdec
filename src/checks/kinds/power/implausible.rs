//! Power that no meter reads: one value, hardly any change, as good as nothing, chance, or kilowatts.
//!
//! What a kernel draws depends on what it does: on its operation and sizes. Readings of a sweep rise
//! from near idle to near the limit, and neighbours are alike.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use super::{Readings, findings};
use crate::base::expr::ExprError;
use crate::base::stats::upper_median;
use crate::base::words::plural;
use crate::checks::RowContext;
use crate::checks::judge::{Found, Judge};
use crate::checks::sweeps::AxisSeries;
use crate::findings::{Reads, Severity};
use crate::specs::TableSpec;
use crate::specs::system::POWER;

/// Readings of a large slice that are looked at first.
const SAMPLE: usize = 64;

/// What readings of a meter are never like.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PowerSigns {
    /// Readings of a slice that are judged, at least.
    readings: usize,
    /// Share of a slice's readings that have one value.
    one_value: f64,
    /// Standard deviation of the logarithms of a slice's readings, at least.
    flat: f64,
    /// Share of the limit that the middle of a slice's readings exceeds, in watts.
    kilowatts: f64,
    /// Share of the limit that a hundredth of a table's readings exceed.
    idle: f64,
    /// Readings of a table that are judged for chance, at least.
    series_readings: usize,
    /// How far neighbours are apart at most, over rows drawn at random, along the axis where they are
    /// nearest.
    chance: f64,
}

/// What is wrong with readings, in words, and their rows.
struct PowerSign {
    says: &'static str,
    rows: Vec<usize>,
    severity: Severity,
}

/// The readings of a table that are above zero.
struct PowerReadings<'a> {
    readings: Readings<'a>,
    /// Rows with a reading.
    rows: Vec<usize>,
    rating: Option<f64>,
}

impl Judge for PowerSigns {
    fn reads(&self, spec: &TableSpec) -> Reads {
        let power = ["power", "power_limit"];
        Reads::columns(spec.loaded_columns().into_iter().chain(power)).and_figures([POWER])
    }

    /// One finding for each sign in a table, on the rows that show it.
    fn table(&self, rows: &RowContext<'_>) -> Result<Found, ExprError> {
        let Some(readings) = Readings::of(rows.table) else { return Ok(Found::new()) };
        let is_read = |row: &usize| {
            let power = readings.power.number(*row);
            readings.measured(*row) && power > 0.0 && power.is_finite()
        };
        let read: Vec<usize> = (0..rows.table.rows).filter(is_read).collect();
        let rating = rows.figure(POWER);
        let table = PowerReadings { readings, rows: read, rating };
        let mut found = Found::new();
        for sign in self.signs(rows, &table) {
            let message =
                |bad: &[usize]| format!("{} {}", plural(bad.len(), "power reading"), sign.says);
            let columns = ["power", "power_limit"];
            found.extend(findings(rows, sign.severity, &sign.rows, &columns, message));
        }
        Ok(found)
    }
}

impl PowerSigns {
    fn signs(&self, rows: &RowContext<'_>, table: &PowerReadings<'_>) -> Vec<PowerSign> {
        let Some(keys) = rows.at.keys else { return Vec::new() };
        let mut slices: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
        // Rows of a slice mostly follow each other.
        for run in table.rows.chunk_by(|a, b| keys.text_code(*a) == keys.text_code(*b)) {
            slices.entry(keys.text_code(run[0])).or_default().extend(run);
        }
        let mut signs: BTreeMap<&'static str, PowerSign> = BTreeMap::new();
        for slice in slices.into_values().filter(|rows| rows.len() >= self.readings) {
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

    /// What is wrong with all readings of a slice.
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
        let mut shares = table.shares(slice);
        if !shares.is_empty() && upper_median(&mut shares) < self.kilowatts {
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
        (deviation_of_logs(&power) < self.flat).then_some((says, severity))
    }

    /// Whether a sample of a large slice is twice as far from every sign as a meter's readings have to be;
    /// nearly every slice ends here.
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

    /// What is wrong with a table's readings as a whole.
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
        let series = rows.series().iter();
        let along: Vec<f64> =
            series.filter_map(|axis| self.apart(neighbours(axis), table)).collect();
        // Of a table without a sweep, of sizes that were drawn for example, nothing is to be expected.
        let nearest = along.into_iter().min_by(f64::total_cmp)?;
        if nearest <= self.chance {
            return None;
        }
        // The order of the file is often that of a sweep, too.
        let by_row = self.apart(table.rows.windows(2).map(|w| [w[0], w[1]]), table);
        let nearest = by_row.map_or(nearest, |by_row| by_row.min(nearest));
        if nearest <= self.chance {
            return None;
        }
        sign(
            "jump from point to point as random numbers do: neighbours differ as much as any two rows",
        )
    }

    /// How far neighbours are apart over rows that are half the table from each other, in the median; none
    /// of too few.
    fn apart(
        &self,
        pairs: impl Iterator<Item = [usize; 2]>,
        table: &PowerReadings<'_>,
    ) -> Option<f64> {
        // The middle logarithm is the logarithm of the middle, which takes one instead of millions.
        let factor = |a: usize, b: usize| {
            let (a, b) = (table.power(a), table.power(b));
            (a / b).max(b / a)
        };
        let read = |row: &usize| table.rows.binary_search(row).is_ok();
        let pairs = pairs.filter(|pair| pair.iter().all(read));
        let mut near: Vec<f64> = pairs.map(|[a, b]| factor(a, b)).collect();
        if near.len() < self.series_readings {
            return None;
        }
        let half = table.rows.len() / 2;
        // A stride without a common divisor with most sweeps; any two rows will do.
        let far = (0..table.rows.len()).map(|i| {
            let other = (i * 7919 + half) % table.rows.len();
            factor(table.rows[i], table.rows[other])
        });
        let mut far: Vec<f64> = far.collect();
        Some(upper_median(&mut near).ln() / upper_median(&mut far).ln())
    }
}

/// The standard deviation of the logarithms of some readings.
fn deviation_of_logs(power: &[f64]) -> f64 {
    let count = power.len() as f64;
    let logs: Vec<f64> = power.iter().map(|p| p.ln()).collect();
    let mean = logs.iter().sum::<f64>() / count;
    (logs.iter().map(|log| (log - mean).powi(2)).sum::<f64>() / count).sqrt()
}

/// Neighbours along an axis.
fn neighbours(axis: &AxisSeries) -> impl Iterator<Item = [usize; 2]> {
    let pairs = axis.iter().flat_map(|(rows, _)| rows.windows(2));
    pairs.map(|pair| [pair[0] as usize, pair[1] as usize])
}

impl PowerReadings<'_> {
    fn power(&self, row: usize) -> f64 {
        self.readings.power.number(row)
    }

    /// A row's limit in watts, or the GPU's rating where it has none.
    fn limit(&self, row: usize) -> Option<f64> {
        let limit = self.readings.limit.map(|limit| limit.number(row));
        limit.filter(|l| l.is_finite() && *l > 0.0).or(self.rating)
    }

    /// The power of some rows over their limits.
    fn shares(&self, rows: &[usize]) -> Vec<f64> {
        rows.iter().filter_map(|row| Some(self.power(*row) / self.limit(*row)?)).collect()
    }
}
