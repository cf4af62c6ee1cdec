//! A merge that was made: what takes whose place.

use std::collections::BTreeSet;

use serde_json::Value;

use super::stack::ORIGIN;
use crate::base::words::{count, plural};

/// A key for people, part by part.
pub type ShownKey = Vec<(String, Value)>;

/// A key for people.
pub fn key_text(key: &ShownKey) -> String {
    let part = |(name, value): &(String, Value)| match value.as_str() {
        Some(text) => format!("{name} {text}"),
        None => format!("{name} {value}"),
    };
    key.iter().map(part).collect::<Vec<_>>().join(", ")
}

/// A row that a merge puts into a table.
#[derive(Debug)]
pub struct MergedRow {
    /// The loader's key.
    pub key: ShownKey,
    /// A hash of it; none of a row that the loader does not read.
    pub id: Option<u64>,
    /// The run's file that has it.
    pub file: String,
    /// Its number there, from 0.
    pub row: usize,
    /// Its number in the table afterwards.
    pub at: usize,
    /// What the loader served of it before, in ms; none of one that is added.
    pub before: Option<f64>,
    /// What the row says, in ms.
    pub after: f64,
    /// The rows that it replaces: their numbers and cells.
    pub own: Vec<(usize, Vec<(String, Value)>)>,
    /// Its cells.
    pub cells: Vec<(String, Value)>,
}

/// A merge that was made and proved.
#[derive(Debug)]
pub struct Merged {
    /// Its file stem.
    pub table: String,
    /// Its new bytes.
    pub bytes: Vec<u8>,
    /// Its new rows.
    pub rows: usize,
    /// Its rows before.
    pub own: usize,
    /// Of those, the ones that the run measured again.
    pub before: usize,
    /// What takes the place of the table's rows.
    pub replaced: Vec<MergedRow>,
    /// What it did not have.
    pub added: Vec<MergedRow>,
    /// What stays as it is though it was measured again.
    pub kept: usize,
    /// Rows of the run that the list does not name and that are left out.
    pub left_out: usize,
    /// Keys of the list that no file of the run has.
    pub absent: usize,
    /// Keys of which the loader serves another row than the merged one.
    pub unserved: usize,
    /// Files of the run that have keys in common, by pair with how many.
    pub overlaps: Vec<(String, String, usize)>,
    /// Columns that say where rows come from, with the values before and after.
    pub origins: Vec<(String, String, String)>,
}

impl Merged {
    /// Whether the table changes.
    pub fn changes(&self) -> bool {
        !self.replaced.is_empty() || !self.added.is_empty()
    }

    /// Measurements of the run.
    pub fn groups(&self) -> usize {
        self.replaced.len() + self.added.len() + self.kept
    }

    /// Rows of the run that the table takes.
    pub fn taken(&self) -> usize {
        self.replaced.len() + self.added.len()
    }

    /// Rows of the table that nothing of the run is about: none of them is touched.
    pub fn others(&self) -> usize {
        self.own - self.before
    }

    /// What the merge does, in words: `12 keys replaced, 3 added, 0 others touched`.
    pub fn counts(&self) -> String {
        let kept = match self.kept {
            0 => String::new(),
            n => format!(", {} kept", count(n)),
        };
        format!(
            "{} replaced, {} added{kept}, 0 others touched",
            plural(keys(&self.replaced), "key"),
            count(keys(&self.added))
        )
    }

    /// Columns that say where rows come from and of which a row that is replaced says something else: the
    /// column, before and after.
    pub fn origins_changed(&self) -> Vec<(String, String, String)> {
        let mut found = BTreeSet::new();
        for change in &self.replaced {
            for name in ORIGIN {
                let of = |cells: &[(String, Value)]| {
                    let cell = cells.iter().find(|(column, _)| column == name);
                    cell.and_then(|(_, value)| value.as_str()).unwrap_or("").to_owned()
                };
                let after = of(&change.cells);
                let before = change.own.iter().map(|(_, cells)| of(cells));
                let other = before.filter(|before| *before != after);
                found.extend(other.map(|before| (name.to_owned(), before, after.clone())));
            }
        }
        found.into_iter().collect()
    }
}

/// How many keys changes are of; a row that the loader does not read counts by itself.
fn keys(changes: &[MergedRow]) -> usize {
    let loaded: BTreeSet<u64> = changes.iter().filter_map(|c| c.id).collect();
    loaded.len() + changes.iter().filter(|c| c.id.is_none()).count()
}
