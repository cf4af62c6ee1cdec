//! The reasons why changed tables have no chart.

use std::fmt;

use super::series::POINTS;
use crate::database::diff::{Status, TableDiff};

/// A changed table without a chart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Undrawn {
    /// The path of the table.
    pub path: String,
    /// The reason why it has no chart.
    pub why: NoChart,
}

/// The reason why a table has no chart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoChart {
    /// The table was deleted.
    Deleted,
    /// The table cannot be read before or after the change.
    Unread(String),
    /// No row of the table changed.
    SameRows,
    /// No slice has enough points along any column of the sweep.
    NoSweep(Vec<String>),
    /// Only this many charts are drawn, and other tables changed more.
    Beyond(usize),
}

impl NoChart {
    /// Returns the reason why a table has no chart, as far as it is known without reading the rows.
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
