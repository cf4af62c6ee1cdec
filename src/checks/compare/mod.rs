//! Kinds of check that judge a table against its peers, and what they need of every table: its sketch.

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
mod served_keys;
pub mod siblings;
pub mod sketch;
mod stubs;
pub mod support;
mod turned_to_text;
pub mod unit_shift;
