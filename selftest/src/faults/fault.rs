//! Faults as data: the types that read `faults.yaml`.

use std::path::Path;
use std::sync::Arc;

use serde::Deserialize;

use super::amount::Amount;
use perfdb_gate::base::error::{Error, Result};
use perfdb_gate::base::expr::Expr;
use perfdb_gate::jobs::for_selftest::parse_yaml;

/// The faults that a selftest plants.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Faults {
    /// Rules that may report any change of a table's bytes, whatever the fault.
    #[serde(default)]
    pub always: Vec<String>,
    /// Rules that compare a table's curves with tables of the same name. A fault in one table may
    /// change their findings on the others.
    #[serde(default)]
    pub beside: Vec<String>,
    /// The faults, in the order of reports.
    pub faults: Vec<Fault>,
}

/// The faults that are part of the binary.
const SHIPPED: &str = include_str!("faults.yaml");

impl Faults {
    /// Reads the faults: those of a file, or the built-in ones.
    ///
    /// # Errors
    ///
    /// Returns an error with the line if the file cannot be read or is malformed.
    pub fn read(file: Option<&Path>) -> Result<Self> {
        let Some(file) = file else {
            return parse_yaml(SHIPPED).map_err(|why| Error::new(why, ""));
        };
        let named = |why: &dyn std::fmt::Display| {
            Error::new(format!("{}: {why}", file.display()), "name a file of faults")
        };
        let text = std::fs::read_to_string(file).map_err(|why| named(&why))?;
        parse_yaml(&text).map_err(|why| named(&why))
    }
}

/// The kind of a fault, which decides whether it must be found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FaultClass {
    /// The data is wrong by itself; a missed fault is a defect of the gate.
    Structural,
    /// The data differs from other data and can be found with some probability.
    Statistical,
    /// The data is correct; any finding is a false alarm.
    Control,
}

impl FaultClass {
    /// Returns the name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Structural => "structural",
            Self::Statistical => "statistical",
            Self::Control => "control",
        }
    }
}

/// A fault of a database, or a harmless change.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fault {
    /// Unique name in kebab-case.
    pub id: String,
    /// The fault's class.
    pub class: FaultClass,
    /// Ids of rules that find the fault; one finding is enough. Empty for a control.
    #[serde(default)]
    pub finds: Vec<String>,
    /// Ids of rules that may report the fault too, in the place where it is planted; `*` is any
    /// rule.
    #[serde(default)]
    pub may: Vec<String>,
    /// Ids of rules that may report the fault in other places.
    #[serde(default)]
    pub elsewhere: Vec<String>,
    /// Tables in which the fault can be planted; empty for any table.
    #[serde(default)]
    pub tables: Vec<String>,
    /// True if the fault is wrong only in the newest version of a backend.
    #[serde(default)]
    pub newest: bool,
    /// Latency range of the affected rows, in ms: lower bound inclusive, upper bound exclusive.
    #[serde(default)]
    pub latency_ms: Option<[f64; 2]>,
    /// True if an info on the affected rows counts as found, since a pull request shows infos on
    /// its rows.
    #[serde(default)]
    pub infos: bool,
    /// The line in the chart of recall over size to which the fault's sizes belong.
    #[serde(default)]
    pub curve: Option<String>,
    /// The change that is made to a table or to a file beside it.
    pub plant: Plant,
    /// The numbers of affected rows, one variant each; empty for all rows.
    #[serde(default)]
    pub rows: Vec<Amount>,
    /// The values of `by` in formulas, one variant each.
    #[serde(default)]
    pub by: Vec<f64>,
}

/// The change that a fault makes. Formulas can read the table's columns, `value` (the replaced
/// cell), `by`, and two random numbers per row: `normal` (standard normal) and `chance` (from 0 to
/// 1).
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Plant {
    /// Sets cells to the value of a formula, or to null.
    Set(SetCells),
    /// Removes rows.
    Drop,
    /// Appends copies of rows with measurements from the formula.
    Repeat(Expr),
    /// Renames, removes or retypes a column.
    Retype(Retype),
    /// Moves points onto the line between their neighbours.
    Draw,
    /// Moves every second point of `by` series (or of all) along an axis onto the line between its
    /// neighbours.
    DrawSeries(DrawnSeries),
    /// Shuffles the cells of a column over rows.
    Shuffle(String),
    /// Swaps two size columns in every row.
    SwapColumns,
    /// Swaps the two most frequent texts of the first of these columns that has two texts.
    SwapTexts(Vec<String>),
    /// Replaces the rows by the rows of the same table in another place, optionally with changed
    /// cells.
    Copy(Copied),
    /// Damages the bytes of the file.
    Bytes(Damage),
    /// Writes the rows as text and tears it.
    Text(Tear),
    /// Moves the table to another family.
    Family(String),
    /// Replaces the table by a symbolic link.
    Link,
    /// Removes a file beside the table; `system` is the system's YAML.
    Remove(String),
    /// Writes a file beside the table; `support-matrix` is the system's matrix. The text can
    /// contain `{table}`, `{system}`, `{backend}` and `{version}`.
    Write(WrittenFile),
    /// Changes a field of a YAML file beside the table.
    Edit(Edit),
    /// Adds waivers to the repository.
    Waivers(String),
}

/// Cells to set.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SetCells {
    /// Column names; the first one that the table has is set. `measured` is all measured columns,
    /// `size` the first axis of the sweep.
    pub column: Vec<String>,
    /// The formula of the new value; `None` for null.
    #[serde(default)]
    pub to: Option<Expr>,
}

/// A column to retype.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Retype {
    /// Column names, with the meaning of [`SetCells::column`].
    pub column: Vec<String>,
    /// The new type of the column.
    pub to: CellType,
}

/// The fate of a retyped column.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CellType {
    Text,
    Number,
    Gone,
    Renamed,
}

/// The source of copied rows.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Copied {
    /// The part of the place in which the source differs.
    pub other: CopiedFrom,
    /// Cells to set in the copy.
    #[serde(default)]
    pub set: Vec<SetCells>,
}

/// The drawing of points along series.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DrawnSeries {
    /// Standard deviation of the noise on the line, relative to the latency.
    pub noise: f64,
}

/// A part of a table's place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CopiedFrom {
    System,
    Version,
}

/// The damage to a file's bytes.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Damage {
    /// The file is cut to the share `by` of its bytes.
    Cut,
    /// The file is empty.
    Empty,
    /// The footer is overwritten.
    Footer,
    /// The file is replaced by a git-LFS pointer.
    Pointer,
    /// The file is a table without rows.
    Rowless,
    /// The file is removed.
    Gone,
}

/// The damage to a table's text.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Tear {
    /// The last line ends in the middle.
    End,
    /// A line lacks its last cells.
    Short,
    /// The header is repeated.
    Header,
    /// Two lines are joined.
    Together,
}

/// A file with its text.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WrittenFile {
    pub file: String,
    pub text: String,
}

/// Returns true if a fault's file name refers to a file of the system, not of the table's
/// directory.
pub fn is_of_system(file: &str) -> bool {
    matches!(file, "system" | "support-matrix")
}

/// A field of a YAML file to change.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Edit {
    /// The file's name beside the table; `system` is the system's YAML.
    pub file: String,
    /// The field's name; its first occurrence is changed.
    pub field: String,
    /// The new value; `None` multiplies the old one by `by`.
    #[serde(default)]
    pub to: Option<String>,
}

/// A fault in one size.
#[derive(Debug, Clone)]
pub struct Variant {
    /// The fault.
    pub fault: Arc<Fault>,
    /// The number of affected rows.
    pub rows: Amount,
    /// The value of `by` in the fault's formulas.
    pub by: Option<f64>,
}

impl Fault {
    /// Returns true if a rule may report the fault in its own place.
    pub(super) fn may_break(&self, rule: &str) -> bool {
        contains(&self.finds, rule) || contains(&self.may, rule)
    }

    /// Returns true if a rule may report the fault in other places.
    pub(super) fn may_break_elsewhere(&self, rule: &str) -> bool {
        contains(&self.elsewhere, rule)
    }

    /// Returns the fault in all its sizes.
    pub(super) fn variants(self) -> Vec<Variant> {
        let fault = Arc::new(self);
        let amounts = if fault.rows.is_empty() { &[Amount::All][..] } else { &fault.rows };
        let factors: Vec<Option<f64>> = fault.by.iter().copied().map(Some).collect();
        let factors = if factors.is_empty() { vec![None] } else { factors };
        let of_amount = |rows: &Amount| {
            let variant = |by: &Option<f64>| Variant { fault: fault.clone(), rows: *rows, by: *by };
            factors.iter().map(variant).collect::<Vec<_>>()
        };
        amounts.iter().flat_map(of_amount).collect()
    }
}

impl Variant {
    /// Renders the size for people.
    pub fn size(&self) -> String {
        let rows = (!self.fault.rows.is_empty()).then(|| self.rows.to_string());
        let by = self.by.map(|by| format!("by {by}"));
        rows.into_iter().chain(by).collect::<Vec<_>>().join(", ")
    }

    /// Renders the name and size for people.
    pub(super) fn name(&self) -> String {
        format!("{} {}", self.fault.id, self.size()).trim_end().to_owned()
    }

    /// Returns true if the fault changes a file of a whole system.
    pub(super) fn touches_system(&self) -> bool {
        matches!(
            &self.fault.plant,
            Plant::Edit(Edit { file, .. }) | Plant::Remove(file) | Plant::Write(WrittenFile { file, .. })
                if is_of_system(file)
        )
    }

    /// Returns true if the fault changes a file beside the tables of a directory.
    pub(super) fn is_beside(&self) -> bool {
        matches!(self.fault.plant, Plant::Remove(_) | Plant::Write(_) | Plant::Edit(_))
    }
}

/// Returns true if a list of rules contains a rule or `*`.
fn contains(rules: &[String], rule: &str) -> bool {
    rules.iter().any(|r| r == rule || r == "*")
}
