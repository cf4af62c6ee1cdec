//! Rows by series, where there are far fewer series than rows.

use hashbrown::HashTable;

/// Rows by series, each in the order of the file.
pub(super) struct Grouped {
    ends: Vec<u32>,
    rows: Vec<u32>,
}

impl Grouped {
    /// Groups rows by a hash: each series gets a number, and a counting sort orders the rows.
    pub fn by(rows: usize, hash: impl Fn(usize) -> u64) -> Self {
        let mut numbers: HashTable<(u64, u32)> = HashTable::new();
        let mut counts: Vec<u32> = Vec::new();
        let mut series = Vec::with_capacity(rows);
        let mut last = None;
        for row in 0..rows {
            let hash = hash(row);
            // Often the row before is of the same series.
            let number = match last {
                Some((known, number)) if known == hash => number,
                _ => {
                    let entry =
                        numbers.entry(hash, |(known, _)| *known == hash, |(known, _)| *known);
                    let fresh = || {
                        counts.push(0);
                        (hash, counts.len() as u32 - 1)
                    };
                    entry.or_insert_with(fresh).get().1
                }
            };
            last = Some((hash, number));
            counts[number as usize] += 1;
            series.push(number);
        }
        let mut sorted = vec![0u32; rows];
        let mut ends = places(counts);
        for (row, number) in (0u32..).zip(series) {
            let place = &mut ends[number as usize];
            sorted[*place as usize] = row;
            *place += 1;
        }
        Self { ends, rows: sorted }
    }

    /// The rows of each series.
    pub fn series(&self) -> impl Iterator<Item = &[u32]> {
        slices(&self.ends, &self.rows)
    }
}

/// The rows of a few series of many, by the series' hashes.
pub(super) struct Members {
    ends: Vec<u32>,
    rows: Vec<u32>,
}

impl Members {
    /// Collects the rows of the series wanted.
    pub fn of(
        rows: usize,
        series: impl Fn(usize) -> u64,
        wanted: impl Iterator<Item = u64>,
    ) -> Self {
        let mut numbers: HashTable<(u64, u32)> = HashTable::new();
        let mut counts: Vec<u32> = Vec::new();
        for hash in wanted {
            let entry = numbers.entry(hash, |(known, _)| *known == hash, |(known, _)| *known);
            entry.or_insert_with(|| {
                counts.push(0);
                (hash, counts.len() as u32 - 1)
            });
        }
        let filter = HashFilter::of(numbers.iter().map(|(hash, _)| *hash));
        let mut members: Vec<(u32, u32)> = Vec::new();
        for row in 0..rows {
            let hash = series(row);
            if filter.may_have(hash)
                && let Some((_, number)) = numbers.find(hash, |(known, _)| *known == hash)
            {
                counts[*number as usize] += 1;
                members.push((*number, row as u32));
            }
        }
        let mut sorted = vec![0u32; members.len()];
        let mut ends = places(counts);
        for (number, row) in members {
            let place = &mut ends[number as usize];
            sorted[*place as usize] = row;
            *place += 1;
        }
        Self { ends, rows: sorted }
    }

    /// The rows of each series, in the order of the file.
    pub fn series(&self) -> impl Iterator<Item = &[u32]> {
        slices(&self.ends, &self.rows)
    }
}

/// Where each series starts, by how many rows each has. Once its rows are placed, that is where it ends.
fn places(mut counts: Vec<u32>) -> Vec<u32> {
    let mut total = 0;
    for count in &mut counts {
        (*count, total) = (total, total + *count);
    }
    counts
}

/// The rows of each series, by where it ends.
fn slices<'r>(ends: &'r [u32], rows: &'r [u32]) -> impl Iterator<Item = &'r [u32]> {
    let starts = std::iter::once(&0).chain(ends);
    starts.zip(ends).map(|(start, end)| &rows[*start as usize..*end as usize])
}

/// Hashes that are looked for among many more: a bit for each excludes most of the others without a look
/// into the table.
struct HashFilter {
    words: Vec<u64>,
}

impl HashFilter {
    fn of(hashes: impl ExactSizeIterator<Item = u64>) -> Self {
        // Eight bits for each, so that seven of eight others are told apart, in a power of two of words.
        let words = (hashes.len() / 8).next_power_of_two();
        let mut filter = Self { words: vec![0; words] };
        for hash in hashes {
            let (word, bit) = filter.place(hash);
            filter.words[word] |= bit;
        }
        filter
    }

    fn may_have(&self, hash: u64) -> bool {
        let (word, bit) = self.place(hash);
        self.words[word] & bit != 0
    }

    /// The low bits number the word and the high ones the bit; tables of hashes use others first.
    fn place(&self, hash: u64) -> (usize, u64) {
        ((hash >> 16) as usize & (self.words.len() - 1), 1 << (hash >> 58))
    }
}
