//! What the loader serves of a table before and after, paired by the loader's own key.
//!
//! Two rows are of one key where the loader would serve only one of them. What the key does not read is
//! an attribute: a table that was measured again on another device serves the same keys, with other
//! latencies and another device.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::RowDiff;
use super::ratios::{LatencyChange, PairedTables};
use crate::base::expr::ExprError;
use crate::base::stats::quantile;
use crate::database::catalog::TableFile;
use crate::database::served::rows::{has_key, served_rows};
use crate::database::table::{Column, Keys, Table, TableScope};
use crate::specs::{IDENTITY, Lookups, TableSpec, measured_unit};

/// A latency this many times longer or shorter is counted by itself: reviewers ask for these keys.
const FAR_FACTOR: f64 = 2.0;

/// Values of an attribute that are shown, at most.
const SHOWN_VALUES: usize = 5;

/// The two sides of a comparison, as indices.
const BASE: usize = 0;
const HEAD: usize = 1;

/// What is served before and after.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ServedDiff {
    /// Keys that are served before and after.
    pub common: u64,
    /// Keys that are served no more.
    pub lost: u64,
    /// Keys that were not served before.
    pub gained: u64,
    /// Latency after over before, of the common keys that have both, sorted.
    pub ratios: Vec<f64>,
    /// Common keys of which anything served changed, a latency or another measured column.
    pub changed: u64,
    /// Attributes of which the served rows of common keys say something else than before.
    pub attributes: Vec<AttributeChange>,
    /// Slices of the key, by its texts, where they differ from each other.
    pub slices: Vec<SliceDiff>,
    /// The keys that are served no more.
    pub lost_keys: Vec<LostKey>,
    /// The slices of the keys that are served no more.
    pub lost_slices: Vec<SliceName>,
    /// Common keys that had a measurement and have none, by column.
    pub unmeasured: BTreeMap<String, u64>,
    /// Rows of the base and of the head that serve the common keys.
    pub pairs: Vec<(u32, u32)>,
    /// A hash of the loader's key of every row, of the base and of the head.
    pub(super) keys: (Vec<u64>, Vec<u64>),
}

/// A key that is served no more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LostKey {
    /// A hash of the key: equal keys hash alike in every table.
    pub hash: u64,
    /// Its slice, as an index.
    pub slice: u32,
}

/// A slice's texts, by part of the key.
pub type SliceName = Vec<(String, String)>;

/// An attribute that changed: `device: NVIDIA GB300 → NVIDIA B300 SXM6 AC`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttributeChange {
    /// The column.
    pub column: String,
    /// What the rows said, most frequent values first.
    pub before: Vec<String>,
    /// What they say.
    pub after: Vec<String>,
    /// Common keys whose row says something else.
    pub keys: u64,
}

/// What happened to a part of the key space.
#[derive(Debug, Clone, PartialEq)]
pub struct SliceDiff {
    /// The slice, by the texts of the key.
    pub slice: Vec<(String, String)>,
    /// Keys served before and after.
    pub common: u64,
    /// Keys served no more.
    pub lost: u64,
    /// Keys not served before.
    pub gained: u64,
    /// The middle ratio; none where no key has one.
    pub median_ratio: Option<f64>,
}

impl ServedDiff {
    /// The middle ratio of the latencies, after over before; none where no key has both.
    pub fn median_ratio(&self) -> Option<f64> {
        (!self.ratios.is_empty()).then(|| quantile(&self.ratios, 0.5))
    }

    /// Common keys that take more than twice as long.
    pub fn slower_2x(&self) -> u64 {
        self.ratios.iter().filter(|r| **r > FAR_FACTOR).count() as u64
    }

    /// Common keys that take less than half the time.
    pub fn faster_2x(&self) -> u64 {
        self.ratios.iter().filter(|r| **r < 1.0 / FAR_FACTOR).count() as u64
    }

    /// Whether every latency is what it was, to the bit.
    pub fn same_latencies(&self) -> bool {
        self.ratios.iter().all(|r| *r == 1.0)
    }

    /// Sums up several tables.
    pub fn sum<'a>(all: impl IntoIterator<Item = &'a Self>) -> Self {
        let mut sum = Self::default();
        for one in all {
            sum.common += one.common;
            sum.lost += one.lost;
            sum.gained += one.gained;
            sum.changed += one.changed;
            sum.ratios.extend(&one.ratios);
        }
        sum.ratios.sort_by(f64::total_cmp);
        sum
    }
}

/// The keys that a table serves.
pub struct ServedKeys {
    /// A hash of each: equal keys hash alike in every table.
    pub hashes: Vec<u64>,
    /// Their slices.
    pub slices: BTreeSet<SliceName>,
}

/// The keys that a table serves; none where no loader's key can be made of its columns.
///
/// # Errors
///
/// When a formula of the spec does not fit the table's columns.
pub fn served_keys(
    table: &Table,
    file: &TableFile,
    spec: &TableSpec,
    lookups: &Lookups,
) -> Result<ServedKeys, ExprError> {
    let mut served = ServedKeys { hashes: Vec::new(), slices: BTreeSet::new() };
    let scope = TableScope::new(table, spec, &file.place, None, lookups);
    if spec.inferred || spec.key.is_empty() || !has_key(&scope) {
        return Ok(served);
    }
    let keys = Keys::new(&spec.key, &scope)?;
    let mut codes: BTreeSet<u64> = BTreeSet::new();
    for (hash, row) in served_rows(&scope, &keys)? {
        served.hashes.push(hash);
        if codes.insert(keys.text_code(row as usize)) {
            served.slices.insert(keys.texts(row as usize));
        }
    }
    Ok(served)
}

/// Keys of both sides: rows of the common ones, of those lost and of those gained.
#[derive(Default)]
pub(super) struct Joined {
    pub common: Vec<(u32, u32)>,
    /// With the hash of their key.
    pub lost: Vec<(u64, u32)>,
    pub gained: Vec<u32>,
}

pub(super) fn join(base: &[(u64, u32)], head: &[(u64, u32)]) -> Joined {
    let mut joined = Joined::default();
    let (mut b, mut h) = (0, 0);
    while b < base.len() || h < head.len() {
        match (base.get(b), head.get(h)) {
            (Some((before, row)), Some((after, _))) if before < after => {
                joined.lost.push((*before, *row));
                b += 1;
            }
            (Some((before, _)), Some((after, row))) if after < before => {
                joined.gained.push(*row);
                h += 1;
            }
            (Some((_, before)), Some((_, after))) => {
                joined.common.push((*before, *after));
                (b, h) = (b + 1, h + 1);
            }
            (Some((before, row)), None) => {
                joined.lost.push((*before, *row));
                b += 1;
            }
            (None, Some((_, row))) => {
                joined.gained.push(*row);
                h += 1;
            }
            (None, None) => break,
        }
    }
    joined
}

impl PairedTables<'_> {
    /// Compares what is served; none where no loader's key can be made of the columns.
    ///
    /// # Errors
    ///
    /// When a formula of the spec does not fit the tables' columns.
    pub fn served(&self) -> Result<Option<ServedDiff>, ExprError> {
        if self.spec.inferred || self.spec.key.is_empty() {
            return Ok(None);
        }
        let (base, head) = self.tables;
        let base_scope = base.map(|table| self.scope(self.files.0, table));
        let head_scope = head.map(|table| self.scope(self.files.1, table));
        if [&base_scope, &head_scope].into_iter().flatten().any(|scope| !has_key(scope)) {
            return Ok(None);
        }
        let base_keys = self.keys(base_scope.as_ref())?;
        let head_keys = self.keys(head_scope.as_ref())?;
        let before = rows_of(base_scope.as_ref(), base_keys.as_ref())?;
        let after = rows_of(head_scope.as_ref(), head_keys.as_ref())?;
        let joined = join(&before, &after);
        let mut served = ServedDiff {
            common: joined.common.len() as u64,
            lost: joined.lost.len() as u64,
            gained: joined.gained.len() as u64,
            ..ServedDiff::default()
        };
        let latencies = self.latencies(&joined.common)?;
        served.ratios = latencies.iter().filter_map(LatencyChange::ratio).collect();
        served.ratios.sort_by(f64::total_cmp);
        if let (Some(base), Some(head)) = (base, head) {
            served.changed = changed_keys(base, head, &joined.common);
            served.unmeasured = unmeasured(self.spec, base, head, &joined.common);
            served.attributes = attributes(self.spec, base, head, &joined.common);
        }
        served.slices = slices(
            &joined,
            &latencies,
            base_keys.as_ref(),
            head_keys.as_ref(),
            served.median_ratio(),
        );
        served.pairs = joined.common;
        if let Some(keys) = &base_keys {
            (served.lost_keys, served.lost_slices) = lost_keys(keys, &joined.lost);
        }
        let hashes = |keys: &Option<Keys<'_>>| {
            keys.as_ref().map(|keys| keys.hashes().to_vec()).unwrap_or_default()
        };
        served.keys = (hashes(&base_keys), hashes(&head_keys));
        Ok(Some(served))
    }

    /// Columns that are there on one side only, or of which a row that stays holds something else: rows
    /// that serve a key on both sides, and rows that the row diff pairs.
    pub fn columns_changed(&self, rows: &RowDiff, served: Option<&ServedDiff>) -> Vec<String> {
        let (Some(base), Some(head)) = self.tables else { return Vec::new() };
        let pairs = served.map_or(&[][..], |s| &s.pairs).iter().chain(&rows.changed).copied();
        columns_changed(base, head, pairs).into_iter().map(str::to_owned).collect()
    }

    /// Whether one of the columns is part of the latency that a lookup returns, or of its key.
    pub fn changes_latency(&self, columns: &[String]) -> bool {
        let parts = self.spec.latency.iter().chain(&self.spec.key);
        let read: BTreeSet<&str> = parts.flat_map(|part| part.value.columns()).collect();
        columns.iter().any(|column| read.contains(column.as_str()))
    }

    fn keys<'s>(
        &'s self,
        scope: Option<&'s TableScope<'_>>,
    ) -> Result<Option<Keys<'s>>, ExprError> {
        scope.map(|scope| Keys::new(&self.spec.key, scope)).transpose()
    }
}

pub(super) fn rows_of(
    scope: Option<&TableScope<'_>>,
    keys: Option<&Keys<'_>>,
) -> Result<Vec<(u64, u32)>, ExprError> {
    match (scope, keys) {
        (Some(scope), Some(keys)) => served_rows(scope, keys),
        _ => Ok(Vec::new()),
    }
}

/// The columns that are there on one side only, or hold something else in one of the row pairs.
pub(super) fn columns_changed<'t>(
    base: &'t Table,
    head: &'t Table,
    pairs: impl Iterator<Item = (u32, u32)> + Clone,
) -> Vec<&'t str> {
    let mut changed = Vec::new();
    for (name, before) in base.columns() {
        let differs = match head.column(name) {
            None => true,
            Some(after) => {
                pairs.clone().any(|(b, h)| !same_cell((before, b as usize), (after, h as usize)))
            }
        };
        if differs {
            changed.push(name);
        }
    }
    changed.extend(head.columns().map(|(name, _)| name).filter(|n| base.column(n).is_none()));
    changed
}

/// Keys that are lost, with their slices, by their hashes and rows of the base.
fn lost_keys(keys: &Keys<'_>, rows: &[(u64, u32)]) -> (Vec<LostKey>, Vec<SliceName>) {
    let mut names: BTreeMap<SliceName, u32> = BTreeMap::new();
    let mut codes: HashMap<u64, u32> = HashMap::new();
    let mut slice_of = |row: usize| {
        *codes.entry(keys.text_code(row)).or_insert_with(|| {
            let next = names.len() as u32;
            *names.entry(keys.texts(row)).or_insert(next)
        })
    };
    let lost = rows.iter();
    let lost = lost.map(|(hash, row)| LostKey { hash: *hash, slice: slice_of(*row as usize) });
    let lost = lost.collect();
    let mut slices = vec![SliceName::new(); names.len()];
    for (name, number) in names {
        slices[number as usize] = name;
    }
    (lost, slices)
}

/// Common keys whose row had a measurement beside the latency that it has no more, by column. Zero is none:
/// a meter that was not read leaves it.
fn unmeasured(
    spec: &TableSpec,
    base: &Table,
    head: &Table,
    common: &[(u32, u32)],
) -> BTreeMap<String, u64> {
    let loaded = spec.loaded_columns();
    let is_beside = |name: &str| measured_unit(name).is_some() && !loaded.contains(name);
    let holds = |column: &Column, row: u32| {
        !column.is_null(row as usize) && column.number(row as usize) > 0.0
    };
    let mut lost = BTreeMap::new();
    for (name, before) in base.columns().filter(|(name, _)| is_beside(name)) {
        let after = head.column(name);
        let is_lost = |(b, h): &&(u32, u32)| {
            holds(before, *b) && !after.is_some_and(|after| holds(after, *h))
        };
        let keys = common.iter().filter(is_lost).count() as u64;
        if keys > 0 {
            lost.insert(name.to_owned(), keys);
        }
    }
    lost
}

/// Common keys whose row holds another measurement, in a column that both sides have.
fn changed_keys(base: &Table, head: &Table, common: &[(u32, u32)]) -> u64 {
    let measured = base.columns().filter(|(name, _)| measured_unit(name).is_some());
    let both: Vec<(&Column, &Column)> =
        measured.filter_map(|(name, column)| Some((column, head.column(name)?))).collect();
    let differs = |(b, h): &&(u32, u32)| {
        both.iter().any(|(base, head)| !same_cell((base, *b as usize), (head, *h as usize)))
    };
    common.iter().filter(differs).count() as u64
}

/// Whether two cells of two tables hold the same, or both nothing.
fn same_cell((a, row_a): (&Column, usize), (b, row_b): (&Column, usize)) -> bool {
    match (a, b) {
        (Column::Text { .. }, Column::Text { .. }) => a.text(row_a) == b.text(row_b),
        (Column::Int { values: x, nulls: None }, Column::Int { values: y, nulls: None }) => {
            x[row_a] == y[row_b]
        }
        (Column::Text { .. } | Column::Other(_), _)
        | (_, Column::Text { .. } | Column::Other(_)) => a.is_null(row_a) && b.is_null(row_b),
        _ => {
            let (x, y) = (a.number(row_a), b.number(row_b));
            x == y || (x.is_nan() && y.is_nan())
        }
    }
}

/// The identity's columns that the loader does not key on, where the rows of common keys differ in them.
fn attributes(
    spec: &TableSpec,
    base: &Table,
    head: &Table,
    common: &[(u32, u32)],
) -> Vec<AttributeChange> {
    let keyed: BTreeSet<&str> = spec.key.iter().flat_map(|p| p.value.columns()).collect();
    let mut changes = Vec::new();
    for name in IDENTITY.into_iter().filter(|name| !keyed.contains(name)) {
        let (Some(before), Some(after)) = (base.column(name), head.column(name)) else { continue };
        let mut counts: [BTreeMap<&str, u64>; 2] = Default::default();
        let mut keys = 0;
        for (b, h) in common {
            let (was, is) = (before.text(*b as usize), after.text(*h as usize));
            if was != is {
                keys += 1;
                *counts[0].entry(was.unwrap_or("")).or_default() += 1;
                *counts[1].entry(is.unwrap_or("")).or_default() += 1;
            }
        }
        if keys > 0 {
            let [was, is] = counts.map(most_frequent);
            changes.push(AttributeChange { column: name.to_owned(), before: was, after: is, keys });
        }
    }
    changes
}

fn most_frequent(counts: BTreeMap<&str, u64>) -> Vec<String> {
    let mut counts: Vec<(&str, u64)> = counts.into_iter().collect();
    counts.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
    counts.into_iter().take(SHOWN_VALUES).map(|(value, _)| value.to_owned()).collect()
}

/// What is gathered of a slice.
#[derive(Default)]
struct Gathered {
    common: u64,
    lost: u64,
    gained: u64,
    ratios: Vec<f64>,
}

/// The slices of both sides, each side's by the codes of its own texts.
#[derive(Default)]
struct Slices {
    gathered: Vec<Gathered>,
    numbers: BTreeMap<SliceName, usize>,
    codes: [HashMap<u64, usize>; 2],
}

impl Slices {
    fn of(&mut self, side: usize, keys: &Keys<'_>, row: u32) -> &mut Gathered {
        let Self { gathered, numbers, codes } = self;
        let number = *codes[side].entry(keys.text_code(row as usize)).or_insert_with(|| {
            *numbers.entry(keys.texts(row as usize)).or_insert_with(|| {
                gathered.push(Gathered::default());
                gathered.len() - 1
            })
        });
        &mut gathered[number]
    }
}

/// Slices that differ from the table as a whole: their middle ratio by more than [`super::FAR`], or by
/// being there on one side only. None where there is one slice.
fn slices(
    joined: &Joined,
    latencies: &[LatencyChange],
    base: Option<&Keys<'_>>,
    head: Option<&Keys<'_>>,
    whole: Option<f64>,
) -> Vec<SliceDiff> {
    let mut found = Slices::default();
    if let Some(keys) = head {
        for (i, (_, row)) in joined.common.iter().enumerate() {
            let gathered = found.of(HEAD, keys, *row);
            gathered.common += 1;
            gathered.ratios.extend(latencies.get(i).and_then(LatencyChange::ratio));
        }
        joined.gained.iter().for_each(|row| found.of(HEAD, keys, *row).gained += 1);
    }
    if let Some(keys) = base {
        joined.lost.iter().for_each(|(_, row)| found.of(BASE, keys, *row).lost += 1);
    }
    if found.numbers.len() < 2 {
        return Vec::new();
    }
    let Slices { mut gathered, numbers, .. } = found;
    let diffs = numbers.into_iter().map(|(slice, number)| {
        let Gathered { common, lost, gained, mut ratios } = std::mem::take(&mut gathered[number]);
        ratios.sort_by(f64::total_cmp);
        let median_ratio = (!ratios.is_empty()).then(|| quantile(&ratios, 0.5));
        SliceDiff { slice, common, lost, gained, median_ratio }
    });
    diffs.filter(|diff| stands_out(diff, whole)).collect()
}

fn stands_out(diff: &SliceDiff, whole: Option<f64>) -> bool {
    let one_sided = diff.common == 0 || diff.lost > 0 || diff.gained > 0;
    let apart = match (diff.median_ratio, whole) {
        (Some(own), Some(whole)) => (own / whole - 1.0).abs() > super::FAR,
        _ => false,
    };
    one_sided || apart
}
