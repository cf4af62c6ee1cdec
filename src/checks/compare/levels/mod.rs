//! The level of a table's slices against the same slices of its siblings on the same machine:
//! slices in another unit, and slices that stand apart.

mod siblings;

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value as Json;

use self::siblings::NEARBY;
pub use self::siblings::{Levels, levels};
use crate::base::stats::upper_median;
use crate::base::words::plural;
use crate::checks::CrossContext;
use crate::checks::compare::sketch::Slice;
use crate::checks::rule::Rule;
use crate::database::catalog::TableFile;
use crate::findings::{Finding, Severity};

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
                let level = (!others.is_empty()).then(|| upper_median(&mut others));
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
