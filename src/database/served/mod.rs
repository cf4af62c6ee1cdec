//! The rows that the loader serves. This module alone knows the files behind a table ([`sources`]), the rows
//! that answer ([`rows`]), and the tables to compare with ([`shelf`]).

mod editions;
mod manifest;
pub(crate) mod rows;
mod shelf;
mod sources;

pub(crate) use self::sources::SystemKinship;
pub(crate) use editions::Edition;
pub use manifest::ReuseManifest;
pub use shelf::{Served, TableIndex, slots};
pub(crate) use sources::{Channel, SystemShelf, TableSource};

#[cfg(test)]
mod tests {
    use crate::database::catalog::{Format, Place, TableFile};
    use crate::database::source::{Entry, EntryKind};

    /// Creates a table file that does not exist on disk.
    pub(super) fn table_file(system: &str, version: &str) -> TableFile {
        TableFile {
            entry: Entry {
                path: format!("{system}/{version}/t.parquet"),
                size: 0,
                kind: EntryKind::Link(String::new()),
            },
            place: Place {
                system: system.into(),
                family: None,
                backend: "vllm".into(),
                version: version.into(),
            },
            table: "t_perf".into(),
            format: Format::Parquet,
        }
    }
}
