//! The cells of a text table's column, and the type that fits them.

use std::sync::Arc;

use crate::database::table::Column;
use crate::specs::ColumnKind;

/// The maximal length of a cell in a message, in characters.
const SHOWN: usize = 40;

/// The cells of a column. Its type is the first that fits all cells: integer, number, flag, text.
pub(super) struct Cells {
    texts: Vec<Option<Arc<str>>>,
    /// The type that the table's spec states for the column; `None` if the spec does not mention the column.
    wanted: Option<ColumnKind>,
}

impl Cells {
    pub(crate) fn new(wanted: Option<ColumnKind>) -> Self {
        Self { texts: Vec::new(), wanted }
    }

    pub(crate) fn push(&mut self, cell: &[u8]) {
        let cell = String::from_utf8_lossy(cell);
        let cell = cell.trim();
        self.texts.push(match self.texts.last() {
            _ if cell.is_empty() => None,
            Some(Some(last)) if last.as_ref() == cell => Some(last.clone()),
            _ => Some(cell.into()),
        });
    }

    /// Removes the last cell.
    pub(crate) fn pop(&mut self) {
        self.texts.pop();
    }

    /// Keeps the cells of the rows for which `keep` is true.
    pub(crate) fn retain(&mut self, keep: &[bool]) {
        let mut row = 0..;
        self.texts.retain(|_| row.next().is_some_and(|row: usize| keep[row]));
    }

    /// Returns the rows whose cell has another type than the spec states. Returns no rows if at least half of the cells
    /// have another type, because then the whole column counts as wrong. `column` is the decoded column.
    pub(crate) fn strays(&self, column: &Column) -> Vec<usize> {
        let fits: fn(&str) -> bool = match self.wanted {
            None | Some(ColumnKind::Text) => return Vec::new(),
            Some(ColumnKind::Bool) => |text| flag(text).is_some(),
            Some(ColumnKind::Int | ColumnKind::Number | ColumnKind::Measure(_)) => {
                |text| text.parse::<f64>().is_ok()
            }
        };
        if !matches!(column, Column::Text { .. }) {
            return Vec::new();
        }
        let filled = self.texts.iter().enumerate().filter_map(|(row, t)| Some((row, t.as_ref()?)));
        let (fitting, strays): (Vec<_>, Vec<_>) = filled.partition(|(_, text)| fits(text));
        if fitting.len() <= strays.len() {
            return Vec::new();
        }
        strays.into_iter().map(|(row, _)| row).collect()
    }

    /// Says what is wrong with a cell that is not of the wanted type.
    pub(crate) fn describe_stray(&self, name: &str, row: usize) -> String {
        let cell: String = self.texts[row].iter().flat_map(|t| t.chars()).take(SHOWN).collect();
        let wanted =
            if self.wanted == Some(ColumnKind::Bool) { "True or False" } else { "a number" };
        format!("{name} is '{cell}', not {wanted}")
    }

    pub(crate) fn column(&self) -> Column {
        let cells = &self.texts;
        let nulls =
            cells.iter().any(Option::is_none).then(|| cells.iter().map(Option::is_none).collect());
        if self.wanted != Some(ColumnKind::Text) {
            if let Some(values) = parsed(cells, 0, |t| t.parse::<i64>().ok()) {
                return Column::Int { values: values.into(), nulls };
            }
            if let Some(values) = parsed(cells, f64::NAN, |t| t.parse::<f64>().ok()) {
                return Column::Float { values, nulls };
            }
            if let Some(values) = parsed(cells, false, flag) {
                return Column::Bool { values, nulls };
            }
        }
        Column::texts(cells.iter().map(Option::as_deref))
    }
}

/// Parses a flag as collectors write it: `True` or `true`, `False` or `false`.
fn flag(text: &str) -> Option<bool> {
    match text {
        "True" | "true" => Some(true),
        "False" | "false" => Some(false),
        _ => None,
    }
}

/// Parses all cells as `T`, with `null` for empty cells; `None` if a cell cannot be parsed.
fn parsed<T: Copy>(
    cells: &[Option<Arc<str>>],
    null: T,
    parse: impl Fn(&str) -> Option<T>,
) -> Option<Vec<T>> {
    cells.iter().map(|c| c.as_deref().map_or(Some(null), &parse)).collect()
}
