//! All rows of a table, as a sketch takes them in: their latencies by key, and what stands out among them.

use std::sync::Arc;

use super::parts::SliceNumbers;
use super::{SketchOutlier, name_farthest};
use crate::base::expr::Vals;
use crate::checks::compare::curves::{CurveRows, KeyLatencies, TableCurve};
use crate::checks::compare::series::{self, ScanTerms};
use crate::checks::judge::CheckInputs;
use crate::database::table::{Keys, TableScope};

/// The rows of a table with what is known of them.
pub(super) struct ReadRows<'a> {
    pub keys: &'a Keys<'a>,
    pub scope: &'a TableScope<'a>,
    /// In ms, one value per row.
    pub latency: &'a Vals<'a, f64>,
    /// Whether the loader reads a row; all without this.
    pub loaded: Option<&'a Vals<'a, bool>>,
    /// The place of each row among those of its key, where the loader keeps kernels apart.
    pub ranks: Option<&'a [u32]>,
}

impl ReadRows<'_> {
    pub fn is_loaded(&self, row: usize) -> bool {
        self.loaded.is_none_or(|loaded| loaded.get(row))
    }

    /// The latency of every key.
    pub fn latencies(&self) -> KeyLatencies {
        let timed = |row: &usize| self.is_loaded(*row) && self.latency.get(*row) > 0.0;
        let point = |row: usize| (self.keys.hashes()[row], self.latency.get(row));
        let rows = (0..self.keys.hashes().len()).filter(timed);
        // Of a repeated key the loader serves the row of the first rank.
        match self.ranks {
            Some(ranks) => {
                let mut order: Vec<usize> = rows.collect();
                order.sort_by_key(|row| ranks[*row]);
                KeyLatencies::of(order.into_iter().map(point))
            }
            None => KeyLatencies::of(rows.map(point)),
        }
    }

    /// What stands out, and the curves where rules ask for them; `slices` numbers the slices.
    pub fn scan(
        &self,
        needs: CheckInputs,
        slices: &mut SliceNumbers,
    ) -> (Vec<SketchOutlier>, Option<Arc<TableCurve>>) {
        let Self { keys, scope, latency, .. } = *self;
        let bends = needs.curves.map(|terms| terms.bends);
        let terms = ScanTerms { outliers: needs.outliers, bends };
        let loaded = |row: usize| self.is_loaded(row);
        let found = series::scan(scope.table, scope.spec, latency, loaded, terms);
        let rows = CurveRows { keys, latency };
        let outliers = found.outliers.iter().map(|(outlier, axes)| {
            let row = outlier.row as usize;
            let (hash, slice) = (keys.hashes()[row], slices.number(keys, row));
            let around = axes.iter().map(|axis| rows.around(axis)).collect();
            SketchOutlier { outlier: *outlier, hash, slice, around, key: Vec::new() }
        });
        let mut outliers: Vec<SketchOutlier> = outliers.collect();
        name_farthest(&mut outliers, keys);
        let curve = needs
            .curves
            .map(|terms| TableCurve::of(&found, &rows, terms, |row| slices.number(keys, row)));
        (outliers, curve.map(Arc::new))
    }
}
