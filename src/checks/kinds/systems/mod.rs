//! System YAML: what its loader requires, and figures that cannot be or do not fit.

mod invalid;
mod known;
mod suspicious;

pub use self::invalid::SystemFields;
pub use self::suspicious::Plausible;
