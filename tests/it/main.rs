//! The integration tests, as one binary: it is linked once, and its tests run beside each other.
//!
//! `cargo test --test it rules::` runs the tests of one module. A test that needs more than every
//! machine has is ignored and says what it needs; `cargo test -- --ignored` runs these.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by a panic; clippy.toml does not reach the functions that tests share"
)]

mod action;
mod bad_input;
mod circles;
mod common;
mod convert;
mod coverage;
mod dedupe;
mod docs;
mod explore;
mod facts;
mod fail_closed;
mod formats;
mod help;
mod hostile;
mod html;
mod imports;
mod init;
mod layouts;
mod many;
mod measure;
mod merge;
mod metamorphic;
mod mistakes;
mod names;
mod new;
mod outputs;
mod people;
mod plan;
mod planner;
mod properties;
mod real_data;
mod remeasure;
mod rooms;
mod rules;
mod sanity;
mod schema;
mod size;
mod status;
mod support;
mod terminal;
mod traces;
mod trust;
mod validate;
mod wheel;
mod words;
mod writers;
#[cfg(unix)]
mod writing;
