//! Pairs the database roots of a pull request's head with the roots of its base.

use std::borrow::Borrow;
use std::collections::BTreeMap;
use std::sync::Arc;

use crate::database::catalog::Catalog;
use crate::database::facts::{Fact, TreeFacts};
use crate::database::source::{Entry, Source};
use crate::database::state::{ReadState, State};
use crate::specs::Specs;

/// One root of the database before and after a change. A root is a folder with systems and tables. Each of the two
/// states has its own facts about tables and systems.
pub(crate) struct Root {
    before: ReadState,
    after: ReadState,
}

impl Root {
    /// Pairs the roots of two sources, the main root first. Also reads from each root the facts about its tables and
    /// systems.
    pub(crate) fn all(
        (base, before): (&dyn Source, Vec<Catalog>),
        (head, after): (&dyn Source, Vec<Catalog>),
        specs: &Specs,
    ) -> Vec<Self> {
        let root = |(before, after): (Catalog, Catalog)| {
            let (base_facts, head_facts) = rayon::join(
                || TreeFacts::read(base, &before, specs),
                || TreeFacts::read(head, &after, specs),
            );
            let head_facts = head_facts.mark_changes(&base_facts);
            let (before, after) = rayon::join(
                || ReadState::new(before, base_facts, specs),
                || ReadState::new(after, head_facts, specs),
            );
            Self { before, after }
        };
        pairs(before, after).into_iter().map(root).collect()
    }

    /// Returns the states of the root before and after the change.
    pub(crate) fn states<'a>(
        &'a self,
        base: &'a dyn Source,
        head: &'a dyn Source,
    ) -> (State<'a>, State<'a>) {
        (self.before.of(base), self.after.of(head))
    }

    /// Returns true if neither state of the root has a system.
    pub(crate) fn is_empty(&self) -> bool {
        self.before.catalog.systems.is_empty() && self.after.catalog.systems.is_empty()
    }

    /// Returns the facts about tables and systems that apply to the head. Each fact comes from a file of the head or
    /// from the built-in rules, and names this origin.
    pub(crate) fn facts(&self) -> &[Fact] {
        &self.after.facts.origins
    }

    /// Returns the paths of the tables that the head adds or changes and that are outside all database folders.
    pub(crate) fn outside(&self, base: &dyn Source, head: &dyn Source) -> Vec<String> {
        let before: BTreeMap<&str, _> =
            self.before.catalog.outside().map(|entry| (entry.path.as_str(), entry)).collect();
        let after = self.after.catalog.outside().filter(|entry| {
            let was = before.get(entry.path.as_str());
            was.is_none_or(|was| base.id(was) != head.id(entry))
        });
        after.map(|entry| entry.path.clone()).collect()
    }
}

/// Pairs the roots of two states. A root that exists in one state only is paired with an empty root.
fn pairs(before: Vec<Catalog>, after: Vec<Catalog>) -> Vec<(Catalog, Catalog)> {
    let others = |roots: &[Catalog]| {
        roots.first().map(|root| root.outside_files.clone()).unwrap_or_default()
    };
    let (others_before, others_after) = (others(&before), others(&after));
    let whole = |(before, after): (Option<Catalog>, Option<Catalog>)| {
        let folder = before.as_ref().or(after.as_ref())?.folder.clone();
        let empty = |others: &Arc<Vec<Entry>>| {
            let (folder, others) = (folder.clone(), others.clone());
            Catalog { folder, outside_files: others, ..Catalog::default() }
        };
        let before = before.unwrap_or_else(|| empty(&others_before));
        Some((before, after.unwrap_or_else(|| empty(&others_after))))
    };
    partners(before, after).into_iter().filter_map(whole).collect()
}

/// Pairs the roots of two states. Roots with the same folder are a pair. The remaining roots are paired in order,
/// since a database may have moved.
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
    fn roots_of_two_states_are_paired_by_folder_and_then_by_order() {
        let pairs = pairs(roots(&["old/systems", "a", "gone"]), roots(&["new/systems", "a"]));
        let folders: Vec<(&str, &str)> =
            pairs.iter().map(|(b, a)| (b.folder.as_str(), a.folder.as_str())).collect();
        assert_eq!(folders, [("old/systems", "new/systems"), ("a", "a"), ("gone", "gone")]);
    }
}
