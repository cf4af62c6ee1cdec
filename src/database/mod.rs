//! The contents of a database on disk or in a commit: its files, its tables, the rows that the loader serves,
//! and the differences between two states.
//!
//! In reading order:
//!
//! - `source`: Sources of bytes: a work tree, or a commit that is read without a checkout.
//! - `catalog`: Finds the perf database in a source: systems, version directories, tables, sidecars.
//! - `table`: Decodes tables into typed columns, and computes the loader's key of every row.
//! - `selection`: The part of the database that is judged.
//! - `facts`: Facts that the judged tree states beside its tables; they override those of `rules/`.
//! - `state`: A state of a database: its source, its catalog, and the facts that it states.
//! - `sidecar`: Sidecars: the origin of tables and their donors.
//! - `profile`: Profiles: JSON documents that describe operations that are measured as a whole.
//! - `seal`: Seals: files beside tables with the row count, digest and place that the loader verifies.
//! - `served`: The rows that the loader serves.
//! - `coverage`: The keys that a table covers: key part values of the points in its sketch.
//! - `support`: Support matrices (`systems/support_matrix/<system>.csv`): the models that can be planned on each
//!   system.
//! - `ledger`: A collector's failure ledger: the cases that it could not measure, with the reasons.
//! - `diff`: Base × head: the tables and rows that a range of commits adds, removes and changes.
//! - `collection_report`: Collection reports: files beside the folders of a system that sum up the collection of one
//!   backend's version.
//! - `limits`: Limits of tables, above those of all known tables.

pub mod catalog;
pub(crate) mod collection_report;
pub mod coverage;
pub mod diff;
pub mod facts;
pub mod ledger;
mod limits;
pub(crate) mod profile;
pub(crate) mod seal;
pub mod selection;
pub mod served;
pub mod sidecar;
pub mod source;
pub mod state;
pub mod support;
pub mod table;
