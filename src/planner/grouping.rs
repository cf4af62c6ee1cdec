//! Groups the rows of a file by slice: the slice is looked for once for a combination of values.

use std::ops::Range;

use hashbrown::HashMap;

use super::asked::AskedSlices;
use super::cells::LoadedRows;
use super::slices::{FileRow, SliceKey, WIDE};
use super::{NumberedRows, Reason};

/// A slice, and the kernel of rows of it.
pub(super) type ServedSlice = (SliceKey, u32);

/// The rows of a file by slice.
pub(super) struct GroupedRows {
    /// Where the rows of each slice that may be read lie in `rows`.
    pub slices: HashMap<SliceKey, Range<u32>>,
    /// Each slice in file order.
    pub rows: Vec<FileRow>,
    /// Rows that the loader refuses to load, the first of each kernel_source.
    pub faults: Vec<(u32, String)>,
    /// The values of kernel_source, each with the first of the rows one after the other that have it.
    pub kernels: Vec<(u32, u32)>,
    /// Coordinates that exceed 32 bits, by row.
    pub wide: HashMap<u32, [u64; 3]>,
    /// All slices with the kernels of their rows, each one or more times.
    pub served: Vec<ServedSlice>,
}

/// What is known of slices while rows are looked at.
#[derive(Default)]
struct Grouping {
    numbers: HashMap<SliceKey, u32>,
    /// The slices in the order in which they are met.
    slices: Vec<SliceKey>,
    /// How many rows each has.
    counts: Vec<u32>,
    faults: Vec<(u32, String)>,
    kernels: Vec<(u32, u32)>,
    served: Vec<ServedSlice>,
}

/// What the rows of a combination of values are.
#[derive(Clone, Copy)]
enum Belonging {
    /// Not known yet.
    Unmet,
    /// Rows of a slice, by its number, and of a kernel.
    Slice(u32, u32),
    /// The loader ignores them or refuses them, or nobody asks for them.
    None,
}

/// The number of no slice.
const NO_SLICE: u32 = u32::MAX;

impl GroupedRows {
    /// Groups those rows whose slices may be read.
    pub fn of(mut rows: LoadedRows<'_>, asked: &AskedSlices) -> Self {
        let mut grouping = Grouping::default();
        let of_row = grouping.number_rows(&mut rows, asked);
        let Grouping { slices: numbered, counts, faults, kernels, served, .. } = grouping;
        let mut end = 0;
        let mut slices = HashMap::with_capacity(numbered.len());
        let mut next = Vec::with_capacity(numbered.len());
        for (key, count) in numbered.into_iter().zip(counts) {
            next.push(end);
            slices.insert(key, end..end + count);
            end += count;
        }
        let mut wide = HashMap::new();
        let mut sorted = vec![FileRow { at: [0; 3], row: 0, ms: 0.0 }; end as usize];
        for (row, slice) in of_row.iter().enumerate().filter(|(_, slice)| **slice != NO_SLICE) {
            let at = rows.at(row);
            let mut narrow = at.map(|size| u32::try_from(size).unwrap_or(WIDE));
            if narrow.contains(&WIDE) {
                wide.insert(row as u32, at);
                narrow = [WIDE; 3];
            }
            let place = &mut next[*slice as usize];
            sorted[*place as usize] = FileRow { at: narrow, row: row as u32, ms: rows.ms(row) };
            *place += 1;
        }
        Self { slices, rows: sorted, faults, kernels, wide, served }
    }
}

impl Grouping {
    /// The number of the slice of each row that may be read; the slice is looked for once for a combination of values.
    fn number_rows(&mut self, rows: &mut LoadedRows<'_>, asked: &AskedSlices) -> Vec<u32> {
        let NumberedRows { mut of_rows, counts } = rows.outer().numbers(rows.count());
        let mut known = vec![Belonging::Unmet; counts.len()];
        let may_refuse = rows.may_have_refused_cells();
        for (row, number) in of_rows.iter_mut().enumerate() {
            let combination = std::mem::replace(number, NO_SLICE) as usize;
            if let Some(why) = may_refuse.then(|| rows.refused_cell(row)).flatten() {
                self.fault(rows.kernel(row), row, &why);
                continue;
            }
            if matches!(known[combination], Belonging::Unmet) {
                known[combination] = self.belonging(rows, row, asked);
            }
            if let Belonging::Slice(slice, kernel) = known[combination] {
                *number = slice;
                self.counts[slice as usize] += 1;
                if self.kernels.last().is_none_or(|(_, last)| *last != kernel) {
                    self.kernels.push((row as u32, kernel));
                }
            }
        }
        of_rows
    }

    /// What the rows of the combination that a row has are. Its kernel is a part of it, so one row says why the loader
    /// refuses all of them.
    fn belonging(
        &mut self,
        rows: &mut LoadedRows<'_>,
        row: usize,
        asked: &AskedSlices,
    ) -> Belonging {
        let kernel = rows.kernel(row);
        match rows.slice(row) {
            Ok(Some(key)) => {
                self.served.push((key, kernel));
                if !asked.has(rows.name(), &key) {
                    return Belonging::None;
                }
                let slice = *self.numbers.entry(key).or_insert_with(|| {
                    self.slices.push(key);
                    self.counts.push(0);
                    self.slices.len() as u32 - 1
                });
                Belonging::Slice(slice, kernel)
            }
            Ok(None) => Belonging::None,
            Err(why) => {
                self.fault(kernel, row, &why);
                Belonging::None
            }
        }
    }

    fn fault(&mut self, kernel: u32, row: usize, why: &Reason) {
        if self.faults.iter().all(|(k, _)| *k != kernel) {
            self.faults.push((kernel, format!("row {row}: {why}")));
        }
    }
}
