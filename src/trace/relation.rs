//! What must hold between the values of a row.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value as Json;

use super::frame::{Cell, Frame, View};
use super::spec::{Relation, Threshold};
use crate::expr::ExprError;
use crate::system::System;

/// Rows in which a relation does not hold.
pub struct Broken<'a> {
    pub relation: &'a Relation,
    thresholds: &'a BTreeMap<String, Threshold>,
    /// In order.
    pub rows: Vec<usize>,
}

/// Tries relations on every row in which all that they read is known.
///
/// # Errors
///
/// When a formula mixes what cannot be compared.
pub fn broken<'s>(
    relations: &'s [Relation],
    frame: &Frame<'_>,
    thresholds: &'s BTreeMap<String, Threshold>,
) -> Result<Vec<Broken<'s>>, ExprError> {
    let mut all = Vec::new();
    for relation in relations {
        let mut rows = Vec::new();
        let figures = |f: &&str| !f.starts_with("threshold.");
        let fields: BTreeSet<&str> =
            relation.formulas().flat_map(|e| e.fields()).filter(figures).collect();
        for (system, among) in machines(frame, !fields.is_empty()) {
            let view = View { frame, system, thresholds };
            let known = |field: &&str| system.is_some_and(|s| s.figure(field).is_some());
            if fields.iter().all(known) {
                rows.extend(wrong(relation, &view)?.into_iter().filter(|row| among.contains(row)));
            }
        }
        rows.sort_unstable();
        if !rows.is_empty() {
            all.push(Broken { relation, thresholds, rows });
        }
    }
    Ok(all)
}

/// Rows by their machine; all rows at once where that does not matter.
fn machines<'a>(frame: &Frame<'a>, apart: bool) -> Vec<(Option<&'a System>, BTreeSet<usize>)> {
    if !apart {
        return vec![(None, (0..frame.rows).collect())];
    }
    let mut by_name: BTreeMap<&str, (Option<&System>, BTreeSet<usize>)> = BTreeMap::new();
    for (row, system) in frame.systems.iter().enumerate() {
        let name = system.map_or("", |s| s.name.as_str());
        by_name.entry(name).or_insert_with(|| (*system, BTreeSet::new())).1.insert(row);
    }
    by_name.into_values().collect()
}

fn wrong(relation: &Relation, view: &View<'_>) -> Result<Vec<usize>, ExprError> {
    let mut open: Vec<usize> = match &relation.filter {
        None => (0..view.frame.rows).collect(),
        Some(filter) => {
            let mask = filter.mask(view)?;
            (0..view.frame.rows).filter(|row| mask.get(*row)).collect()
        }
    };
    let read: BTreeSet<&str> = relation.demands().flat_map(|e| e.columns()).collect();
    open.retain(|row| read.iter().all(|name| *view.frame.cell(name, *row) != Cell::Null));
    if open.is_empty() {
        return Ok(open);
    }
    if let Some(holds) = &relation.holds {
        let holds = holds.mask(view)?;
        open.retain(|row| !holds.get(*row));
    }
    if let Some((left, right)) = &relation.equal {
        let (left, right) = (left.numbers(view)?, right.numbers(view)?);
        open.retain(|row| {
            let (a, b) = (left.get(*row), right.get(*row));
            // What cannot be worked out (0 / 0) is not judged.
            !a.is_nan() && !b.is_nan() && (a - b).abs() > relation.within * a.abs().max(b.abs())
        });
    }
    Ok(open)
}

impl Broken<'_> {
    /// What is wrong, with the values of one row.
    pub fn says(&self, frame: &Frame<'_>, row: usize) -> String {
        let mut out = String::new();
        let mut rest = self.relation.says.as_str();
        while let Some((before, after)) = rest.split_once('{') {
            out += before;
            let (name, after) = after.split_once('}').unwrap_or((after, ""));
            let threshold = name.strip_prefix("threshold.").and_then(|n| self.thresholds.get(n));
            out += &match threshold {
                Some(threshold) => threshold.value.to_string(),
                None => frame.cell(name, row).to_string(),
            };
            rest = after;
        }
        out + rest
    }

    /// Columns whose values its sentence holds.
    pub fn named(&self) -> impl Iterator<Item = &str> {
        let parts = self.relation.says.split('{').skip(1);
        let names = parts.filter_map(|part| part.split_once('}')).map(|(name, _)| name);
        names.filter(|name| !name.starts_with("threshold."))
    }

    /// The values of a row that it reads and shows, those that are known.
    pub fn values(&self, frame: &Frame<'_>, row: usize) -> Vec<(String, Json)> {
        let mut names: Vec<&str> = Vec::new();
        let read = self.relation.formulas().flat_map(|e| e.columns());
        for name in read.chain(self.relation.show.iter().map(String::as_str)) {
            if *frame.cell(name, row) != Cell::Null && !names.contains(&name) {
                names.push(name);
            }
        }
        names.iter().map(|n| ((*n).to_owned(), frame.cell(n, row).json())).collect()
    }

    /// The thresholds that it goes by, and where each comes from.
    pub fn grounds(&self) -> Vec<(String, Json)> {
        let known = self.relation.thresholds().into_iter();
        known
            .filter_map(|name| Some((name, self.thresholds.get(name)?)))
            .flat_map(|(name, t)| {
                [
                    (name.to_owned(), t.value.into()),
                    (format!("{name}_from"), t.from.as_str().into()),
                ]
            })
            .collect()
    }
}
