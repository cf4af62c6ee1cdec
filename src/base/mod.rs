//! Helpers that every room uses and that know nothing of databases.

pub(crate) mod child;
pub(crate) mod dates;
pub(crate) mod digest;
pub mod error;
pub mod escape;
pub mod expr;
pub mod files;
pub(crate) mod folder;
pub(crate) mod glob;
pub mod interrupt;
pub mod panics;
pub mod progress;
pub(crate) mod published;
pub mod random;
pub mod read;
pub(crate) mod relation;
pub(crate) mod stats;
pub mod threads;
pub mod tree_files;
pub(crate) mod words;
pub(crate) mod yaml;
