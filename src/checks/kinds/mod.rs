//! Kinds of check that judge a table, a sidecar or a system by itself.
//!
//! In reading order:
//!
//! - `decoding`: Tables that cannot be decoded: damaged, LFS pointers, torn text, empty.
//! - `placement`: Tables that lie where no loader looks for them.
//! - `header`: The columns of a table, compared with its spec and with what the planner's loader can open.
//! - `values`: Cells by themselves: measurements that are not numbers, zero or negative, keys out of range.
//! - `duplicates`: The loader's key, more than once in a table.
//! - `identity`: The names in rows that state where the rows were measured: device, framework and version.
//! - `identities`: Values of a row that contradict each other: a rate and its time, a minimum and a median.
//! - `condition`: Rows that fulfil the condition of a rule file.
//! - `slices`: Slices of a table, compared with the table's other slices and with the machine.
//! - `bounds`: Measurements shorter than physics allows: the arithmetic at the machine's peak, the bytes at its
//!   bandwidth.
//! - `power`: Power readings, compared with their limit, with each other and with the GPU's rating.
//! - `synthetic`: Rows that no machine measured.
//! - `sidecars`: `collection_meta.yaml`, compared with its directory and its tables.
//! - `systems`: Faults of system YAMLs: missing or invalid fields, and figures that are not plausible.
//! - `reuse`: Faults of `reuse.yaml`: donor versions without the table, and reuse of tables that may not be reused.
//! - `facts`: Files in which a database states facts about itself.
//! - `waivers`: Waivers themselves: those past their date, those that match nothing.
//! - `traces`: The checks that rules on traces name; the traces room performs them.
//! - `deleted`: Data that a pull request deletes as a whole: a system, all of its tables, or the database.
//! - `moved`: Latencies that change in a pull request that does not say that they were measured again.
//! - `excused`: Errors that a pull request excuses by changing what the database states.
//! - `predictions`: The effect of a pull request on what the planner answers.

pub(crate) mod bounds;
pub(crate) mod condition;
pub(crate) mod decoding;
pub(crate) mod deleted;
pub(crate) mod duplicates;
pub(crate) mod excused;
pub(crate) mod facts;
pub(crate) mod header;
pub(crate) mod identities;
pub(crate) mod identity;
pub(crate) mod moved;
pub(crate) mod placement;
pub(crate) mod power;
pub(crate) mod predictions;
pub(crate) mod reuse;
pub(crate) mod sidecars;
pub(crate) mod slices;
pub(crate) mod synthetic;
pub(crate) mod systems;
pub(crate) mod traces;
pub(crate) mod values;
pub(crate) mod waivers;
