//! Where the planner meets a shape first, which breaks ties of distance: it reads rows into maps nested
//! m → n → k that remember the first insertion at each level, and walks them.

use std::sync::OnceLock;

use hashbrown::HashMap;

use super::ShapeRows;

/// The first places in the order of reading of an m, of an n under it, and of a row with both.
pub(super) type FirstMet = [u64; 3];

/// A row of a shape: its m, and its place in the order of reading.
pub type ShapeRow = (u64, u64);

/// Where the sizes of some shapes are met first.
#[derive(Debug)]
pub(super) struct FirstPlaces {
    /// The number of each m.
    numbers: HashMap<u64, usize>,
    /// The first place of each m, by number.
    of_m: Vec<u64>,
    /// Under each n, the same of its rows.
    of_n: HashMap<u64, Vec<u64>>,
    /// Of the shapes that were asked for, by the index that they have.
    known: Vec<OnceLock<FirstMet>>,
}

impl FirstPlaces {
    /// The places of all rows; `shapes` is the number of their shapes.
    pub fn of(rows: &dyn ShapeRows, shapes: usize) -> Self {
        let mut met = Sizes::default();
        let mut of_m: Vec<u64> = Vec::new();
        let mut of_n: HashMap<u64, Vec<u64>> = HashMap::new();
        rows.visit(&mut |[n, _], rows| {
            let of_n = of_n.entry(n).or_default();
            for (m, place) in rows {
                let number = met.number(*m);
                for places in [&mut of_m, of_n] {
                    if places.len() <= number {
                        places.resize(number + 1, u64::MAX);
                    }
                    places[number] = (*place).min(places[number]);
                }
            }
        });
        let known = (0..shapes).map(|_| OnceLock::new()).collect();
        Self { numbers: met.numbers, of_m, of_n, known }
    }

    /// Where a shape is met first.
    pub fn of_shape(&self, index: usize, shape: [u64; 2], rows: &dyn ShapeRows) -> FirstMet {
        *self.known[index].get_or_init(|| {
            let under = self.of_n.get(&shape[0]).map_or(&[][..], Vec::as_slice);
            let own = rows.rows(shape).into_iter().filter_map(|(m, place)| {
                let number = *self.numbers.get(&m)?;
                Some([*self.of_m.get(number)?, *under.get(number)?, place])
            });
            own.min().unwrap_or([u64::MAX; 3])
        })
    }
}

/// Numbers sizes in the order in which they are met.
#[derive(Default)]
struct Sizes {
    numbers: HashMap<u64, usize>,
    /// By number.
    sizes: Vec<u64>,
    /// The size that came after each, when it was met last: most shapes are measured at the same sizes.
    next: Vec<usize>,
    /// The size that was met last.
    last: usize,
}

impl Sizes {
    /// The number of a size.
    fn number(&mut self, size: u64) -> usize {
        let Self { numbers, sizes, next, last } = self;
        let guess = next.get(*last).copied().filter(|number| sizes[*number] == size);
        let number = guess.unwrap_or_else(|| {
            let number = *numbers.entry(size).or_insert_with(|| {
                sizes.push(size);
                next.push(0);
                sizes.len() - 1
            });
            next[*last] = number;
            number
        });
        *last = number;
        number
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::base::random::Random;
    use crate::planner::leaves::Leaf;

    /// Synthetic: (m, n, k) in the order of reading, some of them repeated.
    struct ReadShapes(Vec<[u64; 3]>);

    impl ReadShapes {
        fn places(&self) -> impl Iterator<Item = ([u64; 2], ShapeRow)> {
            self.0.iter().zip(0..).map(|([m, n, k], place)| ([*n, *k], (*m, place)))
        }
    }

    impl ShapeRows for ReadShapes {
        fn curve(&self, _: [u64; 2]) -> Option<Arc<Vec<Leaf>>> {
            None
        }

        fn spans(&self) -> Vec<([u64; 2], [u64; 2])> {
            Vec::new()
        }

        fn rows(&self, shape: [u64; 2]) -> Vec<ShapeRow> {
            self.places().filter(|(own, _)| *own == shape).map(|(_, row)| row).collect()
        }

        fn visit(&self, see: &mut dyn FnMut([u64; 2], &[ShapeRow])) {
            // In another order than they were read in.
            let mut rows: Vec<_> = self.places().collect();
            rows.sort_unstable();
            rows.iter().for_each(|(shape, row)| see(*shape, &[*row]));
        }
    }

    /// The shapes in the order of a walk over maps nested m, n, k: each level in the order of insertion.
    fn walked(rows: &[[u64; 3]]) -> Vec<[u64; 2]> {
        let first = |row: &[u64; 3], level: usize| {
            rows.iter().position(|other| other[..=level] == row[..=level])
        };
        let mut order: Vec<&[u64; 3]> = rows.iter().collect();
        order.sort_by_key(|row| [0, 1, 2].map(|level| first(row, level)));
        let mut met: Vec<[u64; 2]> = Vec::new();
        for [_, n, k] in order {
            if !met.contains(&[*n, *k]) {
                met.push([*n, *k]);
            }
        }
        met
    }

    #[test]
    fn shapes_are_in_the_order_of_a_walk_over_nested_maps() {
        let mut random = Random::new(13);
        for _ in 0..50 {
            let mut size = || 1 + random.below(5) as u64;
            let rows: Vec<[u64; 3]> = (0..60).map(|_| [size(), size(), size()]).collect();
            let expected = walked(&rows);
            let rows = ReadShapes(rows);
            let first = FirstPlaces::of(&rows, expected.len());
            let mut shapes = expected.clone();
            shapes.sort_unstable();
            let met = |index: usize| first.of_shape(index, shapes[index], &rows);
            let mut order: Vec<usize> = (0..shapes.len()).collect();
            order.sort_by_key(|index| met(*index));
            let order: Vec<[u64; 2]> = order.into_iter().map(|index| shapes[index]).collect();
            assert_eq!(order, expected);
        }
    }
}
