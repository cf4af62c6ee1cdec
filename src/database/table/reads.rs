//! The inputs by which a rule judges a table's rows.

use std::cell::RefCell;
use std::collections::BTreeSet;

use crate::base::expr::{Expr, SIDECAR};
use crate::specs::TableSpec;

/// The inputs that a rule reads to judge rows. A finding on a row can be new only if one of these inputs changed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Reads {
    /// Names of the columns; `None` means any column.
    pub(crate) columns: Option<BTreeSet<String>>,
    /// True if facts about the table's system are read.
    pub(crate) system: bool,
}

impl Reads {
    /// Returns inputs that include every column.
    pub(crate) fn all() -> Self {
        Self::default()
    }

    /// Returns the inputs that the loader reads from a table: key, filters and latency.
    pub(crate) fn loaded(spec: &TableSpec) -> Self {
        let mut reads = Self::none();
        reads.add_loaded(spec);
        reads
    }

    /// Returns empty inputs.
    fn none() -> Self {
        Self { columns: Some(BTreeSet::new()), system: false }
    }

    /// Returns true if at least one column is read.
    pub(crate) fn reads_any_column(&self) -> bool {
        self.columns.as_ref().is_none_or(|columns| !columns.is_empty())
    }

    /// Returns true if a field of the sidecar is read.
    pub(crate) fn sidecar(&self) -> bool {
        self.columns.iter().flatten().any(|name| name.starts_with(SIDECAR))
    }

    fn add_column(&mut self, name: &str) {
        if let Some(columns) = &mut self.columns
            && !columns.contains(name)
        {
            columns.insert(name.to_owned());
        }
    }

    fn add_loaded(&mut self, spec: &TableSpec) {
        spec.loaded_columns().into_iter().for_each(|name| self.add_column(name));
        spec.loaded().for_each(|formula| self.add_formula(formula));
    }

    fn add_formula(&mut self, formula: &Expr) {
        formula.columns().into_iter().for_each(|name| self.add_column(name));
        self.system |= formula.reads_rates() || !formula.fields().is_empty();
    }
}

/// The columns and facts of a table that a rule has read so far. Each read access to the table is recorded here.
#[derive(Debug)]
pub(crate) struct ReadsRecord(RefCell<Reads>);

impl Default for ReadsRecord {
    /// Creates a record without inputs.
    fn default() -> Self {
        Self(RefCell::new(Reads::none()))
    }
}

impl ReadsRecord {
    /// Returns the inputs that were read so far.
    pub(crate) fn reads(&self) -> Reads {
        self.0.borrow().clone()
    }

    /// Records that a column is read.
    pub(crate) fn column(&self, name: &str) {
        self.0.borrow_mut().add_column(name);
    }

    /// Records that every column is read.
    pub(crate) fn all(&self) {
        self.0.borrow_mut().columns = None;
    }

    /// Records that facts about the table's system are read.
    pub(crate) fn system(&self) {
        self.0.borrow_mut().system = true;
    }

    /// Records the columns that the loader reads: key, filters and latency.
    pub(crate) fn loaded(&self, spec: &TableSpec) {
        self.0.borrow_mut().add_loaded(spec);
    }

    /// Records the columns and facts that a formula names.
    pub(crate) fn formula(&self, formula: &Expr) {
        self.0.borrow_mut().add_formula(formula);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::specs::Specs;

    #[test]
    fn formulas_read_the_system_s_facts_only_if_they_name_figures_or_rates() {
        let specs = Specs::embedded().unwrap();
        let gemm = specs.tables.get("gemm_perf").unwrap();
        let record = ReadsRecord::default();
        record.loaded(gemm);
        assert_eq!(record.reads(), Reads::loaded(gemm));
        assert!(!record.reads().system);
        record.formula(&gemm.bounds[0].seconds);
        assert!(record.reads().system);
        record.all();
        assert_eq!(record.reads().columns, None);
    }
}
