//! The rows of one file, grouped by the key parts that a lookup must match exactly.
//!
//! A file is read and grouped once, whoever asks: both states of a comparison, and every version that
//! it is a donor of.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::OnceLock;

use hashbrown::{HashMap, HashSet};

use super::cells::{Located, LocatedRow, Rows, locate_rows};
use super::names::NameCodes;
use super::operations::TableName;
use super::{Reason, Table};

/// Key parts that must match exactly, texts by their number in [`NameCodes`]; unused parts are 0.
pub type SliceKey = [u32; 9];

/// Whether two keys are the same: in line, since it is asked of every row, and a comparison of arrays is a
/// call.
fn is_same_slice(a: &SliceKey, b: &SliceKey) -> bool {
    a.iter().zip(b).fold(0, |differs, (a, b)| differs | (a ^ b)) == 0
}

/// The slice of a GEMM's shape: a lookup needs the rows of a few of a dtype's thousand shapes.
pub(super) fn shape_slice(dtype: u32, shape: [u64; 2]) -> SliceKey {
    let [n, k] = shape.map(|size| [size as u32, (size >> 32) as u32]);
    [dtype, n[0], n[1], k[0], k[1], 0, 0, 0, 0]
}

/// The shape of such a slice.
fn shape_of(key: &SliceKey) -> [u64; 2] {
    let [_, n, n_high, k, k_high, ..] = key.map(u64::from);
    [n | n_high << 32, k | k_high << 32]
}

/// A row of a table, by the place of its file among the table's sources.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct RowRef {
    /// Index among the sources.
    pub source: u16,
    /// Index in its file.
    pub row: u32,
    /// Whether its power was measured too.
    pub powered: bool,
}

/// A row as interpolators see it.
#[derive(Debug, Clone, Copy)]
pub struct Leaf {
    /// Coordinates, outer first; unused ones are 0.
    pub at: [u64; 3],
    /// Latency, ms.
    pub ms: f64,
    /// Where it comes from: in the order of reading.
    pub row: RowRef,
}

/// A row of a file. Small, since a system's tables have millions: what few rows need lies beside them.
#[derive(Debug, Clone, Copy)]
pub(super) struct FileRow {
    /// Coordinates; those that exceed this are in [`FileSlices::wide`], and the first is [`WIDE`] here.
    at: [u32; 3],
    /// Its index in the file.
    pub row: u32,
    /// Latency, ms.
    pub ms: f64,
}

/// Stands for coordinates that are kept apart.
const WIDE: u32 = u32::MAX;

/// The rows of a file by slice, each slice in file order.
#[derive(Debug, Default)]
pub struct FileSlices {
    /// Where the rows of each slice lie in `rows`.
    slices: HashMap<SliceKey, Range<u32>>,
    rows: Vec<FileRow>,
    /// The lowest and the highest outer coordinate of each slice.
    spans: OnceLock<HashMap<SliceKey, [u64; 2]>>,
    /// Rows that the loader refuses to load, each with its kernel_source: one of them fails the table.
    faults: Vec<(u32, String)>,
    /// Rows whose power was measured; empty where none was.
    powered: Vec<bool>,
    /// The values of kernel_source, each with the first of the rows one after the other that have it.
    kernels: Vec<(u32, u32)>,
    /// Coordinates that exceed 32 bits, by row: sizes of messages.
    wide: HashMap<u32, [u64; 3]>,
}

impl FileSlices {
    /// The columns of a table that they are made of.
    pub(super) fn columns(name: TableName) -> BTreeSet<&'static str> {
        let mut columns = name.columns().names();
        columns.insert("power");
        columns
    }

    /// Groups the rows of a decoded table.
    ///
    /// # Errors
    ///
    /// Those of [`locate_rows`]. A row that the loader refuses becomes a fault, since a filter may leave
    /// it out.
    pub fn group(table: &Table, name: TableName, names: &NameCodes) -> Result<Self, Reason> {
        let mut grouping = Grouping::with_capacity(table.rows);
        locate_rows(table, name, names, Rows::All, |row| grouping.take(row))?;
        Ok(FileSlices { powered: powered(table), ..grouping.finish() })
    }

    /// Whether the power of a row was measured.
    pub(super) fn is_powered(&self, row: u32) -> bool {
        self.powered.get(row as usize).copied().unwrap_or(false)
    }

    /// The coordinates of a row.
    pub(super) fn at(&self, row: &FileRow) -> [u64; 3] {
        let wide = || self.wide.get(&row.row).copied();
        (row.at[0] == WIDE).then(wide).flatten().unwrap_or(row.at.map(u64::from))
    }

    /// The kernel_source of a row.
    pub(super) fn kernel(&self, row: &FileRow) -> Option<u32> {
        let runs = self.kernels.partition_point(|(first, _)| *first <= row.row);
        self.kernels.get(runs.checked_sub(1)?).map(|(_, kernel)| *kernel)
    }

    /// The keys of its slices, with their rows.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&SliceKey, &[FileRow])> {
        self.slices.iter().map(|(key, range)| (key, self.within(range)))
    }

    fn within(&self, range: &Range<u32>) -> &[FileRow] {
        &self.rows[range.start as usize..range.end as usize]
    }

    /// The shapes of a dtype with their lowest and highest m, of the rows that pass a filter.
    pub(super) fn shapes(
        &self,
        dtype: u32,
        kernels: Option<&HashSet<u32>>,
    ) -> Vec<([u64; 2], [u64; 2])> {
        let of_dtype = |key: &&SliceKey| key[0] == dtype;
        let Some(kernels) = kernels else {
            let spans = self.spans.get_or_init(|| {
                let all = self.iter().filter_map(|(key, rows)| Some((*key, self.span(rows)?)));
                all.collect()
            });
            let own = spans.iter().filter(|(key, _)| of_dtype(key));
            return own.map(|(key, span)| (shape_of(key), *span)).collect();
        };
        let mut shapes = Vec::new();
        for (key, rows) in self.iter().filter(|(key, _)| of_dtype(key)) {
            let is_admitted =
                |row: &&FileRow| self.kernel(row).is_some_and(|k| kernels.contains(&k));
            let span = self.span(rows.iter().filter(is_admitted));
            shapes.extend(span.map(|span| (shape_of(key), span)));
        }
        shapes
    }

    /// The rows of a slice, in file order.
    pub(super) fn rows(&self, key: &SliceKey) -> &[FileRow] {
        self.slices.get(key).map_or(&[], |range| self.within(range))
    }

    /// How many rows some slices have.
    pub(super) fn count(&self, keys: &[SliceKey]) -> usize {
        keys.iter().map(|key| self.rows(key).len()).sum()
    }

    /// Why the loader refuses the file, where one of the rows that pass a filter does.
    pub fn fault(&self, admits: impl Fn(u32) -> bool) -> Option<&str> {
        self.faults.iter().find(|(kernel, _)| admits(*kernel)).map(|(_, why)| why.as_str())
    }

    /// The lowest and the highest outer coordinate of some rows.
    fn span<'r>(&self, rows: impl IntoIterator<Item = &'r FileRow>) -> Option<[u64; 2]> {
        rows.into_iter().fold(None, |span, row| {
            let [outer, ..] = self.at(row);
            let [low, high] = span.unwrap_or([outer; 2]);
            Some([low.min(outer), high.max(outer)])
        })
    }
}

/// Rows with a power; the loader reads an absent one, a null and zero alike.
fn powered(table: &Table) -> Vec<bool> {
    let Some(power) = table.column("power") else { return Vec::new() };
    let rows: Vec<bool> = (0..table.rows).map(|row| power.number(row) > 0.0).collect();
    if rows.contains(&true) { rows } else { Vec::new() }
}

/// Collects rows. Most belong to the slice of the row before, or to that which came after it when it was met
/// before; neither needs a look-up.
struct Grouping {
    numbers: HashMap<SliceKey, u32>,
    /// The slices in the order in which they are met.
    slices: Vec<CollectedSlice>,
    /// Rows in file order, each with the number of its slice.
    rows: Vec<FileRow>,
    of_row: Vec<u32>,
    last: u32,
    faults: Vec<(u32, String)>,
    kernels: Vec<(u32, u32)>,
    wide: HashMap<u32, [u64; 3]>,
}

/// A slice while rows are collected.
struct CollectedSlice {
    key: SliceKey,
    /// Its rows so far.
    rows: u32,
    /// The slice that came after it, by its number.
    next: u32,
}

impl Grouping {
    fn with_capacity(rows: usize) -> Self {
        Self {
            numbers: HashMap::new(),
            slices: Vec::new(),
            rows: Vec::with_capacity(rows),
            of_row: Vec::with_capacity(rows),
            last: 0,
            faults: Vec::new(),
            kernels: Vec::new(),
            wide: HashMap::new(),
        }
    }

    fn take(&mut self, LocatedRow { row, ms, kernel, place }: LocatedRow) {
        match place {
            Ok(Some(Located { key, at })) => {
                let row = row as u32;
                if self.kernels.last().is_none_or(|(_, last)| *last != kernel) {
                    self.kernels.push((row, kernel));
                }
                let narrow = at.map(|size| u32::try_from(size).unwrap_or(WIDE));
                let at = if narrow.contains(&WIDE) {
                    self.wide.insert(row, at);
                    [WIDE; 3]
                } else {
                    narrow
                };
                self.add(key, FileRow { at, row, ms });
            }
            Ok(None) => {}
            Err(why) => self.fault(kernel, row, &why),
        }
    }

    fn add(&mut self, key: SliceKey, row: FileRow) {
        self.last = self.number(key);
        self.slices[self.last as usize].rows += 1;
        self.rows.push(row);
        self.of_row.push(self.last);
    }

    /// The number of the slice of a key, after the slice of the row before.
    fn number(&mut self, key: SliceKey) -> u32 {
        let Self { numbers, slices, last, .. } = self;
        let is_it = |slice: &&CollectedSlice| is_same_slice(&slice.key, &key);
        let before = slices.get(*last as usize);
        if before.filter(is_it).is_some() {
            return *last;
        }
        let next = before.map_or(0, |before| before.next);
        if slices.get(next as usize).filter(is_it).is_some() {
            return next;
        }
        let number = *numbers.entry(key).or_insert_with(|| {
            slices.push(CollectedSlice { key, rows: 0, next: 0 });
            slices.len() as u32 - 1
        });
        slices[*last as usize].next = number;
        number
    }

    fn fault(&mut self, kernel: u32, row: usize, why: &Reason) {
        if self.faults.iter().all(|(k, _)| *k != kernel) {
            self.faults.push((kernel, format!("row {row}: {why}")));
        }
    }

    fn finish(self) -> FileSlices {
        let mut end = 0;
        let mut ranges = Vec::with_capacity(self.slices.len());
        for CollectedSlice { rows, .. } in &self.slices {
            ranges.push(end..end + rows);
            end += rows;
        }
        let rows = if self.of_row.is_sorted() {
            self.rows
        } else {
            sorted(&self.rows, &self.of_row, &ranges)
        };
        let keys = self.slices.into_iter().map(|slice| slice.key);
        FileSlices {
            slices: keys.zip(ranges).collect(),
            rows,
            faults: self.faults,
            kernels: self.kernels,
            wide: self.wide,
            ..FileSlices::default()
        }
    }
}

/// Rows by slice, each slice in file order: a counting sort.
fn sorted(rows: &[FileRow], of_row: &[u32], ranges: &[Range<u32>]) -> Vec<FileRow> {
    let mut next: Vec<u32> = ranges.iter().map(|range| range.start).collect();
    let mut order = vec![0_u32; rows.len()];
    for (row, slice) in (0..).zip(of_row) {
        let place = &mut next[*slice as usize];
        order[*place as usize] = row;
        *place += 1;
    }
    order.iter().map(|row| rows[*row as usize]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::database::catalog::Format;

    /// Synthetic: messages of up to 2³³ bytes by two kernels.
    #[test]
    fn rows_keep_coordinates_and_kernels_of_any_size_and_order() {
        let sizes = [1_u64 << 33, 8, u64::from(u32::MAX), 4];
        let kernels = ["nccl", "nccl", "oneshot", "nccl"];
        let row = |(size, kernel): (&u64, &str)| format!("half,all_reduce,{kernel},8,{size},0.5\n");
        let rows: String = sizes.iter().zip(kernels).map(row).collect();
        let text =
            format!("nccl_dtype,op_name,kernel_source,num_gpus,message_size,latency\n{rows}");
        let table = Table::decode(text.as_bytes(), Format::Csv, &|_| false).unwrap();
        let names = NameCodes::default();
        let slices = FileSlices::group(&table, TableName::Nccl, &names).unwrap();
        let (_, rows) = slices.iter().next().unwrap();
        let read: Vec<u64> = rows.iter().map(|row| slices.at(row)[0]).collect();
        assert_eq!(read, sizes);
        let read: Vec<Option<u32>> = rows.iter().map(|row| slices.kernel(row)).collect();
        assert_eq!(read, kernels.map(|kernel| Some(names.code(kernel))));
        let shapes = slices.shapes(names.code("half"), None);
        assert_eq!(shapes.iter().map(|(_, span)| *span).collect::<Vec<_>>(), [[4, 1 << 33]]);
    }
}
