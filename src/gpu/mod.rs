//! Measures points of tables on a GPU, and judges the measured times against the recorded ones.

#![deny(clippy::wildcard_enum_match_arm)]

pub mod calls;
#[allow(unsafe_code, reason = "the driver, cuBLAS and NCCL are C: each call says why it is sound")]
pub mod cuda;
pub mod device;
pub mod draw;
pub mod judge;
pub mod measuring;
pub mod origin;
pub mod outcome;
pub mod plan;
pub mod points;
pub mod process;
pub mod protocol;
pub mod recipe;
pub mod record;
pub mod replay;
pub mod rerun;
pub mod runners;
pub mod work;
