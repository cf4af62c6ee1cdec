//! The contents of an explorer page: a table, its state before, its peers and its findings.

use std::sync::Arc;

use serde::Serialize;

use crate::base::expr::Expr;
use crate::database::catalog::Place;
use crate::database::table::{Table, TableScope};
use crate::findings::Finding;
use crate::report::chart::ChartSpec;
use crate::specs::system::System;
use crate::specs::{Lookups, TableSpec};

/// The kind of a side of the page. A side is a table whose rows the page shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum SideKind {
    /// The side is the table that the page shows.
    Head,
    /// The side is the same table before the change.
    Base,
    /// The side is a peer: the same table of another version, backend or system.
    Peer,
}

/// A side of the page: a table whose rows the page shows.
pub(crate) struct ExploredSide<'a> {
    /// States whether the side is the table itself, its base or a peer.
    pub kind: SideKind,
    /// The name that distinguishes the side from the other sides, such as `sglang 0.5.9`.
    pub name: String,
    /// The rows of the side.
    pub table: Arc<Table>,
    /// The table's system, backend and version.
    pub place: &'a Place,
    /// The description of the table's system; `None` if no file describes the system.
    pub system: Option<&'a System>,
}

/// The contents of an explorer page.
pub(crate) struct Exploration<'a> {
    /// A text that names the root folder of the database, and the commits (or files on disk) that the page shows.
    pub states: String,
    /// The sides of the page: the table itself, then its base, then its peers.
    pub sides: Vec<ExploredSide<'a>>,
    /// The table's spec.
    pub spec: &'a TableSpec,
    /// The spec of the table's chart.
    pub chart: &'a ChartSpec,
    /// Numbers that the spec's formulas look up by name, such as the bytes per element of a dtype.
    pub lookups: &'a Lookups,
    /// The findings on the table.
    pub findings: &'a [&'a Finding],
    /// The condition by which rows are selected; `None` selects all rows.
    pub filter: Option<&'a Expr>,
    /// Sentences that the page shows with the chart.
    pub notes: Vec<String>,
}

impl Exploration<'_> {
    /// Returns a scope that evaluates the formulas of the table's spec on the rows of a side.
    pub(super) fn scope<'s>(&'s self, side: &'s ExploredSide<'_>) -> TableScope<'s> {
        TableScope::new(&side.table, self.spec, side.place, side.system, self.lookups)
    }
}
