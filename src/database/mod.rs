//! The contents of a database on disk or in a commit: its files, its tables, the rows that the loader serves,
//! and the differences between two states.

pub mod catalog;
pub mod collection_report;
pub mod coverage;
pub mod diff;
pub mod facts;
pub mod ledger;
mod limits;
pub mod profile;
pub mod seal;
pub mod selection;
pub mod served;
pub mod sidecar;
pub mod source;
pub mod state;
pub mod support;
pub mod table;
