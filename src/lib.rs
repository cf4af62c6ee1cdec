//! perfdb-gate: the quality gate for GPU performance databases.
//!
//! The modules are rooms, listed in their order: a room imports only from rooms above it, and a test
//! (`tests/it/rooms.rs`) fails on an upward import.
//!
//! ```text
//! base      what every room uses: errors, formulas, files, statistics
//! specs     what is known of tables, systems and models: YAML as types
//! database  what lies on disk: sources, catalog, tables, sidecars, what is served, what differs
//! planner   how long a step takes by the tables, as the planner looks it up, and which rows say so
//! findings  a finding, its fingerprint, waivers, the baseline, the one place that counts them
//! checks    the rules and the kinds of check
//! gpu       measuring on a GPU, and judging measured against recorded
//! report    every format that a report is rendered in, with charts and comment
//! traces    end-to-end traces beside a database: cards, configs, metrics
//! jobs      the commands
//! ```
//!
//! Data flows the same way: a [`database::source`] is where bytes come from, a work tree or a commit
//! read without a checkout. The [`database::catalog`] is the one place that knows how a database is
//! laid out in files, [`database::table`] turns bytes into typed columns and row keys. [`checks`]
//! judge them, one kind of check a file, by rules written in YAML. [`findings`] collects what they
//! find, [`report`] renders it, and a job such as [`jobs::validate`] puts these together.

pub mod base;

pub mod specs;

pub mod database;

pub mod planner;

pub mod findings;

pub mod checks;

pub mod gpu;

pub mod report;

pub mod traces;

pub mod jobs;
