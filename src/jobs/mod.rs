//! The commands, each from its options to its report.

pub mod explain;
pub mod impact;
pub mod measure;
pub mod noise;
pub mod operations;
pub mod remeasure;
pub mod repair;
pub mod sanity;
pub mod schema;
pub mod selftest;
pub mod smoke;
pub mod status;
pub mod suggest;
pub mod validate;
