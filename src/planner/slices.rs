//! Groups the rows of one file by slice, the key parts that a lookup must match. The table's spec gives
//! key, filter and latency.

use std::collections::{BTreeMap, BTreeSet};

use hashbrown::HashMap;

use super::names::NameCodes;
use crate::base::expr::{ExprError, Scope, Value, WholeNumbers};
use crate::base::reason::Reason;
use crate::database::served::{RowFault, row_faults};
use crate::database::table::{
    CodedColumn, Combinations, Keys, NumberedRows, PartValues, Table, TableScope,
};
use crate::specs::TableSpec;

/// A slice key: first the parts that a lookup must match, in the spec's order, then the parts for which
/// nearby rows may answer. Texts are numbers of [`NameCodes`]; unused parts are 0.
pub(crate) type SliceKey = [u32; 9];

/// Creates a key from its first parts.
pub(super) fn slice_key<const N: usize>(parts: [u32; N]) -> SliceKey {
    let mut key = SliceKey::default();
    key[..N].copy_from_slice(&parts);
    key
}

/// The rows of a slice that one kernel measured.
#[derive(Debug)]
pub(super) struct SlicePart {
    /// Number of the kernel's name.
    pub kernel: u32,
    /// Row numbers in the file, ascending.
    pub rows: Vec<u32>,
    /// The lowest and the highest value of the outer coordinate.
    pub span: [u64; 2],
}

/// The rows of a file, grouped by slice.
#[derive(Debug, Default)]
pub(super) struct FileSlices {
    /// Number of key parts that a lookup must match.
    exact: usize,
    slices: HashMap<SliceKey, Vec<SlicePart>>,
    /// The coordinates of all rows, outer axis first.
    axes: Vec<CodedColumn>,
    /// Latency of each row in ms.
    latency: Vec<f64>,
    /// Marks the rows whose power was measured; empty if there are none.
    powered: Vec<bool>,
    /// Reasons to refuse the file, each with the kernel of the refused row.
    faults: Vec<(u32, String)>,
}

/// The columns of a table that decide its slice keys.
pub(super) fn key_columns(spec: &TableSpec) -> BTreeSet<&str> {
    spec.loaded_columns().into_iter().chain(["kernel_source"]).collect()
}

impl FileSlices {
    /// The columns of a table that its slices are built from.
    pub(super) fn columns(spec: &TableSpec) -> BTreeSet<&str> {
        key_columns(spec).into_iter().chain(["power"]).collect()
    }

    /// Groups the rows of a table that the loader reads.
    ///
    /// # Errors
    ///
    /// If the loader cannot read the table at all. A refused row is only recorded as a fault, because a
    /// filter on kernels may exclude the row.
    pub(super) fn group(scope: &TableScope<'_>, names: &NameCodes) -> Result<Self, Reason> {
        let formula = |why: ExprError| Reason::from(why.to_string());
        let (spec, rows) = (scope.spec, scope.rows());
        let faults = row_faults(scope).map_err(formula)?;
        if let Some(whole) = faults.iter().find(|fault| fault.row.is_none()) {
            return Err(whole.why.as_str().into());
        }
        let keys = Keys::new(&spec.key, scope).map_err(formula)?;
        let kernels = scope.column("kernel_source").map(PartValues::Formula);
        let columns = KeyColumns::of(spec, &keys, kernels.as_ref(), rows, names)?;
        let filter = spec.filter.as_ref().map(|filter| filter.mask(scope)).transpose();
        let filter = filter.map_err(formula)?;
        let latency = spec.latency.first().ok_or("its spec has no latency")?;
        let latency = latency.value.numbers(scope).map_err(formula)?;
        let fault = |fault: &RowFault| {
            let row = fault.row.unwrap_or_default();
            (names.code(fault.kernel.as_deref().unwrap_or("")), format!("row {row}: {}", fault.why))
        };
        Ok(Self {
            exact: columns.parts.len() - spec.near.len(),
            slices: columns.group(rows, |row| filter.as_ref().is_none_or(|reads| reads.get(row))),
            latency: (0..rows).map(|row| latency.get(row)).collect(),
            powered: powered(scope.table),
            faults: faults.iter().map(fault).collect(),
            axes: columns.axes,
        })
    }

    /// The number of axes along which lookups interpolate.
    pub(super) fn axes(&self) -> usize {
        self.axes.len()
    }

    /// The key parts that a lookup must match, with the kernel of each slice part; unmatched parts are
    /// 0.
    pub(super) fn keys(&self) -> impl Iterator<Item = (SliceKey, u32)> {
        self.slices.iter().flat_map(|(key, parts)| {
            let mut key = *key;
            key[self.exact..].fill(0);
            parts.iter().map(move |part| (key, part.kernel))
        })
    }

    /// Every slice of the file.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&SliceKey, &[SlicePart])> {
        self.slices.iter().map(|(key, parts)| (key, &parts[..]))
    }

    /// The parts of a slice, one per kernel; empty if the file lacks the slice.
    pub(super) fn parts(&self, key: &SliceKey) -> &[SlicePart] {
        self.slices.get(key).map_or(&[], Vec::as_slice)
    }

    /// The coordinates of a row, outer first; unused ones are 0.
    pub(super) fn at(&self, row: u32) -> [u64; 3] {
        let mut at = [0; 3];
        for (at, axis) in at.iter_mut().zip(&self.axes) {
            *at = axis.get(row as usize) as u64;
        }
        at
    }

    /// The latency of a row in ms.
    pub(super) fn ms(&self, row: u32) -> f64 {
        self.latency[row as usize]
    }

    /// Returns true if the power of a row was measured.
    pub(super) fn is_powered(&self, row: u32) -> bool {
        self.powered.get(row as usize).copied().unwrap_or(false)
    }

    /// The reason to refuse the file, if the loader refuses a row of an admitted kernel.
    pub(super) fn fault(&self, admits: impl Fn(u32) -> bool) -> Option<&str> {
        self.faults.iter().find(|(kernel, _)| admits(*kernel)).map(|(_, why)| why.as_str())
    }
}

/// The key parts of a table as columns of codes.
struct KeyColumns {
    /// Key parts in the order of [`SliceKey`].
    parts: Vec<CodedColumn>,
    axes: Vec<CodedColumn>,
    kernels: CodedColumn,
}

impl KeyColumns {
    fn of(
        spec: &TableSpec,
        keys: &Keys<'_>,
        kernels: Option<&PartValues<'_>>,
        rows: usize,
        names: &NameCodes,
    ) -> Result<Self, Reason> {
        let values: BTreeMap<&str, &PartValues<'_>> = keys.names().zip(keys.values()).collect();
        let is_exact = |name: &&str| spec.axes.iter().chain(&spec.near).all(|other| other != *name);
        let column = |name: &str| coded(values[name], rows, names);
        let exact = keys.names().filter(is_exact);
        let parts: Vec<_> = exact.chain(spec.near.iter().map(String::as_str)).map(column).collect();
        let axes: Vec<_> = spec.axes.iter().map(|name| column(name)).collect();
        if axes.is_empty() || parts.len() > SliceKey::default().len() {
            return Err("its spec has no axes, or too many parts in its key".into());
        }
        let unnamed =
            || CodedColumn { codes: vec![0; rows], numbers: vec![i64::from(names.code(""))] };
        let kernels = kernels.map_or_else(unnamed, |kernels| coded(kernels, rows, names));
        Ok(Self { parts, axes, kernels })
    }

    /// Groups the rows that the loader reads.
    fn group(
        &self,
        rows: usize,
        reads: impl Fn(usize) -> bool,
    ) -> HashMap<SliceKey, Vec<SlicePart>> {
        let mut combinations = Combinations::default();
        self.parts
            .iter()
            .chain([&self.kernels])
            .for_each(|column| combinations.add_numbers(column));
        let NumberedRows { of_rows, counts } = combinations.numbers(rows);
        let mut found: Vec<Option<SlicePart>> = counts.iter().map(|_| None).collect();
        for row in (0..rows).filter(|row| reads(*row)) {
            let combination = of_rows[row] as usize;
            let part = found[combination].get_or_insert_with(|| SlicePart {
                kernel: self.kernels.get(row) as u32,
                rows: Vec::with_capacity(counts[combination] as usize),
                span: [u64::MAX, 0],
            });
            let outer = self.axes[0].get(row) as u64;
            part.rows.push(row as u32);
            part.span = [part.span[0].min(outer), part.span[1].max(outer)];
        }
        let mut slices: HashMap<SliceKey, Vec<SlicePart>> = HashMap::new();
        for part in found.into_iter().flatten() {
            let mut key = SliceKey::default();
            for (number, column) in key.iter_mut().zip(&self.parts) {
                *number = column.get(part.rows[0] as usize) as u32;
            }
            slices.entry(key).or_default().push(part);
        }
        slices
    }
}

/// The values of a key part as codes. A text becomes its number, and null becomes the number of the
/// empty text.
fn coded(values: &PartValues<'_>, rows: usize, names: &NameCodes) -> CodedColumn {
    match values {
        PartValues::Whole(WholeNumbers::Codes { codes, numbers }) => {
            CodedColumn { codes: codes.to_vec(), numbers: numbers.to_vec() }
        }
        PartValues::Whole(WholeNumbers::Values(values)) => CodedColumn::of(values),
        PartValues::Formula(Value::Number(values)) => {
            coded_rows(rows, |row| values.get(row) as i64)
        }
        PartValues::Formula(Value::Bool(values)) => coded_rows(rows, |row| values.get(row).into()),
        PartValues::Formula(Value::Text(codes, dict)) => {
            // A null has the largest code, which becomes the index behind all texts.
            let texts = dict.iter().map(AsRef::as_ref).chain([""]);
            CodedColumn {
                codes: (0..rows).map(|row| codes.get(row).min(dict.len() as u32)).collect(),
                numbers: texts.map(|text| names.code(text).into()).collect(),
            }
        }
    }
}

fn coded_rows(rows: usize, number: impl Fn(usize) -> i64) -> CodedColumn {
    CodedColumn::of(&(0..rows).map(number).collect::<Vec<i64>>())
}

/// Marks the rows with a power; empty if there are none. The loader treats an absent power, null and
/// zero alike.
fn powered(table: &Table) -> Vec<bool> {
    let Some(power) = table.column("power") else { return Vec::new() };
    let rows: Vec<bool> = (0..table.rows).map(|row| power.number(row) > 0.0).collect();
    if rows.contains(&true) { rows } else { Vec::new() }
}
