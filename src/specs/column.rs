//! Columns of a table spec with their kinds, and a scope without rows, on which formulas are checked for type errors.

use std::borrow::Cow;

use crate::base::expr::{Scope, Vals, Value};

/// The kind of values in a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnKind {
    /// A name, such as that of a dtype, kernel or model.
    Text,
    /// A count or size. It must be at least 1 unless a rule allows 0.
    Int,
    /// A flag (true or false).
    Bool,
    /// A number that is not a count, a size or a measurement in a known unit. It need not be an integer.
    Number,
    /// A measurement. The field is the unit of the column's values.
    Measure(Unit),
}

/// The unit of a measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Milliseconds.
    Ms,
    /// Microseconds.
    Us,
    /// 10⁹ bytes per second.
    GBs,
    /// 10¹² floating-point operations per second.
    Tflops,
    /// Watts.
    W,
}

impl Unit {
    /// Returns the unit's name in the YAML of table specs, such as `GB/s`.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Ms => "ms",
            Self::Us => "us",
            Self::GBs => "GB/s",
            Self::Tflops => "TFLOP/s",
            Self::W => "W",
        }
    }
}

/// A column of a table spec.
#[derive(Debug, Clone)]
pub struct ColumnSpec {
    /// The column's name.
    pub name: String,
    /// The kind of the column's values.
    pub kind: ColumnKind,
    /// True if a table may lack the column.
    pub optional: bool,
}

/// Returns the unit of a measured column, recognised by its name; `None` for other names.
pub fn measured_unit(name: &str) -> Option<Unit> {
    match name {
        "latency" | "avg_ms" | "ms" => Some(Unit::Ms),
        "us" => Some(Unit::Us),
        "bw" => Some(Unit::GBs),
        "tflops" => Some(Unit::Tflops),
        "power" | "power_limit" | "energy" => Some(Unit::W),
        _ if name.ends_with("_ms") => Some(Unit::Ms),
        _ if name.ends_with("_us") => Some(Unit::Us),
        _ if name.ends_with("_gbps") => Some(Unit::GBs),
        _ => None,
    }
}

/// A scope without rows, in which formulas are evaluated to find type errors. The field is a function that takes a
/// column's name and returns an empty column of the right type, or `None` for an unknown name.
pub(super) struct NoRows<F>(pub F);

impl<F: Fn(&str) -> Option<Value<'static>>> Scope for NoRows<F> {
    fn rows(&self) -> usize {
        0
    }

    fn column(&self, name: &str) -> Option<Value<'_>> {
        self.0(name)
    }
}

/// An empty text column, on which formulas are checked for type errors.
pub(super) const NO_TEXTS: Value<'static> =
    Value::Text(Vals::Rows(Cow::Borrowed(&[])), Cow::Borrowed(&[]));

/// An empty column of numbers, on which formulas are checked for type errors.
pub(super) const NO_NUMBERS: Value<'static> = Value::Number(Vals::Rows(Cow::Borrowed(&[])));

/// An empty column of flags, on which formulas are checked for type errors.
pub(super) const NO_FLAGS: Value<'static> = Value::Bool(Vals::Rows(Cow::Borrowed(&[])));
