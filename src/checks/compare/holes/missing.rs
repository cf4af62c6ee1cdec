//! The missing slices of a table, and the missing sizes of its slices.
//!
//! A slice is the whole table, the keys with one value of a part that is not an axis (`attn_dtype fp8`, `num_heads 8`),
//! the keys with the same names, or the keys with the same names and shapes. If the table serves no key of a slice with
//! some values of one further part, these values are missing together. Wide slices come before narrow ones, so that a
//! dtype without any row is reported once, and not once for each of its lengths.

use std::collections::HashSet;

use super::grid::{Conditions, KeyGrid, KeyState};
use crate::base::group::grouped;
use crate::database::coverage::PartRole;

/// Keys of one slice that are missing together, such as all fp8 keys with the two largest sizes of `isl`. The table
/// serves no key of the slice with these values.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct MissingKeys {
    /// The conditions that the missing keys meet, such as `dtype` fp8 and `isl` 16384 or 65536.
    pub conditions: Conditions,
    /// The missing keys, by index.
    pub missing: Vec<usize>,
}

/// A partition of the keys into slices.
struct Slicing {
    /// The indices of the key parts whose values are the same in all keys of a slice.
    parts: Vec<usize>,
    /// The slice number of each key.
    slices: Vec<u32>,
}

impl KeyGrid {
    /// Finds sets of keys that are missing together, such as all fp8 keys with the largest size of `isl`. Each set has
    /// at least `least` keys. The table serves no key with these values. Large slices are searched before small ones.
    /// Empty if the table serves no key at all.
    pub(crate) fn missing_together(&self, least: usize) -> Vec<MissingKeys> {
        let mut left: Vec<usize> = self.in_state(KeyState::Missing).collect();
        let mut found = Vec::new();
        if self.in_state(KeyState::Served).next().is_none() {
            return found;
        }
        for slicings in self.slicings() {
            while let Some(largest) = self.largest(&slicings, &left, least) {
                left.retain(|key| largest.missing.binary_search(key).is_err());
                found.push(largest);
            }
        }
        found
    }

    /// Returns four lists of ways to divide the keys into slices, from large to small slices. A slice is the whole
    /// table, or consists of keys that are equal in one key part, in all names (such as dtype and kernel), or in
    /// everything but the axes.
    fn slicings(&self) -> [Vec<Slicing>; 4] {
        let parts = &self.points.parts;
        let by_part = |part| Slicing { parts: vec![part], slices: parts[part].codes.clone() };
        let whole = Slicing { parts: Vec::new(), slices: vec![0; self.points.len] };
        let each = (0..parts.len()).filter(|part| !self.is_axis(*part)).map(by_part);
        let by_kinds = |kinds: &[PartRole]| Slicing {
            parts: (0..parts.len()).filter(|part| kinds.contains(&parts[*part].kind)).collect(),
            slices: self.points.slices(kinds),
        };
        let [names, shapes] =
            [&[PartRole::Name][..], &[PartRole::Name, PartRole::Shape]].map(by_kinds);
        [vec![whole], each.collect(), vec![names], vec![shapes]]
    }

    /// Returns the largest set of keys that are missing together; `None` if it has fewer than `least` keys. Only keys
    /// in `left` are searched: the missing keys that do not belong to a set yet.
    fn largest(&self, slicings: &[Slicing], left: &[usize], least: usize) -> Option<MissingKeys> {
        let parts = 0..self.points.parts.len();
        let pairs =
            slicings.iter().flat_map(|slicing| parts.clone().map(move |along| (slicing, along)));
        // The first of several sets of the same size is taken.
        let found =
            pairs.rev().filter_map(|(slicing, along)| self.missing_along(slicing, along, left));
        let largest = found.max_by_key(|keys| keys.missing.len())?;
        (largest.missing.len() >= least).then_some(largest)
    }

    /// Searches `left` for missing keys whose value of the key part `along` no served key of their slice has. Returns
    /// these keys of one slice: the slice with the largest number of them. `None` if no slice has such keys.
    fn missing_along(
        &self,
        slicing: &Slicing,
        along: usize,
        left: &[usize],
    ) -> Option<MissingKeys> {
        let place = |key: usize| (slicing.slices[key], self.code(along, key));
        let served: HashSet<(u32, u32)> = self.in_state(KeyState::Served).map(place).collect();
        let unserved = left.iter().filter(|key| !served.contains(&place(**key)));
        let by_slice = grouped(unserved.map(|key| (slicing.slices[*key], *key)));
        let missing = by_slice.into_values().rev().max_by_key(Vec::len)?;
        let parts = slicing.parts.iter().chain([&along]);
        let conditions = parts.map(|part| (*part, self.values(*part, &missing))).collect();
        Some(MissingKeys { conditions, missing })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::database::coverage::{Cell, CoveredPart, CoveredPoints};

    /// Two dtypes, four shapes, and a grid of eight by eight.
    fn grid(state: impl Fn([u32; 4]) -> KeyState) -> KeyGrid {
        let part = |name: &str, kind, values: u32, each: u32| CoveredPart {
            name: name.into(),
            kind,
            values: (0..values).map(|v| Cell::Number(f64::from(1 << v))).collect(),
            codes: (0..512).map(|p| p / each % values).collect(),
        };
        let parts = vec![
            part("dtype", PartRole::Name, 2, 256),
            part("shape", PartRole::Shape, 4, 64),
            part("isl", PartRole::Grid, 8, 8),
            part("batch", PartRole::Grid, 8, 1),
        ];
        let states = (0..512).map(|p| state([0, 1, 2, 3].map(|i: usize| parts[i].codes[p])));
        KeyGrid { states: states.collect(), points: CoveredPoints { parts, len: 512 } }
    }

    type Found = Vec<Vec<(usize, Vec<u32>)>>;

    fn found(missing: impl Fn([u32; 4]) -> bool) -> Found {
        let state = |p| if missing(p) { KeyState::Missing } else { KeyState::Served };
        conditions(&grid(state).missing_together(4))
    }

    fn conditions(found: &[MissingKeys]) -> Found {
        let values = |keys: &MissingKeys| {
            keys.conditions.iter().map(|(part, v)| (*part, v.iter().copied().collect())).collect()
        };
        found.iter().map(values).collect()
    }

    #[test]
    fn a_missing_slice_is_named_by_its_values() {
        assert_eq!(found(|p| p[0] == 1), [vec![(0, vec![1])]]);
        assert_eq!(found(|p| p[1] == 1 || p[1] == 3), [vec![(1, vec![1, 3])]]);
        assert_eq!(found(|p| p[0] == 1 && p[1] == 2), [vec![(0, vec![1]), (1, vec![2])]]);
    }

    #[test]
    fn missing_sizes_are_found_in_a_whole_table_or_in_a_slice() {
        assert_eq!(found(|p| p[2] == 3 || p[2] >= 6), [vec![(2, vec![3, 6, 7])]]);
        assert_eq!(found(|p| p[0] == 0 && p[2] >= 5), [vec![(0, vec![0]), (2, vec![5, 6, 7])]]);
        assert_eq!(found(|p| p[1] == 0 || p[3] == 7), [vec![(1, vec![0])], vec![(3, vec![7])]]);
    }

    #[test]
    fn keys_of_a_partly_served_slice_are_not_missing_together() {
        assert!(found(|p| (p[1] * 37 + p[2] * 11 + p[3] * 5) % 23 == 0).is_empty(), "scattered");
        assert!(found(|p| p[2] >= 6 && p[3] >= 6).is_empty(), "a corner of two axes");
        assert!(found(|_| true).is_empty(), "the whole table");
        assert!(found(|_| false).is_empty());
    }

    #[test]
    fn explained_keys_neither_make_a_hole_nor_prevent_one() {
        let state = |p: [u32; 4]| match (p[1], p[2]) {
            (2, 7) | (0, _) => KeyState::Explained,
            (2, _) => KeyState::Missing,
            _ => KeyState::Served,
        };
        let found = grid(state).missing_together(4);
        assert_eq!(conditions(&found), [vec![(1, vec![2])]]);
        assert_eq!(found[0].missing.len(), 112);
    }
}
