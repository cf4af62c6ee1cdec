//! Rows by series, where there are far fewer series than rows.

use std::collections::{HashMap, HashSet};

/// Rows by series, each in the order of the file.
pub(super) struct Grouped {
    ends: Vec<u32>,
    rows: Vec<u32>,
}

impl Grouped {
    /// Groups rows by a hash: open addressing finds a row's series, a counting sort orders the rows.
    pub fn by(rows: usize, hash: impl Fn(usize) -> u64) -> Self {
        let mut known = Known::default();
        let mut counts: Vec<u32> = Vec::new();
        let mut series = Vec::with_capacity(rows);
        for row in 0..rows {
            let number = known.number(hash(row));
            counts.resize(known.heads.len(), 0);
            counts[number as usize] += 1;
            series.push(number);
        }
        let mut total = 0;
        for count in &mut counts {
            (*count, total) = (total, total + *count);
        }
        let mut sorted = vec![0u32; rows];
        for (row, number) in (0u32..).zip(series) {
            let place = &mut counts[number as usize];
            sorted[*place as usize] = row;
            *place += 1;
        }
        Self { ends: counts, rows: sorted }
    }

    /// The rows of each series.
    pub fn series(&self) -> impl Iterator<Item = &[u32]> {
        let starts = std::iter::once(&0).chain(&self.ends);
        starts.zip(&self.ends).map(|(start, end)| &self.rows[*start as usize..*end as usize])
    }
}

/// Hashes by the order in which they came.
struct Known {
    heads: Vec<u64>,
    slots: Vec<u32>,
}

const FREE: u32 = u32::MAX;

impl Default for Known {
    fn default() -> Self {
        Self { heads: Vec::new(), slots: vec![FREE; 1024] }
    }
}

impl Known {
    /// The number of a hash; a new one gets the next. There are far fewer series than rows, so the
    /// slots grow with what is there and stay within the cache.
    fn number(&mut self, hash: u64) -> u32 {
        let (mut slot, mask) = (Self::slot(hash, &self.slots), self.slots.len() - 1);
        loop {
            match self.slots[slot] {
                FREE => break,
                number if self.heads[number as usize] == hash => return number,
                _ => slot = (slot + 1) & mask,
            }
        }
        let number = self.heads.len() as u32;
        self.slots[slot] = number;
        self.heads.push(hash);
        if self.heads.len() * 2 > self.slots.len() {
            self.grow();
        }
        number
    }

    fn slot(hash: u64, slots: &[u32]) -> usize {
        (hash >> 7) as usize & (slots.len() - 1)
    }

    fn grow(&mut self) {
        self.slots = vec![FREE; self.slots.len() * 4];
        let mask = self.slots.len() - 1;
        for (number, hash) in (0u32..).zip(&self.heads) {
            let mut slot = Self::slot(*hash, &self.slots);
            while self.slots[slot] != FREE {
                slot = (slot + 1) & mask;
            }
            self.slots[slot] = number;
        }
    }
}

/// Rows of the series wanted.
pub(super) fn members(
    rows: usize,
    series: impl Fn(usize) -> u64,
    wanted: &HashSet<u64>,
) -> HashMap<u64, Vec<u32>> {
    // A few series of many: most rows fail at one bit.
    const BITS: usize = 1 << 16;
    let bit = |hash: u64| (hash >> 7) as usize & (BITS - 1);
    let mut hit = vec![false; BITS];
    wanted.iter().for_each(|hash| hit[bit(*hash)] = true);
    let mut members: HashMap<u64, Vec<u32>> = wanted.iter().map(|h| (*h, Vec::new())).collect();
    for row in 0..rows {
        let hash = series(row);
        if hit[bit(hash)]
            && let Some(rows) = members.get_mut(&hash)
        {
            rows.push(row as u32);
        }
    }
    members
}
