//! Finds rows that break a relation between their values.

use serde_json::Value as Json;

use super::frame::{Frame, FrameView, TraceCell};
use super::spec::{DerivedColumn, Relation, Thresholds};
use crate::base::expr::ExprError;
use crate::base::relation::Rounded;

/// Returns the relations that are broken in any row, each with the indexes of these rows in ascending order. A row is
/// judged only if all values that the relation reads are known.
///
/// # Errors
///
/// If a formula compares values of different types.
pub(crate) fn broken<'s>(
    relations: &'s [Relation],
    derive: &[DerivedColumn],
    frame: &Frame<'_>,
    thresholds: &Thresholds,
) -> Result<Vec<(&'s Relation, Vec<usize>)>, ExprError> {
    let mut all = Vec::new();
    let rounded = Rounded {
        half_units: frame.half_units(),
        derived: derive.iter().map(|derived| (derived.name.as_str(), &derived.is)).collect(),
    };
    let view = FrameView { frame, thresholds };
    for relation in relations {
        let rows = relation.formulas_of().broken_rows(&view, &rounded)?;
        if !rows.is_empty() {
            all.push((relation, rows));
        }
    }
    Ok(all)
}

impl Relation {
    /// Returns the message about the rows that break the relation, with the values of the first row.
    pub(crate) fn message(
        &self,
        frame: &Frame<'_>,
        rows: &[usize],
        thresholds: &Thresholds,
    ) -> String {
        self.says.of_first(rows.len(), |name| {
            match name.strip_prefix("threshold.").and_then(|name| thresholds.get(name)) {
                Some(threshold) => threshold.value.to_string(),
                None => frame.cell(name, rows[0]).to_string(),
            }
        })
    }

    /// Returns the known values that the relation reads or shows in a row, as pairs of column name and value.
    pub(crate) fn values(&self, frame: &Frame<'_>, row: usize) -> Vec<(String, Json)> {
        let mut names: Vec<&str> = Vec::new();
        let read = self.formulas().flat_map(|e| e.columns());
        for name in read.chain(self.show.iter().map(String::as_str)) {
            if *frame.cell(name, row) != TraceCell::Null && !names.contains(&name) {
                names.push(name);
            }
        }
        names.iter().map(|n| ((*n).to_owned(), frame.cell(n, row).json())).collect()
    }

    /// Returns the thresholds that the relation uses. Each threshold gives two pairs: `NAME` with the threshold's
    /// value, and `NAME_from` with the source of this value.
    pub(crate) fn grounds(&self, thresholds: &Thresholds) -> Vec<(String, Json)> {
        let mut grounds = Vec::new();
        for name in self.thresholds() {
            if let Some(threshold) = thresholds.get(name) {
                grounds.push((name.to_owned(), threshold.value.into()));
                grounds.push((format!("{name}_from"), threshold.from.as_str().into()));
            }
        }
        grounds
    }
}
