//! Faults of `reuse.yaml`: donor versions without the table, and reuse of tables that may not be reused.

mod forbidden;
mod invalid;

pub use self::forbidden::ReuseForbidden;
pub use self::invalid::ReuseInvalid;
