//! Properties of the interpolators for arbitrary rows.

use proptest::prelude::*;

use std::sync::Arc;

use super::super::refusal::Refusal;
use super::{
    How, LatencyCurve, LatencyGrid, Leaf, RowRef, ShapeRow, ShapeRows, Sites, Weights, query_sites,
};

fn leaf(at: [u64; 3], ms: f64, seq: usize) -> Leaf {
    Leaf { at, ms, row: RowRef { source: 0, row: seq as u32, powered: false } }
}

/// A bound that grows with every coordinate.
fn sol(at: [f64; 3]) -> f64 {
    (at[0] + 1.0) * (at[1] + 1.0) * (at[2] + 1.0) * 1e-6
}

/// Leaves with distinct (m, n, k).
struct SyntheticShapes(Vec<Leaf>);

impl SyntheticShapes {
    fn ask(&self, at: [u64; 3], weights: &mut Weights) -> Result<(f64, How), Refusal> {
        query_sites(at, self, || Arc::new(Sites::new(self)), &sol, weights)
    }
}

impl ShapeRows for SyntheticShapes {
    fn curve(&self, shape: [u64; 2]) -> Arc<LatencyCurve> {
        let of_shape = self.0.iter().filter(|leaf| leaf.at[1..] == shape);
        let mut curve: Vec<Leaf> = of_shape.copied().collect();
        curve.sort_unstable_by_key(|leaf| leaf.at[0]);
        LatencyCurve::new(curve).into()
    }

    fn spans(&self) -> Vec<([u64; 2], [u64; 2])> {
        let shapes = self.0.iter().map(|leaf| [leaf.at[1], leaf.at[2]]);
        let shapes: std::collections::BTreeSet<_> = shapes.collect();
        let span = |shape| {
            let curve = self.curve(shape);
            let curve = &curve.points;
            (shape, [curve[0].at[0], curve[curve.len() - 1].at[0]])
        };
        shapes.into_iter().map(span).collect()
    }

    fn rows(&self, shape: [u64; 2]) -> Vec<ShapeRow> {
        let of_shape = self.0.iter().filter(|leaf| leaf.at[1..] == shape);
        of_shape.map(|leaf| (leaf.at[0], u64::from(leaf.row.row))).collect()
    }

    fn visit(&self, see: &mut dyn FnMut([u64; 2], ShapeRow)) {
        for leaf in &self.0 {
            let row = (leaf.at[0], u64::from(leaf.row.row));
            see([leaf.at[1], leaf.at[2]], row);
        }
    }
}

/// Latencies on a random grid of three axes.
fn leaves() -> impl Strategy<Value = Vec<Leaf>> {
    let keys = || prop::collection::btree_set(1u64..5000, 2..5);
    let cells = prop::collection::vec(0.01f64..10.0, 64);
    (keys(), keys(), keys(), cells).prop_map(|(a, b, c, cells)| {
        let mut leaves = Vec::new();
        for a in &a {
            for b in &b {
                for c in &c {
                    let ms = cells[leaves.len() % cells.len()];
                    leaves.push(leaf([*a, *b, *c], ms, leaves.len()));
                }
            }
        }
        leaves
    })
}

proptest! {
    #[test]
    fn a_grid_is_exact_at_its_keys(leaves in leaves(), pick in any::<prop::sample::Index>()) {
        let asked = leaves[pick.index(leaves.len())];
        let grid = LatencyGrid::new(3, Some(1), leaves);
        let mut weights = Weights::new(true);
        prop_assert_eq!(grid.query(asked.at, &sol, &mut weights), Ok((asked.ms, How::Exact)));
    }

    #[test]
    fn inside_a_grid_an_answer_lies_between_its_rows(
        leaves in leaves(),
        shares in [0.0f64..1.0, 0.0f64..1.0, 0.0f64..1.0],
    ) {
        let (first, last) = (leaves[0].at, leaves[leaves.len() - 1].at);
        let inner = |i: usize| first[i] + ((last[i] - first[i]) as f64 * shares[i]) as u64;
        let query = [inner(0), inner(1), inner(2)];
        let (low, high) = leaves.iter().fold((f64::INFINITY, 0.0f64), |(l, h), leaf| {
            (l.min(leaf.ms), h.max(leaf.ms))
        });
        let grid = LatencyGrid::new(3, Some(1), leaves);
        let (ms, how) = grid.query(query, &sol, &mut Weights::new(false)).expect("an answer");
        prop_assert!(how != How::Beyond);
        prop_assert!(ms >= low * (1.0 - 1e-12) && ms <= high * (1.0 + 1e-12), "{ms}");
    }

    #[test]
    fn beyond_a_grid_the_utilisation_of_its_rows_is_held(
        leaves in leaves(),
        factor in 2u64..50,
    ) {
        let last = leaves[leaves.len() - 1].at;
        let query = last.map(|c| c * factor);
        let ratios: Vec<f64> =
            leaves.iter().map(|l| sol(l.at.map(|c| c as f64)) / l.ms).collect();
        let low = ratios.iter().copied().fold(f64::INFINITY, f64::min);
        let high = ratios.iter().copied().fold(0.0, f64::max);
        let grid = LatencyGrid::new(3, None, leaves);
        let mut weights = Weights::new(true);
        let (ms, how) = grid.query(query, &sol, &mut weights).expect("an answer");
        let held = sol(query.map(|c| c as f64)) / ms;
        prop_assert_eq!(how, How::Beyond);
        prop_assert!(held >= low * (1.0 - 1e-9) && held <= high * (1.0 + 1e-9), "{held}");
    }

    #[test]
    fn a_row_that_grows_makes_no_answer_shrink(
        leaves in leaves(),
        query in [1u64..9000, 1u64..9000, 1u64..9000],
        pick in any::<prop::sample::Index>(),
    ) {
        let mut slower = leaves.clone();
        slower[pick.index(leaves.len())].ms *= 1.5;
        let answer = |leaves| {
            let grid = LatencyGrid::new(3, Some(1), leaves);
            grid.query(query, &sol, &mut Weights::new(false)).expect("an answer").0
        };
        let (before, after) = (answer(leaves), answer(slower));
        prop_assert!(after >= before * (1.0 - 1e-12), "{before} → {after}");
    }

    #[test]
    fn a_curve_is_exact_linear_and_then_proportional(
        keys in prop::collection::btree_set(1u64..100_000, 2..8),
        query in 1u64..1_000_000,
    ) {
        // Latency is proportional to size, so every way of answering must reproduce it.
        let points: Vec<Leaf> =
            keys.iter().enumerate().map(|(i, k)| leaf([*k, 0, 0], *k as f64 * 0.5, i)).collect();
        let curve = LatencyCurve::new(points);
        let (ms, _) = curve.query(query as f64, &|x| x, &mut Weights::new(false)).expect("an answer");
        prop_assert!((ms / (query as f64 * 0.5) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn sites_are_exact_and_the_nearer_one_weighs_more(
        query in (600u64..1900, 600u64..1900),
        m in 1u64..4096,
    ) {
        let shapes = [[512, 512], [512, 2048], [2048, 512], [2048, 2048]];
        let mut leaves: Vec<Leaf> = Vec::new();
        for m in [1, 4096] {
            for [n, k] in shapes {
                leaves.push(leaf([m, n, k], sol([m, n, k].map(|c| c as f64)) * 2.0, leaves.len()));
            }
        }
        let rows = SyntheticShapes(leaves.clone());
        for leaf in &leaves {
            let answer = rows.ask(leaf.at, &mut Weights::new(false));
            prop_assert_eq!(answer, Ok((leaf.ms, How::Exact)));
        }
        let mut weights = Weights::new(true);
        let (n, k) = query;
        let (_, how) = rows.ask([m, n, k], &mut weights).expect("an answer");
        prop_assert_eq!(how, How::Transfer);
        let distance = |shape: [u64; 2]| {
            let [a, b] = [(shape[0], n), (shape[1], k)]
                .map(|(a, b)| (a as f64).log2() - (b as f64).log2());
            (a * a + b * b).sqrt()
        };
        let mut shares: Vec<(f64, f64)> = Vec::new();
        for shape in shapes {
            let is_of = |row: &RowRef| leaves[row.row as usize].at[1..] == shape;
            let share = weights.rows().iter().filter(|(row, _)| is_of(row)).map(|(_, w)| w).sum();
            shares.push((distance(shape), share));
        }
        shares.sort_by(|a, b| a.0.total_cmp(&b.0));
        for pair in shares.windows(2) {
            prop_assert!(pair[0].1 >= pair[1].1 - 1e-9, "{shares:?}");
        }
    }
}

#[test]
fn far_shapes_are_refused_unless_they_exceed_one_axis_alone() {
    let leaves = vec![leaf([1, 1024, 1024], 1.0, 0), leaf([64, 1024, 1024], 2.0, 1)];
    let rows = SyntheticShapes(leaves);
    let ask = |n, k| rows.ask([8, n, k], &mut Weights::new(false)).is_ok();
    assert!(ask(1 << 20, 1024), "beyond the largest n");
    assert!(!ask(1 << 20, 1 << 20), "beyond both");
    assert!(!ask(8, 1024), "far below");
    assert!(!ask(1 << 20, 8), "beyond one, below the other");
}

#[test]
fn of_shapes_at_one_distance_those_that_are_met_first_answer() {
    // One shape is nearer; three of the four shapes one octave away answer. (1024, 512) was read last,
    // but its n appeared in the first row, so the walk over nested maps reaches it before n 2048.
    let shapes = [[1024, 2048], [2048, 1024], [512, 1024], [1024, 512], [1200, 1024]];
    let leaves = shapes.iter().enumerate().map(|(i, [n, k])| leaf([64, *n, *k], 1.0, i)).collect();
    let rows = SyntheticShapes(leaves);
    let mut weights = Weights::new(true);
    rows.ask([64, 1024, 1024], &mut weights).expect("an answer");
    let answering: Vec<usize> = weights.rows().iter().map(|(row, _)| row.row as usize).collect();
    assert_eq!(answering, [4, 0, 3, 1]);
}
