//! Finds rows that break a relation between their values.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value as Json;

use super::frame::{Frame, FrameView, TraceCell};
use super::spec::{DerivedColumn, Relation, Threshold};
use crate::base::expr::ExprError;
use crate::base::relation::Rounded;
use crate::specs::system::System;

/// The rows that break a relation.
pub(crate) struct BrokenRelation<'a> {
    pub relation: &'a Relation,
    thresholds: &'a BTreeMap<String, Threshold>,
    /// The row numbers, ascending.
    pub rows: Vec<usize>,
}

/// Returns the relations that rows break. A row is only judged if all values that the relation
/// reads are known.
///
/// # Errors
///
/// If a formula compares values of different types.
pub(crate) fn broken<'s>(
    relations: &'s [Relation],
    derive: &[DerivedColumn],
    frame: &Frame<'_>,
    thresholds: &'s BTreeMap<String, Threshold>,
) -> Result<Vec<BrokenRelation<'s>>, ExprError> {
    let mut all = Vec::new();
    let rounded = Rounded {
        half_units: frame.half_units(),
        derived: derive.iter().map(|derived| (derived.name.as_str(), &derived.is)).collect(),
    };
    let is_known = |name: &str, row: usize| *frame.cell(name, row) != TraceCell::Null;
    for relation in relations {
        let mut rows = Vec::new();
        let fields = relation.figures();
        for (system, among) in machines(frame, !fields.is_empty()) {
            let view = FrameView { frame, system, thresholds };
            let known = |field: &&str| system.is_some_and(|s| s.figure(field).is_some());
            if fields.iter().all(known) {
                let wrong = relation.formulas_of().broken_rows(&view, &is_known, &rounded)?;
                rows.extend(wrong.into_iter().filter(|row| among.contains(row)));
            }
        }
        rows.sort_unstable();
        if !rows.is_empty() {
            all.push(BrokenRelation { relation, thresholds, rows });
        }
    }
    Ok(all)
}

/// Groups rows by system; all rows are one group without a system if `apart` is false.
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

impl BrokenRelation<'_> {
    /// Describes the problem with the values of one row.
    pub(crate) fn says(&self, frame: &Frame<'_>, row: usize) -> String {
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

    /// Names of the columns whose values the relation's sentence contains.
    pub(crate) fn named(&self) -> impl Iterator<Item = &str> {
        let parts = self.relation.says.split('{').skip(1);
        let names = parts.filter_map(|part| part.split_once('}')).map(|(name, _)| name);
        names.filter(|name| !name.starts_with("threshold."))
    }

    /// The known values of a row that the relation reads or shows, by column name.
    pub(crate) fn values(&self, frame: &Frame<'_>, row: usize) -> Vec<(String, Json)> {
        let mut names: Vec<&str> = Vec::new();
        let read = self.relation.formulas().flat_map(|e| e.columns());
        for name in read.chain(self.relation.show.iter().map(String::as_str)) {
            if *frame.cell(name, row) != TraceCell::Null && !names.contains(&name) {
                names.push(name);
            }
        }
        names.iter().map(|n| ((*n).to_owned(), frame.cell(n, row).json())).collect()
    }

    /// The thresholds that the relation uses, each followed by its source.
    pub(crate) fn grounds(&self) -> Vec<(String, Json)> {
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
