//! What the charts of a table show, as `charts/*.yaml` says it.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::base::error::Result;
use crate::base::expr::Expr;
use crate::specs::Library;

/// What the chart of a table shows. What is left out is taken from the table's spec.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChartSpec {
    /// The column along the axis; else the first of the sweep that varies.
    #[serde(default)]
    pub x: Option<String>,
    /// Columns of which a chart shows one value each, those that changed most; else all texts.
    #[serde(default)]
    pub panel: Option<Vec<String>>,
    /// Rows whose series are shown first.
    #[serde(default)]
    pub prefer: Vec<Expr>,
    /// What the second panel shows; else the part of the bound that is reached.
    #[serde(default)]
    pub rate: Option<Rate>,
}

/// A rate over the sweep.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rate {
    /// Its name and unit.
    pub name: String,
    /// Its value in each row.
    pub value: Expr,
    /// What the machine allows.
    #[serde(default)]
    pub limit: Option<Expr>,
}

/// What the charts of tables show, by file stem.
pub type ChartSpecs = BTreeMap<String, ChartSpec>;

/// Reads `charts/*.yaml`.
///
/// # Errors
///
/// When a file is malformed; it names file and line.
pub fn read(library: &Library) -> Result<ChartSpecs> {
    let mut charts = ChartSpecs::new();
    for file in library.folder("charts") {
        charts.extend(file.parse::<ChartSpecs>()?);
    }
    Ok(charts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::specs::{Specs, TableSpec};

    /// The columns that an entry reads and its table's spec does not know.
    fn unknown<'a>(chart: &'a ChartSpec, spec: &TableSpec) -> Vec<&'a str> {
        let rates = chart.rate.iter().flat_map(|rate| rate.limit.iter().chain([&rate.value]));
        let formulas = chart.prefer.iter().chain(rates).flat_map(Expr::columns);
        let columns = formulas.chain(chart.x.iter().map(String::as_str));
        columns.filter(|column| !spec.knows(column)).collect()
    }

    #[test]
    fn every_table_with_a_spec_has_an_entry_of_columns_that_it_has() {
        let specs = Specs::embedded().unwrap();
        let charts = read(&specs.library).unwrap();
        assert!(charts.keys().eq(specs.tables.keys()), "charts/ and rules/tables/ differ");
        for (table, chart) in &charts {
            assert_eq!(unknown(chart, specs.tables.get(table).unwrap()), [""; 0], "{table}");
        }
    }
}
