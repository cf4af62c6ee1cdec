//! The data that the script of an explorer page reads.

use std::collections::HashMap;

use serde::Serialize;

use super::choose::ChosenRows;
use super::columns::{self, CellColumn, PageColumn};
use super::exploration::{Exploration, ExploredSide, SideKind};
use crate::base::escape::clean;
use crate::base::expr::ExprError;
use crate::database::table::{Keys, TableScope};
use crate::findings::Finding;
use crate::report::chart::{RingedRule, Rings, SeriesSet};
use crate::specs::KeyPart;

/// The rows of an explorer page, encoded as columns. The rows of the table come first, then the rows of its base, then
/// the rows of each peer.
#[derive(Debug, Serialize)]
pub(super) struct PageData {
    /// The columns of the loader's key. When the page opens, the last column is the x axis.
    parts: Vec<PageColumn>,
    sides: Vec<PageSide>,
    /// The latency of each row in ms, encoded in single precision.
    latency: String,
    /// The speed-of-light bound of each row in ms, encoded as `latency` is; NaN if unknown. Empty if no row has a
    /// bound.
    bound: String,
    /// The loader's use of each row: 0 if it serves the row, 1 if it serves another row of the same key, 2 if it does
    /// not read the row.
    uses: String,
    rings: Vec<PageRing>,
    findings: Vec<PageFinding>,
    /// The index, among the rows of the page, of a row in the series that is shown first. With `None`, the page chooses
    /// the series.
    first: Option<usize>,
    /// One flag per finding: true if the page can show the finding.
    #[serde(skip)]
    pub drawn: Vec<bool>,
}

#[derive(Debug, Serialize)]
struct PageSide {
    name: String,
    kind: SideKind,
    /// The number of rows of this side on the page.
    rows: usize,
}

/// The rows on the page that the findings of one rule name.
#[derive(Debug, Serialize)]
struct PageRing {
    rule: String,
    severity: &'static str,
    /// The indices of the rows on the page, as 32-bit integers in base64.
    at: String,
    /// For each row that `at` lists, its row number in the table; encoded as 32-bit integers in base64.
    rows: String,
}

/// The row and the slice at which the page shows a finding.
#[derive(Debug, Serialize)]
struct PageFinding {
    fingerprint: String,
    /// The index, among the rows of the page, of the worst row that the finding names; `None` if the page shows no such
    /// row.
    #[serde(skip_serializing_if = "Option::is_none")]
    at: Option<usize>,
    /// The slice that the finding concerns, as pairs of name and text; empty if the finding concerns no slice.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    slice: Vec<(String, String)>,
}

impl PageData {
    /// Encodes the rows chosen for a page.
    ///
    /// # Errors
    ///
    /// If a formula of the key does not fit a table.
    pub(crate) fn new(
        page: &Exploration<'_>,
        scopes: &[TableScope<'_>],
        sets: &[SeriesSet<'_>],
        parts: &[KeyPart],
        rings: &Rings,
        chosen: &ChosenRows,
    ) -> Result<Self, ExprError> {
        let mut builders: Vec<CellColumn> =
            parts.iter().map(|part| CellColumn::new(&part.name)).collect();
        let (mut latency, mut bound, mut uses) = (Vec::new(), Vec::new(), Vec::new());
        let mut sides = Vec::new();
        for (side, rows) in chosen.rows.iter().enumerate() {
            let set = &sets[side];
            let keys = Keys::new(parts, &scopes[side])?;
            keys.values().zip(&mut builders).for_each(|(value, column)| column.extend(value, rows));
            latency.extend(rows.iter().map(|row| set.latency[*row]));
            bound.extend(rows.iter().map(|row| set.bound[*row]));
            uses.extend(rows.iter().map(|row| set.uses[*row] as u8));
            let ExploredSide { name, kind, .. } = &page.sides[side];
            sides.push(PageSide { name: clean(name), kind: *kind, rows: rows.len() });
        }
        let known = bound.iter().any(|bound| *bound > 0.0);
        let place: HashMap<usize, usize> =
            chosen.rows[0].iter().enumerate().map(|(at, row)| (*row, at)).collect();
        let findings: Vec<PageFinding> =
            page.findings.iter().map(|finding| placed(finding, &place)).collect();
        let before = |side: usize| chosen.rows[..side].iter().map(Vec::len).sum::<usize>();
        let first = chosen.first.and_then(|(side, row)| {
            let at = chosen.rows[side].iter().position(|r| *r == row)?;
            Some(before(side) + at)
        });
        Ok(Self {
            parts: builders.into_iter().map(CellColumn::finish).collect(),
            sides,
            latency: columns::singles(latency.into_iter()),
            bound: if known { columns::singles(bound.into_iter()) } else { String::new() },
            uses: columns::bytes(&uses),
            rings: ringed(rings, &chosen.rows[0]),
            drawn: findings.iter().map(|f| f.at.is_some() || !f.slice.is_empty()).collect(),
            findings,
            first,
        })
    }
}

/// Determines the row and the slice at which the page shows a finding: the worst of the finding's rows that are on the
/// page, and the finding's first slice. `place` maps row numbers to indices on the page.
fn placed(finding: &Finding, place: &HashMap<usize, usize>) -> PageFinding {
    let examples = finding.examples.iter().map(|example| example.row as u32);
    let is_named = |row: &u32| finding.named_rows.contains(row);
    let worst = examples.filter(is_named).chain(finding.named_rows.iter().copied());
    let mut at = worst.filter_map(|row| place.get(&(row as usize)).copied());
    let slice = finding.evidence.slices.first();
    let slice = slice.into_iter().flat_map(|evidence| &evidence.slice);
    PageFinding {
        fingerprint: finding.fingerprint(),
        at: at.next(),
        slice: slice.map(|(name, text)| (clean(name), clean(text))).collect(),
    }
}

/// Returns one entry per rule: the rows on the page that the rule's findings name.
fn ringed(rings: &Rings, rows: &[usize]) -> Vec<PageRing> {
    let mut found: Vec<Vec<(usize, usize)>> = vec![Vec::new(); rings.rules.len()];
    for (at, row) in rows.iter().enumerate() {
        rings.of(*row).iter().for_each(|ring| found[*ring].push((at, *row)));
    }
    let ring = |(ring, found): (&RingedRule, Vec<(usize, usize)>)| PageRing {
        rule: clean(&ring.name),
        severity: ring.severity.into_str(),
        at: columns::numbers(found.iter().map(|(at, _)| *at)),
        rows: columns::numbers(found.iter().map(|(_, row)| *row)),
    };
    rings.rules.iter().zip(found).map(ring).collect()
}
