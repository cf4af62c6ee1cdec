//! One side of a comparison, or the only one: a table's rows by series, and which few of these a chart
//! shows.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap};

use super::Point;
use super::spec::ChartSpec;
use crate::base::expr::{ExprError, Scope, Vals};
use crate::database::table::{Keys, TableScope};
use crate::specs::KeyPart;

/// Series in a chart: as many as there are colours that everybody tells apart.
pub(super) const SERIES: usize = 6;
/// Points that make a line.
pub(super) const POINTS: usize = 3;

/// A table's rows by series, with what is drawn of them.
pub(super) struct Side<'a> {
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

impl<'a> Side<'a> {
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
        let all =
            |values: &Vals<'_, f64>| -> Vec<f64> { (0..rows).map(|r| values.get(r)).collect() };
        let keys = Keys::new(fixed, scope)?;
        let mut series: HashMap<u64, Vec<usize>> = HashMap::new();
        for (row, hash) in keys.hashes().iter().enumerate() {
            series.entry(*hash).or_default().push(row);
        }
        let latency = match scope.spec.latency.first() {
            Some(part) => all(&part.value.numbers(scope)?),
            None => vec![f64::NAN; rows],
        };
        let mut bound = vec![f64::NAN; rows];
        for known in &scope.spec.bounds {
            let seconds = known.seconds.numbers(scope)?;
            // `max` passes over NaN, which is a bound that is not known.
            bound.iter_mut().enumerate().for_each(|(r, b)| *b = b.max(seconds.get(r) * 1e3));
        }
        let rate = match &chart.rate {
            Some(rate) => all(&rate.value.numbers(scope)?),
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

    /// The rows of the series to show, from fast to slow.
    pub fn choose(&self, moved: &[usize], marked: &BTreeSet<usize>) -> Vec<Vec<usize>> {
        let marks: Vec<usize> = marked.iter().copied().filter(|r| *r < self.x.len()).collect();
        let by = |hashes: &[u64], rows: &[usize]| {
            let mut counts: HashMap<u64, usize> = HashMap::new();
            rows.iter().for_each(|r| *counts.entry(hashes[*r]).or_default() += 1);
            counts
        };
        let of = |counts: &HashMap<u64, usize>, hash: u64| counts.get(&hash).copied().unwrap_or(0);
        let slices = self.panels.hashes();
        let (slice_marks, slice_moves) = (by(slices, &marks), by(slices, moved));
        let lines: Vec<&Vec<usize>> =
            self.series.values().filter(|rows| self.is_line(rows)).collect();
        let mut size: HashMap<u64, usize> = HashMap::new();
        lines.iter().for_each(|rows| *size.entry(slices[rows[0]]).or_default() += rows.len());
        // Rows are unique, so the first one settles ties whatever the order of the map.
        let best = lines.iter().max_by_key(|rows| {
            let slice = slices[rows[0]];
            let interest = (of(&slice_marks, slice), of(&slice_moves, slice), of(&size, slice));
            (interest, Reverse(rows[0]))
        });
        let Some(slice) = best.map(|rows| slices[rows[0]]) else { return Vec::new() };

        let (marks, moves) = (by(self.keys.hashes(), &marks), by(self.keys.hashes(), moved));
        let hash = |rows: &[usize]| self.keys.hashes()[rows[0]];
        let within = || lines.iter().filter(|rows| slices[rows[0]] == slice);
        let told = |rows: &&&Vec<usize>| of(&marks, hash(rows)) + of(&moves, hash(rows)) > 0;
        let mut pool: Vec<&Vec<usize>> = within().filter(told).copied().collect();
        if pool.is_empty() {
            pool = within().copied().collect();
        }
        pool.sort_by(|a, b| self.level(a).total_cmp(&self.level(b)).then_with(|| a[0].cmp(&b[0])));
        let mut first: Vec<usize> = (0..pool.len()).collect();
        let prefers = |rows: &[usize]| rows.iter().map(|r| self.preferred[*r]).min();
        let none = self.preferred.len();
        first.sort_by_key(|i| {
            let rows = pool[*i];
            let marks = Reverse(of(&marks, hash(rows)));
            (marks, prefers(rows).unwrap_or(none), *i)
        });
        let wanted = |i: &usize| of(&marks, hash(pool[*i])) > 0 || self.is_preferred(pool[*i]);
        let mut shown: BTreeSet<usize> =
            first.iter().copied().filter(wanted).take(SERIES).collect();
        // The rest from fast to slow, evenly, and not the very first and last of many.
        let left: Vec<usize> = (0..pool.len()).filter(|i| !shown.contains(i)).collect();
        let free = SERIES.saturating_sub(shown.len()).min(left.len());
        shown.extend((0..free).map(|n| left[(2 * n + 1) * left.len() / (2 * free)]));
        shown.into_iter().map(|i| pool[i].clone()).collect()
    }

    fn is_preferred(&self, rows: &[usize]) -> bool {
        let most = self.preferred.iter().max().copied().unwrap_or(0);
        rows.iter().any(|r| self.preferred[*r] < most)
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

    /// The middle latency.
    fn level(&self, rows: &[usize]) -> f64 {
        let mut values: Vec<f64> = rows.iter().map(|r| self.latency[*r]).collect();
        let middle = values.len() / 2;
        *values.select_nth_unstable_by(middle, f64::total_cmp).1
    }

    /// How many series there are in a row's slice.
    pub fn lines(&self, row: usize) -> usize {
        let slices = self.panels.hashes();
        let within = self.series.values().filter(|rows| slices[rows[0]] == slices[row]);
        within.filter(|rows| self.is_line(rows)).count()
    }

    /// Points by x; of several rows at one place the first, as the loader serves them.
    pub fn points(&self, rows: &[usize], values: &[f64], marked: &BTreeSet<usize>) -> Vec<Point> {
        let drawn = |v: f64| v > 0.0 && v.is_finite();
        let mut points: Vec<Point> = rows
            .iter()
            .filter(|r| drawn(self.x[**r]) && drawn(values[**r]))
            .map(|r| Point { x: self.x[*r], y: values[*r], marked: marked.contains(r) })
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
