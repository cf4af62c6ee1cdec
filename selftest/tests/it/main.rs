//! The integration tests of the crate, as one binary.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by a panic; clippy.toml does not reach the functions that tests share"
)]

mod catalog;
mod common;
mod faults;
