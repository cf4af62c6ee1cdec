//! The loader's keys of a table's rows: 64-bit hashes for speed, and the values for exact comparison.

use std::sync::OnceLock;

use super::ints::are_equal;
use super::part::{BLOCK, HashedPart, KeyHasher};
use super::{Combinations, NumberedRows, PartNumbers, PartValues, number_bits, part_hash};
use crate::base::expr::{ExprError, Scope, Vals, Value};
use crate::specs::KeyPart;

/// The evaluated key parts of a table's rows.
pub struct Keys<'a> {
    parts: Vec<(&'a str, PartValues<'a>)>,
    /// The indices of the key parts that are texts.
    texts: Vec<usize>,
    rows: usize,
    /// The hash of each row's key. Computed on first use, because not every caller needs the hashes.
    hashes: OnceLock<Vec<u64>>,
    /// The slice of each row, numbered on first use.
    slices: OnceLock<NumberedRows>,
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
        Ok(Self {
            parts,
            texts,
            rows: scope.rows(),
            hashes: OnceLock::new(),
            slices: OnceLock::new(),
        })
    }

    /// Returns a hash of each row's key. Equal keys have equal hashes in every table, however the table's file is
    /// encoded.
    pub fn hashes(&self) -> &[u64] {
        self.hashes.get_or_init(|| self.hash(KeyHasher::fixed()))
    }

    /// Returns a hash of each row's key for hash tables. Its seed is random, so that no file can contain keys that
    /// collide; the hashes must not decide anything that a report shows.
    pub(crate) fn run_hashes(&self) -> Vec<u64> {
        self.hash(KeyHasher::of_run())
    }

    /// Converts the keys to their [`hashes`](Self::hashes).
    pub(crate) fn into_hashes(self) -> Vec<u64> {
        self.hashes();
        self.hashes.into_inner().unwrap_or_default()
    }

    /// Returns the values of the key's parts, in the loader's order.
    pub(crate) fn values(&self) -> impl Iterator<Item = &PartValues<'a>> {
        self.parts.iter().map(|(_, values)| values)
    }

    /// Returns the names of the key's parts, in the loader's order.
    pub(crate) fn names(&self) -> impl Iterator<Item = &'a str> {
        self.parts.iter().map(|(name, _)| *name)
    }

    /// Computes the hash of each row's key as the sum of the hashes of the key parts. [`without`](Self::without) can
    /// thus remove a part by a subtraction.
    fn hash(&self, hasher: KeyHasher) -> Vec<u64> {
        let parts = self.values().enumerate();
        let parts: Vec<HashedPart<'_>> =
            parts.map(|(part, values)| HashedPart::new(hasher, part, values)).collect();
        // Contributions that are the same in all rows are added only once.
        let same = parts.iter().filter_map(HashedPart::same).fold(hasher.seed, u64::wrapping_add);
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

    /// Returns the slices of all rows, numbered in order of first occurrence. Rows with the same
    /// [`text_code`](Self::text_code) are in the same slice.
    pub(crate) fn slice_numbers(&self) -> &NumberedRows {
        self.slices.get_or_init(|| self.number_slices())
    }

    fn number_slices(&self) -> NumberedRows {
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
    pub(crate) fn texts(&self, row: usize) -> Vec<(String, String)> {
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
            PartValues::Formula(Value::Number(numbers)) => Some(PartNumbers::Float(numbers)),
            PartValues::Formula(_) => None,
        }
    }

    /// Returns a hash of a row's key that ignores some numeric key parts. `parts` are the indices of the ignored parts.
    /// Rows that differ only in the ignored parts have equal hashes.
    #[inline]
    pub fn without(&self, parts: &[usize], row: usize) -> u64 {
        let own = |part: &usize| {
            let number = self.numbers(*part).map(|numbers| numbers.get(row));
            number.map_or(0, |number| part_hash(*part, number_bits(number)))
        };
        parts.iter().map(own).fold(self.hashes()[row], u64::wrapping_sub)
    }

    /// Returns true if two rows have the same key.
    #[inline]
    pub fn equal(&self, a: usize, b: usize) -> bool {
        self.values().all(|values| values.equal(a, b))
    }

    /// Returns the names and values of a row's key, without parts that have the same value in all rows.
    pub(crate) fn distinctive(&self, row: usize) -> Vec<(String, serde_json::Value)> {
        let is_own =
            |values: &PartValues<'_>| (0..self.rows).any(|other| !values.equal(row, other));
        let own = self.values().zip(self.show(row)).filter(|(values, _)| is_own(values));
        own.map(|(_, shown)| shown).collect()
    }

    /// Returns the names and values of a row's key for JSON reports.
    pub fn show(&self, row: usize) -> Vec<(String, serde_json::Value)> {
        self.parts.iter().map(|(name, values)| ((*name).to_owned(), values.json(row))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::database::catalog::Place;
    use crate::database::table::{Column, Table, TableScope};
    use crate::specs::Specs;

    /// Synthetic: the same keys as integers, as floats, and through a formula.
    #[test]
    fn keys_are_equal_for_columns_of_integers_floats_and_formulas() {
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
        let of_run = whole.run_hashes();
        assert_eq!(of_run[0], of_run[3], "equal keys");
        assert_eq!(of_run, float.run_hashes(), "one seed for all tables of a run");
        assert!(of_run.iter().zip(whole.hashes()).all(|(run, fixed)| run != fixed));
    }
}
