//! Points on the line between their neighbours: interpolated, not measured.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use schemars::JsonSchema;
use serde::Deserialize;

use super::digits::{Digits, rounding};
use super::drawn::distance;
use super::sign::Sign;
use crate::base::words::names;
use crate::checks::context::RowContext;
use crate::checks::series::{Axis, Sweep};
use crate::database::table::Keys;

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
        let sweep = Sweep::new(keys, rows.table, rows.at.spec);
        // A stretch of the file may be drawn, or one size of all that a sweep goes through.
        let mut groups: BTreeMap<(&str, LineGroup), Vec<LineVerdict>> = BTreeMap::new();
        for (number, window) in self.windows(values.len()).enumerate() {
            let window = window.start as u32..window.end as u32;
            for (name, axis) in axes(&sweep, &window) {
                let measured = window.clone().filter(|row| values[*row as usize] > 0.0);
                let series = sweep.along(axis, measured);
                let judged = series
                    .iter()
                    .flat_map(|(rows, sizes)| self.judged(rows, sizes, values, digits));
                for judged in judged {
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

    /// Returns the points of a series that can be decided, and whether they are on the line between their neighbours.
    fn judged(
        &self,
        rows: &[u32],
        sizes: &[f64],
        values: &[f64],
        digits: Digits,
    ) -> Vec<LineVerdict> {
        let mut judged = Vec::new();
        for (rows, sizes) in rows.array_windows().zip(sizes.array_windows()) {
            let ([_, row, _], [_, size, _]) = (*rows, *sizes);
            let y @ [y0, y1, y2] = rows.map(|row| values[row as usize]);
            let limit = self.rounding * y1;
            // The table's own rounding may be too coarse. Another sign reports flat stretches.
            if y0 == y2 || digits.cut() > limit {
                continue;
            }
            // Both lines run between their ends.
            let on_line = (y1 - y0) * (y2 - y1) > 0.0
                && rounding(y1) <= limit
                && distance(y, *sizes) <= rounding(y1);
            judged.push(LineVerdict { row: row as usize, size: size.to_bits(), on_line });
        }
        judged
    }
}

/// Points that are judged together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum LineGroup {
    /// The points of a window, by its number.
    Window(usize),
    /// The points of one size, by its bits.
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

/// Returns the axes that a window is examined along: all if it is the whole table, else the one that changes most from
/// row to row, because a window has the longest series along it.
fn axes<'s, 'k>(
    sweep: &'s Sweep<'k>,
    window: &Range<u32>,
) -> impl Iterator<Item = &'s (&'k str, Axis<'k>)> {
    let changes = |(_, axis): &&(&str, Axis<'_>)| {
        let pairs = window.clone().zip(window.clone().skip(1));
        pairs.filter(|(row, next)| axis.size(*row).rank != axis.size(*next).rank).count()
    };
    let is_whole = window.len() == sweep.hashes.len();
    let most = sweep.axes.iter().rev().filter(|_| !is_whole).max_by_key(changes);
    sweep.axes.iter().filter(move |(name, _)| most.is_none_or(|(most, _)| name == most))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_point_on_its_line_is_told_by_its_digits() {
        let line = LineSign { windows: 1, rows: 10, points: 1, share: 1.0, rounding: 1e-4 };
        let on_line = |values: [f64; 3], x: [f64; 3]| {
            let judged = line.judged(&[0, 1, 2], &x, &values, Digits::All);
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
