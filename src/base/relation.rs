//! Relations that the values of a row must satisfy, with allowance for the digits to which the values are written.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Deserialize;

use super::expr::{Expr, ExprError, Lookup, Scope, Vals, Value, WholeNumbers};
use super::words::plural;

/// A relation that the values of each row must satisfy. If neither `holds` nor `equal` is given, every row that
/// `filter` selects breaks the relation.
#[derive(Clone, Copy, Default)]
pub(crate) struct RowRelation<'a> {
    /// A condition that selects the judged rows; `None` if all rows are judged.
    pub filter: Option<&'a Expr>,
    /// A condition that must be true; `None` if the relation has no such condition.
    pub holds: Option<&'a Expr>,
    /// Two formulas whose values must be equal; `None` if the relation has no such formulas.
    pub equal: Option<(&'a Expr, &'a Expr)>,
    /// The factor that converts the first of the equal values into the unit of the second; `None` for 1.
    pub scale: Option<f64>,
    /// The maximum difference of the two `equal` values, as a fraction of the larger one.
    pub within: f64,
}

/// The rounding errors of the columns that a relation reads.
#[derive(Default)]
pub(crate) struct Rounded<'a> {
    /// Half a unit of the last digit of each value, by column name. Columns that are not listed are exact.
    pub half_units: BTreeMap<&'a str, Cow<'a, [f64]>>,
    /// The name and formula of each column that is computed from other columns, in the order of computation.
    pub derived: Vec<(&'a str, &'a Expr)>,
}

impl<'a> RowRelation<'a> {
    /// Returns the formulas whose inputs must all be known for a row to be judged.
    fn compared(&self) -> impl Iterator<Item = &'a Expr> {
        let equal = self.equal.into_iter().flat_map(|(left, right)| [left, right]);
        let own = self.filter.filter(|_| self.holds.is_none() && self.equal.is_none());
        self.holds.into_iter().chain(equal).chain(own)
    }

    /// Returns the rows that break the relation, ascending. A row is judged only if all values that `holds` or `equal`
    /// reads are known. If neither is given, all values that `filter` reads must be known.
    ///
    /// # Errors
    ///
    /// If a formula compares values of different types.
    pub(crate) fn broken_rows(
        &self,
        scope: &dyn Scope,
        rounded: &Rounded<'_>,
    ) -> Result<Vec<usize>, ExprError> {
        let filter = self.filter.map(|filter| filter.mask(scope)).transpose()?;
        let mut open: Vec<usize> = (0..scope.rows())
            .filter(|row| filter.as_ref().is_none_or(|mask| mask.get(*row)))
            .collect();
        if open.is_empty() {
            return Ok(open);
        }
        for formula in self.compared() {
            let nulls = formula.nulls(scope)?;
            open.retain(|row| !nulls.iter().any(|nulls| nulls.get(*row)));
        }
        if let Some(holds) = self.holds {
            let holds = holds.mask(scope)?;
            open.retain(|row| !holds.get(*row));
        }
        if let Some((left, right)) = self.equal {
            let (left, right) = (left.numbers(scope)?, right.numbers(scope)?);
            let scale = self.scale.unwrap_or(1.0);
            let pair = |row: usize| (left.get(row) * scale, right.get(row));
            let difference = |row: usize| (pair(row).0 - pair(row).1).abs();
            let within = |row: usize| self.within * pair(row).0.abs().max(pair(row).1.abs());
            // A value that cannot be computed (0 / 0) is not judged.
            open.retain(|row| difference(*row) > within(*row));
            let rounding = self.rounding(scope, rounded, &open)?;
            let beyond =
                |(row, rounding): &(usize, f64)| difference(*row) > within(*row) + rounding;
            open = open.into_iter().zip(rounding).filter(beyond).map(|(row, _)| row).collect();
        }
        Ok(open)
    }

    /// Returns for each of `rows` by how much the difference between the two `equal` values may be wrong because
    /// columns are rounded. Each column alone is raised and lowered by half a unit of its last digit. The larger change
    /// of the difference is this column's error, and the errors of all columns are added up.
    fn rounding(
        &self,
        scope: &dyn Scope,
        rounded: &Rounded<'_>,
        rows: &[usize],
    ) -> Result<Vec<f64>, ExprError> {
        let mut sums = vec![0.0; rows.len()];
        let Some((left, right)) = self.equal.filter(|_| !rows.is_empty()) else { return Ok(sums) };
        let differences = |scope: &dyn Scope| -> Result<Vec<f64>, ExprError> {
            let (left, right) = (left.numbers(scope)?, right.numbers(scope)?);
            let scale = self.scale.unwrap_or(1.0);
            Ok(rows.iter().map(|row| left.get(*row) * scale - right.get(*row)).collect())
        };
        let mut read: BTreeSet<&str> = self.compared().flat_map(Expr::columns).collect();
        for (name, formula) in rounded.derived.iter().rev() {
            if read.contains(name) {
                read.extend(formula.columns());
            }
        }
        let as_written = differences(scope)?;
        for (name, halves) in rounded.half_units.iter().filter(|(name, _)| read.contains(*name)) {
            let Some(Value::Number(values)) = scope.column(name) else { continue };
            let mut most = vec![0.0f64; rows.len()];
            for sign in [-1.0, 1.0] {
                let shifted = |row: usize| values.get(row) + sign * halves[row];
                let shifted = (0..scope.rows()).map(shifted).collect();
                let columns = BTreeMap::from([(*name, shifted)]);
                let mut shifted = ShiftedScope { scope, columns };
                for (name, formula) in &rounded.derived {
                    let values = formula.numbers(&shifted)?;
                    let values = (0..scope.rows()).map(|row| values.get(row)).collect();
                    shifted.columns.insert(name, values);
                }
                for ((most, a), b) in most.iter_mut().zip(differences(&shifted)?).zip(&as_written) {
                    *most = most.max((a - b).abs());
                }
            }
            sums.iter_mut().zip(most).for_each(|(sum, most)| *sum += most);
        }
        Ok(sums)
    }
}

/// A sentence about a row, in which `{name}` stands for the row's value of that name.
#[derive(Debug, Default, Clone, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Sentence(String);

impl Sentence {
    /// Returns the names in the sentence's placeholders.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.split('{').skip(1).map(|part| part.split_once('}').map_or(part, |(name, _)| name))
    }

    /// Returns the sentence with its placeholders filled in for the first of `rows` rows. `value` returns the text for
    /// a placeholder's name. If there are several rows, their number is appended.
    pub(crate) fn of_first(&self, rows: usize, value: impl Fn(&str) -> String) -> String {
        let mut parts = self.0.split('{');
        let mut said = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let (name, rest) = part.split_once('}').unwrap_or((part, ""));
            said += &value(name);
            said += rest;
        }
        // A dotted name is of something that all rows share.
        let differs = self.names().any(|name| !name.contains('.'));
        match rows {
            1 => said,
            _ if differs => format!("{said} (first of {} with this problem)", plural(rows, "row")),
            _ => format!("{said} ({})", plural(rows, "row")),
        }
    }
}

/// A copy of another scope in which some number columns have different values.
struct ShiftedScope<'a> {
    scope: &'a dyn Scope,
    columns: BTreeMap<&'a str, Vec<f64>>,
}

impl Scope for ShiftedScope<'_> {
    fn rows(&self) -> usize {
        self.scope.rows()
    }

    fn column(&self, name: &str) -> Option<Value<'_>> {
        match self.columns.get(name) {
            Some(values) => Some(Value::Number(Vals::Rows(Cow::Borrowed(values)))),
            None => self.scope.column(name),
        }
    }

    fn whole(&self, name: &str) -> Option<WholeNumbers<'_>> {
        self.scope.whole(name).filter(|_| !self.columns.contains_key(name))
    }

    fn fields(&self, path: &str) -> Vals<'_, f64> {
        self.scope.fields(path)
    }

    fn lookup(&self, function: &Lookup, text: &str) -> Option<f64> {
        self.scope.lookup(function, text)
    }
}
