//! Tables that serve far fewer keys than the nearest systems or versions.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::base::words::{count, plural, plural_verb};
use crate::checks::compare::sketch::{Sketch, Slice, keys, points_by_slice, slice_id, slice_words};
use crate::checks::compare::stubs::StubSize;
use crate::checks::{CheckInputs, CrossContext, Input, Judge, Judged, RuleHead};
use crate::database::catalog::TableFile;
use crate::database::served::SystemKinship;
use crate::findings::{Finding, Severity, SliceEvidence, wholes};
use crate::specs::Filling;

/// Limits on the share of a reference's keys that a table serves.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Shares {
    /// A table lacks rows if it serves less than this share of the keys that every reference has.
    few: f64,
    /// A table is a stub if its own file has less than this share of the keys that every reference has, and the loader
    /// adds no rows of other files to it. A stub is an error.
    stub: f64,
    /// A slice is judged only if every reference has at least this many of its sampled points.
    points: usize,
    /// Limits for the number of keys in the table's own file. Other files from which the loader serves the table do not
    /// count.
    own: StubSize,
}

/// The input of the comparison of a table with its references. `own` is the number of keys in the table's own file.
/// `served` contains the sketches of all files from which the loader serves the table's keys.
struct ParityCase<'a> {
    own: usize,
    served: Vec<&'a Sketch>,
    references: Vec<(&'a str, Vec<&'a Sketch>)>,
    /// The current version that supersedes the table's version; `None` if the table's version is the current one.
    superseded: Option<&'a str>,
}

/// A slice for which a table serves far fewer keys than every reference.
struct ThinSlice<'a> {
    slice: &'a Slice,
    /// The number of keys that the table serves in the slice, divided by the smallest number that a reference has.
    share: f64,
}

impl Judge for Shares {
    fn needs(&self) -> CheckInputs {
        CheckInputs::of(&[Input::Peers])
    }

    /// Returns one finding for each judged table that serves far fewer keys than every reference, in total or in single
    /// slices.
    fn cross<'v>(&'v self, rule: RuleHead<'v>, at: &'v CrossContext<'v>) -> Judged<'v> {
        let of_table = |file: &TableFile| {
            self.finding(rule, at, file).or_else(|| self.own.finding(rule, at, file))
        };
        Ok(wholes(at.judged_grids().filter_map(of_table)))
    }
}

impl Shares {
    fn finding(
        &self,
        rule: RuleHead<'_>,
        at: &CrossContext<'_>,
        file: &TableFile,
    ) -> Option<Finding> {
        let case = ParityCase::new(at, file)?;
        let references: Vec<(&str, usize)> =
            case.references.iter().map(|(name, sketches)| (*name, keys(sketches))).collect();
        // Every reference must be far larger. If one is as small, the sweep is small.
        let (nearest, least) = *references.iter().min_by_key(|(_, keys)| *keys)?;
        let served = keys(&case.served);
        let few = (served as f64) < self.few * least as f64;
        let stub = few && served <= case.own && (case.own as f64) < self.stub * least as f64;
        let thin = if few || case.superseded.is_some() { Vec::new() } else { self.thin(&case) };
        if !few && thin.is_empty() {
            return None;
        }
        let names: Vec<String> =
            references.iter().map(|(name, keys)| format!("{name} {}", count(*keys))).collect();
        let mut message = if few {
            format!(
                "the loader finds {} here, {nearest} has {}",
                plural(served, "key"),
                count(least)
            )
        } else {
            let told = thin.iter().take(3).map(ThinSlice::to_string).collect::<Vec<_>>().join("; ");
            format!(
                "{} smaller than in all nearby tables: {told}",
                plural_verb(thin.len(), "slice", ["is", "are"])
            )
        };
        if names.len() > 1 {
            message += &format!(" (compared: {})", names.join(", "));
        }
        let severity = match case.superseded {
            _ if stub => Severity::Error,
            Some(version) => {
                message += &format!("; version {version} supersedes this one");
                Severity::Info
            }
            None => rule.severity,
        };
        let slices = thin.iter().map(|t| SliceEvidence {
            slice: t.slice.clone(),
            figure: ("share".into(), t.share.into()),
        });
        let finding = Finding::on_table(rule.id, severity, file, message)
            .rows(case.own)
            .parts(thin.iter().map(|t| slice_id(t.slice)))
            .evidence("own_keys", case.own)
            .evidence("served_keys", served)
            .evidence("reference_keys", least)
            .slices(slices);
        Some(finding)
    }

    /// Returns the slices of which the table serves less than the share `few` of the keys that every reference serves.
    /// Slices that are missing altogether are left out, since the rule coverage-hole reports them.
    fn thin<'a>(&self, case: &ParityCase<'a>) -> Vec<ThinSlice<'a>> {
        let sketches = case.references.iter().flat_map(|(_, s)| s).chain(&case.served);
        let end = sketches.map(|s| s.end).min().unwrap_or(0);
        let served = points_by_slice(&case.served, end);
        let mut references = case.references.iter().map(|(_, s)| points_by_slice(s, end));
        let mut least: BTreeMap<&Slice, usize> = references.next().unwrap_or_default();
        for other in references {
            least.retain(|slice, _| other.contains_key(slice));
            least.iter_mut().for_each(|(slice, n)| *n = (*n).min(other[slice]));
        }
        let thin = |(slice, least): (&'a Slice, usize)| {
            let share = *served.get(slice)? as f64 / least as f64;
            (least >= self.points && share < self.few).then_some(ThinSlice { slice, share })
        };
        least.into_iter().filter_map(thin).collect()
    }
}

impl std::fmt::Display for ThinSlice<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} has {:.0} % of their keys", slice_words(self.slice), 100.0 * self.share)
    }
}

impl<'a> ParityCase<'a> {
    /// Collects the keys that are served for a table and for its references. The references are the tables of other
    /// systems of the same GPU generation, at the same version. Without such tables, the table's other versions are the
    /// references, unless the loader fills the table from other versions. `None` if the table has no keys or no
    /// references.
    fn new(at: &'a CrossContext<'a>, file: &'a TableFile) -> Option<Self> {
        let spec = at.state.specs.tables.get(&file.table)?;
        let editions = at.shelf.editions(file)?;
        let edition = editions.get(&file.place.version)?;
        let own = at.sketches.keys(&file.entry.path);
        if own == 0 {
            return None;
        }
        let (kinship, peers) = at.shelf.peers_of(file);
        let mut references: Vec<(&str, Vec<&Sketch>)> = Vec::new();
        for (system, editions, _) in
            peers.into_iter().filter(|_| kinship == SystemKinship::Generation)
        {
            let Some(edition) = editions.get(&file.place.version) else { continue };
            references.push((system, at.sketches.of(edition.files.iter().copied())));
        }
        references.retain(|(_, sketches)| keys(sketches) > 0);
        if references.is_empty() && spec.filling != Filling::Always {
            let others = editions.iter().filter(|e| e.version != edition.version);
            references.extend(others.map(|e| (e.version, at.sketches.of(e.files.iter().copied()))));
            references.retain(|(_, sketches)| keys(sketches) > 0);
        }
        if references.is_empty() {
            return None;
        }
        let served = at.sketches.of(at.shelf.served(spec, edition).files());
        let current = at.shelf.current(&file.place.system, editions)?;
        let superseded = (current.version != edition.version).then_some(current.version);
        Some(Self { own, served, references, superseded })
    }
}
