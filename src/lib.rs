//! perfdb-gate: the quality gate for GPU performance databases.
//!
//! Data flows one way, and the modules are listed in its order:
//!
//! ```text
//! source → catalog → system, table → checks → findings → report
//! ```
//!
//! A [`source`] is where bytes come from: a work tree, or a commit read without a checkout. The
//! [`catalog`] is the one place that knows how a database is laid out in files. [`table`] turns
//! bytes into typed columns and row keys. [`checks`] judge them, one kind of check a file, by the
//! rules that [`spec`] reads from YAML. Tables are held against each other by their [`sketch`]es:
//! [`served`] knows what stands behind one when it is loaded, [`gaps`] what it lacks. [`finding`]
//! collects what they find, [`report`] renders it. [`diff`] compares two states of a database,
//! [`news`] tells the findings that the later one brings from old debt, [`chart`] draws what
//! changed, and [`comment`] tells a pull request of it all. A job such as [`validate`] or
//! [`sanity`] puts these together. [`remeasure`] takes a [`sample`] of a table's rows back to the
//! GPU: a [`measure`] device measures them, [`judge`] says whether the table holds. [`collect`]
//! measures a plan's grid, and [`record`] keeps what was measured as a table. [`status`] tells how
//! far a collection is, [`repair`] changes tables. [`trace`] judges what is kept beside a database:
//! end-to-end traces, their cards and metrics.
//! [`selftest`] plants known faults in a copy of a database, and counts what is found of them.

pub mod baseline;
mod blocks;
pub mod catalog;
pub mod chart;
pub mod checks;
pub mod collect;
pub mod comment;
pub mod coverage;
pub mod diff;
mod digest;
pub mod error;
pub mod explain;
pub mod expr;
pub mod files;
pub mod finding;
pub mod gaps;
mod glob;
pub mod impact;
pub mod judge;
pub mod ledger;
pub mod measure;
pub mod news;
pub mod noise;
pub mod operations;
mod parallel;
pub mod planner;
mod points;
pub mod record;
pub mod remeasure;
pub mod repair;
pub mod report;
pub mod sample;
pub mod sanity;
pub mod schema;
pub mod selection;
pub mod selftest;
pub mod series;
pub mod served;
pub mod settings;
pub mod sidecar;
pub mod sketch;
pub mod smoke;
pub mod source;
pub mod spec;
pub mod status;
pub mod support;
pub mod system;
pub mod table;
mod template;
pub mod trace;
pub mod validate;
pub mod waiver;

use std::cell::Cell;

thread_local! {
    static QUIET: Cell<bool> = const { Cell::new(false) };
}

/// Runs `f`, whose panics are caught by the caller and must not be printed.
pub(crate) fn quiet_panics<T>(f: impl FnOnce() -> T) -> T {
    let before = QUIET.replace(true);
    let result = f();
    QUIET.set(before);
    result
}

/// Keeps panics of a decoder on damaged bytes off the terminal: they become findings. Called once
/// by the binary.
pub fn install_panic_hook() {
    let default = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        if !QUIET.get() {
            default(info);
        }
    }));
}
