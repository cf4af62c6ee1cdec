//! The specs of charts: `charts/*.yaml` as types.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::base::error::Result;
use crate::base::expr::Expr;
use crate::specs::Library;

/// The chart spec of a table. A field that is not given is derived from the table's spec.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChartSpec {
    /// The column of the x axis; `None` for the first column of the sweep that varies.
    #[serde(default)]
    pub x: Option<String>,
    /// The columns that define a slice; `None` for all key columns with names or flags, such as the dtype. A chart
    /// shows one slice.
    #[serde(default)]
    pub panel: Option<Vec<String>>,
    /// The conditions by which a chart chooses series. A series is preferred if one of its rows meets a condition.
    /// Earlier conditions take precedence.
    #[serde(default)]
    pub prefer: Vec<Expr>,
    /// The rate in the second panel; `None` to show the speed-of-light bound divided by the latency.
    #[serde(default)]
    pub rate: Option<Rate>,
}

/// A rate that a chart shows along the sweep.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rate {
    /// The name and unit of the rate.
    pub name: String,
    /// The formula for the rate of a row.
    pub value: Expr,
    /// The formula for the largest rate that the machine allows; `None` for no limit.
    #[serde(default)]
    pub limit: Option<Expr>,
}

/// The specs of charts, by the stem of the table's file name.
pub(crate) type ChartSpecs = BTreeMap<String, ChartSpec>;

/// Reads `charts/*.yaml`.
///
/// # Errors
///
/// If a file is malformed; the message names file and line.
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

    /// Returns the columns that a chart's spec reads and its table's spec does not know.
    fn unknown<'a>(chart: &'a ChartSpec, spec: &TableSpec) -> Vec<&'a str> {
        let rates = chart.rate.iter().flat_map(|rate| rate.limit.iter().chain([&rate.value]));
        let formulas = chart.prefer.iter().chain(rates).flat_map(Expr::columns);
        let columns = formulas.chain(chart.x.iter().map(String::as_str));
        columns.filter(|column| !spec.knows(column)).collect()
    }

    #[test]
    fn a_chart_spec_reads_only_columns_of_its_table() {
        let specs = Specs::embedded().unwrap();
        let charts = read(&specs.library).unwrap();
        assert!(charts.len() > 20);
        for (table, chart) in &charts {
            let spec = specs.tables.get(table).expect("a table with a spec");
            assert_eq!(unknown(chart, spec), [""; 0], "{table}");
        }
    }
}
