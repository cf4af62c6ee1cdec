//! Plans: grids of points that the command `measure` measures (`rules/plans/*.yaml`).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::base::error::{Error, Result, unknown};
use crate::base::expr::Expr;
use crate::specs::{Library, SpecFile};

/// A plan: a grid of points to measure for one table.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// The purpose of the measurements, in one sentence.
    pub about: String,
    /// File stem of the table to measure.
    pub table: String,
    /// Name of the backend directory of the table.
    pub backend: String,
    /// Name of the measured software, such as cuBLAS or NCCL. Its version becomes the version of the table.
    pub version: String,
    /// The parts of the grid, each with a list of values per column. A part contains every combination of these values.
    pub grid: Vec<BTreeMap<String, Vec<GridCell>>>,
    /// Condition that selects points of the grid; `None` selects all.
    #[serde(default)]
    pub rows: Option<Expr>,
    /// Random draw from the selected points; `None` means that all selected points are measured.
    #[serde(default)]
    pub draw: Option<EvenDraw>,
    /// Number of points whose power is also measured. These are the first points that are measured.
    #[serde(default)]
    pub power: usize,
}

/// A random draw of grid points with a fixed seed.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EvenDraw {
    /// Number of points to draw.
    pub points: usize,
    /// Seed of the draw.
    pub seed: u64,
    /// Columns over which the draw is balanced. Each combination of their values gets nearly the same number of points.
    pub evenly: Vec<String>,
}

/// A value in a column of a grid.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(untagged)]
pub enum GridCell {
    /// A number, such as a size.
    Int(i64),
    /// A text, such as a dtype.
    Text(String),
}

impl Plan {
    /// Finds a plan. A name that ends in `.yaml` is the path of a user's file; any other name is that of a plan in the
    /// library.
    ///
    /// # Errors
    ///
    /// If the file cannot be read or is not a plan, or no plan has that name.
    pub(crate) fn find(library: &Library, name: &str) -> Result<Self> {
        if name.ends_with(".yaml") {
            let text = std::fs::read_to_string(name).map_err(|e| {
                Error::caused(
                    format!("cannot read {name}"),
                    "--plan takes the name of a plan or a YAML file",
                    e,
                )
            })?;
            let (role, shown) = (format!("rules/plans/{name}"), name.to_owned());
            let file = SpecFile { role, shown, text: text.into(), shipped: false };
            return Self::read(&file);
        }
        let files: Vec<&SpecFile> = library.folder("rules/plans").collect();
        let known = files.iter().map(|f| f.stem());
        let file = files.iter().rev().find(|f| f.stem() == name);
        Self::read(file.ok_or_else(|| unknown("plan", name, known))?)
    }

    fn read(file: &SpecFile) -> Result<Self> {
        let plan: Self = file.parse()?;
        plan.fault().map_or(Ok(plan), |why| Err(file.malformed(&why)))
    }

    /// Returns the first error in the plan that the YAML parser does not detect, such as an empty grid; `None` if there
    /// is none.
    pub(crate) fn fault(&self) -> Option<String> {
        let Some(first) = self.grid.first() else { return Some("the grid is empty".into()) };
        if self.grid.iter().any(|part| part.keys().ne(first.keys())) {
            return Some(
                "the parts of the grid have different columns, but all need the same".into(),
            );
        }
        let is_number = |cell: &GridCell| matches!(cell, GridCell::Int(_));
        for (name, values) in self.grid.iter().flatten() {
            if values.is_empty() {
                return Some(format!("{name} has an empty list of values"));
            }
            let kind = is_number(&first[name][0]);
            if values.iter().any(|value| is_number(value) != kind) {
                return Some(format!("{name} mixes numbers and text"));
            }
        }
        if let Some(taken) = ["version", "device"].iter().find(|n| first.contains_key(**n)) {
            return Some(format!("the grid has a column {taken}, which the device reports itself"));
        }
        let mut evenly = self.draw.iter().flat_map(|draw| &draw.evenly);
        let unknown = evenly.find(|name| !first.contains_key(*name))?;
        Some(format!("`draw` names {unknown}, which is not a column of the grid"))
    }

    /// Returns all points of the grid, as a table: the cells of each column, by the column's name.
    pub(crate) fn combinations(&self) -> BTreeMap<String, Vec<GridCell>> {
        let mut columns: BTreeMap<String, Vec<GridCell>> = BTreeMap::new();
        for part in &self.grid {
            let count: usize = part.values().map(Vec::len).product();
            let mut each = count;
            for (name, values) in part {
                each /= values.len();
                let cells = (0..count).map(|row| values[row / each % values.len()].clone());
                columns.entry(name.clone()).or_default().extend(cells);
            }
        }
        columns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(grid: &str) -> Plan {
        let text =
            format!("about: synthetic\ntable: t_perf\nbackend: b\nversion: v\ngrid:\n{grid}");
        crate::base::yaml::parse(&text).unwrap()
    }

    #[test]
    fn a_grid_is_every_combination_of_its_parts() {
        let columns =
            plan("- {op: [x], m: [1, 2], n: [3, 4]}\n- {op: [y], m: [5], n: [6]}").combinations();
        let ints = |name: &str| columns[name].clone();
        let cells = |values: &[i64]| values.iter().map(|v| GridCell::Int(*v)).collect::<Vec<_>>();
        assert_eq!(ints("m"), cells(&[1, 1, 2, 2, 5]));
        assert_eq!(ints("n"), cells(&[3, 4, 3, 4, 6]));
        assert_eq!(columns["op"][4], GridCell::Text("y".into()));
    }

    #[test]
    fn an_invalid_grid_is_refused_with_the_reason() {
        for (grid, why) in [
            (" []", "is empty"),
            ("- {m: [1]}\n- {n: [1]}", "different columns"),
            ("- {m: []}", "empty list"),
            ("- {m: [1, a]}", "numbers and text"),
            ("- {version: [a]}", "the device reports"),
        ] {
            assert!(plan(grid).fault().unwrap().contains(why), "{grid}");
        }
        assert_eq!(plan("- {m: [1]}").fault(), None);
    }
}
