//! Kinds of check that judge a table against its peers, and what they need of every table: its sketch.

pub mod blocks;
pub mod copies;
pub mod gaps;
pub mod holes;
pub mod levels;
pub mod outliers;
pub mod parity;
pub mod series;
pub mod sketch;
pub mod support;
pub mod workflows;
