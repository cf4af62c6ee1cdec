//! Points that stand out from their neighbours along every axis of their sweep.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use schemars::JsonSchema;
use serde::Deserialize;

use crate::base::words::{count, names, plural};
use crate::checks::CrossContext;
use crate::checks::compare::sketch::{Apart, Slice};
use crate::checks::rule::Rule;
use crate::database::catalog::TableFile;
use crate::database::table::number_json;
use crate::findings::{EXAMPLES, Example, Finding, Severity};

/// When a point stands out.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Standout {
    /// Factor over (or under) every neighbour that few points exceed.
    factor: f64,
    /// How many times the tail of honest reruns, by logarithm, the factor has to exceed, too.
    tails: f64,
    /// Latency in ms that the slower side must reach; below it the timer explains much.
    floor_ms: f64,
    /// Factor from which on a point at the same key elsewhere stands out as well.
    pub(in crate::checks) recurs: f64,
}

/// Where a key stands out: table, key, spike or drop → places and latencies.
type Elsewhere<'a> = HashMap<(&'a str, u64, bool), Vec<(&'a TableFile, f64)>>;

impl Standout {
    /// One finding for each table with points that stand out; an info where all of them do so
    /// elsewhere, too.
    pub fn check(&self, rule: &Rule, at: &CrossContext<'_>, spike: bool) -> Vec<Finding> {
        let mut elsewhere = Elsewhere::new();
        let sketched = |f: &TableFile| at.sketches.by_path.get(&f.entry.path);
        for file in &at.catalog.tables {
            for apart in sketched(file).into_iter().flat_map(|s| &s.apart) {
                if apart.outlier.spike() == spike {
                    let known = elsewhere.entry((&file.table, apart.hash, spike)).or_default();
                    known.push((file, apart.outlier.latency));
                }
            }
        }
        let mut found = Vec::new();
        for file in at.catalog.tables.iter().filter(|f| at.judged(f)) {
            let Some(sketch) = sketched(file) else { continue };
            let stands = |a: &&Apart| a.outlier.spike() == spike && self.stands_out(file, a, at);
            let all: Vec<&Apart> = sketch.apart.iter().filter(stands).collect();
            if all.is_empty() {
                continue;
            }
            let steps = |a: &&&Apart| {
                let known = elsewhere.get(&(file.table.as_str(), a.hash, spike));
                // The same figure is the same measurement, in a copy or a later version.
                known.is_some_and(|k| {
                    k.iter()
                        .any(|(f, latency)| f.place != file.place && *latency != a.outlier.latency)
                })
            };
            for half in at.halves(file) {
                let part = all.iter().filter(|a| half.has(a.outlier.row as usize));
                let (steps, alone): (Vec<&Apart>, Vec<&Apart>) = part.partition(|a| steps(a));
                let told = if alone.is_empty() { &steps } else { &alone };
                if told.is_empty() {
                    continue;
                }
                let severity = if alone.is_empty() {
                    rule.severity.at_most(Severity::Info)
                } else {
                    rule.severity
                };
                let telling = Telling { file, sketch: &sketch.slices, told, steps: steps.len() };
                let finding = telling.finding(rule, severity, at, alone.is_empty());
                found.push(finding.half(&half, all.len()));
            }
        }
        found
    }

    fn stands_out(&self, file: &TableFile, apart: &Apart, at: &CrossContext<'_>) -> bool {
        let point = apart.outlier;
        // What the neighbours took, where they are the slower side.
        let slower = if point.spike() { point.latency } else { point.latency / point.ratio };
        let tail =
            at.specs.noise.at(&file.table, &file.place.backend, slower).map_or(1.0, |b| b.p99);
        slower >= self.floor_ms && point.telling() >= self.factor.max(tail.powf(self.tails))
    }
}

/// What is told of a table.
struct Telling<'a> {
    file: &'a TableFile,
    sketch: &'a [Slice],
    told: &'a [&'a Apart],
    steps: usize,
}

impl Telling<'_> {
    fn finding(
        &self,
        rule: &Rule,
        severity: Severity,
        at: &CrossContext<'_>,
        recurs: bool,
    ) -> Finding {
        let mut order: Vec<&Apart> = self.told.to_vec();
        order.sort_by(|a, b| {
            let telling = |a: &Apart| a.outlier.telling();
            telling(b).total_cmp(&telling(a)).then(a.outlier.row.cmp(&b.outlier.row))
        });
        let worst = order[0].outlier;
        let axes = self.axes(at);
        let side = if worst.spike() { "slower" } else { "faster" };
        let mut message = format!(
            "{} {side} than the neighbours along {}, by up to {:.1}×",
            plural(self.told.len(), "point"),
            names(axes.keys().map(String::as_str)),
            worst.telling(),
        );
        if recurs {
            message += "; other places show the same, so it is the kernel's step";
        } else if self.steps > 0 {
            message += &format!("; {} more recur elsewhere, a kernel's step", count(self.steps));
        }
        let examples = order.iter().take(EXAMPLES).map(|a| example(a)).collect();
        Finding::on_table(&rule.id, severity, self.file, message)
            .rows(self.told.len())
            .examples(examples)
            .evidence("worst", number_json(worst.telling()))
            .evidence("axes", serde_json::json!(axes))
            .evidence("slices", self.slices())
            .evidence("recurring", self.steps)
    }

    /// Points by axis that shows them.
    fn axes(&self, at: &CrossContext<'_>) -> BTreeMap<String, usize> {
        let mut axes = BTreeMap::new();
        let sweep = at.specs.tables.get(&self.file.table).map_or(&[][..], |s| &s.sweep);
        for (number, axis) in sweep.iter().enumerate() {
            let points = self.told.iter().filter(|a| a.outlier.axes >> number & 1 == 1).count();
            if points > 0 {
                axes.insert(axis.clone(), points);
            }
        }
        axes
    }

    /// Points by slice, the slices with most of them first.
    fn slices(&self) -> Vec<serde_json::Value> {
        const SHOWN: usize = 10;
        let mut counts: BTreeMap<&Slice, usize> = BTreeMap::new();
        for apart in self.told {
            *counts.entry(&self.sketch[apart.slice as usize]).or_default() += 1;
        }
        let mut counts: Vec<_> = counts.into_iter().collect();
        counts.sort_by_key(|(slice, points)| (Reverse(*points), *slice));
        let told = counts.into_iter().take(SHOWN);
        told.map(|(slice, points)| serde_json::json!({"slice": slice, "points": points})).collect()
    }
}

fn example(apart: &Apart) -> Example {
    let point = apart.outlier;
    Example {
        row: u64::from(point.row),
        key: apart.key.clone(),
        values: vec![
            ("latency_ms".into(), number_json(point.latency)),
            ("over_neighbours".into(), number_json(point.ratio)),
        ],
    }
}
