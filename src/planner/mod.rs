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
//!        ├─ files          what was read, shared by states, versions and the stages of a job
//!        ├─ slices         rows of a file, grouped by the key parts that must match exactly
//!        ├─ index          slices of all files of a table, as the loader merges them
//!        ├─ interpolate    between, beyond and beside the rows of a slice
//!        └─ operations     one file per kind of operation: key, coordinates, speed of light
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
mod asked;
mod cells;
mod dtypes;
mod evidence;
mod files;
mod grouping;
mod index;
mod interpolate;
mod keys;
mod lacks;
mod leaves;
mod machine;
mod models;
mod names;
mod operations;
mod refusal;
mod session;
mod slices;
mod steps;
mod store;

pub use asked::AskedSlices;
pub use evidence::{How, Provenance, RowsRead, TableLookup, Weighed};
pub use files::{FileOfTable, PlannerFiles};
pub use index::{RowOrigin, TableIndex};
pub use keys::{FileKeys, KeySource, ServedKeys, SharedFileKeys, SliceSource};
pub use lacks::Lack;
pub use machine::MachineFigures;
pub use models::{
    BackendPlan, Layout, ModelList, Models, OpList, PlannedLayout, Quant, Resolved, SharedModels,
};
pub use names::NameCodes;
pub use operations::{Op, Query, TableName};
pub use refusal::Refusal;
pub use session::{PlannerSession, Snapshot, SystemView, library_sources};
pub use steps::{
    OpTime, OpTimes, POINTS, POWER_COVERAGE, Phase, Step, StepPart, StepPoint, StepTime,
};
pub use store::Store;

// All that this room takes from others, in one place.
use crate::base::error::{Error, Result};
use crate::base::expr::NULL_CODE;
use crate::base::reason::Reason;
use crate::base::yaml;
use crate::database::catalog::{Catalog, SystemFile, TableFile, VersionDir};
use crate::database::served::{Channel, ReuseManifest, ServedFormats, SystemShelf, TableSource};
use crate::database::sidecar::Reuse;
use crate::database::slots::slots;
use crate::database::source::Source;
use crate::database::state::State;
use crate::database::table::{
    CodedColumn, Column, Combinations, IntValues, NumberedRows, Table, TableFault,
};
use crate::specs::facts::Slots;
use crate::specs::system::System;
use crate::specs::{Library, SpecFile, Specs};
