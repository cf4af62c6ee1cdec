//! `reuse.yaml`: donors that hold nothing, and reuse where none is allowed.

mod forbidden;
mod invalid;

pub use self::forbidden::ReuseForbidden;
pub use self::invalid::ReuseInvalid;
