//! The points that two sketches have in common.

use super::{Sketch, SketchPoint};

impl Sketch {
    /// Pairs of latencies at the keys that both sketches would hold if both tables had them.
    pub fn common<'a>(&'a self, other: &'a Self) -> SharedPoints<'a> {
        let end = self.end.min(other.end);
        let within = |s: &'a Self| &s.points[..s.points.partition_point(|p| p.hash <= end)];
        SharedPoints { a: within(self), b: within(other) }
    }
}

/// Iterates over the keys that two sketches share.
pub struct SharedPoints<'a> {
    a: &'a [SketchPoint],
    b: &'a [SketchPoint],
}

impl Iterator for SharedPoints<'_> {
    /// The point of the one and of the other.
    type Item = (SketchPoint, SketchPoint);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let (a, b) = (*self.a.first()?, *self.b.first()?);
            match { a.hash }.cmp(&{ b.hash }) {
                std::cmp::Ordering::Less => self.a = &self.a[1..],
                std::cmp::Ordering::Greater => self.b = &self.b[1..],
                std::cmp::Ordering::Equal => {
                    (self.a, self.b) = (&self.a[1..], &self.b[1..]);
                    return Some((a, b));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn sketch(points: &[(u64, f64)], end: u64) -> Sketch {
        let points: Vec<SketchPoint> =
            points.iter().map(|(hash, latency)| SketchPoint::new(*hash, *latency, 0)).collect();
        Sketch {
            rows: points.len(),
            keys: points.len(),
            points,
            slices: vec![BTreeMap::new()],
            end,
            ..Sketch::default()
        }
    }

    #[test]
    fn sketches_share_the_keys_that_both_tables_have() {
        let a = sketch(&[(1, 0.1), (4, 0.4), (9, 0.9)], u64::MAX);
        let b = sketch(&[(1, 0.2), (5, 0.5)], 6);
        // Beyond 6 the other table may have the key without its sketch holding it.
        let common: Vec<(f64, f64)> = a.common(&b).map(|(a, b)| (a.latency, b.latency)).collect();
        assert_eq!(common, [(0.1, 0.2)]);
        assert_eq!(a.common(&a).count(), 3);
    }
}
