//! A table as a backend's version sees it: the slices of all its files, merged when they are first
//! requested.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use hashbrown::{HashMap, HashSet};

use super::files::{FileOfTable, SharedSlices};
use super::interpolate::{
    LatencyCurve, LatencyGrid, Leaf, RowRef, ShapeRow, ShapeRows, Sites, Sol, first_of_each_place,
};
use super::names::NameCodes;
use super::refusal::Refusal;
use super::slices::{FileSlices, SliceKey, SlicePart, slice_key};
use super::tables::TableName;
use crate::database::served::Channel;

/// A file of a table, and the way by which the loader finds it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RowOrigin {
    /// Path of the file.
    pub path: String,
    /// The way by which the loader finds the file.
    pub channel: Channel,
    /// The kernel_source values whose rows are served; `None` serves all.
    pub kernels: Option<BTreeSet<String>>,
}

/// A table with its files, read when it is first requested.
pub(super) struct TableIndex {
    table: TableName,
    /// The files, in the loader's order.
    pub files: Vec<FileOfTable>,
    /// The origin of each file, in the loader's order.
    pub origins: Vec<Arc<RowOrigin>>,
    rows: OnceLock<Result<TableRows, Refusal>>,
}

impl TableIndex {
    /// Creates a table from its files in the loader's order.
    pub(super) fn new(
        table: TableName,
        sources: impl Iterator<Item = (FileOfTable, RowOrigin)>,
    ) -> Self {
        let (files, origins) = sources.map(|(file, origin)| (file, Arc::new(origin))).unzip();
        Self { table, files, origins, rows: OnceLock::new() }
    }

    /// Loads the rows once. `slices` reads the file at an index.
    ///
    /// # Errors
    ///
    /// If a file cannot be read, the loader refuses a row, or no row is served. Each makes the whole
    /// table fail.
    pub(super) fn rows(
        &self,
        names: &NameCodes,
        slices: impl Fn(usize) -> SharedSlices,
    ) -> Result<&TableRows, Refusal> {
        let rows = self.rows.get_or_init(|| TableRows::load(self, names, slices));
        rows.as_ref().map_err(Clone::clone)
    }
}

/// The rows of a table. If several files have a key, the first row is served.
pub(super) struct TableRows {
    /// Name of the table.
    pub table: TableName,
    origins: Vec<Arc<RowOrigin>>,
    files: Vec<SourceRows>,
    /// The slice keys that lookups must match, of all served rows.
    pub keys: HashSet<SliceKey>,
    grids: SliceCache<LatencyGrid>,
    curves: SliceCache<LatencyCurve>,
    /// The measured shapes of each dtype.
    sites: SliceCache<Sites>,
}

/// The slices of one of a table's files, with the kernels whose rows are served.
struct SourceRows {
    slices: Arc<FileSlices>,
    kernels: Option<HashSet<u32>>,
}

impl SourceRows {
    fn admits(&self, kernel: u32) -> bool {
        self.kernels.as_ref().is_none_or(|k| k.contains(&kernel))
    }

    /// The served parts of a slice.
    fn parts(&self, key: &SliceKey) -> impl Iterator<Item = &SlicePart> {
        self.slices.parts(key).iter().filter(|part| self.admits(part.kernel))
    }
}

/// Values built from slices, each built once.
struct SliceCache<T>(Mutex<HashMap<SliceKey, Arc<T>>>);

impl<T> SliceCache<T> {
    fn get(&self, key: SliceKey, build: impl FnOnce() -> T) -> Arc<T> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&key).cloned();
        known.unwrap_or_else(|| {
            // The value is built without the lock. If two threads build the same, the first is kept.
            let built = Arc::new(build());
            let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            known.entry(key).or_insert(built).clone()
        })
    }
}

impl TableRows {
    fn load(
        index: &TableIndex,
        names: &NameCodes,
        slices: impl Fn(usize) -> SharedSlices,
    ) -> Result<Self, Refusal> {
        let mut files = Vec::with_capacity(index.files.len());
        let mut keys = HashSet::new();
        for (place, origin) in index.origins.iter().enumerate() {
            let refused = |why: &str| Refusal::Missing(format!("{}: {why}", origin.path));
            let slices = slices(place).map_err(|why| refused(&why.to_string()))?;
            let kernels = origin.kernels.as_ref();
            let kernels = kernels.map(|k| k.iter().map(|name| names.code(name)).collect());
            let file = SourceRows { slices, kernels };
            if let Some(why) = file.slices.fault(|kernel| file.admits(kernel)) {
                return Err(refused(why));
            }
            let served = file.slices.keys().filter(|(_, kernel)| file.admits(*kernel));
            keys.extend(served.map(|(key, _)| key));
            files.push(file);
        }
        if keys.is_empty() {
            return Err(Refusal::no_rows_at_all(index.table.stem()));
        }
        Ok(Self {
            table: index.table,
            origins: index.origins.clone(),
            files,
            keys,
            grids: SliceCache(Mutex::default()),
            curves: SliceCache(Mutex::default()),
            sites: SliceCache(Mutex::default()),
        })
    }

    /// The file that a row comes from.
    pub(super) fn origin(&self, row: RowRef) -> &Arc<RowOrigin> {
        &self.origins[usize::from(row.source)]
    }

    /// The served rows of a slice, sorted by coordinates. Latencies below `floor` (ms) are raised to it.
    fn served(&self, key: SliceKey, floor: Option<Sol<'_>>) -> Vec<Leaf> {
        let mut leaves = Vec::new();
        for (source, SourceRows { slices, .. }) in self.files.iter().enumerate() {
            for row in self.files[source].parts(&key).flat_map(|part| part.rows.iter().copied()) {
                let place = RowRef { source: source as u16, row, powered: slices.is_powered(row) };
                leaves.push(Leaf { at: slices.at(row), ms: slices.ms(row), row: place });
            }
        }
        leaves = first_of_each_place(leaves);
        if let Some(floor) = floor {
            for leaf in &mut leaves {
                leaf.ms = leaf.ms.max(floor(leaf.at.map(|c| c as f64)));
            }
        }
        leaves
    }

    /// A slice as a grid. Latencies below `floor` (ms) are raised to it.
    pub(super) fn grid(
        &self,
        key: SliceKey,
        sqrt_axis: Option<usize>,
        floor: Option<Sol<'_>>,
    ) -> Arc<LatencyGrid> {
        let axes = self.files.iter().map(|file| file.slices.axes()).max().unwrap_or(0);
        self.grids.get(key, || LatencyGrid::new(axes, sqrt_axis, self.served(key, floor)))
    }

    /// A slice as a curve over its first coordinate.
    pub(super) fn curve(&self, key: SliceKey) -> Arc<LatencyCurve> {
        self.curves.get(key, || LatencyCurve::new(self.served(key, None)))
    }

    /// The rows of a dtype by shape. Latencies below `floor` (ms) are raised to it.
    pub(super) fn shapes<'i>(&'i self, dtype: u32, floor: Sol<'i>) -> DtypeShapes<'i> {
        DtypeShapes { rows: self, dtype, floor }
    }
}

/// The slices of a dtype, by the two sizes of their shape (n, k).
pub(super) struct DtypeShapes<'i> {
    rows: &'i TableRows,
    dtype: u32,
    floor: Sol<'i>,
}

impl DtypeShapes<'_> {
    /// All measured shapes of the dtype.
    pub(super) fn sites(&self) -> Arc<Sites> {
        self.rows.sites.get(slice_key([self.dtype]), || Sites::new(self))
    }

    fn key(&self, shape: [u64; 2]) -> SliceKey {
        slice_key([self.dtype, shape[0] as u32, shape[1] as u32])
    }

    /// Calls `see` on every served part of the dtype's slices, with the index of its file and its shape.
    fn each_part(&self, mut see: impl FnMut(usize, [u64; 2], &SlicePart)) {
        for (source, file) in self.rows.files.iter().enumerate() {
            for (key, parts) in file.slices.iter().filter(|(key, _)| key[0] == self.dtype) {
                let shape = [key[1], key[2]].map(u64::from);
                let served = parts.iter().filter(|part| file.admits(part.kernel));
                served.for_each(|part| see(source, shape, part));
            }
        }
    }

    /// The rows of a part, each as its m and its place in the reading order.
    fn shape_rows<'p>(
        &'p self,
        source: usize,
        part: &'p SlicePart,
    ) -> impl Iterator<Item = ShapeRow> + 'p {
        let slices = &self.rows.files[source].slices;
        let place = move |row: u32| (source as u64) << 32 | u64::from(row);
        part.rows.iter().map(move |row| (slices.at(*row)[0], place(*row)))
    }
}

impl ShapeRows for DtypeShapes<'_> {
    fn curve(&self, shape: [u64; 2]) -> Arc<LatencyCurve> {
        let key = self.key(shape);
        let floor = |[m, ..]: [f64; 3]| (self.floor)([m, shape[0] as f64, shape[1] as f64]);
        self.rows.curves.get(key, || LatencyCurve::new(self.rows.served(key, Some(&floor))))
    }

    fn spans(&self) -> Vec<([u64; 2], [u64; 2])> {
        let mut spans: Vec<([u64; 2], [u64; 2])> = Vec::new();
        self.each_part(|_, shape, part| spans.push((shape, part.span)));
        spans.sort_unstable();
        spans.dedup_by(|(shape, [low, high]), (other, span)| {
            let is_same = shape == other;
            if is_same {
                *span = [span[0].min(*low), span[1].max(*high)];
            }
            is_same
        });
        spans
    }

    fn rows(&self, shape: [u64; 2]) -> Vec<ShapeRow> {
        let key = self.key(shape);
        let parts = self
            .rows
            .files
            .iter()
            .enumerate()
            .flat_map(|(source, file)| file.parts(&key).map(move |part| (source, part)));
        parts.flat_map(|(source, part)| self.shape_rows(source, part)).collect()
    }

    fn visit(&self, see: &mut dyn FnMut([u64; 2], ShapeRow)) {
        self.each_part(|source, shape, part| {
            self.shape_rows(source, part).for_each(|row| see(shape, row));
        });
    }
}
