//! `collection_meta.yaml`, compared with its directory and its tables.

mod contradiction;
mod invalid;
mod missing;
mod profile;
mod report;
mod seal;

pub use self::contradiction::Frameworks;
pub use self::invalid::KnownSidecar;
pub use self::missing::{LegacyMarker, SidecarMissing};
