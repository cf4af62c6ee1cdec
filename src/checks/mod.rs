//! The kinds of check. A rule names one, with its parameters.
//!
//! A kind is a type that implements [`Judge`], in the file of its subject: in [`kinds`] if it judges a table, a
//! sidecar or a system by itself, in [`compare`] if it judges tables against each other. A new kind is such a type, a
//! variant of [`Check`] and a line in [`Check::judge`].
//!
//! Imports go one way: inputs (with the rule head), tables' sketches, contexts, [`Judge`], kinds, the registry
//! [`Check`], [`rule`], and last the loop in [`frame`], which does not know kinds.

#![deny(clippy::wildcard_enum_match_arm)]

mod check;
pub mod compare;
mod context;
pub(crate) mod frame;
mod inputs;
mod judge;
pub(crate) mod kinds;
pub mod rule;
pub(crate) mod series;
pub mod settings;

pub use self::check::Check;
pub(crate) use self::context::{ChangeContext, DirContext, SystemContext};
pub use self::context::{CrossContext, History, Reread, RowContext, TableContext};
pub use self::context::{Item, WaiverContext};
pub use self::inputs::{CheckInputs, CurveTerms, Input, RuleHead};
pub(crate) use self::judge::{Found, Judge, Judged};
