//! The values that names in a formula refer to.

use std::sync::Arc;

use super::{Value, WholeNumbers};

/// The source of the values that names in a formula refer to.
pub trait Scope {
    /// Returns the number of rows in every column.
    fn rows(&self) -> usize;
    /// Returns the column of that name, or `None` if the table lacks it.
    fn column(&self, name: &str) -> Option<Value<'_>>;
    /// Returns the column of that name without conversion, or `None` unless it contains whole numbers without
    /// nulls.
    fn whole(&self, _name: &str) -> Option<WholeNumbers<'_>> {
        None
    }
    /// Returns the value of a dotted name such as `gpu.mem_bw`, or `None` if the system lacks it.
    fn field(&self, path: &str) -> Option<f64>;
    /// Returns the number that `function` assigns to a text of a column, or `None` if it is unknown.
    fn lookup(&self, function: &Lookup, text: &str) -> Option<f64>;
}

/// A function that maps a text of a column to a number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Lookup {
    /// `bytes(dtype)`: bytes per element.
    Bytes,
    /// `flops(dtype)`: FLOP/s at which the system multiplies the dtype.
    Flops,
    /// `pinned('native_heads', model)`: a number that the loader's code assigns to a text. The first argument
    /// names a list of `rules/facts.yaml`.
    Pin(Arc<str>),
}
