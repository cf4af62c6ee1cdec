//! Kinds of check that judge a table, a sidecar or a system by itself.

pub mod bounds;
pub mod decoding;
pub mod deleted;
pub mod duplicates;
pub mod excused;
pub mod facts;
pub mod header;
pub mod identities;
pub mod identity;
pub mod moved;
pub mod placement;
pub mod power;
pub mod predictions;
pub mod reuse;
pub mod sidecars;
pub mod slices;
pub mod synthetic;
pub mod systems;
pub mod traces;
pub mod values;
pub mod waivers;
