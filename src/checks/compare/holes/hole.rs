//! The description of a block of missing keys.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;
use serde_json::Value as Json;

use super::comparison::{Comparison, Reference};
use super::grid::{KeyGrid, KeyState, MissingBlock};
use crate::base::words::names;
use crate::database::coverage::{CoveredPart, Kind};
use crate::findings::{EXAMPLES, Example};

/// The place of a block in the grid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
enum Extent {
    /// The block consists of whole slices: it has no condition on the grid.
    #[serde(rename = "slice")]
    Slice,
    /// The block is at an end of the grid: beyond it a lookup extrapolates.
    #[serde(rename = "end of the grid")]
    End,
    /// The block is inside the grid: a lookup interpolates over it.
    #[serde(rename = "inside the grid")]
    Inside,
}

/// Keys that references have and the judged table would not serve.
#[derive(Debug, Serialize)]
pub struct Hole {
    /// The values of the keys as text: `num_heads 8`.
    #[serde(skip)]
    pub words: String,
    /// The number of keys.
    pub keys: usize,
    /// The first keys.
    #[serde(skip)]
    pub examples: Vec<Example>,
    extent: Extent,
    /// The names of the references that have at least half of the keys.
    had_by: Vec<String>,
    /// The share of the references that have the keys: `2 of 2 nearest systems and 1 of 3 other versions`.
    pub of: String,
    /// The keys' values by part, for the parts with several values in the grid.
    values: BTreeMap<String, Vec<Json>>,
    /// True for whole slices that only other systems have and that depend on the machine.
    #[serde(skip)]
    pub is_choice: bool,
}

impl Hole {
    /// Describes a block. Returns `None` if less than half of the nearest systems and of the other versions have it.
    /// `workload` are key parts that do not depend on the machine.
    pub fn new(
        comparison: &Comparison<'_>,
        grid: &KeyGrid,
        block: &MissingBlock,
        workload: &[String],
    ) -> Option<Self> {
        let (parts, missing) = (&grid.points.parts, &block.missing);
        let systems = HavingShare::new(comparison, missing, "nearest system", true);
        let versions = HavingShare::new(comparison, missing, "other version", false);
        let extent = extent(grid, block);
        // A lookup interpolates over keys inside a grid. So a table of the same version must have them, which shows that
        // the collector plans them.
        let matters = |share: &&HavingShare| {
            share.is_half() && (extent != Extent::Inside || share.has_same_version)
        };
        let shares = [&systems, &versions];
        shares.iter().copied().find(matters)?;
        let mut conditions = block.conditions.keys();
        let is_chosen = conditions.any(|part| !workload.contains(&parts[*part].name));
        let mut values = BTreeMap::new();
        for (index, part) in parts.iter().enumerate().filter(|(_, part)| part.values.len() > 1) {
            let codes = grid.values(index, missing).into_iter();
            let of_part = codes.map(|code| part.values[code as usize].json()).collect();
            values.insert(part.name.clone(), of_part);
        }
        let of: Vec<String> =
            shares.iter().filter(|share| share.of > 0).map(|share| share.to_string()).collect();
        Some(Self {
            words: words(grid, block),
            keys: comparison.estimate(missing.len()),
            examples: examples(comparison, grid, missing),
            extent,
            of: of.join(" and "),
            values,
            is_choice: extent == Extent::Slice && is_chosen && !versions.is_half(),
            had_by: [systems.having, versions.having].concat(),
        })
    }
}

/// The references of one sort, other systems or other versions, that have a block.
struct HavingShare {
    /// The sort as text: `nearest system`.
    sort: &'static str,
    /// The names of the references that have at least half of the block's missing keys.
    having: Vec<String>,
    /// The number of references of the sort.
    of: usize,
    /// True if one that has the block is of the judged table's version.
    has_same_version: bool,
}

impl HavingShare {
    fn new(
        comparison: &Comparison<'_>,
        missing: &[usize],
        sort: &'static str,
        are_systems: bool,
    ) -> Self {
        let references = comparison.references.iter().enumerate();
        let of_sort: Vec<(usize, &Reference<'_>)> =
            references.filter(|(_, r)| r.system.is_some() == are_systems).collect();
        let mut share =
            Self { sort, having: Vec::new(), of: of_sort.len(), has_same_version: false };
        for (index, reference) in of_sort {
            let had = missing.iter().filter(|key| comparison.keys[**key].had_by.contains(&index));
            if 2 * had.count() >= missing.len() {
                share.having.push(reference.name());
                share.has_same_version |= reference.version == comparison.file.place.version;
            }
        }
        share
    }

    fn is_half(&self) -> bool {
        !self.having.is_empty() && 2 * self.having.len() >= self.of
    }
}

impl fmt::Display for HavingShare {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let end = if self.of == 1 { "" } else { "s" };
        write!(f, "{} of {} {}{end}", self.having.len(), self.of, self.sort)
    }
}

/// The first missing keys in the order of their values, each with a reference that has it.
fn examples(comparison: &Comparison<'_>, grid: &KeyGrid, missing: &[usize]) -> Vec<Example> {
    let parts = &grid.points.parts;
    let mut missing = missing.to_vec();
    missing.sort_by_cached_key(|key| parts.iter().map(|part| part.codes[*key]).collect::<Vec<_>>());
    missing.truncate(EXAMPLES);
    let example = |index: usize| {
        let key = &comparison.keys[index];
        let first = key.had_by.first().map(|reference| &comparison.references[*reference]);
        let from = first.map(|reference| ("row of".to_owned(), reference.name().into()));
        Example {
            row: u64::from(key.row()),
            key: grid.points.key(index),
            values: from.into_iter().collect(),
        }
    };
    missing.into_iter().map(example).collect()
}

/// Compares a block with the served keys that meet all its other conditions, along each axis.
fn extent(grid: &KeyGrid, block: &MissingBlock) -> Extent {
    let mut extent = Extent::Slice;
    for (index, values) in &block.conditions {
        let part = &grid.points.parts[*index];
        if part.kind != Kind::Grid {
            continue;
        }
        let mut others = block.conditions.clone();
        others.remove(index);
        let mut served: Vec<u32> = Vec::new();
        for key in grid.in_state(KeyState::Served).filter(|key| grid.meets(&others, *key)) {
            served.push(part.codes[key]);
        }
        let is_below = served.iter().any(|code| Some(code) < values.first());
        let is_above = served.iter().any(|code| Some(code) > values.last());
        if !(is_below && is_above) {
            return Extent::End;
        }
        extent = Extent::Inside;
    }
    extent
}

/// The conditions of a block as text, slices before the grid, and the other values that its keys have in common.
fn words(grid: &KeyGrid, block: &MissingBlock) -> String {
    let (mut slices, mut axes, mut common) = (Vec::new(), Vec::new(), Vec::new());
    for (index, part) in grid.points.parts.iter().enumerate() {
        let Some(codes) = block.conditions.get(&index) else {
            common.extend(common_words(grid, block, index));
            continue;
        };
        let codes: Vec<usize> = codes.iter().map(|code| *code as usize).collect();
        if part.kind == Kind::Grid {
            axes.push(axis_words(part, &codes));
        } else {
            slices.push(value_words(part, &codes));
        }
    }
    slices.extend(axes);
    let said = slices.join(", ");
    if common.is_empty() { said } else { format!("{said} with {}", common.join(", ")) }
}

/// A condition on an axis: `isl from 16384 up`, or its values if they are not a range.
fn axis_words(part: &CoveredPart, codes: &[usize]) -> String {
    let (first, last, end) = (codes[0], codes[codes.len() - 1], part.values.len() - 1);
    let (name, values) = (&part.name, &part.values);
    if codes.len() == 1 || last - first + 1 != codes.len() {
        value_words(part, codes)
    } else if last == end && first > 0 {
        format!("{name} from {} up", values[first])
    } else if first == 0 && last < end {
        format!("{name} up to {}", values[last])
    } else {
        format!("{name} {} to {}", values[first], values[last])
    }
}

/// A condition as its values: `dtype fp8 and bf16`.
fn value_words(part: &CoveredPart, codes: &[usize]) -> String {
    let values: Vec<String> = codes.iter().map(|code| part.values[*code].to_string()).collect();
    format!("{} {}", part.name, names(values.iter().map(String::as_str)))
}

/// The only value of a part in a block, if the part is not an axis and served keys have other values.
fn common_words(grid: &KeyGrid, block: &MissingBlock, index: usize) -> Option<String> {
    let part = &grid.points.parts[index];
    let code = part.codes[block.missing[0]];
    let is_common = block.missing.iter().all(|key| part.codes[*key] == code);
    let mut served = grid.in_state(KeyState::Served);
    let is_distinct =
        part.kind != Kind::Grid && is_common && served.any(|key| part.codes[key] != code);
    is_distinct.then(|| value_words(part, &[code as usize]))
}
