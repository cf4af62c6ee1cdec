//! Faults of `reuse.yaml`: donor versions without the table, and reuse of tables that may not be reused.

mod invalid;

pub use self::invalid::{ReuseForbidden, ReuseInvalid};
