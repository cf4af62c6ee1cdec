//! Why a merge is not made.

use std::fmt;

use crate::base::words::{count, names, plural, plural_verb};
use crate::database::table::{TableFault, Torn};
use crate::jobs::repair::RepairError;

/// Why a merge is not made, in a line.
#[derive(Debug)]
pub enum Objection {
    /// Shards of the run are not there.
    Lost(super::shards::LostShards),
    /// A file of the run cannot be read.
    Unreadable { file: String, fault: TableFault },
    /// Some rows of a file are damaged: it may still be written to.
    Torn { file: String, torn: Torn },
    /// A file's columns are not the table's.
    Header { file: String, missing: Vec<String>, unknown: Vec<String> },
    /// A column holds something else than the table's.
    Type { file: String, column: String, why: String },
    /// Rows say another device, framework or version.
    Origin { file: String, column: &'static str, rows: usize, found: String, wanted: Vec<String> },
    /// Rows that have no time.
    Untimed { file: String, rows: usize, first: usize },
    /// Keys that the list does not name.
    Unlisted { keys: usize, list: String, example: String },
    /// Keys that the table has, under another kernel for example.
    Conflict { keys: usize, columns: Vec<String>, example: String },
    /// Keys that the table has, where it is only to be appended to.
    NotNew { keys: usize, example: String },
    /// Rows that are replaced by ones that lack a measurement of theirs.
    Loses { column: String, keys: usize, example: String },
    /// Rows that were touched though no key of theirs is merged.
    Touched { rows: usize },
    /// The table cannot be made or written.
    Table(RepairError),
}

impl fmt::Display for Objection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lost(lost) => {
                let (be, n) = if lost.missing == 1 { ("is", 1) } else { ("are", lost.missing) };
                write!(f, "{} of {} shards {be} missing", count(n), count(lost.of))?;
                if !lost.numbers.is_empty() {
                    let all: Vec<String> = lost.numbers.iter().map(usize::to_string).collect();
                    write!(f, ": {}", all.join(", "))?;
                }
                f.write_str("; --incomplete merges without them")
            }
            Self::Unreadable { file, fault: TableFault::Empty } => {
                write!(
                    f,
                    "{file} has no rows, so this shard is lost; --incomplete merges without it"
                )
            }
            Self::Unreadable { file, fault } => write!(f, "{file}: {fault}"),
            Self::Torn { file, torn } => write!(f, "{file}: {torn}"),
            Self::Header { file, missing, unknown } => {
                let list = |all: &[String]| names(all.iter().map(String::as_str));
                write!(f, "{file} has another header than the table:")?;
                let parts = [("lacks", missing), ("also has", unknown)];
                let parts = parts.iter().filter(|(_, all)| !all.is_empty());
                let parts: Vec<String> =
                    parts.map(|(verb, all)| format!(" it {verb} {}", list(all))).collect();
                f.write_str(&parts.join(" and"))
            }
            Self::Type { file, column, why } => write!(f, "{file}: column {column} contains {why}"),
            Self::Origin { file, column, rows, found, wanted } => write!(
                f,
                "{file}: {column} is '{found}' in {} instead of {}",
                plural(*rows, "row"),
                names(wanted.iter().map(String::as_str))
            ),
            Self::Untimed { file, rows, first } => {
                let rows = plural_verb(*rows, "row", ["has", "have"]);
                write!(f, "{file}: {rows} no time above zero, for example row {first}")
            }
            Self::Unlisted { keys, list, example } => {
                write!(
                    f,
                    "{} not in {list}, for example {example}; --pick leaves them out",
                    plural_verb(*keys, "row", ["is", "are"])
                )
            }
            Self::Conflict { keys, columns, example } => write!(
                f,
                "{} in the table with another {}, for example {example}; pass --ignore COLUMN if the \
                 column does not change the measurement",
                plural_verb(*keys, "key", ["is", "are"]),
                names(columns.iter().map(String::as_str)),
            ),
            Self::NotNew { keys, example } => write!(
                f,
                "{} in the table already, for example {example}; --append only adds keys",
                plural_verb(*keys, "key", ["is", "are"])
            ),
            Self::Loses { column, keys, example } => write!(
                f,
                "{} would lose their {column}, for example {example}; measure this column, too",
                plural(*keys, "key")
            ),
            Self::Touched { rows } => write!(
                f,
                "{} outside the merge would change; please report this bug with the table",
                plural(*rows, "row")
            ),
            Self::Table(why) => write!(f, "{why}"),
        }
    }
}
