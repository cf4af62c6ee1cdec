//! Groups a table's rows by series and chooses the series of a chart. A comparison has one such set
//! per state and one for a peer.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap, HashSet};

use super::ChartPoint;
use super::axis::is_served;
use super::moves::{Moved, RatioMoves};
use super::pick::{SeriesCandidate, pick};
use super::rings::{Rings, SliceTexts};
use super::spec::ChartSpec;
use crate::base::expr::{ExprError, Scope, Vals};
use crate::database::served::rows::served_rows;
use crate::database::table::{Keys, TableScope};
use crate::specs::KeyPart;

/// The fewest points of a line.
pub(in crate::report) const POINTS: usize = 3;
/// The most rows of a series that are drawn although they are not served.
const COPIES: usize = 200;

/// The loader's use of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::report) enum RowUse {
    /// The loader serves the row.
    Served = 0,
    /// The loader serves another row of the same key.
    Copy = 1,
    /// The loader does not read the row.
    Unread = 2,
}

/// A table's rows by series, with the values that are drawn.
pub(in crate::report) struct SeriesSet<'a> {
    pub x: Vec<f64>,
    /// The parts that are constant along a series.
    pub keys: Keys<'a>,
    /// The parts that define a slice; a chart shows one slice.
    pub panels: Keys<'a>,
    /// The loader's key; `None` if unknown.
    loader: Option<Keys<'a>>,
    pub uses: Vec<RowUse>,
    /// The row numbers of each series in file order, by the hash of the constant parts.
    pub series: HashMap<u64, Vec<usize>>,
    /// The latency of each row in ms.
    pub latency: Vec<f64>,
    /// The speed-of-light bound of each row in ms; NaN if unknown.
    pub bound: Vec<f64>,
    pub rate: Vec<f64>,
    /// The index of the chart's first preference that each row meets; the number of preferences if
    /// it meets none.
    pub preferred: Vec<usize>,
}

impl<'a> SeriesSet<'a> {
    /// Groups a table's rows along the column `x`: rows of a series agree in the parts `fixed`,
    /// rows of a slice in the parts `panel`.
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
            // `max` ignores NaN, which means an unknown bound.
            bound.iter_mut().enumerate().for_each(|(r, b)| *b = b.max(seconds.get(r) * 1e3));
        }
        let rate = match &chart.rate {
            Some(rate) => all(&rate.value.numbers(scope)?, rows),
            None => bound.iter().zip(&latency).map(|(bound, latency)| bound / latency).collect(),
        };
        let mut preferred = vec![chart.prefer.len(); rows];
        for (n, rule) in chart.prefer.iter().enumerate().rev() {
            let mask = rule.mask(scope)?;
            let met = preferred.iter_mut().enumerate().filter(|(r, _)| mask.get(*r));
            met.for_each(|(_, p)| *p = n);
        }
        let column = scope.table.column(x);
        let x: Vec<f64> = (0..rows).map(|r| column.map_or(f64::NAN, |c| c.number(r))).collect();
        let known = is_served(scope, scope.table);
        let loader = known.then(|| Keys::new(&scope.spec.key, scope)).transpose()?;
        let uses = match &loader {
            Some(loader) => uses(scope, loader)?,
            None => first_at_each_place(&keys, &x),
        };
        let panels = Keys::new(panel, scope)?;
        Ok(Self { x, panels, keys, loader, uses, series, latency, bound, rate, preferred })
    }

    /// Returns the row numbers of the series to show, from fast to slow. They belong to one slice:
    /// the slice of the worst row that a finding names, else a slice that a finding reports, else
    /// the slice with most moved rows, else the largest. Only series with named or moved rows are
    /// candidates, or all if none has such rows. The series of a finding's worst row is shown even
    /// if it is in another slice.
    pub(super) fn choose(&self, moves: &RatioMoves, rings: &Rings) -> Vec<Vec<usize>> {
        let (moved, moved_slices) = moves.tally(self);
        let marks = tally(self.keys.hashes(), rings.rows());
        let led = self.led(rings);
        let told = rings.slices.iter().find_map(|slice| self.of_slice(slice));
        let slice = led.first().copied().or(told).map(|series| self.slice(&self.series[&series]));
        let Some(slice) = slice.or_else(|| self.slice_to_show(&moved_slices)) else {
            return Vec::new();
        };
        let place = |series| led.iter().chain(&told).position(|led| *led == series);
        let mut candidates: Vec<SeriesCandidate<'_>> = Vec::new();
        for (series, rows) in &self.series {
            let led = place(*series);
            if led.is_some() || self.slice(rows) == slice && self.is_line(rows) {
                let marks = marks.get(series).copied().unwrap_or(0);
                let moved = moved.get(series).copied().unwrap_or_default();
                candidates.push(self.candidate(rows, led, marks, moved));
            }
        }
        let tells = |c: &SeriesCandidate<'_>| c.marks + c.moves > 0;
        if candidates.iter().any(tells) {
            candidates.retain(|c| c.led.is_some() || tells(c));
        }
        candidates.sort_by(|a, b| {
            a.latency.total_cmp(&b.latency).then_with(|| a.rows[0].cmp(&b.rows[0]))
        });
        pick(&candidates).into_iter().map(|i| candidates[i].rows.to_vec()).collect()
    }

    /// Returns true if a chart along this axis shows the worst row that a finding names on a line.
    pub fn shows_worst(&self, rings: &Rings) -> bool {
        self.led(rings).first().is_none_or(|series| self.is_line(&self.series[series]))
    }

    /// Returns true if the slice with most moved rows has a line along this axis.
    pub(super) fn shows_moves(&self, moves: &RatioMoves) -> bool {
        let (_, slices) = moves.tally(self);
        // The smallest hash decides between equal slices, because the map has no order.
        let most = slices.iter().max_by_key(|(slice, moved)| (moved.rows, Reverse(**slice)));
        most.is_none_or(|(most, _)| self.lines().any(|rows| self.slice(rows) == *most))
    }

    /// Returns true if any series has enough points for a line.
    pub fn has_lines(&self) -> bool {
        self.lines().next().is_some()
    }

    /// Returns the series of the rows that a chart must show, in their order.
    fn led(&self, rings: &Rings) -> Vec<u64> {
        let mut led: Vec<u64> = Vec::new();
        for row in rings.led.iter().filter(|row| self.is_drawn(**row)) {
            let series = self.keys.hashes()[*row];
            if !led.contains(&series) {
                led.push(series);
            }
        }
        led
    }

    /// Returns the series with most rows in a slice of the loader's key.
    fn of_slice(&self, slice: &SliceTexts) -> Option<u64> {
        let loader = self.loader.as_ref()?;
        let has = |rows: &[usize]| {
            let texts = loader.texts(rows[0]);
            let names = |(name, text): (&String, &String)| {
                texts.iter().any(|(own, value)| own == name && value == text)
            };
            slice.iter().all(names)
        };
        let largest = self.lines().filter(|rows| has(rows));
        let largest = largest.max_by_key(|rows| (rows.len(), Reverse(rows[0])));
        largest.map(|rows| self.keys.hashes()[rows[0]])
    }

    /// Returns the slice with most moved rows, else the largest slice; `None` if no series has
    /// enough points for a line.
    fn slice_to_show(&self, moved: &HashMap<u64, Moved>) -> Option<u64> {
        let mut sizes: HashMap<u64, usize> = HashMap::new();
        self.lines().for_each(|rows| *sizes.entry(self.slice(rows)).or_default() += rows.len());
        // The first row of a series is unique and decides between equal slices, because the map has
        // no order.
        let shown = self.lines().max_by_key(|rows| {
            let slice = self.slice(rows);
            (moved.get(&slice).map_or(0, |m| m.rows), sizes[&slice], Reverse(rows[0]))
        });
        shown.map(|rows| self.slice(rows))
    }

    fn candidate<'s>(
        &self,
        rows: &'s [usize],
        led: Option<usize>,
        marks: usize,
        moved: Moved,
    ) -> SeriesCandidate<'s> {
        let preference = rows.iter().map(|r| self.preferred[*r]).min().unwrap_or(usize::MAX);
        SeriesCandidate {
            rows,
            latency: self.median_latency(rows),
            led,
            marks,
            moves: moved.rows,
            far: moved.far,
            preference,
            is_preferred: self.preferred.iter().max().is_some_and(|least| preference < *least),
        }
    }

    /// Returns the series with enough points for a line.
    fn lines(&self) -> impl Iterator<Item = &[usize]> {
        self.series.values().map(Vec::as_slice).filter(|rows| self.is_line(rows))
    }

    /// Returns the hash of a series' slice.
    fn slice(&self, rows: &[usize]) -> u64 {
        self.panels.hashes()[rows[0]]
    }

    fn is_line(&self, rows: &[usize]) -> bool {
        let drawn = rows.iter().filter(|row| self.serves(**row) && self.is_drawn(**row));
        let places: HashSet<u64> = drawn.map(|row| self.x[*row].to_bits()).collect();
        places.len() >= POINTS
    }

    /// Returns true if the loader serves a row.
    pub fn serves(&self, row: usize) -> bool {
        self.uses[row] == RowUse::Served
    }

    /// Returns true if logarithmic axes can show a row.
    fn is_drawn(&self, row: usize) -> bool {
        is_drawn(self.x[row]) && is_drawn(self.latency[row])
    }

    fn median_latency(&self, rows: &[usize]) -> f64 {
        let mut values: Vec<f64> = rows.iter().map(|r| self.latency[*r]).collect();
        let middle = values.len() / 2;
        *values.select_nth_unstable_by(middle, f64::total_cmp).1
    }

    /// Counts the series in a row's slice.
    pub fn count_beside(&self, row: usize) -> usize {
        self.lines().filter(|rows| self.slice(rows) == self.slice(&[row])).count()
    }

    /// Words the number of chosen series and of all series in the slice.
    pub fn shown(&self, chosen: &[Vec<usize>]) -> String {
        let slices: BTreeSet<u64> =
            chosen.iter().map(|rows| self.panels.hashes()[rows[0]]).collect();
        let shown = chosen.len();
        if slices.len() > 1 {
            return format!("{shown} series of {} slices", slices.len());
        }
        let all = self.count_beside(chosen[0][0]).max(shown);
        format!("{shown} of {all} series")
    }

    /// Returns the points of the served rows, by x.
    pub fn points(&self, rows: &[usize], values: &[f64], rings: &Rings) -> Vec<ChartPoint> {
        let served = rows.iter().filter(|row| self.serves(**row));
        self.by_place(served, values, rings)
    }

    /// Returns the points of rows that are not served: rows for which the loader serves another row
    /// of their key, and rows that are not read but named by a finding. Named rows come first;
    /// their number is limited.
    pub fn copies(&self, rows: &[usize], values: &[f64], rings: &Rings) -> Vec<ChartPoint> {
        let is_named = |row: &usize| !rings.of(*row).is_empty();
        let mut copies: Vec<usize> =
            rows.iter().copied().filter(|row| !self.serves(*row)).collect();
        copies.retain(|row| self.uses[*row] == RowUse::Copy || is_named(row));
        copies.sort_by_key(|row| !is_named(row));
        copies.truncate(COPIES);
        self.by_place(copies.iter(), values, rings)
    }

    fn by_place<'r>(
        &self,
        rows: impl Iterator<Item = &'r usize>,
        values: &[f64],
        rings: &Rings,
    ) -> Vec<ChartPoint> {
        let drawn = rows.filter(|row| is_drawn(self.x[**row]) && is_drawn(values[**row]));
        let point = |row: &usize| {
            let rings = rings.of(*row).to_vec();
            let named = (!rings.is_empty()).then_some(*row);
            ChartPoint { x: self.x[*row], y: values[*row], row: named, rings }
        };
        let mut points: Vec<ChartPoint> = drawn.map(point).collect();
        points.sort_by(|a, b| a.x.total_cmp(&b.x));
        points
    }
}

/// Returns true if a logarithmic axis can show a value.
fn is_drawn(value: f64) -> bool {
    value > 0.0 && value.is_finite()
}

/// Returns the loader's use of each row.
fn uses(scope: &TableScope<'_>, loader: &Keys<'_>) -> Result<Vec<RowUse>, ExprError> {
    let loaded = scope.spec.filter.as_ref().map(|filter| filter.mask(scope)).transpose()?;
    let buckets = scope.spec.buckets.iter().map(|bucket| bucket.rows.mask(scope));
    let buckets: Vec<Vals<'_, bool>> = buckets.collect::<Result<_, _>>()?;
    let is_read = |row: usize| {
        let goes = buckets.is_empty() || buckets.iter().any(|bucket| bucket.get(row));
        goes && loaded.as_ref().is_none_or(|loaded| loaded.get(row))
    };
    let rest = |row| if is_read(row) { RowUse::Copy } else { RowUse::Unread };
    let mut uses: Vec<RowUse> = (0..scope.rows()).map(rest).collect();
    for (_, row) in served_rows(scope, loader)? {
        uses[row as usize] = RowUse::Served;
    }
    Ok(uses)
}

/// Marks the first row at each position of a series as served, for tables without a known key.
fn first_at_each_place(keys: &Keys<'_>, x: &[f64]) -> Vec<RowUse> {
    let mut seen = HashSet::new();
    let places = keys.hashes().iter().zip(x).map(|(series, x)| (*series, x.to_bits()));
    places.map(|at| if seen.insert(at) { RowUse::Served } else { RowUse::Copy }).collect()
}

/// Returns the values of all rows.
fn all(values: &Vals<'_, f64>, rows: usize) -> Vec<f64> {
    (0..rows).map(|row| values.get(row)).collect()
}

/// Counts the rows by hash.
fn tally(hashes: &[u64], rows: impl Iterator<Item = usize>) -> HashMap<u64, usize> {
    let mut counts: HashMap<u64, usize> = HashMap::new();
    rows.filter_map(|row| hashes.get(row)).for_each(|hash| *counts.entry(*hash).or_default() += 1);
    counts
}
