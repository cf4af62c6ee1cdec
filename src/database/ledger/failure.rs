//! A case that failed: which keys of a table it explains.

use std::collections::BTreeSet;

use super::params::Case;
use super::record::{Record, table_of, words};
use crate::database::coverage::{Cell, Points};
use crate::specs::TableSpec;

/// A case that failed.
#[derive(Debug)]
pub(super) struct Failure {
    pub backend: String,
    /// Words of the operation: mla, context, module.
    operation: BTreeSet<String>,
    dtypes: Vec<String>,
    pub case: Case,
    pub error: String,
}

impl Failure {
    /// A record as the case it stands for; none where nothing tells which that was.
    pub fn new(record: Record) -> Option<Self> {
        let module = record.module.filter(|m| !m.is_empty())?;
        let (backend, operation) = module.split_once('.')?;
        let group = record.group.unwrap_or_default();
        let (model, dtypes) = group.split_once('|').unwrap_or(("", &group));
        let dtypes: Vec<String> =
            dtypes.split(',').map(str::trim).filter(|d| !d.is_empty()).map(str::to_owned).collect();
        let class = record.classification.unwrap_or_default();
        let case = match Case::parse(&record.task_params) {
            Some(case) => case,
            None if model.is_empty() && !dtypes.is_empty() => Case::Group,
            None if class == "unverified_skipped" && group.is_empty() => Case::Operation,
            // Nothing tells which of the operation's cases it was.
            None => return None,
        };
        Some(Self {
            backend: backend.to_owned(),
            operation: words(operation),
            dtypes,
            case,
            error: record.error_type.unwrap_or(class),
        })
    }

    /// The table that it is missing from.
    pub fn table<'t>(&self, tables: &[&'t str]) -> Option<&'t str> {
        table_of(&self.operation, tables)
    }

    /// Whether it is why a key is missing.
    pub fn explains(&self, spec: &TableSpec, points: &Points, point: usize) -> bool {
        let cells = || (0..points.parts.len()).map(|i| (i, points.cell(i, point)));
        let text = |t: &str| cells().any(|(_, c)| matches!(c, Cell::Text(own) if **own == *t));
        // Dtypes that no part of the key holds say nothing of it.
        let dtypes = self.dtypes.iter().all(|d| text(d));
        match &self.case {
            Case::Operation => true,
            Case::Group => dtypes,
            Case::Named(named) => {
                let of = |name: &str| points.parts.iter().position(|p| p.name == name);
                let mut told =
                    named.iter().filter_map(|(n, values)| Some((of(n)?, values))).peekable();
                // A dtype goes by other names in a key: gemm_type is gemm_dtype.
                let mut types =
                    named.iter().filter(|(n, _)| n.ends_with("type") && of(n).is_none());
                told.peek().is_some()
                    && dtypes
                    && types.all(|(_, values)| cells().any(|(_, c)| values.contains(c)))
                    && told.all(|(part, values)| values.contains(points.cell(part, point)))
            }
            Case::Values(values) => {
                let plain = |i: usize| spec.key[i].value.as_column().is_some();
                let number = |c: &Cell| matches!(c, Cell::Number(_));
                let numbers: Vec<&Cell> =
                    cells().filter(|(i, c)| plain(*i) && number(c)).map(|(_, c)| c).collect();
                // Where it names one of a part's texts, it failed at that one alone.
                let says = |text: &Cell| values.iter().flatten().any(|v| v == text);
                let texts = cells().all(|(i, own)| {
                    let known = points.parts[i].values.iter();
                    let mut known = known.filter(|v| matches!(v, Cell::Text(_)));
                    !known.any(says) || says(own)
                });
                !numbers.is_empty() && dtypes && texts && each_its_own(&numbers, values)
            }
        }
    }
}

/// Whether each number is one of a value of its own: a number that stands once is no two parts'.
/// Numbers by themselves are taken before those of a list.
fn each_its_own(numbers: &[&Cell], values: &[Vec<Cell>]) -> bool {
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
    fn a_number_that_stands_once_is_not_two_parts_numbers() {
        let cells = |all: &[f64]| all.iter().map(|n| Cell::Number(*n)).collect::<Vec<_>>();
        let values = [cells(&[1.0, 2.0, 4.0]), cells(&[256.0]), cells(&[4096.0])];
        let fits = |all: &[f64]| {
            let numbers = cells(all);
            each_its_own(&numbers.iter().collect::<Vec<_>>(), &values)
        };
        assert!(fits(&[2.0, 256.0, 4096.0]));
        assert!(!fits(&[256.0, 256.0, 4096.0]), "it stands once");
        assert!(!fits(&[1.0, 2.0, 4096.0]), "one list, one part");
    }
}
