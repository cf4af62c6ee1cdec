//! Renders an interactive HTML page of a table: its series by columns, with its peers, its bound and its previous
//! state. Rows that findings name are ringed.
//!
//! The page is one file that loads nothing else. Rows are columns of codes in base64 ([`columns`]). `model.js` builds
//! series from them, and `page.js` draws the series with uPlot, which is part of the page. If not all rows fit, whole
//! series are left out ([`mod@choose`]), and the page lists them.

mod choose;
mod columns;
mod data;
mod exploration;

use serde::Serialize;
use sha2::{Digest, Sha256};

pub(crate) use exploration::{Exploration, ExploredSide, SideKind};

use self::choose::{ChosenRows, choose};
use self::columns::CellColumn;
use self::data::PageData;
use super::chart::{Rings, SeriesSet, axes, fixed_parts, slice_parts};
use super::template::fill;
use crate::base::digest::hex;
use crate::base::error::{Error, Result, unknown};
use crate::base::escape::{clean, inert_json};
use crate::base::expr::{Expr, ExprError, Scope};
use crate::base::words::{first_of, plural};
use crate::database::catalog::Place;
use crate::database::table::{Column, PartValues, TableScope};
use crate::specs::KeyPart;

const TEMPLATE: &str = include_str!("page.html.j2");
const STYLE: &str = include_str!("page.css");
const MODEL: &str = include_str!("model.js");
const SCRIPT: &str = include_str!("page.js");

/// The JavaScript of the chart library uPlot. The first lines are its licence, because each page contains a copy of the
/// library.
const LIBRARY: &str = include_str!("uplot/uPlot.iife.min.js");
const LIBRARY_STYLE: &str = include_str!("uplot/uPlot.min.css");
const LIBRARY_LICENCE: &str = include_str!("uplot/LICENSE");

/// The maximum size of a page in bytes. Larger pages are slow to send and to open.
const LARGEST: usize = 3_000_000;

/// The maximum number of rows on the first attempt to build a page. If the page is too large, the next attempt has
/// fewer rows.
const MOST_ROWS: usize = 240_000;

/// A rendered page and its one-line summary.
#[derive(Debug)]
pub struct ExplorerPage {
    /// The HTML file's text.
    pub html: String,
    /// The numbers of shown series, peers and findings, as text for people.
    pub summary: String,
}

/// The values that the template of the page shows.
#[derive(Serialize)]
struct PageView<'a> {
    version: &'static str,
    title: &'a str,
    /// A text that names the root folder of the database, and the commits (or files on disk) that the page shows.
    states: String,
    summary: &'a str,
    notes: &'a [String],
    findings: Vec<FindingLine<'a>>,
    /// The number of findings that the list leaves out.
    more_findings: usize,
    nonce: String,
    data: &'a str,
    licence: &'static str,
    style: String,
    script: String,
}

/// A finding in the list below the chart.
#[derive(Serialize)]
struct FindingLine<'a> {
    severity: &'static str,
    rule: &'a str,
    message: String,
    fingerprint: String,
    /// True if the chart can show the finding.
    is_drawn: bool,
}

/// The maximum number of a column's values that an error message lists.
const VALUES: usize = 12;

/// The maximum number of findings that are listed below the chart. Further findings are only counted.
const FINDINGS: usize = 200;

impl Exploration<'_> {
    /// Renders the page.
    ///
    /// # Errors
    ///
    /// If the table has nothing to draw, or a formula of `rules/` or `charts/` does not fit it.
    pub(crate) fn page(&self) -> Result<ExplorerPage> {
        let head = &self.sides[0];
        let scopes: Vec<TableScope<'_>> = self.sides.iter().map(|side| self.scope(side)).collect();
        self.check_filter(&scopes)?;
        self.check_values(&scopes)?;
        let base = self.sides.iter().find(|side| side.kind == SideKind::Base);
        let axis = self.axis(&scopes[0])?;
        let fixed = fixed_parts(&scopes[0], &axis, base.map(|side| &*side.table));
        let panel = slice_parts(self.chart, &scopes[0], &fixed);
        let mut sets = Vec::new();
        for scope in &scopes {
            let set = SeriesSet::new(scope, &axis, &fixed, &panel, self.chart);
            sets.push(set.map_err(|e| undrawn(head, &e))?);
        }
        let rings = Rings::new(self.findings.iter().copied(), head.table.rows);
        let mut parts = fixed.clone();
        parts.extend(KeyPart::column(&axis));
        let mut most = MOST_ROWS;
        loop {
            let chosen =
                choose(self, &scopes, &sets, &rings, most).map_err(|e| undrawn(head, &e))?;
            let data = PageData::new(self, &scopes, &sets, &parts, &rings, &chosen)
                .map_err(|e| undrawn(head, &e))?;
            let page = self.filled(&data, &chosen)?;
            if page.html.len() <= LARGEST || most < 1000 {
                return Ok(page);
            }
            most = most / 4 * 3;
        }
    }

    /// Returns an error if the filter uses a name that no table of the page has. Such a filter would select no rows.
    fn check_filter(&self, scopes: &[TableScope<'_>]) -> Result<()> {
        let Some(filter) = self.filter else { return Ok(()) };
        let is_column = |name: &str| {
            scopes.iter().any(|s| s.table.column(name).is_some() || s.column(name).is_some())
        };
        let is_field = |name: &str| scopes.iter().any(|scope| scope.field(name).is_some());
        let columns = filter.columns().into_iter().find(|name| !is_column(name));
        let mut fields = filter.fields().into_iter();
        let Some(name) = columns.or_else(|| fields.find(|name| !is_field(name))) else {
            return Ok(());
        };
        let known = scopes.iter().flat_map(|scope| scope.table.columns()).map(|(name, _)| name);
        let Error { hint, .. } = unknown("column", name, known);
        let name = clean(name);
        Err(Error::new(format!("--where uses {name}, which no table of the page has"), hint))
    }

    /// Returns an error if the filter contains a condition that no row of the page's tables meets, such as a comparison
    /// with a value that no table has.
    fn check_values(&self, scopes: &[TableScope<'_>]) -> Result<()> {
        let Some(filter) = self.filter else { return Ok(()) };
        let is_met = |condition: &Expr, scope: &TableScope<'_>| {
            let mask = condition.mask(scope);
            // A condition that does not fit a table is reported when the table is drawn.
            mask.map_or(true, |mask| (0..scope.rows()).any(|row| mask.get(row)))
        };
        let mut conditions = filter.conditions().into_iter().chain([filter.clone()]);
        let is_unmet = |c: &Expr| !scopes.iter().any(|scope| is_met(c, scope));
        let Some(unmet) = conditions.find(is_unmet) else { return Ok(()) };
        let names = unmet.columns();
        let known: Vec<String> = names.iter().map(|name| known_values(scopes, name)).collect();
        let why = format!("--where is true for no row, because of {}", clean(&names.join(", ")));
        Err(Error::new(why, known.join("; ")))
    }

    /// Returns the column that the page first shows as the x axis.
    fn axis(&self, scope: &TableScope<'_>) -> Result<String> {
        let known = axes(self.chart, scope).into_iter().next();
        let any = || {
            let mut columns = self.spec.key.iter().filter_map(|part| part.value.as_column());
            let is_number = |name: &&str| {
                matches!(scope.table.column(name), Some(Column::Int { .. } | Column::Float { .. }))
            };
            columns.find(is_number).map(str::to_owned)
        };
        known.or_else(any).ok_or_else(|| {
            let hint = "`perfdb-gate validate --rows DIR` writes the rows of findings as CSV";
            Error::new(format!("{} has no numeric column to draw along", self.spec.name), hint)
        })
    }

    fn filled(&self, data: &PageData, chosen: &ChosenRows) -> Result<ExplorerPage> {
        let Place { system, backend, version, .. } = self.sides[0].place;
        let title = clean(&format!("{} on {system}, {backend} {version}", self.spec.name));
        let summary = clean(&self.summary(chosen));
        let mut notes: Vec<String> = self.notes.iter().map(|note| clean(note)).collect();
        notes.extend(chosen.left_out());
        let text = serde_json::to_string(data).unwrap_or_default();
        // The script shows names as text. Without `<` and `>`, a name cannot end the script element that contains it.
        let text = inert_json(&text).replace('<', "\\u003c").replace('>', "\\u003e");
        let mut findings = Vec::new();
        for (finding, is_drawn) in self.findings.iter().zip(&data.drawn).take(FINDINGS) {
            findings.push(FindingLine {
                severity: finding.severity.into_str(),
                rule: &finding.rule,
                message: clean(&finding.message),
                fingerprint: finding.fingerprint(),
                is_drawn: *is_drawn,
            });
        }
        let view = PageView {
            version: env!("CARGO_PKG_VERSION"),
            title: &title,
            states: clean(&self.states),
            summary: &summary,
            notes: &notes,
            findings,
            more_findings: self.findings.len().saturating_sub(FINDINGS),
            nonce: hex(&Sha256::digest(text.as_bytes())[..16]),
            data: &text,
            licence: LIBRARY_LICENCE,
            style: format!("{LIBRARY_STYLE}\n{STYLE}"),
            script: format!("{LIBRARY}\n{MODEL}\n{SCRIPT}"),
        };
        Ok(ExplorerPage { html: fill("explore.html.j2", TEMPLATE, &view)?, summary })
    }

    /// Sums up the page, as in `1,200 rows: all 40 series, 2 peers, 3 findings`.
    fn summary(&self, chosen: &ChosenRows) -> String {
        let count = |kind| self.sides.iter().filter(|side| side.kind == kind).count();
        let mut parts = vec![chosen.shown()];
        if count(SideKind::Base) > 0 {
            parts.push("the state before".to_owned());
        }
        if count(SideKind::Peer) > 0 {
            parts.push(plural(count(SideKind::Peer), "peer"));
        }
        parts.push(match self.findings.len() {
            0 => "no findings".to_owned(),
            n => plural(n, "finding"),
        });
        format!("{}: {}", plural(self.sides[0].table.rows, "row"), parts.join(", "))
    }
}

/// Lists the values of a column in the tables of a page, for an error message.
fn known_values(scopes: &[TableScope<'_>], name: &str) -> String {
    let mut column = CellColumn::new(name);
    for scope in scopes {
        let rows: Vec<usize> = (0..scope.rows()).collect();
        if let Some(values) = scope.column(name) {
            column.extend(&PartValues::Formula(values), &rows);
        }
    }
    let values = column.distinct();
    format!("{} is {}", clean(name), first_of(&values, VALUES, ", "))
}

/// Returns the error for a formula that does not fit a table.
fn undrawn(side: &ExploredSide<'_>, why: &ExprError) -> Error {
    let Place { backend, version, .. } = side.place;
    Error::new(
        format!("cannot draw the table of {backend} {version}: {why}"),
        "the formula is in rules/tables, in charts/ or behind --where",
    )
}
