//! Why a table that changed has no chart.

use std::fmt;

use super::series::POINTS;
use crate::database::diff::{Status, TableDiff};

/// A table that changed and has no chart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Undrawn {
    /// Its path.
    pub path: String,
    /// Why.
    pub why: NoChart,
}

/// Why a table has no chart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoChart {
    /// It is gone.
    Deleted,
    /// A side of it cannot be read.
    Unread(String),
    /// No row of it changed.
    SameRows,
    /// No slice of it has points enough along any column of its sweep.
    NoSweep(Vec<String>),
    /// Others showed more, and this many charts are drawn.
    Beyond(usize),
}

impl NoChart {
    /// Why a table has no chart, as far as its rows need not be read for that.
    pub(super) fn of(table: &TableDiff) -> Option<Self> {
        match (&table.rows, &table.fault) {
            _ if table.status == Status::Deleted => Some(Self::Deleted),
            (None, Some(fault)) => Some(Self::Unread(fault.to_string())),
            (None, None) => Some(Self::Unread("its rows cannot be read".into())),
            (Some(rows), _) => rows.is_empty().then_some(Self::SameRows),
        }
    }
}

impl fmt::Display for NoChart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Deleted => f.write_str("the table was deleted"),
            Self::Unread(why) => f.write_str(why),
            Self::SameRows => f.write_str("no row changed"),
            Self::NoSweep(sweep) if sweep.is_empty() => {
                f.write_str("its spec names no column to draw along")
            }
            Self::NoSweep(sweep) => {
                write!(f, "no series has {POINTS} points along {}", sweep.join(" or "))
            }
            Self::Beyond(0) => f.write_str("charts are switched off"),
            Self::Beyond(1) => f.write_str("only one chart is drawn"),
            Self::Beyond(most) => write!(f, "only {most} charts are drawn"),
        }
    }
}
