//! Selects the points of a table to measure again: a seeded draw from strata of slice and latency.
//!
//! A slice contains the rows that agree in every text, such as dtype, kernel and operation. The rows of
//! a slice are divided into ten parts by latency, so that a few long rows are drawn as often as many
//! short ones.

use std::collections::BTreeMap;

use crate::base::random::Random;

/// Number of latency parts of a slice.
const PARTS: usize = 10;

/// Rows of one slice and latency decile.
#[derive(Debug, Clone, PartialEq)]
pub struct Stratum {
    /// The slice's text values, joined by spaces.
    pub slice: String,
    /// Latency decile within the slice, from 1.
    pub decile: usize,
    /// Row numbers in the table.
    pub rows: Vec<usize>,
}

/// Divides rows into strata; `rows` yields each row's number, slice and latency.
pub fn strata(rows: impl IntoIterator<Item = (usize, String, f64)>) -> Vec<Stratum> {
    let mut slices: BTreeMap<String, Vec<(f64, usize)>> = BTreeMap::new();
    for (row, slice, latency) in rows {
        slices.entry(slice).or_default().push((latency, row));
    }
    let mut strata = Vec::new();
    for (slice, mut rows) in slices {
        rows.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        for part in 0..PARTS {
            let bounds = rows.len() * part / PARTS..rows.len() * (part + 1) / PARTS;
            let rows: Vec<usize> = rows[bounds].iter().map(|(_, row)| *row).collect();
            if !rows.is_empty() {
                strata.push(Stratum { slice: slice.clone(), decile: part + 1, rows });
            }
        }
    }
    strata
}

/// The rows drawn for a sample.
#[derive(Debug, Clone, PartialEq)]
pub struct DrawnRows {
    /// Index of the stratum and row number of each point, in the order of measurement.
    pub points: Vec<(usize, usize)>,
    /// Number of drawn points that do not fit in memory and were replaced from their stratum.
    pub replaced: usize,
}

/// Draws `count` rows, or all if there are fewer. Takes the same number from each slice, and within a
/// slice from each decile, as nearly as possible. `fits` is true for rows that fit in memory.
pub fn draw(
    strata: &[Stratum],
    count: usize,
    seed: u64,
    fits: impl Fn(usize) -> bool,
) -> DrawnRows {
    let mut random = Random::new(seed);
    let mut left: Vec<Vec<usize>> = strata.iter().map(|s| s.rows.clone()).collect();
    left.iter_mut().for_each(|rows| random.shuffle(rows));
    let mut slices: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (index, stratum) in strata.iter().enumerate() {
        slices.entry(&stratum.slice).or_default().push(index);
    }
    let mut slices: Vec<Vec<usize>> = slices.into_values().collect();
    random.shuffle(&mut slices);
    slices.iter_mut().for_each(|s| random.shuffle(s));

    let mut draw = DrawnRows { points: Vec::new(), replaced: 0 };
    let mut round = 0;
    while draw.points.len() < count && left.iter().any(|rows| !rows.is_empty()) {
        for slice in &slices {
            let index = slice[round % slice.len()];
            while draw.points.len() < count
                && let Some(row) = left[index].pop()
            {
                if fits(row) {
                    draw.points.push((index, row));
                    break;
                }
                draw.replaced += 1;
            }
        }
        round += 1;
    }
    // A card that warms up must not look like a trend in latency.
    random.shuffle(&mut draw.points);
    draw
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows() -> Vec<Stratum> {
        let row =
            |i: usize| (i, if i < 400 { "a" } else { "b" }.to_owned(), (i % 400) as f64 + 1.0);
        strata((0..500).map(row))
    }

    #[test]
    fn strata_hold_every_row_once_by_latency() {
        let strata = rows();
        assert_eq!(strata.len(), 20);
        assert!(strata[..10].iter().all(|s| s.rows.len() == 40 && s.slice == "a"));
        assert_eq!(strata[0].rows, (0..40).collect::<Vec<_>>());
        assert_eq!(strata[19].rows, (490..500).collect::<Vec<_>>());
        assert_eq!(super::strata([(7, "x".to_owned(), 1.0)])[0].rows, [7]);
    }

    #[test]
    fn a_draw_is_spread_and_depends_on_the_seed_alone() {
        let strata = rows();
        let one = draw(&strata, 20, 1, |_| true);
        assert_eq!(one, draw(&strata, 20, 1, |_| true));
        assert_ne!(one.points, draw(&strata, 20, 2, |_| true).points);
        let mut hit: Vec<usize> = one.points.iter().map(|(s, _)| *s).collect();
        hit.sort_unstable();
        assert_eq!(hit, (0..20).collect::<Vec<_>>(), "one of each stratum");
        assert_eq!(draw(&strata, 10_000, 1, |_| true).points.len(), 500);
    }

    #[test]
    fn what_does_not_fit_is_replaced_and_counted() {
        let strata = rows();
        let draw = draw(&strata, 40, 3, |row| row % 2 == 0);
        assert_eq!(draw.points.len(), 40);
        assert!(draw.points.iter().all(|(_, row)| row % 2 == 0));
        assert!(draw.replaced > 10, "{}", draw.replaced);
        assert!(super::draw(&strata, 5, 3, |_| false).points.is_empty());
    }
}
