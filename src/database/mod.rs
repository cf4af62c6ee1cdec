//! What lies on disk or in a commit: the files of a database, their tables, what the loader serves of
//! them, and what differs between two states.

pub mod catalog;
pub mod coverage;
pub mod diff;
pub mod facts;
pub mod ledger;
pub mod seal;
pub mod selection;
pub mod served;
pub mod sidecar;
pub mod slots;
pub mod source;
pub mod state;
pub mod support;
pub mod table;
