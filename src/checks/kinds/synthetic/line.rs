//! Points on the line between their neighbours: interpolated, not measured.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use schemars::JsonSchema;
use serde::Deserialize;

use super::digits::{Digits, rounding};
use super::sign::Sign;
use crate::base::words::names;
use crate::checks::context::RowContext;
use crate::database::table::{Column, Keys, mix};

/// How many points lie on the line between their neighbours along a sweep.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Line")]
pub(super) struct LineSign {
    /// Parts of the file that are looked at, from its first row to its last.
    windows: usize,
    /// Rows of each.
    rows: usize,
    /// Least number of points on the line in a window, or at one size in all windows.
    points: usize,
    /// Their least share of those points that can be decided.
    share: f64,
    /// The coarsest rounding, over the value, at which a point on the line is not an accident.
    rounding: f64,
}

fn words(rows: usize, looked_at: usize, along: &str) -> String {
    format!(
        "{rows} of {looked_at} examined points are exactly on the line between their neighbours along {along}"
    )
}

impl LineSign {
    /// The points on the line, if they are more than chance puts there.
    pub(super) fn check(
        &self,
        rows: &RowContext<'_>,
        keys: &Keys<'_>,
        values: &[f64],
        digits: Digits,
    ) -> Option<Sign> {
        let sweep = Sweep::of(rows, keys, values);
        // A stretch of the file may be drawn, or one size of all that a sweep goes through.
        let mut groups: BTreeMap<(&str, LineGroup), Vec<LineVerdict>> = BTreeMap::new();
        for (number, window) in self.windows(values.len()).enumerate() {
            for (part, name) in sweep.axes(&window) {
                for judged in self.judged(&sweep.points(part, &window), values, digits) {
                    groups.entry((name, LineGroup::Window(number))).or_default().push(judged);
                    groups.entry((name, LineGroup::Size(judged.size))).or_default().push(judged);
                }
            }
        }
        groups.retain(|_, judged| {
            let on = judged.iter().filter(|t| t.on_line).count();
            on >= self.points && on as f64 >= self.share * judged.len() as f64
        });
        let columns: BTreeSet<&str> = groups.keys().map(|(name, _)| *name).collect();
        let judged: BTreeSet<LineVerdict> = groups.into_values().flatten().collect();
        let on: BTreeSet<usize> = judged.iter().filter(|t| t.on_line).map(|t| t.row).collect();
        let looked_at = judged.iter().map(|t| t.row).collect::<BTreeSet<_>>().len();
        let along = names(columns.into_iter());
        let say = move |rows: &[usize]| words(rows.len(), looked_at, &along);
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

    /// The points that can be decided, and whether they are on the line between their neighbours.
    fn judged(&self, points: &[LinePoint], values: &[f64], digits: Digits) -> Vec<LineVerdict> {
        // What the table's own rounding leaves open cannot be told.
        let coarse = digits.cut();
        let mut judged = Vec::new();
        for three in points.windows(3) {
            let [a, b, c] = three else { continue };
            let [y0, y1, y2] = [a, b, c].map(|p| values[p.row as usize]);
            let one_series = a.series == c.series && a.x < b.x && b.x < c.x;
            // Flat stretches are the repeated values' to tell.
            if !one_series || y0 == y2 || coarse > self.rounding * y1 {
                continue;
            }
            let point = |on_line| LineVerdict { row: b.row as usize, size: b.x, on_line };
            // Either line runs between its ends.
            if (y1 - y0) * (y2 - y1) <= 0.0 {
                judged.push(point(false));
                continue;
            }
            let [x0, x1, x2] = [a, b, c].map(|p| f64::from_bits(p.x));
            let straight = y0 + (y2 - y0) * (x1 - x0) / (x2 - x0);
            let power = y0 * ((y2 / y0).ln() * (x1 / x0).ln() / (x2 / x0).ln()).exp();
            let near = (y1 - straight).abs().min((y1 - power).abs());
            let limit = self.rounding * y1;
            let on_line = near <= limit && rounding(y1) <= limit && near <= rounding(y1);
            judged.push(point(on_line));
        }
        judged
    }
}

/// Points that are judged together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum LineGroup {
    /// Those of a window, by its number.
    Window(usize),
    /// Those at one place of the axis, by the bits of its coordinate.
    Size(u64),
}

/// A point that may lie on the line between its neighbours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct LineVerdict {
    row: usize,
    /// Bits of its coordinate.
    size: u64,
    on_line: bool,
}

/// A point of a sweep; their order is that of series, and along the axis within one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct LinePoint {
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
            Some(x) => {
                let pairs = window.clone().zip(window.clone().skip(1));
                pairs.filter(|(row, next)| x.get(*row) != x.get(*next)).count()
            }
            None => 0,
        };
        self.axes.iter().rev().max_by_key(|axis| changes(axis)).copied().into_iter().collect()
    }

    /// The points of a window that are measured, series by series along a part of the key.
    fn points(&self, part: usize, window: &Range<usize>) -> Vec<LinePoint> {
        let Some(axis) = self.keys.numbers(part) else { return Vec::new() };
        let series = |row: usize| {
            let key = self.keys.without(&[part], row);
            self.also.iter().fold(key, |hash, codes| mix(hash, u64::from(codes[row])))
        };
        let measured = |row: &usize| axis.get(*row) >= 0.0 && self.values[*row] > 0.0;
        let point =
            |row| LinePoint { series: series(row), x: axis.get(row).to_bits(), row: row as u32 };
        let mut points: Vec<LinePoint> = window.clone().filter(measured).map(point).collect();
        points.sort_unstable();
        points
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_point_on_its_line_is_told_by_its_digits() {
        let line = LineSign { windows: 1, rows: 10, points: 1, share: 1.0, rounding: 1e-4 };
        let on_line = |values: [f64; 3], x: [f64; 3]| {
            let point = |row: usize| LinePoint { series: 1, x: x[row].to_bits(), row: row as u32 };
            let judged = line.judged(&[0, 1, 2].map(point), &values, Digits::All);
            judged.first().map(|t| (t.row, t.on_line))
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
        let line = LineSign { windows: 3, rows: 10, points: 1, share: 1.0, rounding: 1e-4 };
        let parts = |rows| line.windows(rows).map(|w| (w.start, w.end)).collect::<Vec<_>>();
        assert_eq!(parts(30), [(0, 30)]);
        assert_eq!(parts(50), [(0, 10), (20, 30), (40, 50)]);
        assert_eq!(parts(0), [(0, 0)]);
    }
}
