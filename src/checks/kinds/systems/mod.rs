//! Faults of system YAMLs: missing or invalid fields, and figures that are not plausible.

mod invalid;
mod known;
mod suspicious;

pub(crate) use self::invalid::SystemFields;
pub(crate) use self::suspicious::FigureChecks;
