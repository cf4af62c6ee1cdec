//! Coverage holes: slices and blocks of the grid that nearby systems and versions have and that a
//! table would not serve.
//!
//! Say `h100_sxm` and `b200_sxm` have attention times for two dtypes and four lengths, and `h200_sxm` lacks
//! those of long fp8 inputs:
//!
//! ```text
//!                      isl   1024   4096   16384   65536
//! references   bf16             x      x       x       x
//!              fp8              x      x       x       x
//! h200_sxm     bf16             x      x       x       x
//!              fp8              x      x       .       .
//! ```
//!
//! The finding says: it would not serve `attn_dtype fp8, isl from 16384 up` (2 keys, had by 2 of 2 nearest
//! systems). The way there, a file each:
//!
//! 1. `CoverageCase::new` gathers what is compared: what the loader serves of the judged table, its own
//!    rows and those of donors and earlier versions, and the references, which are the nearest systems
//!    and, where versions share nothing, the table's other versions. All are key samples
//!    ([`Sketch`]); a sample of one table and a sample of another hold the same keys.
//! 2. `references` lists the points (sampled keys) of the references: who has each, and whether the
//!    table would serve it. Above, eight points, two of them missing.
//! 3. `explain` finds the missing points that a limit or a classified failure explains; those make no
//!    hole.
//! 4. `blocks` puts the others into few conditions on parts of the key: `attn_dtype` is fp8 and `isl` is
//!    16384 or 65536.
//! 5. `hole` describes each block: its words, its place in the grid, and which references have it. A
//!    block that less than half of them have is not reported.
//! 6. `CoverageCase::finding` makes one finding of the holes of a table. Where a sample stands for more
//!    keys than it holds, the counts are estimates and say so.

mod axes;
mod blocks;
mod case;
mod exchanged;
mod explain;
mod hole;
mod references;

use std::collections::BTreeMap;

use rayon::prelude::*;
use schemars::JsonSchema;
use serde::Deserialize;

use self::axes::AxisShift;
use self::blocks::{PointState, Search};
use self::case::CoverageCase;
use self::exchanged::AxisExchange;
use self::explain::MissingReason;
use self::hole::Hole;
use self::references::{Reference, ReferencePoints};
use crate::base::expr::ExprError;
use crate::base::words::count;
use crate::checks::compare::sketch::Sketch;
use crate::checks::context::CrossContext;
use crate::checks::inputs::CheckInputs;
use crate::checks::judge::Judge;
use crate::checks::rule_head::RuleHead;
use crate::database::catalog::TableFile;
use crate::database::served::Nearness;
use crate::findings::{EXAMPLES, Explained, Finding, Hits, Severity, wholes};
use crate::specs::Filling;

/// How large a hole has to be.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Size")]
pub struct HoleSize {
    /// Share of the references' keys.
    share: f64,
    /// Points of a sketch.
    points: usize,
    /// Share of a block that is missing.
    purity: f64,
    /// Parts of a key that no machine chooses: a slice of them that another generation has is lacking.
    workload: Vec<String>,
    /// When an axis is shifted against every other backend's.
    axes: AxisShift,
    /// When two axes are exchanged.
    exchanged: AxisExchange,
}

/// What a table lacks.
struct Lacking {
    holes: Vec<Hole>,
    /// Keys that a limit or a failure explains.
    explained: Vec<Explained>,
}

impl Judge for HoleSize {
    fn needs(&self) -> CheckInputs {
        CheckInputs { compares: true, keys: true, ..CheckInputs::default() }
    }

    /// One finding for each table that lacks what its references have.
    fn cross<'v>(
        &'v self,
        rule: RuleHead<'v>,
        at: &'v CrossContext<'v>,
    ) -> Result<Hits<'v>, ExprError> {
        let judged: Vec<&TableFile> = at.judged_tables().collect();
        let found: Vec<_> = judged.par_iter().map(|file| self.of_table(rule, at, file)).collect();
        let shifted = judged.iter().flat_map(|file| self.axes.findings(rule, at, file));
        let holes = found.into_iter().collect::<Result<Vec<_>, _>>()?;
        let exchanged = judged.iter().filter_map(|file| self.exchanged.finding(rule, at, file));
        Ok(wholes(holes.into_iter().flatten().chain(shifted).chain(exchanged)))
    }
}

impl HoleSize {
    fn of_table(
        &self,
        rule: RuleHead<'_>,
        at: &CrossContext<'_>,
        file: &TableFile,
    ) -> Result<Option<Finding>, ExprError> {
        let Some(case) = CoverageCase::new(at, file) else { return Ok(None) };
        let least = self.points.max((self.share * case.found.len() as f64).ceil() as usize);
        let search = Search { least, purity: self.purity, most: EXAMPLES };
        if case.found.missing < least {
            return Ok(None);
        }
        Ok(case.finding(rule, &case.lacking(search)?, &self.workload))
    }
}

impl<'a> CoverageCase<'a> {
    /// None where there is nothing to compare with, or the file is not the version that counts: what
    /// a superseded version lacks, the current one has or has a finding for.
    fn new(at: &'a CrossContext<'a>, file: &'a TableFile) -> Option<Self> {
        let spec = at.state.specs.tables.get(&file.table)?;
        let editions = at.shelf.editions(file)?;
        let current = at.shelf.current(&file.place.system, editions)?;
        if current.files[0].entry.path != file.entry.path {
            return None;
        }
        let served: Vec<_> = at.shelf.served(spec, current).files().collect();
        let own = sketches(at, &served);
        if own.iter().all(|s| s.points.is_empty()) {
            return None;
        }

        let (nearness, near) = at.shelf.near(file);
        let mut references = Vec::new();
        for (system, _, edition) in near {
            let there: Vec<_> = at.shelf.served(spec, edition).fresh().collect();
            let (version, sketches) = (edition.version, sketches(at, &there));
            references.push(Reference { system: Some(system), version, sketches });
        }
        if spec.filling != Filling::Always {
            for other in at.shelf.other_versions(editions, current.version) {
                let (version, sketches) = (other.version, sketches(at, &other.files));
                references.push(Reference { system: None, version, sketches });
            }
        }
        references.retain(|r| r.sketches.iter().any(|s| !s.points.is_empty()));
        let mut found = ReferencePoints::new(&own, &references);
        found.of_other_kernels(spec, &own, &references);
        let distant = nearness == Nearness::SameVersion;
        if distant {
            found.shared_by_systems(&references);
            found.of_kernels(spec, &own);
        }
        let unread = served.iter().find(|f| !at.sketches.by_path.contains_key(&f.entry.path));
        let caveat = if at.partial(file) {
            Some("the sidecar says status: partial".to_owned())
        } else {
            unread.map(|f| format!("{} cannot be read", f.entry.path))
        };
        Some(Self { at, spec, file, references, found, distant, caveat })
    }

    /// The holes of the table, and what explains keys that are in none.
    fn lacking(&self, search: Search) -> Result<Lacking, ExprError> {
        let points = self.found.with_keys(self.spec);
        let reasons = self.explained(&points)?;
        let states: Vec<PointState> =
            (0..self.found.len()).map(|p| self.state(p, &reasons)).collect();
        // A block without conditions is the whole table, which row-count-parity reports.
        let blocks = blocks::find(&points, &states, search);
        let blocks = blocks.iter().filter(|block| !block.conditions.is_empty());
        let holes = blocks.map(|block| Hole::new(self, &points, &states, block)).collect();

        let mut by_reason: BTreeMap<MissingReason<'a>, usize> = BTreeMap::new();
        for reason in reasons.into_values() {
            *by_reason.entry(reason).or_default() += 1;
        }
        let explained = by_reason.into_iter().filter(|(_, points)| *points >= search.least);
        let explained = explained
            .map(|(reason, points)| Explained { by: reason.into(), keys: self.found.keys(points) });
        Ok(Lacking { holes, explained: explained.collect() })
    }

    fn state(&self, point: usize, reasons: &BTreeMap<usize, MissingReason<'_>>) -> PointState {
        if self.found.served(point) {
            PointState::Served
        } else if reasons.contains_key(&point) {
            PointState::Explained
        } else {
            PointState::Missing
        }
    }

    /// A count of keys for people; an estimate says so, with two digits.
    fn about(&self, keys: usize) -> String {
        if self.found.share >= 1.0 {
            return count(keys);
        }
        let unit = 10_usize.pow(keys.max(1).ilog10().saturating_sub(1));
        format!("about {}", count((keys + unit / 2) / unit * unit))
    }

    /// `num_heads 8 (1,024 keys, present in 2 of 2 nearest systems)`.
    fn words(&self, hole: &Hole) -> String {
        format!("{} ({} keys, present in {})", hole.words, self.about(hole.keys), hole.shares())
    }

    fn finding(
        &self,
        rule: RuleHead<'_>,
        lacking: &Lacking,
        workload: &[String],
    ) -> Option<Finding> {
        let holes: Vec<&Hole> = lacking.holes.iter().filter(|h| h.matters()).collect();
        if holes.is_empty() && lacking.explained.is_empty() {
            return None;
        }
        let reference = self.found.keys(self.found.len());
        let caveat = self.caveat.as_ref().map(|c| format!("; {c}")).unwrap_or_default();
        let mut said: Vec<String> = Vec::new();
        let (chosen, lacked): (Vec<&Hole>, Vec<&Hole>) =
            holes.iter().copied().partition(|hole| self.distant && hole.is_choice(workload));
        if !lacked.is_empty() {
            let all: Vec<String> = lacked.iter().map(|hole| self.words(hole)).collect();
            said.push(format!("the loader finds no rows of {}{caveat}", all.join("; ")));
        }
        if !chosen.is_empty() {
            let all: Vec<String> = chosen.iter().map(|hole| self.words(hole)).collect();
            said.push(format!("only other GPU generations have {}", all.join("; ")));
        }
        for explained in &lacking.explained {
            let keys = self.about(explained.keys);
            said.push(format!("{keys} keys are missing because of {}", explained.by));
        }
        let severity = match (&self.caveat, lacked.is_empty()) {
            (None, false) => rule.severity,
            _ => Severity::Info,
        };
        let missing = holes.iter().map(|h| h.keys).sum::<usize>()
            + lacking.explained.iter().map(|e| e.keys).sum::<usize>();
        let names = self.references.iter().map(Reference::name);
        let message = format!(
            "compared with {} keys of {}: {}",
            self.about(reference),
            names.collect::<Vec<_>>().join(", "),
            said.join("; ")
        );
        let mut finding = Finding::on_table(rule.id, severity, self.file, message)
            .rows(missing)
            .parts(holes.iter().map(|h| h.words.as_str()))
            .evidence("reference_keys", reference)
            .evidence("missing_keys", missing)
            .evidence("estimated", self.found.share < 1.0)
            .evidence("holes", holes.iter().map(|h| h.json()).collect::<Vec<_>>())
            .examples(
                holes.iter().flat_map(|h| h.examples.iter().cloned()).take(EXAMPLES).collect(),
            )
            .explained(lacking.explained.iter().cloned());
        if let Some(caveat) = &self.caveat {
            finding = finding.evidence("explained_by", caveat.as_str());
        }
        Some(finding)
    }
}

/// The sketches of some files; one that cannot be read has none.
fn sketches<'a>(at: &'a CrossContext<'a>, files: &[&TableFile]) -> Vec<&'a Sketch> {
    files.iter().filter_map(|f| at.sketches.get(&f.entry.path)).collect()
}
