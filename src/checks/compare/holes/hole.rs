//! The description of a block of missing keys.

use std::collections::BTreeMap;

use serde_json::{Value as Json, json};

use super::comparison::{Comparison, Reference};
use super::grid::{KeyGrid, KeyState, MissingBlock};
use crate::base::words::names;
use crate::database::coverage::{CoveredPart, Kind};
use crate::findings::{EXAMPLES, Example};

/// The place of a block in the grid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Extent {
    /// The block consists of whole slices: it has no condition on the grid.
    Slice,
    /// The block is at an end of the grid: beyond it a lookup extrapolates.
    End,
    /// The block is inside the grid: a lookup interpolates over it.
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

/// The references of one sort that have a block: other systems, or other versions.
#[derive(Debug)]
struct HavingShare {
    /// The sort, for people: `nearest system`.
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
        is_of_sort: impl Fn(&Reference<'_>) -> bool,
    ) -> Self {
        let mut share = Self { sort, having: Vec::new(), of: 0, has_same_version: false };
        for (index, reference) in comparison.references.iter().enumerate() {
            if !is_of_sort(reference) {
                continue;
            }
            share.of += 1;
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

    /// The share as text: `2 of 2 nearest systems`.
    fn words(&self) -> String {
        let end = if self.of == 1 { "" } else { "s" };
        format!("{} of {} {}{end}", self.having.len(), self.of, self.sort)
    }
}

/// Keys that references have and the judged table would not serve.
#[derive(Debug)]
pub struct Hole {
    /// The values of the keys as text: `num_heads 8`.
    pub words: String,
    /// The number of keys.
    pub keys: usize,
    /// The first keys.
    pub examples: Vec<Example>,
    extent: Extent,
    /// The nearest systems that have the keys.
    systems: HavingShare,
    /// The other versions that have the keys.
    versions: HavingShare,
    /// The keys' values by part, for the parts with several values in the grid.
    values: BTreeMap<String, Vec<Json>>,
    /// The names of the parts that have a condition.
    conditions: Vec<String>,
}

impl Hole {
    /// Describes a block.
    pub fn new(comparison: &Comparison<'_>, grid: &KeyGrid, block: &MissingBlock) -> Self {
        let share = |sort, is_of_sort: fn(&Reference<'_>) -> bool| {
            HavingShare::new(comparison, &block.missing, sort, is_of_sort)
        };
        let parts = &grid.points.parts;
        let mut values = BTreeMap::new();
        for (index, part) in parts.iter().enumerate().filter(|(_, part)| part.values.len() > 1) {
            let codes = grid.values(index, &block.missing).into_iter();
            let of_part = codes.map(|code| part.values[code as usize].json()).collect();
            values.insert(part.name.clone(), of_part);
        }
        Self {
            words: words(grid, block),
            keys: comparison.estimate(block.missing.len()),
            examples: examples(comparison, grid, &block.missing),
            extent: extent(grid, block),
            systems: share("nearest system", |reference| reference.system.is_some()),
            versions: share("other version", |reference| reference.system.is_none()),
            values,
            conditions: block.conditions.keys().map(|part| parts[*part].name.clone()).collect(),
        }
    }

    /// Returns true if at least half of the nearest systems, or of the other versions, have the keys. Inside a grid
    /// a lookup interpolates over them, so they must be in the collector's plan: a table of the same version has them.
    pub fn matters(&self) -> bool {
        let is_planned =
            |share: &HavingShare| self.extent != Extent::Inside || share.has_same_version;
        [&self.systems, &self.versions].iter().any(|share| share.is_half() && is_planned(share))
    }

    /// Returns true for whole slices that only other systems have. What a GPU generation runs is its own choice,
    /// except its workload.
    pub fn is_choice(&self, workload: &[String]) -> bool {
        let is_chosen = self.conditions.iter().any(|part| !workload.contains(part));
        self.extent == Extent::Slice && is_chosen && !self.versions.is_half()
    }

    /// The references that have the keys: `2 of 2 nearest systems and 1 of 3 other versions`.
    pub fn shares(&self) -> String {
        let shares = [&self.systems, &self.versions].into_iter().filter(|share| share.of > 0);
        shares.map(HavingShare::words).collect::<Vec<_>>().join(" and ")
    }

    /// The hole for JSON reports.
    pub fn json(&self) -> Json {
        let having = [&self.systems.having[..], &self.versions.having[..]].concat();
        json!({
            "values": self.values,
            "keys": self.keys,
            "extent": self.extent.name(),
            "had_by": having,
            "of": self.shares(),
        })
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
