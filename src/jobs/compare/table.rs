//! Compares two tables key by key.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::tendency::{Deviation, RatioSummary, Tendency, of_table, share_few};
use crate::base::expr::ExprError;
use crate::base::stats::median;
use crate::database::catalog::TableFile;
use crate::database::diff::{ServedPair, ServedPairs};
use crate::database::table::{Keys, Table, TableScope};
use crate::gpu::recipe::Margins;
use crate::specs::Specs;

/// The number of parts into which keys are divided by latency and by row order.
const PARTS: usize = 10;

/// A key is listed if its latency differs by more than this factor.
const FAR: f64 = 2.0;

/// The maximum number of listed keys.
const LISTED: usize = 1000;

/// The comparison of two tables.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TableComparison {
    /// Path of the first table.
    pub a: String,
    /// Path of the second table.
    pub b: String,
    /// System of the first table.
    pub system: String,
    /// Backend of the first table.
    pub backend: String,
    /// Version of the first table.
    pub version: String,
    /// File stem of the first table.
    pub table: String,
    /// Number of keys that both tables serve.
    pub common: usize,
    /// Number of keys that only the first table serves.
    pub only_a: usize,
    /// Number of keys that only the second table serves.
    pub only_b: usize,
    /// Summary of all common keys that have a latency in both tables.
    pub whole: RatioSummary,
    /// Summaries of the common keys per slice.
    pub slices: Vec<SliceSummary>,
    /// Summaries of the common keys per tenth of latency in the first table, shortest first.
    pub deciles: Vec<RatioSummary>,
    /// Median ratios per tenth of the rows, in the row order of the second table. Each key's ratio
    /// is divided by the median of its slice.
    pub order: Vec<f64>,
    /// The last value of `order` divided by the first; null if there are too few keys.
    pub drift: Option<f64>,
    /// True if the drift is larger than the usual difference between honest collections.
    pub drifts: bool,
    /// Number of keys that take more than twice as long in the second table.
    pub slower_2x: usize,
    /// Number of keys that take less than half the time in the second table.
    pub faster_2x: usize,
    /// Keys whose latencies differ by more than a factor of 2, largest difference first; at most
    /// 1,000.
    pub far: Vec<FarKey>,
    /// The verdict on the table.
    pub verdict: Tendency,
    /// Points of the charts, one per common key with a latency in both tables.
    #[serde(skip)]
    pub points: Vec<RatioPoint>,
}

/// The ratios of one slice of a table.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SliceSummary {
    /// The text columns of the key that define the slice, by name.
    pub slice: BTreeMap<String, String>,
    /// Summary of the slice's keys.
    #[serde(flatten)]
    pub ratios: RatioSummary,
}

/// A key whose latencies differ by more than a factor of 2.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct FarKey {
    /// Row in the first table, from 0.
    pub row_a: u32,
    /// Row in the second table, from 0.
    pub row_b: u32,
    /// The key, by column, as the loader reads it.
    pub key: BTreeMap<String, Value>,
    /// Latency in the first table, in ms.
    pub a_ms: f64,
    /// Latency in the second table, in ms.
    pub b_ms: f64,
    /// Latency in the second table divided by latency in the first.
    pub ratio: f64,
}

/// A common key as a point of a chart.
#[derive(Debug, Clone, Copy)]
pub struct RatioPoint {
    /// Latency in the first table, in ms.
    pub a_ms: f64,
    /// Latency in the second table divided by latency in the first.
    pub ratio: f64,
    /// True if the ratio is outside rerun noise.
    pub beyond: bool,
    /// Row in the second table, from 0.
    pub row: u32,
}

/// A pair of tables with the specs and limits that the comparison needs.
pub struct TwoTables<'a> {
    pub files: (&'a TableFile, &'a TableFile),
    pub tables: (&'a Table, &'a Table),
    pub specs: &'a Specs,
    pub limits: &'a Margins,
}

/// A common key with a latency in both tables.
struct TimedKey<'a> {
    pair: ServedPair,
    ratio: f64,
    deviation: Deviation<'a>,
    slice: usize,
}

impl TwoTables<'_> {
    /// Compares the tables; `None` if the tables lack columns of the key.
    ///
    /// # Errors
    ///
    /// Returns an error if a formula of the spec does not fit the tables' columns.
    pub fn compare(&self) -> Result<Option<TableComparison>, ExprError> {
        let (a, b) = self.files;
        let spec = a.spec(self.specs, Some(self.tables.0));
        let lookups = &self.specs.lookups;
        let pairs = ServedPairs::between(self.files, self.tables, &spec, lookups)?;
        let Some(pairs) = pairs else { return Ok(None) };
        let scope = TableScope::new(self.tables.1, &spec, &b.place, None, lookups);
        let keys = Keys::new(&spec.key, &scope)?;
        let (timed, names) = self.timed(&pairs.common, &keys);
        let all: Vec<Deviation<'_>> = timed.iter().map(|t| t.deviation).collect();
        let whole = RatioSummary::of(&all, self.limits);
        let slices = self.slices(&timed, names);
        let verdicts: Vec<Tendency> = slices.iter().map(|s| s.ratios.verdict).collect();
        let order = self.order(&timed);
        let drift = order.first().zip(order.last()).map(|(first, last)| last / first);
        let far = far(&timed, &keys);
        Ok(Some(TableComparison {
            a: a.entry.path.clone(),
            b: b.entry.path.clone(),
            system: a.place.system.clone(),
            backend: a.place.backend.clone(),
            version: a.place.version.clone(),
            table: a.table.clone(),
            common: pairs.common.len(),
            only_a: pairs.lost.len(),
            only_b: pairs.gained.len(),
            verdict: if share_few(pairs.common.len(), pairs.lost.len(), pairs.gained.len()) {
                Tendency::Unclear
            } else {
                of_table(&whole, &verdicts)
            },
            whole,
            slices,
            deciles: self.deciles(&timed),
            drifts: drift.is_some_and(|drift: f64| drift.ln().abs() > self.limits.bias),
            drift,
            order,
            slower_2x: timed.iter().filter(|t| t.ratio > FAR).count(),
            faster_2x: timed.iter().filter(|t| t.ratio < 1.0 / FAR).count(),
            far,
            points: points(&timed),
        }))
    }

    fn timed<'k>(
        &'k self,
        common: &[ServedPair],
        keys: &Keys<'_>,
    ) -> (Vec<TimedKey<'k>>, Vec<BTreeMap<String, String>>) {
        let (mut names, mut known) = (Vec::new(), BTreeMap::new());
        let mut slice = |row: u32| {
            *known.entry(keys.text_code(row as usize)).or_insert_with(|| {
                names.push(keys.texts(row as usize).into_iter().collect());
                names.len() - 1
            })
        };
        let file = self.files.0;
        let mut timed = Vec::new();
        for pair in common {
            let Some(ratio) = pair.ratio() else { continue };
            let band = self.specs.noise.at(&file.table, &file.place.backend, pair.before);
            let deviation = Deviation { log: ratio.ln(), band };
            timed.push(TimedKey { pair: *pair, ratio, deviation, slice: slice(pair.head) });
        }
        (timed, names)
    }

    fn slices(
        &self,
        timed: &[TimedKey<'_>],
        names: Vec<BTreeMap<String, String>>,
    ) -> Vec<SliceSummary> {
        let mut members: Vec<Vec<Deviation<'_>>> = names.iter().map(|_| Vec::new()).collect();
        timed.iter().for_each(|t| members[t.slice].push(t.deviation));
        let summary = |(slice, all): (BTreeMap<String, String>, Vec<Deviation<'_>>)| {
            let ratios = RatioSummary::of(&all, self.limits);
            SliceSummary { slice, ratios }
        };
        let mut slices: Vec<SliceSummary> = names.into_iter().zip(members).map(summary).collect();
        slices.sort_by(|a, b| a.slice.cmp(&b.slice));
        slices
    }

    fn deciles(&self, timed: &[TimedKey<'_>]) -> Vec<RatioSummary> {
        let mut sorted: Vec<&TimedKey<'_>> = timed.iter().collect();
        sorted.sort_by(|a, b| {
            a.pair.before.total_cmp(&b.pair.before).then(a.pair.base.cmp(&b.pair.base))
        });
        let summary = |part: &[&TimedKey<'_>]| {
            let all: Vec<Deviation<'_>> = part.iter().map(|t| t.deviation).collect();
            RatioSummary::of(&all, self.limits)
        };
        parts(&sorted).map(summary).collect()
    }

    /// Returns the median ratio per tenth of the second table's rows, each ratio divided by the
    /// median of its slice. Empty if there are too few keys.
    fn order(&self, timed: &[TimedKey<'_>]) -> Vec<f64> {
        if timed.len() < PARTS * self.limits.least_points {
            return Vec::new();
        }
        let mut by_slice: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
        timed.iter().for_each(|t| by_slice.entry(t.slice).or_default().push(t.deviation.log));
        let middles: BTreeMap<usize, f64> =
            by_slice.into_iter().map(|(slice, logs)| (slice, median(&logs))).collect();
        let mut sorted: Vec<&TimedKey<'_>> = timed.iter().collect();
        sorted.sort_by_key(|t| t.pair.head);
        let middle = |part: &[&TimedKey<'_>]| {
            let logs: Vec<f64> = part.iter().map(|t| t.deviation.log - middles[&t.slice]).collect();
            median(&logs).exp()
        };
        parts(&sorted).map(middle).collect()
    }
}

/// Splits items into ten parts of nearly equal size and skips empty parts.
fn parts<T>(sorted: &[T]) -> impl Iterator<Item = &[T]> {
    let bound = |part: usize| sorted.len() * part / PARTS;
    (0..PARTS).map(move |part| &sorted[bound(part)..bound(part + 1)]).filter(|p| !p.is_empty())
}

fn far(timed: &[TimedKey<'_>], keys: &Keys<'_>) -> Vec<FarKey> {
    let is_far = |t: &&TimedKey<'_>| t.ratio > FAR || t.ratio < 1.0 / FAR;
    let mut all: Vec<&TimedKey<'_>> = timed.iter().filter(is_far).collect();
    all.sort_by(|a, b| {
        let apart = |t: &TimedKey<'_>| t.deviation.log.abs();
        apart(b).total_cmp(&apart(a)).then(a.pair.head.cmp(&b.pair.head))
    });
    let listed = all.iter().take(LISTED).map(|t| FarKey {
        row_a: t.pair.base,
        row_b: t.pair.head,
        key: keys.show(t.pair.head as usize).into_iter().collect(),
        a_ms: t.pair.before,
        b_ms: t.pair.after,
        ratio: t.ratio,
    });
    listed.collect()
}

fn points(timed: &[TimedKey<'_>]) -> Vec<RatioPoint> {
    let point = |t: &TimedKey<'_>| RatioPoint {
        a_ms: t.pair.before,
        ratio: t.ratio,
        beyond: t.deviation.is_beyond(),
        row: t.pair.head,
    };
    timed.iter().map(point).collect()
}
