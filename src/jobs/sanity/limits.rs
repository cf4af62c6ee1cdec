//! Of which tables limits may explain other missing keys than before, since figures of systems change.

use std::collections::BTreeMap;

use crate::database::catalog::TableFile;
use crate::database::state::State;
use crate::specs::system::System;
use crate::specs::{Limit, NEAREST};

/// The limits that may hold for other keys than before, by the system of the tables that they are about.
pub(super) struct ChangedLimits<'a>(BTreeMap<&'a str, Vec<&'a Limit>>);

/// A system before and after.
#[derive(Clone, Copy)]
struct SystemSides<'a> {
    before: &'a System,
    after: &'a System,
}

impl SystemSides<'_> {
    fn differs(&self) -> bool {
        self.before.figures != self.after.figures
    }
}

impl<'a> ChangedLimits<'a> {
    /// Those between two states, of systems that both have.
    pub fn between(base: State<'a>, head: State<'a>) -> Self {
        let both = head.catalog.systems.keys().filter_map(|name| {
            let before = base.catalog.system(name, base.specs)?;
            let after = head.catalog.system(name, head.specs)?;
            Some((name.as_str(), SystemSides { before, after }))
        });
        let (names, systems): (Vec<&str>, Vec<SystemSides<'_>>) = both.unzip();
        if !systems.iter().any(SystemSides::differs) {
            return Self(BTreeMap::new());
        }
        let changed = |own: SystemSides<'_>| {
            let limits = head.specs.limits.values();
            limits.filter(|limit| !is_alike(limit, own, &systems)).collect()
        };
        let own = systems.iter().map(|own| changed(*own));
        Self(names.into_iter().zip(own).collect())
    }

    /// Whether what a table lacks may be explained otherwise than before.
    pub fn concern(&self, file: &TableFile) -> bool {
        let of_system = self.0.get(file.place.system.as_str());
        of_system.into_iter().flatten().any(|limit| limit.concerns(&file.table))
    }
}

/// Whether a limit holds for the same keys of a system as before, whichever of the others have them.
fn is_alike(limit: &Limit, own: SystemSides<'_>, systems: &[SystemSides<'_>]) -> bool {
    let nearest = limit.holds.fields().into_iter().filter(|field| field.starts_with(NEAREST));
    let mut changed = systems.iter().copied().filter(SystemSides::differs);
    match (nearest.count(), changed.next(), changed.next()) {
        (_, None, _) => true,
        (0, ..) => !own.differs() || is_alike_beside(limit, own, &[]),
        // The least of several systems is one system's, and if that is the changed one it is so among the
        // changed one and another.
        (1, Some(changed), None) => systems.iter().all(|near| {
            is_alike_beside(limit, own, &[*near]) && is_alike_beside(limit, own, &[changed, *near])
        }),
        _ => false,
    }
}

/// Whether a limit holds for the same keys of a system as before, of those that all of `near` have.
fn is_alike_beside(limit: &Limit, own: SystemSides<'_>, near: &[SystemSides<'_>]) -> bool {
    let figure = |path: &str, side: for<'s> fn(&SystemSides<'s>) -> &'s System| match path
        .strip_prefix(NEAREST)
    {
        None => side(&own).figure(path),
        Some(path) => {
            let figures: Option<Vec<f64>> =
                near.iter().map(|system| side(system).figure(path)).collect();
            figures?.into_iter().reduce(f64::min)
        }
    };
    let before = |path: &str| figure(path, |sides| sides.before);
    let after = |path: &str| figure(path, |sides| sides.after);
    limit.holds.is_alike(&before, &after)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::specs::Specs;

    /// Synthetic: which of the embedded limits on memory may hold otherwise for a system of 80 bytes, beside one
    /// of 141 that gets another size.
    fn changed(own: [u64; 2], other: [u64; 2]) -> Vec<String> {
        let system = |name: &str, memory: u64| {
            System::parse(name, &format!("gpu:\n  mem_capacity: {memory}\n")).unwrap()
        };
        let sides = [("own", own), ("other", other)]
            .map(|(name, sizes)| sizes.map(|memory| system(name, memory)));
        let systems: Vec<SystemSides<'_>> =
            sides.iter().map(|[before, after]| SystemSides { before, after }).collect();
        let specs = Specs::embedded().unwrap();
        let limits = specs.limits.iter().filter(|(_, l)| !is_alike(l, systems[0], &systems));
        limits.map(|(id, _)| id.clone()).collect()
    }

    #[test]
    fn a_limit_that_compares_systems_alone_changes_with_their_order() {
        assert!(changed([80, 80], [141, 142]).is_empty());
        assert_eq!(changed([80, 80], [141, 70]), ["less-memory"]);
        assert_eq!(changed([80, 80], [141, 80]), ["less-memory"]);
        assert!(changed([80, 80], [141, 141]).is_empty());
    }

    #[test]
    fn a_limit_that_holds_a_figure_against_keys_changes_with_it() {
        let ids = changed([80, 81], [141, 141]);
        assert!(ids.contains(&"matrices-beyond-memory".to_owned()), "{ids:?}");
        assert!(!ids.contains(&"less-memory".to_owned()), "{ids:?}");
        assert!(!ids.contains(&"fp8-before-sm89".to_owned()), "{ids:?}");
        assert!(changed([80, 150], [141, 141]).contains(&"less-memory".to_owned()));
        assert!(changed([80, 81], [141, 142]).contains(&"less-memory".to_owned()), "two change");
    }
}
