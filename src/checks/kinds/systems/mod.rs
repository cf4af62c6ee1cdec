//! Faults of system YAMLs: missing or invalid fields, and figures that are not plausible.

mod invalid;
mod known;
mod suspicious;

pub use self::invalid::SystemFields;
pub use self::suspicious::FigureChecks;
