//! The level of a table's slices against the same slices of its siblings on the same machine:
//! slices in another unit, and slices that stand apart.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value as Json;

use super::{CrossContext, plural};
use crate::catalog::{Catalog, TableFile};
use crate::finding::{Finding, Severity};
use crate::sketch::{Sketch, Sketches, Slice};
use crate::spec::Rule;

/// How far slices of siblings stand apart on the database, and when one stands out.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Band {
    /// Points that a slice and its sibling must share.
    points: usize,
    /// Ratio between backends that few pairs exceed.
    backends: f64,
    /// Ratio between versions of a backend that few pairs exceed.
    versions: f64,
    /// Ratio between systems, the machines' own taken out, that few pairs exceed.
    systems: f64,
    /// Ratio to another backend that few slices exceed where the table's other slices agree with it.
    slices: f64,
    /// Ratio that half of all pairs of backends stay within: such a reference agrees.
    agrees: f64,
    /// Independent references that a slice must stand apart from.
    references: usize,
}

/// Factors that a unit is off by.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Units {
    /// Points that a slice and its sibling must share.
    points: usize,
    /// Least and most ratio that is taken for a unit's factor; its inverse too.
    factor: [f64; 2],
    /// Independent references that must all agree.
    references: usize,
}

/// A slice's names and values, and the slice's level over each reference's: other backends are one
/// each, the versions of a table's own backend are one together, and so are [`NEARBY`] systems.
pub type Levels = BTreeMap<Slice, BTreeMap<String, f64>>;

/// The name of the systems nearby, as a reference beside the backends.
pub const NEARBY: &str = "other systems";

impl Band {
    /// One finding for each table with slices that stand apart from their siblings: a warning, or
    /// an info where another backend agrees with the slice or its sidecar declares a deviation.
    pub fn check(&self, rule: &Rule, at: &CrossContext<'_>) -> Vec<Finding> {
        let mut found = Vec::new();
        let levels = at.levels(self.points);
        for file in at.catalog.tables.iter().filter(|f| at.judged(f)) {
            let backend = &file.place.backend;
            let Some(own) = levels.get(&file.entry.path) else { continue };
            let slices = chosen(own, |slice, refs| self.apart(backend, own, slice, refs));
            if let Some(said) = at.declared(file) {
                let apart = format!("its siblings, as its sidecar says it is ({said})");
                found.extend(finding(rule, Severity::Info, at, file, slices, &apart));
                continue;
            }
            let agreed = |refs: &BTreeMap<String, f64>| self.agreed(backend, refs);
            let (split, alone): (Levels, Levels) =
                slices.into_iter().partition(|(_, refs)| agreed(refs));
            // One finding a table: what no reference agrees with says more.
            if alone.is_empty() {
                let apart = "some siblings, while another backend agrees with it";
                found.extend(finding(rule, Severity::Info, at, file, split, apart));
            } else {
                found.extend(finding(rule, rule.severity, at, file, alone, "its siblings"));
            }
        }
        found
    }

    /// Whether a slice leaves the band of enough references, and of all of those on one side.
    fn apart(
        &self,
        backend: &str,
        own: &Levels,
        slice: &Slice,
        refs: &BTreeMap<String, f64>,
    ) -> bool {
        let out = |(name, ratio): &(&String, &f64)| match name.as_str() {
            NEARBY => off(**ratio) > self.systems,
            name if name == backend => off(**ratio) > self.versions,
            name => {
                // Where the rest of the table is level with the other backend, less is telling.
                let others = own.iter().filter(|(s, _)| *s != slice);
                let mut others: Vec<f64> =
                    others.filter_map(|(_, refs)| refs.get(name).copied()).collect();
                let level = (!others.is_empty()).then(|| median(&mut others));
                let alone = level.filter(|l| off(*l) <= self.agrees);
                off(**ratio) > self.backends
                    || alone.is_some_and(|level| off(**ratio / level) > self.slices)
            }
        };
        let far: Vec<f64> = refs.iter().filter(out).map(|(_, r)| *r).collect();
        let one_way = far.iter().all(|r| *r > 1.0) || far.iter().all(|r| *r < 1.0);
        far.len() >= self.references && one_way
    }

    /// Whether another backend's collector measured the same.
    fn agreed(&self, backend: &str, refs: &BTreeMap<String, f64>) -> bool {
        refs.iter()
            .filter(|(name, _)| *name != NEARBY && *name != backend)
            .any(|(_, r)| off(*r) <= self.agrees)
    }
}

/// How many times a ratio is off, up or down.
fn off(ratio: f64) -> f64 {
    ratio.max(1.0 / ratio)
}

impl Units {
    /// One finding for each table with slices in another unit than all their siblings.
    pub fn check(&self, rule: &Rule, at: &CrossContext<'_>) -> Vec<Finding> {
        let mut found = Vec::new();
        let levels = at.levels(self.points);
        let [least, most] = self.factor;
        let factor = least..=most;
        let shifted = |refs: &BTreeMap<String, f64>| {
            // The same collector errs alike on other systems: they confirm, and do not acquit.
            let own = || refs.iter().filter(|(name, _)| *name != NEARBY).map(|(_, r)| *r);
            let nearby = refs.get(NEARBY).copied();
            let all = |off: &dyn Fn(f64) -> bool| {
                let confirmed = nearby.is_some_and(off) as usize;
                own().all(off) && own().count() > 0 && own().count() + confirmed >= self.references
            };
            all(&|r| factor.contains(&r)) || all(&|r| factor.contains(&(1.0 / r)))
        };
        for file in at.catalog.tables.iter().filter(|f| at.judged(f)) {
            let Some(own) = levels.get(&file.entry.path) else { continue };
            let slices = chosen(own, |_, refs| shifted(refs));
            found.extend(finding(
                rule,
                rule.severity,
                at,
                file,
                slices,
                "every sibling, which is a unit's factor",
            ));
        }
        found
    }
}

/// The slices of a table that `choose` picks by their references.
fn chosen(own: &Levels, choose: impl Fn(&Slice, &BTreeMap<String, f64>) -> bool) -> Levels {
    own.iter()
        .filter(|(slice, refs)| choose(slice, refs))
        .map(|(slice, refs)| (slice.clone(), refs.clone()))
        .collect()
}

/// Ratios by table, slice and reference, before their median.
#[derive(Default)]
struct Ratios<'a>(BTreeMap<&'a str, BTreeMap<&'a Slice, BTreeMap<&'a str, Vec<f64>>>>);

impl<'a> Ratios<'a> {
    fn add(&mut self, of: &'a TableFile, slice: &'a Slice, over: &'a str, ratio: f64) {
        let slices = self.0.entry(&of.entry.path).or_default();
        slices.entry(slice).or_default().entry(over).or_default().push(ratio);
    }

    fn medians(self) -> BTreeMap<String, Levels> {
        let middle = |(name, mut ratios): (&str, Vec<f64>)| (name.to_owned(), median(&mut ratios));
        let slices = |(slice, refs): (&Slice, BTreeMap<&str, Vec<f64>>)| {
            (slice.clone(), refs.into_iter().map(middle).collect())
        };
        let tables = self.0.into_iter();
        tables.map(|(path, own)| (path.to_owned(), own.into_iter().map(slices).collect())).collect()
    }
}

/// The level of each table's slices over those of its references, by the table's path.
pub fn levels(catalog: &Catalog, sketches: &Sketches, points: usize) -> BTreeMap<String, Levels> {
    let mut all = Ratios::default();
    let mut siblings: BTreeMap<(&str, &str), Vec<Sketched<'_>>> = BTreeMap::new();
    // What has fewer points than a slice must share has no level, and there may be many such.
    for one in sketched(catalog, sketches).filter(|(_, s)| s.points.len() >= points) {
        siblings.entry((&one.0.place.system, &one.0.table)).or_default().push(one);
    }
    for (a, b, slices) in siblings.values().flat_map(|files| pairs(files, points)) {
        for (slice, ratio) in slices {
            all.add(a, slice, &b.place.backend, ratio);
            all.add(b, slice, &a.place.backend, 1.0 / ratio);
        }
    }
    nearby(catalog, sketches, points, &mut all);
    all.medians()
}

/// A table and what is known of its rows.
type Sketched<'a> = (&'a TableFile, &'a Sketch);
/// Two tables, and the level of the first over the second by slice.
type Pair<'a> = (&'a TableFile, &'a TableFile, Vec<(&'a Slice, f64)>);

fn sketched<'a>(
    catalog: &'a Catalog,
    sketches: &'a Sketches,
) -> impl Iterator<Item = Sketched<'a>> {
    catalog.tables.iter().filter_map(|f| Some((f, sketches.by_path.get(&f.entry.path)?)))
}

fn pairs<'a>(files: &[Sketched<'a>], points: usize) -> Vec<Pair<'a>> {
    let mut found = Vec::new();
    for (i, (a, of_a)) in files.iter().enumerate() {
        for (b, of_b) in &files[i + 1..] {
            found.push((*a, *b, medians(of_a, of_b, points)));
        }
    }
    found
}

/// Adds the same version on the other systems of a generation. What the machines differ by is the
/// middle of what their tables of that version differ by, and taken out.
fn nearby<'a>(catalog: &'a Catalog, sketches: &'a Sketches, points: usize, all: &mut Ratios<'a>) {
    /// Tables that tell how two machines differ.
    const TABLES: usize = 3;
    let mut runs: BTreeMap<_, BTreeMap<&str, Vec<Sketched<'a>>>> = BTreeMap::new();
    for one @ (file, _) in sketched(catalog, sketches) {
        let place = &file.place;
        let facts = catalog.systems.get(&place.system).and_then(|s| s.system.as_ref().ok());
        let Some(generation) = facts.and_then(|s| s.generation()) else { continue };
        let run = runs.entry((generation, &place.backend, &place.version)).or_default();
        run.entry(file.table.as_str()).or_default().push(one);
    }
    for tables in runs.into_values() {
        let mut machines: BTreeMap<(&str, &str), Vec<Pair<'a>>> = BTreeMap::new();
        for pair in tables.values().flat_map(|files| pairs(files, points)) {
            let systems = (pair.0.place.system.as_str(), pair.1.place.system.as_str());
            machines.entry(systems).or_default().push(pair);
        }
        for tables in machines.into_values() {
            let levels = tables.iter().filter(|(.., slices)| !slices.is_empty());
            let mut levels: Vec<f64> = levels
                .map(|(.., slices)| median(&mut slices.iter().map(|(_, r)| *r).collect::<Vec<_>>()))
                .collect();
            if levels.len() < TABLES {
                continue;
            }
            let machine = median(&mut levels);
            for (a, b, slices) in tables {
                for (slice, ratio) in slices {
                    all.add(a, slice, NEARBY, ratio / machine);
                    all.add(b, slice, NEARBY, machine / ratio);
                }
            }
        }
    }
}

/// The median of `a` over `b` at the points that both have, by slice of `a`.
fn medians<'a>(a: &'a Sketch, b: &Sketch, points: usize) -> Vec<(&'a Slice, f64)> {
    let mut by_slice: Vec<Vec<f64>> = vec![Vec::new(); a.slices.len()];
    for (a, b) in a.common(b).filter(|(a, b)| a.latency > 0.0 && b.latency > 0.0) {
        by_slice[a.slice as usize].push(a.latency / b.latency);
    }
    let enough = a.slices.iter().zip(&mut by_slice).filter(|(_, ratios)| ratios.len() >= points);
    enough.map(|(slice, ratios)| (slice, median(ratios))).collect()
}

/// The middle value (the upper one of two); `values` is not empty.
fn median(values: &mut [f64]) -> f64 {
    let middle = values.len() / 2;
    *values.select_nth_unstable_by(middle, f64::total_cmp).1
}

fn finding(
    rule: &Rule,
    severity: Severity,
    at: &CrossContext<'_>,
    file: &TableFile,
    slices: Levels,
    apart: &str,
) -> Option<Finding> {
    let far =
        |refs: &BTreeMap<String, f64>| refs.values().map(|r| r.ln().abs()).fold(0.0, f64::max);
    let (worst, refs) = slices.iter().max_by(|a, b| far(a.1).total_cmp(&far(b.1)))?;
    let sketch = at.sketches.by_path.get(&file.entry.path)?;
    // Of a large table the sketch holds a part; the share of its points stands for all rows.
    let chosen: BTreeSet<&Slice> = slices.keys().collect();
    let within =
        sketch.points.iter().filter(|p| chosen.contains(&sketch.slices[p.slice as usize])).count();
    let rows =
        (within as f64 / sketch.points.len().max(1) as f64 * sketch.rows as f64).round() as usize;
    let ratios: Vec<String> = refs.iter().map(|(name, r)| format!("{r:.2}× {name}")).collect();
    let names: Vec<String> = worst.iter().map(|(k, v)| format!("{k}={v}")).collect();
    let message = format!(
        "{} apart from {apart}: {} stands at {} (median)",
        plural(slices.len(), "slice"),
        if names.is_empty() { "the table".to_owned() } else { names.join(" ") },
        ratios.join(", ")
    );
    let told: Vec<Json> = slices
        .iter()
        .map(|(slice, refs)| serde_json::json!({"slice": slice, "ratio_over": refs}))
        .collect();
    let parts = slices.keys().map(|slice| format!("{slice:?}"));
    let finding = Finding::on_table(&rule.id, severity, file, message).rows(rows).parts(parts);
    Some(finding.evidence("slices", told))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sketch::Point;

    #[test]
    fn levels_are_medians_over_shared_points() {
        let sketch = |factor: f64, slices: u32| Sketch {
            rows: 60,
            keys: 60,
            points: (0..60)
                .map(|i| Point {
                    hash: i,
                    latency: factor * (1 + i) as f64,
                    slice: i as u32 % slices,
                })
                .collect(),
            slices: (0..slices).map(|s| [("dtype".to_owned(), s.to_string())].into()).collect(),
            end: u64::MAX,
            ..Sketch::default()
        };
        let levels = medians(&sketch(1000.0, 2), &sketch(1.0, 1), 20)
            .into_iter()
            .map(|(_, ratio)| ratio)
            .collect::<Vec<_>>();
        assert_eq!(levels, [1000.0, 1000.0]);
        assert!(
            medians(&sketch(1.0, 60), &sketch(1.0, 1), 20).is_empty(),
            "one point a slice is too few"
        );
    }

    fn band() -> Band {
        Band {
            points: 20,
            backends: 3.5,
            versions: 1.8,
            systems: 1.2,
            slices: 2.4,
            agrees: 1.3,
            references: 2,
        }
    }

    fn refs(all: &[(&str, f64)]) -> BTreeMap<String, f64> {
        all.iter().map(|(name, ratio)| ((*name).to_owned(), *ratio)).collect()
    }

    fn slice(dtype: &str) -> Slice {
        [("gemm_dtype".to_owned(), dtype.to_owned())].into()
    }

    fn apart(all: &[(&str, f64)]) -> bool {
        band().apart("vllm", &Levels::new(), &slice("fp8"), &refs(all))
    }

    #[test]
    fn two_references_must_differ_the_same_way() {
        assert!(apart(&[("trtllm", 4.0), ("sglang", 5.0)]));
        assert!(apart(&[("trtllm", 0.2), ("vllm", 0.5)]), "its own versions are one");
        assert!(apart(&[("trtllm", 4.0), (NEARBY, 1.3)]), "other systems are one");
        assert!(!apart(&[("trtllm", 4.0), ("sglang", 3.0)]));
        assert!(!apart(&[("trtllm", 4.0), ("sglang", 0.2)]), "not the same way");
    }

    #[test]
    fn a_slice_alone_is_held_to_the_rest_of_its_table() {
        let fp8 = refs(&[("trtllm", 3.0), ("sglang", 2.8)]);
        let with = |bf16: f64| {
            let rest = refs(&[("trtllm", bf16), ("sglang", bf16)]);
            Levels::from([(slice("fp8"), fp8.clone()), (slice("bf16"), rest)])
        };
        assert!(band().apart("vllm", &with(1.1), &slice("fp8"), &fp8));
        assert!(!band().apart("vllm", &with(1.4), &slice("fp8"), &fp8), "the table is slower");
        let own = with(1.1);
        assert!(!band().apart("vllm", &own, &slice("bf16"), &own[&slice("bf16")]));
    }

    #[test]
    fn a_backend_that_agrees_leaves_the_culprit_open() {
        let split = refs(&[("trtllm", 1.1), ("vllm", 0.5), (NEARBY, 0.6)]);
        assert!(band().apart("vllm", &Levels::new(), &slice("fp8"), &split));
        assert!(band().agreed("vllm", &split));
        assert!(!band().agreed("vllm", &refs(&[("vllm", 1.0), (NEARBY, 1.0), ("trtllm", 4.0)])));
    }
}
