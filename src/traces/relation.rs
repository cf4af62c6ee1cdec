//! Finds rows that break a relation between their values.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value as Json;

use super::frame::{Frame, FrameView, TraceCell};
use super::spec::{Derived, Relation, Threshold};
use crate::base::expr::{Expr, ExprError};
use crate::specs::system::System;

/// The rows that break a relation.
pub(super) struct Broken<'a> {
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
pub(super) fn broken<'s>(
    relations: &'s [Relation],
    derive: &[Derived],
    frame: &Frame<'_>,
    thresholds: &'s BTreeMap<String, Threshold>,
) -> Result<Vec<Broken<'s>>, ExprError> {
    let mut all = Vec::new();
    for relation in relations {
        let mut rows = Vec::new();
        let fields = relation.figures();
        for (system, among) in machines(frame, !fields.is_empty()) {
            let view = FrameView { frame, system, thresholds };
            let known = |field: &&str| system.is_some_and(|s| s.figure(field).is_some());
            if fields.iter().all(known) {
                rows.extend(
                    wrong(relation, derive, &view)?.into_iter().filter(|row| among.contains(row)),
                );
            }
        }
        rows.sort_unstable();
        if !rows.is_empty() {
            all.push(Broken { relation, thresholds, rows });
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

fn wrong(
    relation: &Relation,
    derive: &[Derived],
    view: &FrameView<'_>,
) -> Result<Vec<usize>, ExprError> {
    let mut open: Vec<usize> = match &relation.filter {
        None => (0..view.frame.rows).collect(),
        Some(filter) => {
            let mask = filter.mask(view)?;
            (0..view.frame.rows).filter(|row| mask.get(*row)).collect()
        }
    };
    let read: BTreeSet<&str> = relation.demands().flat_map(|e| e.columns()).collect();
    open.retain(|row| read.iter().all(|name| *view.frame.cell(name, *row) != TraceCell::Null));
    if open.is_empty() {
        return Ok(open);
    }
    if let Some(holds) = &relation.holds {
        let holds = holds.mask(view)?;
        open.retain(|row| !holds.get(*row));
    }
    if let Some(equal) = &relation.equal {
        let (left, right) = (equal.0.numbers(view)?, equal.1.numbers(view)?);
        let within = |row: usize| relation.within * left.get(row).abs().max(right.get(row).abs());
        // A value that cannot be computed (0 / 0) is not judged.
        open.retain(|row| (left.get(*row) - right.get(*row)).abs() > within(*row));
        let rounding = rounding(equal, derive, view, &open)?;
        let beyond = |(row, rounding): &(usize, f64)| {
            (left.get(*row) - right.get(*row)).abs() > within(*row) + rounding
        };
        open = open.into_iter().zip(rounding).filter(beyond).map(|(row, _)| row).collect();
    }
    Ok(open)
}

/// Returns by how much rounding of the values read may make two formulas differ, per row: the sum
/// of the changes that half a unit of each column causes.
fn rounding(
    equal: &(Expr, Expr),
    derive: &[Derived],
    view: &FrameView<'_>,
    rows: &[usize],
) -> Result<Vec<f64>, ExprError> {
    let mut sums = vec![0.0; rows.len()];
    if rows.is_empty() {
        return Ok(sums);
    }
    let mut read: BTreeSet<&str> = equal.0.columns().into_iter().chain(equal.1.columns()).collect();
    for derived in derive.iter().rev() {
        if read.contains(derived.name.as_str()) {
            read.extend(derived.is.columns());
        }
    }
    let frame = view.frame.take(rows);
    let apart = |frame: &Frame<'_>| -> Result<Vec<f64>, ExprError> {
        let view = FrameView { frame, system: view.system, thresholds: view.thresholds };
        let (left, right) = (equal.0.numbers(&view)?, equal.1.numbers(&view)?);
        Ok((0..rows.len()).map(|row| left.get(row) - right.get(row)).collect())
    };
    let as_written = apart(&frame)?;
    for name in frame.rounded().filter(|name| read.contains(name)) {
        let mut most = vec![0.0f64; rows.len()];
        for half_units in [-1.0, 1.0] {
            let mut off = frame.off_by(name, half_units);
            off.derive(derive, view.thresholds)?;
            for ((most, a), b) in most.iter_mut().zip(apart(&off)?).zip(&as_written) {
                *most = most.max((a - b).abs());
            }
        }
        sums.iter_mut().zip(most).for_each(|(sum, most)| *sum += most);
    }
    Ok(sums)
}

impl Broken<'_> {
    /// Words the problem with the values of one row.
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

    /// Names of the columns whose values the relation's sentence contains.
    pub fn named(&self) -> impl Iterator<Item = &str> {
        let parts = self.relation.says.split('{').skip(1);
        let names = parts.filter_map(|part| part.split_once('}')).map(|(name, _)| name);
        names.filter(|name| !name.starts_with("threshold."))
    }

    /// The known values of a row that the relation reads or shows, by column name.
    pub fn values(&self, frame: &Frame<'_>, row: usize) -> Vec<(String, Json)> {
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
