//! How many times as long as its peers a table takes, by slice.

use std::collections::{BTreeMap, BTreeSet};

use crate::base::stats::upper_median;
use crate::checks::compare::sketch::{Sketch, Sketches, Slice};
use crate::database::catalog::{Catalog, TableFile};

/// The median latency of each slice over that of each reference: every other backend is a reference,
/// the versions of the table's own backend are one together, and so are the [`NEARBY`] systems.
pub type RelativeLatencies = BTreeMap<Slice, BTreeMap<String, f64>>;

/// The name of the systems nearby, as a reference beside the backends.
pub const NEARBY: &str = "other systems";

/// The name of the versions of the table's own backend that name other kernels for a slice.
pub const OTHER_KERNELS: &str = "versions with another kernel";

/// What peers are taken for comparison.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct PeerTerms {
    /// Points that a slice and its peer must share.
    pub points: usize,
    /// Kernels that say nothing of which ran. None where versions are compared whatever they ran.
    pub unnamed: Option<Vec<String>>,
}

impl PeerTerms {
    /// Whether two tables name kernels for a slice, and not one that both do.
    fn other_kernels(&self, a: &Sketch, b: &Sketch, slice: &Slice) -> bool {
        let Some(unnamed) = &self.unnamed else { return false };
        let named = |sketch: &Sketch| -> BTreeSet<String> {
            let kernels = sketch.kernels_of(slice).into_iter().flatten();
            kernels.filter(|k| !unnamed.contains(k)).cloned().collect()
        };
        let (a, b) = (named(a), named(b));
        !a.is_empty() && !b.is_empty() && a.is_disjoint(&b)
    }
}

/// Ratios by table, slice and reference, before their median.
#[derive(Default)]
struct PeerRatios<'a>(BTreeMap<&'a str, BTreeMap<&'a Slice, BTreeMap<&'a str, Vec<f64>>>>);

impl<'a> PeerRatios<'a> {
    fn add(&mut self, of: &'a TableFile, slice: &'a Slice, over: &'a str, ratio: f64) {
        let slices = self.0.entry(&of.entry.path).or_default();
        slices.entry(slice).or_default().entry(over).or_default().push(ratio);
    }

    fn medians(self) -> BTreeMap<String, RelativeLatencies> {
        let middle =
            |(name, mut ratios): (&str, Vec<f64>)| (name.to_owned(), upper_median(&mut ratios));
        let slices = |(slice, refs): (&Slice, BTreeMap<&str, Vec<f64>>)| {
            (slice.clone(), refs.into_iter().map(middle).collect())
        };
        let tables = self.0.into_iter();
        tables.map(|(path, own)| (path.to_owned(), own.into_iter().map(slices).collect())).collect()
    }
}

/// The relative latencies of each table's slices, by the table's path.
pub fn relative_latencies(
    catalog: &Catalog,
    sketches: &Sketches,
    terms: &PeerTerms,
) -> BTreeMap<String, RelativeLatencies> {
    let points = terms.points;
    let mut all = PeerRatios::default();
    let mut peers: BTreeMap<(&str, &str), Vec<Sketched<'_>>> = BTreeMap::new();
    // What has fewer points than a slice must share has no median, and there may be many such.
    for one in sketched(catalog, sketches).filter(|(_, s)| s.points.len() >= points) {
        peers.entry((&one.0.place.system, &one.0.table)).or_default().push(one);
    }
    for (a, b, slices) in peers.values().flat_map(|files| pairs(files, points)) {
        for (slice, ratio) in slices {
            let same = a.0.place.backend == b.0.place.backend;
            let other = same && terms.other_kernels(a.1, b.1, slice);
            all.add(a.0, slice, reference(b.0, other), ratio);
            all.add(b.0, slice, reference(a.0, other), 1.0 / ratio);
        }
    }
    nearby(catalog, sketches, points, &mut all);
    all.medians()
}

/// What a table is, as a reference of another.
fn reference(file: &TableFile, other_kernels: bool) -> &str {
    if other_kernels { OTHER_KERNELS } else { &file.place.backend }
}

/// A table and what is known of its rows.
type Sketched<'a> = (&'a TableFile, &'a Sketch);
/// Two tables, and the latency of the first over the second by slice.
type TablePair<'a> = (Sketched<'a>, Sketched<'a>, Vec<(&'a Slice, f64)>);

fn sketched<'a>(
    catalog: &'a Catalog,
    sketches: &'a Sketches,
) -> impl Iterator<Item = Sketched<'a>> {
    catalog.tables.iter().filter_map(|f| Some((f, sketches.by_path.get(&f.entry.path)?)))
}

fn pairs<'a>(files: &[Sketched<'a>], points: usize) -> Vec<TablePair<'a>> {
    let mut found = Vec::new();
    for (i, a) in files.iter().enumerate() {
        for b in &files[i + 1..] {
            found.push((*a, *b, medians(a.1, b.1, points)));
        }
    }
    found
}

/// Adds the same version on the other systems of a generation. What the machines differ by is the
/// middle of what their tables of that version differ by, and taken out.
fn nearby<'a>(
    catalog: &'a Catalog,
    sketches: &'a Sketches,
    points: usize,
    all: &mut PeerRatios<'a>,
) {
    /// Tables that show how two machines differ.
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
        let mut machines: BTreeMap<(&str, &str), Vec<TablePair<'a>>> = BTreeMap::new();
        for pair in tables.values().flat_map(|files| pairs(files, points)) {
            let systems = (pair.0.0.place.system.as_str(), pair.1.0.place.system.as_str());
            machines.entry(systems).or_default().push(pair);
        }
        for tables in machines.into_values() {
            let shared = tables.iter().filter(|(.., slices)| !slices.is_empty());
            let mut ratios: Vec<f64> = shared
                .map(|(.., slices)| {
                    upper_median(&mut slices.iter().map(|(_, r)| *r).collect::<Vec<_>>())
                })
                .collect();
            if ratios.len() < TABLES {
                continue;
            }
            let machine = upper_median(&mut ratios);
            for (a, b, slices) in tables {
                for (slice, ratio) in slices {
                    all.add(a.0, slice, NEARBY, ratio / machine);
                    all.add(b.0, slice, NEARBY, machine / ratio);
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
                .map(|i| SketchPoint {
                    hash: i,
                    latency: factor * (1 + i) as f64,
                    slice: i as u16 % slices,
                })
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
