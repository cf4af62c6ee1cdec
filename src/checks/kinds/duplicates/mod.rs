//! The loader's key, more than once in a table.

mod cause;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use self::cause::{KeyCopies, LOOKED_AT, RepeatCause, range, whole_rows};
use crate::base::expr::{ExprError, Vals};
use crate::base::words::{Figure, count, plural, plural_verb};
use crate::checks::{Judge, Judged, RowContext};
use crate::database::served::rows::{KeyRows, copies};
use crate::database::table::{Keys, OTHER_ROWS, number_json};
use crate::findings::{EXAMPLES, Example, Finding, Hit, Hits, Severity};
use crate::specs::{ColumnKind, ColumnSpec, NoiseBands, Serves};

pub(crate) use self::cause::CopySpread;

/// The limits for copies of a key that contradict each other.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Conflict {
    /// Copies contradict each other if the slowest takes longer than the fastest by more than this share.
    spread: f64,
    /// Copies contradict each other only if the slowest takes at least this many ms. Differences between faster copies
    /// come from the timer's resolution.
    floor_ms: f64,
    /// At least this many keys with contradicting copies make the finding an error instead of a warning.
    keys: usize,
    /// Some keys are repeated by design, because sweeps overlap. If at most this share of these keys has contradicting
    /// copies, the contradictions are ignored.
    coexist: f64,
}

/// The relative tolerance when the ratio of two copies of a key is compared with a limit. Latencies are multiples of
/// the timer's step, so that this ratio is often exactly the limit.
const ROUNDING: f64 = 1e-9;

impl Judge for Conflict {
    fn judges_unknown_tables(&self) -> bool {
        true
    }

    /// Reports rows that have the key of an earlier row.
    fn table<'v>(&'v self, rows: &'v RowContext<'v>) -> Judged<'v> {
        let spec = rows.spec;
        let scope = rows.scope();
        if spec.inferred {
            return whole_rows(rows);
        }
        if rows.has_distinct_keys() {
            return Ok(Hits::new());
        }
        // If the loader distinguishes kernels, the kernel is a part of the key here.
        let Some(keys) = rows.keys() else { return Ok(Hits::new()) };
        let row_key = spec.lanes.is_some().then(|| spec.row_key());
        let groups = match &row_key {
            None => copies(scope, keys)?,
            Some(row_key) => copies(scope, &Keys::new(row_key, scope)?)?,
        };
        if groups.is_empty() {
            return Ok(Hits::new());
        }
        let latency = spec
            .latency
            .iter()
            .map(|l| Ok((l.name.as_str(), l.value.numbers(scope)?)))
            .collect::<Result<Vec<_>, ExprError>>()?;
        let bands = rows.specs.noise.bands(&rows.file.table, &rows.file.place.backend);
        let hit = Hit::copies(rows.file, groups, rows.rule.severity, move |part| {
            let group = |copies: &KeyRows| self.group(rows, copies.clone(), &latency, &bands);
            let groups = part.copies.iter().map(group).collect();
            let apart = row_key.as_ref().map(|row_key| Keys::new(row_key, scope)).transpose();
            let keys = apart.as_ref().ok()?.as_ref().unwrap_or(keys);
            Some(self.finding(rows, keys, &latency, groups, part.rows.len()))
        });
        Ok(vec![hit])
    }
}

impl Conflict {
    fn group(
        &self,
        rows: &RowContext<'_>,
        copies: KeyRows,
        latency: &[(&str, Vals<f64>)],
        noise: &NoiseBands<'_>,
    ) -> KeyCopies {
        let tail = |latency| noise.at(latency).map_or(1.0, |band| band.p99);
        let latencies: Vec<&Vals<f64>> = latency.iter().map(|(_, values)| values).collect();
        let CopySpread { ratio, beyond_noise } = CopySpread::of(&copies, &latencies, tail);
        let conflict = latencies.iter().any(|values| self.is_conflict(&copies, values));
        let by_design = coexist(rows, &copies);
        KeyCopies { rows: copies, spread: ratio, conflict, beyond_noise, by_design }
    }

    /// Returns the severity of a finding on repeated keys. Keys that overlapping sweeps repeat by design are only an
    /// info, unless many of their copies contradict each other.
    fn severity(
        &self,
        rows: &RowContext<'_>,
        groups: &[KeyCopies],
        cause: &RepeatCause,
    ) -> Severity {
        let spec = rows.spec;
        let warning = rows.rule.severity.at_most(Severity::Warning);
        if matches!(cause, RepeatCause::UnknownColumn(_)) {
            return warning;
        }
        if spec.serves == Serves::Error {
            return rows.rule.severity;
        }
        let (designed, others): (Vec<_>, Vec<_>) = groups.iter().partition(|g| g.by_design);
        let matter = |groups: &[&KeyCopies]| groups.iter().filter(|g| g.matters()).count();
        let meeting = matter(&designed);
        let contradict = meeting as f64 > self.coexist * designed.len() as f64;
        let conflicts = matter(&others) + if contradict { meeting } else { 0 };
        if others.is_empty() && !contradict {
            Severity::Info
        } else if conflicts >= self.keys {
            rows.rule.severity
        } else {
            warning
        }
    }

    fn is_conflict(&self, copies: &[usize], values: &Vals<f64>) -> bool {
        let (least, most) = range(copies, values);
        // A copy with zero and one with a time contradict each other, although they have no ratio.
        let differ = least <= 0.0
            || most.is_finite() && most / least > (1.0 + self.spread) * (1.0 + ROUNDING);
        differ && most >= self.floor_ms
    }

    fn finding(
        &self,
        rows: &RowContext<'_>,
        keys: &Keys<'_>,
        latency: &[(&str, Vals<f64>)],
        mut groups: Vec<KeyCopies>,
        repeated: usize,
    ) -> Finding {
        let spec = rows.spec;
        let conflicts = groups.iter().filter(|g| g.conflict).count();
        let median = worst_first(&mut groups);
        let worst = groups.first().map_or(1.0, |g| g.spread);
        let differs = differing_columns(rows, &groups);

        let cause = RepeatCause::of(rows, &groups, &differs);
        let severity = self.severity(rows, &groups, &cause);
        let served = match spec.serves {
            Serves::First => "the loader uses the first and drops the others",
            Serves::Last => "the loader uses the last and drops the others",
            Serves::Error => "the loader refuses the table",
        };
        let verb = if repeated == 1 { "repeats" } else { "repeat" };
        let repeats = plural(repeated, "row");
        let mut message = format!("{repeats} {verb} the key of an earlier row; {served}");
        if conflicts > 0 {
            message += &format!(
                "; {} copies that differ by more than {} % (up to {:.2}×)",
                plural_verb(conflicts, "key", ["has", "have"]),
                self.spread * 100.0,
                Figure(worst)
            );
            let reruns = groups.iter().filter(|g| g.conflict && !g.beyond_noise).count();
            if reruns > 0 {
                message += &format!(", {} of them within rerun noise", count(reruns));
            }
        }
        message += &cause.say(&differs, &rows.specs.shipped.not_known());
        let examples =
            groups.iter().take(EXAMPLES).map(|g| example(g, keys, latency, spec.serves)).collect();
        let finding = rows.finding_as(severity, message);
        let finding = if let RepeatCause::UnknownColumn(column) = &cause {
            finding.unknown(&format!("the column {column}"))
        } else {
            finding
        };
        finding
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
            .evidence("cause", cause.into_str())
    }
}

/// Returns true if a key is repeated by design: every two copies differ in at least one of the columns that the spec
/// lists under `coexist`.
fn coexist(rows: &RowContext<'_>, copies: &[usize]) -> bool {
    let columns = || rows.spec.coexist.iter().filter_map(|c| rows.column(c));
    let differ = |a: usize, b: usize| columns().any(|c| !c.equal(a, b));
    copies.iter().enumerate().all(|(i, a)| copies[..i].iter().all(|b| differ(*a, *b)))
}

/// Sorts keys by how much the latencies of their copies differ, the largest difference first. Only the first
/// [`LOOKED_AT`] keys are sorted. Returns the median, over all keys, of the slowest copy's latency divided by the
/// fastest copy's latency; 1 if there are no keys.
fn worst_first(groups: &mut [KeyCopies]) -> f64 {
    let order = |a: &KeyCopies, b: &KeyCopies| {
        b.spread.total_cmp(&a.spread).then_with(|| a.rows.cmp(&b.rows))
    };
    if groups.is_empty() {
        return 1.0;
    }
    let median = groups.select_nth_unstable_by(groups.len() / 2, order).1.spread;
    if groups.len() > LOOKED_AT {
        groups.select_nth_unstable_by(LOOKED_AT, order);
    }
    let first = groups.len().min(LOOKED_AT);
    groups[..first].sort_unstable_by(order);
    median
}

/// The columns in which copies of a key differ. Measurements and columns of the key are left out.
fn differing_columns(rows: &RowContext<'_>, groups: &[KeyCopies]) -> Vec<String> {
    let spec = rows.spec;
    let is_measure = |c: &ColumnSpec| matches!(c.kind, ColumnKind::Measure(_));
    rows.whole()
        .columns()
        .filter(|(name, _)| !spec.column(name).is_some_and(is_measure))
        .filter(|(_, column)| {
            let differs = |g: &KeyCopies| g.rows.iter().any(|r| !column.equal(*r, g.rows[0]));
            groups.iter().take(LOOKED_AT).any(differs)
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
    values.push((OTHER_ROWS.into(), rows.into()));
    Example { row: served as u64, line: None, key: keys.show(served), values }
}

#[cfg(test)]
mod tests {
    use std::cmp::Reverse;

    use super::{KeyCopies, KeyRows, LOOKED_AT, worst_first};
    use crate::base::random::Random;

    /// Synthetic: groups of any spread, many of one spread.
    #[test]
    fn the_groups_of_copies_with_the_largest_spread_are_listed_first() {
        let mut random = Random::new(4);
        for count in [0, 1, 2, LOOKED_AT, 3 * LOOKED_AT] {
            let group = |row: usize| KeyCopies {
                rows: KeyRows::from_slice(&[row, count + row]),
                spread: random.below(40) as f64,
                conflict: false,
                beyond_noise: false,
                by_design: false,
            };
            let mut groups: Vec<KeyCopies> = (0..count).map(group).collect();
            let seen = |group: &KeyCopies| (Reverse(group.spread as usize), group.rows[0]);
            let mut expected: Vec<_> = groups.iter().map(seen).collect();
            expected.sort_unstable();
            let median = worst_first(&mut groups);
            assert_eq!(median, expected.get(count / 2).map_or(1.0, |(spread, _)| spread.0 as f64));
            let looked_at = count.min(LOOKED_AT);
            assert!(
                groups.iter().map(seen).take(looked_at).eq(expected[..looked_at].iter().copied())
            );
        }
    }
}
