//! Tables that repeat the measurements of another system, backend or version.

use std::cmp::Ordering;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::base::error;
use crate::base::group::grouped;
use crate::base::words::{Figure, count, names, plural};
use crate::checks::compare::groups::{groups, may_share_measurements};
use crate::checks::compare::sketch::{Sketch, SketchedTable};
use crate::checks::{CheckInputs, CrossContext, Found, Input, Judge, Judged, RuleHead};
use crate::database::catalog::TableFile;
use crate::findings::{Finding, wholes};

/// Limits for two tables to count as copies of each other. Both limits must be reached.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Copies {
    /// Two tables count as copies only if the latencies of at least this many common points are identical or differ by
    /// one constant factor.
    points: usize,
    /// Two tables count as copies only if the latencies of at least this share of the common points are identical or
    /// differ by one constant factor.
    share: f64,
}

/// The evidence that one of two tables is a copy of the other.
#[derive(Debug, Clone, Copy, PartialEq)]
struct EqualPoints {
    /// The number of points that both tables have.
    common: usize,
    /// The number of common points at which the second table's latency is `factor` times the first table's.
    equal: usize,
    /// The ratio of the second table's latencies to the first table's: 1 if the second table is an exact copy.
    factor: f64,
}

/// The maximum relative difference of two latency ratios that count as the same factor. Rounding of doubles causes
/// differences of about 1e-16.
const SAME_FACTOR: f64 = 1e-9;

/// The number of common points in a quick comparison of two tables. Only tables that may be copies are then compared at
/// all common points.
const SAMPLE: usize = 64;

/// The number of common points whose latency ratios are tried as the constant factor between two tables.
const TRIED_FACTORS: usize = 16;

impl Judge for Copies {
    fn needs(&self) -> CheckInputs {
        CheckInputs::of(&[Input::Peers])
    }

    /// Reports groups of tables that contain the same measurements. Each finding is on the copy: the table whose rows
    /// name another device, framework or version than the table's directory. If no table has such rows, the table that
    /// was added last counts as the copy.
    fn cross<'v>(&'v self, rule: RuleHead<'v>, at: &'v CrossContext<'v>) -> Judged<'v> {
        // A table with fewer points than a copy must share is not a copy, and there may be many such tables.
        let tables = at.sketched().filter(|(_, sketch)| sketch.points.len() >= self.points);
        let tables: Vec<SketchedTable<'_>> = tables.collect();
        let alike = |a: &Sketch, b: &Sketch| self.alike(a, b).is_some();
        let groups = groups(at, &tables, &alike).into_iter();
        Ok(wholes(groups.flat_map(|group| self.findings(rule, at, &tables, &group))))
    }

    /// Reports tables with identical bytes that `cross` does not compare, because they have different names or too few
    /// points.
    fn whole(&self, rule: RuleHead<'_>, at: &CrossContext<'_>) -> error::Result<Found> {
        let mut found = Found::new();
        // `cross` compares tables of one name point by point.
        let is_compared = |a: &TableFile, b: &TableFile| {
            a.table == b.table && at.sketches.keys(&a.entry.path) >= self.points
        };
        let groups = equal_files(at).into_iter();
        for files in groups.filter(|all| !all.iter().all(|file| is_compared(all[0], file))) {
            let (added, old): (Vec<&TableFile>, _) =
                files.iter().copied().partition(|file| at.is_mostly_changed(file));
            let copies = if added.is_empty() || old.is_empty() { &files[1..] } else { &added[..] };
            let mut others = if old.is_empty() { files[..1].to_vec() } else { old };
            others.sort_by_key(|other| at.reread.origin_mismatches(other));
            found.extend(copies.iter().filter_map(|copy| {
                let is_new = |other: &&&TableFile| {
                    copy.entry.path != other.entry.path
                        && !is_compared(copy, other)
                        && !may_share_measurements(at, copy, other)
                };
                let other = others.iter().find(is_new)?;
                let rows = at.sketches.get(&copy.entry.path)?.rows;
                let all = EqualPoints { common: rows, equal: rows, factor: 1.0 };
                finding(rule, at, other, copy, all, &[])
            }));
        }
        Ok(found)
    }
}

/// Returns the groups of tables with equal bytes, in the order of their first table.
fn equal_files<'a>(at: &CrossContext<'a>) -> Vec<Vec<&'a TableFile>> {
    let tables = at.tables.iter().filter(|file| at.sketches.by_path.contains_key(&file.entry.path));
    let by_size = grouped(tables.map(|file| (file.entry.size, *file)));
    let same_size = by_size.into_values().filter(|files| files.len() > 1).flatten();
    let by_bytes =
        grouped(same_size.filter_map(|file| Some((at.state.source.id(&file.entry)?, file))));
    let mut groups: Vec<_> = by_bytes.into_values().filter(|files| files.len() > 1).collect();
    groups.sort_by(|a, b| a[0].entry.path.cmp(&b[0].entry.path));
    groups
}

impl Copies {
    fn alike(&self, a: &Sketch, b: &Sketch) -> Option<EqualPoints> {
        let like = equal_points(a, b)?;
        let is_copy =
            like.equal >= self.points && like.equal as f64 >= self.share * like.common as f64;
        is_copy.then_some(like)
    }

    /// Returns the findings on a group of tables with the same measurements. Each table that a pull request adds or
    /// mostly rewrites can get a finding. The other tables of the group together get at most one.
    fn findings(
        &self,
        rule: RuleHead<'_>,
        at: &CrossContext<'_>,
        tables: &[SketchedTable<'_>],
        group: &[usize],
    ) -> Vec<Finding> {
        let (added, old): (Vec<usize>, Vec<usize>) =
            group.iter().partition(|table| at.is_mostly_changed(tables[**table].0));
        let of = |group: &[usize]| match *group {
            [] | [_] => None,
            [a, b] => {
                let like = self.alike(tables[a].1, tables[b].1)?;
                finding(rule, at, tables[a].0, tables[b].0, like, &[])
            }
            _ => {
                let key = |i: &usize| (originality(at, tables[*i].0), *i);
                let copy = *group.iter().max_by_key(|i| key(i))?;
                let others: Vec<usize> = group.iter().copied().filter(|i| *i != copy).collect();
                self.of_copy(rule, at, tables, (copy, &others))
            }
        };
        if old.is_empty() {
            return of(&added).into_iter().collect();
        }
        let each = added.iter().filter_map(|copy| self.of_copy(rule, at, tables, (*copy, &old)));
        each.chain(of(&old)).collect()
    }

    /// Returns the finding that the table with the index `copy` is a copy. The finding names the original: the most
    /// original table in `others` that has the same measurements as `copy`. `None` if `others` contains no such table.
    fn of_copy(
        &self,
        rule: RuleHead<'_>,
        at: &CrossContext<'_>,
        tables: &[SketchedTable<'_>],
        (copy, others): (usize, &[usize]),
    ) -> Option<Finding> {
        let is_partner = |i: &&usize| {
            let alike = || self.alike(tables[copy].1, tables[**i].1);
            !may_share_measurements(at, tables[copy].0, tables[**i].0) && alike().is_some()
        };
        let partners = others.iter().filter(is_partner);
        let origin = *partners.min_by_key(|i| (originality(at, tables[**i].0), **i))?;
        let others = others.iter().filter(|i| **i != origin);
        let others: Vec<&TableFile> = others.map(|i| tables[*i].0).collect();
        // The two tables are compared in the order of their paths.
        let (a, b) = (copy.min(origin), copy.max(origin));
        let like = self.alike(tables[a].1, tables[b].1)?;
        finding(rule, at, tables[a].0, tables[b].0, like, &others)
    }
}

/// Returns the rank of a table among equal tables; the table with the smallest rank is the most original. The first
/// part of the rank counts the names in the rows that contradict the table's system, backend or version. The second
/// part is true if a pull request adds the table or changes most of it.
fn originality(at: &CrossContext<'_>, file: &TableFile) -> (usize, bool) {
    (at.reread.origin_mismatches(file), at.is_mostly_changed(file))
}

/// Returns the system, backend and version of the table that was copied, such as `h100_sxm/vllm/0.24.0`. This text does
/// not depend on the layout of the database's files.
fn place_of(file: &TableFile) -> String {
    let place = &file.place;
    [place.system.as_str(), &place.backend, &place.version].join("/")
}

/// Counts the points that two tables share, and the shared points whose latencies are equal or differ by one constant
/// factor. Returns `None` if a sample shows that there are hardly any such points.
fn equal_points(a: &Sketch, b: &Sketch) -> Option<EqualPoints> {
    let positive = |(a, b): &(f64, f64)| *a > 0.0 && *b > 0.0;
    let common = || a.common(b).map(|(a, b)| (a.latency, b.latency)).filter(positive);
    // Points are sorted by hash, so the first ones are a random sample. It shows every large equal part. Nearly every
    // pair of tables ends here.
    let first: Vec<f64> = common().take(SAMPLE).map(|(a, b)| b / a).collect();
    let agree = |ratios: &[f64], factor: f64| {
        ratios.iter().filter(|ratio| (*ratio / factor - 1.0).abs() < SAME_FACTOR).count()
    };
    let factors = first.iter().take(TRIED_FACTORS).copied().chain([1.0]);
    let factors: Vec<f64> = factors.filter(|factor| agree(&first, *factor) > 2).collect();
    if factors.is_empty() {
        return None;
    }
    let pairs: Vec<(f64, f64)> = common().collect();
    let ratios: Vec<f64> = pairs.iter().map(|(a, b)| b / a).collect();
    let equal = pairs.iter().filter(|(a, b)| a == b).count();
    let scaled = factors.iter().filter(|f| **f != 1.0).map(|f| (agree(&ratios, *f), *f));
    let (equal, factor) = match scaled.max_by(|x, y| x.0.cmp(&y.0)) {
        Some((scaled, factor)) if scaled > equal => (scaled, factor),
        _ => (equal, 1.0),
    };
    Some(EqualPoints { common: pairs.len(), equal, factor })
}

/// Describes for a message how many of the common points have the same measurements in the copy and in its origin.
/// `times` is the copy's latency divided by the origin's latency.
fn words(like: EqualPoints, times: f64, origin: &TableFile) -> String {
    let EqualPoints { common, equal, .. } = like;
    let (points, path) = (plural(common, "point"), &origin.entry.path);
    let part = if equal == common { "all".to_owned() } else { format!("{equal} of") };
    let scaled = match times {
        1.0 => String::new(),
        times => format!(", each multiplied by {:.6}", Figure(times)),
    };
    format!("{part} {points} shared with {path} have the same measurements{scaled}")
}

fn finding(
    rule: RuleHead<'_>,
    at: &CrossContext<'_>,
    a: &TableFile,
    b: &TableFile,
    like: EqualPoints,
    others: &[&TableFile],
) -> Option<Finding> {
    let (foreign_a, foreign_b) = (at.reread.origin_mismatches(a), at.reread.origin_mismatches(b));
    let named = foreign_a.cmp(&foreign_b);
    // A table that the pull request changes counts as younger than one that it does not change.
    let age = || {
        let changed = at.is_mostly_changed(a).cmp(&at.is_mostly_changed(b));
        changed.then_with(|| at.age(a, b).unwrap_or(Ordering::Equal))
    };
    let (copy, origin, which) = match named.then_with(age) {
        Ordering::Greater => (a, b, true),
        Ordering::Less => (b, a, true),
        Ordering::Equal => (b, a, false),
    };
    let which = match (named.is_ne(), which) {
        (true, _) => {
            "the rows here name another device, framework or version, so this table is the copy"
        }
        (false, true) => "this table was added later, so it is the copy",
        (false, false) => "which of the two is the copy is not known",
    };
    // A run on one system reports the copy only if the copy is on this system.
    if !at.judged(copy) {
        return None;
    }
    let more = if others.is_empty() {
        String::new()
    } else {
        let paths = others.iter().map(|f| f.entry.path.as_str());
        format!(
            "; {} more tables have the same measurements: {}",
            count(others.len()),
            names(paths)
        )
    };
    // `like.factor` is the latency of `b` divided by that of `a`.
    let times = if std::ptr::eq(copy, b) { like.factor } else { 1.0 / like.factor };
    let message = format!("{}; {which}{more}", words(like, times, origin));
    let mut finding = rule
        .on_table(copy, message)
        .rows(like.equal)
        .parts([origin].iter().chain(others).map(|file| place_of(file)))
        .copy_of(origin)
        .evidence("common_points", like.common)
        .evidence("factor", like.factor)
        .evidence("equal_points", like.equal);
    if !others.is_empty() {
        let paths: Vec<&str> = others.iter().map(|f| f.entry.path.as_str()).collect();
        finding = finding.evidence("tables", others.len() + 2).evidence("more", paths);
    }
    Some(finding)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::compare::sketch::SketchPoint;

    fn sketch(latency: impl Fn(u64) -> f64) -> Sketch {
        let points = (0..50).map(|i| SketchPoint::new(i, latency(i), 0)).collect();
        Sketch { rows: 50, keys: 50, points, end: u64::MAX, ..Sketch::default() }
    }

    #[test]
    fn plain_and_scaled_copies_are_found_and_noisy_reruns_are_not() {
        let a = sketch(|i| 0.1 + i as f64 * 0.037);
        let noisy = sketch(|i| (0.1 + i as f64 * 0.037) * (1.0 + 1e-6 * (i % 7) as f64));
        assert_eq!(equal_points(&a, &a).unwrap().equal, 50);
        let half = sketch(|i| (0.1 + i as f64 * 0.037) * 0.7);
        let scaled = equal_points(&a, &half).unwrap();
        assert_eq!((scaled.equal, (scaled.factor * 10.0).round()), (50, 7.0));
        assert!(equal_points(&a, &noisy).is_none_or(|like| like.equal < 20));
    }
}
