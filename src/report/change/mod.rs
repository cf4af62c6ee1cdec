//! The summary tables of a change, one per kind of change.

mod kind;
mod rows;
mod table;

pub(super) use kind::{ByKind, Kind, by_kind};
pub(super) use rows::{filled_columns, place_text, short, significant, times};
pub use rows::{first_row, kind_tables};
pub(crate) use table::{ChangeTable, KindTable};
