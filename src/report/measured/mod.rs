//! Renders remeasurements for people and for programs.

pub(super) mod human;
pub(super) mod json;
