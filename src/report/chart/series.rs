//! A table's rows by series, and which few of these a chart shows. A comparison has one such set for
//! each state.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap};

use super::ChartPoint;
use super::spec::ChartSpec;
use crate::base::expr::{ExprError, Scope, Vals};
use crate::database::table::{Keys, TableScope};
use crate::specs::KeyPart;

/// Series in a chart: as many as there are colours that everybody tells apart.
pub(super) const SERIES: usize = 6;
/// Points that make a line.
pub(super) const POINTS: usize = 3;

/// A series that a chart may show.
struct SeriesCandidate<'a> {
    rows: &'a [usize],
    /// The median.
    latency: f64,
    /// Rows that findings show.
    marks: usize,
    /// Rows that changed.
    moves: usize,
    /// The first of the preferences that a row of it meets; their number where it meets none.
    preference: usize,
    /// Whether other rows of the table meet a later preference or none.
    is_preferred: bool,
}

/// A table's rows by series, with what is drawn of them.
pub(super) struct SeriesSet<'a> {
    x: Vec<f64>,
    /// What is fixed along a series.
    pub keys: Keys<'a>,
    /// What one chart shows one value of.
    pub panels: Keys<'a>,
    /// Rows by the hash of what is fixed, in file order.
    pub series: HashMap<u64, Vec<usize>>,
    /// In ms.
    pub latency: Vec<f64>,
    /// In ms; NaN where none is known.
    pub bound: Vec<f64>,
    pub rate: Vec<f64>,
    /// The first of the preferences that a row meets; their number where it meets none.
    preferred: Vec<usize>,
}

impl<'a> SeriesSet<'a> {
    /// A table's rows along the column `x`: a series is what is alike in the columns `fixed`, a slice in
    /// those of a `panel`.
    pub fn new(
        scope: &'a TableScope<'a>,
        x: &str,
        fixed: &'a [KeyPart],
        panel: &'a [KeyPart],
        chart: &ChartSpec,
    ) -> Result<Self, ExprError> {
        let rows = scope.rows();
        let keys = Keys::new(fixed, scope)?;
        let mut series: HashMap<u64, Vec<usize>> = HashMap::new();
        for (row, hash) in keys.hashes().iter().enumerate() {
            series.entry(*hash).or_default().push(row);
        }
        let latency = match scope.spec.latency.first() {
            Some(part) => all(&part.value.numbers(scope)?, rows),
            None => vec![f64::NAN; rows],
        };
        let mut bound = vec![f64::NAN; rows];
        for known in &scope.spec.bounds {
            let seconds = known.seconds.numbers(scope)?;
            // `max` passes over NaN, which is a bound that is not known.
            bound.iter_mut().enumerate().for_each(|(r, b)| *b = b.max(seconds.get(r) * 1e3));
        }
        let rate = match &chart.rate {
            Some(rate) => all(&rate.value.numbers(scope)?, rows),
            None => bound.iter().zip(&latency).map(|(bound, latency)| bound / latency).collect(),
        };
        let mut preferred = vec![chart.prefer.len(); rows];
        for (n, rule) in chart.prefer.iter().enumerate().rev() {
            let mask = rule.mask(scope)?;
            preferred
                .iter_mut()
                .enumerate()
                .filter(|(r, _)| mask.get(*r))
                .for_each(|(_, p)| *p = n);
        }
        let column = scope.table.column(x);
        Ok(Self {
            x: (0..rows).map(|r| column.map_or(f64::NAN, |c| c.number(r))).collect(),
            panels: Keys::new(panel, scope)?,
            keys,
            series,
            latency,
            bound,
            rate,
            preferred,
        })
    }

    /// The rows of the series to show, from fast to slow. All are of one slice: the one with most
    /// `marked` rows, then with most `moved` ones, then with most rows. Of that slice those series are
    /// candidates that have such rows, or all where none has.
    pub fn choose(&self, moved: &[usize], marked: &BTreeSet<usize>) -> Vec<Vec<usize>> {
        let marked: Vec<usize> = marked.iter().copied().filter(|r| *r < self.x.len()).collect();
        let Some(slice) = self.slice_to_show(moved, &marked) else { return Vec::new() };
        let (marks, moves) = (tally(self.keys.hashes(), &marked), tally(self.keys.hashes(), moved));
        let mut candidates: Vec<SeriesCandidate<'_>> = self
            .lines()
            .filter(|rows| self.slice(rows) == slice)
            .map(|rows| self.candidate(rows, &marks, &moves))
            .collect();
        if candidates.iter().any(|c| c.marks + c.moves > 0) {
            candidates.retain(|c| c.marks + c.moves > 0);
        }
        candidates.sort_by(|a, b| {
            a.latency.total_cmp(&b.latency).then_with(|| a.rows[0].cmp(&b.rows[0]))
        });
        pick(&candidates).into_iter().map(|i| candidates[i].rows.to_vec()).collect()
    }

    /// The slice that a chart shows; none where no series is a line.
    fn slice_to_show(&self, moved: &[usize], marked: &[usize]) -> Option<u64> {
        let slices = self.panels.hashes();
        let (marks, moves) = (tally(slices, marked), tally(slices, moved));
        let mut sizes: HashMap<u64, usize> = HashMap::new();
        self.lines().for_each(|rows| *sizes.entry(self.slice(rows)).or_default() += rows.len());
        // Rows are unique, so the first one settles ties whatever the order of the map.
        let shown = self.lines().max_by_key(|rows| {
            let slice = self.slice(rows);
            let interest = [&marks, &moves, &sizes].map(|counts| at(counts, slice));
            (interest, Reverse(rows[0]))
        });
        shown.map(|rows| self.slice(rows))
    }

    fn candidate<'s>(
        &self,
        rows: &'s [usize],
        marks: &HashMap<u64, usize>,
        moves: &HashMap<u64, usize>,
    ) -> SeriesCandidate<'s> {
        let series = self.keys.hashes()[rows[0]];
        let preference = rows.iter().map(|r| self.preferred[*r]).min().unwrap_or(usize::MAX);
        SeriesCandidate {
            rows,
            latency: self.median_latency(rows),
            marks: at(marks, series),
            moves: at(moves, series),
            preference,
            is_preferred: self.preferred.iter().max().is_some_and(|least| preference < *least),
        }
    }

    /// The series that have points enough to be a line.
    fn lines(&self) -> impl Iterator<Item = &[usize]> {
        self.series.values().map(Vec::as_slice).filter(|rows| self.is_line(rows))
    }

    /// The slice that a series is in.
    fn slice(&self, rows: &[usize]) -> u64 {
        self.panels.hashes()[rows[0]]
    }

    fn is_line(&self, rows: &[usize]) -> bool {
        let mut at: Vec<u64> = rows
            .iter()
            .filter(|r| self.x[**r] > 0.0 && self.latency[**r] > 0.0)
            .map(|r| self.x[*r].to_bits())
            .collect();
        at.sort_unstable();
        at.dedup();
        at.len() >= POINTS
    }

    fn median_latency(&self, rows: &[usize]) -> f64 {
        let mut values: Vec<f64> = rows.iter().map(|r| self.latency[*r]).collect();
        let middle = values.len() / 2;
        *values.select_nth_unstable_by(middle, f64::total_cmp).1
    }

    /// How many series there are in a row's slice.
    pub fn count_beside(&self, row: usize) -> usize {
        self.lines().filter(|rows| self.slice(rows) == self.slice(&[row])).count()
    }

    /// Points by x; of several rows at one place the first, as the loader serves them.
    pub fn points(
        &self,
        rows: &[usize],
        values: &[f64],
        marked: &BTreeSet<usize>,
    ) -> Vec<ChartPoint> {
        let drawn = |v: f64| v > 0.0 && v.is_finite();
        let mut points: Vec<ChartPoint> = rows
            .iter()
            .filter(|r| drawn(self.x[**r]) && drawn(values[**r]))
            .map(|r| ChartPoint { x: self.x[*r], y: values[*r], marked: marked.contains(r) })
            .collect();
        points.sort_by(|a, b| a.x.total_cmp(&b.x));
        points.dedup_by(|b, a| {
            let same = a.x == b.x;
            a.marked |= same && b.marked;
            same
        });
        points
    }
}

/// The values of all rows.
fn all(values: &Vals<'_, f64>, rows: usize) -> Vec<f64> {
    (0..rows).map(|row| values.get(row)).collect()
}

/// How many of the rows have each hash.
fn tally(hashes: &[u64], rows: &[usize]) -> HashMap<u64, usize> {
    let mut counts: HashMap<u64, usize> = HashMap::new();
    rows.iter().for_each(|row| *counts.entry(hashes[*row]).or_default() += 1);
    counts
}

fn at(counts: &HashMap<u64, usize>, hash: u64) -> usize {
    counts.get(&hash).copied().unwrap_or(0)
}

/// Which candidates are shown, at most [`SERIES`], in their order: first those that findings show or
/// that the chart prefers, then others, spread evenly from fast to slow.
fn pick(candidates: &[SeriesCandidate<'_>]) -> BTreeSet<usize> {
    let mut wanted: Vec<usize> = (0..candidates.len())
        .filter(|i| candidates[*i].marks > 0 || candidates[*i].is_preferred)
        .collect();
    wanted.sort_by_key(|i| (Reverse(candidates[*i].marks), candidates[*i].preference));
    let mut shown: BTreeSet<usize> = wanted.into_iter().take(SERIES).collect();
    let left: Vec<usize> = (0..candidates.len()).filter(|i| !shown.contains(i)).collect();
    let free = SERIES.saturating_sub(shown.len()).min(left.len());
    // The middle of each of as many equal parts, so not the very first and last of many.
    shown.extend((0..free).map(|n| left[(2 * n + 1) * left.len() / (2 * free)]));
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidate(marks: usize, preference: usize) -> SeriesCandidate<'static> {
        let is_preferred = preference < 2;
        SeriesCandidate { rows: &[0], latency: 1.0, marks, moves: 0, preference, is_preferred }
    }

    fn picked(candidates: &[SeriesCandidate<'_>]) -> Vec<usize> {
        pick(candidates).into_iter().collect()
    }

    #[test]
    fn many_series_are_spread_evenly() {
        let plain: Vec<_> = (0..24).map(|_| candidate(0, 2)).collect();
        assert_eq!(picked(&plain), [2, 6, 10, 14, 18, 22]);
        assert_eq!(picked(&plain[..3]), [0, 1, 2]);
        assert!(picked(&[]).is_empty());
    }

    #[test]
    fn series_of_findings_come_first_then_those_that_the_chart_prefers() {
        let mut all: Vec<_> = (0..20).map(|_| candidate(0, 2)).collect();
        all[19] = candidate(1, 2);
        all[18] = candidate(0, 1);
        assert!([18, 19].iter().all(|i| picked(&all).contains(i)), "{:?}", picked(&all));
        let mut many: Vec<_> = (0..8).map(|_| candidate(0, 0)).collect();
        many[7] = candidate(3, 2);
        assert_eq!(picked(&many), [0, 1, 2, 3, 4, 7]);
    }
}
