//! Reads the keys of the rows that the loader reads from a table.

use std::collections::BTreeMap;

use super::{AxisPoint, SliceName};
use crate::base::expr::ExprError;
use crate::database::catalog::TableFile;
use crate::database::served::rows::{each_read_row, has_key};
use crate::database::state::State;
use crate::database::table::{Keys, NumberedRows, PartNumbers, TableScope};
use crate::specs::TableSpec;

/// The key and the latency of a row that the loader reads.
pub(super) struct ReadKey {
    pub row: usize,
    /// The hash of the key. Equal keys have the same hash in every table.
    pub hash: u64,
    /// A hash of the key parts that are not axes.
    pub shape: u64,
    /// The values of the key along the axes of the table.
    pub point: AxisPoint,
    /// The latency in ms; 0 if the table lacks the columns of the latency.
    pub latency: f64,
}

/// Calls `each` for every row that the loader reads from a table. Returns how many rows of each slice were read. No row
/// is read if the table is damaged or lacks a key column.
pub(super) fn each_read_key(
    state: State<'_>,
    file: &TableFile,
    spec: &TableSpec,
    mut each: impl FnMut(ReadKey),
) -> Result<BTreeMap<SliceName, u64>, ExprError> {
    let Ok(table) = state.columns(file, &spec.loaded_columns()) else { return Ok(BTreeMap::new()) };
    let scope = TableScope::new(&table, spec, &file.place, None, &state.specs.lookups);
    if spec.inferred || spec.key.is_empty() || !has_key(&scope) {
        return Ok(BTreeMap::new());
    }
    let keys = Keys::new(&spec.key, &scope)?;
    let NumberedRows { of_rows, counts } = keys.slice_numbers();
    // The first row and the number of rows of each slice.
    let mut read: Vec<Option<(usize, u64)>> = vec![None; counts.len()];
    let part = |axis: &String| keys.names().position(|name| name == axis);
    let parts: Vec<usize> = spec.axes.iter().filter_map(part).collect();
    let numbers: Vec<_> = parts.iter().map(|part| keys.numbers(*part)).collect();
    let latencies = spec.latency.iter().map(|part| part.value.numbers(&scope));
    let latencies = latencies.collect::<Result<Vec<_>, _>>().unwrap_or_default();
    each_read_row(&scope, &keys, |hash, row| {
        let row = row as usize;
        let value =
            |numbers: &Option<PartNumbers<'_>>| numbers.as_ref().map_or(0.0, |n| n.get(row));
        let point = numbers.iter().map(value).collect();
        // The loader may fill several maps from one table. The difference between the two hashes identifies the map.
        let map = hash.wrapping_sub(keys.hashes()[row]);
        let shape = keys.without(&parts, row).wrapping_add(map);
        let latency = latencies.iter().map(|part| part.get(row)).sum();
        each(ReadKey { row, hash, shape, point, latency });
        read[of_rows[row] as usize].get_or_insert((row, 0)).1 += 1;
    })?;
    Ok(read.into_iter().flatten().map(|(row, rows)| (keys.texts(row), rows)).collect())
}
