//! Stubs: tables or slices with hardly any keys of their own, whatever other files are served with them.
//!
//! The size of a table is compared with that of other versions on its system and on systems of its generation, and
//! with that of all other tables of its name and backend. A table of keys that earlier versions do not have is an
//! addition, which may be small.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::base::stats::upper_median;
use crate::base::words::{count, names, plural};
use crate::checks::compare::peers::Kinship;
use crate::checks::compare::sketch::{Sketch, SketchedTable, Slice, keys, slice_id, slice_name};
use crate::checks::{CrossContext, RuleHead};
use crate::database::catalog::TableFile;
use crate::database::served::Served;
use crate::findings::{Finding, Severity, SliceEvidence};
use crate::specs::Filling;

/// Limits for a table's number of keys, compared with other tables of its name and backend.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct StubSize {
    /// A table is a stub only if its number of keys is below this share of the median number of keys per other table.
    median: f64,
    /// A table is a stub only if it has fewer keys than this share of k, where nine of ten other tables have more than
    /// k keys.
    tenth: f64,
    /// At least this many other tables are needed to judge a table.
    tables: usize,
    /// A table counts as an addition, and not as a stub, if earlier versions lack at least this share of its keys.
    addition: f64,
}

/// A stub: a slice or a whole table that has far fewer keys than in other tables.
struct Stub<'a> {
    /// The slice that is a stub; `None` if the whole table is one.
    slice: Option<&'a Slice>,
    own: usize,
    median: usize,
    others: usize,
}

impl StubSize {
    /// Returns a finding on the stubs of a table; `None` if the table has no stubs.
    pub(crate) fn finding(
        &self,
        rule: RuleHead<'_>,
        at: &CrossContext<'_>,
        file: &TableFile,
    ) -> Option<Finding> {
        let own = at.sketches.get(&file.entry.path).filter(|sketch| sketch.keys > 0)?;
        let table = (file, own);
        let kinships: Vec<Option<Kinship>> = at.peers.kinships(file).collect();
        let generation = at.peers.generation(&file.place.system);
        let is_near =
            |((other, _), kinship): (&SketchedTable<'_>, &Option<Kinship>)| match kinship {
                Some(Kinship::Version) => true,
                Some(Kinship::System) => generation
                    .is_some_and(|own| at.peers.generation(&other.place.system) == Some(own)),
                Some(Kinship::Backend | Kinship::Name) | None => false,
            };
        let near: Vec<bool> = at.peers.tables.iter().zip(&kinships).map(is_near).collect();
        let is_of_backend =
            |kinship: &_| matches!(kinship, Some(Kinship::Version | Kinship::System));
        let mut others: Vec<bool> = kinships.iter().map(is_of_backend).collect();
        if others.iter().filter(|is_of_backend| **is_of_backend).count() < self.tables {
            others = kinships.iter().map(Option::is_some).collect();
        }
        let mut stubs = self.stubs(at, table, &near);
        if stubs.is_empty() && !self.is_small_plan(at, &near, &others) {
            stubs = self.stubs(at, table, &others);
        }
        if stubs.is_empty() {
            return None;
        }
        let said: Vec<String> = stubs.iter().take(3).map(Stub::say).collect();
        let mut message = said.join("; ");
        if stubs.len() > said.len() {
            message +=
                &format!("; {} more have too few keys", plural(stubs.len() - said.len(), "slice"));
        }
        let spec = at.state.specs.tables.get(&file.table)?;
        let served = at.shelf.sources(&file.place, &file.table, spec.filling);
        let sketches = at.sketches.of(served.clone().files());
        message += &filled(&served, &sketches);
        // A table that the loader fills from other files may be small by design.
        let is_filled = stubs.iter().all(|stub| 2 * stub.served(&sketches) >= stub.median);
        let most = if is_filled { Severity::Info } else { Severity::Warning };
        let mut severity = rule.severity.at_most(most);
        let editions = at.shelf.editions(file)?;
        let current = at.shelf.current(&file.place.system, editions)?;
        if at.partial(file) {
            message += "; the sidecar says status: partial";
            severity = severity.at_most(Severity::Info);
        } else if current.version != file.place.version {
            message += &format!("; version {} supersedes this one", current.version);
            severity = severity.at_most(Severity::Info);
        }
        let slices = stubs.iter().filter_map(|s| {
            let figure = ("keys".into(), serde_json::json!([s.own, s.median]));
            Some(SliceEvidence { slice: s.slice?.clone(), figure })
        });
        let finding = Finding::on_table(rule.id, severity, file, message)
            .rows(stubs.iter().map(|s| s.own).sum())
            .parts(stubs.iter().map(|s| s.slice.map_or_else(String::new, slice_id)))
            .evidence("own_keys", own.keys)
            .slices(slices);
        Some(finding)
    }

    /// Returns true if a table seems to be small on purpose, because a similar table also has far fewer keys than the
    /// median table. `near` and `others` contain one flag for each readable table: whether the table is similar (such
    /// as another version), and whether it counts for the median.
    fn is_small_plan(&self, at: &CrossContext<'_>, near: &[bool], others: &[bool]) -> bool {
        if !near.contains(&true) {
            return false;
        }
        let mut keys: Vec<f64> = sizes(at, others).map(|keys| keys as f64).collect();
        let median = upper_median(&mut keys);
        sizes(at, near).any(|keys| (keys as f64) < self.median * median)
    }

    /// Returns the stubs of a table: the table itself if it is a stub, otherwise its slices that are stubs. The table
    /// is compared with the readable tables whose flag in `others` is true. Additions are left out.
    fn stubs<'t>(
        &self,
        at: &CrossContext<'_>,
        table: SketchedTable<'t>,
        others: &[bool],
    ) -> Vec<Stub<'t>> {
        if let Some(stub) = self.stub(None, table.1.keys, sizes(at, others).collect()) {
            return if self.adds(at, table, None) { Vec::new() } else { vec![stub] };
        }
        let own = table.1.slices.iter().zip(0..table.1.counts.len());
        let stub = |(slice, index): (&'t Slice, usize)| {
            let others = at.peers.with_slice(slice).filter(|(other, _)| others[*other]);
            let size = |(other, index): (usize, usize)| at.peers.tables[other].1.slice_keys(index);
            let sizes = others.map(size).collect();
            let stub = self.stub(Some(slice), table.1.slice_keys(index), sizes)?;
            (!self.adds(at, table, Some(index))).then_some(stub)
        };
        let mut found: Vec<Stub<'t>> = own.filter_map(stub).collect();
        found.sort_by_key(|stub| stub.slice);
        found
    }

    fn stub<'t>(
        &self,
        slice: Option<&'t Slice>,
        own: usize,
        mut others: Vec<usize>,
    ) -> Option<Stub<'t>> {
        if others.is_empty() || others.len() < self.tables {
            return None;
        }
        others.sort_unstable();
        let tenth = others[others.len() / 10] as f64;
        let median = others[others.len() / 2];
        let few = (own as f64) < self.median * median as f64 && (own as f64) < self.tenth * tenth;
        few.then_some(Stub { slice, own, median, others: others.len() })
    }

    /// Returns true if the table is an addition: most of its keys are not in earlier versions. With `slice`, only the
    /// keys of the slice with this index count.
    fn adds(
        &self,
        at: &CrossContext<'_>,
        (file, own): SketchedTable<'_>,
        slice: Option<usize>,
    ) -> bool {
        // `Filling::Always` finds earlier versions even of tables that versions do not share.
        let served = at.shelf.sources(&file.place, &file.table, Filling::Always);
        let earlier = at.sketches.of(served.donors.iter().chain(&served.earlier).copied());
        let end = earlier.iter().map(|s| s.end).fold(own.end, u64::min);
        let known: BTreeSet<u64> =
            earlier.iter().flat_map(|s| s.points.iter().map(|p| p.hash)).collect();
        let is_of = |index: u16| slice.is_none_or(|slice| usize::from(index) == slice);
        let points = own.points.iter().filter(|p| p.hash <= end && is_of(p.slice));
        let (mut all, mut new) = (0, 0);
        for point in points {
            all += 1;
            new += usize::from(!known.contains(&point.hash));
        }
        !earlier.is_empty() && new as f64 >= self.addition * f64::from(all)
    }
}

/// Returns the number of keys of each readable table whose flag in `chosen` is true.
fn sizes(at: &CrossContext<'_>, chosen: &[bool]) -> impl Iterator<Item = usize> {
    let tables = at.peers.tables.iter().zip(chosen);
    tables.filter(|(_, is_chosen)| **is_chosen).map(|((_, sketch), _)| sketch.keys)
}

/// Describes the tables from which the loader adds rows, for a message.
fn filled(served: &Served<'_>, sketches: &[&Sketch]) -> String {
    let versions = |files: &[&TableFile]| {
        let versions: BTreeSet<&str> = files.iter().map(|f| f.place.version.as_str()).collect();
        names(versions.into_iter())
    };
    let mut by = Vec::new();
    if !served.donors.is_empty() {
        by.push(format!("reuse.yaml adds rows of {}", versions(&served.donors)));
    }
    if !served.earlier.is_empty() {
        by.push(format!("the loader adds rows of {}", versions(&served.earlier)));
    }
    if by.is_empty() {
        return "; nothing adds rows to it".to_owned();
    }
    format!("; {}, which makes {}", by.join(" and "), plural(keys(sketches), "key"))
}

impl Stub<'_> {
    /// Returns the number of keys that the loader serves for the stub. For a slice, this is the largest number in a
    /// single file; the keys of several files are not added up.
    fn served(&self, sketches: &[&Sketch]) -> usize {
        let Some(slice) = self.slice else { return keys(sketches) };
        let of_slice = |sketch: &&Sketch| {
            let index = sketch.slices[..sketch.counts.len()].iter().position(|own| own == slice);
            index.map(|index| sketch.slice_keys(index))
        };
        sketches.iter().filter_map(of_slice).max().unwrap_or(0)
    }

    fn say(&self) -> String {
        let of = self.slice.map_or_else(|| "the table".to_owned(), slice_name);
        let (own, others) = (plural(self.own, "key"), plural(self.others, "other table"));
        format!(
            "{of} has only {own} of its own, while {} have {} in the median",
            others,
            count(self.median)
        )
    }
}
