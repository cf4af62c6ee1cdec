//! Helpers that every room uses and that know nothing of databases.
//!
//! In reading order:
//!
//! - `error`: Exit codes, and the error of a run that could not do its work.
//! - `words`: Formats counts, figures and names for sentences.
//! - `escape`: Texts from data, escaped so that they do nothing in a terminal, a CI runner or a file name.
//! - `stats`: Statistics for verdicts: medians with intervals, quantiles and counts, and the precision with which
//!   numbers are written.
//! - `group`: Groups values by key.
//! - `random`: Seeded random numbers, the same on every machine, and samples by hash.
//! - `digest`: SHA-256 digests as text, as sidecars, LFS pointers and fingerprints contain them.
//! - `relation`: Relations that the values of a row must satisfy, with allowance for the digits to which the values are
//!   written.
//! - `expr`: Formulas of one line in SQL's syntax, evaluated a whole column at a time.
//! - `yaml`: Strict YAML: duplicate keys and bare words for booleans are refused.
//! - `read`: Reads files that strangers may have written: regular files only, up to a size.
//! - `files`: Atomic writes: a reader never sees a partly written report or table.
//! - `folder`: Folders that are held open: names are looked up in them and never lead through a symbolic link.
//! - `tree_files`: The files of a tree that a command reads and writes: never through a symbolic link below the tree's
//!   top, and by one process at a time.
//! - `glob`: Glob patterns for names and paths.
//! - `dates`: Today's date.
//! - `progress`: Progress of a run.
//! - `interrupt`: Ctrl-C and SIGTERM: unfinished work is removed when the process ends.
//! - `panics`: Silences panics of decoders on damaged bytes.
//! - `threads`: Parallel work on items of very different sizes.
//! - `child`: A process that answers lines, and a folder for Python programs of ours.
//! - `published`: The place where this program is published.

pub(crate) mod child;
pub(crate) mod dates;
pub(crate) mod digest;
pub mod error;
pub mod escape;
pub mod expr;
pub mod files;
pub(crate) mod folder;
pub(crate) mod glob;
pub(crate) mod group;
pub mod interrupt;
pub mod panics;
pub mod progress;
pub(crate) mod published;
pub mod random;
pub mod read;
pub(crate) mod relation;
pub(crate) mod stats;
pub mod threads;
pub(crate) mod tree_files;
pub(crate) mod words;
pub(crate) mod yaml;
