//! Measuring on a GPU, and judging what was measured against what was recorded.

pub mod cuda;
pub mod device;
pub mod judge;
pub mod outcome;
pub mod plan;
pub mod points;
pub mod process;
pub mod recipe;
pub mod record;
pub mod sample;
