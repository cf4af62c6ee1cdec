//! The ranges and tick marks of logarithmic axes.

/// The maximum factor by which an axis is extended beyond the measured values to show a limit, such as a bound. An axis
/// that includes more distant limits would flatten the lines.
const BEYOND: f64 = 3.0;

/// Returns the smallest and the largest positive value. If there is only one value, returns a range around it.
/// Without a positive value, returns a default range.
pub(super) fn span(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let (low, high) = values.fold((f64::INFINITY, 0.0f64), |(l, h), v| (l.min(v), h.max(v)));
    if high <= 0.0 || !low.is_finite() {
        (0.1, 10.0)
    } else if low < high {
        (low, high)
    } else {
        (low / 3.0, high * 3.0)
    }
}

/// Extends the range of measured values so that it includes nearby limits. A limit is near if it is outside of the
/// range by at most the factor [`BEYOND`].
pub(super) fn extended((low, high): (f64, f64), limits: impl Iterator<Item = f64>) -> (f64, f64) {
    let near = limits.filter(|limit| (low / BEYOND..=high * BEYOND).contains(limit));
    near.fold((low, high), |(l, h), v| (l.min(v), h.max(v)))
}

/// Returns tick marks at the positions of the points, such as 1, 2, 4 and 8 GPUs. If the labels of these ticks do not
/// fit, returns ticks at round values.
pub(super) fn at_points(mut places: Vec<f64>, range: (f64, f64)) -> Vec<f64> {
    /// The minimum distance between two labels, as a fraction of the axis.
    const LEAST_GAP: f64 = 1.0 / 12.0;
    places.sort_by(f64::total_cmp);
    places.dedup();
    let least = (range.1 / range.0).ln() * LEAST_GAP;
    let fits = places.windows(2).all(|pair| (pair[1] / pair[0]).ln() >= least);
    if fits { places } else { ticks(range) }
}

/// Returns tick marks within a range. These are powers of ten; if there are too few, multiples of powers of ten are
/// added, such as 2, 5, 20 and 50.
pub(super) fn ticks(range: (f64, f64)) -> Vec<f64> {
    const FEW: usize = 4;
    const DIGITS: [f64; 10] = [1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0];
    let coarser = [&[1.0][..], &[1.0, 2.0, 5.0]].map(|digits| decades(range, digits));
    let enough = coarser.into_iter().find(|ticks| ticks.len() >= FEW);
    enough.unwrap_or_else(|| decades(range, &DIGITS))
}

/// Returns the products of `digits` and powers of ten that are within the range.
fn decades((low, high): (f64, f64), digits: &[f64]) -> Vec<f64> {
    let decades = (low.log10().floor() as i32)..=(high.log10().ceil() as i32);
    let all = decades.flat_map(|decade| digits.iter().map(move |d| d * 10f64.powi(decade)));
    all.filter(|value| (low..=high).contains(value)).collect()
}

#[cfg(test)]
mod tests {
    use super::super::short;
    use super::*;

    #[test]
    fn ticks_of_an_axis_are_round_and_at_least_three() {
        assert_eq!(ticks((1.0, 20_000.0)), [1.0, 10.0, 100.0, 1000.0, 10_000.0]);
        let few = ticks((0.021, 0.29)).iter().map(|t| short(*t)).collect::<Vec<_>>();
        assert!(few.len() >= 3 && few.contains(&"0.05".to_owned()), "{few:?}");
    }

    #[test]
    fn a_few_points_have_their_own_ticks() {
        let gpus = vec![8.0, 1.0, 2.0, 4.0, 2.0];
        assert_eq!(at_points(gpus, (1.0, 8.0)), [1.0, 2.0, 4.0, 8.0]);
        let tokens: Vec<f64> = (1..=64).map(f64::from).collect();
        assert_eq!(at_points(tokens, (1.0, 64.0)), ticks((1.0, 64.0)));
    }

    #[test]
    fn a_bound_extends_an_axis_by_less_than_a_decade() {
        assert_eq!(extended((1.0, 5.0), [0.5, 0.05, 1e-6, 1e6].into_iter()), (0.5, 5.0));
    }
}
