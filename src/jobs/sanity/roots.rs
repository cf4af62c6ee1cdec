//! The roots of a pull request: each of the head with the one that it was, by itself.

use std::borrow::Borrow;
use std::collections::BTreeMap;

use crate::database::catalog::Catalog;
use crate::database::facts::{Fact, TreeFacts};
use crate::database::source::Source;
use crate::database::state::{ReadState, State};
use crate::specs::Specs;

/// A root before and after, each with what it says of itself.
pub(super) struct Root {
    before: ReadState,
    after: ReadState,
}

impl Root {
    /// Pairs the roots of two sources, the main one first, and takes what each says of itself over `specs`.
    pub fn all(
        (base, before): (&dyn Source, Vec<Catalog>),
        (head, after): (&dyn Source, Vec<Catalog>),
        specs: &Specs,
    ) -> Vec<Self> {
        let root = |(before, after): (Catalog, Catalog)| {
            let (base_facts, head_facts) = rayon::join(
                || TreeFacts::read(base, &before, specs),
                || TreeFacts::read(head, &after, specs),
            );
            let head_facts = head_facts.since(&base_facts);
            let (before, after) = rayon::join(
                || ReadState::new(before, base_facts, specs),
                || ReadState::new(after, head_facts, specs),
            );
            Self { before, after }
        };
        pairs(before, after).into_iter().map(root).collect()
    }

    /// The root before and after.
    pub fn states<'a>(
        &'a self,
        base: &'a dyn Source,
        head: &'a dyn Source,
    ) -> (State<'a>, State<'a>) {
        (self.before.of(base), self.after.of(head))
    }

    /// Whether neither side holds a system.
    pub fn is_empty(&self) -> bool {
        self.before.catalog.systems.is_empty() && self.after.catalog.systems.is_empty()
    }

    /// Where the facts of the head are from.
    pub fn facts(&self) -> &[Fact] {
        &self.after.facts.origins
    }

    /// What is known of the head's tables.
    pub fn specs(&self) -> &Specs {
        &self.after.specs
    }

    /// Tables below no root that the head adds or changes.
    pub fn outside(&self, base: &dyn Source, head: &dyn Source) -> Vec<String> {
        let before: BTreeMap<&str, _> =
            self.before.catalog.outside().map(|entry| (entry.path.as_str(), entry)).collect();
        let after = self.after.catalog.outside().filter(|entry| {
            let was = before.get(entry.path.as_str());
            was.is_none_or(|was| base.id(was) != head.id(entry))
        });
        after.map(|entry| entry.path.clone()).collect()
    }
}

/// Whole states of each root: one that is there before or after alone is empty on the other side.
fn pairs(before: Vec<Catalog>, after: Vec<Catalog>) -> Vec<(Catalog, Catalog)> {
    let others =
        |roots: &[Catalog]| roots.first().map(|root| root.others.clone()).unwrap_or_default();
    let (others_before, others_after) = (others(&before), others(&after));
    let empty =
        |folder: &str, others| Catalog { folder: folder.to_owned(), others, ..Catalog::default() };
    let whole = |(before, after): (Option<Catalog>, Option<Catalog>)| match (before, after) {
        (Some(before), Some(after)) => Some((before, after)),
        (Some(before), None) => {
            let after = empty(&before.folder, others_after.clone());
            Some((before, after))
        }
        (None, Some(after)) => Some((empty(&after.folder, others_before.clone()), after)),
        (None, None) => None,
    };
    partners(before, after).into_iter().filter_map(whole).collect()
}

/// The roots of two states that are one root before and after. Roots of one folder belong together; of those left, the main
/// ones: the database was moved.
pub(crate) fn partners<C: Borrow<Catalog>>(
    before: Vec<C>,
    after: Vec<C>,
) -> Vec<(Option<C>, Option<C>)> {
    let folder = |root: &C| root.borrow().folder.clone();
    let mut before: Vec<Option<C>> = before.into_iter().map(Some).collect();
    let mut pairs: Vec<(Option<C>, Option<C>)> = Vec::new();
    for root in after {
        let same = |was: &&mut Option<C>| was.as_ref().is_some_and(|w| folder(w) == folder(&root));
        let was = before.iter_mut().find(same).and_then(Option::take);
        pairs.push((was, Some(root)));
    }
    for was in before.into_iter().flatten() {
        match pairs.iter_mut().find(|(before, _)| before.is_none()) {
            Some(pair) => pair.0 = Some(was),
            None => pairs.push((Some(was), None)),
        }
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    fn roots(folders: &[&str]) -> Vec<Catalog> {
        let root = |folder: &&str| Catalog { folder: (*folder).to_owned(), ..Catalog::default() };
        folders.iter().map(root).collect()
    }

    #[test]
    fn roots_pair_by_folder_and_the_rest_by_rank() {
        let pairs = pairs(roots(&["old/systems", "a", "gone"]), roots(&["new/systems", "a"]));
        let folders: Vec<(&str, &str)> =
            pairs.iter().map(|(b, a)| (b.folder.as_str(), a.folder.as_str())).collect();
        assert_eq!(folders, [("old/systems", "new/systems"), ("a", "a"), ("gone", "gone")]);
    }
}
