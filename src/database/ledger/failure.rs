//! A failed case of a collector, and the missing keys that it explains.

use std::collections::{BTreeMap, BTreeSet};

use super::params::FailedCases;
use super::record::{Record, table_of, words};
use crate::database::coverage::{Cell, CoveredPoints};
use crate::specs::TableSpec;

/// A measurement that failed in a collector, or a group of such measurements.
#[derive(Debug)]
pub(super) struct CollectorFailure {
    pub backend: String,
    /// The words of the operation's name, such as `mla`, `context` and `module`.
    operation: BTreeSet<String>,
    dtypes: Vec<String>,
    pub case: FailedCases,
    pub error: String,
}

impl CollectorFailure {
    /// Parses a failure; `None` if the record does not say which measurement failed.
    pub(crate) fn new(record: &Record) -> Option<Self> {
        let module = record.module.as_deref().filter(|m| !m.is_empty())?;
        let (backend, operation) = module.split_once('.')?;
        let group = record.group.as_deref().unwrap_or_default();
        let (model, dtypes) = group.split_once('|').unwrap_or(("", group));
        let dtypes: Vec<String> =
            dtypes.split(',').map(str::trim).filter(|d| !d.is_empty()).map(str::to_owned).collect();
        let class = record.classification.as_deref().unwrap_or_default();
        let case = match FailedCases::parse(&record.task_params) {
            Some(case) => case,
            None if model.is_empty() && !dtypes.is_empty() => FailedCases::Group,
            None if class == "unverified_skipped" && group.is_empty() => FailedCases::Operation,
            None => return None,
        };
        Some(Self {
            backend: backend.to_owned(),
            operation: words(operation),
            dtypes,
            case,
            error: record.error_type.as_deref().unwrap_or(class).to_owned(),
        })
    }

    /// Returns the table into which the failed measurement would have been written; `None` if none of `tables` fits.
    pub(crate) fn table<'t>(&self, tables: &[&'t str]) -> Option<&'t str> {
        table_of(&self.operation, tables)
    }

    /// Returns true if the failure explains why a key is missing.
    pub(crate) fn explains(&self, spec: &TableSpec, points: &CoveredPoints, point: usize) -> bool {
        let key = MissingKey { spec, points, point };
        match &self.case {
            FailedCases::Operation => true,
            FailedCases::Group => self.has_dtypes_of(&key),
            FailedCases::Named(named) => self.has_dtypes_of(&key) && key.agrees_with_named(named),
            FailedCases::Values(values) => {
                self.has_dtypes_of(&key) && key.agrees_with_values(values)
            }
        }
    }

    /// Returns true if each dtype of the failure is a text in the key.
    fn has_dtypes_of(&self, key: &MissingKey<'_>) -> bool {
        self.dtypes.iter().all(|dtype| key.holds_text(dtype))
    }
}

/// The key of a point that is missing from a table.
struct MissingKey<'a> {
    spec: &'a TableSpec,
    points: &'a CoveredPoints,
    point: usize,
}

impl<'a> MissingKey<'a> {
    /// Returns the value of each part of the key.
    fn cells(&self) -> impl Iterator<Item = &'a Cell> {
        let (points, point) = (self.points, self.point);
        (0..points.parts.len()).map(move |part| points.cell(part, point))
    }

    fn holds_text(&self, text: &str) -> bool {
        self.cells().any(|cell| matches!(cell, Cell::Text(own) if **own == *text))
    }

    fn holds_one_of(&self, values: &[Cell]) -> bool {
        self.cells().any(|cell| values.contains(cell))
    }

    /// Returns true if the parameters of a failed measurement describe this key. At least one parameter must have the
    /// name of a key part, and all parameters with such a name must have the key's values.
    fn agrees_with_named(&self, named: &BTreeMap<String, Vec<Cell>>) -> bool {
        let mut compared = false;
        for (name, values) in named {
            let agrees = match self.points.parts.iter().position(|part| part.name == *name) {
                Some(part) => {
                    compared = true;
                    values.contains(self.points.cell(part, self.point))
                }
                // A dtype may have another name in the key, such as gemm_dtype for gemm_type.
                None if name.ends_with("type") => self.holds_one_of(values),
                None => true,
            };
            if !agrees {
                return false;
            }
        }
        compared
    }

    /// Returns true if parameters without names describe this key. Each number of the key must be in a separate
    /// parameter, and no text of the key may contradict the parameters.
    fn agrees_with_values(&self, values: &[Vec<Cell>]) -> bool {
        let numbers = self.plain_numbers();
        !numbers.is_empty()
            && self.texts_agree_with(values)
            && each_has_a_value_of_its_own(&numbers, values)
    }

    /// Returns the numbers of the key parts that are columns. Key parts that are formulas are left out.
    fn plain_numbers(&self) -> Vec<&'a Cell> {
        let with_parts = self.cells().zip(&self.spec.key);
        with_parts
            .filter(|(cell, part)| {
                matches!(cell, Cell::Number(_)) && part.value.as_column().is_some()
            })
            .map(|(cell, _)| cell)
            .collect()
    }

    /// Returns true if no text of the key contradicts the parameters. For example, the text `fp8` contradicts
    /// parameters that contain the dtype `bf16` but not `fp8`.
    fn texts_agree_with(&self, values: &[Vec<Cell>]) -> bool {
        let named = |text: &Cell| values.iter().flatten().any(|value| value == text);
        self.cells().zip(&self.points.parts).all(|(own, part)| {
            let mut texts = part.values.iter().filter(|value| matches!(value, Cell::Text(_)));
            !texts.any(named) || named(own)
        })
    }
}

/// Returns true if each number can be assigned its own parameter that contains this number. No parameter is assigned
/// twice. Parameters with fewer values are assigned first.
fn each_has_a_value_of_its_own(numbers: &[&Cell], values: &[Vec<Cell>]) -> bool {
    let mut free: Vec<&Vec<Cell>> = values.iter().collect();
    free.sort_by_key(|v| v.len());
    numbers.iter().all(|number| {
        let at = free.iter().position(|v| v.contains(number));
        at.map(|at| free.remove(at)).is_some()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_of_a_failed_case_matches_one_key_part_only() {
        let cells = |all: &[f64]| all.iter().map(|n| Cell::Number(*n)).collect::<Vec<_>>();
        let values = [cells(&[1.0, 2.0, 4.0]), cells(&[256.0]), cells(&[4096.0])];
        let fits = |all: &[f64]| {
            let numbers = cells(all);
            each_has_a_value_of_its_own(&numbers.iter().collect::<Vec<_>>(), &values)
        };
        assert!(fits(&[2.0, 256.0, 4096.0]));
        assert!(!fits(&[256.0, 256.0, 4096.0]), "it stands once");
        assert!(!fits(&[1.0, 2.0, 4096.0]), "one list, one part");
    }
}
