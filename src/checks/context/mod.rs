//! The views of a database that checks judge: a table, the tables of a name, a whole state, one of its files, a change.

mod cross;
mod item;
mod table;

pub use self::cross::{CrossContext, History, Reread};
pub use self::item::{
    ChangeContext, DirContext, FactsContext, FoundTable, Item, ProfileContext, ReportContext,
    SystemContext, WaiverContext,
};
pub use self::table::{RowCache, RowContext, Serving, TableContext};
