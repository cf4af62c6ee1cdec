//! Faults as data: `faults.yaml` beside this file.

use std::sync::Arc;

use serde::Deserialize;

use super::amount::Amount;
use crate::base::error::{Error, Result};
use crate::base::expr::Expr;
use crate::base::yaml;
use crate::specs::Library;

/// The faults that a selftest plants.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Faults {
    /// Rules that any change of a table's bytes may break, whatever the fault.
    #[serde(default)]
    pub always: Vec<String>,
    /// Rules that hold a table's curves against those of its namesakes: a fault in one of these may change
    /// what they say of the others.
    #[serde(default)]
    pub beside: Vec<String>,
    /// The faults, in the order in which they are reported.
    pub faults: Vec<Fault>,
}

/// The faults that are part of the binary.
const SHIPPED: &str = include_str!("faults.yaml");

impl Faults {
    /// Reads the faults: this program's own, or those of an overlay's `faults.yaml`.
    ///
    /// # Errors
    ///
    /// When the file is malformed; it names the line.
    pub fn read(library: &Library) -> Result<Self> {
        match library.file("rules/faults.yaml").last() {
            Some(file) => file.parse(),
            None => yaml::parse(SHIPPED).map_err(|why| Error::new(why, "")),
        }
    }
}

/// Whether a fault can always be found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FaultClass {
    /// It is wrong by itself: one that is missed is a defect of the gate.
    Structural,
    /// It stands out from other data, more or less.
    Statistical,
    /// It is none: what is found is a false alarm.
    Control,
}

impl FaultClass {
    /// Its name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Structural => "structural",
            Self::Statistical => "statistical",
            Self::Control => "control",
        }
    }
}

/// Something that goes wrong with a database.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fault {
    /// Kebab-case, unique.
    pub id: String,
    /// Whether it can always be found.
    pub class: FaultClass,
    /// Rules that find it; one of them will do. None of a control.
    #[serde(default)]
    pub finds: Vec<String>,
    /// Rules that it may break as well, in the place where it is planted. `*` stands for any.
    #[serde(default)]
    pub may: Vec<String>,
    /// Rules that it may break in other places.
    #[serde(default)]
    pub elsewhere: Vec<String>,
    /// Tables that it is planted in; any where none is named.
    #[serde(default)]
    pub tables: Vec<String>,
    /// Whether only the newest version of a backend is wrong by it.
    #[serde(default)]
    pub newest: bool,
    /// Latencies in ms of the rows that it is planted in: from the first, below the second.
    #[serde(default)]
    pub latency_ms: Option<[f64; 2]>,
    /// Whether an info on its rows finds it, too: a pull request shows it beside them.
    #[serde(default)]
    pub infos: bool,
    /// The line of the chart of recall over size that its sizes are points of.
    #[serde(default)]
    pub curve: Option<String>,
    /// What is done to a table, or beside it.
    pub plant: Plant,
    /// How many rows of it; a variant each. All where none is named.
    #[serde(default)]
    pub rows: Vec<Amount>,
    /// What `by` stands for in formulas; a variant each.
    #[serde(default)]
    pub by: Vec<f64>,
}

/// What is done. Formulas read the table's columns, `value` (the cell that is replaced), `by`, and
/// of each row `normal` and `chance`: a standard normal number, and one from 0 to 1.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Plant {
    /// Cells become what a formula says, null without one.
    Set(SetCells),
    /// Rows are gone.
    Drop,
    /// Rows are there again, their measurements what the formula says.
    Repeat(Expr),
    /// A column changes its type, its name, or is gone.
    Retype(Retype),
    /// Points are put on the line between their neighbours.
    Draw,
    /// Every second point of `by` series along an axis, or of all, is put on the line between its
    /// neighbours.
    DrawSeries(DrawnSeries),
    /// The cells of a column stand in other rows.
    Shuffle(String),
    /// Two sizes of every row are exchanged.
    SwapColumns,
    /// The two most frequent texts of the first of these columns that has two are exchanged.
    SwapTexts(Vec<String>),
    /// The rows of the same table elsewhere, with cells set where that is asked for.
    Copy(Copied),
    /// The bytes of the file are damaged.
    Bytes(Damage),
    /// The rows as text, torn.
    Text(Tear),
    /// The table lies under another family.
    Family(String),
    /// A symbolic link stands where the table was.
    Link,
    /// A file beside the table is gone; `system` is the system's YAML.
    Remove(String),
    /// A file beside the table says this; `support-matrix` is the system's matrix. `{table}`, `{system}`,
    /// `{backend}` and `{version}` stand for its place.
    Write(WrittenFile),
    /// A field of a YAML beside the table says something else.
    Edit(Edit),
    /// The repository has these waivers.
    Waivers(String),
}

/// Cells that are set.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SetCells {
    /// The first of these columns that a table has. `measured` stands for all that are measured,
    /// `size` for the first along which its sweep goes.
    pub column: Vec<String>,
    /// What cells become; null without a formula.
    #[serde(default)]
    pub to: Option<Expr>,
}

/// A column that changes its type.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Retype {
    /// As of [`SetCells`].
    pub column: Vec<String>,
    /// What becomes of it.
    pub to: CellType,
}

/// What becomes of a column.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CellType {
    Text,
    Number,
    Gone,
    Renamed,
}

/// Where rows are copied from.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Copied {
    /// What is another there; all else is the same.
    pub other: CopiedFrom,
    /// Cells that are set in the copy.
    #[serde(default)]
    pub set: Vec<SetCells>,
    /// Noise on what the copy measured, its standard deviation over the latency.
    #[serde(default)]
    pub noise: f64,
}

/// How points are drawn.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DrawnSeries {
    /// Noise on the line, its standard deviation over the latency.
    pub noise: f64,
}

/// A part of a table's place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CopiedFrom {
    System,
    Backend,
    Version,
}

/// What happens to bytes.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Damage {
    /// They end after `by` of them.
    Cut,
    /// There are none.
    Empty,
    /// The footer is overwritten.
    Footer,
    /// They are a git-LFS pointer.
    Pointer,
    /// They are those of a table without rows.
    Rowless,
    /// There is no file.
    Gone,
}

/// How text is torn.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Tear {
    /// The last line ends in its middle.
    End,
    /// A line lacks its last cells.
    Short,
    /// The header is there again.
    Header,
    /// Two lines run together.
    Together,
}

/// What a file says.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WrittenFile {
    pub file: String,
    pub text: String,
}

/// Whether a file that a fault names is its system's, and not its directory's.
pub fn is_of_system(file: &str) -> bool {
    matches!(file, "system" | "support-matrix")
}

/// A field that says something else.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Edit {
    /// The file's name beside the table; `system` for the system's YAML.
    pub file: String,
    /// The field's name; the first that is there counts.
    pub field: String,
    /// Its value; a number times `by` without one.
    #[serde(default)]
    pub to: Option<String>,
}

/// A fault of one size.
#[derive(Debug, Clone)]
pub struct Variant {
    /// The fault.
    pub fault: Arc<Fault>,
    /// The rows that it is planted in.
    pub rows: Amount,
    /// What `by` stands for in its formulas.
    pub by: Option<f64>,
}

impl Fault {
    /// Whether it may break a rule in its place.
    pub(super) fn may_break(&self, rule: &str) -> bool {
        names(&self.finds, rule) || names(&self.may, rule)
    }

    /// Whether it may break a rule in other places.
    pub(super) fn may_break_elsewhere(&self, rule: &str) -> bool {
        names(&self.elsewhere, rule)
    }

    /// The fault in all its sizes.
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
    /// Its size, for people.
    pub fn size(&self) -> String {
        let rows = (!self.fault.rows.is_empty()).then(|| self.rows.to_string());
        let by = self.by.map(|by| format!("by {by}"));
        rows.into_iter().chain(by).collect::<Vec<_>>().join(", ")
    }

    /// Its name and size, for people.
    pub(super) fn name(&self) -> String {
        format!("{} {}", self.fault.id, self.size()).trim_end().to_owned()
    }

    /// Whether it changes a file of a whole system.
    pub(super) fn touches_system(&self) -> bool {
        matches!(
            &self.fault.plant,
            Plant::Edit(Edit { file, .. }) | Plant::Remove(file) | Plant::Write(WrittenFile { file, .. })
                if is_of_system(file)
        )
    }

    /// Whether it is planted beside the tables of a directory.
    pub(super) fn is_beside(&self) -> bool {
        matches!(self.fault.plant, Plant::Remove(_) | Plant::Write(_) | Plant::Edit(_))
    }
}

/// Whether some rules name one, by its id or as any.
fn names(rules: &[String], rule: &str) -> bool {
    rules.iter().any(|r| r == rule || r == "*")
}
