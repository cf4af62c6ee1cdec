//! Slices that deviate from their peers.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use super::culprit::{CulpritVerdict, References};
use super::differences::{DifferenceBand, differences};
use super::finding::{ELSEWHERE, ELSEWHERE_SHORT, finding};
use super::kept::{NamedPeers, RelativeLatencies, Residual, Residuals};
use super::peers::{NEARBY, OTHER_KERNELS, PeerTerms, peer_latencies, relative_latencies};
use crate::base::error::Result;
use crate::base::stats::{times_off, upper_median};
use crate::checks::compare::sketch::Slice;
use crate::checks::context::{CrossContext, WholeContext};
use crate::checks::inputs::{CheckInputs, Input};
use crate::checks::judge::{Found, Judge};
use crate::checks::rule_head::RuleHead;
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
    /// Texts of `kernel_source` that do not say which kernel ran.
    unnamed: Vec<String>,
    /// Words that name one family of kernels each, whatever the backend calls them. Backends that name different families are
    /// not compared.
    families: Vec<Vec<String>>,
    /// When the differences to siblings are others than on other systems; not looked at without it.
    #[serde(default)]
    differences: Option<DifferenceBand>,
}

impl Judge for DeviationBand {
    fn needs(&self) -> CheckInputs {
        CheckInputs::of(&[Input::Peers])
    }

    fn peers(&self, at: &CrossContext<'_>) -> Option<NamedPeers> {
        let terms =
            PeerTerms { points: self.points, unnamed: &self.unnamed, families: &self.families };
        let differences = self.differences.map(|band| differences(at, &band, self.points));
        let latencies = peer_latencies(at, terms);
        Some(NamedPeers { latencies, differences: differences.unwrap_or_default() })
    }

    /// One finding for each table with slices that deviate from their peers: a warning where the table
    /// is the culprit, else an info that says what speaks for it.
    fn whole(&self, rule: RuleHead<'_>, whole: &WholeContext<'_>) -> Result<Found> {
        let mut found = Vec::new();
        let at = &whole.tables;
        let named = whole.peers.get(rule.id).map_or(&[][..], Vec::as_slice);
        let relative = relative_latencies(named.iter().map(|n| &n.latencies), at.sketches);
        let differences: BTreeMap<&String, _> = named.iter().flat_map(|n| &n.differences).collect();
        for file in at.judged_tables() {
            let backend = &file.place.backend;
            let Some(own) = relative.get(&file.entry.path) else { continue };
            let mut by_verdict: BTreeMap<CulpritVerdict, RelativeLatencies> = BTreeMap::new();
            let residuals = self.differences.zip(differences.get(&file.entry.path));
            for (slice, refs) in own {
                let residuals =
                    residuals.and_then(|(band, of_table)| Some((band, of_table.get(slice)?)));
                let elsewhere = residuals.and_then(|(band, residuals)| band.verdict(residuals));
                let residual = residuals.and_then(|(_, residuals)| residuals.all);
                let level = self.verdict(backend, own, slice, refs, residual);
                if let Some(verdict) = together(level, elsewhere.as_ref()) {
                    let mut refs = refs.clone();
                    refs.extend(elsewhere.into_iter().flat_map(|told| told.ratios));
                    by_verdict.entry(verdict).or_default().insert(slice.clone(), refs);
                }
            }
            if let Some(said) = at.declared(file) {
                let slices = by_verdict.into_values().flatten().collect();
                let why = format!("; the sidecar explains this ({said})");
                found.extend(finding(rule, Severity::Info, at, file, slices, &why));
            } else if let Some((verdict, slices)) = by_verdict.pop_first() {
                // One finding per table: the slices that nothing speaks for matter more.
                let is_culprit = verdict == CulpritVerdict::Culprit;
                let severity = if is_culprit { rule.severity } else { Severity::Info };
                found.extend(finding(rule, severity, at, file, slices, verdict.why()));
            }
        }
        Ok(found)
    }
}

/// The verdict of the differences on other systems on a slice.
struct ToldElsewhere {
    verdict: CulpritVerdict,
    /// The slice's latency over the predicted latency, by the name of the prediction.
    ratios: Vec<(String, f64)>,
}

impl DifferenceBand {
    fn verdict(&self, residuals: &Residuals) -> Option<ToldElsewhere> {
        let level = |r: &&Residual| {
            if r.near { times_off(r.ratio) > self.generation } else { r.ratio > self.any }
        };
        let all = residuals.all.as_ref().filter(level);
        let short = residuals.short.as_ref().filter(|r| r.near && times_off(r.ratio) > self.short);
        let slight = residuals.all.as_ref().filter(|r| r.near && times_off(r.ratio) > self.info);
        let verdict =
            if all.or(short).is_some() { CulpritVerdict::Culprit } else { CulpritVerdict::Slight };
        let named = [(ELSEWHERE, all.or(slight)), (ELSEWHERE_SHORT, short)];
        let ratios = named.into_iter().filter_map(|(name, r)| Some((name.to_owned(), r?.ratio)));
        let ratios: Vec<(String, f64)> = ratios.collect();
        (!ratios.is_empty()).then_some(ToldElsewhere { verdict, ratios })
    }
}

/// Returns the verdict on a slice by its level and by the differences on other systems. These decide where
/// its references split or it is the fastest, and not against what clears it.
fn together(
    level: Option<CulpritVerdict>,
    elsewhere: Option<&ToldElsewhere>,
) -> Option<CulpritVerdict> {
    match (level, elsewhere.map(|told| told.verdict)) {
        (None, elsewhere) => elsewhere,
        (
            Some(CulpritVerdict::Split | CulpritVerdict::Fastest | CulpritVerdict::Backend),
            Some(CulpritVerdict::Culprit),
        ) => Some(CulpritVerdict::Culprit),
        (level, _) => level,
    }
}

impl DeviationBand {
    /// Returns the verdict on a slice; `None` if it leaves the band of too few references, or is slower than some of them
    /// and faster than others.
    fn verdict(
        &self,
        backend: &str,
        own: &RelativeLatencies,
        slice: &Slice,
        refs: &BTreeMap<String, f64>,
        residual: Option<Residual>,
    ) -> Option<CulpritVerdict> {
        let is_out = |(reference, ratio): &(&String, &f64)| match reference.as_str() {
            NEARBY => times_off(**ratio) > self.systems,
            OTHER_KERNELS => times_off(**ratio) > self.versions,
            same if same == backend => times_off(**ratio) > self.versions,
            other => self.deviates_from_backend(other, **ratio, own, slice),
        };
        let far: Vec<(&String, &f64)> = refs.iter().filter(is_out).collect();
        let one_way = far.iter().all(|(_, r)| **r > 1.0) || far.iter().all(|(_, r)| **r < 1.0);
        if far.len() < self.references || !one_way {
            return None;
        }
        let far = far.into_iter().map(|(name, _)| name.as_str()).collect();
        let (agrees, least) = (self.agrees, self.references);
        Some(References { backend, all: refs, far, residual, agrees, least }.verdict())
    }

    /// Returns true if a slice leaves the band of another backend. Where the rest of the table agrees with that
    /// backend, less is enough.
    fn deviates_from_backend(
        &self,
        backend: &str,
        ratio: f64,
        own: &RelativeLatencies,
        slice: &Slice,
    ) -> bool {
        if times_off(ratio) > self.backends {
            return true;
        }
        let others = own.iter().filter(|(other, _)| *other != slice);
        let mut others: Vec<f64> =
            others.filter_map(|(_, refs)| refs.get(backend).copied()).collect();
        if others.is_empty() {
            return false;
        }
        let rest = upper_median(&mut others);
        times_off(rest) <= self.agrees && times_off(ratio / rest) > self.slices
    }
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
            unnamed: Vec::new(),
            families: Vec::new(),
            differences: None,
        }
    }

    fn refs(all: &[(&str, f64)]) -> BTreeMap<String, f64> {
        all.iter().map(|(name, ratio)| ((*name).to_owned(), *ratio)).collect()
    }

    fn slice(dtype: &str) -> Slice {
        [("gemm_dtype".to_owned(), dtype.to_owned())].into()
    }

    fn deviates(all: &[(&str, f64)]) -> bool {
        band().verdict("vllm", &RelativeLatencies::new(), &slice("fp8"), &refs(all), None).is_some()
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
        let verdict = |own: &RelativeLatencies, dtype: &str, refs: &BTreeMap<String, f64>| {
            band().verdict("vllm", own, &slice(dtype), refs, None)
        };
        assert_eq!(verdict(&with(1.1), "fp8", &fp8), Some(CulpritVerdict::Culprit));
        assert_eq!(verdict(&with(1.4), "fp8", &fp8), None, "the table is slower");
        let own = with(1.1);
        assert_eq!(verdict(&own, "bf16", &own[&slice("bf16")]), None);
    }
}
