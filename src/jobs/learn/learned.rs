//! Learns the columns of a table from the rows of its files.

use std::collections::{BTreeMap, BTreeSet};

use crate::base::error::{Error, Result};
use crate::base::expr::ExprError;
use crate::base::stats::median;
use crate::database::catalog::TableFile;
use crate::database::table::{Column, Keys, Table, TableScope};
use crate::specs::{ColumnKind, Filling, IDENTITY, KeyPart, Specs, TableSpec, Unit, measured_unit};

/// Columns that state the origin of a row and are never part of a key.
const ORIGIN: [&str; 3] = ["framework", "version", "device"];

/// The minimum relative decrease of latency from one point of a series to the next that counts as a fall. Smaller
/// decreases are noise.
const FALL: f64 = 0.05;

/// A column counts as a sweep column only if latency falls in at most this share of the pairs of neighbouring points in
/// its series.
const FALLING: f64 = 0.15;

/// A column counts as a sweep column only if the median growth of its series is at least this value. The growth of a
/// series is its last latency divided by its first latency.
const GROWS: f64 = 1.2;

/// A column counts as a sweep column only if its series contain at least this number of pairs of neighbouring points in
/// total.
const PAIRS: usize = 10;

/// The column `latency` counts as a time in µs if it is the sum of the other columns in µs. To test this, `latency` is
/// divided by the sum in each row. The median of these ratios may differ from 1 by at most this value.
const SAME: f64 = 0.02;

/// The properties of a table, learned from its files so far.
pub(crate) struct LearnedTable<'a> {
    pub name: &'a str,
    pub family: String,
    pub files: usize,
    pub rows: usize,
    /// Number of rows that repeat the key of an earlier row in the same file, summed over all files.
    pub repeated: usize,
    /// The columns, in the order of first occurrence.
    pub columns: Vec<LearnedColumn>,
    /// True if, for every other table of the family that has a spec, the loader never fills missing keys from other
    /// files. False if there is no such table.
    pub peers_never_fill: bool,
    /// Names of all key parts in the specs of known tables.
    known_parts: BTreeSet<String>,
    pub specs: &'a Specs,
}

/// The properties of a column over all files.
#[derive(Default)]
pub(crate) struct LearnedColumn {
    pub name: String,
    pub kind: Option<ColumnKind>,
    /// Number of files that have the column.
    pub files: usize,
    pub nulls: bool,
    /// True if the column has several values in one file.
    pub varies: bool,
    /// The column's value if all rows of all files have the same value; otherwise `None`.
    pub constant: Option<String>,
    /// False if the column probably contains ids: every file has more than three rows, and has more than half as many
    /// distinct values as rows.
    pub repeats: bool,
    /// True if a measured column is zero in some row.
    pub zero: bool,
    /// True for the column `latency` if it contains µs. This is assumed if it is the sum of the other columns in µs.
    pub in_us: bool,
    /// Number of pairs of neighbouring points, summed over all series along this column.
    pub pairs: usize,
    pub falls: usize,
    /// For each series along this column, the last latency divided by the first latency.
    growth: Vec<f64>,
}

impl LearnedColumn {
    /// Returns the unit of a measured column; `None` for a column that is not measured.
    pub(crate) fn unit(&self) -> Option<Unit> {
        match measured_unit(&self.name)? {
            Unit::Ms if self.in_us => Some(Unit::Us),
            unit => Some(unit),
        }
    }

    /// Returns true if the column identifies what was measured or where, such as `version`, `device` or
    /// `kernel_source`.
    pub(crate) fn is_identity(&self) -> bool {
        IDENTITY.contains(&self.name.as_str())
    }

    /// Returns true if latency grows along the column.
    pub(crate) fn is_sweep(&self) -> bool {
        self.pairs >= PAIRS
            && self.falls as f64 <= FALLING * self.pairs as f64
            && median(&self.growth) >= GROWS
    }

    /// Adds a series to the statistics of latency along this column. Each point consists of its value in this column
    /// and its latency.
    fn follow(&mut self, points: &mut Vec<(f64, f64)>) {
        points.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
        points.dedup_by_key(|point| point.0);
        let [(_, first), .., (_, last)] = points[..] else { return };
        self.growth.push(last / first);
        self.pairs += points.len() - 1;
        self.falls += points.windows(2).filter(|pair| pair[1].1 < pair[0].1 * (1.0 - FALL)).count();
    }

    /// Updates the learned properties of the column with its cells in one more file. `rows` is the number of rows of
    /// that file.
    fn add(&mut self, column: &Column, rows: usize) {
        self.files += 1;
        self.nulls |= column.has_nulls();
        let is_number = |kind| matches!(kind, ColumnKind::Int | ColumnKind::Number);
        self.kind = match (self.kind, column.kind()) {
            (None, kind) | (kind, None) => kind,
            (Some(known), Some(found)) if known == found => Some(known),
            (Some(known), Some(found)) if is_number(known) && is_number(found) => {
                Some(ColumnKind::Number)
            }
            _ => Some(ColumnKind::Text),
        };
        let mut values = BTreeSet::new();
        for row in 0..column.len() {
            values.insert(column.json(row).to_string());
            // Enough values to distinguish ids from names.
            if values.len() > rows / 2 + 1 {
                break;
            }
        }
        self.varies |= values.len() > 1;
        self.repeats |= values.len() <= rows / 2 || rows <= 3;
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

impl<'a> LearnedTable<'a> {
    pub(crate) fn new(name: &'a str, family: String, specs: &'a Specs) -> Self {
        let known = || specs.tables.values();
        let mut peers = known().filter(|s| s.family == family && s.name != name).peekable();
        Self {
            name,
            files: 0,
            rows: 0,
            repeated: 0,
            columns: Vec::new(),
            peers_never_fill: peers.peek().is_some() && peers.all(|s| s.filling == Filling::Never),
            known_parts: known().flat_map(|s| &s.key).map(|part| part.name.clone()).collect(),
            family,
            specs,
        }
    }

    /// Updates the learned properties of the table with the rows of one more file.
    ///
    /// # Errors
    ///
    /// Returns an error if a column cannot be evaluated, which is a bug of this program.
    pub(crate) fn add(&mut self, file: &TableFile, table: &Table) -> Result<()> {
        self.files += 1;
        self.rows += table.rows;
        for (name, column) in table.columns() {
            let at = self.columns.iter().position(|c| c.name == name);
            let at = at.unwrap_or_else(|| {
                let name = name.to_owned();
                self.columns.push(LearnedColumn { name, ..LearnedColumn::default() });
                self.columns.len() - 1
            });
            self.columns[at].add(column, table.rows);
        }
        self.mark_sum(table);
        self.series(file, table)
            .map_err(|why| Error::caused(file.entry.path.as_str(), "please report it", why))
    }

    /// Returns the names of the latency columns, each with a flag: true for µs, false for ms. If a column contains the
    /// total latency, columns that contain a part of the latency are left out.
    pub(crate) fn latencies(&self) -> Vec<(&str, bool)> {
        let times = |c: &'_ LearnedColumn| match c.unit() {
            Some(Unit::Ms) => Some(false),
            Some(Unit::Us) => Some(true),
            _ => None,
        };
        let named: Vec<(&str, bool)> =
            self.columns.iter().filter_map(|c| Some((c.name.as_str(), times(c)?))).collect();
        // If there is a total latency in ms, the other columns are its parts.
        let is_ms = |name: &str| measured_unit(name) == Some(Unit::Ms);
        let whole: Vec<(&str, bool)> =
            named.iter().filter(|(name, _)| is_ms(name)).copied().collect();
        if whole.is_empty() { named } else { whole }
    }

    /// Returns the columns that are probably key parts: columns of whole numbers or flags, text columns that
    /// distinguish rows, and columns that are key parts of known tables.
    pub(crate) fn key(&self) -> Vec<&LearnedColumn> {
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
            Some(ColumnKind::Text) => known || column.varies && column.repeats,
            Some(ColumnKind::Number) => known,
            Some(_) => true,
            None => false,
        }
    }

    /// Marks the column `latency` as a time in µs if, in this file, it equals the sum of the columns in µs.
    fn mark_sum(&mut self, table: &Table) {
        let parts: Vec<&Column> = table
            .columns()
            .filter(|(name, _)| measured_unit(name) == Some(Unit::Us))
            .map(|(_, column)| column)
            .collect();
        if parts.is_empty() {
            return;
        }
        let sum = |row: usize| parts.iter().map(|c| c.number(row)).sum::<f64>();
        let learned = self.columns.iter_mut().find(|c| c.name == "latency");
        let (Some(latency), Some(learned)) = (table.column("latency"), learned) else { return };
        let ratios = (0..table.rows).map(|row| latency.number(row) / sum(row));
        let ratios: Vec<f64> = ratios.filter(|ratio| ratio.is_finite()).collect();
        learned.in_us |= !ratios.is_empty() && (median(&ratios) - 1.0).abs() <= SAME;
    }

    /// Counts the rows of a file that repeat the key of an earlier row. Also records how latency grows along each
    /// numeric key part.
    fn series(&mut self, file: &TableFile, table: &Table) -> Result<(), ExprError> {
        let latency = self.latencies().first().and_then(|(name, _)| table.column(name));
        let Some(latency) = latency else { return Ok(()) };
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
                    series.entry(keys.without(&[number], row)).or_default().push((x, time));
                }
            }
            for points in series.values_mut() {
                self.columns[at].follow(points);
            }
        }
        Ok(())
    }
}
