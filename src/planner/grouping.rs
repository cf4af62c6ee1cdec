//! Groups the rows of a file by slice: the slice is looked for once for a combination of values.

use std::ops::Range;

use hashbrown::HashMap;

use super::Reason;
use super::cells::LoadedRows;
use super::slices::{FileRow, SliceKey, WIDE};

/// A slice, and the kernel of rows of it.
pub(super) type ServedSlice = (SliceKey, u32);

/// The rows of a file by slice.
pub(super) struct GroupedRows {
    /// Where the rows of each slice lie in `rows`.
    pub slices: HashMap<SliceKey, Range<u32>>,
    /// Each slice in file order.
    pub rows: Vec<FileRow>,
    /// Rows that the loader refuses to load, the first of each kernel_source.
    pub faults: Vec<(u32, String)>,
    /// The values of kernel_source, each with the first of the rows one after the other that have it.
    pub kernels: Vec<(u32, u32)>,
    /// Coordinates that exceed 32 bits, by row.
    pub wide: HashMap<u32, [u64; 3]>,
    /// The slices with the kernels of their rows, each one or more times.
    pub served: Vec<ServedSlice>,
}

/// What is known of slices while rows are looked at.
#[derive(Default)]
struct Grouping {
    numbers: HashMap<SliceKey, u32>,
    /// The slices in the order in which they are met, with how many rows each has.
    slices: Vec<(SliceKey, u32)>,
    faults: Vec<(u32, String)>,
    kernels: Vec<(u32, u32)>,
    served: Vec<ServedSlice>,
}

/// What the rows of a combination of values are.
enum Belonging {
    /// Rows of a slice, by its number, and of a kernel.
    Slice(u32, u32),
    /// The loader ignores them.
    Ignored,
    /// The loader refuses them.
    Refused(Reason),
}

/// The number of no slice.
const NO_SLICE: u32 = u32::MAX;

impl GroupedRows {
    /// Groups rows.
    pub fn of(mut rows: LoadedRows<'_>) -> Self {
        let mut grouping = Grouping::default();
        let of_row = grouping.number_rows(&mut rows);
        let Grouping { slices: numbered, faults, kernels, served, .. } = grouping;
        let mut end = 0;
        let mut slices = HashMap::with_capacity(numbered.len());
        let mut next = Vec::with_capacity(numbered.len());
        for (key, count) in &numbered {
            next.push(end);
            slices.insert(*key, end..end + count);
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
    /// The number of the slice of each row; the slice is looked for once for a combination of values.
    fn number_rows(&mut self, rows: &mut LoadedRows<'_>) -> Vec<u32> {
        let mut of_row = rows.outer().numbers(rows.count()).of_rows;
        let mut known: Vec<Option<Belonging>> = Vec::new();
        let may_refuse = rows.may_have_refused_cells();
        for (row, number) in of_row.iter_mut().enumerate() {
            let combination = std::mem::replace(number, NO_SLICE) as usize;
            if let Some(why) = may_refuse.then(|| rows.refused_cell(row)).flatten() {
                self.fault(rows.kernel(row), row, &why);
                continue;
            }
            if known.len() <= combination {
                known.resize_with(combination + 1, || None);
            }
            let belonging = known[combination].get_or_insert_with(|| {
                let kernel = rows.kernel(row);
                self.belonging(rows.slice(row), kernel)
            });
            match belonging {
                Belonging::Slice(slice, kernel) => {
                    *number = *slice;
                    self.slices[*slice as usize].1 += 1;
                    if self.kernels.last().is_none_or(|(_, last)| last != kernel) {
                        self.kernels.push((row as u32, *kernel));
                    }
                }
                Belonging::Ignored => {}
                Belonging::Refused(why) => self.fault(rows.kernel(row), row, why),
            }
        }
        of_row
    }

    fn belonging(&mut self, slice: Result<Option<SliceKey>, Reason>, kernel: u32) -> Belonging {
        match slice {
            Ok(Some(key)) => {
                self.served.push((key, kernel));
                let slice = *self.numbers.entry(key).or_insert_with(|| {
                    self.slices.push((key, 0));
                    self.slices.len() as u32 - 1
                });
                Belonging::Slice(slice, kernel)
            }
            Ok(None) => Belonging::Ignored,
            Err(why) => Belonging::Refused(why),
        }
    }

    fn fault(&mut self, kernel: u32, row: usize, why: &Reason) {
        if self.faults.iter().all(|(k, _)| *k != kernel) {
            self.faults.push((kernel, format!("row {row}: {why}")));
        }
    }
}
