//! Kinds of check that compare tables with each other, and the sketch of a table that they need.

pub mod copies;
pub mod curves;
mod groups;
pub mod holes;
pub mod no_longer_served;
pub mod noisy;
pub mod outliers;
pub mod parity;
pub mod peers;
pub mod series;
pub mod siblings;
pub mod sketch;
mod stubs;
pub mod support;
mod turned_to_text;
pub mod unit_shift;
