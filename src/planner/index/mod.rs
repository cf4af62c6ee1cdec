//! A table as a version sees it: slices merged over its sources, built when asked for.

mod shapes;

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use hashbrown::{HashMap, HashSet};

use self::shapes::DtypeShapes;
use super::files::{Content, SharedSlices};
use super::interpolate::{LatencyCurve, LatencyGrid, Sites, Sol};
use super::leaves::{Leaf, RowRef, first_of_each_place};
use super::names::NameCodes;
use super::operations::TableName;
use super::slices::{FileRow, FileSlices, SliceKey};
use super::{Channel, Refusal};

/// A file behind a table, and how the loader came to it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RowOrigin {
    /// Path of the file.
    pub path: String,
    /// How the loader came to it.
    pub channel: Channel,
    /// The values of kernel_source that it serves; all without this.
    pub kernels: Option<BTreeSet<String>>,
}

/// A table over its sources: the first row of a key wins over all of them.
pub struct TableIndex {
    table: TableName,
    origins: Vec<Arc<RowOrigin>>,
    contents: Vec<Content>,
    loaded: OnceLock<Result<Loaded, Refusal>>,
    grids: SliceCache<LatencyGrid>,
    curves: SliceCache<LatencyCurve>,
    /// Rows of shapes, by slice.
    shape_curves: SliceCache<Vec<Leaf>>,
    /// Shapes, by dtype.
    sites: SliceCache<Sites>,
}

/// The files of a table, decoded.
struct Loaded {
    files: Vec<SourceRows>,
    /// First parts of keys.
    firsts: HashSet<u32>,
    /// Keys, for whoever asks.
    keys: OnceLock<HashSet<SliceKey>>,
}

struct SourceRows {
    rows: SharedSlices,
    kernels: Option<HashSet<u32>>,
}

impl SourceRows {
    /// Its slices; none of a file that cannot be read.
    fn slices(&self) -> Option<&FileSlices> {
        self.rows.as_ref().as_ref().ok()
    }

    fn admits(&self, kernel: u32) -> bool {
        self.kernels.as_ref().is_none_or(|k| k.contains(&kernel))
    }

    fn admits_row(&self, slices: &FileSlices, row: &FileRow) -> bool {
        self.kernels.is_none() || slices.kernel(row).is_some_and(|kernel| self.admits(kernel))
    }

    /// The keys of the slices that the file has rows of.
    fn keys(&self) -> impl Iterator<Item = &SliceKey> {
        let slices = self.slices().into_iter();
        slices.flat_map(|slices| slices.keys().admitted(|kernel| self.admits(kernel)))
    }
}

impl Loaded {
    fn keys(&self) -> &HashSet<SliceKey> {
        self.keys.get_or_init(|| self.files.iter().flat_map(SourceRows::keys).copied().collect())
    }
}

type Built<T> = Option<Arc<T>>;

/// What was built of slices, `None` for those without rows.
struct SliceCache<T>(Mutex<HashMap<SliceKey, Built<T>>>);

impl<T> SliceCache<T> {
    fn get(&self, key: SliceKey, build: impl FnOnce() -> Built<T>) -> Built<T> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&key).cloned();
        known.unwrap_or_else(|| {
            // Built without the lock: another thread may build the same, and the first is kept.
            let built = build();
            let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            known.entry(key).or_insert(built).clone()
        })
    }
}

impl<T> Default for SliceCache<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl TableIndex {
    pub(super) fn new(
        table: TableName,
        sources: impl Iterator<Item = (Content, RowOrigin)>,
    ) -> Self {
        let (contents, origins) = sources.map(|(c, o)| (c, Arc::new(o))).unzip();
        Self {
            table,
            origins,
            contents,
            loaded: OnceLock::new(),
            grids: SliceCache::default(),
            curves: SliceCache::default(),
            shape_curves: SliceCache::default(),
            sites: SliceCache::default(),
        }
    }

    /// The table.
    pub fn table(&self) -> TableName {
        self.table
    }

    /// The content of a source.
    pub(super) fn content(&self, source: usize) -> Option<&Content> {
        self.contents.get(source)
    }

    /// Its sources, in the loader's order.
    pub fn origins(&self) -> &[Arc<RowOrigin>] {
        &self.origins
    }

    /// A source.
    pub fn origin(&self, source: u16) -> Option<Arc<RowOrigin>> {
        self.origins.get(usize::from(source)).cloned()
    }

    /// Reads its files by `file`, once.
    ///
    /// # Errors
    ///
    /// Where a file cannot be read, where the loader refuses a row, and where no row is served: each
    /// fails the table as a whole.
    pub(super) fn load(
        &self,
        names: &NameCodes,
        file: impl Fn(usize, &Content) -> SharedSlices,
    ) -> Result<(), Refusal> {
        let loaded = self.loaded.get_or_init(|| self.loaded_by(names, file));
        loaded.as_ref().map(drop).map_err(Clone::clone)
    }

    fn loaded_by(
        &self,
        names: &NameCodes,
        file: impl Fn(usize, &Content) -> SharedSlices,
    ) -> Result<Loaded, Refusal> {
        let mut files = Vec::with_capacity(self.contents.len());
        for (i, (content, origin)) in self.contents.iter().zip(&self.origins).enumerate() {
            let kernels = origin.kernels.as_ref();
            let kernels = kernels.map(|k| k.iter().map(|name| names.code(name)).collect());
            let file = SourceRows { rows: file(i, content), kernels };
            let fault = match file.rows.as_ref() {
                Ok(rows) => rows.fault(|kernel| file.admits(kernel)).map(str::to_owned),
                Err(why) => Some(why.to_string()),
            };
            if let Some(why) = fault {
                return Err(Refusal::Missing(format!("{}: {why}", origin.path)));
            }
            files.push(file);
        }
        let firsts: HashSet<u32> =
            files.iter().flat_map(SourceRows::keys).map(|key| key[0]).collect();
        if firsts.is_empty() {
            let why = format!("the loader finds no rows of {}", self.table.stem());
            return Err(Refusal::Missing(why));
        }
        Ok(Loaded { files, firsts, keys: OnceLock::new() })
    }

    fn loaded(&self) -> Option<&Loaded> {
        self.loaded.get()?.as_ref().ok()
    }

    fn files(&self) -> &[SourceRows] {
        self.loaded().map_or(&[], |l| l.files.as_slice())
    }

    /// The keys of the slices that it serves.
    ///
    /// # Errors
    ///
    /// Those of [`load`](Self::load), and where that was not done.
    pub(super) fn keys(&self) -> Result<&HashSet<SliceKey>, Refusal> {
        self.read().map(Loaded::keys)
    }

    /// Whether it serves a slice whose key begins so.
    ///
    /// # Errors
    ///
    /// Those of [`keys`](Self::keys).
    pub(super) fn has_first(&self, first: u32) -> Result<bool, Refusal> {
        self.read().map(|loaded| loaded.firsts.contains(&first))
    }

    fn read(&self) -> Result<&Loaded, Refusal> {
        let unread = || Err(Refusal::Unread(self.table.stem()));
        self.loaded.get().map_or_else(unread, |loaded| loaded.as_ref().map_err(Clone::clone))
    }

    /// The rows of slices that are one to the loader.
    fn rows(&self, keys: &[SliceKey]) -> Vec<Leaf> {
        let read = |file: &SourceRows| file.slices().map_or(0, |slices| slices.count(keys));
        let mut rows: Vec<Leaf> = Vec::with_capacity(self.files().iter().map(read).sum());
        for (source, file) in self.files().iter().enumerate() {
            let Some(slices) = file.slices() else { continue };
            for row in keys.iter().flat_map(|key| slices.rows(key)) {
                if file.admits_row(slices, row) {
                    let powered = slices.is_powered(row.row);
                    let place = RowRef { source: source as u16, row: row.row, powered };
                    rows.push(Leaf { at: slices.at(row), ms: row.ms, row: place });
                }
            }
        }
        rows
    }

    /// The rows of slices that are served: sorted by coordinates, the first of each place.
    fn served(&self, keys: &[SliceKey]) -> Vec<Leaf> {
        let mut rows = self.rows(keys);
        if keys.len() > 1 {
            rows.sort_by_key(|leaf| leaf.row);
        }
        first_of_each_place(rows)
    }

    /// A slice as a grid, its leaves raised to `floor` (ms) where one is given.
    pub(super) fn grid(
        &self,
        key: SliceKey,
        axes: usize,
        sqrt_axis: Option<usize>,
        floor: Option<Sol<'_>>,
    ) -> Option<Arc<LatencyGrid>> {
        self.grids.get(key, || {
            let mut leaves = self.served(&[key]);
            raise(&mut leaves, floor);
            (!leaves.is_empty()).then(|| Arc::new(LatencyGrid::new(axes, sqrt_axis, leaves)))
        })
    }

    /// A slice as a curve; `more` are slices that the loader does not distinguish from it.
    pub(super) fn curve(&self, key: SliceKey, more: Option<SliceKey>) -> Option<Arc<LatencyCurve>> {
        self.curves.get(key, || {
            let keys: Vec<SliceKey> = std::iter::once(key).chain(more).collect();
            let leaves = self.served(&keys);
            (!leaves.is_empty()).then(|| Arc::new(LatencyCurve::new(leaves)))
        })
    }

    /// The rows of a dtype by shape, raised to `floor` (ms); none where it has none.
    pub(super) fn shapes<'i>(&'i self, dtype: u32, floor: Sol<'i>) -> Option<DtypeShapes<'i>> {
        let is_there = self.loaded()?.firsts.contains(&dtype);
        is_there.then_some(DtypeShapes { index: self, dtype, floor })
    }
}

fn raise(leaves: &mut [Leaf], floor: Option<Sol<'_>>) {
    let Some(floor) = floor else { return };
    for leaf in leaves {
        leaf.ms = leaf.ms.max(floor(leaf.at.map(|c| c as f64)));
    }
}
