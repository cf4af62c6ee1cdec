//! The sampled keys of the references, and which of them a table would serve.

use std::collections::{BTreeMap, BTreeSet};

use crate::checks::compare::sketch::{Sketch, Slice};
use crate::database::coverage::CoveredPoints;
use crate::specs::{KeyPart, TableSpec};

/// A table that another one is compared with.
#[derive(Debug)]
pub struct Reference<'a> {
    /// The system, where it is another one.
    pub system: Option<&'a str>,
    /// The version.
    pub version: &'a str,
    /// What is known of its files.
    pub sketches: Vec<&'a Sketch>,
}

impl Reference<'_> {
    /// For people: `h100_sxm 0.5.14`, or the version alone.
    pub fn name(&self) -> String {
        match self.system {
            Some(system) => format!("{system} {}", self.version),
            None => self.version.to_owned(),
        }
    }
}

/// The mark of a reference. This many can be distinguished; further ones count as the last one.
fn bit(reference: usize) -> u64 {
    1 << reference.min(63)
}

/// A reference's point.
#[derive(Debug, Clone, Copy)]
struct ReferencePoint<'a> {
    hash: u64,
    /// The references that have it, a bit each.
    had_by: u64,
    sketch: &'a Sketch,
    point: u32,
    served: bool,
}

impl<'a> ReferencePoint<'a> {
    fn slice(&self) -> &'a Slice {
        let sketch: &'a Sketch = self.sketch;
        &sketch.slices[sketch.points[self.point as usize].slice as usize]
    }
}

/// The points that references have, as far as all sketches concerned would hold them, so that a
/// point that is not found is missing for certain.
#[derive(Debug)]
pub struct ReferencePoints<'a> {
    points: Vec<ReferencePoint<'a>>,
    /// CoveredPoints that the table would not serve.
    pub missing: usize,
    /// Share of all keys that these points are; 1 where they are all.
    pub share: f64,
}

impl ReferencePoint<'_> {
    /// Takes in who has a point of the same key; whether it is one.
    fn takes_in(&mut self, other: &Self) -> bool {
        let same = self.hash == other.hash;
        if same {
            self.had_by |= other.had_by;
        }
        same
    }
}

impl<'a> ReferencePoints<'a> {
    /// Compares what some sketches serve together with what references have.
    pub fn new(served: &[&'a Sketch], references: &[Reference<'a>]) -> Self {
        let sketches = references.iter().flat_map(|r| &r.sketches);
        let end = sketches.chain(served).map(|s| s.end).min().unwrap_or(0);
        let mut all: Vec<ReferencePoint<'a>> = Vec::new();
        for (i, reference) in references.iter().enumerate() {
            for sketch in &reference.sketches {
                let had_by = bit(i);
                let points = sketch.points.iter().take_while(|p| p.hash <= end);
                for (point, hash) in (0..).zip(points.map(|p| p.hash)) {
                    all.push(ReferencePoint { hash, had_by, sketch, point, served: false });
                }
            }
        }
        // A few sorted runs, which a stable sort merges.
        all.sort_by_key(|m| m.hash);
        all.dedup_by(|next, first| first.takes_in(next));
        for sketch in served {
            let mut own = sketch.points.iter().map(|p| p.hash).peekable();
            for m in &mut all {
                while own.next_if(|hash| *hash < m.hash).is_some() {}
                m.served |= own.peek() == Some(&m.hash);
            }
        }
        let mut found = Self { points: all, missing: 0, share: end as f64 / u64::MAX as f64 };
        found.count();
        found
    }

    /// Keeps the points that all of several other systems have, and those of other versions: of
    /// machines that are less alike, what they agree on counts.
    pub fn shared_by_systems(&mut self, references: &[Reference<'_>]) {
        let systems = references.iter().enumerate().filter(|(_, r)| r.system.is_some());
        let all = systems.fold(0, |all, (i, _)| all | bit(i));
        let several = all.count_ones() > 1;
        self.points.retain(|m| m.had_by & !all != 0 || (several && m.had_by & all == all));
        self.count();
    }

    /// Drops points of kernels for which the table has another one: where it serves, in a slice that is
    /// the same except for the kernel, one that no reference has there, its machine runs that instead.
    pub fn of_other_kernels(
        &mut self,
        spec: &TableSpec,
        own: &[&'a Sketch],
        references: &[Reference<'a>],
    ) {
        let parts = kernel_parts(spec);
        if parts.is_empty() {
            return;
        }
        let own = kernels_by_rest(own.iter().copied(), &parts);
        let known = kernels_by_rest(references.iter().flat_map(|r| &r.sketches).copied(), &parts);
        let none = BTreeSet::new();
        let replaced = |slice: &'a Slice| {
            let (rest, kernel) = without(slice, &parts);
            let has = own.get(&rest).unwrap_or(&none);
            !has.contains(&kernel) && !has.is_subset(known.get(&rest).unwrap_or(&none))
        };
        self.retain_slices(|slice| !replaced(slice));
    }

    /// Keeps the points of the slices that `keep` holds for. Slices are few and points many, so that
    /// each slice is looked at once.
    fn retain_slices(&mut self, keep: impl Fn(&'a Slice) -> bool) {
        let mut kept: BTreeMap<*const Slice, bool> = BTreeMap::new();
        self.points.retain(|point| {
            let slice = point.slice();
            *kept.entry(slice).or_insert_with(|| keep(slice))
        });
        self.count();
    }

    /// Keeps the points of kernels that the table has itself: another machine's kernels are its own.
    pub fn of_kernels(&mut self, spec: &TableSpec, own: &[&'a Sketch]) {
        let parts = kernel_parts(spec);
        if parts.is_empty() {
            return;
        }
        let kernels = |slice: &'a Slice| parts.iter().map(|p| slice.get(*p)).collect::<Vec<_>>();
        let known: BTreeSet<Vec<Option<&String>>> =
            own.iter().flat_map(|s| &s.slices).map(kernels).collect();
        self.retain_slices(|slice| known.contains(&kernels(slice)));
    }

    fn count(&mut self) {
        self.missing = self.points.iter().filter(|m| !m.served).count();
    }

    /// How many points there are.
    pub fn len(&self) -> usize {
        self.points.len()
    }

    /// Whether the table would serve a point.
    pub fn served(&self, point: usize) -> bool {
        self.points[point].served
    }

    /// The references that have a point, a bit each.
    pub fn had_by(&self, point: usize) -> u64 {
        self.points[point].had_by
    }

    /// Whether a reference, by its index, has a point.
    pub fn has(&self, reference: usize, point: usize) -> bool {
        self.points[point].had_by & bit(reference) != 0
    }

    /// A point's row in a reference that has it.
    pub fn row(&self, point: usize) -> u32 {
        let point = self.points[point];
        point.sketch.coverage.row(point.point as usize)
    }

    /// Keys that this many points stand for.
    pub fn keys(&self, points: usize) -> usize {
        (points as f64 / self.share).round() as usize
    }

    /// The points with their keys.
    pub fn with_keys(&self, spec: &TableSpec) -> CoveredPoints {
        let points: Vec<_> = self.points.iter().map(|m| (&m.sketch.coverage, m.point)).collect();
        CoveredPoints::new(spec, &points)
    }
}

/// The parts of a table's key that name a kernel.
fn kernel_parts(spec: &TableSpec) -> Vec<&str> {
    let reads = |part: &&KeyPart| part.value.columns().contains(&"kernel_source");
    spec.key.iter().filter(reads).map(|p| p.name.as_str()).collect()
}

/// The names of a slice but its kernels, and these.
type KernelSlice<'a> = (Vec<(&'a str, &'a str)>, Vec<&'a str>);

/// Takes a slice's kernels apart from the rest of it.
fn without<'a>(slice: &'a Slice, parts: &[&str]) -> KernelSlice<'a> {
    let is_kernel = |name: &str| parts.contains(&name);
    let rest = slice.iter().filter(|(name, _)| !is_kernel(name));
    let kernels = slice.iter().filter(|(name, _)| is_kernel(name));
    (
        rest.map(|(name, text)| (name.as_str(), text.as_str())).collect(),
        kernels.map(|(_, text)| text.as_str()).collect(),
    )
}

/// The kernels that tables have, by the rest of their slices.
fn kernels_by_rest<'a>(
    sketches: impl Iterator<Item = &'a Sketch>,
    parts: &[&str],
) -> BTreeMap<Vec<(&'a str, &'a str)>, BTreeSet<Vec<&'a str>>> {
    let mut found: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
    for slice in sketches.flat_map(|s| &s.slices) {
        let (rest, kernels) = without(slice, parts);
        found.entry(rest).or_default().insert(kernels);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::compare::sketch::SketchPoint;

    fn sketch(hashes: &[u64], end: u64) -> Sketch {
        let points = hashes.iter().map(|h| SketchPoint::new(*h, 1.0, 0)).collect();
        Sketch { points, slices: vec![Slice::new()], end, ..Sketch::default() }
    }

    #[test]
    fn missing_is_what_references_have_and_no_source_serves() {
        let (own, donor) = (sketch(&[1, 5], u64::MAX), sketch(&[2, 9], u64::MAX));
        let (a, b) = (sketch(&[1, 2, 3, 5], u64::MAX), sketch(&[3, 4], u64::MAX));
        let reference = |system, sketch| Reference {
            system: Some(system),
            version: "1",
            sketches: vec![sketch],
        };
        let found =
            ReferencePoints::new(&[&own, &donor], &[reference("a", &a), reference("b", &b)]);
        let points = || 0..found.len();
        let missing: Vec<usize> = points().filter(|p| !found.served(*p)).collect();
        assert_eq!((found.len(), found.missing, &missing[..]), (5, 2, &[2, 3][..]));
        assert_eq!(points().map(|p| found.had_by(p)).collect::<Vec<_>>(), [1, 1, 3, 2, 1]);
        let mut shared = found;
        shared.shared_by_systems(&[reference("a", &a), reference("b", &b)]);
        assert_eq!((shared.len(), shared.missing), (1, 1), "both have the third alone");
    }

    #[test]
    fn beyond_the_least_end_nothing_is_known() {
        let own = sketch(&[1], 10);
        let other = sketch(&[1, 7, 20], u64::MAX);
        let reference = Reference { system: None, version: "2", sketches: vec![&other] };
        let found = ReferencePoints::new(&[&own], &[reference]);
        assert_eq!((found.len(), found.missing), (2, 1));
    }
}
