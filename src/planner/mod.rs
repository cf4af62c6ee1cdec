//! Repeats the planner's lookups: the time of an operation, and the rows that decide it.
//!
//! A planner (aiconfigurator, for example) predicts the time of an inference step as the sum of its
//! operations, and reads the time of each operation from the tables of a performance database. This
//! module repeats those lookups from the same files, so that a changed row can be traced to the
//! predictions that it moves.
//!
//! ```text
//! Snapshot (a state of a database)
//!   └─ PlannerSession (one system, backend and version)
//!        ├─ store, files   files read so far, shared by states, versions and the stages of a job
//!        ├─ slices         rows of a file by slice; the table's spec gives key, filter and axes
//!        ├─ index          slices of all files of a table, as the loader merges them
//!        ├─ interpolate    between, beyond and beside the rows of a slice
//!        └─ operations     one file per kind of operation: slice, coordinates, speed of light
//! keys, lacks              slices that a plan lacks, from the keys of files alone
//! models                   operation lists of models, as YAML in rules/models/
//! steps                    sums of operations: the time of a step
//! ```
//!
//! Figures are f64 and latencies are milliseconds. The order of arithmetic follows the planner's, so
//! that results agree to the last bits. References such as `gemm.rs 80` in this module name files and
//! lines of aiconfigurator at commit 095f58a.

mod dtypes;
mod evidence;
mod files;
mod index;
mod interpolate;
mod keys;
mod lacks;
mod machine;
mod models;
mod names;
mod operations;
mod refusal;
mod resolve;
mod session;
mod slices;
mod steps;
mod store;
mod tables;
#[cfg(test)]
mod tests;

pub use evidence::{Provenance, RowsRead, TableLookup, Weighed};
pub use index::RowOrigin;
pub use interpolate::How;
pub use keys::{FileKeys, SliceSource};
pub(crate) use keys::{KeySource, ServedKeys, SharedFileKeys};
pub(crate) use lacks::Lack;
pub use machine::MachineFigures;
pub(crate) use models::SharedModels;
pub use models::{BackendPlan, Layout, ModelList, Models, PlannedLayout};
pub use names::NameCodes;
pub use operations::{Op, Query};
pub use refusal::Refusal;
pub use resolve::{OpList, Quant, Resolved};
pub(crate) use session::library_sources;
pub use session::{PlannerSession, Snapshot};
pub(crate) use steps::{OpTime, OpTimes, StepPart};
pub use steps::{POINTS, Phase, Step, StepPoint, StepTime};
pub use store::Store;
pub use tables::TableName;
