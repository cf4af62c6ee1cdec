//! The rows of one file, grouped by the key parts that a lookup must match exactly.
//!
//! A file is read and grouped once, whoever asks: both states of a comparison, and every version that
//! it is a donor of.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::OnceLock;

use hashbrown::{HashMap, HashSet};

use super::asked::AskedSlices;
use super::cells::LoadedRows;
use super::grouping::GroupedRows;
use super::keys::FileKeys;
use super::names::NameCodes;
use super::operations::TableName;
use super::{Column, Reason, Table};

/// Key parts that must match exactly, texts by their number in [`NameCodes`]; unused parts are 0.
pub type SliceKey = [u32; 9];

/// The slice of a GEMM's shape: a lookup needs the rows of a few of a dtype's thousand shapes.
pub(super) fn shape_slice(dtype: u32, shape: [u64; 2]) -> SliceKey {
    let [n, k] = shape.map(|size| [size as u32, (size >> 32) as u32]);
    [dtype, n[0], n[1], k[0], k[1], 0, 0, 0, 0]
}

/// The shape of such a slice.
pub(super) fn shape_of(key: &SliceKey) -> [u64; 2] {
    let [_, n, n_high, k, k_high, ..] = key.map(u64::from);
    [n | n_high << 32, k | k_high << 32]
}

/// A row of a file. Small, since a system's tables have millions: what few rows need lies beside them.
#[derive(Debug, Clone, Copy)]
pub(super) struct FileRow {
    /// Coordinates; those that exceed this are in [`FileSlices::wide`], and the first is [`WIDE`] here.
    pub(super) at: [u32; 3],
    /// Its index in the file.
    pub row: u32,
    /// Latency, ms.
    pub ms: f64,
}

/// Stands for coordinates that are kept apart.
pub(super) const WIDE: u32 = u32::MAX;

/// The rows of a file by slice, each slice in file order.
#[derive(Debug, Default)]
pub struct FileSlices {
    /// All of its slices, those without rows here too.
    keys: FileKeys,
    /// Where the rows of each slice that may be read lie in `rows`.
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

    /// Groups the rows of a decoded table, those of the slices that are `asked` for.
    ///
    /// # Errors
    ///
    /// Those of [`LoadedRows::of`]. A row that the loader refuses becomes a fault, since a filter may leave
    /// it out.
    pub fn group(
        table: &Table,
        name: TableName,
        names: &NameCodes,
        asked: &AskedSlices,
    ) -> Result<Self, Reason> {
        let rows = LoadedRows::of(table, name, names)?;
        let grouped = GroupedRows::of(rows, asked);
        let GroupedRows { slices, rows, faults, kernels, wide, served } = grouped;
        let keys = FileKeys::of_slices(name, served);
        let (powered, spans) = (powered(table), OnceLock::new());
        Ok(Self { keys, slices, rows, faults, kernels, wide, powered, spans })
    }

    /// Its slices.
    pub(super) fn keys(&self) -> &FileKeys {
        &self.keys
    }

    /// The same; none where the loader refuses a row, so that nothing shows what it would serve.
    pub(super) fn keys_of_all_rows(&self) -> Option<&FileKeys> {
        Some(&self.keys).filter(|_| self.faults.is_empty())
    }

    /// Bytes that its rows take.
    pub(super) fn bytes(&self) -> usize {
        size_of_val(&self.rows[..])
    }

    /// Whether the power of a row was measured.
    #[inline]
    pub(super) fn is_powered(&self, row: u32) -> bool {
        self.powered.get(row as usize).copied().unwrap_or(false)
    }

    /// The coordinates of a row.
    #[inline]
    pub(super) fn at(&self, row: &FileRow) -> [u64; 3] {
        let wide = || self.wide.get(&row.row).copied();
        (row.at[0] == WIDE).then(wide).flatten().unwrap_or(row.at.map(u64::from))
    }

    /// The kernel_source of a row.
    pub(super) fn kernel(&self, row: &FileRow) -> Option<u32> {
        let runs = self.kernels.partition_point(|(first, _)| *first <= row.row);
        self.kernels.get(runs.checked_sub(1)?).map(|(_, kernel)| *kernel)
    }

    /// The keys of its slices that may be read, with their rows.
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
        let range = self.slices.get(key);
        let is_known = || self.keys.admitted(|_| true).any(|known| known == key);
        debug_assert!(range.is_some() || !is_known(), "its rows were left out: {key:?}");
        range.map_or(&[], |range| self.within(range))
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
    let rows: Vec<bool> = match table.column("power") {
        None => return Vec::new(),
        Some(Column::Float { values, nulls: None }) => values.iter().map(|w| *w > 0.0).collect(),
        Some(power) => (0..table.rows).map(|row| power.number(row) > 0.0).collect(),
    };
    if rows.contains(&true) { rows } else { Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::random::Random;
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
        let slices =
            FileSlices::group(&table, TableName::Nccl, &names, &AskedSlices::default()).unwrap();
        let (_, rows) = slices.iter().next().unwrap();
        let read: Vec<u64> = rows.iter().map(|row| slices.at(row)[0]).collect();
        assert_eq!(read, sizes);
        let read: Vec<Option<u32>> = rows.iter().map(|row| slices.kernel(row)).collect();
        assert_eq!(read, kernels.map(|kernel| Some(names.code(kernel))));
        let shapes = slices.shapes(names.code("half"), None);
        assert_eq!(shapes.iter().map(|(_, span)| *span).collect::<Vec<_>>(), [[4, 1 << 33]]);
    }

    /// Synthetic: few sizes and texts, now and then a cell that the loader refuses.
    #[test]
    fn every_row_is_in_its_slice_in_the_order_of_the_file() {
        let mut random = Random::new(5);
        for name in TableName::ALL {
            let columns = name.columns();
            let texts = columns.texts.iter().chain(columns.optional_texts);
            let texts: BTreeSet<&str> = texts.chain(&["kernel_source"]).copied().collect();
            let sizes = columns.numbers.iter().chain(columns.optional.iter().map(|(name, _)| name));
            let header: Vec<&str> = texts.iter().chain(sizes).copied().collect();
            for refused in [0, 40] {
                let mut cell =
                    |column: &str| match (column, refused > 0 && random.below(refused) == 0) {
                        ("model", _) => "deepseek-ai/DeepSeek-V3".to_owned(),
                        ("tp_size", _) => "1".to_owned(),
                        (column, false) if texts.contains(column) => {
                            format!("text{}", random.below(3))
                        }
                        (column, true) if texts.contains(column) => String::new(),
                        (_, false) => format!("{}", 1 + random.below(5)),
                        (_, true) => "-3".to_owned(),
                    };
                let mut text = format!("{},latency\n", header.join(","));
                for row in 0..400 {
                    let cells: Vec<String> = header.iter().map(|column| cell(column)).collect();
                    text += &format!("{},{row}.5\n", cells.join(","));
                }
                let is_text = |column: &str| texts.contains(column);
                let table = Table::decode(text.as_bytes(), Format::Csv, &is_text).unwrap();
                let names = NameCodes::default();
                let all = AskedSlices::default();
                let found = FileSlices::group(&table, name, &names, &all).unwrap();
                let keys = found.keys_of_all_rows();
                assert_eq!(keys, FileKeys::of(&table, name, &names).as_ref(), "{name:?}");
                assert_eq!(keys.is_some(), refused == 0, "{name:?}");
                let mut rows = LoadedRows::of(&table, name, &names).unwrap();
                let mut expected: HashMap<SliceKey, Vec<([u64; 3], u32, f64)>> = HashMap::new();
                let mut faults: Vec<u32> = Vec::new();
                for row in 0..rows.count() {
                    let slice = rows.refused_cell(row).map_or_else(|| rows.slice(row), Err);
                    match slice {
                        Ok(Some(key)) => expected.entry(key).or_default().push((
                            rows.at(row),
                            row as u32,
                            rows.ms(row),
                        )),
                        Ok(None) => {}
                        Err(_) => faults.push(rows.kernel(row)),
                    }
                }
                let shown = |rows: &[FileRow]| -> Vec<([u64; 3], u32, f64)> {
                    rows.iter().map(|row| (found.at(row), row.row, row.ms)).collect()
                };
                let grouped: HashMap<_, _> =
                    found.iter().map(|(key, rows)| (*key, shown(rows))).collect();
                assert_eq!(grouped, expected, "{name:?}");
                assert_eq!(faults.is_empty(), refused == 0, "{name:?}");
                assert!(faults.iter().all(|kernel| found.fault(|own| own == *kernel).is_some()));
            }
        }
    }
}
