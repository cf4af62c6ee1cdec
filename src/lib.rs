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
//! Data flows in the same order. A [`database::source`] provides bytes, from a work tree or from a commit without a
//! checkout. Only [`database::catalog`] knows the layout of a database's files, which `rules/layouts/` declares, and
//! [`database::table`] decodes bytes to typed columns and row keys. [`checks`] judges the tables by rules written in
//! YAML; each kind of check has a file. [`findings`] collects the results, [`report`] renders them, and a job such as
//! [`jobs::validate`] combines these steps.
//!
//! Words that have one meaning each:
//!
//! ```text
//! table            one file of measured latencies of an operation, of one system, backend and version
//! key              the columns or formulas by which the planner's loader finds a row; each is a key part
//! slice            the rows that agree in every name and flag of the key, such as dtype, kernel and phase
//! axis             a numeric key part along which the planner interpolates
//! series           the rows of a slice that differ along one axis alone, in ascending order
//! sweep            the grid of axis values that a collector measures
//! served row       the row that the loader returns for a key, where there are copies or several files
//! sketch           a sample of a table's keys with their latencies, by which tables are compared
//! peer             another table with the same keys: of another version, backend or system
//! kinship          how a peer is related to a table
//! reference        the peer that a value is compared with; a version of git is a commit
//! bound            the shortest time that the rates of the machine allow for a row
//! outlier          a point that differs from both neighbours of its series: a spike is slower, a drop faster
//! state            one version of the whole database, such as the base or the head of a change
//! lineage          one table in both states of a change
//! hit              what a check found in one table, before it is a finding
//! finding          a reported defect, with rule, severity, place and rows
//! subject          what a finding is about: rule, place, table or file, and slice
//! cause            the one change or defect that several findings or moves share
//! class of change  what happened to a row between two states: added, removed, changed, rekeyed
//! ```

// `pub` is for what the program, the tests, the fuzzers and the selftest use; the rest is `pub(crate)`.
#![warn(unreachable_pub)]

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
