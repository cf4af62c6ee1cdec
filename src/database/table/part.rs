//! The values of one key part in all rows, and their contributions to key hashes.

use super::example::{number_json, text_json};
use super::hash::{SEED, mix, number_bits, part_seed, run_seed, run_text_hash, text_hash};
use crate::base::expr::{NULL_CODE, Vals, Value, WholeNumbers};

/// The values of a key part in all rows.
pub(crate) enum PartValues<'a> {
    /// The integers of a column without nulls, borrowed without conversion.
    Whole(WholeNumbers<'a>),
    /// The result of a formula.
    Formula(Value<'a>),
}

/// The numbers of a key part in all rows.
#[derive(Clone, Copy)]
pub enum PartNumbers<'k> {
    /// Integers without nulls.
    Whole(WholeNumbers<'k>),
    /// Numbers, NaN where null.
    Float(&'k Vals<'k, f64>),
}

impl PartNumbers<'_> {
    /// Returns the value of the key part in a row.
    #[inline]
    pub fn get(self, row: usize) -> f64 {
        match self {
            Self::Whole(whole) => whole.get(row) as f64,
            Self::Float(values) => values.get(row),
        }
    }
}

impl PartValues<'_> {
    /// Returns true if two rows have the same value.
    #[inline]
    pub(super) fn equal(&self, a: usize, b: usize) -> bool {
        match self {
            Self::Whole(whole) => whole.get(a) as f64 == whole.get(b) as f64,
            Self::Formula(Value::Number(v)) => number_bits(v.get(a)) == number_bits(v.get(b)),
            Self::Formula(Value::Bool(v)) => v.get(a) == v.get(b),
            Self::Formula(Value::Text(codes, dict)) => {
                let (a, b) = (codes.get(a), codes.get(b));
                a == b || (a != NULL_CODE && b != NULL_CODE && dict[a as usize] == dict[b as usize])
            }
        }
    }

    /// Returns a row's value for JSON reports.
    pub(super) fn json(&self, row: usize) -> serde_json::Value {
        match self {
            Self::Whole(whole) => number_json(whole.get(row) as f64),
            Self::Formula(Value::Number(v)) if v.get(row).is_nan() => serde_json::Value::Null,
            Self::Formula(Value::Number(v)) => number_json(v.get(row)),
            Self::Formula(Value::Bool(v)) => v.get(row).into(),
            Self::Formula(Value::Text(codes, dict)) => {
                dict.get(codes.get(row) as usize).map(|t| text_json(t)).unwrap_or_default()
            }
        }
    }
}

/// The number of rows that are hashed at once, so that their hashes stay in the cache while all parts are
/// processed.
pub(super) const BLOCK: usize = 1024;

/// The hash function of keys.
#[derive(Clone, Copy)]
pub(super) struct KeyHasher {
    /// The initial value of the hash.
    pub seed: u64,
    text: fn(&str) -> u64,
}

impl KeyHasher {
    /// Returns the hash function of sketches, which is the same in every run.
    pub(crate) fn fixed() -> Self {
        Self { seed: SEED, text: text_hash }
    }

    /// Returns the hash function of this run's hash tables.
    pub(crate) fn of_run() -> Self {
        Self { seed: run_seed(), text: run_text_hash }
    }
}

/// A key part, prepared for hashing. The hash of a key is the sum of the hashes of its parts' values.
pub(super) struct HashedPart<'k> {
    /// The seed for the hashes of the part's values.
    seed: u64,
    values: &'k PartValues<'k>,
    /// The hash of each distinct text or integer, indexed by code. Empty if the hashes are not computed in advance.
    coded: Vec<u64>,
}

impl<'k> HashedPart<'k> {
    pub(super) fn new(hasher: KeyHasher, part: usize, values: &'k PartValues<'_>) -> Self {
        let seed = part_seed(hasher.seed, part);
        let hash = |bits: u64| mix(seed, bits);
        let coded = match values {
            PartValues::Formula(Value::Text(_, dict)) => {
                dict.iter().map(|text| hash((hasher.text)(text))).collect()
            }
            // In a part of a column, the dictionary may be larger than the number of rows.
            PartValues::Whole(WholeNumbers::Codes { codes, numbers })
                if numbers.len() <= codes.len() =>
            {
                numbers.iter().map(|n| hash(number_bits(*n as f64))).collect()
            }
            PartValues::Whole(_) | PartValues::Formula(_) => Vec::new(),
        };
        Self { seed, values, coded }
    }

    /// Returns the hash of a text or integer, given by its code; 0 for null.
    #[inline]
    fn coded(&self, code: u32) -> u64 {
        self.coded.get(code as usize).copied().unwrap_or(0)
    }

    /// Returns the hash of a number in this key part.
    #[inline]
    fn number(&self, value: f64) -> u64 {
        mix(self.seed, number_bits(value))
    }

    /// Returns the hash of a flag in this key part.
    #[inline]
    fn flag(&self, flag: bool) -> u64 {
        mix(self.seed, u64::from(flag))
    }

    /// Returns the hash of the part's value if the value is the same in all rows; otherwise `None`.
    pub(super) fn same(&self) -> Option<u64> {
        match self.values {
            PartValues::Formula(Value::Number(Vals::One(n))) => Some(self.number(*n)),
            PartValues::Formula(Value::Bool(Vals::One(flag))) => Some(self.flag(*flag)),
            PartValues::Formula(Value::Text(Vals::One(code), _)) => Some(self.coded(*code)),
            PartValues::Whole(_) | PartValues::Formula(_) => None,
        }
    }

    /// Adds the hash of this part's value to the hash of each row. `hashes` are the hashes of consecutive rows,
    /// starting with row `first`. Does nothing for a part with the same value in all rows.
    pub(super) fn add_to(&self, hashes: &mut [u64], first: usize) {
        let rows = first..first + hashes.len();
        match self.values {
            PartValues::Whole(WholeNumbers::Codes { codes, .. }) if !self.coded.is_empty() => {
                add_all(hashes, &codes[rows], |code| self.coded(code));
            }
            PartValues::Whole(WholeNumbers::Codes { codes, numbers }) => {
                add_all(hashes, &codes[rows], |code| self.number(numbers[code as usize] as f64));
            }
            PartValues::Whole(WholeNumbers::Values(values)) => {
                add_all(hashes, &values[rows], |value| self.number(value as f64));
            }
            PartValues::Formula(Value::Number(Vals::Rows(v))) => {
                add_all(hashes, &v[rows], |value| self.number(value));
            }
            PartValues::Formula(Value::Bool(Vals::Rows(v))) => {
                add_all(hashes, &v[rows], |flag| self.flag(flag));
            }
            PartValues::Formula(Value::Text(Vals::Rows(v), _)) => {
                add_all(hashes, &v[rows], |code| self.coded(code));
            }
            PartValues::Formula(_) => {}
        }
    }
}

/// Adds the hash of each value to the hash of its row. `added` computes a value's hash.
fn add_all<T: Copy>(hashes: &mut [u64], values: &[T], added: impl Fn(T) -> u64) {
    for (hash, value) in hashes.iter_mut().zip(values) {
        *hash = hash.wrapping_add(added(*value));
    }
}
