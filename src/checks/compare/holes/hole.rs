//! The description of keys that are missing together.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;
use serde_json::Value as Json;

use super::comparison::{HoleComparison, KeyReference};
use super::grid::{KeyGrid, KeyState};
use super::missing::MissingKeys;
use crate::base::words::names;
use crate::database::coverage::{CoveredPart, PartRole};
use crate::database::table::{EXAMPLES, Example, REFERENCE};

/// Keys that references have and the judged table would not serve.
#[derive(Debug, Serialize)]
pub(crate) struct Hole {
    /// The condition that the missing keys meet, as text: `num_heads 8`.
    #[serde(skip)]
    pub condition: String,
    /// The estimated number of missing keys.
    pub keys: usize,
    /// Examples of the missing keys, in ascending order of their values.
    #[serde(skip)]
    pub examples: Vec<Example>,
    /// The names of the references that have at least half of the missing keys.
    had_by: Vec<String>,
    /// The number of references that have at least half of the missing keys, as text: `2 of 2 nearest systems`.
    pub of: String,
    /// The values of the missing keys by key part. Key parts with a single value in all keys are left out.
    values: BTreeMap<String, Vec<Json>>,
    /// True if the table may lack the keys on purpose: they are a whole slice, no other version has them, and the slice
    /// is defined by a key part that depends on the machine.
    #[serde(skip)]
    pub is_choice: bool,
}

impl Hole {
    /// Describes keys that are missing together. `workload` lists the key parts that do not depend on the machine.
    /// Returns `None` if the planner can interpolate the missing sizes, since the table serves smaller and larger ones,
    /// and if no reference of the same version has these sizes.
    pub(crate) fn new(
        comparison: &HoleComparison<'_>,
        grid: &KeyGrid,
        keys: &MissingKeys,
        workload: &[String],
    ) -> Option<Self> {
        let (parts, missing) = (&grid.points.parts, &keys.missing);
        let systems = HavingShare::new(comparison, missing, "nearest system", true);
        let versions = HavingShare::new(comparison, missing, "other version", false);
        let having = [&systems.having[..], &versions.having[..]].concat();
        let version = &comparison.file.place.version;
        if is_inside(grid, keys) && having.iter().all(|reference| reference.version != version) {
            return None;
        }
        let is_slice = keys.conditions.keys().all(|part| !grid.is_axis(*part));
        let is_chosen = keys.conditions.keys().any(|part| !workload.contains(&parts[*part].name));
        let mut values = BTreeMap::new();
        for (index, part) in parts.iter().enumerate().filter(|(_, part)| part.values.len() > 1) {
            let codes = grid.values(index, missing).into_iter();
            let of_part = codes.map(|code| part.values[code as usize].json()).collect();
            values.insert(part.name.clone(), of_part);
        }
        let shares = [&systems, &versions].into_iter();
        let of: Vec<String> =
            shares.filter(|share| share.of > 0).map(HavingShare::to_string).collect();
        Some(Self {
            condition: words(comparison, grid, keys),
            keys: comparison.estimate(missing.len()),
            examples: examples(comparison, grid, missing),
            of: of.join(" and "),
            values,
            is_choice: is_slice && is_chosen && versions.having.is_empty(),
            had_by: having.into_iter().map(KeyReference::name).collect(),
        })
    }
}

/// The references of one kind (nearest systems, or other versions) that have at least half of the missing keys.
struct HavingShare<'a> {
    /// The name of the kind in messages, in the singular: `nearest system`.
    sort: &'static str,
    /// The references that have at least half of the missing keys.
    having: Vec<&'a KeyReference<'a>>,
    /// The number of all references of this kind.
    of: usize,
}

impl<'a> HavingShare<'a> {
    fn new(
        comparison: &'a HoleComparison<'_>,
        missing: &[usize],
        sort: &'static str,
        are_systems: bool,
    ) -> Self {
        let mut share = Self { sort, having: Vec::new(), of: 0 };
        let references = comparison.references.iter().enumerate();
        for (index, reference) in references.filter(|(_, r)| r.system.is_some() == are_systems) {
            share.of += 1;
            let had = missing.iter().filter(|key| comparison.keys[**key].had_by.contains(&index));
            if 2 * had.count() >= missing.len() {
                share.having.push(reference);
            }
        }
        share
    }
}

impl fmt::Display for HavingShare<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let end = if self.of == 1 { "" } else { "s" };
        write!(f, "{} of {} {}{end}", self.having.len(), self.of, self.sort)
    }
}

/// Returns the first missing keys in the order of their values, each with the name of a reference that has the key.
fn examples(comparison: &HoleComparison<'_>, grid: &KeyGrid, missing: &[usize]) -> Vec<Example> {
    let parts = &grid.points.parts;
    let mut missing = missing.to_vec();
    missing.sort_by_cached_key(|key| parts.iter().map(|part| part.codes[*key]).collect::<Vec<_>>());
    missing.truncate(EXAMPLES);
    let example = |index: usize| {
        let key = &comparison.keys[index];
        let first = key.had_by.first().map(|reference| &comparison.references[*reference]);
        let from = first.map(|reference| (REFERENCE.to_owned(), reference.name().into()));
        Example {
            row: u64::from(key.row()),
            line: None,
            key: grid.points.key(index),
            values: from.into_iter().collect(),
        }
    };
    missing.into_iter().map(example).collect()
}

/// Returns true if the missing keys are sizes along an axis, and the table serves smaller and larger sizes than these
/// in the same slice.
fn is_inside(grid: &KeyGrid, keys: &MissingKeys) -> bool {
    let axis = keys.conditions.iter().find(|(part, _)| grid.is_axis(**part));
    axis.is_some_and(|(axis, sizes)| {
        let mut slice = keys.conditions.clone();
        slice.remove(axis);
        let served = grid.in_state(KeyState::Served).filter(|key| grid.meets(&slice, *key));
        let served = grid.values(*axis, &served.collect::<Vec<usize>>());
        served.first() < sizes.first() && served.last() > sizes.last()
    })
}

/// Describes which keys are missing, such as `dtype fp8, isl from 16384 up`. Other values that all missing keys have in
/// common follow after "with".
fn words(comparison: &HoleComparison<'_>, grid: &KeyGrid, keys: &MissingKeys) -> String {
    let (mut slices, mut axes, mut common) = (Vec::new(), Vec::new(), Vec::new());
    for (index, part) in grid.points.parts.iter().enumerate() {
        // All keys of the references have the same value of a part with only one value.
        let Some(codes) = keys.conditions.get(&index).filter(|_| part.values.len() > 1) else {
            common.extend(common_words(comparison, grid, keys, index));
            continue;
        };
        let codes: Vec<usize> = codes.iter().map(|code| *code as usize).collect();
        if part.kind == PartRole::Grid {
            axes.push(axis_words(part, &codes));
        } else {
            slices.push(value_words(part, &codes));
        }
    }
    slices.extend(axes);
    let said = slices.join(", ");
    if common.is_empty() { said } else { format!("{said} with {}", common.join(", ")) }
}

/// Describes a condition on an axis: `isl from 16384 up`, or a list of the values if they are not a range.
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

/// Describes a condition by its values: `dtype fp8, bf16`.
fn value_words(part: &CoveredPart, codes: &[usize]) -> String {
    let values: Vec<String> = codes.iter().map(|code| part.values[*code].to_string()).collect();
    format!("{} {}", part.name, names(values.iter().map(String::as_str)))
}

/// Describes the value that all missing keys have in a key part, such as `dtype fp8`. Returns `None` if they have
/// different values, if the part is an axis, or if all served keys have the same value, too.
fn common_words(
    comparison: &HoleComparison<'_>,
    grid: &KeyGrid,
    keys: &MissingKeys,
    index: usize,
) -> Option<String> {
    let part = &grid.points.parts[index];
    let codes = grid.values(index, &keys.missing);
    let code = (codes.len() == 1 && !grid.is_axis(index)).then(|| codes.first())??;
    let is_other = |text: &String| *text != part.values[*code as usize].to_string();
    let mut texts = comparison.own_slices.iter().filter_map(|slice| slice.get(&part.name));
    let is_distinct = texts.any(is_other)
        || grid.in_state(KeyState::Served).any(|key| grid.code(index, key) != *code);
    is_distinct.then(|| value_words(part, &[*code as usize]))
}
