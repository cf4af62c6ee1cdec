//! perfdb-gate: the quality gate for GPU performance databases.
//!
//! The top-level modules are called rooms. They are listed in order: a room imports only from rooms
//! above it in the list, and the test `tests/it/rooms.rs` fails on any other import.
//!
//! ```text
//! base      shared basics: errors, formulas, files, statistics
//! specs     facts about tables, systems and models: YAML as types
//! database  the files of a database: sources, catalog, tables, sidecars, served rows, differences
//! findings  findings, their fingerprints, waivers and baselines, and the only place that counts them
//! checks    the rules and the kinds of check
//! gpu       measurements on a GPU, and the comparison of measured with recorded times
//! report    all formats of a report, with charts and the pull request comment
//! planner   the planner's package: step times before and after a change, tables that it refuses
//! traces    end-to-end traces beside a database: cards, configs, metrics
//! jobs      the commands
//! ```
//!
//! Data flows in the same order. A [`database::source`] provides bytes, from a work tree or from a
//! commit without a checkout. Only [`database::catalog`] knows the layout of a database's files, which
//! `rules/layouts/` declares, and [`database::table`] decodes bytes to typed columns and row keys. [`checks`] judges the tables by
//! rules written in YAML; each kind of check has a file. [`findings`] collects the results, [`report`]
//! renders them, and a job such as [`jobs::validate`] combines these steps.

pub mod base;

pub mod specs;

pub mod database;

pub mod findings;

pub mod checks;

pub mod gpu;

pub mod report;

pub mod planner;

pub mod traces;

pub mod jobs;
