//! Measuring on a GPU, and judging what was measured against what was recorded.

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
