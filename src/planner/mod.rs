//! The planner's lookups: how long an operation takes, and which rows say so.
//!
//! A planner (aiconfigurator, for example) predicts the time of an inference step as the sum of its
//! operations, and reads the time of each from the tables of a perf database. This room repeats those
//! lookups from the same files, so that a change of a row can be followed to the predictions that it
//! moves.
//!
//! ```text
//! Snapshot (a state of a database)
//!   └─ PlannerSession (one system, backend and version)
//!        ├─ store, files   what was read, shared by states, versions and the stages of a job
//!        ├─ slices         rows of a file by slice; key, filter and axes are those of the table's spec
//!        ├─ index          slices of all files of a table, as the loader merges them
//!        ├─ interpolate    between, beyond and beside the rows of a slice
//!        └─ operations     one file per kind of operation: slice, coordinates, speed of light
//! keys, lacks              what a plan lacks, by the keys of files alone
//! models                   operation lists of models, as YAML in rules/models/
//! steps                    sums of operations: the time of a step
//! ```
//!
//! Figures are f64 and latencies are milliseconds. The order of arithmetic follows the planner's, so
//! that results agree to the last bits. References such as `gemm.rs 80` in this room name files and
//! lines of aiconfigurator at commit 095f58a.

#[cfg(test)]
mod agreement;
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
mod session;
mod slices;
mod steps;
mod store;
mod tables;

pub use evidence::{Provenance, RowsRead, TableLookup, Weighed};
pub use files::{FileOfTable, PlannerFiles};
pub use index::RowOrigin;
pub use interpolate::How;
pub use keys::{FileKeys, KeySource, ServedKeys, SharedFileKeys, SliceSource};
pub use lacks::Lack;
pub use machine::MachineFigures;
pub use models::{
    BackendPlan, Layout, ModelList, Models, OpList, PlannedLayout, Quant, Resolved, SharedModels,
};
pub use names::NameCodes;
pub use operations::{Op, Query};
pub use refusal::Refusal;
pub use session::{PlannerSession, Snapshot, library_sources};
pub use steps::{
    OpTime, OpTimes, POINTS, POWER_COVERAGE, Phase, Step, StepPart, StepPoint, StepTime,
};
pub use store::Store;
pub use tables::TableName;
