//! What the rows of a table's files say of its columns.

use std::collections::{BTreeMap, BTreeSet};

use crate::base::error::{Error, Result};
use crate::base::stats::median;
use crate::database::catalog::TableFile;
use crate::database::table::{Column, Keys, Table, TableScope};
use crate::specs::{ColumnKind, Filling, IDENTITY, KeyPart, Specs, TableSpec, Unit, measured_unit};

/// Columns that say where a row is from, and are not part of any key.
const ORIGIN: [&str; 3] = ["framework", "version", "device"];

/// A fall along a sweep that is more than noise.
const FALL: f64 = 0.05;

/// The most of its pairs that fall so along a sweep: 12.2 % do of gemm_perf along m, which is the
/// noisiest of the long ones.
const FALLING: f64 = 0.15;

/// How much longer the end of a series takes than its beginning, in the median, along a sweep.
const GROWS: f64 = 1.2;

/// Pairs along a column, at least, to call it a sweep.
const PAIRS: usize = 10;

/// How far a latency may be from another column to be that column's sum.
const SAME: f64 = 0.02;

/// What is known of a table after some of its files.
pub(super) struct Learned<'a> {
    pub name: &'a str,
    pub family: String,
    pub files: usize,
    pub rows: usize,
    /// Rows that have the key of an earlier one, by the key that is learned so far.
    pub repeated: usize,
    /// In the order in which they are met.
    pub columns: Vec<LearnedColumn>,
    /// Whether all known tables of its family are read from their own version alone.
    pub alone: bool,
    /// Names of key parts of known tables.
    known_parts: BTreeSet<String>,
    specs: &'a Specs,
}

/// A column, over all files.
pub(super) struct LearnedColumn {
    pub name: String,
    pub kind: Option<ColumnKind>,
    /// Files that have it.
    pub files: usize,
    pub nulls: bool,
    /// Whether it takes several values within a file.
    pub varies: bool,
    /// Its value, where that is the same in all rows.
    pub constant: Option<String>,
    /// Whether it holds another value in nearly every row, as an id does.
    pub unlike: bool,
    /// Of a measurement: whether some row has zero.
    pub zero: bool,
    /// Of a latency: whether it is in µs, by the columns that it sums up.
    pub in_us: bool,
    /// Pairs of neighbours along it, and how many of them fall.
    pub pairs: usize,
    pub falls: usize,
    /// The end over the beginning of each series along it.
    growth: Vec<f64>,
}

impl LearnedColumn {
    fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            kind: None,
            files: 0,
            nulls: false,
            varies: false,
            constant: None,
            unlike: true,
            zero: false,
            in_us: false,
            pairs: 0,
            falls: 0,
            growth: Vec::new(),
        }
    }

    /// Its unit, of a measurement.
    pub fn unit(&self) -> Option<Unit> {
        match measured_unit(&self.name)? {
            Unit::Ms if self.in_us => Some(Unit::Us),
            unit => Some(unit),
        }
    }

    /// Whether it belongs to one of the names that say where a row is from.
    pub fn is_identity(&self) -> bool {
        IDENTITY.contains(&self.name.as_str())
    }

    /// Whether latency grows along it.
    pub fn is_sweep(&self) -> bool {
        self.pairs >= PAIRS
            && self.falls as f64 <= FALLING * self.pairs as f64
            && median(&self.growth) >= GROWS
    }

    fn add(&mut self, column: &Column, rows: usize) {
        self.files += 1;
        self.nulls |= column.has_nulls();
        let kind = match (self.kind, column.kind()) {
            (None, kind) | (kind, None) => kind,
            (Some(known), Some(found)) if known == found => Some(known),
            (
                Some(ColumnKind::Int | ColumnKind::Number),
                Some(ColumnKind::Int | ColumnKind::Number),
            ) => Some(ColumnKind::Number),
            _ => Some(ColumnKind::Text),
        };
        self.kind = kind;
        let mut values = BTreeSet::new();
        for row in 0..column.len() {
            values.insert(column.json(row).to_string());
            // Enough to tell an id from a name.
            if values.len() > rows / 2 + 1 {
                break;
            }
        }
        self.varies |= values.len() > 1;
        self.unlike &= values.len() > rows / 2 && rows > 3;
        let only = values.into_iter().next().filter(|_| !self.varies);
        self.constant = match self.files {
            1 => only,
            _ => self.constant.take().filter(|known| Some(known) == only.as_ref()),
        };
        if self.unit().is_some() {
            self.zero |= (0..rows).any(|row| column.number(row) == 0.0);
        }
    }
}

impl<'a> Learned<'a> {
    pub fn new(name: &'a str, family: String, specs: &'a Specs) -> Self {
        let known = || specs.tables.values();
        let mut peers = known().filter(|s| s.family == family && s.name != name).peekable();
        Self {
            name,
            files: 0,
            rows: 0,
            repeated: 0,
            columns: Vec::new(),
            alone: peers.peek().is_some() && peers.all(|s| s.filling == Filling::Never),
            known_parts: known().flat_map(|s| &s.key).map(|part| part.name.clone()).collect(),
            family,
            specs,
        }
    }

    /// Learns from a file.
    ///
    /// # Errors
    ///
    /// When a column of it cannot be looked at, which is a fault of this program.
    pub fn add(&mut self, file: &TableFile, table: &Table) -> Result<()> {
        self.files += 1;
        self.rows += table.rows;
        for (name, column) in table.columns() {
            let at = self.columns.iter().position(|c| c.name == name);
            let at = at.unwrap_or_else(|| {
                self.columns.push(LearnedColumn::new(name));
                self.columns.len() - 1
            });
            self.columns[at].add(column, table.rows);
        }
        self.sums(table);
        self.series(file, table)
            .map_err(|why| Error::caused(file.entry.path.as_str(), "please report it", why))
    }

    /// The columns that a lookup returns, with what makes them ms.
    pub fn latencies(&self) -> Vec<(&str, bool)> {
        let times = |c: &'_ LearnedColumn| match c.unit() {
            Some(Unit::Ms) => Some(false),
            Some(Unit::Us) => Some(true),
            _ => None,
        };
        let named: Vec<(&str, bool)> =
            self.columns.iter().filter_map(|c| Some((c.name.as_str(), times(c)?))).collect();
        // Where there is a latency as such, the others are its parts.
        let whole: Vec<(&str, bool)> = named
            .iter()
            .filter(|(name, _)| matches!(measured_unit(name), Some(Unit::Ms)))
            .copied()
            .collect();
        if whole.is_empty() { named } else { whole }
    }

    /// Columns that the key is made of, most likely: sizes, flags, and names that distinguish rows or that other
    /// tables are keyed by.
    pub fn key(&self) -> Vec<&LearnedColumn> {
        self.columns.iter().filter(|column| self.is_key_part(column)).collect()
    }

    fn is_key_part(&self, column: &LearnedColumn) -> bool {
        let name = column.name.as_str();
        if column.unit().is_some() || ORIGIN.contains(&name) || KeyPart::column(name).is_none() {
            return false;
        }
        let known = self.known_parts.contains(name) || name.ends_with("dtype");
        match column.kind {
            Some(ColumnKind::Text) if column.is_identity() => column.varies,
            Some(ColumnKind::Text) => known || column.varies && !column.unlike,
            Some(ColumnKind::Number) => known,
            Some(_) => true,
            None => false,
        }
    }

    /// Notes whether latency sums up columns in µs.
    fn sums(&mut self, table: &Table) {
        let parts: Vec<&Column> = table
            .columns()
            .filter(|(name, _)| measured_unit(name) == Some(Unit::Us))
            .map(|(_, column)| column)
            .collect();
        if parts.is_empty() {
            return;
        }
        let sum = |row: usize| parts.iter().map(|c| c.number(row)).sum::<f64>();
        for learned in self.columns.iter_mut().filter(|c| c.name == "latency") {
            let Some(latency) = table.column(&learned.name) else { continue };
            let ratios: Vec<f64> = (0..table.rows)
                .map(|row| latency.number(row) / sum(row))
                .filter(|ratio| ratio.is_finite())
                .collect();
            learned.in_us |= !ratios.is_empty() && (median(&ratios) - 1.0).abs() <= SAME;
        }
    }

    /// Counts rows that repeat a key, and how latency grows along each of its numbers.
    fn series(
        &mut self,
        file: &TableFile,
        table: &Table,
    ) -> Result<(), crate::base::expr::ExprError> {
        let Some((name, _)) = self.latencies().first().map(|(name, us)| ((*name).to_owned(), *us))
        else {
            return Ok(());
        };
        let Some(latency) = table.column(&name) else { return Ok(()) };
        let names: Vec<String> = self.key().iter().map(|c| c.name.clone()).collect();
        let parts: Vec<KeyPart> = names.iter().filter_map(|name| KeyPart::column(name)).collect();
        let columns: Vec<(String, ColumnKind)> = table
            .columns()
            .map(|(name, c)| (name.to_owned(), c.kind().unwrap_or(ColumnKind::Text)))
            .collect();
        let spec = TableSpec::inferred(self.name, &self.family, &columns);
        let scope = TableScope::new(table, &spec, &file.place, None, &self.specs.lookups);
        let keys = Keys::new(&parts, &scope)?;
        let distinct: BTreeSet<u64> = keys.hashes().iter().copied().collect();
        self.repeated += table.rows - distinct.len();
        for (number, part) in names.iter().enumerate() {
            let (Some(along), Some(at)) =
                (keys.numbers(number), self.columns.iter().position(|c| c.name == *part))
            else {
                continue;
            };
            let mut series: BTreeMap<u64, Vec<(f64, f64)>> = BTreeMap::new();
            for row in 0..table.rows {
                let (x, time) = (along.get(row), latency.number(row));
                if x.is_finite() && time > 0.0 && time.is_finite() {
                    series.entry(keys.without(number, row)).or_default().push((x, time));
                }
            }
            for points in series.values_mut() {
                self.columns[at].follow(points);
            }
        }
        Ok(())
    }
}

impl LearnedColumn {
    /// Follows latency along a series of points.
    fn follow(&mut self, points: &mut Vec<(f64, f64)>) {
        points.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
        points.dedup_by_key(|point| point.0);
        let [(_, first), .., (_, last)] = points[..] else { return };
        self.growth.push(last / first);
        self.pairs += points.len() - 1;
        self.falls += points.windows(2).filter(|pair| pair[1].1 < pair[0].1 * (1.0 - FALL)).count();
    }
}
