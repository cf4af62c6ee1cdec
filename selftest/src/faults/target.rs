//! A table in which a fault is planted: the choice of its rows, and the change of their cells.

use std::collections::BTreeMap;

use super::amount::Amount;
use super::draft::{Draft, texts};
use super::fault::{CellType, Retype, SetCells};
use perfdb_gate::base::expr::{ExprError, Lookup, Scope, Vals, Value};
use perfdb_gate::base::random::Random;
use perfdb_gate::checks::compare::sketch::Slice;
use perfdb_gate::database::table::{Column, Keys, Table, TableScope};
use perfdb_gate::specs::{ColumnKind, TableSpec, measured_unit};

/// The minimum number of rows of a slice.
const LEAST_SLICE: usize = 20;

/// A table in which a fault is planted.
pub(super) struct Target<'a> {
    /// The table's rows.
    pub(super) table: &'a Table,
    /// The table's spec.
    pub(super) spec: &'a TableSpec,
    /// The table and its spec, as formulas read them.
    pub(super) scope: &'a TableScope<'a>,
}

/// The affected rows, and the slice if they are in one slice.
pub(super) type Chosen = (Vec<usize>, Option<Slice>);

/// A table as a fault's formulas read it.
pub(super) struct CellScope<'a> {
    /// The table.
    pub(super) scope: &'a TableScope<'a>,
    /// The column that `value` reads.
    pub(super) column: &'a str,
    /// The value of `by`.
    pub(super) by: Option<f64>,
}

impl Scope for CellScope<'_> {
    fn rows(&self) -> usize {
        self.scope.rows()
    }
    fn column(&self, name: &str) -> Option<Value<'_>> {
        match name {
            "value" => self.scope.column(self.column),
            "by" => Some(Value::Number(Vals::One(self.by?))),
            "normal" => Some(drawn(self.rows(), |random| f64::from(random.normal()))),
            "chance" => Some(drawn(self.rows(), Random::unit)),
            name => self.scope.column(name),
        }
    }
    fn field(&self, path: &str) -> Option<f64> {
        self.scope.field(path)
    }
    fn lookup(&self, function: &Lookup, text: &str) -> Option<f64> {
        self.scope.lookup(function, text)
    }
}

/// Returns a random number per row, always the same for a number of rows.
fn drawn(rows: usize, draw: impl Fn(&mut Random) -> f64) -> Value<'static> {
    let mut random = Random::new(rows as u64);
    Value::Number(Vals::Rows((0..rows).map(|_| draw(&mut random)).collect()))
}

impl<'a> Target<'a> {
    /// Chooses the affected rows, and the slice if they are in one slice. Candidates are rows that
    /// the loader reads, with latencies above zero that must be above zero. Returns `None` if there
    /// are too few.
    pub(super) fn choose(
        &self,
        amount: Amount,
        within: Option<[f64; 2]>,
        random: &mut Random,
    ) -> Result<Option<Chosen>, ExprError> {
        let loaded = self.spec.filter.as_ref().map(|f| f.mask(self.scope)).transpose()?;
        let zero = self.spec.zero.values().map(|z| z.mask(self.scope));
        let zero = zero.collect::<Result<Vec<_>, _>>()?;
        let measured: Vec<&Column> =
            self.spec.measures().filter_map(|(name, _)| self.table.column(name)).collect();
        let latency = match (within, self.spec.latency.first()) {
            (Some([from, below]), Some(first)) => {
                Some((from..below, first.value.numbers(self.scope)?))
            }
            (Some(_), None) => return Ok(None),
            (None, _) => None,
        };
        let is_within = |row: usize| {
            latency.as_ref().is_none_or(|(range, latency)| range.contains(&latency.get(row)))
        };
        let fertile = |row: &usize| {
            is_within(*row)
                && loaded.as_ref().is_none_or(|l| l.get(*row))
                && measured.iter().all(|c| c.number(*row) > 0.0)
                && !zero.iter().any(|z| z.get(*row))
        };
        let rows: Vec<usize> = (0..self.table.rows).filter(fertile).collect();
        if rows.is_empty() || measured.is_empty() {
            return Ok(None);
        }
        let chosen = match amount {
            Amount::All | Amount::Rows(_) | Amount::Share(_) => Some((rows, None)),
            Amount::Run(n) => run(&rows, n, random).map(|rows| (rows, None)),
            Amount::Shape => self.shape(&rows, random).map(|rows| (rows, None)),
            Amount::Slice | Amount::SliceShare(_) => self.slice(&rows, random)?,
        };
        let Some((mut rows, slice)) = chosen else { return Ok(None) };
        let count = match amount {
            Amount::Rows(n) => n,
            Amount::Share(share) | Amount::SliceShare(share) => {
                (share * rows.len() as f64).round() as usize
            }
            Amount::All | Amount::Run(_) | Amount::Shape | Amount::Slice => rows.len(),
        };
        if count == 0 || count > rows.len() {
            return Ok(None);
        }
        if count < rows.len() {
            random.shuffle(&mut rows);
            rows.truncate(count);
            rows.sort_unstable();
        }
        Ok(Some((rows, slice)))
    }

    /// Chooses one slice of `rows`.
    fn slice(&self, rows: &[usize], random: &mut Random) -> Result<Option<Chosen>, ExprError> {
        let keys = Keys::new(&self.spec.key, self.scope)?;
        let mut slices: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
        rows.iter().for_each(|r| slices.entry(keys.text_code(*r)).or_default().push(*r));
        slices.retain(|_, rows| rows.len() >= LEAST_SLICE);
        if slices.is_empty() {
            return Ok(None);
        }
        let chosen = random.below(slices.len());
        let rows = slices.into_values().nth(chosen).unwrap_or_default();
        let texts = keys.show(rows[0]).into_iter();
        let text = |(k, v): (String, serde_json::Value)| Some((k, v.as_str()?.to_owned()));
        let slice = texts.filter_map(text).collect();
        Ok(Some((rows, Some(slice))))
    }

    /// Chooses one series of `rows`: everything except measurements and the first axis of the sweep
    /// is the same.
    fn shape(&self, rows: &[usize], random: &mut Random) -> Option<Vec<usize>> {
        /// The minimum number of points of a series.
        const LEAST: usize = 8;
        const TRIES: usize = 20;
        let first = self.spec.sweep.iter().find(|name| self.table.column(name).is_some())?;
        let is_fixed = |name: &str| name != first && measured_unit(name).is_none();
        let fixed = self.table.columns().filter(|(name, _)| is_fixed(name));
        let fixed: Vec<&Column> = fixed.map(|(_, column)| column).collect();
        (0..TRIES).find_map(|_| {
            let one = rows[random.below(rows.len())];
            let alike = |row: &&usize| fixed.iter().all(|column| column.equal(one, **row));
            let shape: Vec<usize> = rows.iter().filter(alike).copied().collect();
            (shape.len() >= LEAST).then_some(shape)
        })
    }

    /// Returns the columns that a fault names.
    fn columns(&self, names: &'a [String]) -> Vec<&'a str> {
        for name in names {
            let found: Vec<&str> = match name.as_str() {
                "measured" => self.spec.measures().map(|(name, _)| name).collect(),
                "size" => {
                    let whole = |n: &&String| {
                        self.spec.column(n).is_some_and(|c| c.kind == ColumnKind::Int)
                    };
                    let sweep = self.spec.sweep.iter().filter(|n| *n != "step");
                    sweep.filter(whole).map(String::as_str).take(1).collect()
                }
                name => vec![name],
            };
            let there: Vec<&str> =
                found.into_iter().filter(|n| self.table.column(n).is_some()).collect();
            if !there.is_empty() {
                return there;
            }
        }
        Vec::new()
    }

    /// Sets cells; returns false if no cell changes.
    pub(super) fn set(
        &self,
        set: &'a SetCells,
        by: Option<f64>,
        rows: &[usize],
        draft: &mut Draft,
    ) -> Result<bool, ExprError> {
        let mut any = false;
        for name in self.columns(&set.column) {
            let here = CellScope { scope: self.scope, column: name, by };
            let value = set.to.as_ref().map(|to| to.eval(&here)).transpose()?;
            draft.set(name, rows, value.as_ref());
            let (Some(before), Some(after)) = (self.table.column(name), draft.column(name)) else {
                continue;
            };
            any |= rows.iter().any(|r| before.json(*r) != after.json(*r));
        }
        Ok(any)
    }

    /// Changes the type or name of a column, or removes it; returns false if nothing changes.
    pub(super) fn retype(&self, retype: &'a Retype, draft: &mut Draft) -> bool {
        let Some(name) = self.columns(&retype.column).first().copied() else { return false };
        let Some(at) = draft.columns.iter().position(|(n, _)| n == name) else { return false };
        let (name, column) = &mut draft.columns[at];
        match (retype.to, &*column) {
            (CellType::Gone, _) => drop(draft.columns.remove(at)),
            (CellType::Renamed, _) => *name += "_2",
            (CellType::Text, Column::Text { .. }) => return false,
            (CellType::Text, _) => *column = Column::texts(texts(column)),
            (CellType::Number, Column::Int { .. } | Column::Bool { .. }) => {
                let values = (0..draft.rows).map(|r| column.number(r)).collect();
                *column = Column::Float { values, nulls: None };
            }
            (CellType::Number, Column::Text { .. }) => {
                *column = Column::Float { values: vec![1.0; draft.rows], nulls: None };
            }
            (CellType::Number, _) => return false,
        }
        true
    }

    /// Moves every second row onto the straight line between its neighbours in the file, if they
    /// differ along one axis only. Returns the moved rows.
    pub(super) fn draw(&self, draft: &mut Draft, rows: &[usize]) -> Vec<usize> {
        let Some((measured, _)) = self.spec.measures().next() else { return Vec::new() };
        let (Some(Column::Float { values, .. }), true) =
            (self.table.column(measured), rows.len() > 2)
        else {
            return Vec::new();
        };
        let sweep = self.spec.sweep.iter();
        let axes: Vec<&Column> = sweep.filter_map(|n| self.table.column(n)).collect();
        let fixed = |a: usize, b: usize| {
            let others = self.table.columns().filter(|(n, _)| {
                self.spec.sweep.iter().all(|s| s != n) && self.spec.reads(n) && *n != measured
            });
            others.into_iter().all(|(_, c)| c.equal(a, b))
        };
        let mut drawn = Vec::new();
        let mut new = values.clone();
        for three in rows.windows(3).step_by(2) {
            let [a, b, c] = three else { continue };
            let moving: Vec<&&Column> = axes.iter().filter(|x| !x.equal(*a, *c)).collect();
            let [axis] = moving[..] else { continue };
            let [x0, x1, x2] = [a, b, c].map(|r| axis.number(*r));
            let between = x0 < x1 && x1 < x2 && fixed(*a, *b) && fixed(*b, *c);
            let rising = values[*a] != values[*c];
            if between && rising && axes.iter().all(|o| std::ptr::eq(*o, *axis) || o.equal(*a, *b))
            {
                new[*b] = values[*a] + (values[*c] - values[*a]) * (x1 - x0) / (x2 - x0);
                drawn.push(*b);
            }
        }
        if let Some(Column::Float { values, .. }) = draft.column(measured) {
            *values = new;
        }
        // The rule needs at least 10 such points.
        if drawn.len() < 10 { Vec::new() } else { drawn }
    }
}

/// Chooses `n` rows that are consecutive in the table.
fn run(rows: &[usize], n: usize, random: &mut Random) -> Option<Vec<usize>> {
    let runs: Vec<&[usize]> = rows.windows(n).filter(|run| run[n - 1] - run[0] == n - 1).collect();
    (!runs.is_empty()).then(|| runs[random.below(runs.len())].to_vec())
}
