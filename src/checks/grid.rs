//! Rows as points of a grid: the place of each along the axes of a sweep, and a number for what else it is.
//!
//! A series holds the rows that differ in one size alone. Sizes are few, so each row is known by the places of
//! its sizes in their order, and a series is found by arithmetic on places, not by a hash of each row.

use crate::database::table::{Numbering, all_equal, mix};

/// Cells of a grid for each of its rows, at most, that are numbered in a list: of emptier ones a hash table is kept.
const CELLS_PER_ROW: usize = 8;

/// Rows as points of a grid.
pub struct Grid {
    axes: Vec<GridAxis>,
    /// The numbers of what rows are beside their sizes.
    rest: GroupNumbers,
}

/// A swept column.
pub struct GridAxis {
    /// The place of each row's size in `sizes`.
    pub places: Vec<u32>,
    /// Its sizes, in ascending order.
    pub sizes: Vec<i64>,
}

/// Groups of rows, numbered in the order in which they are met.
#[derive(Default, Clone)]
struct GroupNumbers {
    /// The number of each row's group.
    of_rows: Vec<u32>,
    /// Rows of each group.
    counts: Vec<u32>,
}

impl Grid {
    /// A grid of the sizes along some axes, each with one size per row; `rest` is a hash of what else a row is.
    pub fn new<'a>(axes: impl Iterator<Item = &'a [i64]>, rest: &[u64]) -> Self {
        let rest = GroupNumbers::by_hash(rest.iter().copied());
        Self { axes: axes.map(GridAxis::of).collect(), rest }
    }

    /// Its axes.
    pub fn axes(&self) -> &[GridAxis] {
        &self.axes
    }

    /// The rows of each series along an axis, by its number: rows that differ in its size alone.
    pub fn series(&self, along: usize) -> SeriesRows {
        let GroupNumbers { of_rows, counts } = self.numbers(along);
        SeriesRows::placed((0..).zip(of_rows), counts)
    }

    /// As [`series`](Self::series), those that have one of `some` rows.
    pub fn series_beside(&self, along: usize, some: impl Iterator<Item = u32>) -> SeriesRows {
        let GroupNumbers { of_rows, counts: all } = self.numbers(along);
        let mut counts = vec![0; all.len()];
        for row in some {
            let number = of_rows[row as usize] as usize;
            counts[number] = all[number];
        }
        let wanted = counts.clone();
        let rows = (0..).zip(of_rows).filter(|(_, number)| wanted[*number as usize] > 0);
        SeriesRows::placed(rows, counts)
    }

    /// Numbers the series along an axis.
    fn numbers(&self, along: usize) -> GroupNumbers {
        let numbered = self.axes.iter().enumerate();
        let others = numbered.filter(|(n, axis)| *n != along && axis.sizes.len() > 1);
        let others: Vec<&GridAxis> = others.map(|(_, axis)| axis).collect();
        if others.is_empty() {
            return self.rest.clone();
        }
        let cells = others
            .iter()
            .try_fold(self.rest.counts.len(), |cells, axis| cells.checked_mul(axis.sizes.len()));
        let rows = self.rest.of_rows.len();
        match cells.filter(|cells| cells / CELLS_PER_ROW <= rows && *cells <= u32::MAX as usize) {
            Some(cells) => {
                let mut places = self.rest.of_rows.clone();
                for axis in others {
                    let sizes = axis.sizes.len() as u32;
                    let both = places.iter_mut().zip(&axis.places);
                    both.for_each(|(cell, place)| *cell = *cell * sizes + place);
                }
                GroupNumbers::by_cell(places, cells)
            }
            None => {
                let hash = |row: usize| {
                    let rest = u64::from(self.rest.of_rows[row]);
                    others.iter().fold(rest, |hash, axis| mix(hash, u64::from(axis.places[row])))
                };
                GroupNumbers::by_hash((0..rows).map(hash))
            }
        }
    }
}

impl GridAxis {
    fn of(values: &[i64]) -> Self {
        if all_equal(values) {
            return Self { places: vec![0; values.len()], sizes: vec![values[0]] };
        }
        let (mut numbering, mut sizes) = (Numbering::default(), Vec::new());
        let mut place = |size: &i64| {
            let number = numbering.number(*size as u64);
            if number as usize == sizes.len() {
                sizes.push(*size);
            }
            number
        };
        let mut places: Vec<u32> = values.iter().map(&mut place).collect();
        if !sizes.is_sorted() {
            let mut order: Vec<u32> = (0..sizes.len() as u32).collect();
            order.sort_unstable_by_key(|number| sizes[*number as usize]);
            let mut ranks = vec![0; sizes.len()];
            (0..).zip(&order).for_each(|(rank, number)| ranks[*number as usize] = rank);
            places.iter_mut().for_each(|place| *place = ranks[*place as usize]);
            sizes.sort_unstable();
        }
        Self { places, sizes }
    }
}

impl GroupNumbers {
    /// Groups rows by a hash each.
    fn by_hash(hashes: impl Iterator<Item = u64>) -> Self {
        let mut numbering = Numbering::default();
        let mut this = Self::default();
        this.of_rows.reserve(hashes.size_hint().0);
        for hash in hashes {
            let number = numbering.number(hash);
            if number as usize == this.counts.len() {
                this.counts.push(0);
            }
            this.counts[number as usize] += 1;
            this.of_rows.push(number);
        }
        this
    }

    /// Groups rows by a number each, all below `count`.
    fn by_cell(cells: Vec<u32>, count: usize) -> Self {
        const NEW: u32 = u32::MAX;
        let mut numbers = vec![NEW; count];
        let mut counts: Vec<u32> = Vec::new();
        let mut of_rows = cells;
        for cell in &mut of_rows {
            let number = &mut numbers[*cell as usize];
            if *number == NEW {
                *number = counts.len() as u32;
                counts.push(0);
            }
            counts[*number as usize] += 1;
            *cell = *number;
        }
        Self { of_rows, counts }
    }
}

/// Rows series by series, each series' in the order of the file.
pub struct SeriesRows {
    /// Where each series ends in `rows`.
    ends: Vec<u32>,
    rows: Vec<u32>,
}

impl SeriesRows {
    /// Rows with the numbers of their series, of which each has a count: a counting sort.
    fn placed(rows: impl Iterator<Item = (u32, u32)>, mut counts: Vec<u32>) -> Self {
        let mut total = 0;
        for count in &mut counts {
            (*count, total) = (total, total + *count);
        }
        // Where a series starts is, once its rows are placed, where it ends.
        let mut ends = counts;
        let mut placed = vec![0; total as usize];
        for (row, number) in rows {
            let end = &mut ends[number as usize];
            placed[*end as usize] = row;
            *end += 1;
        }
        Self { ends, rows: placed }
    }

    /// The rows of each series that has any, in the order in which the file has these.
    pub fn iter(&self) -> impl Iterator<Item = &[u32]> {
        let starts = std::iter::once(&0).chain(&self.ends);
        let spans = starts.zip(&self.ends).filter(|(start, end)| start < end);
        spans.map(|(start, end)| &self.rows[*start as usize..*end as usize])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::random::Random;

    /// Synthetic: rows by what all but one axis holds, the slow way.
    fn by_search(axes: &[Vec<i64>], rest: &[u64], along: usize) -> Vec<Vec<u32>> {
        let key = |row: u32| {
            let others = (0..axes.len()).filter(|n| *n != along);
            let others: Vec<i64> = others.map(|n| axes[n][row as usize]).collect();
            (rest[row as usize], others)
        };
        let mut series: Vec<Vec<u32>> = Vec::new();
        for row in 0..rest.len() as u32 {
            match series.iter_mut().find(|series| key(series[0]) == key(row)) {
                Some(series) => series.push(row),
                None => series.push(vec![row]),
            }
        }
        series
    }

    fn rows(series: &SeriesRows) -> Vec<Vec<u32>> {
        series.iter().map(<[u32]>::to_vec).collect()
    }

    #[test]
    fn series_are_the_rows_that_differ_in_one_size_alone() {
        let mut random = Random::new(5);
        // Sizes of so many are a full grid, an empty one and one of a single size.
        for sizes in [[3, 4, 1], [900, 900, 900], [1, 1, 1], [200, 2, 2]] {
            let count = 300;
            let axes: Vec<Vec<i64>> = sizes
                .iter()
                .map(|most| (0..count).map(|_| random.below(*most) as i64 * 7 - 10).collect())
                .collect();
            let rest: Vec<u64> = (0..count).map(|_| random.below(3) as u64).collect();
            let grid = Grid::new(axes.iter().map(|values| &values[..]), &rest);
            for (along, axis) in grid.axes().iter().enumerate() {
                let places = axis.places.iter().map(|place| axis.sizes[*place as usize]);
                assert!(places.eq(axes[along].iter().copied()));
                assert!(axis.sizes.is_sorted_by(|a, b| a < b));
                let expected = by_search(&axes, &rest, along);
                assert_eq!(rows(&grid.series(along)), expected);
                let beside = rows(&grid.series_beside(along, [7, 100].into_iter()));
                let has = |series: &&Vec<u32>| series.contains(&7) || series.contains(&100);
                assert!(beside.iter().eq(expected.iter().filter(has)));
            }
        }
    }
}
