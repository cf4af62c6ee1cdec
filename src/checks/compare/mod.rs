//! Kinds of check that compare tables with each other, and the sketch of a table that they need.
//!
//! In reading order:
//!
//! - `sketch`: The sketch of a table: a sample of its keys and other facts, from which tables are compared without
//!   their rows.
//! - `series`: Points that deviate from their neighbours along every axis of a sweep.
//! - `curves`: Comparison of a table's curves with those of other tables.
//! - `peers`: The tables of one name that can be compared with each other.
//! - `holes`: Coverage holes: keys that nearby systems and versions have and that a table would not serve.
//! - `parity`: Tables that serve far fewer keys than the nearest systems or versions.
//! - `stubs`: Stubs: tables or slices with hardly any keys of their own, whatever other files are served with them.
//! - `support`: Support matrices that contradict the data.
//! - `siblings`: Slices that are slow compared with the same slices of other backends, versions and systems.
//! - `outliers`: Outliers: points far from their neighbours along every axis of their sweep.
//! - `noisy`: Slices that are noisier than the same slices in other tables: many small disturbances, or a lasting one.
//! - `copies`: Tables that repeat the measurements of another system, backend or version.
//! - `unit_shift`: Slices in another unit than the same keys of other tables, and slices that are a hundred times
//!   slower or faster.
//! - `no_longer_served`: Reports keys and measurements that were served before a pull request and are no longer served.
//! - `turned_to_text`: Parquet tables that a pull request turns into text, which the planner's loader does not read.
//! - `groups`: Groups of tables that are equal, or nearly.

pub(crate) mod copies;
pub mod curves;
mod groups;
pub(crate) mod holes;
pub(crate) mod no_longer_served;
pub(crate) mod noisy;
pub(crate) mod outliers;
pub(crate) mod parity;
pub(crate) mod peers;
pub(crate) mod series;
pub(crate) mod siblings;
pub mod sketch;
mod stubs;
pub(crate) mod support;
mod turned_to_text;
pub(crate) mod unit_shift;
