//! Slices that deviate from their peers.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use super::peers::{NEARBY, RelativeLatencies};
use super::{chosen, finding};
use crate::base::expr::ExprError;
use crate::base::stats::upper_median;
use crate::checks::CrossContext;
use crate::checks::compare::sketch::Slice;
use crate::checks::judge::{Found, Judge};
use crate::checks::rule::Rule;
use crate::findings::Severity;

/// How far slices of siblings stand apart on the database, and when one stands out.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Band")]
pub struct DeviationBand {
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

impl Judge for DeviationBand {
    /// One finding for each table with slices that deviate from their peers: a warning, or
    /// an info where another backend agrees with the slice or its sidecar declares a deviation.
    fn cross(&self, rule: &Rule, at: &CrossContext<'_>) -> Result<Found, ExprError> {
        let mut found = Vec::new();
        let relative = at.relative_latencies(self.points);
        for file in at.catalog.tables.iter().filter(|f| at.judged(f)) {
            let backend = &file.place.backend;
            let Some(own) = relative.get(&file.entry.path) else { continue };
            let slices = chosen(own, |slice, refs| self.deviates(backend, own, slice, refs));
            if let Some(said) = at.declared(file) {
                let peers = format!("its siblings, as its sidecar says it is ({said})");
                found.extend(finding(rule, Severity::Info, at, file, slices, &peers));
                continue;
            }
            let agreed = |refs: &BTreeMap<String, f64>| self.agreed(backend, refs);
            let (split, alone): (RelativeLatencies, RelativeLatencies) =
                slices.into_iter().partition(|(_, refs)| agreed(refs));
            // One finding a table: what no reference agrees with says more.
            if alone.is_empty() {
                let peers = "some siblings, while another backend agrees with it";
                found.extend(finding(rule, Severity::Info, at, file, split, peers));
            } else {
                found.extend(finding(rule, rule.severity, at, file, alone, "its siblings"));
            }
        }
        Ok(found)
    }
}

impl DeviationBand {
    /// Whether a slice leaves the band of enough references, and of all of those on one side.
    fn deviates(
        &self,
        backend: &str,
        own: &RelativeLatencies,
        slice: &Slice,
        refs: &BTreeMap<String, f64>,
    ) -> bool {
        let is_out = |(reference, ratio): &(&String, &f64)| match reference.as_str() {
            NEARBY => off(**ratio) > self.systems,
            same if same == backend => off(**ratio) > self.versions,
            other => self.deviates_from_backend(other, **ratio, own, slice),
        };
        let far: Vec<f64> = refs.iter().filter(is_out).map(|(_, r)| *r).collect();
        let one_way = far.iter().all(|r| *r > 1.0) || far.iter().all(|r| *r < 1.0);
        far.len() >= self.references && one_way
    }

    /// Whether a slice leaves the band of another backend. Where the rest of the table agrees with that
    /// backend, less is enough.
    fn deviates_from_backend(
        &self,
        backend: &str,
        ratio: f64,
        own: &RelativeLatencies,
        slice: &Slice,
    ) -> bool {
        if off(ratio) > self.backends {
            return true;
        }
        let others = own.iter().filter(|(other, _)| *other != slice);
        let mut others: Vec<f64> =
            others.filter_map(|(_, refs)| refs.get(backend).copied()).collect();
        if others.is_empty() {
            return false;
        }
        let rest = upper_median(&mut others);
        off(rest) <= self.agrees && off(ratio / rest) > self.slices
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

#[cfg(test)]
mod tests {
    use super::*;

    fn band() -> DeviationBand {
        DeviationBand {
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

    fn deviates(all: &[(&str, f64)]) -> bool {
        band().deviates("vllm", &RelativeLatencies::new(), &slice("fp8"), &refs(all))
    }

    #[test]
    fn two_references_must_differ_the_same_way() {
        assert!(deviates(&[("trtllm", 4.0), ("sglang", 5.0)]));
        assert!(deviates(&[("trtllm", 0.2), ("vllm", 0.5)]), "its own versions are one");
        assert!(deviates(&[("trtllm", 4.0), (NEARBY, 1.3)]), "other systems are one");
        assert!(!deviates(&[("trtllm", 4.0), ("sglang", 3.0)]));
        assert!(!deviates(&[("trtllm", 4.0), ("sglang", 0.2)]), "not the same way");
    }

    #[test]
    fn a_slice_alone_is_held_to_the_rest_of_its_table() {
        let fp8 = refs(&[("trtllm", 3.0), ("sglang", 2.8)]);
        let with = |bf16: f64| {
            let rest = refs(&[("trtllm", bf16), ("sglang", bf16)]);
            RelativeLatencies::from([(slice("fp8"), fp8.clone()), (slice("bf16"), rest)])
        };
        assert!(band().deviates("vllm", &with(1.1), &slice("fp8"), &fp8));
        assert!(!band().deviates("vllm", &with(1.4), &slice("fp8"), &fp8), "the table is slower");
        let own = with(1.1);
        assert!(!band().deviates("vllm", &own, &slice("bf16"), &own[&slice("bf16")]));
    }

    #[test]
    fn a_backend_that_agrees_leaves_the_culprit_open() {
        let split = refs(&[("trtllm", 1.1), ("vllm", 0.5), (NEARBY, 0.6)]);
        assert!(band().deviates("vllm", &RelativeLatencies::new(), &slice("fp8"), &split));
        assert!(band().agreed("vllm", &split));
        assert!(!band().agreed("vllm", &refs(&[("vllm", 1.0), (NEARBY, 1.0), ("trtllm", 4.0)])));
    }
}
