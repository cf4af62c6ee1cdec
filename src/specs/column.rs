//! Columns of a table spec.

/// The kind of values in a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnKind {
    /// A name: dtype, kernel, model.
    Text,
    /// A count or size, at least 1 unless a rule allows 0.
    Int,
    /// A flag (true or false).
    Bool,
    /// A number of any kind.
    Number,
    /// A measurement in the given unit.
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
    /// Returns the unit's name in specs.
    pub fn name(self) -> &'static str {
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
