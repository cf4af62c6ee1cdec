//! Comparison of a table with its references: the keys that they have, and whether the table would serve them.

use std::collections::{BTreeMap, BTreeSet};

use super::grid::{KeyGrid, KeyState};
use crate::base::words::count;
use crate::checks::compare::sketch::{Sketch, Slice};
use crate::checks::context::CrossContext;
use crate::database::catalog::TableFile;
use crate::database::coverage::{CoveredPoints, KeyCoverage};
use crate::database::served::SystemKinship;
use crate::database::sidecar::TableMeta;
use crate::specs::{Filling, KeyPart, TableSpec};

/// A table that the judged table is compared with.
#[derive(Debug)]
pub(crate) struct KeyReference<'a> {
    /// The reference's system; `None` if the reference is another version on the judged table's system.
    pub system: Option<&'a str>,
    /// The reference's version.
    pub version: &'a str,
    /// The sketches of the files from which the loader serves the reference's keys.
    pub sketches: Vec<&'a Sketch>,
}

/// A sampled key that references have.
#[derive(Debug)]
pub(crate) struct ReferenceKey<'a> {
    /// The references that have the key, by index.
    pub had_by: BTreeSet<usize>,
    /// True if the judged table would serve the key.
    pub is_served: bool,
    /// The sample from which the values of the key's parts are read, and the key's index in this sample.
    sampled: (&'a KeyCoverage, u32),
}

/// A table, its references and their sampled keys.
pub(crate) struct HoleComparison<'a> {
    /// The database that the table is a part of.
    pub at: &'a CrossContext<'a>,
    /// The table's spec.
    pub spec: &'a TableSpec,
    /// The judged table.
    pub file: &'a TableFile,
    /// The slices that the judged table serves.
    pub own_slices: Vec<&'a Slice>,
    /// The references: first the nearest systems, then other versions.
    pub references: Vec<KeyReference<'a>>,
    /// The sampled keys that at least half of the reference systems or at least half of the other versions have. They
    /// are restricted to hashes for which every table's sample is complete.
    pub keys: Vec<ReferenceKey<'a>>,
    /// The share of the tables' keys that the samples contain; 1 if they contain all keys.
    pub share: f64,
    /// True if all reference systems are of other GPU generations than the judged table's system.
    pub is_distant: bool,
    /// The reason why all missing keys may be intended; `None` without such a reason.
    pub caveat: Option<String>,
}

impl<'a> HoleComparison<'a> {
    /// Compares a table with its references. Returns `None` if the table serves no keys, or if a later version
    /// supersedes the table's version. Missing keys are reported only for the current version.
    pub(crate) fn new(at: &'a CrossContext<'a>, file: &'a TableFile) -> Option<Self> {
        let spec = at.state.specs.tables.get(&file.table)?;
        let editions = at.shelf.editions(file)?;
        let current = at.shelf.current(&file.place.system, editions)?;
        if current.files[0].entry.path != file.entry.path {
            return None;
        }
        let served: Vec<&TableFile> = at.shelf.served(spec, current).files().collect();
        let own = at.sketches.of(served.iter().copied());
        if !has_points(&own) {
            return None;
        }
        let (kinship, near) = at.shelf.peers_of(file);
        let is_distant = kinship == SystemKinship::SameVersion;
        let mut references = Vec::new();
        let mut files = Vec::new();
        for (system, _, edition) in near {
            files.extend(edition.files.iter().copied());
            let sketches = at.sketches.of(at.shelf.served(spec, edition).fresh());
            let version = edition.version;
            references.push(KeyReference { system: Some(system), version, sketches });
        }
        if spec.filling != Filling::Always {
            for edition in at.shelf.other_versions(editions, current.version) {
                files.extend(edition.files.iter().copied());
                let sketches = at.sketches.of(edition.files.iter().copied());
                let version = edition.version;
                references.push(KeyReference { system: None, version, sketches });
            }
        }
        references.retain(|reference| has_points(&reference.sketches));

        let kernels = Kernels::new(spec, &own, &references);
        let end = least_end(&own, &references);
        let mut keys =
            reference_keys(&own, &references, |slice| kernels.are_comparable(slice, is_distant));
        keys.retain(|key| key.is_usual(&references, is_distant));
        let unread = served.iter().find(|f| !at.sketches.by_path.contains_key(&f.entry.path));
        let caveat = if at.partial(file) {
            Some("the sidecar says status: partial".to_owned())
        } else if have_other_plans(at, file, &files) {
            Some("the sidecars state other plans of cases (case_plan_hash)".to_owned())
        } else {
            unread.map(|f| format!("{} cannot be read", f.entry.path))
        };
        let share = end as f64 / u64::MAX as f64;
        let own_slices = own.iter().flat_map(|sketch| &sketch.slices).collect();
        Some(Self { at, spec, file, own_slices, references, keys, share, is_distant, caveat })
    }

    /// Counts the sampled keys that the table would not serve.
    pub(crate) fn missing(&self) -> usize {
        self.keys.iter().filter(|key| !key.is_served).count()
    }

    /// Converts a number of sampled keys to the estimated number of all keys.
    pub(crate) fn estimate(&self, sampled: usize) -> usize {
        (sampled as f64 / self.share).round() as usize
    }

    /// Formats a number of keys. An estimate is rounded to two digits: `about 1,200`.
    pub(crate) fn about(&self, keys: usize) -> String {
        if self.share >= 1.0 {
            return count(keys);
        }
        let unit = 10_usize.pow(keys.max(1).ilog10().saturating_sub(1));
        format!("about {}", count((keys + unit / 2) / unit * unit))
    }

    /// The names of the references, joined with commas.
    pub(crate) fn names(&self) -> String {
        self.references.iter().map(KeyReference::name).collect::<Vec<_>>().join(", ")
    }

    /// Returns the sampled keys as a grid: the values of each key's parts, and whether the table would serve the key.
    pub(crate) fn grid(&self) -> KeyGrid {
        let sampled: Vec<_> = self.keys.iter().map(|key| key.sampled).collect();
        let state = |key: &ReferenceKey<'_>| {
            if key.is_served { KeyState::Served } else { KeyState::Missing }
        };
        KeyGrid {
            points: CoveredPoints::new(self.spec, &sampled),
            states: self.keys.iter().map(state).collect(),
        }
    }
}

impl KeyReference<'_> {
    /// The name of the reference in messages: `h100_sxm 0.5.14`, or the version alone.
    pub(crate) fn name(&self) -> String {
        match self.system {
            Some(system) => format!("{system} {}", self.version),
            None => self.version.to_owned(),
        }
    }
}

impl ReferenceKey<'_> {
    /// Returns the index of the key's row in the table of the first reference that has the key.
    pub(crate) fn row(&self) -> u32 {
        let (coverage, point) = self.sampled;
        coverage.row(point as usize)
    }

    /// Returns true if the key is usual among the references: at least half of the reference systems have it, or at
    /// least half of the other versions. If the systems are of other GPU generations (`is_distant`), there must be
    /// several of them, and all must have the key.
    fn is_usual(&self, references: &[KeyReference<'_>], is_distant: bool) -> bool {
        let is_system = |reference: &KeyReference<'_>| reference.system.is_some();
        let systems = references.iter().filter(|reference| is_system(reference)).count();
        let having = self.had_by.iter().filter(|i| is_system(&references[**i])).count();
        let is_half = |having: usize, of: usize| having > 0 && 2 * having >= of;
        is_half(self.had_by.len() - having, references.len() - systems)
            || (if is_distant {
                systems > 1 && having == systems
            } else {
                is_half(having, systems)
            })
    }
}

/// Returns true if the table was measured with another plan (list of cases to measure) than each of its references.
/// Plans are compared by the `case_plan_hash` in the sidecars. Returns false if a sidecar lacks the hash.
fn have_other_plans(at: &CrossContext<'_>, file: &TableFile, references: &[&TableFile]) -> bool {
    let plans = |file: &TableFile| at.sidecar(file).map(TableMeta::plans).unwrap_or_default();
    let own = plans(file);
    let is_other = |reference: &&TableFile| {
        let other = plans(reference);
        !other.is_empty() && own.is_disjoint(&other)
    };
    !own.is_empty() && references.iter().all(is_other)
}

fn has_points(sketches: &[&Sketch]) -> bool {
    sketches.iter().any(|sketch| !sketch.points.is_empty())
}

fn has(sketch: &Sketch, hash: u64) -> bool {
    sketch.points.binary_search_by_key(&hash, |point| point.hash).is_ok()
}

/// Returns the end of the hash range that all samples cover: up to this hash, every sketch contains all keys of its
/// table.
fn least_end(own: &[&Sketch], references: &[KeyReference<'_>]) -> u64 {
    let sketches = references.iter().flat_map(|r| &r.sketches).chain(own);
    sketches.map(|sketch| sketch.end).min().unwrap_or(0)
}

/// Lists the keys of the references, sorted by hash. Only slices for which `is_comparable` returns true count. `own`
/// contains the sketches of the files from which the loader serves the judged table's keys.
fn reference_keys<'a>(
    own: &[&Sketch],
    references: &[KeyReference<'a>],
    is_comparable: impl Fn(&Slice) -> bool,
) -> Vec<ReferenceKey<'a>> {
    let end = least_end(own, references);
    let mut all = Vec::new();
    for (reference, KeyReference { sketches, .. }) in references.iter().enumerate() {
        for sketch in sketches {
            let comparable: Vec<bool> = sketch.slices.iter().map(&is_comparable).collect();
            let points = (0..).zip(&sketch.points).take_while(|(_, point)| point.hash <= end);
            for (index, point) in points.filter(|(_, p)| comparable[usize::from(p.slice)]) {
                all.push((point.hash, reference, (&sketch.coverage, index)));
            }
        }
    }
    all.sort_by_key(|(hash, ..)| *hash);
    let same_key = all.chunk_by(|(a, ..), (b, ..)| a == b);
    let key = |same: &[(u64, usize, (&'a KeyCoverage, u32))]| {
        let (hash, _, sampled) = same[0];
        let had_by = same.iter().map(|(_, reference, _)| *reference).collect();
        ReferenceKey { had_by, is_served: own.iter().any(|sketch| has(sketch, hash)), sampled }
    };
    same_key.map(key).collect()
}

/// The texts that define a slice, by name: first those that name its kernel, then all others, such as the dtype.
type KernelSlice<'a> = (BTreeMap<&'a str, &'a str>, BTreeMap<&'a str, &'a str>);

/// The kernels that a table and its references have.
struct Kernels<'a> {
    /// The key parts that name a kernel.
    parts: BTreeSet<&'a str>,
    /// The table's slices.
    own: BTreeSet<KernelSlice<'a>>,
    /// The slices of each reference.
    references: Vec<BTreeSet<KernelSlice<'a>>>,
}

impl<'a> Kernels<'a> {
    fn new(spec: &'a TableSpec, own: &[&'a Sketch], references: &[KeyReference<'a>]) -> Self {
        let names_kernel = |part: &&KeyPart| part.value.columns() == ["kernel_source"];
        let parts: BTreeSet<&str> =
            spec.key.iter().filter(names_kernel).map(|part| part.name.as_str()).collect();
        let slices = |sketches: &[&'a Sketch]| {
            let slices = sketches.iter().flat_map(|sketch| &sketch.slices);
            slices.map(|slice| split(slice, &parts)).collect()
        };
        let own = slices(own);
        let references = references.iter().map(|reference| slices(&reference.sketches)).collect();
        Self { parts, own, references }
    }

    /// Returns true if a reference's slice can also be expected in the judged table. Returns false in two cases:
    /// - The table runs another kernel in place of the slice's kernel, and no reference runs both.
    /// - The references are of other GPU generations (`is_distant`), and the table has no slice of this kernel.
    fn are_comparable(&self, slice: &Slice, is_distant: bool) -> bool {
        let slice = split(slice, &self.parts);
        let run_together = |own: &KernelSlice<'_>| {
            self.references.iter().any(|all| all.contains(own) && all.contains(&slice))
        };
        let replaces = |own: &&KernelSlice<'_>| own.1 == slice.1 && !run_together(own);
        let is_replaced = !self.own.contains(&slice) && self.own.iter().any(|own| replaces(&own));
        !is_replaced && (!is_distant || self.own.iter().any(|own| own.0 == slice.0))
    }
}

fn split<'a>(slice: &'a Slice, kernel_parts: &BTreeSet<&str>) -> KernelSlice<'a> {
    let texts = slice.iter().map(|(name, text)| (name.as_str(), text.as_str()));
    texts.partition(|(name, _)| kernel_parts.contains(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::compare::sketch::SketchPoint;

    fn sketch(hashes: &[u64], end: u64) -> Sketch {
        let points = hashes.iter().map(|h| SketchPoint::new(*h, 1.0, 0)).collect();
        Sketch { points, slices: vec![Slice::new()], end, ..Sketch::default() }
    }

    fn missing(keys: &[ReferenceKey<'_>]) -> Vec<usize> {
        (0..keys.len()).filter(|i| !keys[*i].is_served).collect()
    }

    #[test]
    fn a_key_is_missing_if_references_have_it_and_no_source_serves_it() {
        let (own, donor) = (sketch(&[1, 5], u64::MAX), sketch(&[2, 9], u64::MAX));
        let (a, b) = (sketch(&[1, 2, 3, 5], u64::MAX), sketch(&[3, 4], u64::MAX));
        let reference = |system, sketch| KeyReference {
            system: Some(system),
            version: "1",
            sketches: vec![sketch],
        };
        let references = [reference("a", &a), reference("b", &b)];
        let mut keys = reference_keys(&[&own, &donor], &references, |_| true);
        assert_eq!((keys.len(), missing(&keys)), (5, vec![2, 3]));
        let had_by: Vec<Vec<usize>> =
            keys.iter().map(|key| key.had_by.iter().copied().collect()).collect();
        assert_eq!(had_by, [vec![0], vec![0], vec![0, 1], vec![1], vec![0]]);
        keys.retain(|key| key.is_usual(&references, true));
        assert_eq!((keys.len(), missing(&keys)), (1, vec![0]), "both have the third alone");
    }

    #[test]
    fn keys_beyond_the_shorter_sketch_are_not_missing() {
        let own = sketch(&[1], 10);
        let other = sketch(&[1, 7, 20], u64::MAX);
        let reference = KeyReference { system: None, version: "2", sketches: vec![&other] };
        let keys = reference_keys(&[&own], &[reference], |_| true);
        assert_eq!((keys.len(), missing(&keys)), (2, vec![1]));
    }
}
