//! Measures points of tables on a GPU, and judges the measured times against the recorded ones.

#![deny(clippy::wildcard_enum_match_arm)]

#[allow(unsafe_code, reason = "the driver, cuBLAS and NCCL are C: each call says why it is sound")]
pub mod cuda;
pub mod device;
pub mod judge;
pub mod outcome;
pub mod plan;
pub mod points;
pub mod process;
pub mod protocol;
pub mod recipe;
pub mod record;
pub mod rerun;
pub mod sample;
pub mod work;
