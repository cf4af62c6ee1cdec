//! The same measurements under two systems, backends or versions.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::base::expr::ExprError;
use crate::base::words::plural;
use crate::checks::CrossContext;
use crate::checks::compare::sketch::Sketch;
use crate::checks::judge::{Found, Judge};
use crate::checks::rule::Rule;
use crate::database::catalog::{Place, TableFile};
use crate::findings::Finding;

/// When two tables are one.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Copies {
    /// Points that must be equal to the last bit, or differ by one and the same factor.
    points: usize,
    /// Their share of the points that both tables have.
    share: f64,
}

/// How far two tables are one.
struct Likeness {
    common: usize,
    equal: usize,
    /// The factor between them: 1 for a plain copy.
    factor: f64,
}

/// Two ratios are one factor when they agree this closely: a product of doubles is off by 1e-16.
const SAME_FACTOR: f64 = 1e-9;

/// Points that are compared first.
const SAMPLE: usize = 64;

impl Judge for Copies {
    /// One finding for each pair of tables that hold the same measurements, on the one that names
    /// another device, framework or version than its place, else on the one that came later.
    fn cross(&self, rule: &Rule, at: &CrossContext<'_>) -> Result<Found, ExprError> {
        let mut by_table: BTreeMap<&str, Vec<(&TableFile, &Sketch)>> = BTreeMap::new();
        for file in &at.catalog.tables {
            // What has fewer points than a copy must share is none, and there may be many such.
            let sketch = at.sketches.by_path.get(&file.entry.path);
            if let Some(sketch) = sketch.filter(|s| s.points.len() >= self.points) {
                by_table.entry(&file.table).or_default().push((file, sketch));
            }
        }
        let mut found = Vec::new();
        for files in by_table.values() {
            for (i, (a, of_a)) in files.iter().enumerate() {
                for (b, of_b) in &files[i + 1..] {
                    if !at.judged(a) && !at.judged(b) || excused(at, &a.place, &b.place, &a.table) {
                        continue;
                    }
                    let like = likeness(of_a, of_b);
                    if like.equal >= self.points
                        && like.equal as f64 >= self.share * like.common as f64
                    {
                        found.extend(finding(rule, at, a, b, &like));
                    }
                }
            }
        }
        Ok(found)
    }
}

fn likeness(a: &Sketch, b: &Sketch) -> Likeness {
    let positive = |(a, b): &(f64, f64)| *a > 0.0 && *b > 0.0;
    let common = || a.common(b).map(|(a, b)| (a.latency, b.latency)).filter(positive);
    // Points are in the order of a hash, so the first ones are a sample: a part large enough to be
    // told shows in it, and nearly every pair of tables ends here.
    let first: Vec<(f64, f64)> = common().take(SAMPLE).collect();
    let agree = |pairs: &[(f64, f64)], factor: f64| {
        pairs.iter().filter(|(a, b)| (b / a / factor - 1.0).abs() < SAME_FACTOR).count()
    };
    let factors = first.iter().take(16).map(|(a, b)| b / a).chain([1.0]);
    let factors: Vec<f64> = factors.filter(|f| agree(&first, *f) > 2).collect();
    if factors.is_empty() {
        return Likeness { common: 0, equal: 0, factor: 1.0 };
    }
    let pairs: Vec<(f64, f64)> = common().collect();
    let equal = pairs.iter().filter(|(a, b)| a == b).count();
    let scaled = factors.iter().filter(|f| **f != 1.0).map(|f| (agree(&pairs, *f), *f));
    match scaled.max_by(|x, y| x.0.cmp(&y.0)) {
        Some((scaled, factor)) if scaled > equal => {
            Likeness { common: pairs.len(), equal: scaled, factor }
        }
        _ => Likeness { common: pairs.len(), equal, factor: 1.0 },
    }
}

/// Whether the likeness is declared, or the two are one table under two layouts.
fn excused(at: &CrossContext<'_>, a: &Place, b: &Place, table: &str) -> bool {
    if (&a.system, &a.backend) != (&b.system, &b.backend) {
        return false;
    }
    let declares = |from: &Place, to: &Place| at.donors(from, table).contains(&to.version.as_str());
    a.version == b.version || declares(a, b) || declares(b, a)
}

fn finding(
    rule: &Rule,
    at: &CrossContext<'_>,
    a: &TableFile,
    b: &TableFile,
    like: &Likeness,
) -> Option<Finding> {
    let (foreign_a, foreign_b) = ((at.foreign)(a), (at.foreign)(b));
    let named = foreign_a.cmp(&foreign_b);
    // What a pull request changes comes after what it leaves alone.
    let age = || {
        let changed = at.later(a).cmp(&at.later(b));
        changed.then_with(|| (at.age)(a, b).unwrap_or(Ordering::Equal))
    };
    let (copy, origin, which) = match named.then_with(age) {
        Ordering::Greater => (a, b, true),
        Ordering::Less => (b, a, true),
        Ordering::Equal => (b, a, false),
    };
    let which = match (named.is_ne(), which) {
        (true, _) => "its rows name another origin than this place, so it is the copy",
        (false, true) => "it came to its place later, so it is the copy",
        (false, false) => "nothing tells which is the copy",
    };
    // A run on one of the two systems tells it only where the copy lies.
    if !at.judged(copy) {
        return None;
    }
    let scaled = match like.factor {
        1.0 => String::new(),
        f => format!(", each multiplied by {f:.6}"),
    };
    let part =
        if like.equal == like.common { "all".to_owned() } else { format!("{} of", like.equal) };
    let message = format!(
        "{part} {} that it shares with {} have the same measurements{scaled}; {which}",
        plural(like.common, "point"),
        origin.entry.path
    );
    let other = &origin.place;
    let finding = Finding::on_table(&rule.id, rule.severity, copy, message)
        .rows(like.equal)
        .parts([[other.system.as_str(), &other.backend, &other.version].join("/")])
        .copy_of(origin)
        .evidence("common_points", like.common)
        .evidence("equal_points", like.equal)
        .evidence("factor", like.factor);
    Some(finding)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::compare::sketch::SketchPoint;

    fn sketch(latency: impl Fn(u64) -> f64) -> Sketch {
        let points =
            (0..50).map(|i| SketchPoint { hash: i, latency: latency(i), slice: 0 }).collect();
        Sketch { rows: 50, keys: 50, points, end: u64::MAX, ..Sketch::default() }
    }

    #[test]
    fn plain_and_scaled_copies_are_found_and_noise_is_not() {
        let a = sketch(|i| 0.1 + i as f64 * 0.037);
        let noisy = sketch(|i| (0.1 + i as f64 * 0.037) * (1.0 + 1e-6 * (i % 7) as f64));
        assert_eq!(likeness(&a, &a).equal, 50);
        let half = sketch(|i| (0.1 + i as f64 * 0.037) * 0.7);
        let scaled = likeness(&a, &half);
        assert_eq!((scaled.equal, (scaled.factor * 10.0).round()), (50, 7.0));
        assert!(likeness(&a, &noisy).equal < 20);
    }
}
