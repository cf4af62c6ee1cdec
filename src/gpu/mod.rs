//! Measures points of tables on a GPU, and judges the measured times against the recorded ones.

#![deny(clippy::wildcard_enum_match_arm)]

pub(crate) mod calls;
#[allow(unsafe_code, reason = "the driver, cuBLAS and NCCL are C: each call says why it is sound")]
pub mod cuda;
pub mod device;
pub(crate) mod draw;
pub mod judge;
pub(crate) mod measuring;
pub(crate) mod origin;
pub mod outcome;
pub(crate) mod plan;
pub(crate) mod points;
pub mod process;
pub(crate) mod protocol;
pub(crate) mod recipe;
pub mod record;
pub mod replay;
pub mod rerun;
pub(crate) mod runners;
pub mod work;
