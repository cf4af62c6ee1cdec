//! Groups of tables that are equal, or nearly.

use std::collections::BTreeMap;

use rayon::prelude::*;

use crate::checks::compare::sketch::{Sketch, SketchedTable};
use crate::checks::context::CrossContext;
use crate::database::catalog::TableFile;

/// Returns true if two tables with the same name may contain the same measurements: one is declared to reuse the other,
/// or they are the same table in two layouts of the database.
pub(super) fn may_share_measurements(at: &CrossContext<'_>, a: &TableFile, b: &TableFile) -> bool {
    let (table, a, b) = (&a.table, &a.place, &b.place);
    if (&a.system, &a.backend) != (&b.system, &b.backend) {
        return false;
    }
    a.version == b.version
        || at.donors(a, table).contains(&b.version.as_str())
        || at.donors(b, table).contains(&a.version.as_str())
}

/// Groups similar tables. Each group is a sorted list of indices into `tables`. Two tables are similar if `alike`
/// returns true for their sketches, unless [`may_share_measurements`] is true for them. Groups with a single table or
/// without a judged table are left out.
pub(super) fn groups(
    at: &CrossContext<'_>,
    tables: &[SketchedTable<'_>],
    alike: &(dyn Fn(&Sketch, &Sketch) -> bool + Sync),
) -> Vec<Vec<usize>> {
    let is_like = |one: usize, other: usize| {
        let (a, b) = (tables[one.min(other)], tables[one.max(other)]);
        !may_share_measurements(at, a.0, b.0) && alike(a.1, b.1)
    };
    let mut free: Vec<usize> = (0..tables.len()).collect();
    let mut groups = BTreeMap::new();
    while let Some(first) = free.iter().position(|table| at.judged(tables[*table].0)) {
        let mut group = vec![free.remove(first)];
        let mut seen = 0;
        while let Some(table) = group.get(seen).copied() {
            seen += 1;
            let (found, rest): (Vec<usize>, Vec<usize>) =
                free.into_par_iter().partition(|other| is_like(table, *other));
            group.extend(found);
            free = rest;
        }
        group.sort_unstable();
        if group.len() > 1 {
            groups.insert(group[0], group);
        }
    }
    groups.into_values().collect()
}
