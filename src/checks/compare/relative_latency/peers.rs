//! The latency of a table divided by the latency of its peers, by slice.

use std::collections::{BTreeMap, BTreeSet};
use std::str::FromStr;

use pep440_rs::Version;
use rayon::prelude::*;

use super::kept::{PeerLatencies, RelativeLatencies, RunPair, SoftwareRun};
use crate::base::stats::upper_median;
use crate::checks::compare::peers::pairs;
use crate::checks::compare::sketch::{Sketch, Sketched, Sketches, Slice};
use crate::checks::context::CrossContext;
use crate::database::catalog::TableFile;

/// The name of the reference that consists of the other systems of a generation.
pub const NEARBY: &str = "other systems";

/// The name of the reference that consists of versions of the own backend that name other kernels for a slice.
pub const OTHER_KERNELS: &str = "versions with another kernel";

/// The terms on which two tables are compared.
#[derive(Debug, Clone, Copy)]
pub(super) struct PeerTerms<'a> {
    /// The least number of points that a slice and its peer must share.
    pub points: usize,
    /// Values of `kernel_source` that do not identify a kernel.
    pub unnamed: &'a [String],
    /// Words in `kernel_source`, one family of kernels each.
    pub families: &'a [Vec<String>],
}

impl PeerTerms<'_> {
    /// Returns true if both tables name kernels for a slice and have none in common.
    fn other_kernels(self, a: &Sketch, b: &Sketch, slice: &Slice) -> bool {
        are_others([a, b].map(|sketch| self.named(sketch, slice).collect()))
    }

    /// Returns true if both tables name families of kernels for a slice and have none in common. Each backend has
    /// names of its own for a kernel, so backends are compared by family.
    fn other_families(self, a: &Sketch, b: &Sketch, slice: &Slice) -> bool {
        let families = |sketch: &Sketch| -> BTreeSet<usize> {
            let names = self.named(sketch, slice).map(|name| name.to_lowercase());
            let names: Vec<String> = names.collect();
            let is_named =
                |words: &[String]| words.iter().any(|w| names.iter().any(|n| n.contains(w)));
            let numbered = self.families.iter().enumerate();
            numbered.filter(|(_, words)| is_named(words)).map(|(number, _)| number).collect()
        };
        are_others([a, b].map(families))
    }

    /// The kernels that a table names for a slice.
    fn named<'s>(self, sketch: &'s Sketch, slice: &Slice) -> impl Iterator<Item = &'s String> {
        let kernels = sketch.kernels_of(slice).into_iter().flatten();
        kernels.filter(move |kernel| !self.unnamed.contains(kernel))
    }
}

/// Returns true if both sets have members and none in common.
fn are_others<T: Ord>([a, b]: [BTreeSet<T>; 2]) -> bool {
    !a.is_empty() && !b.is_empty() && a.is_disjoint(&b)
}

/// Ratios by table, slice and reference, before their median.
#[derive(Default)]
struct PeerRatios<'a>(BTreeMap<&'a str, BTreeMap<&'a Slice, BTreeMap<&'a str, Vec<f64>>>>);

impl<'a> PeerRatios<'a> {
    fn add(&mut self, of: &'a str, slice: &'a Slice, over: &'a str, ratio: f64) {
        let slices = self.0.entry(of).or_default();
        slices.entry(slice).or_default().entry(over).or_default().push(ratio);
    }

    /// Adds the median of each list of ratios to `all`.
    fn add_medians(self, all: &mut BTreeMap<String, RelativeLatencies>) {
        for (path, slices) in self.0 {
            let own = all.entry(path.to_owned()).or_default();
            for (slice, refs) in slices {
                let middle = |(name, mut ratios): (&str, Vec<f64>)| {
                    (name.to_owned(), upper_median(&mut ratios))
                };
                own.entry(slice.clone()).or_default().extend(refs.into_iter().map(middle));
            }
        }
    }
}

/// Takes the relative latencies of the tables of a name.
pub(super) fn peer_latencies(at: &CrossContext<'_>, terms: PeerTerms<'_>) -> PeerLatencies {
    let points = terms.points;
    // A table with fewer points than two slices must share has no median. There may be many such tables.
    let tables = at.sketched().filter(|(_, sketch)| sketch.points.len() >= points);
    let mut own = PeerLatencies::default();
    let mut by_system: BTreeMap<&str, Vec<Sketched<'_>>> = BTreeMap::new();
    let mut by_run: BTreeMap<SoftwareRun, Vec<Sketched<'_>>> = BTreeMap::new();
    for one @ (file, sketch) in tables {
        by_system.entry(&file.place.system).or_default().push(one);
        if let Some(generation) = at.peers.generation(&file.place.system) {
            by_run.entry(software_run(file, sketch, generation)).or_default().push(one);
        }
    }
    let siblings = by_system.values().flat_map(|files| pairs(files));
    let is_asked_for = |((a, _), (b, _)): &SketchedPair<'_>| at.judged(a) || at.judged(b);
    let siblings: Vec<SketchedPair<'_>> = siblings.filter(is_asked_for).collect();
    let of_runs = by_run.iter().flat_map(|(run, files)| pairs(files).map(move |p| (run, p)));
    let of_runs: Vec<(&SoftwareRun, SketchedPair<'_>)> = of_runs.collect();
    // The medians of all pairs are computed in parallel: with many systems they take most of the time.
    let all_pairs = siblings.iter().chain(of_runs.iter().map(|(_, pair)| pair));
    let all_pairs: Vec<SketchedPair<'_>> = all_pairs.copied().collect();
    let ratios = all_pairs.par_iter().map(|(a, b)| medians(a.1, b.1, points));
    let mut ratios = ratios.collect::<Vec<_>>().into_iter();
    let mut all = PeerRatios::default();
    for ((a, b), ratios) in siblings.iter().zip(&mut ratios) {
        let is_same = a.0.place.backend == b.0.place.backend;
        for (number, ratio) in ratios {
            let slice = &a.1.slices[number as usize];
            if !is_same && terms.other_families(a.1, b.1, slice) {
                continue;
            }
            let other = is_same && terms.other_kernels(a.1, b.1, slice);
            for (own, over, ratio) in [(a.0, b.0, ratio), (b.0, a.0, 1.0 / ratio)] {
                if at.judged(own) {
                    all.add(&own.entry.path, slice, reference(over, other), ratio);
                }
            }
        }
    }
    all.add_medians(&mut own.relative);
    let with_points = of_runs.iter().zip(ratios).filter(|(_, ratios)| !ratios.is_empty());
    own.runs = with_points.map(|((run, pair), ratios)| run_pair(run, *pair, ratios)).collect();
    own
}

/// Returns the software that measured a table. The version is that of the rows if they name released ones or
/// candidates: a development build is a few commits from the version of its directory.
fn software_run(file: &TableFile, sketch: &Sketch, generation: &str) -> SoftwareRun {
    let is_released = |name: &&str| Version::from_str(name).is_ok_and(|v| !v.is_dev());
    let named = sketch.names.versions.iter().map(String::as_str);
    let released: Vec<&str> = named.filter(is_released).collect();
    let backend = file.place.backend.clone();
    let version =
        if released.is_empty() { file.place.version.clone() } else { released.join(", ") };
    SoftwareRun { generation: generation.to_owned(), backend, version }
}

fn run_pair(run: &SoftwareRun, (a, b): SketchedPair<'_>, ratios: Vec<(u32, f64)>) -> RunPair {
    let systems = [a, b].map(|(file, _)| file.place.system.clone());
    let paths = [a, b].map(|(file, _)| file.entry.path.clone());
    RunPair { run: run.clone(), systems, paths, ratios }
}

/// Returns the relative latencies of each table's slices by path, from the results of all names.
pub(super) fn relative_latencies<'a>(
    named: impl Iterator<Item = &'a PeerLatencies>,
    sketches: &Sketches,
) -> BTreeMap<String, RelativeLatencies> {
    let mut all = BTreeMap::new();
    let mut runs: BTreeMap<(&SoftwareRun, &[String; 2]), Vec<&RunPair>> = BTreeMap::new();
    for of_name in named {
        all.extend(of_name.relative.iter().map(|(path, own)| (path.clone(), own.clone())));
        for pair in &of_name.runs {
            runs.entry((&pair.run, &pair.systems)).or_default().push(pair);
        }
    }
    nearby(runs.values().map(Vec::as_slice), sketches).add_medians(&mut all);
    all
}

/// Returns the name of a table when it is the reference of another.
fn reference(file: &TableFile, other_kernels: bool) -> &str {
    if other_kernels { OTHER_KERNELS } else { &file.place.backend }
}

/// Two tables with their sketches.
type SketchedPair<'a> = (Sketched<'a>, Sketched<'a>);

/// Returns the ratios of tables to the same version on the other systems of a generation. The factor between two machines
/// is the median ratio of their tables of that version, and each ratio is divided by it.
fn nearby<'a>(
    machines: impl Iterator<Item = &'a [&'a RunPair]>,
    sketches: &'a Sketches,
) -> PeerRatios<'a> {
    /// The least number of tables from which the factor between two machines is estimated.
    const TABLES: usize = 3;
    let mut all = PeerRatios::default();
    for tables in machines.filter(|tables| tables.len() >= TABLES) {
        let of_table = |pair: &&RunPair| {
            upper_median(&mut pair.ratios.iter().map(|(_, ratio)| *ratio).collect::<Vec<_>>())
        };
        let machine = upper_median(&mut tables.iter().map(of_table).collect::<Vec<_>>());
        for RunPair { paths: [a, b], ratios, .. } in tables {
            let Some(sketch) = sketches.by_path.get(a) else { continue };
            for (number, ratio) in ratios {
                let slice = &sketch.slices[*number as usize];
                all.add(a, slice, NEARBY, ratio / machine);
                all.add(b, slice, NEARBY, machine / ratio);
            }
        }
    }
    all
}

/// Returns the median of `a` divided by `b` at their common points, with the slice as an index into the slices of `a`.
fn medians(a: &Sketch, b: &Sketch, points: usize) -> Vec<(u32, f64)> {
    let mut by_slice: Vec<Vec<f64>> = vec![Vec::new(); a.slices.len()];
    for (a, b) in a.common(b).filter(|(a, b)| a.latency > 0.0 && b.latency > 0.0) {
        by_slice[a.slice as usize].push(a.latency / b.latency);
    }
    let enough = (0..).zip(&mut by_slice).filter(|(_, ratios)| ratios.len() >= points);
    enough.map(|(slice, ratios)| (slice, upper_median(ratios))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::compare::sketch::SketchPoint;

    #[test]
    fn relative_latencies_are_medians_over_shared_points() {
        let sketch = |factor: f64, slices: u16| Sketch {
            rows: 60,
            keys: 60,
            points: (0..60)
                .map(|i| SketchPoint::new(i, factor * (1 + i) as f64, i as u16 % slices))
                .collect(),
            slices: (0..slices).map(|s| [("dtype".to_owned(), s.to_string())].into()).collect(),
            end: u64::MAX,
            ..Sketch::default()
        };
        let ratios = medians(&sketch(1000.0, 2), &sketch(1.0, 1), 20)
            .into_iter()
            .map(|(_, ratio)| ratio)
            .collect::<Vec<_>>();
        assert_eq!(ratios, [1000.0, 1000.0]);
        assert!(
            medians(&sketch(1.0, 60), &sketch(1.0, 1), 20).is_empty(),
            "one point a slice is too few"
        );
    }
}
