//! The rows of a dtype by shape: the shapes of a GEMM.

use std::sync::Arc;

use super::super::interpolate::{ShapeRow, ShapeRows, Sites, Sol};
use super::super::leaves::Leaf;
use super::super::slices::{FileRow, FileSlices, shape_of, shape_slice};
use super::{SourceRows, TableIndex, raise};

/// The shapes of a dtype in a table.
pub struct DtypeShapes<'i> {
    pub(super) index: &'i TableIndex,
    pub(super) dtype: u32,
    pub(super) floor: Sol<'i>,
}

impl DtypeShapes<'_> {
    /// All of them.
    pub fn sites(&self) -> Arc<Sites> {
        let key = shape_slice(self.dtype, [0, 0]);
        let built = self.index.sites.get(key, || Some(Arc::new(Sites::new(self))));
        built.unwrap_or_else(|| Arc::new(Sites::new(self)))
    }
}

impl ShapeRows for DtypeShapes<'_> {
    fn curve(&self, shape: [u64; 2]) -> Option<Arc<Vec<Leaf>>> {
        let key = shape_slice(self.dtype, shape);
        self.index.shape_curves.get(key, || {
            let mut leaves = self.index.served(&[key]);
            raise(&mut leaves, Some(self.floor));
            (!leaves.is_empty()).then(|| Arc::new(leaves))
        })
    }

    fn spans(&self) -> Vec<([u64; 2], [u64; 2])> {
        let slices = self.index.files().iter().filter_map(|file| Some((file, file.slices()?)));
        let of_file = |(file, slices): (&SourceRows, &FileSlices)| {
            slices.shapes(self.dtype, file.kernels.as_ref())
        };
        let mut spans: Vec<([u64; 2], [u64; 2])> = slices.flat_map(of_file).collect();
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
        let key = shape_slice(self.dtype, shape);
        let mut found = Vec::new();
        for (source, file) in self.index.files().iter().enumerate() {
            let Some(slices) = file.slices() else { continue };
            found.extend(file.shape_rows(source, slices, slices.rows(&key)));
        }
        found
    }

    fn visit(&self, see: &mut dyn FnMut([u64; 2], &[ShapeRow])) {
        let mut found = Vec::new();
        for (source, file) in self.index.files().iter().enumerate() {
            let Some(slices) = file.slices() else { continue };
            for (key, rows) in slices.iter().filter(|(key, _)| key[0] == self.dtype) {
                found.clear();
                found.extend(file.shape_rows(source, slices, rows));
                see(shape_of(key), &found);
            }
        }
    }
}

impl SourceRows {
    /// The rows of a shape that it serves, of the source of a number.
    fn shape_rows<'r>(
        &'r self,
        source: usize,
        slices: &'r FileSlices,
        rows: &'r [FileRow],
    ) -> impl Iterator<Item = ShapeRow> + 'r {
        let served = rows.iter().filter(|row| self.admits_row(slices, row));
        served.map(move |row| (slices.at(row)[0], (source as u64) << 32 | u64::from(row.row)))
    }
}
