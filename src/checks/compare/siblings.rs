//! Slices that are slow compared with the same slices of other backends, versions and systems.

use std::collections::{BTreeMap, BTreeSet};
use std::str::FromStr;

use pep440_rs::Version;
use rayon::prelude::*;
use schemars::JsonSchema;
use serde::Deserialize;

use super::peers::Kinship;
use super::sketch::{Sketch, SketchedTable, Slice, slice_id, slice_name};
use crate::base::stats::{times_off, upper_median};
use crate::base::words::{Figure, plural_verb};
use crate::checks::{CheckInputs, CrossContext, Input, Judge, Judged, RuleHead};
use crate::findings::{Finding, Severity, SliceEvidence, wholes};

/// The name of a reference that stands for all other systems of the same GPU generation.
pub(crate) const NEARBY: &str = "other systems";

/// Limits for a slice to be slow compared with its references. Each ratio is the slice's latency divided by the
/// reference's.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Band")]
pub struct SiblingBand {
    /// A slice and its reference must share at least this many points.
    points: usize,
    /// A slice is judged only if it has at least this many references.
    references: usize,
    /// A slice is slow compared with another backend if its latency is more than this many times the backend's.
    backends: f64,
    /// A slice is slow compared with other versions of its backend if its latency is more than this many times theirs.
    versions: f64,
    /// A slice is slow compared with other systems if its latency, corrected for the speed of the machines, is more
    /// than this many times theirs. Tables of other backends show how fast each machine is.
    systems: f64,
    /// A slice's latency is divided by the other backends' latency, once on its own system and once on other systems.
    /// The slice is reported only if the first ratio is more than this many times the second. Otherwise the backend is
    /// slow on every system.
    recurs: f64,
    /// Values of `kernel_source` that do not state which kernel ran.
    unnamed: Vec<String>,
    /// Families of kernels. A kernel belongs to a family if its name contains one of the family's words, in any
    /// backend. The first word names the family.
    families: Vec<Vec<String>>,
}

/// The latency ratios of a slice, by the name of the reference. A reference is another backend, the other versions of
/// the slice's own backend (under the backend's name), or all other systems (under the name [`NEARBY`]).
type RatiosByReference<'a> = BTreeMap<&'a str, f64>;

impl Judge for SiblingBand {
    fn needs(&self) -> CheckInputs {
        CheckInputs::of(&[Input::Peers])
    }

    /// One finding for each table with slow slices.
    fn cross<'v>(&'v self, rule: RuleHead<'v>, at: &'v CrossContext<'v>) -> Judged<'v> {
        let judged: Vec<SketchedTable<'_>> =
            at.sketched().filter(|(file, _)| at.judged(file)).collect();
        let found = judged.par_iter().map(|own| self.finding(rule, at, *own));
        Ok(wholes(found.collect::<Vec<_>>().into_iter().flatten()))
    }
}

impl SiblingBand {
    fn finding(
        &self,
        rule: RuleHead<'_>,
        at: &CrossContext<'_>,
        own @ (file, sketch): SketchedTable<'_>,
    ) -> Option<Finding> {
        let backend = file.place.backend.as_str();
        let mut slow = self.references(at, own);
        slow.retain(|_, ratios| self.is_slow(backend, ratios));
        let (level, mut slow): (BTreeMap<_, _>, _) =
            slow.into_iter().partition(|(_, ratios)| self.is_level(ratios));
        slow.retain(|slice, ratios| {
            self.over_elsewhere(at, own, slice, ratios).is_none_or(|over| over > self.recurs)
        });
        let (slices, severity, mut why) = if slow.is_empty() {
            (level, Severity::Info, "; it is as slow on the other systems".to_owned())
        } else {
            (slow, rule.severity, String::new())
        };
        if let Some(said) = at.declared(file) {
            why += &format!("; its sidecar says {said}");
        }
        let most = |ratios: &RatiosByReference<'_>| ratios.values().copied().fold(0.0, f64::max);
        let (worst, ratios) = slices.iter().max_by(|a, b| most(a.1).total_cmp(&most(b.1)))?;
        let message = format!(
            "{} slow beside the same data of other backends, versions or systems: at {}, {backend} is {}{why}",
            plural_verb(slices.len(), "slice", ["is", "are"]),
            slice_name(worst),
            words(backend, ratios),
        );
        let is_found = |index: &usize| slices.contains_key(&sketch.slices[*index]);
        let rows = sketch.rows_of((0..sketch.counts.len()).filter(is_found));
        let evidence = slices.iter().map(|(slice, ratios)| SliceEvidence {
            slice: (*slice).clone(),
            figure: ("ratio_over".into(), serde_json::json!(ratios)),
        });
        let parts = slices.keys().map(|slice| slice_id(slice));
        let finding = Finding::on_table(rule.id, severity, file, message);
        Some(finding.rows(rows).parts(parts).slices(evidence))
    }

    /// Returns true if a slice has enough references and is slow compared with more than half of them.
    fn is_slow(&self, backend: &str, ratios: &RatiosByReference<'_>) -> bool {
        let band = |name: &str| match name {
            NEARBY => self.systems,
            own if own == backend => self.versions,
            _ => self.backends,
        };
        let slow = ratios.iter().filter(|(name, ratio)| **ratio > band(name)).count();
        ratios.len() >= self.references && 2 * slow > ratios.len()
    }

    /// Returns true if a slice is about as fast as the same slice on other systems: corrected for the speed of the
    /// machines, the latencies differ by at most the factor `systems`.
    fn is_level(&self, ratios: &RatiosByReference<'_>) -> bool {
        ratios.get(NEARBY).is_some_and(|ratio| times_off(*ratio) <= self.systems)
    }

    /// Returns the latency ratios of a table's slices to their references. If a reference consists of several tables,
    /// the ratio is the median over these tables.
    fn references<'a>(
        &self,
        at: &CrossContext<'a>,
        own: SketchedTable<'a>,
    ) -> BTreeMap<&'a Slice, RatiosByReference<'a>> {
        let mut all: BTreeMap<&Slice, BTreeMap<&str, Vec<f64>>> = BTreeMap::new();
        for (kinship, other) in at.peers.elsewhere(own.0) {
            let is_other_release = release(own) != release(other);
            let is_reference = match kinship {
                Kinship::Backend => true,
                Kinship::Version => is_other_release,
                Kinship::System => !is_other_release && is_near(at, own, other),
                Kinship::Name => false,
            };
            if !is_reference {
                continue;
            }
            let is_nearby = kinship == Kinship::System;
            let machines = is_nearby.then(|| self.machines(at, own, other));
            let name = if is_nearby { NEARBY } else { &other.0.place.backend };
            for (slice, ratio) in self.ratios(own, other) {
                let machine = machines.as_ref().map_or(Some(1.0), |m| m.get(slice).copied());
                if let Some(machine) = machine {
                    let of_slice = all.entry(slice).or_default();
                    of_slice.entry(name).or_default().push(ratio / machine);
                }
            }
        }
        let medians = |by_name: BTreeMap<&'a str, Vec<f64>>| {
            by_name
                .into_iter()
                .map(|(name, mut ratios)| (name, upper_median(&mut ratios)))
                .collect()
        };
        all.into_iter().map(|(slice, by_name)| (slice, medians(by_name))).collect()
    }

    /// Returns for each slice how much slower the first table's machine is than the second table's. This is the median
    /// latency ratio in tables of other backends, over the versions that both machines have.
    fn machines<'a>(
        &self,
        at: &CrossContext<'a>,
        (own, _): SketchedTable<'_>,
        (other, _): SketchedTable<'_>,
    ) -> BTreeMap<&'a Slice, f64> {
        let others = at.sketched().filter(|(file, _)| file.place.backend != own.place.backend);
        let (mut here, mut there) = (Vec::new(), Vec::new());
        for one in others {
            match &one.0.place.system {
                system if *system == own.place.system => here.push(one),
                system if *system == other.place.system => there.push(one),
                _ => {}
            }
        }
        let mut all: BTreeMap<&Slice, Vec<f64>> = BTreeMap::new();
        for a in here {
            let is_same = |b: &&SketchedTable<'a>| {
                a.0.place.backend == b.0.place.backend && release(a) == release(**b)
            };
            for (slice, ratio) in there.iter().filter(is_same).flat_map(|b| self.ratios(a, *b)) {
                all.entry(slice).or_default().push(ratio);
            }
        }
        all.into_iter().map(|(slice, mut ratios)| (slice, upper_median(&mut ratios))).collect()
    }

    /// Divides a slice's latency by the other backends' latency, once on its own system (`ratios`) and once on other
    /// systems. Returns the first ratio divided by the second. The other systems are those of the same GPU generation,
    /// or if none of them can be compared, those of other generations. `None` if no system can be compared.
    fn over_elsewhere(
        &self,
        at: &CrossContext<'_>,
        own: SketchedTable<'_>,
        slice: &Slice,
        ratios: &RatiosByReference<'_>,
    ) -> Option<f64> {
        let kin = at.peers.elsewhere(own.0).filter(|(kinship, _)| *kinship == Kinship::System);
        let kin = kin.map(|(_, kin)| kin).filter(|(_, sketch)| sketch.slices.contains(slice));
        let (near, far): (Vec<_>, Vec<_>) = kin.partition(|kin| is_near(at, own, *kin));
        let over = |kin: &[SketchedTable<'_>]| self.over_kin(at, kin, slice, ratios);
        over(&near).or_else(|| over(&far))
    }

    /// Divides a slice's latency by the other backends' latency, once on its own system (`ratios`) and once on each
    /// system of the tables `kin`, which are of the same backend. Returns the median over these systems of the first
    /// ratio divided by the second; `None` if no system can be compared.
    fn over_kin(
        &self,
        at: &CrossContext<'_>,
        kin: &[SketchedTable<'_>],
        slice: &Slice,
        ratios: &RatiosByReference<'_>,
    ) -> Option<f64> {
        let mut levels: BTreeMap<(&str, &str), Vec<f64>> = BTreeMap::new();
        for own @ (file, _) in kin {
            for other @ (theirs, _) in at.sketched() {
                let (system, backend) = (&file.place.system, &theirs.place.backend);
                if theirs.place.system == *system && *backend != file.place.backend {
                    let ratio = self.ratios(*own, other).into_iter().find(|(s, _)| *s == slice);
                    levels.entry((system, backend)).or_default().extend(ratio.map(|(_, r)| r));
                }
            }
        }
        let mut by_system: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
        for ((system, backend), mut there) in levels {
            if let (Some(here), false) = (ratios.get(backend), there.is_empty()) {
                by_system.entry(system).or_default().push(here / upper_median(&mut there));
            }
        }
        let mut over: Vec<f64> = by_system.values_mut().map(|over| upper_median(over)).collect();
        (!over.is_empty()).then(|| upper_median(&mut over))
    }

    /// Returns for each slice the median ratio of the latencies of `a` to those of `b` at the common points. Slices
    /// with too few common points are left out, and slices for which the tables name different kernels.
    fn ratios<'a>(&self, a: SketchedTable<'a>, b: SketchedTable<'_>) -> Vec<(&'a Slice, f64)> {
        let mut by_slice = a.1.room_by_slice::<f64>();
        for (a, b) in a.1.common(b.1).filter(|(a, b)| a.latency > 0.0 && b.latency > 0.0) {
            by_slice[a.slice as usize].push(a.latency / b.latency);
        }
        let enough = a.1.slices.iter().zip(by_slice).filter(|(_, r)| r.len() >= self.points);
        let same = enough.filter(|(slice, _)| !self.name_others(a, b, slice));
        same.map(|(slice, mut ratios)| (slice, upper_median(&mut ratios))).collect()
    }

    /// Returns true if two tables name different kernels in a slice: both name kernels of known families, and no family
    /// occurs in both. Within one backend, a kernel without a family counts as a family of its own name.
    fn name_others(&self, a: SketchedTable<'_>, b: SketchedTable<'_>, slice: &Slice) -> bool {
        let is_same_backend = a.0.place.backend == b.0.place.backend;
        let families = |sketch: &Sketch| -> BTreeSet<String> {
            let kernels = sketch.kernels_of(slice).into_iter().flatten();
            let named = kernels.filter(|kernel| !self.unnamed.contains(kernel));
            let family = |kernel: &String| {
                let name = kernel.to_lowercase();
                let is_of = |words: &&Vec<String>| words.iter().any(|word| name.contains(word));
                let families: Vec<String> =
                    self.families.iter().filter(is_of).filter_map(|w| w.first()).cloned().collect();
                if families.is_empty() && is_same_backend { vec![name] } else { families }
            };
            named.flat_map(family).collect()
        };
        let (a, b) = (families(a.1), families(b.1));
        !a.is_empty() && !b.is_empty() && a.is_disjoint(&b)
    }
}

/// Returns the versions with which a table was measured: the releases and release candidates that its rows name, or
/// else the version of its directory. Development builds are ignored, since they differ from the directory's version by
/// only a few commits.
fn release((file, sketch): SketchedTable<'_>) -> Vec<&str> {
    let is_released = |name: &&str| Version::from_str(name).is_ok_and(|v| !v.is_dev());
    let named: Vec<&str> =
        sketch.names.versions.iter().map(String::as_str).filter(is_released).collect();
    if named.is_empty() { vec![&file.place.version] } else { named }
}

/// Returns true if the systems of two tables are of one generation.
fn is_near(at: &CrossContext<'_>, (a, _): SketchedTable<'_>, (b, _): SketchedTable<'_>) -> bool {
    let [a, b] = [a, b].map(|file| at.peers.generation(&file.place.system));
    a.is_some() && a == b
}

/// Describes ratios, the largest first: `5.25× slower than trtllm, as fast as its other versions`.
fn words(backend: &str, ratios: &RatiosByReference<'_>) -> String {
    /// The maximum ratio of two latencies that are called equally fast.
    const LEVEL: f64 = 1.05;
    let mut ratios: Vec<(&str, f64)> = ratios.iter().map(|(name, ratio)| (*name, *ratio)).collect();
    ratios.sort_by(|a, b| b.1.total_cmp(&a.1));
    let word = |(name, ratio): (&str, f64)| {
        let name = match name {
            NEARBY => "this version on other systems",
            own if own == backend => "its other versions",
            other => other,
        };
        match Figure(times_off(ratio)) {
            times if times.0 <= LEVEL => format!("as fast as {name}"),
            times if ratio > 1.0 => format!("{times:.2}× slower than {name}"),
            times => format!("{times:.2}× faster than {name}"),
        }
    };
    ratios.into_iter().map(word).collect::<Vec<_>>().join(", ")
}
