//! The rows of a dtype by shape (n, k), and the place at which the planner reaches a shape first. That
//! place breaks ties of distance: the planner reads rows into maps nested m → n → k that remember the
//! first insertion at each level, and walks these maps.

use std::sync::Arc;

use hashbrown::HashMap;

use super::curve::LatencyCurve;

/// A row of a shape: its m, and its place in the reading order.
pub(crate) type ShapeRow = (u64, u64);

/// The rows of a dtype, by shape (n, k).
pub(crate) trait ShapeRows {
    /// The rows of a shape along m; empty if the shape was not measured.
    fn curve(&self, shape: [u64; 2]) -> Arc<LatencyCurve>;

    /// Every measured shape with its lowest and highest m, ordered by shape.
    fn spans(&self) -> Vec<([u64; 2], [u64; 2])>;

    /// The rows of a shape in any order, including repeated rows.
    fn rows(&self, shape: [u64; 2]) -> Vec<ShapeRow>;

    /// Visits all rows with their shapes, in any order.
    fn visit(&self, see: &mut dyn FnMut([u64; 2], ShapeRow));
}

/// The first places in the reading order of an m, of an n within that m, and of a row with both.
pub(super) type FirstMet = [u64; 3];

/// The first places of sizes in the reading order.
#[derive(Debug, Default)]
pub(super) struct FirstPlaces {
    /// The first place of each m.
    of_m: HashMap<u64, u64>,
    /// The first place of each pair of m and n.
    of_n: HashMap<(u64, u64), u64>,
}

impl FirstPlaces {
    /// Finds the first places of all rows' sizes.
    pub(super) fn of(rows: &dyn ShapeRows) -> Self {
        let mut first = Self::default();
        rows.visit(&mut |[n, _], (m, place)| {
            let of_m = first.of_m.entry(m).or_insert(place);
            *of_m = place.min(*of_m);
            let of_n = first.of_n.entry((m, n)).or_insert(place);
            *of_n = place.min(*of_n);
        });
        first
    }

    /// The place at which a walk over the nested maps reaches a shape first.
    pub(super) fn of_shape(&self, shape: [u64; 2], rows: &dyn ShapeRows) -> FirstMet {
        let own = rows.rows(shape).into_iter().filter_map(|(m, place)| {
            Some([*self.of_m.get(&m)?, *self.of_n.get(&(m, shape[0]))?, place])
        });
        own.min().unwrap_or([u64::MAX; 3])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::random::Random;

    /// Synthetic (m, n, k) in the reading order, some of them repeated.
    struct ReadShapes(Vec<[u64; 3]>);

    impl ReadShapes {
        fn places(&self) -> impl Iterator<Item = ([u64; 2], ShapeRow)> {
            self.0.iter().zip(0..).map(|([m, n, k], place)| ([*n, *k], (*m, place)))
        }
    }

    impl ShapeRows for ReadShapes {
        fn curve(&self, _: [u64; 2]) -> Arc<LatencyCurve> {
            LatencyCurve::new(Vec::new()).into()
        }

        fn spans(&self) -> Vec<([u64; 2], [u64; 2])> {
            Vec::new()
        }

        fn rows(&self, shape: [u64; 2]) -> Vec<ShapeRow> {
            self.places().filter(|(own, _)| *own == shape).map(|(_, row)| row).collect()
        }

        fn visit(&self, see: &mut dyn FnMut([u64; 2], ShapeRow)) {
            // The order differs from the reading order.
            let mut rows: Vec<_> = self.places().collect();
            rows.sort_unstable();
            rows.into_iter().for_each(|(shape, row)| see(shape, row));
        }
    }

    /// The shapes in the order of a walk over maps nested m, n, k, each in insertion order.
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
            let first = FirstPlaces::of(&rows);
            let mut order = expected.clone();
            order.sort_unstable();
            order.sort_by_key(|shape| first.of_shape(*shape, &rows));
            assert_eq!(order, expected);
        }
    }
}
