//! Slices of a table, compared with the table's other slices and with the machine. A slice is the rows with the same
//! texts in the key.

mod cards;
mod cliffs;
mod flat;
mod ignored;
mod odd;
mod pairs;
mod work;

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::Deserialize;

use self::cards::CardLimits;
use self::cliffs::CliffLimits;
use self::flat::{FlatLimits, zeros};
use self::ignored::IgnoredLimits;
use self::odd::OddSlice;
use self::pairs::{DtypePair, FloorLimits, Proportion, SlicesOfDtypes};
use self::work::WorkLimits;
use crate::base::words::count;
use crate::checks::{Judge, Judged, RowContext};
use crate::findings::{Finding, Hit, Hits, Severity};

/// The message of one finding about several tables in which most latencies are 0. It does not name the tables.
const SHARED_ZEROS: &str =
    "the measured column is 0 in half of the rows or more, although only single zeros are right,";

/// The limits for slices that do not seem to be measured in the same way as the rest of their table.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SliceSigns {
    /// Endings of the names of key parts that hold dtypes.
    dtypes: Vec<String>,
    floor: FloorLimits,
    /// A dtype is reported as a copy of another dtype if at least this share of their common keys has equal or
    /// proportional latencies.
    equal: f64,
    /// A latency is compared only if the resolution of the table's latencies is at most this share of the latency.
    /// Shorter latencies may be equal only because they are rounded.
    step: f64,
    /// Two slices are compared if they have at least this many common keys.
    keys: usize,
    work: WorkLimits,
    cards: CardLimits,
    flat: FlatLimits,
    ignored: IgnoredLimits,
    cliffs: CliffLimits,
    /// A table is reported if at least this share of its latencies is 0, although the spec expects zeros only in single
    /// rows.
    zeros: f64,
}

impl Judge for SliceSigns {
    /// Returns one hit for each suspicious slice, and one hit if most latencies of the table are 0.
    fn table<'v>(&'v self, rows: &'v RowContext<'v>) -> Judged<'v> {
        let (Some(keys), Some(latency)) = (rows.keys(), rows.spec.latency.first()) else {
            return Ok(Hits::new());
        };
        let latency = latency.value.numbers(rows.scope())?;
        let latency: Vec<f64> = (0..rows.count).map(|row| latency.get(row)).collect();
        let slices = keys.slice_numbers();
        let by_dtype = SlicesOfDtypes::new(&self.dtypes, rows, keys, slices);
        let pairs = by_dtype.pairs(&latency, self.keys);
        let mut odd = self.equal_pairs(&by_dtype, &pairs, rows.step());
        odd.extend(self.floor.odd(&by_dtype, &pairs, self.keys));
        odd.extend(self.cards.odd(rows, &latency)?);
        odd.extend(self.cliffs.odd(rows, &latency));
        let bounds = rows.longest_bounds()?;
        odd.extend(self.flat.odd(rows, &latency, bounds));
        odd.extend(self.ignored.odd(rows, keys, &latency, bounds));
        // A bound of arithmetic alone is too low for kernels that are limited by memory.
        if rows.spec.bounds.iter().any(|bound| bound.name != "math") {
            odd.extend(self.work.odd(keys, slices, &latency, bounds));
        }
        let hit = |odd: OddSlice, grade: Severity, shared: Option<&'static str>| {
            Hit::rows(rows.file, odd.rows, grade, move |part| {
                let examples = rows.examples(part.shown(), &["latency", "kernel_source"]);
                let finding = rows.finding_as(grade, odd.says.clone()).rows(part.rows.len());
                let finding = finding.examples(examples).parts([odd.says.as_str()]);
                Some(shared.into_iter().fold(finding, Finding::shared))
            })
        };
        let own = rows.rule.severity;
        let zeros = zeros(rows, self.zeros);
        let zeros = zeros.and_then(|odd| hit(odd, own.at_most(Severity::Info), Some(SHARED_ZEROS)));
        Ok(odd.into_iter().filter_map(|odd| hit(odd, own, None)).chain(zeros).collect())
    }
}

impl SliceSigns {
    /// Finds slices whose latencies equal those of another dtype, or are a constant multiple of the other dtype's
    /// latencies. `step` is the resolution of the table's latencies in ms.
    fn equal_pairs(
        &self,
        slices: &SlicesOfDtypes<'_>,
        pairs: &[DtypePair],
        step: f64,
    ) -> Vec<OddSlice> {
        let mut odd: Vec<OddSlice> = Vec::new();
        let mut told = BTreeSet::new();
        for pair in pairs {
            let Proportion { factor, rows, of } = pair.proportion(step / self.step);
            if of < self.keys || told.contains(&pair.second) {
                continue;
            }
            if (rows.len() as f64) < self.equal * of as f64 {
                continue;
            }
            told.insert(pair.second);
            let times = format!("{factor:.4}");
            let times = if times == "1.0000" { String::new() } else { format!("{times} times ") };
            let says = format!(
                "{} has {times}the latency of {} at {} of {} common keys examined",
                slices.words(pair.second),
                slices.words(pair.first),
                count(rows.len()),
                count(of)
            );
            odd.push(OddSlice { says, rows });
        }
        odd
    }
}
