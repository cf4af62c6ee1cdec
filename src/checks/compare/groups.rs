//! Groups of tables that are like each other, found without comparing every table with every other.
//!
//! Tables whose points are equal are one class, and only one of them is compared with those of other
//! classes. Of a run that judges few tables, only what is like these is looked for.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use rayon::prelude::*;

use crate::checks::compare::sketch::{Sketch, Sketched};
use crate::checks::context::CrossContext;
use crate::database::catalog::TableFile;

/// Sets of tables, joined one pair at a time.
struct DisjointSets(Vec<usize>);

impl DisjointSets {
    /// The first table of a table's set.
    fn first(&mut self, table: usize) -> usize {
        let mut at = table;
        while self.0[at] != at {
            self.0[at] = self.0[self.0[at]];
            at = self.0[at];
        }
        at
    }

    fn join(&mut self, a: usize, b: usize) {
        let (a, b) = (self.first(a), self.first(b));
        self.0[a.max(b)] = a.min(b);
    }
}

/// Whether the likeness of two tables of one name is declared, or the two are one table under two
/// layouts.
pub(super) fn excused(at: &CrossContext<'_>, a: &TableFile, b: &TableFile) -> bool {
    let (table, a, b) = (&a.table, &a.place, &b.place);
    if (&a.system, &a.backend) != (&b.system, &b.backend) {
        return false;
    }
    a.version == b.version
        || at.donors(a, table).contains(&b.version.as_str())
        || at.donors(b, table).contains(&a.version.as_str())
}

/// The groups of two tables or more that are `alike` without an excuse and have a judged table among
/// them; each in the order of the tables.
pub(super) fn groups(
    at: &CrossContext<'_>,
    tables: &[Sketched<'_>],
    alike: &(dyn Fn(&Sketch, &Sketch) -> bool + Sync),
) -> Vec<Vec<usize>> {
    let classes = classes(tables);
    let mut joined = DisjointSets((0..tables.len()).collect());
    for class in &classes {
        // One that is like no other is not like itself either: its points may all be zero.
        let same = class.len() > 1 && alike(tables[class[0]].1, tables[class[1]].1);
        if same {
            join_all(at, tables, &mut joined, class, class);
        }
    }
    let judged = |class: &Vec<usize>| class.iter().any(|i| at.judged(tables[*i].0));
    let mut reached: BTreeSet<usize> =
        (0..classes.len()).filter(|c| judged(&classes[*c])).collect();
    let mut next: Vec<usize> = reached.iter().copied().collect();
    let mut compared: BTreeSet<usize> = BTreeSet::new();
    while !next.is_empty() {
        let among = next.iter().copied().collect();
        let comparison =
            ClassComparison { tables, classes: &classes, compared: &compared, among, alike };
        let found: Vec<_> = next.par_iter().map(|class| comparison.like(*class)).collect();
        compared.extend(&next);
        let mut after = Vec::new();
        for (class, others) in next.iter().zip(found) {
            for other in others {
                join_all(at, tables, &mut joined, &classes[*class], &classes[other]);
                if reached.insert(other) {
                    after.push(other);
                }
            }
        }
        next = after;
    }
    let mut groups: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for table in 0..tables.len() {
        groups.entry(joined.first(table)).or_default().push(table);
    }
    let judged = |group: &Vec<usize>| group.iter().any(|i| at.judged(tables[*i].0));
    groups.into_values().filter(|group| group.len() > 1 && judged(group)).collect()
}

/// Classes that are compared with all others at once.
struct ClassComparison<'r, 'a> {
    tables: &'r [Sketched<'a>],
    classes: &'r [Vec<usize>],
    /// Those that were compared before.
    compared: &'r BTreeSet<usize>,
    /// Those that are compared now.
    among: BTreeSet<usize>,
    alike: &'r (dyn Fn(&Sketch, &Sketch) -> bool + Sync),
}

impl<'a> ClassComparison<'_, 'a> {
    fn sketch(&self, class: usize) -> &'a Sketch {
        self.tables[self.classes[class][0]].1
    }

    /// The classes that are like one, where no other comparison finds it.
    fn like(&self, class: usize) -> Vec<usize> {
        let others = (0..self.classes.len()).filter(|other| self.is_new(class, *other));
        others.filter(|other| (self.alike)(self.sketch(class), self.sketch(*other))).collect()
    }

    fn is_new(&self, class: usize, other: usize) -> bool {
        other != class
            && !self.compared.contains(&other)
            && (!self.among.contains(&other) || other > class)
    }
}

/// Whether two sketches hold the same points.
fn same_points(a: &Sketch, b: &Sketch) -> bool {
    a.end == b.end
        && a.points.len() == b.points.len()
        && a.common(b).all(|(a, b)| a.latency.to_bits() == b.latency.to_bits())
}

/// The tables by their points: those of a class have the same.
fn classes(tables: &[Sketched<'_>]) -> Vec<Vec<usize>> {
    let mut by_digest: BTreeMap<u64, Vec<Vec<usize>>> = BTreeMap::new();
    for (i, (_, sketch)) in tables.iter().enumerate() {
        let mut digest = DefaultHasher::new();
        for point in &sketch.points {
            (point.hash, point.latency.to_bits()).hash(&mut digest);
        }
        let same = |class: &&mut Vec<usize>| same_points(tables[class[0]].1, sketch);
        let classes = by_digest.entry(digest.finish()).or_default();
        match classes.iter_mut().find(same) {
            Some(class) => class.push(i),
            None => classes.push(vec![i]),
        }
    }
    let mut classes: Vec<Vec<usize>> = by_digest.into_values().flatten().collect();
    classes.sort();
    classes
}

/// Joins each table of one class with those of another (or of the same) that no excuse keeps apart.
fn join_all(
    at: &CrossContext<'_>,
    tables: &[Sketched<'_>],
    joined: &mut DisjointSets,
    of: &[usize],
    with: &[usize],
) {
    for a in of {
        for b in with.iter().filter(|b| *b != a) {
            // Where they are of one set already, there is nothing left to find out.
            if joined.first(*a) != joined.first(*b) && !excused(at, tables[*a].0, tables[*b].0) {
                joined.join(*a, *b);
            }
        }
    }
}
