//! Groups a table's rows by series, for charts and explorer pages.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::rings::Rings;
use super::scene::ChartPoint;
use super::spec::ChartSpec;
use crate::base::expr::{ExprError, Scope, Vals};
use crate::database::served::rows::{has_key, served_rows};
use crate::database::table::{Keys, Table, TableScope};
use crate::specs::KeyPart;

/// The minimum number of points that a line must have to be drawn.
pub(in crate::report) const POINTS: usize = 3;
/// The maximum number of rows per series that are drawn although the loader does not serve them.
const COPIES: usize = 200;

/// The loader's use of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::report) enum RowUse {
    /// The loader serves the row.
    Served = 0,
    /// A copy: the loader serves another row with the same key instead of this row.
    Copy = 1,
    /// The loader does not read the row.
    Unread = 2,
}

/// The rows of a table, grouped by series, with the values that charts show.
pub(in crate::report) struct SeriesSet<'a> {
    pub x: Vec<f64>,
    /// The key parts that are constant along a series.
    pub keys: Keys<'a>,
    /// The key parts that define a slice. A chart shows one slice.
    pub slice_parts: Keys<'a>,
    /// The key by which the loader looks up a row; `None` if the key is unknown.
    pub(super) loader: Option<Keys<'a>>,
    pub uses: Vec<RowUse>,
    /// The row numbers of each series in file order. The map's key is the hash of the key parts `keys`.
    pub series: HashMap<u64, Vec<usize>>,
    /// The latency of each row in ms.
    pub latency: Vec<f64>,
    /// The speed-of-light bound of each row in ms; NaN if unknown.
    pub bound: Vec<f64>,
    pub rate: Vec<f64>,
    /// The power of each row in W; NaN if the table does not state it.
    pub(super) power: Vec<f64>,
    /// The preference for each row: the index of the first condition in the chart's `prefer` that the row meets, or the
    /// number of conditions if it meets none.
    pub preferred: Vec<usize>,
}

impl<'a> SeriesSet<'a> {
    /// Groups a table's rows into series along the column `x`. All rows of a series have the same values in the key
    /// parts `fixed`, and all rows of a slice have the same values in the key parts `panel`.
    pub(crate) fn new(
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
            // `max` ignores NaN, which is an unknown bound.
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
        let numbers = |name: &str| -> Vec<f64> {
            let column = scope.table.column(name);
            (0..rows).map(|row| column.map_or(f64::NAN, |c| c.number(row))).collect()
        };
        let (x, power) = (numbers(x), numbers("power"));
        let known = is_served(scope, scope.table);
        let loader = known.then(|| Keys::new(&scope.spec.key, scope)).transpose()?;
        let uses = match &loader {
            Some(loader) => uses(scope, loader)?,
            None => first_at_each_place(&keys, &x),
        };
        let slices = Keys::new(panel, scope)?;
        Ok(Self {
            x,
            slice_parts: slices,
            keys,
            loader,
            uses,
            series,
            latency,
            bound,
            rate,
            power,
            preferred,
        })
    }

    /// Returns the series with enough points for a line.
    pub(super) fn lines(&self) -> impl Iterator<Item = &[usize]> {
        self.series.values().map(Vec::as_slice).filter(|rows| self.is_line(rows))
    }

    /// Returns the hash of the slice to which a series belongs.
    pub(super) fn slice(&self, rows: &[usize]) -> u64 {
        self.slice_parts.hashes()[rows[0]]
    }

    pub(super) fn is_line(&self, rows: &[usize]) -> bool {
        let drawn = rows.iter().filter(|row| self.serves(**row) && self.is_drawn(**row));
        let places: HashSet<u64> = drawn.map(|row| self.x[*row].to_bits()).collect();
        places.len() >= POINTS
    }

    /// Returns true if the loader serves a row.
    pub(crate) fn serves(&self, row: usize) -> bool {
        self.uses[row] == RowUse::Served
    }

    /// Returns true if logarithmic axes can show a row: its x value and its latency are positive and finite.
    pub(super) fn is_drawn(&self, row: usize) -> bool {
        is_drawn(self.x[row]) && is_drawn(self.latency[row])
    }

    /// Returns the number of shown series as text, such as `6 of 40 series`. `chosen` contains the row numbers of each
    /// shown series.
    pub(super) fn shown(&self, chosen: &[Vec<usize>]) -> String {
        let slices: BTreeSet<u64> = chosen.iter().map(|rows| self.slice(rows)).collect();
        let shown = chosen.len();
        if slices.len() > 1 {
            return format!("{shown} series of {} slices", slices.len());
        }
        let all = self.lines().filter(|rows| slices.contains(&self.slice(rows))).count();
        format!("{shown} of {} series", all.max(shown))
    }

    /// Returns one point per served row, sorted by x. `rows` contains the row numbers of a series, and `values` the y
    /// value of every row of the table.
    pub(super) fn points(&self, rows: &[usize], values: &[f64], rings: &Rings) -> Vec<ChartPoint> {
        let served = rows.iter().filter(|row| self.serves(**row));
        self.by_place(served, values, rings)
    }

    /// Returns the points of rows that the loader does not serve: copies of served rows, and unread rows that have
    /// findings. At most [`COPIES`] points are returned; rows with findings come first.
    pub(super) fn copies(&self, rows: &[usize], values: &[f64], rings: &Rings) -> Vec<ChartPoint> {
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

/// Returns true if the loader's key is known and the table has all columns that the key needs.
pub(super) fn is_served(scope: &TableScope<'_>, table: &Table) -> bool {
    let TableScope { spec, place, system, lookups, .. } = *scope;
    let scope = TableScope::new(table, spec, place, system, lookups);
    !spec.inferred && !spec.key.is_empty() && has_key(&scope)
}

/// Returns true if a logarithmic axis can show a value: it is positive and finite.
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

/// Determines which rows count as served in a table whose key is unknown: the first row at each x position of a series.
/// All further rows at this position count as copies.
fn first_at_each_place(keys: &Keys<'_>, x: &[f64]) -> Vec<RowUse> {
    let mut seen = HashSet::new();
    let places = keys.hashes().iter().zip(x).map(|(series, x)| (*series, x.to_bits()));
    places.map(|at| if seen.insert(at) { RowUse::Served } else { RowUse::Copy }).collect()
}

/// Returns the values of a formula for all rows of a table.
fn all(values: &Vals<'_, f64>, rows: usize) -> Vec<f64> {
    (0..rows).map(|row| values.get(row)).collect()
}
