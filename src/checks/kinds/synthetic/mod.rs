//! Rows that no machine measured: on the line between their neighbours, one value over and over,
//! typed with fewer digits than the rest.

mod digits;
mod drawn;
mod jittered;
mod line;
mod sign;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use schemars::JsonSchema;
use serde::Deserialize;

use self::digits::{Digits, is_whole, usual_digits};
use self::drawn::{DrawnSign, Latencies};
use self::jittered::JitteredSign;
use self::line::LineSign;
use self::sign::Sign;
use crate::base::expr::ExprError;
use crate::base::words::plural;
use crate::checks::context::RowContext;
use crate::checks::judge::{Judge, Judged};
use crate::database::table::{Keys, RowLines};
use crate::findings::{EXAMPLES, Hit, Hits, Reads};
use crate::specs::{Doubt, TableSpec};

/// What gives made-up rows away.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Signs {
    /// Rows one after the other, of different keys, that honest files never hold of one value.
    repeated: usize,
    /// Rows one after the other that honest files never hold with fewer digits than the others.
    rounded: usize,
    /// Decimals that such rows lack.
    decimals: i32,
    /// Points between their neighbours, in parts of the file.
    line: LineSign,
    /// Points between their neighbours, in whole series.
    drawn: DrawnSign,
    /// Points near the line between their neighbours, every second one of a series.
    jittered: JitteredSign,
}

/// Numbers of three digits are below it, by their last digit.
const MOST_DIGITS: f64 = 999.5;

/// Decimals that typed numbers have at most, where the measured ones have them all.
const NANOSECONDS: i32 = 6;

impl Judge for Signs {
    fn reads(&self, spec: &TableSpec) -> Reads {
        Reads::loaded(spec)
    }

    fn table<'v>(&'v self, rows: &'v RowContext<'v>) -> Judged<'v> {
        let mut hits: Hits<'v> = self.hit(rows).into_iter().collect();
        for doubt in &rows.at.spec.doubts {
            hits.extend(doubted(rows, doubt)?);
        }
        Ok(hits)
    }
}

/// Rows that their own columns say are not what they seem.
fn doubted<'v>(rows: &'v RowContext<'v>, doubt: &'v Doubt) -> Result<Option<Hit<'v>>, ExprError> {
    let scope = rows.scope;
    let mask = doubt.rows.mask(scope)?;
    let all: Vec<usize> = (0..rows.table.rows).filter(|row| mask.get(*row)).collect();
    Ok(Hit::rows(rows.at.file, all, rows.rule.severity, move |part| {
        let own = part.rows;
        let columns = doubt.rows.columns();
        let examples = rows.examples(part.shown(), &columns);
        let message = format!("{} {}", plural(own.len(), "row"), doubt.says);
        Some(rows.finding(message).rows(own.len()).examples(examples))
    }))
}

impl Signs {
    /// The rows of all signs, for one finding.
    fn hit<'v>(&'v self, rows: &'v RowContext<'v>) -> Option<Hit<'v>> {
        let ((name, values), keys) = rows.measured().zip(rows.at.keys)?;
        let digits = usual_digits(values);
        let mut signs: Vec<Sign> = Vec::new();
        let lines = &rows.table.lines;
        signs.extend(self.repeated(values, keys, lines));
        signs.extend(self.rounded(values, digits, lines));
        signs.extend(self.between_neighbours(rows, keys, values, digits));
        let all: Vec<usize> = signs.iter().flat_map(|s| s.rows.iter().copied()).collect();
        Hit::rows(rows.at.file, all, rows.rule.severity, move |part| {
            let signs: Vec<(String, Vec<usize>)> =
                signs.iter().filter_map(|sign| sign.within(part)).collect();
            let said: Vec<&str> = signs.iter().map(|(say, _)| say.as_str()).collect();
            // A few rows of every sign.
            let each = EXAMPLES.div_ceil(signs.len());
            let mut shown: Vec<usize> =
                signs.iter().flat_map(|(_, rows)| rows.iter().copied().take(each)).collect();
            shown.truncate(EXAMPLES);
            let examples = rows.examples(&shown, &[name, "kernel_source"]);
            let finding = rows.finding(said.join("; ")).rows(part.rows.len());
            Some(finding.examples(examples))
        })
    }

    /// Points on the line between their neighbours, or near it: the sign that says most.
    fn between_neighbours(
        &self,
        rows: &RowContext<'_>,
        keys: &Keys<'_>,
        values: &[f64],
        digits: Digits,
    ) -> Option<Sign> {
        let series = rows.series();
        let drawn = self.drawn.check(series, &Latencies::new(values, digits));
        let line = || self.line.check(rows, keys, values, digits);
        drawn.or_else(line).or_else(|| self.jittered.check(series, values))
    }

    /// Runs of one value at different keys.
    fn repeated(&self, values: &[f64], keys: &Keys<'_>, lines: &RowLines) -> Option<Sign> {
        let same = |a: usize, b: usize| values[a] == values[b] && values[a] > 0.0;
        let mut found = runs(values.len(), self.repeated, same);
        // A row that is there again is duplicate-key's to tell.
        let different = |run: &Range<usize>| {
            let keys: BTreeSet<u64> = keys.hashes()[run.clone()].iter().copied().collect();
            keys.len()
        };
        found.retain(|run| different(run) >= self.repeated);
        // Two runs may touch, so the longest is told of what repeats its own value.
        let value: BTreeMap<usize, f64> =
            found.iter().flat_map(|run| run.clone().map(|row| (row, values[row]))).collect();
        let rows: Vec<usize> = found.into_iter().flatten().collect();
        let lines = lines.clone();
        let say = move |rows: &[usize]| repeated_words(rows, &value, &lines);
        (!rows.is_empty()).then(|| Sign { say: Box::new(say), rows })
    }

    /// Runs of values with fewer digits than the table's others.
    fn rounded(&self, values: &[f64], digits: Digits, lines: &RowLines) -> Option<Sign> {
        let least = match digits {
            Digits::Decimals(decimals) => decimals - self.decimals,
            Digits::All => NANOSECONDS,
        };
        if least < 0 {
            return None;
        }
        let scale = 10f64.powi(least);
        let round = |row: usize| {
            let value = values[row];
            value > 0.0 && is_whole(value * scale) && is_typed(value, digits)
        };
        let found = runs(values.len(), self.rounded, |a, b| round(a) && round(b));
        let rows: Vec<usize> = found.into_iter().flatten().collect();
        let others = match digits {
            Digits::Decimals(d) => d.to_string(),
            Digits::All => "all".to_owned(),
        };
        let lines = lines.clone();
        let say = move |rows: &[usize]| rounded_words(rows, least, &others, &lines);
        (!rows.is_empty()).then(|| Sign { say: Box::new(say), rows })
    }
}

fn repeated_words(rows: &[usize], value: &BTreeMap<usize, f64>, lines: &RowLines) -> String {
    let runs = rows.chunk_by(|a, b| b - a == 1 && value[a] == value[b]);
    let longest = runs.max_by_key(|r| (r.len(), Reverse(r[0]))).unwrap_or(&[0]);
    format!(
        "{} at different keys repeat one value, up to {} rows in succession ({} from {})",
        plural(rows.len(), "row"),
        longest.len(),
        value.get(&longest[0]).copied().unwrap_or(f64::NAN),
        lines.place(longest[0])
    )
}

fn rounded_words(rows: &[usize], least: i32, others: &str, lines: &RowLines) -> String {
    let longest = longest(rows);
    format!(
        "{} have at most {least} decimals where the others have {others}, up to {} rows in succession (from {})",
        plural(rows.len(), "row"),
        longest.len(),
        lines.place(longest.start)
    )
}

/// Returns true if few decimals are not what a writer leaves of large values: some give every value that many
/// digits.
fn is_typed(value: f64, digits: Digits) -> bool {
    match (digits, digits::digits(value)) {
        (Digits::Decimals(_), Digits::Decimals(d)) => value * 10f64.powi(d) < MOST_DIGITS,
        _ => true,
    }
}

/// The longest stretch of rows one after the other, of rows in their order.
fn longest(rows: &[usize]) -> Range<usize> {
    let runs = rows.chunk_by(|a, b| b - a == 1).map(|run| run[0]..run[run.len() - 1] + 1);
    runs.max_by_key(|run| (run.len(), Reverse(run.start))).unwrap_or(0..0)
}

/// Stretches of `least` rows and more that belong together, by `alike` of two of its rows.
fn runs(rows: usize, least: usize, alike: impl Fn(usize, usize) -> bool) -> Vec<Range<usize>> {
    // A long stretch holds two rows of every `step`-th, so most rows need no look.
    let step = (least / 2).max(1);
    let mut found: Vec<Range<usize>> = Vec::new();
    let mut row = 0;
    while row + step < rows {
        if !alike(row, row + step) {
            row += step;
            continue;
        }
        let first = found.last().map_or(0, |run| run.end);
        let start = (first..row).rev().take_while(|r| alike(*r, row)).last().unwrap_or(row);
        let end = (row + 1..rows).find(|r| !alike(*r, row)).unwrap_or(rows);
        if end - start >= least {
            found.push(start..end);
        }
        row = end.next_multiple_of(step).max(row + step);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_found_whole_wherever_they_start() {
        for start in 0..20 {
            for len in [15, 16, 17, 40] {
                let is_in = |r: usize| (start..start + len).contains(&r);
                let found = runs(100, 16, |a, b| is_in(a) && is_in(b));
                let want: Vec<Range<usize>> =
                    (len >= 16).then_some(start..start + len).into_iter().collect();
                assert_eq!(found, want, "{len} rows from {start}");
            }
        }
        assert_eq!(runs(40, 16, |a, b| (a < 20) == (b < 20)), [0..20, 20..40]);
        assert!(runs(0, 16, |_, _| true).is_empty());
    }
}
