//! What the loader serves: the one place that says which files stand behind a table ([`sources`]), which
//! of their rows answer ([`rows`]), and what a table is compared with ([`shelf`]).

mod manifest;
mod query_versions;
pub mod rows;
mod shelf;
mod sources;
mod states;

pub use manifest::ReuseManifest;
pub use query_versions::QueryVersions;
pub use shelf::{Edition, Editions, Nearness, Served, Shelf};
pub use sources::{Channel, ServedFormats, SystemShelf, TableSource};
pub use states::{RowFault, RowRun, RowState, RowStates};
