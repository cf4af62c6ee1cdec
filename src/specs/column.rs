//! What a table's columns hold.

/// What a column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnKind {
    /// A name: dtype, kernel, model.
    Text,
    /// A count or size, 1 or more unless a rule allows 0.
    Int,
    /// A flag.
    Bool,
    /// Any number.
    Number,
    /// A measurement, in this unit: ms, us, GB/s or W.
    Measure(Unit),
}

/// Unit of a measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Milliseconds.
    Ms,
    /// Microseconds.
    Us,
    /// 10⁹ bytes per second.
    GBs,
    /// Watts.
    W,
}

impl Unit {
    /// Its name in specs.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ms => "ms",
            Self::Us => "us",
            Self::GBs => "GB/s",
            Self::W => "W",
        }
    }
}

/// A column of a table spec.
#[derive(Debug, Clone)]
pub struct ColumnSpec {
    /// Its name.
    pub name: String,
    /// What it holds.
    pub kind: ColumnKind,
    /// Whether a table may lack it.
    pub optional: bool,
}

/// The unit of a measured column by the contract's names, or `None` where it is none.
pub fn measured_unit(name: &str) -> Option<Unit> {
    match name {
        "latency" | "avg_ms" => Some(Unit::Ms),
        "power" | "power_limit" | "energy" => Some(Unit::W),
        _ if name.ends_with("_ms") => Some(Unit::Ms),
        _ if name.ends_with("_us") => Some(Unit::Us),
        _ if name.ends_with("_gbps") => Some(Unit::GBs),
        _ => None,
    }
}
