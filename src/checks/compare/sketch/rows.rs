//! The rows of a table, from which its sketch takes latencies, outliers and curves.

use std::sync::Arc;

use super::{SketchOutlier, SliceNumbers};
use crate::base::expr::Vals;
use crate::checks::compare::series::{self, CurveRows, KeyLatencies, ScanTerms, TableCurve};
use crate::checks::inputs::CheckInputs;
use crate::database::table::{Keys, TableScope};

/// The rows of a table that a sketch is made from.
pub(super) struct ReadRows<'a> {
    pub keys: &'a Keys<'a>,
    pub scope: &'a TableScope<'a>,
    /// The latency in ms, one value per row.
    pub latency: &'a Vals<'a, f64>,
    /// True for each row that the loader reads; `None` if it reads all.
    pub loaded: Option<&'a Vals<'a, bool>>,
    /// The rank of each row. Of several rows with the same key, the loader serves the row with the smallest rank.
    /// `None` if the rows have no ranks; then the loader serves the first of these rows.
    pub ranks: Option<&'a [u32]>,
}

impl ReadRows<'_> {
    pub(crate) fn is_loaded(&self, row: usize) -> bool {
        self.loaded.is_none_or(|loaded| loaded.get(row))
    }

    /// The latency that the loader serves for each key.
    pub(crate) fn latencies(&self) -> KeyLatencies {
        let timed = |row: &usize| self.is_loaded(*row) && self.latency.get(*row) > 0.0;
        let hashes = self.keys.hashes();
        let point = |row: usize| (hashes[row], self.latency.get(row));
        let rows = 0..hashes.len();
        // The loader serves the row with the first rank among those with the same key.
        match self.ranks {
            Some(ranks) => {
                let mut order: Vec<usize> = rows.filter(timed).collect();
                order.sort_by_key(|row| ranks[*row]);
                KeyLatencies::of(order.into_iter().map(point))
            }
            None => KeyLatencies::of(rows.filter(timed).map(point)),
        }
    }

    /// Returns the table's outliers, and its curves if rules need them. `slices` contains the slices known so far; new
    /// ones are added.
    pub(crate) fn scan(
        &self,
        needs: CheckInputs,
        slices: &mut SliceNumbers,
    ) -> (Vec<SketchOutlier>, Option<Arc<TableCurve>>) {
        let Self { keys, scope, latency, .. } = *self;
        let bends = needs.curves.map(|terms| terms.least_deviation);
        let terms = ScanTerms { outliers: needs.outliers, deviations: bends };
        let loaded = |row: usize| self.is_loaded(row);
        let rows = CurveRows { keys, latency };
        let sampled = |row: u32| rows.samples(row);
        let found = series::scan(scope.table, scope.spec, latency, loaded, sampled, terms);
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

/// Sets the key of the outliers with the largest deviation. A report shows only a few outliers, but a table may have
/// thousands.
fn name_farthest(found: &mut [SketchOutlier], keys: &Keys<'_>) {
    const NAMED: usize = 64;
    for spike in [true, false] {
        let mut order: Vec<usize> =
            (0..found.len()).filter(|i| found[*i].outlier.spike() == spike).collect();
        order.sort_by(|a, b| {
            let factor = |i: &usize| found[*i].outlier.factor();
            factor(b).total_cmp(&factor(a)).then(a.cmp(b))
        });
        for i in order.into_iter().take(NAMED) {
            found[i].key = keys.show(found[i].outlier.row as usize);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::base::random::Random;
    use crate::checks::compare::sketch::{Sketch, SketchTerms};
    use crate::checks::inputs::{CheckInputs, CurveTerms};
    use crate::database::catalog::Place;
    use crate::database::table::{Column, Keys, Table, TableScope};
    use crate::specs::{ColumnKind, IDENTITY, Specs, TableSpec};

    const ROWS: usize = 60;

    /// Synthetic: a table with every column that a spec knows.
    fn columns(spec: &TableSpec, random: &mut Random) -> Vec<(String, Column)> {
        let mut some = |most: usize| (0..ROWS).map(|_| 1 + random.below(most)).collect::<Vec<_>>();
        let known = spec.columns.iter().map(|column| (column.name.as_str(), column.kind));
        let known = known.filter(|(name, _)| *name != "kernel_source" && !IDENTITY.contains(name));
        let texts = IDENTITY.into_iter().chain(["kernel_source"]);
        let all = known.chain(texts.map(|name| (name, ColumnKind::Text)));
        let column = |(name, kind): (&str, ColumnKind)| {
            let column = match kind {
                ColumnKind::Int => {
                    let values = some(5).into_iter().map(|n| n as i64).collect();
                    Column::Int { values, nulls: None }
                }
                ColumnKind::Bool => {
                    let values = some(2).into_iter().map(|n| n > 1).collect();
                    Column::Bool { values, nulls: None }
                }
                ColumnKind::Text => Column::texts(some(3).iter().map(|n| Some(format!("text{n}")))),
                ColumnKind::Number | ColumnKind::Measure(_) => {
                    let values = some(900).into_iter().map(|n| n as f64 / 16.0).collect();
                    Column::Float { values, nulls: None }
                }
            };
            (name.to_owned(), column)
        };
        all.map(column).collect()
    }

    #[test]
    fn a_sketch_reads_only_the_columns_that_it_names() {
        let specs = Specs::embedded().unwrap();
        let [system, backend, version] = ["h200_sxm", "trtllm", "1.2.0"].map(str::to_owned);
        let place = Place { system, family: None, backend, version };
        let curves = Some(CurveTerms { least_deviation: 1.2, floor_ms: 0.01 });
        let needs = CheckInputs::default().with(Some(2.0), curves);
        for spec in specs.tables.values() {
            let sketch = |is_wanted: &dyn Fn(&str) -> bool| {
                let mut all = columns(spec, &mut Random::new(11));
                all.retain(|(name, _)| is_wanted(name));
                let table = Table::of(ROWS, all);
                let scope = TableScope::new(&table, spec, &place, None, &specs.lookups);
                let keys = Keys::new(&spec.key, &scope).unwrap();
                let terms = SketchTerms { needs, named: true, scanned: false };
                let mut sketch = Sketch::of(&keys, &scope, terms).unwrap();
                let (latencies, has_points) = (sketch.latencies.take(), !sketch.points.is_empty());
                ((format!("{sketch:?}"), latencies), has_points)
            };
            let named = Sketch::columns(spec);
            let (whole, has_points) = sketch(&|_| true);
            assert!(
                has_points || spec.filter.is_some() || spec.latency.is_empty(),
                "{}",
                spec.name
            );
            assert!(whole == sketch(&|name| named.contains(name)).0, "{}", spec.name);
        }
    }
}
