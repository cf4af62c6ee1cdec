//! A block of missing keys, described.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value as Json, json};

use super::blocks::{self, MissingBlock, PointState};
use super::case::CoverageCase;
use super::references::Reference;
use crate::base::words::names;
use crate::database::coverage::{CoveredPoints, Kind};
use crate::findings::{EXAMPLES, Example};

/// Where a block lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Extent {
    /// It is made of whole slices: no condition on the grid.
    Slice,
    /// At an end of the grid: beyond it a lookup extrapolates.
    End,
    /// Inside the grid: a lookup interpolates over it.
    Inside,
}

impl Extent {
    fn name(self) -> &'static str {
        match self {
            Self::Slice => "slice",
            Self::End => "end of the grid",
            Self::Inside => "inside the grid",
        }
    }
}

/// What the table's own versions are called.
const OTHER_VERSION: &str = "other version";

/// Who has a block, of the systems or of the versions that are compared with.
#[derive(Debug)]
struct HavingShare {
    what: &'static str,
    having: Vec<String>,
    of: usize,
    /// Whether one that has it is of the table's own version.
    same_version: bool,
}

impl HavingShare {
    /// Whether at least half of them have it.
    fn is_half(&self) -> bool {
        !self.having.is_empty() && 2 * self.having.len() >= self.of
    }

    /// `2 of 2 nearest systems`.
    fn words(&self) -> String {
        let end = if self.of == 1 { "" } else { "s" };
        format!("{} of {} {}{end}", self.having.len(), self.of, self.what)
    }
}

/// Keys that references have and a table would not serve.
#[derive(Debug)]
pub struct Hole {
    /// Its values for people: `num_heads 8`.
    pub words: String,
    /// How many keys it has.
    pub keys: usize,
    /// The first of them.
    pub examples: Vec<Example>,
    extent: Extent,
    had_by: Vec<HavingShare>,
    /// Its values by part, as far as the part has several.
    values: BTreeMap<String, Vec<Json>>,
    /// The parts that single it out.
    conditions: Vec<String>,
}

impl Hole {
    /// Describes a block of the case's points; `states` are those of all its points.
    pub(super) fn new(
        case: &CoverageCase<'_>,
        points: &CoveredPoints,
        states: &[PointState],
        block: &MissingBlock,
    ) -> Self {
        let shown = BlockView { points, states, block };
        Self {
            words: shown.words(),
            keys: case.found.keys(block.missing.len()),
            examples: shown.examples(case),
            extent: shown.extent(),
            had_by: had_by(case, block),
            values: shown.values_by_part(),
            conditions: shown.conditions(),
        }
    }

    /// Whether at least half of the nearest systems, or of the other versions, have it. Over what is
    /// missing inside a grid a lookup interpolates: it counts where the collector's plan has it, which
    /// is one for all systems of a version.
    pub fn matters(&self) -> bool {
        let mut shares = self.had_by.iter().filter(|share| share.is_half());
        shares.any(|share| self.extent != Extent::Inside || share.same_version)
    }

    /// Whether it is a whole slice that only other systems have: what a generation runs is its own choice,
    /// but not its workload.
    pub fn is_choice(&self, workload: &[String]) -> bool {
        let versions = self.had_by.iter().any(|s| s.what == OTHER_VERSION && s.is_half());
        let chosen = self.conditions.iter().any(|part| !workload.contains(part));
        self.extent == Extent::Slice && chosen && !versions
    }

    /// `2 of 2 nearest systems and 1 of 3 other versions`.
    pub fn shares(&self) -> String {
        self.had_by.iter().map(HavingShare::words).collect::<Vec<_>>().join(" and ")
    }

    /// For reports.
    pub fn json(&self) -> Json {
        json!({
            "values": self.values,
            "keys": self.keys,
            "extent": self.extent.name(),
            "had_by": self.had_by.iter().flat_map(|s| &s.having).collect::<Vec<_>>(),
            "of": self.shares(),
        })
    }
}

/// Which of the systems and of the other versions have a block.
fn had_by(case: &CoverageCase<'_>, block: &MissingBlock) -> Vec<HavingShare> {
    let (systems, versions): (Vec<_>, Vec<_>) =
        case.references.iter().enumerate().partition(|(_, r)| r.system.is_some());
    let shares = [("nearest system", systems), (OTHER_VERSION, versions)];
    let compared = shares.into_iter().filter(|(_, references)| !references.is_empty());
    compared.map(|(what, references)| having_share(case, block, what, &references)).collect()
}

/// Which of some references have a block: those that have half of what is missing of it.
fn having_share(
    case: &CoverageCase<'_>,
    block: &MissingBlock,
    what: &'static str,
    references: &[(usize, &Reference<'_>)],
) -> HavingShare {
    let mut share =
        HavingShare { what, having: Vec::new(), of: references.len(), same_version: false };
    for (index, reference) in references {
        let had = block.missing.iter().filter(|p| case.found.has(*index, **p)).count();
        if 2 * had >= block.missing.len() {
            share.having.push(reference.name());
            share.same_version |= reference.version == case.file.place.version;
        }
    }
    share
}

/// A block among all points of its case.
struct BlockView<'a> {
    points: &'a CoveredPoints,
    states: &'a [PointState],
    block: &'a MissingBlock,
}

impl BlockView<'_> {
    /// The first of its missing keys in the order of their values, each with a reference that has it.
    fn examples(&self, case: &CoverageCase<'_>) -> Vec<Example> {
        let mut missing: Vec<usize> = self.block.missing.clone();
        missing.sort_by_cached_key(|p| {
            self.points.parts.iter().map(|part| part.codes[*p]).collect::<Vec<_>>()
        });
        missing.truncate(EXAMPLES);
        missing.into_iter().map(|point| self.example(case, point)).collect()
    }

    fn example(&self, case: &CoverageCase<'_>, point: usize) -> Example {
        let first = case.found.had_by(point).trailing_zeros() as usize;
        let from = case.references.get(first).map(|r| ("row of".to_owned(), r.name().into()));
        Example {
            row: u64::from(case.found.row(point)),
            key: self.points.key(point),
            values: from.into_iter().collect(),
        }
    }

    /// Its values of each part of the key that has several values.
    fn values_by_part(&self) -> BTreeMap<String, Vec<Json>> {
        let mut by_part = BTreeMap::new();
        for (index, part) in self.points.parts.iter().enumerate() {
            if part.values.len() > 1 {
                let codes = self.block.values(self.points, index);
                let values = codes.into_iter().map(|code| part.values[code as usize].json());
                by_part.insert(part.name.clone(), values.collect());
            }
        }
        by_part
    }

    fn conditions(&self) -> Vec<String> {
        let parts = self.block.conditions.iter().map(|(part, _)| *part);
        parts.map(|part| self.points.parts[part].name.clone()).collect()
    }

    fn is_grid(&self, part: usize) -> bool {
        self.points.parts[part].kind == Kind::Grid
    }

    /// Whether it is made of slices, or where in the grid it lies.
    fn extent(&self) -> Extent {
        let mut extent = Extent::Slice;
        for (i, (part, values)) in self.block.conditions.iter().enumerate() {
            if !self.is_grid(*part) {
                continue;
            }
            let mut others = self.block.conditions.clone();
            others.remove(i);
            let codes = &self.points.parts[*part].codes;
            let (mut below, mut above) = (false, false);
            for point in (0..self.points.len).filter(|p| self.states[*p] == PointState::Served) {
                if blocks::holds(self.points, &others, point) {
                    below |= Some(&codes[point]) < values.first();
                    above |= Some(&codes[point]) > values.last();
                }
            }
            if !(below && above) {
                return Extent::End;
            }
            extent = Extent::Inside;
        }
        extent
    }

    /// Its conditions for people, slices before the grid, and what else its points have in common.
    fn words(&self) -> String {
        let conditions = &self.block.conditions;
        let (grid, slices): (Vec<_>, Vec<_>) =
            conditions.iter().partition(|(part, _)| self.is_grid(*part));
        let said: Vec<String> = slices
            .into_iter()
            .chain(grid)
            .map(|(part, codes)| self.condition(*part, codes))
            .collect();
        let conditioned: BTreeSet<usize> = conditions.iter().map(|(part, _)| *part).collect();
        let others = (0..self.points.parts.len()).filter(|part| !conditioned.contains(part));
        let common: Vec<String> = others.filter_map(|part| self.common(part)).collect();
        let said = said.join(", ");
        if common.is_empty() { said } else { format!("{said} with {}", common.join(", ")) }
    }

    /// `dtype fp8 and bf16`, or a range of the grid: `isl from 16384 up`.
    fn condition(&self, part: usize, codes: &BTreeSet<u32>) -> String {
        let (name, values) = (&self.points.parts[part].name, &self.points.parts[part].values);
        let codes: Vec<usize> = codes.iter().map(|code| *code as usize).collect();
        let (first, last) = (codes[0], codes[codes.len() - 1]);
        let is_run = self.is_grid(part) && codes.len() > 1 && last - first + 1 == codes.len();
        if !is_run {
            let shown: Vec<String> = codes.iter().map(|code| values[*code].to_string()).collect();
            return format!("{name} {}", names(shown.iter().map(String::as_str)));
        }
        match (first == 0, last + 1 == values.len()) {
            (false, true) => format!("{name} from {} up", values[first]),
            (true, false) => format!("{name} up to {}", values[last]),
            _ => format!("{name} {} to {}", values[first], values[last]),
        }
    }

    /// The value of a part that all of the block's missing points have, where points that are served
    /// have others.
    fn common(&self, part: usize) -> Option<String> {
        let values = self.block.values(self.points, part);
        if self.is_grid(part) || values.len() != 1 {
            return None;
        }
        let codes = &self.points.parts[part].codes;
        let is_elsewhere =
            |p: usize| self.states[p] == PointState::Served && !values.contains(&codes[p]);
        let value = self.points.cell(part, self.block.missing[0]);
        (0..self.points.len)
            .any(is_elsewhere)
            .then(|| format!("{} {value}", self.points.parts[part].name))
    }
}
