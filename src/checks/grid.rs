//! Rows as points of a grid: the place of each along the axes of a sweep, and a number for what else it is.
//!
//! A series holds the rows that differ in one size alone. Sizes are few, so each row is known by the places of
//! its sizes in their order, and a series is found by arithmetic on places, not by a hash of each row.

use crate::database::table::{CodedColumn, Combinations, NumberedRows};

/// Rows as points of a grid.
pub struct Grid<'a> {
    axes: Vec<&'a CodedColumn>,
    /// What rows are beside their sizes.
    rest: NumberedRows,
}

impl<'a> Grid<'a> {
    /// A grid of the sizes along some axes; `rest` is what else each of `rows` rows is.
    pub(crate) fn new(axes: Vec<&'a CodedColumn>, rest: &Combinations<'_>, rows: usize) -> Self {
        Self { axes, rest: rest.numbers(rows) }
    }

    /// The rows of each series along an axis, by its number: rows that differ in its size alone.
    pub fn series(&self, along: usize) -> SeriesRows {
        let NumberedRows { of_rows, counts } = self.numbers(along);
        SeriesRows::placed(&of_rows, counts, |_| true)
    }

    /// As [`series`](Self::series), those that have one of `some` rows.
    pub fn series_beside(&self, along: usize, some: impl Iterator<Item = u32>) -> SeriesRows {
        let NumberedRows { of_rows, counts: all } = self.numbers(along);
        let mut counts = vec![0; all.len()];
        for row in some {
            let number = of_rows[row as usize] as usize;
            counts[number] = all[number];
        }
        let wanted = counts.clone();
        SeriesRows::placed(&of_rows, counts, |number| wanted[number as usize] > 0)
    }

    /// Numbers the series along an axis.
    fn numbers(&self, along: usize) -> NumberedRows {
        let NumberedRows { of_rows, counts } = &self.rest;
        let mut fixed = Combinations::default();
        fixed.add_codes(&of_rows[..], counts.len());
        let others = self.axes.iter().enumerate().filter(|(n, _)| *n != along);
        others.for_each(|(_, axis)| fixed.add_numbers(axis));
        fixed.numbers(of_rows.len())
    }
}

/// Rows series by series, each series' in the order of the file.
pub struct SeriesRows {
    /// Where each series ends in `rows`.
    ends: Vec<u32>,
    rows: Vec<u32>,
}

impl SeriesRows {
    /// Rows by the numbers of their series, of which those that are `wanted` have a count each: a counting sort.
    fn placed(of_rows: &[u32], mut counts: Vec<u32>, wanted: impl Fn(u32) -> bool) -> Self {
        let mut total = 0;
        for count in &mut counts {
            (*count, total) = (total, total + *count);
        }
        let mut rows = vec![0; total as usize];
        // Where a series starts is, once its rows are placed, where it ends.
        let mut ends = counts;
        for (row, number) in (0..).zip(of_rows) {
            if wanted(*number) {
                let end = &mut ends[*number as usize];
                rows[*end as usize] = row;
                *end += 1;
            }
        }
        Self { ends, rows }
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
    fn by_search(axes: &[Vec<i64>], rest: &[u32], along: usize) -> Vec<Vec<u32>> {
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
            let rest: Vec<u32> = (0..count).map(|_| random.below(3) as u32).collect();
            let coded: Vec<CodedColumn> = axes.iter().map(|sizes| CodedColumn::of(sizes)).collect();
            let mut others = Combinations::default();
            others.add_codes(&rest[..], 3);
            let grid = Grid::new(coded.iter().collect(), &others, count);
            for along in 0..axes.len() {
                let expected = by_search(&axes, &rest, along);
                assert_eq!(rows(&grid.series(along)), expected);
                let beside = rows(&grid.series_beside(along, [7, 100].into_iter()));
                let has = |series: &&Vec<u32>| series.contains(&7) || series.contains(&100);
                assert!(beside.iter().eq(expected.iter().filter(has)));
            }
        }
    }
}
