//! Rows that no machine measured: on the line between their neighbours, one value over and over,
//! typed with fewer digits than the rest.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use schemars::JsonSchema;
use serde::Deserialize;

use super::{RowContext, plural};
use crate::expr::Vals;
use crate::finding::{EXAMPLES, Finding, Half};
use crate::table::{Column, Keys};

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
    /// Points between their neighbours.
    line: Line,
}

/// How many points lie on the line between their neighbours along a sweep.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Line {
    /// Parts of the file that are looked at, from its first row to its last.
    windows: usize,
    /// Rows of each.
    rows: usize,
    /// Least number of points on the line in a window, or at one size in all windows.
    points: usize,
    /// Their least share of those points of which it can be told.
    share: f64,
    /// The coarsest rounding, over the value, at which a point on the line is no accident.
    rounding: f64,
}

/// Says what some rows of a sign show.
type Say = Box<dyn Fn(&[usize]) -> String>;

/// A sign, with the rows that show it.
struct Sign {
    say: Say,
    rows: Vec<usize>,
}

/// The longest stretch of rows one after the other, of rows in their order.
fn longest(rows: &[usize]) -> Range<usize> {
    let runs = rows.chunk_by(|a, b| b - a == 1).map(|run| run[0]..run[run.len() - 1] + 1);
    runs.max_by_key(|run| (run.len(), std::cmp::Reverse(run.start))).unwrap_or(0..0)
}

/// Digits of a measured column.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Digits {
    /// So many decimals, as a writer rounds.
    Decimals(i32),
    /// As many as the number has, as arithmetic leaves them.
    All,
}

/// Most decimals that count as rounding.
const MOST_DECIMALS: i32 = 8;

/// Numbers of three digits are below it, by their last digit.
const MOST_DIGITS: f64 = 999.5;

/// Decimals that typed numbers have at most, where the measured ones have them all.
const NANOSECONDS: i32 = 6;

/// Rounding of the arithmetic by which a line is drawn, over the value.
const ARITHMETIC: f64 = 1e-9;

impl Signs {
    /// One finding for each half of the table, with all its signs.
    pub fn check(&self, rows: &RowContext<'_>) -> Vec<Finding> {
        let measured = rows.at.spec.measures().next().map(|(name, _)| name);
        let Some((name, keys)) = measured.zip(rows.at.keys) else { return Vec::new() };
        let Some(Column::Float { values, .. }) = rows.table.column(name) else {
            return Vec::new();
        };
        let digits = usual_digits(values);
        let mut signs: Vec<Sign> = Vec::new();
        signs.extend(self.repeated(values, keys));
        signs.extend(self.rounded(values, digits));
        signs.extend(self.line.check(rows, keys, values, digits));
        let all: BTreeSet<usize> = signs.iter().flat_map(|s| s.rows.iter().copied()).collect();
        let half = |half: Half<'_>| {
            let here = |sign: &Sign| {
                let rows = half.of(&sign.rows);
                (!rows.is_empty()).then(|| ((sign.say)(&rows), rows))
            };
            let signs: Vec<(String, Vec<usize>)> = signs.iter().filter_map(here).collect();
            let found: BTreeSet<usize> =
                signs.iter().flat_map(|(_, r)| r.iter().copied()).collect();
            let said: Vec<&str> = signs.iter().map(|(say, _)| say.as_str()).collect();
            // A few rows of every sign.
            let each = EXAMPLES.div_ceil(signs.len().max(1));
            let mut shown: Vec<usize> =
                signs.iter().flat_map(|(_, rows)| rows.iter().copied().take(each)).collect();
            shown.truncate(EXAMPLES);
            let examples = rows.examples(&shown, &[name, "kernel_source"]);
            let finding = rows.finding(said.join("; ")).rows(found.len()).examples(examples);
            (!found.is_empty()).then(|| finding.half(&half, all.len()))
        };
        rows.halves().filter_map(half).collect()
    }

    /// Runs of one value at different keys.
    fn repeated(&self, values: &[f64], keys: &Keys<'_>) -> Option<Sign> {
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
        let say = move |rows: &[usize]| {
            let same = |a: &usize, b: &usize| b - a == 1 && value[a] == value[b];
            let runs = rows.chunk_by(same);
            let longest = runs.max_by_key(|r| (r.len(), std::cmp::Reverse(r[0]))).unwrap_or(&[0]);
            format!(
                "{} at different keys repeat one value, up to {} in a row ({} from row {})",
                plural(rows.len(), "row"),
                longest.len(),
                value.get(&longest[0]).copied().unwrap_or(f64::NAN),
                longest[0]
            )
        };
        (!rows.is_empty()).then(|| Sign { say: Box::new(say), rows })
    }

    /// Runs of values with fewer digits than the table's others.
    fn rounded(&self, values: &[f64], digits: Digits) -> Option<Sign> {
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
            let typed = || match (digits, self::digits(value)) {
                // Some writers give every value so many digits, and few decimals to large ones.
                (Digits::Decimals(_), Digits::Decimals(d)) => value * 10f64.powi(d) < MOST_DIGITS,
                _ => true,
            };
            value > 0.0 && is_whole(value * scale) && typed()
        };
        let found = runs(values.len(), self.rounded, |a, b| round(a) && round(b));
        let rows: Vec<usize> = found.into_iter().flatten().collect();
        let others = match digits {
            Digits::Decimals(d) => d.to_string(),
            Digits::All => "all".to_owned(),
        };
        let say = move |rows: &[usize]| {
            let longest = longest(rows);
            format!(
                "{} have {least} decimals at most where the others have {others}, up to {} in a row (from row {})",
                plural(rows.len(), "row"),
                longest.len(),
                longest.start
            )
        };
        (!rows.is_empty()).then(|| Sign { say: Box::new(say), rows })
    }
}

impl Line {
    fn check(
        &self,
        rows: &RowContext<'_>,
        keys: &Keys<'_>,
        values: &[f64],
        digits: Digits,
    ) -> Option<Sign> {
        let sweep = Sweep::of(rows, keys, values);
        // A stretch of the file may be drawn, or one size of all that a sweep goes through.
        let mut groups: BTreeMap<(&str, Group), Vec<Told>> = BTreeMap::new();
        for (number, window) in self.windows(values.len()).enumerate() {
            for (part, name) in sweep.axes(&window) {
                for told in self.told(&sweep.points(part, &window), values, digits) {
                    groups.entry((name, Group::Window(number))).or_default().push(told);
                    groups.entry((name, Group::Size(told.size))).or_default().push(told);
                }
            }
        }
        groups.retain(|_, told| {
            let on = told.iter().filter(|t| t.on_line).count();
            on >= self.points && on as f64 >= self.share * told.len() as f64
        });
        let names: BTreeSet<&str> = groups.keys().map(|(name, _)| *name).collect();
        let told: BTreeSet<Told> = groups.into_values().flatten().collect();
        let on: BTreeSet<usize> = told.iter().filter(|t| t.on_line).map(|t| t.row).collect();
        let looked_at = told.iter().map(|t| t.row).collect::<BTreeSet<_>>().len();
        let along = super::names(names.into_iter());
        let say = move |rows: &[usize]| {
            format!(
                "{} of {looked_at} points looked at lie exactly on the line between their neighbours along {along}",
                rows.len()
            )
        };
        let rows: Vec<usize> = on.into_iter().collect();
        (!rows.is_empty()).then(|| Sign { say: Box::new(say), rows })
    }

    /// The parts of the file that are looked at: all of a small one.
    fn windows(&self, rows: usize) -> impl Iterator<Item = Range<usize>> {
        let (count, len) =
            if rows <= self.windows * self.rows { (1, rows) } else { (self.windows, self.rows) };
        (0..count).map(move |w| {
            let start = (rows - len) * w / (count - 1).max(1);
            start..start + len
        })
    }

    /// The points of which it can be told whether they lie on the line between their neighbours.
    fn told(&self, points: &[Point], values: &[f64], digits: Digits) -> Vec<Told> {
        // What the table's own rounding leaves open cannot be told.
        let coarse = match digits {
            Digits::Decimals(d) => 0.51 * 10f64.powi(-d),
            Digits::All => 0.0,
        };
        let mut told = Vec::new();
        for three in points.windows(3) {
            let [a, b, c] = three else { continue };
            let [y0, y1, y2] = [a, b, c].map(|p| values[p.row as usize]);
            let one_series = a.series == c.series && a.x < b.x && b.x < c.x;
            // Flat stretches are the repeated values' to tell.
            if !one_series || y0 == y2 || coarse > self.rounding * y1 {
                continue;
            }
            let point = |on_line| Told { row: b.row as usize, size: b.x, on_line };
            // Either line runs between its ends.
            if (y1 - y0) * (y2 - y1) <= 0.0 {
                told.push(point(false));
                continue;
            }
            let [x0, x1, x2] = [a, b, c].map(|p| f64::from_bits(p.x));
            let straight = y0 + (y2 - y0) * (x1 - x0) / (x2 - x0);
            let power = y0 * ((y2 / y0).ln() * (x1 / x0).ln() / (x2 / x0).ln()).exp();
            let near = (y1 - straight).abs().min((y1 - power).abs());
            let limit = self.rounding * y1;
            let on_line = near <= limit && rounding(y1) <= limit && near <= rounding(y1);
            told.push(point(on_line));
        }
        told
    }
}

/// Points that are judged together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Group {
    /// Those of a window, by its number.
    Window(usize),
    /// Those at one place of the axis, by the bits of its coordinate.
    Size(u64),
}

/// A point that may lie on the line between its neighbours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Told {
    row: usize,
    /// Bits of its coordinate.
    size: u64,
    on_line: bool,
}

/// A point of a sweep; their order is that of series, and along the axis within one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Point {
    /// A hash of what is alike in the series.
    series: u64,
    /// Bits of the coordinate, which is not negative, so they stand in its order.
    x: u64,
    row: u32,
}

/// Where a table's rows stand along its sweeps.
struct Sweep<'a> {
    keys: &'a Keys<'a>,
    values: &'a [f64],
    /// Parts of the key that a sweep goes along, with their names.
    axes: Vec<(usize, &'a str)>,
    /// Names that a series has in common beside its key.
    also: Vec<&'a [u32]>,
}

impl<'a> Sweep<'a> {
    fn of(rows: &RowContext<'a>, keys: &'a Keys<'a>, values: &'a [f64]) -> Self {
        let spec = rows.at.spec;
        let along = |column: &&str| spec.sweep.iter().any(|s| s == column);
        let parts = spec.key.iter().enumerate();
        let axes = parts.filter(|(_, p)| p.value.columns().iter().any(along));
        let codes = |name| match rows.table.column(name) {
            Some(Column::Text { codes, dict, .. }) if dict.len() > 1 => Some(&codes[..]),
            _ => None,
        };
        Self {
            keys,
            values,
            axes: axes.map(|(part, p)| (part, p.name.as_str())).collect(),
            also: ["kernel_source", "op_name"].into_iter().filter_map(codes).collect(),
        }
    }

    /// Axes to look along: all where the whole table is looked at, else the one that changes most
    /// from row to row, along which a window holds the longest series.
    fn axes(&self, window: &Range<usize>) -> Vec<(usize, &'a str)> {
        if window.len() == self.values.len() {
            return self.axes.clone();
        }
        let changes = |(part, _): &(usize, &str)| match self.keys.numbers(*part) {
            Some(Vals::Rows(x)) => x[window.clone()].windows(2).filter(|w| w[0] != w[1]).count(),
            _ => 0,
        };
        self.axes.iter().rev().max_by_key(|axis| changes(axis)).copied().into_iter().collect()
    }

    /// The points of a window that are measured, series by series along a part of the key.
    fn points(&self, part: usize, window: &Range<usize>) -> Vec<Point> {
        let Some(axis) = self.keys.numbers(part) else { return Vec::new() };
        let series = self.keys.without(part, &self.also, window.clone());
        let measured = |(row, _): &(usize, u64)| axis.get(*row) >= 0.0 && self.values[*row] > 0.0;
        let point = |(row, series)| Point { series, x: axis.get(row).to_bits(), row: row as u32 };
        let mut points: Vec<Point> =
            window.clone().zip(series).filter(measured).map(point).collect();
        points.sort_unstable();
        points
    }
}

/// How far rounding may have moved a value, by the digits that it has.
fn rounding(value: f64) -> f64 {
    match digits(value) {
        // A little over the half, for the binary form of a decimal number.
        Digits::Decimals(d) => 0.51 * 10f64.powi(-d),
        Digits::All => ARITHMETIC * value,
    }
}

fn digits(value: f64) -> Digits {
    let fits = |d: &i32| is_whole(value * 10f64.powi(*d));
    (0..=MOST_DECIMALS).find(fits).map_or(Digits::All, Digits::Decimals)
}

/// The digits that most of a table's values have, by a sample.
fn usual_digits(values: &[f64]) -> Digits {
    const SAMPLE: usize = 64;
    let step = values.len().div_ceil(SAMPLE).max(1);
    let positive = values.iter().step_by(step).filter(|v| **v > 0.0);
    let mut found: Vec<i32> = positive
        .map(|v| match digits(*v) {
            Digits::Decimals(d) => d,
            Digits::All => MOST_DECIMALS + 1,
        })
        .collect();
    found.sort_unstable();
    match found.get(found.len() / 2) {
        Some(d) if *d <= MOST_DECIMALS => Digits::Decimals(*d),
        _ => Digits::All,
    }
}

/// Whether a number is whole but for the binary form of its decimals.
fn is_whole(value: f64) -> bool {
    // Adding and taking this away rounds to the next whole number, many at a time.
    const ROUNDER: f64 = 6_755_399_441_055_744.0;
    (value - (value + ROUNDER - ROUNDER)).abs() <= 1e-12 * value.abs()
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

    #[test]
    fn digits_are_those_of_the_decimal_number() {
        assert_eq!(digits(0.0123), Digits::Decimals(4));
        assert_eq!(digits(1.0), Digits::Decimals(0));
        // As a sum leaves it.
        assert_eq!(digits(0.1 + 0.2), Digits::Decimals(1));
        assert_eq!(digits(0.1 / 3.0), Digits::All);
        let measured: Vec<f64> = (0..1000).map(|i| f64::from(i) / 7.0).collect();
        assert_eq!(usual_digits(&measured), Digits::All);
        assert_eq!(usual_digits(&[]), Digits::All);
    }

    #[test]
    fn a_point_on_its_line_is_told_by_its_digits() {
        let line = Line { windows: 1, rows: 10, points: 1, share: 1.0, rounding: 1e-4 };
        let on_line = |values: [f64; 3], x: [f64; 3]| {
            let point = |row: usize| Point { series: 1, x: x[row].to_bits(), row: row as u32 };
            let told = line.told(&[0, 1, 2].map(point), &values, Digits::All);
            told.first().map(|t| (t.row, t.on_line))
        };
        assert_eq!(on_line([1.00003, 2.00004, 3.00005], [1.0, 2.0, 3.0]), Some((1, true)));
        assert_eq!(on_line([1.00003, 2.00007, 3.00005], [1.0, 2.0, 3.0]), Some((1, false)));
        // Four times as long for twice the size: a power law.
        assert_eq!(on_line([0.00011, 0.00044, 0.00176], [1.0, 2.0, 4.0]), Some((1, false)));
        let drawn = [0.1 / 3.0, 0.4 / 3.0, 1.6 / 3.0];
        assert_eq!(on_line(drawn, [1.0, 2.0, 4.0]), Some((1, true)));
        assert_eq!(on_line([1.0, 2.0, 1.0], [1.0, 2.0, 3.0]), None, "flat");
    }

    #[test]
    fn windows_reach_from_the_first_row_to_the_last() {
        let line = Line { windows: 3, rows: 10, points: 1, share: 1.0, rounding: 1e-4 };
        let parts = |rows| line.windows(rows).map(|w| (w.start, w.end)).collect::<Vec<_>>();
        assert_eq!(parts(30), [(0, 30)]);
        assert_eq!(parts(50), [(0, 10), (20, 30), (40, 50)]);
        assert_eq!(parts(0), [(0, 0)]);
    }
}
