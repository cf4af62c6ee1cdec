//! The integration tests, as one binary: it is linked once, and its tests run beside each other.
//!
//! `cargo test --test it rules::` runs the tests of one module. A test that needs more than every
//! machine has is ignored and says what it needs; `cargo test -- --ignored` runs these.

mod action;
mod bad_input;
mod common;
mod convert;
mod coverage;
mod dedupe;
mod docs;
mod formats;
mod hostile;
mod html;
mod measure;
mod operations;
mod outputs;
mod planner;
mod properties;
mod real_data;
mod remeasure;
mod rooms;
mod rules;
mod sanity;
mod schema;
mod selftest;
mod status;
mod support;
mod terminal;
mod traces;
mod validate;
mod wheel;
