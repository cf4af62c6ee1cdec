//! Decodes tables into typed columns, and computes the loader's key of every row.

mod build;
mod coded;
mod column;
mod combinations;
mod csv;
mod decoded;
mod example;
mod hash;
mod ints;
mod key;
mod known;
mod lines;
mod numbering;
mod parquet;
mod part;
mod reads;
mod scope;
mod take;
mod write;

pub use self::decoded::{StoredAs, TableFault, Torn};
pub use self::example::{number_json, text_json};
pub use self::scope::lookup_ranks;
pub use coded::{CodedColumn, all_equal};
pub use column::Column;
pub use column::own_names;
pub use combinations::{Combinations, NumberedRows};
pub use csv::each_row;
pub use decoded::{Table, Wanted};
pub use example::{EXAMPLES, Example, OTHER_ROWS, REFERENCE};
pub(crate) use hash::{mix, number_bits, part_hash, run_seed, run_text_hash, text_hash};
pub use ints::IntValues;
pub use key::Keys;
pub(crate) use lines::{RowLines, inert, shown, shown_cell, write_cell};
pub(crate) use numbering::Numbering;
pub(crate) use part::{PartNumbers, PartValues};
pub(crate) use reads::{Reads, ReadsRecord};
pub use scope::TableScope;
pub use take::keep_lines;
pub use write::encode;

use crate::database::catalog::Format;
use crate::database::source::pointer;
use crate::specs::ColumnKind;

impl Table {
    /// Decodes a table.
    ///
    /// `is_text` selects the columns of a text table that are texts even if every cell looks like a number,
    /// such as a version.
    ///
    /// # Errors
    ///
    /// A [`TableFault`] if the table cannot be read. Never panics, whatever the bytes.
    pub fn decode(
        bytes: &[u8],
        format: Format,
        is_text: &dyn Fn(&str) -> bool,
    ) -> Result<Self, TableFault> {
        let kind = |name: &str| is_text(name).then_some(ColumnKind::Text);
        Self::decode_of(bytes, format, &kind, Wanted::All)
    }

    /// Decodes a table. In a Parquet file, only the `wanted` columns are decoded. In a text table, `kind` returns the
    /// type that a column should have, if it is known.
    fn decode_of(
        bytes: &[u8],
        format: Format,
        kind: &dyn Fn(&str) -> Option<ColumnKind>,
        wanted: Wanted<'_>,
    ) -> Result<Self, TableFault> {
        if let Some(pointer) = pointer(bytes) {
            return Err(TableFault::LfsPointer(pointer));
        }
        if bytes.is_empty() {
            return Err(TableFault::Unreadable("the file is empty, 0 bytes".into()));
        }
        let table = match format {
            Format::Parquet => parquet::decode(bytes, wanted)?,
            Format::Csv => csv::decode(bytes, kind)?,
        };
        match table {
            Self { rows: 0, torn, .. } if torn.rows > 0 => Err(TableFault::Torn(torn)),
            Self { rows: 0, .. } => Err(TableFault::Empty),
            table => Ok(table),
        }
    }
}
