//! The views of a database that checks judge: a table, the tables of a name, a whole state, one of its files, a change.

mod cross;
mod item;
mod table;

pub use self::cross::{CrossContext, History, Reread};
pub(crate) use self::item::{
    ChangeContext, DirContext, FactsContext, FoundTable, ProfileContext, ReportContext,
    SystemContext,
};
pub use self::item::{Item, WaiverContext};
pub(crate) use self::table::{RowCache, Serving};
pub use self::table::{RowContext, TableContext};
