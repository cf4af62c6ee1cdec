//! The loader's key, more than once in a table.

use std::collections::{BTreeMap, BTreeSet};

use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::base::expr::{ExprError, Vals};
use crate::base::words::{count, plural};
use crate::checks::RowContext;
use crate::checks::judge::{Found, Judge};
use crate::database::table::{Keys, TableScope, number_json};
use crate::findings::{EXAMPLES, Example, Finding, Half, Novelty, Reads, Severity};
use crate::specs::{ColumnKind, ColumnSpec, KeyPart, Serves, TableSpec};

/// When copies of a key contradict each other, as opposed to being measured twice.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Conflict {
    /// Slowest over fastest copy, less 1.
    spread: f64,
    /// Latency in ms below which the timer's resolution explains a spread.
    floor_ms: f64,
    /// Keys in conflict that make an error of a warning.
    keys: usize,
}

/// A key of a bucket with all its rows, in file order.
struct KeyCopies {
    rows: Vec<usize>,
    /// Slowest over fastest copy, of the latency that differs most.
    spread: f64,
    conflict: bool,
    /// Whether the copies differ by more than 99 of 100 honest reruns do.
    beyond_noise: bool,
}

impl Judge for Conflict {
    fn judges_unknown_tables(&self) -> bool {
        true
    }

    fn reads(&self, spec: &TableSpec) -> Reads {
        Reads::columns(spec.loaded_columns())
    }

    /// Rows whose key an earlier row has.
    fn table(&self, rows: &RowContext<'_>) -> Result<Found, ExprError> {
        let spec = rows.at.spec;
        let scope = rows.scope();
        if spec.inferred {
            return whole_rows(rows, &scope);
        }
        // Where the loader keeps kernels apart, rows of two are no copies.
        let (row_key, apart);
        let keys = match rows.at.keys {
            None => return Ok(Vec::new()),
            Some(keys) if spec.lanes.is_none() => keys,
            Some(_) => {
                row_key = spec.row_key();
                apart = Keys::new(&row_key, &scope)?;
                &apart
            }
        };
        let groups = copies(&scope, keys)?;
        if groups.is_empty() {
            return Ok(Vec::new());
        }
        let latency = spec
            .latency
            .iter()
            .map(|l| Ok((l.name.as_str(), l.value.numbers(&scope)?)))
            .collect::<Result<Vec<_>, ExprError>>()?;
        let all = groups.iter().flat_map(|copies| &copies[1..]).collect::<BTreeSet<_>>().len();
        let mut findings = Found::new();
        for half in rows.halves() {
            let (groups, repeated) = of_half(&groups, &half);
            if !repeated.is_empty() {
                let groups =
                    groups.into_iter().map(|copies| self.group(rows, copies, &latency)).collect();
                let finding = self.finding(rows, keys, &latency, groups, repeated.len());
                findings.push(finding.half(&half, all).naming(repeated));
            }
        }
        Ok(findings)
    }
}

impl Conflict {
    fn group(
        &self,
        rows: &RowContext<'_>,
        copies: Vec<usize>,
        latency: &[(&str, Vals<f64>)],
    ) -> KeyCopies {
        let file = rows.at.file;
        let tail = |latency| {
            let band = rows.at.specs.noise.at(&file.table, &file.place.backend, latency);
            band.map_or(1.0, |b| b.p99)
        };
        let latencies: Vec<&Vals<f64>> = latency.iter().map(|(_, values)| values).collect();
        let CopySpread { ratio, beyond_noise } = CopySpread::of(&copies, &latencies, tail);
        let conflict = latencies.iter().any(|values| {
            let (least, most) = range(&copies, values);
            // A copy of zero beside one of a time is a conflict that no ratio tells.
            let differ = least <= 0.0 || most.is_finite() && most / least - 1.0 > self.spread;
            differ && most >= self.floor_ms
        });
        KeyCopies { rows: copies, spread: ratio, conflict, beyond_noise }
    }

    fn finding(
        &self,
        rows: &RowContext<'_>,
        keys: &Keys<'_>,
        latency: &[(&str, Vals<f64>)],
        mut groups: Vec<KeyCopies>,
        repeated: usize,
    ) -> Finding {
        let spec = rows.at.spec;
        let conflicts = groups.iter().filter(|g| g.conflict).count();
        groups.sort_by(|a, b| b.spread.total_cmp(&a.spread).then(a.rows.cmp(&b.rows)));
        let worst = groups.first().map_or(1.0, |g| g.spread);
        let median = groups.get(groups.len() / 2).map_or(1.0, |g| g.spread);
        let differs = differing_columns(rows, &groups);

        let refused = spec.serves == Serves::Error;
        let severity = if refused || conflicts >= self.keys {
            rows.rule.severity
        } else {
            rows.rule.severity.at_most(Severity::Warning)
        };
        let served = match spec.serves {
            Serves::First => "the loader serves the first and drops the rest",
            Serves::Last => "the loader serves the last and drops the rest",
            Serves::Error => "the loader refuses the table",
        };
        let verb = if repeated == 1 { "repeats" } else { "repeat" };
        let repeats = plural(repeated, "row");
        let mut message = format!("{repeats} {verb} a key that an earlier row has; {served}");
        if conflicts > 0 {
            message += &format!(
                "; copies of {} differ by over {} %, up to {worst:.2}×",
                plural(conflicts, "key"),
                self.spread * 100.0
            );
            let reruns = groups.iter().filter(|g| g.conflict && !g.beyond_noise).count();
            if reruns > 0 {
                message += &format!(", {} of them no more than reruns may", count(reruns));
            }
        }
        if !differs.is_empty() {
            message += &format!("; they differ in {}", differs.join(", "));
        }
        let examples =
            groups.iter().take(EXAMPLES).map(|g| example(g, keys, latency, spec.serves)).collect();
        rows.finding_as(severity, message)
            .rows(repeated)
            .examples(examples)
            .evidence("keys", groups.len())
            .evidence("conflicting_keys", conflicts)
            .evidence("keys_beyond_noise", groups.iter().filter(|g| g.beyond_noise).count())
            .evidence("median_ratio", median)
            .evidence("worst_ratio", worst)
            .evidence(
                "serves",
                match spec.serves {
                    Serves::First => "first",
                    Serves::Last => "last",
                    Serves::Error => "none",
                },
            )
            .evidence("differs_in", differs)
    }
}

/// Rows of a table without a spec that repeat an earlier one in every column.
fn whole_rows(rows: &RowContext<'_>, scope: &TableScope<'_>) -> Result<Found, ExprError> {
    let parts: Vec<KeyPart> =
        rows.table.columns().filter_map(|(name, _)| KeyPart::column(name)).collect();
    // A column whose name no formula can hold could tell them apart.
    if parts.len() < rows.table.columns().count() || parts.is_empty() {
        return Ok(Found::new());
    }
    let keys = Keys::new(&parts, scope)?;
    let copies = repeats(keys.hashes(), |_| true, |a, b| keys.equal(a, b));
    let all: Vec<usize> = copies.into_iter().map(|(row, _)| row).collect();
    let mut findings = Found::new();
    for half in rows.halves() {
        let own = half.of(&all);
        if own.is_empty() {
            continue;
        }
        let verb = if own.len() == 1 { "repeats" } else { "repeat" };
        let message = format!("{} {verb} an earlier row in every column", plural(own.len(), "row"));
        let severity = rows.rule.severity.at_most(Severity::Warning);
        let shown = &own[..own.len().min(EXAMPLES)];
        let examples = shown.iter().map(|row| Example {
            row: *row as u64,
            key: keys.show(*row),
            values: Vec::new(),
        });
        let finding = rows.finding_as(severity, message).rows(own.len());
        findings.push(finding.examples(examples.collect()).half(&half, all.len()));
    }
    Ok(findings)
}

/// How far copies of a row differ.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct CopySpread {
    /// Slowest over fastest copy, of the latency that differs most.
    pub ratio: f64,
    /// Whether that is more than `tail` allows at the slowest copy's latency.
    pub beyond_noise: bool,
}

impl CopySpread {
    /// Of some rows, by their latencies in ms. A time of zero or less beside one of another is
    /// beyond all noise and has no ratio.
    pub fn of(rows: &[usize], latencies: &[&Vals<'_, f64>], tail: impl Fn(f64) -> f64) -> Self {
        let mut spread = Self { ratio: 1.0, beyond_noise: false };
        for values in latencies {
            let (least, most) = range(rows, values);
            if least > 0.0 && most.is_finite() {
                spread.ratio = spread.ratio.max(most / least);
                spread.beyond_noise |= most / least > tail(most);
            } else {
                spread.beyond_noise |= least < most;
            }
        }
        spread
    }
}

/// The fastest and the slowest of some rows; what is no number is passed over.
fn range(rows: &[usize], values: &Vals<'_, f64>) -> (f64, f64) {
    let times = || rows.iter().map(|row| values.get(*row));
    (times().fold(f64::INFINITY, f64::min), times().fold(0.0, f64::max))
}

/// The groups that a half has rows of, and those of its rows that repeat a key: rows that a pull request
/// brings repeat what was there before, wherever they stand in the file.
fn of_half(groups: &BTreeSet<Vec<usize>>, half: &Half<'_>) -> (Vec<Vec<usize>>, BTreeSet<usize>) {
    let mut found = Vec::new();
    let mut repeated = BTreeSet::new();
    for copies in groups {
        let (own, others): (Vec<usize>, Vec<usize>) = copies.iter().partition(|r| half.has(**r));
        let new = half.novelty == Novelty::New;
        // The first of all rows repeats none.
        let repeats =
            if new && !others.is_empty() { &own[..] } else { own.get(1..).unwrap_or(&[]) };
        if !repeats.is_empty() {
            repeated.extend(repeats.iter().copied());
            found.push(if new { copies.clone() } else { own });
        }
    }
    (found, repeated)
}

/// Rows that compete for a key of the loader's, in file order: those that it reads, in each of the
/// maps that it puts them into. None where the table lacks what the key is made of.
///
/// # Errors
///
/// When a formula of the spec does not fit the table's columns.
pub(crate) fn copies(
    scope: &TableScope<'_>,
    keys: &Keys<'_>,
) -> Result<BTreeSet<Vec<usize>>, ExprError> {
    let spec = scope.spec;
    if !spec.key.iter().all(|p| has_columns(scope, p)) {
        return Ok(BTreeSet::new());
    }
    let loaded = spec.filter.as_ref().map(|f| f.mask(scope)).transpose()?;
    // Copies compete within a bucket; a row that goes into two may have rivals in both.
    let mut groups: BTreeMap<(usize, usize), Vec<usize>> = BTreeMap::new();
    let buckets: Vec<Vals<bool>> = if spec.buckets.is_empty() {
        vec![Vals::One(true)]
    } else {
        spec.buckets.iter().map(|b| b.rows.mask(scope)).collect::<Result<_, _>>()?
    };
    for (number, bucket) in buckets.iter().enumerate() {
        let goes = |i: usize| bucket.get(i) && loaded.as_ref().is_none_or(|l| l.get(i));
        for (row, first) in repeats(keys.hashes(), goes, |a, b| keys.equal(a, b)) {
            groups.entry((number, first)).or_insert_with(|| vec![first]).push(row);
        }
    }
    Ok(groups.into_values().collect())
}

/// Whether the table has what a key part reads; without it every row would be a copy of every other.
fn has_columns(scope: &TableScope<'_>, part: &KeyPart) -> bool {
    let optional = |c: &str| scope.spec.column(c).is_some_and(|c| c.optional);
    part.value.columns().iter().all(|c| scope.table.column(c).is_some() || optional(c))
}

/// Rows whose key an earlier row has, each with the first row of that key.
pub(crate) fn repeats(
    hashes: &[u64],
    goes: impl Fn(usize) -> bool,
    equal: impl Fn(usize, usize) -> bool,
) -> Vec<(usize, usize)> {
    let mut firsts: HashTable<u32> = HashTable::with_capacity(hashes.len());
    let mut found = Vec::new();
    for (row, &hash) in hashes.iter().enumerate().filter(|(row, _)| goes(*row)) {
        let same_key = |first: &u32| {
            let first = *first as usize;
            hashes[first] == hash && equal(first, row)
        };
        match firsts.entry(hash, same_key, |first| hashes[*first as usize]) {
            Entry::Occupied(first) => found.push((row, *first.get() as usize)),
            Entry::Vacant(free) => drop(free.insert(row as u32)),
        }
    }
    found
}

/// Columns outside the key and the measurements in which copies of a key differ: they tell why it repeats.
fn differing_columns(rows: &RowContext<'_>, groups: &[KeyCopies]) -> Vec<String> {
    let spec = rows.at.spec;
    let is_measure = |c: &ColumnSpec| matches!(c.kind, ColumnKind::Measure(_));
    rows.table
        .columns()
        .filter(|(name, _)| !spec.column(name).is_some_and(is_measure))
        .filter(|(_, column)| {
            let differs = |g: &KeyCopies| g.rows.iter().any(|r| !column.equal(*r, g.rows[0]));
            groups.iter().take(1000).any(differs)
        })
        .map(|(name, _)| name.to_owned())
        .collect()
}

fn example(
    group: &KeyCopies,
    keys: &Keys<'_>,
    latency: &[(&str, Vals<f64>)],
    serves: Serves,
) -> Example {
    let (served, dropped) = match serves {
        Serves::Last => group.rows.split_last().map_or((0, &[][..]), |(l, rest)| (*l, rest)),
        Serves::First | Serves::Error => {
            group.rows.split_first().map_or((0, &[][..]), |(f, rest)| (*f, rest))
        }
    };
    let mut values: Vec<(String, Value)> = Vec::new();
    for (name, numbers) in latency {
        let suffix = if latency.len() == 1 { String::new() } else { format!("{name}_") };
        values.push((format!("{suffix}served_ms"), number_json(numbers.get(served))));
        let dropped: Vec<Value> =
            dropped.iter().take(8).map(|r| number_json(numbers.get(*r))).collect();
        values.push((format!("{suffix}dropped_ms"), dropped.into()));
    }
    let rows: Vec<usize> = dropped.iter().take(8).copied().collect();
    values.push(("dropped_rows".into(), rows.into()));
    Example { row: served as u64, key: keys.show(served), values }
}

#[cfg(test)]
mod tests {
    use super::{of_half, repeats};
    use crate::findings::{Half, Reads, RowChange};

    #[test]
    fn equal_hashes_of_unequal_keys_are_no_repeats() {
        let keys = [1, 2, 1, 2, 3];
        let found = repeats(&[7; 5], |_| true, |a, b| keys[a] == keys[b]);
        assert_eq!(found, [(2, 0), (3, 1)]);
    }

    #[test]
    fn rows_that_are_brought_repeat_those_that_were_there() {
        let groups = [vec![0, 4], vec![1, 2, 3], vec![5, 6]].into();
        // Row 0 comes before what it repeats; 5 and 6 repeat only each other.
        let marks = [true, false, false, true, false, true, true];
        let change = RowChange::Rows(marks.into());
        let told: Vec<_> = Half::both(change.seen_by("r", &Reads::All))
            .map(|half| of_half(&groups, &half))
            .collect();
        assert_eq!(told[0], (vec![vec![0, 4], vec![1, 2, 3], vec![5, 6]], [0, 3, 6].into()));
        assert_eq!(told[1], (vec![vec![1, 2]], [2].into()));
        let all = Half::both(RowChange::Unknown.seen_by("r", &Reads::All)).next().unwrap();
        assert_eq!(of_half(&groups, &all).1.len(), 4);
    }

    #[test]
    fn rows_that_are_not_loaded_do_not_count() {
        let found = repeats(&[7; 3], |i| i != 0, |_, _| true);
        assert_eq!(found, [(2, 1)]);
    }
}
