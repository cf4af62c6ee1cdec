//! The loader's keys of a table's rows: 64-bit hashes for speed, and the values for exact comparison.

use std::sync::OnceLock;

use super::combinations::{Combinations, NumberedRows};
use super::ints::are_equal;
use crate::base::expr::{ExprError, NULL_CODE, Scope, Vals, Value, WholeNumbers};
use crate::database::table::{number_json, text_json};
use crate::specs::KeyPart;

/// The evaluated key parts of a table's rows.
pub struct Keys<'a> {
    parts: Vec<(&'a str, PartValues<'a>)>,
    /// The indices of the text parts.
    texts: Vec<usize>,
    rows: usize,
    /// The hash of each row's key, computed on first use because some judgements do not need it.
    hashes: OnceLock<Vec<u64>>,
}

/// The values of a key part in all rows.
pub enum PartValues<'a> {
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
    Formula(&'k Vals<'k, f64>),
}

impl PartNumbers<'_> {
    /// Returns the number of a row.
    #[inline]
    pub fn get(self, row: usize) -> f64 {
        match self {
            Self::Whole(whole) => whole.get(row) as f64,
            Self::Formula(values) => values.get(row),
        }
    }
}

impl<'a> Keys<'a> {
    /// Evaluates the key parts for every row.
    pub fn new(parts: &'a [KeyPart], scope: &'a dyn Scope) -> Result<Self, ExprError> {
        let values = |p: &'a KeyPart| match p.value.as_column().and_then(|name| scope.whole(name)) {
            // A column with the same value in all rows becomes one value, as in formulas.
            Some(whole) if are_equal(whole) => {
                Ok(PartValues::Formula(Value::Number(Vals::One(whole.get(0) as f64))))
            }
            Some(whole) => Ok(PartValues::Whole(whole)),
            None => p.value.eval(scope).map(PartValues::Formula),
        };
        let parts: Vec<_> = parts
            .iter()
            .map(|p| Ok((p.name.as_str(), values(p)?)))
            .collect::<Result<_, ExprError>>()?;
        let is_text = |(_, (_, values)): &(usize, &(&str, PartValues<'_>))| {
            matches!(values, PartValues::Formula(Value::Text(..)))
        };
        let texts = parts.iter().enumerate().filter(is_text).map(|(place, _)| place).collect();
        Ok(Self { parts, texts, rows: scope.rows(), hashes: OnceLock::new() })
    }

    /// Returns a hash of each row's key. Equal keys have equal hashes in every table, independent of the
    /// encoding.
    pub fn hashes(&self) -> &[u64] {
        self.hashes.get_or_init(|| self.hash())
    }

    /// Converts the keys to their [`hashes`](Self::hashes).
    pub fn into_hashes(self) -> Vec<u64> {
        self.hashes();
        self.hashes.into_inner().unwrap_or_default()
    }

    /// Returns the values of the key's parts, in the loader's order.
    pub fn values(&self) -> impl Iterator<Item = &PartValues<'a>> {
        self.parts.iter().map(|(_, values)| values)
    }

    /// Returns the names of the key's parts, in the loader's order.
    pub fn names(&self) -> impl Iterator<Item = &'a str> {
        self.parts.iter().map(|(name, _)| *name)
    }

    /// Computes the hashes as sums over the parts, so that the contribution of one part can be subtracted:
    /// see [`part_hash`].
    fn hash(&self) -> Vec<u64> {
        let parts: Vec<HashedPart<'_>> =
            self.values().enumerate().map(|(part, values)| HashedPart::of(part, values)).collect();
        // Contributions that are the same in all rows are added only once.
        let same = parts.iter().filter_map(HashedPart::same).fold(SEED, u64::wrapping_add);
        let mut hashes = vec![same; self.rows];
        for (number, block) in hashes.chunks_mut(BLOCK).enumerate() {
            parts.iter().for_each(|part| part.add_to(block, number * BLOCK));
        }
        hashes
    }

    /// Returns a number that identifies the texts of a row's key within the table.
    pub fn text_code(&self, row: usize) -> u64 {
        let mut code = 0;
        for place in &self.texts {
            if let PartValues::Formula(Value::Text(codes, dict)) = &self.parts[*place].1 {
                // Each code is a digit in a number system with one digit per dictionary entry and one for
                // null.
                let digit = codes.get(row).wrapping_add(1);
                code = code * (dict.len() as u64 + 1) + u64::from(digit);
            }
        }
        code
    }

    /// Numbers the slices of all rows in order of first occurrence. Rows with the same
    /// [`text_code`](Self::text_code) are in the same slice.
    pub(crate) fn slice_numbers(&self) -> NumberedRows {
        let mut texts = Combinations::default();
        for place in &self.texts {
            if let PartValues::Formula(Value::Text(Vals::Rows(codes), dict)) = &self.parts[*place].1
            {
                texts.add_texts(codes, dict.len(), 1);
            }
        }
        texts.numbers(self.rows)
    }

    /// Returns the names and texts of a row's text parts, which identify its slice.
    pub fn texts(&self, row: usize) -> Vec<(String, String)> {
        let text = |(name, values): &(&'a str, PartValues<'a>)| match values {
            PartValues::Formula(Value::Text(codes, dict)) => {
                let text = dict.get(codes.get(row) as usize).map_or("", |text| text);
                Some(((*name).to_owned(), text.to_owned()))
            }
            _ => None,
        };
        self.parts.iter().filter_map(text).collect()
    }

    /// Returns the numbers of a key part; `None` if it contains texts or flags.
    pub fn numbers(&self, part: usize) -> Option<PartNumbers<'_>> {
        match &self.parts.get(part)?.1 {
            PartValues::Whole(whole) => Some(PartNumbers::Whole(*whole)),
            PartValues::Formula(Value::Number(numbers)) => Some(PartNumbers::Formula(numbers)),
            PartValues::Formula(_) => None,
        }
    }

    /// Returns a hash of a row's key without one of its numbers. Rows of one table that differ only in that
    /// part have equal hashes.
    #[inline]
    pub fn without(&self, part: usize, row: usize) -> u64 {
        let number = self.numbers(part).map(|numbers| numbers.get(row));
        let own = number.map_or(0, |number| part_hash(part, number_bits(number)));
        self.hashes()[row].wrapping_sub(own)
    }

    /// Returns true if two rows have the same key.
    #[inline]
    pub fn equal(&self, a: usize, b: usize) -> bool {
        self.values().all(|values| match values {
            PartValues::Whole(whole) => whole.get(a) as f64 == whole.get(b) as f64,
            PartValues::Formula(value) => equal(value, a, b),
        })
    }

    /// Returns the names and values of a row's key for JSON reports.
    pub fn show(&self, row: usize) -> Vec<(String, serde_json::Value)> {
        let shown = |values: &PartValues<'_>| match values {
            PartValues::Whole(whole) => number_json(whole.get(row) as f64),
            PartValues::Formula(value) => json(value, row),
        };
        self.parts.iter().map(|(name, values)| ((*name).to_owned(), shown(values))).collect()
    }
}

/// Returns true if two rows have the same value.
fn equal(value: &Value<'_>, a: usize, b: usize) -> bool {
    match value {
        Value::Number(v) => number_bits(v.get(a)) == number_bits(v.get(b)),
        Value::Bool(v) => v.get(a) == v.get(b),
        Value::Text(codes, dict) => {
            let (a, b) = (codes.get(a), codes.get(b));
            a == b || (a != NULL_CODE && b != NULL_CODE && dict[a as usize] == dict[b as usize])
        }
    }
}

/// Returns a row's value for JSON reports.
fn json(value: &Value<'_>, row: usize) -> serde_json::Value {
    match value {
        Value::Number(v) if v.get(row).is_nan() => serde_json::Value::Null,
        Value::Number(v) => number_json(v.get(row)),
        Value::Bool(v) => v.get(row).into(),
        Value::Text(codes, dict) => {
            dict.get(codes.get(row) as usize).map(|t| text_json(t)).unwrap_or_default()
        }
    }
}

/// The initial value of hashes.
const SEED: u64 = 0x9e37_79b9_7f4a_7c15;

/// Returns bits that are equal for equal numbers: there is one zero and one NaN.
#[inline]
pub(crate) fn number_bits(value: f64) -> u64 {
    if value.is_nan() { u64::MAX } else { (value + 0.0).to_bits() }
}

/// Mixes a value into a hash by the folded multiply of wyhash, whose high half scrambles the low half. It is
/// written out because it processes whole columns without branches. As with [`text_hash`], another function
/// would change which keys are in a key sample.
#[inline]
pub(crate) fn mix(hash: u64, value: u64) -> u64 {
    let scrambled = value.wrapping_mul(0xa076_1d64_78bd_642f);
    let wide = u128::from(hash ^ scrambled) * 0xe703_7ed1_a0b4_28db;
    (wide as u64) ^ ((wide >> 64) as u64)
}

/// Returns the contribution of a key part, given by its index, to a key's hash. `bits` identify the part's
/// value; for numbers they are [`number_bits`].
#[inline]
pub(crate) fn part_hash(part: usize, bits: u64) -> u64 {
    mix(mix(SEED, part as u64 + 1), bits)
}

/// The number of rows that are hashed at once, so that their hashes stay in the cache while all parts are
/// processed.
const BLOCK: usize = 1024;

/// A key part with precomputed contributions to hashes.
struct HashedPart<'k> {
    part: usize,
    values: &'k PartValues<'k>,
    /// The contributions of texts and integers, by code.
    coded: Vec<u64>,
}

impl<'k> HashedPart<'k> {
    fn of(part: usize, values: &'k PartValues<'_>) -> Self {
        let hash = |bits: u64| part_hash(part, bits);
        let coded = match values {
            PartValues::Formula(Value::Text(_, dict)) => {
                dict.iter().map(|text| hash(text_hash(text))).collect()
            }
            // In a part of a column, the dictionary may be larger than the number of rows.
            PartValues::Whole(WholeNumbers::Codes { codes, numbers })
                if numbers.len() <= codes.len() =>
            {
                numbers.iter().map(|n| hash(number_bits(*n as f64))).collect()
            }
            PartValues::Whole(_) | PartValues::Formula(_) => Vec::new(),
        };
        Self { part, values, coded }
    }

    /// Returns the contribution of a text or integer by its code; 0 for null.
    #[inline]
    fn coded(&self, code: u32) -> u64 {
        self.coded.get(code as usize).copied().unwrap_or(0)
    }

    /// Returns the contribution of a number.
    #[inline]
    fn number(&self, value: f64) -> u64 {
        part_hash(self.part, number_bits(value))
    }

    /// Returns the contribution of a flag.
    #[inline]
    fn flag(&self, flag: bool) -> u64 {
        part_hash(self.part, u64::from(flag))
    }

    /// Returns the part's contribution if it is the same in every row.
    fn same(&self) -> Option<u64> {
        match self.values {
            PartValues::Formula(Value::Number(Vals::One(n))) => Some(self.number(*n)),
            PartValues::Formula(Value::Bool(Vals::One(flag))) => Some(self.flag(*flag)),
            PartValues::Formula(Value::Text(Vals::One(code), _)) => Some(self.coded(*code)),
            PartValues::Whole(_) | PartValues::Formula(_) => None,
        }
    }

    /// Adds the part's contributions to the hashes of a block of rows that starts at row `first`. Does
    /// nothing if the contribution is the same in all rows.
    fn add_to(&self, hashes: &mut [u64], first: usize) {
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

/// Adds the contribution of each value to the hash of its row.
fn add_all<T: Copy>(hashes: &mut [u64], values: &[T], added: impl Fn(T) -> u64) {
    for (hash, value) in hashes.iter_mut().zip(values) {
        *hash = hash.wrapping_add(added(*value));
    }
}

/// Returns the FNV-1a hash of a text. It suits short names that are hashed once per dictionary entry. Hashes
/// decide which keys are in a key sample, so another function would change findings on large tables.
pub(crate) fn text_hash(text: &str) -> u64 {
    text.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |h, b| (h ^ u64::from(b)).wrapping_mul(0x100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::database::catalog::Place;
    use crate::database::table::{Column, Table, TableScope};
    use crate::specs::Specs;

    /// Synthetic: the same keys as integers, as floats, and through a formula.
    #[test]
    fn equal_keys_are_alike_whatever_their_column_holds() {
        let specs = Specs::embedded().unwrap();
        let of = |text: &str| text.to_owned();
        let place = Place { system: of("x"), family: None, backend: of("y"), version: of("1") };
        let whole = vec![3_i64, -7, 0, 3, 1 << 40, i64::MAX];
        let floats = whole.iter().map(|value| *value as f64).collect();
        let columns = [
            ("size", Column::Int { values: whole.clone().into(), nulls: None }),
            ("float", Column::Float { values: floats, nulls: None }),
        ];
        let columns = columns.map(|(name, column)| (of(name), column)).into();
        let table = Table::of(whole.len(), columns);
        let spec = specs.tables.get("gemm_perf").unwrap();
        let scope = TableScope::new(&table, spec, &place, None, &specs.lookups);
        let part = |formula: &str| KeyPart { name: of("n"), value: formula.parse().unwrap() };
        let parts = ["size", "float", "size + 0"].map(|formula| [part(formula)]);
        let [whole, float, formula] = parts.each_ref().map(|part| Keys::new(part, &scope).unwrap());
        assert!(matches!(whole.values().next(), Some(PartValues::Whole(_))));
        for keys in [&float, &formula] {
            assert!(matches!(keys.values().next(), Some(PartValues::Formula(_))));
            assert_eq!(keys.hashes(), whole.hashes());
            for a in 0..table.rows {
                assert_eq!(keys.show(a), whole.show(a));
                let numbers = [keys, &whole].map(|keys| keys.numbers(0).unwrap().get(a));
                assert_eq!(numbers[0], numbers[1]);
                for b in 0..table.rows {
                    assert_eq!(keys.equal(a, b), whole.equal(a, b), "{a} and {b}");
                }
            }
        }
        assert!(whole.equal(0, 3) && !whole.equal(0, 1));
    }
}
