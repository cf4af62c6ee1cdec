//! `collection_meta.yaml`, compared with its directory and its tables.

mod contradiction;
mod invalid;
mod missing;
mod profile;
mod report;
mod seal;

pub(crate) use self::contradiction::Frameworks;
pub(crate) use self::invalid::KnownSidecar;
pub(crate) use self::missing::{LegacyMarker, SidecarMissing};
