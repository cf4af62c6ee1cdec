//! Two tables, key by key.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::tendency::{Deviation, RatioSummary, Tendency, of_table};
use crate::base::expr::ExprError;
use crate::base::stats::median;
use crate::database::catalog::TableFile;
use crate::database::diff::{ServedPair, ServedPairs};
use crate::database::table::{Keys, Table, TableScope};
use crate::gpu::recipe::Margins;
use crate::specs::Specs;

/// Parts of a table, by latency and by the order of its rows.
const PARTS: usize = 10;

/// A latency this many times longer or shorter is listed by itself.
const FAR: f64 = 2.0;

/// Keys that are listed, the furthest apart first.
const LISTED: usize = 1000;

/// Two tables compared.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TableComparison {
    /// Path of the first.
    pub a: String,
    /// Path of the second.
    pub b: String,
    /// System, backend and version of the first, and the file stem.
    pub system: String,
    pub backend: String,
    pub version: String,
    pub table: String,
    /// Keys that both serve.
    pub common: usize,
    /// Keys that the first serves alone.
    pub only_a: usize,
    /// Keys that the second serves alone.
    pub only_b: usize,
    /// All common keys that have a latency on both sides.
    pub whole: RatioSummary,
    /// The same by slice.
    pub slices: Vec<SliceSummary>,
    /// The same by tenths of the first's latencies, the shortest first.
    pub deciles: Vec<RatioSummary>,
    /// Middle ratios of tenths of the second's rows in the order of its file, each key over its slice's
    /// own middle.
    pub order: Vec<f64>,
    /// The last of these over the first; null of too few keys.
    pub drift: Option<f64>,
    /// Whether the drift is more than honest collections differ by.
    pub drifts: bool,
    /// Keys that take more than twice as long.
    pub slower_2x: usize,
    /// Keys that take less than half the time.
    pub faster_2x: usize,
    /// Those keys, the furthest apart first, at most 1,000.
    pub far: Vec<FarKey>,
    /// What the table says.
    pub verdict: Tendency,
    /// For a chart: first latency, ratio, whether it is beyond reruns, by row of the second.
    #[serde(skip)]
    pub points: Vec<RatioPoint>,
}

/// A slice of a table.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SliceSummary {
    /// The texts of the key.
    pub slice: BTreeMap<String, String>,
    /// Its keys.
    #[serde(flatten)]
    pub ratios: RatioSummary,
}

/// A key that is far apart.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct FarKey {
    /// Its row in the first, from 0.
    pub row_a: u32,
    /// Its row in the second.
    pub row_b: u32,
    /// The loader's key.
    pub key: BTreeMap<String, Value>,
    /// Latency in the first, in ms.
    pub a_ms: f64,
    /// Latency in the second, in ms.
    pub b_ms: f64,
    /// The second over the first.
    pub ratio: f64,
}

/// A key as a chart shows it.
#[derive(Debug, Clone, Copy)]
pub struct RatioPoint {
    /// Latency in the first, in ms.
    pub a_ms: f64,
    /// The second over the first.
    pub ratio: f64,
    /// Whether it is beyond reruns.
    pub beyond: bool,
    /// Its row in the second.
    pub row: u32,
}

/// Two tables with what is known of them.
pub struct TwoTables<'a> {
    pub files: (&'a TableFile, &'a TableFile),
    pub tables: (&'a Table, &'a Table),
    pub specs: &'a Specs,
    pub limits: &'a Margins,
}

/// A common key that has a ratio.
struct TimedKey<'a> {
    pair: ServedPair,
    ratio: f64,
    deviation: Deviation<'a>,
    slice: usize,
}

impl TwoTables<'_> {
    /// Compares; none where no key can be made of the columns.
    ///
    /// # Errors
    ///
    /// When a formula of the spec does not fit the tables' columns.
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
            verdict: of_table(&whole, &verdicts),
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

    /// Middle ratios along the file, each key over its slice's own middle; none of too few keys.
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

/// Items in ten parts as equal as may be; an empty one is left out.
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
