//! Classified failures and declared limits that explain missing keys.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use super::comparison::HoleComparison;
use super::grid::{KeyGrid, KeyState};
use crate::base::expr::{ExprError, Lookup, NULL_CODE, Scope, Vals, Value};
use crate::base::group::grouped;
use crate::database::coverage::{Cell, PartRole};
use crate::findings::{Explained, Explanation};
use crate::specs::NEAREST;
use crate::specs::system::System;

/// Marks the missing keys that have a known reason: a failure in the collector's log, or a declared limit of the
/// system. Returns the reasons that explain at least `least` of the sampled keys each.
pub(crate) fn explain(
    comparison: &HoleComparison<'_>,
    grid: &mut KeyGrid,
    least: usize,
) -> Result<Vec<Explained>, ExprError> {
    let failures = explain_by_failures(comparison, grid);
    // A limit may read figures of the systems that have a key, so keys of the same references are judged together.
    let missing = grid.in_state(KeyState::Missing);
    let by_having = grouped(missing.map(|key| (&comparison.keys[key].had_by, key)));
    let mut explained = Vec::new();
    let limits = comparison.at.state.specs.limits.iter();
    for (id, limit) in limits.filter(|(_, limit)| limit.concerns(&comparison.spec.name)) {
        let mut sampled = 0;
        for (having, keys) in &by_having {
            let scope = UnservedKeys { comparison, grid, keys, having };
            let holds = limit.forbids.mask(&scope)?;
            let held: Vec<usize> =
                (0..keys.len()).filter(|i| holds.get(*i)).map(|i| keys[i]).collect();
            for key in held {
                sampled += usize::from(grid.states[key] == KeyState::Missing);
                grid.states[key] = KeyState::Explained;
            }
        }
        let by = Explanation::Limit { id: id.clone(), reason: limit.reason.clone() };
        explained.push((by, sampled));
    }
    explained.extend(failures.into_iter().map(|(error, keys)| (Explanation::Failure(error), keys)));
    explained.retain(|(_, sampled)| *sampled >= least);
    let explained = explained.into_iter();
    Ok(explained
        .map(|(by, sampled)| Explained { explanation: by, keys: comparison.estimate(sampled) })
        .collect())
}

/// Marks the missing keys that the collector's log explains, and counts them by error.
fn explain_by_failures(
    comparison: &HoleComparison<'_>,
    grid: &mut KeyGrid,
) -> BTreeMap<String, usize> {
    let mut by_error: BTreeMap<String, usize> = BTreeMap::new();
    let Some(ledger) = comparison.at.ledger else { return by_error };
    let tables: Vec<&str> = comparison.at.state.specs.tables.keys().map(String::as_str).collect();
    let (spec, place) = (comparison.spec, &comparison.file.place);
    let failures = ledger.of(spec, &place.backend, &place.version, &tables);
    let missing: Vec<usize> = grid.in_state(KeyState::Missing).collect();
    for key in missing {
        if let Some(error) = failures.explain(spec, &grid.points, key) {
            *by_error.entry(error.to_owned()).or_default() += 1;
            grid.states[key] = KeyState::Explained;
        }
    }
    by_error
}

/// Missing keys as the rows of a table, so that the condition of a declared limit can be evaluated for each key.
struct UnservedKeys<'a> {
    comparison: &'a HoleComparison<'a>,
    grid: &'a KeyGrid,
    keys: &'a [usize],
    /// The indices of references. Each of these references has all the missing keys.
    having: &'a BTreeSet<usize>,
}

impl UnservedKeys<'_> {
    /// Returns the values of the key part with this index, one per missing key.
    fn part(&self, index: usize) -> Value<'_> {
        let part = &self.grid.points.parts[index];
        if part.kind == PartRole::Name {
            let code = |key: &usize| match self.grid.points.cell(index, *key) {
                Cell::Text(_) => part.codes[*key],
                Cell::Number(_) | Cell::Null => NULL_CODE,
            };
            let text = |cell: &Cell| match cell {
                Cell::Text(text) => text.clone(),
                Cell::Number(_) | Cell::Null => "".into(),
            };
            let codes = self.keys.iter().map(code).collect();
            Value::Text(Vals::Rows(codes), Cow::Owned(part.values.iter().map(text).collect()))
        } else {
            let number = |key: &usize| match self.grid.points.cell(index, *key) {
                Cell::Number(number) => *number,
                Cell::Text(_) | Cell::Null => f64::NAN,
            };
            Value::Number(Vals::Rows(self.keys.iter().map(number).collect()))
        }
    }

    /// Returns for each missing key whether the table serves a similar key. The two keys may differ only in their axis
    /// values, and `fits` must return true for their indices (the served key first).
    fn is_served(&self, fits: impl Fn(usize, usize) -> bool) -> Value<'_> {
        let shapes = self.grid.points.slices(&[PartRole::Name, PartRole::Shape]);
        let served: Vec<usize> = self.grid.in_state(KeyState::Served).collect();
        let fits = |other: usize, key: usize| shapes[other] == shapes[key] && fits(other, key);
        let is_served = |key: &usize| served.iter().any(|other| fits(*other, *key));
        Value::Bool(Vals::Rows(self.keys.iter().map(is_served).collect()))
    }

    /// Returns for each missing key the share of missing keys in its slice. The slice consists of all keys with the
    /// same names, such as dtype and kernel.
    fn missing_share(&self) -> Vec<f64> {
        let names = self.grid.points.slices(&[PartRole::Name]);
        let mut counts: BTreeMap<u32, (f64, f64)> = BTreeMap::new();
        for (slice, state) in names.iter().zip(&self.grid.states) {
            let (all, missing) = counts.entry(*slice).or_default();
            *all += 1.0;
            *missing += f64::from(u8::from(*state != KeyState::Served));
        }
        self.keys.iter().map(|key| counts[&names[*key]].1 / counts[&names[*key]].0).collect()
    }

    fn system(&self, name: &str) -> Option<&System> {
        self.comparison.at.state.catalog.system(name, self.comparison.at.state.specs)
    }
}

impl Scope for UnservedKeys<'_> {
    fn rows(&self) -> usize {
        self.keys.len()
    }

    fn column(&self, name: &str) -> Option<Value<'_>> {
        if let Some(part) = self.grid.points.parts.iter().position(|part| part.name == name) {
            return Some(self.part(part));
        }
        let place = &self.comparison.file.place;
        Some(match name {
            "system" => Value::text(&place.system),
            "backend" => Value::text(&place.backend),
            "version" => Value::text(&place.version),
            // True if another key that is at least (or at most) as large along every axis is served.
            "larger_served" => self.is_served(|other, key| self.grid.is_as_large(other, key)),
            "smaller_served" => self.is_served(|other, key| self.grid.is_as_large(key, other)),
            "missing_share" => Value::Number(Vals::Rows(self.missing_share().into())),
            _ => return None,
        })
    }

    fn field(&self, path: &str) -> Option<f64> {
        let own = &self.comparison.file.place.system;
        let Some(path) = path.strip_prefix(NEAREST) else { return self.system(own)?.figure(path) };
        let having =
            self.having.iter().map(|i| self.comparison.references[*i].system.unwrap_or(own));
        let figures = having.map(|system| self.system(system)?.figure(path));
        // The smallest figure is known only if every system states its own.
        figures.collect::<Option<Vec<f64>>>()?.into_iter().reduce(f64::min)
    }

    fn lookup(&self, function: &Lookup, text: &str) -> Option<f64> {
        let system = self.system(&self.comparison.file.place.system);
        self.comparison.at.state.specs.lookups.get(function, text, system)
    }
}
