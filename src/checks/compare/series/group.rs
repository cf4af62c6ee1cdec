//! Rows by series, where there are far fewer series than rows.

use hashbrown::HashTable;

/// Rows by series, each in the order of the file.
pub(super) struct Grouped {
    ends: Vec<u32>,
    rows: Vec<u32>,
}

/// Series by their hashes, numbered in the order in which they are met.
#[derive(Default)]
struct SeriesNumbers {
    numbers: HashTable<(u64, u32)>,
    /// Rows of each series so far.
    counts: Vec<u32>,
}

impl Grouped {
    /// Groups all rows by a hash.
    pub fn by(rows: usize, hash: impl Fn(usize) -> u64) -> Self {
        let mut series = SeriesNumbers::default();
        let mut numbers = Vec::with_capacity(rows);
        let mut last = None;
        for row in 0..rows {
            let hash = hash(row);
            // Often the row before is of the same series.
            let number = match last {
                Some((known, number)) if known == hash => number,
                _ => series.number(hash),
            };
            last = Some((hash, number));
            series.counts[number as usize] += 1;
            numbers.push(number);
        }
        Self::placed(series.counts, numbers.into_iter().zip(0..))
    }

    /// Groups the rows of a few series of many: those with the hashes `wanted`.
    pub fn among(
        rows: usize,
        hash: impl Fn(usize) -> u64,
        wanted: impl Iterator<Item = u64>,
    ) -> Self {
        let mut series = SeriesNumbers::default();
        for hash in wanted {
            series.number(hash);
        }
        let filter = HashFilter::of(series.numbers.iter().map(|(hash, _)| *hash));
        let mut numbered: Vec<(u32, u32)> = Vec::new();
        for row in 0..rows {
            let hash = hash(row);
            if filter.may_have(hash)
                && let Some((_, number)) = series.numbers.find(hash, |(known, _)| *known == hash)
            {
                series.counts[*number as usize] += 1;
                numbered.push((*number, row as u32));
            }
        }
        Self::placed(series.counts, numbered.into_iter())
    }

    /// Rows with the numbers of their series, of which each has a count: a counting sort.
    fn placed(mut counts: Vec<u32>, rows: impl Iterator<Item = (u32, u32)>) -> Self {
        let mut total = 0;
        for count in &mut counts {
            (*count, total) = (total, total + *count);
        }
        // Where a series starts is, once its rows are placed, where it ends.
        let mut ends = counts;
        let mut sorted = vec![0; total as usize];
        for (number, row) in rows {
            let place = &mut ends[number as usize];
            sorted[*place as usize] = row;
            *place += 1;
        }
        Self { ends, rows: sorted }
    }

    /// The rows of each series.
    pub fn series(&self) -> impl Iterator<Item = &[u32]> {
        let starts = std::iter::once(&0).chain(&self.ends);
        starts.zip(&self.ends).map(|(start, end)| &self.rows[*start as usize..*end as usize])
    }
}

impl SeriesNumbers {
    /// The number of a series; a new one gets the next.
    fn number(&mut self, hash: u64) -> u32 {
        let Self { numbers, counts } = self;
        let entry = numbers.entry(hash, |(known, _)| *known == hash, |(known, _)| *known);
        let next = || {
            counts.push(0);
            (hash, counts.len() as u32 - 1)
        };
        entry.or_insert_with(next).get().1
    }
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
