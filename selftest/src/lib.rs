//! Measures the rules and keeps their data up to date: how many planted faults the rules find, how
//! far honest reruns differ, and which tables of an operation catalog have no spec.

pub mod catalog;
pub mod faults;
pub mod noise;
