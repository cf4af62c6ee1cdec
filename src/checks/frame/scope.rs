//! The tables that are judged: those of one state or of two, each with its counterpart in the base, grouped by name.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use crate::database::catalog::TableFile;
use crate::database::diff::{ChangedFacts, Details, FilePair};
use crate::database::selection::Selected;
use crate::database::state::State;

/// The approximate maximum size of a batch in bytes. The tables of one batch are read at the same time. A group of
/// tables with more bytes is a batch by itself, since it keeps all threads busy.
const BATCH: u64 = 8 << 20;

/// A state of a database, and the tables in it that are judged.
pub(crate) struct StateScope<'a> {
    pub state: State<'a>,
    /// The files of the state that the run selects, and which of them changed.
    pub selected: &'a Selected,
    /// Paths of the tables that all rules judge (the subjects). Other tables only serve as references.
    pub subjects: BTreeSet<&'a str>,
}

impl<'a> StateScope<'a> {
    /// Creates the scope of a state. All rules judge a selected table if at least one of these changed: its bytes, its
    /// sidecar, or other facts about it, such as its system's YAML. `is_known_otherwise` returns true for tables with
    /// changes of such other facts.
    pub(crate) fn new(
        state: State<'a>,
        selected: &'a Selected,
        is_known_otherwise: impl Fn(&TableFile) -> bool,
    ) -> Self {
        let catalog = state.catalog;
        let meta = |t: &TableFile| catalog.dir_of(t).and_then(|dir| dir.meta.as_ref());
        let is_touched = |t: &TableFile| {
            selected.changed(&t.entry.path) || meta(t).is_some_and(|m| selected.changed(&m.path))
        };
        let tables = catalog.tables.iter().filter(|t| selected.table(&t.place, &t.table));
        let tables = tables.filter(|t| is_touched(t) || is_known_otherwise(t));
        let subjects = tables.map(|t| t.entry.path.as_str()).collect();
        Self { state, selected, subjects }
    }

    /// Returns true if all rules judge the table.
    pub(crate) fn judges(&self, file: &TableFile) -> bool {
        self.subjects.contains(file.entry.path.as_str())
    }
}

/// The base of a pull request, and how the head differs from it.
pub(crate) struct ChangeScope<'a> {
    pub base: StateScope<'a>,
    /// The tables that differ between base and head.
    pub pairs: Vec<FilePair<'a>>,
    /// The facts that differ between base and head.
    pub facts: ChangedFacts<'a>,
    /// The head under the facts of the base; `None` if the facts are the same or excused errors are not reported.
    pub head_by_base: Option<State<'a>>,
    /// The folder to which changed rows are written; `None` if they are not written.
    pub details: Option<&'a Details>,
}

/// A table in all judged states.
pub(super) struct Lineage<'a> {
    /// The table's file in each state; `None` where the state does not have the table.
    pub sides: Vec<Option<&'a TableFile>>,
    /// The table's files in base and head; `None` if the pull request changes neither path nor bytes of the table.
    pub pair: Option<FilePair<'a>>,
    /// True if all rules judge the table. Otherwise, the table only serves as a reference.
    pub is_subject: bool,
}

impl<'a> Lineage<'a> {
    /// The approximate number of bytes that are read from the table's files.
    pub(crate) fn size(&self) -> u64 {
        match &self.pair {
            Some(pair) if !pair.same_bytes => pair.size(),
            _ => self.file().map_or(0, |file| file.entry.size),
        }
    }

    /// Returns the table's file in the head, or in the base if the head lacks the table.
    pub(crate) fn file(&self) -> Option<&'a TableFile> {
        self.sides.iter().rev().flatten().next().copied()
    }
}

/// Tables that are judged together because they have the same name. If a table is renamed, the tables of the old and
/// the new name are one group.
#[derive(Default)]
pub(super) struct Group<'a> {
    pub names: BTreeSet<&'a str>,
    pub lineages: Vec<Lineage<'a>>,
}

/// Divides groups of tables into batches, the largest groups first. Groups without a judged table are left out.
/// `states` are the base, if there is one, and the head.
pub(super) fn batches<'a>(
    states: &[StateScope<'a>],
    pairs: Vec<FilePair<'a>>,
) -> Vec<Vec<Group<'a>>> {
    let mut sized: Vec<(u64, Group<'a>)> = groups(lineages(states, pairs))
        .into_iter()
        .filter(|group| group.lineages.iter().any(|lineage| lineage.is_subject))
        .map(|group| (group.lineages.iter().map(Lineage::size).sum(), group))
        .collect();
    sized.sort_by_key(|(bytes, _)| Reverse(*bytes));
    let mut batches: Vec<Vec<Group<'a>>> = Vec::new();
    let mut room = 0;
    for (bytes, group) in sized {
        match batches.last_mut().filter(|_| bytes <= room) {
            Some(batch) => {
                room -= bytes;
                batch.push(group);
            }
            None => {
                room = BATCH.saturating_sub(bytes);
                batches.push(vec![group]);
            }
        }
    }
    batches
}

/// Pairs each table of the head with the same table in the base. Tables that the head lacks are included.
fn lineages<'a>(states: &[StateScope<'a>], pairs: Vec<FilePair<'a>>) -> Vec<Lineage<'a>> {
    let is_subject = |sides: &[Option<&TableFile>]| {
        sides.iter().zip(states).any(|(file, scope)| file.is_some_and(|file| scope.judges(file)))
    };
    let [base, head, ..] = states else {
        let tables = states.iter().flat_map(|scope| &scope.state.catalog.tables);
        let alone = tables.map(|file| {
            let sides = vec![Some(file)];
            Lineage { is_subject: is_subject(&sides), sides, pair: None }
        });
        return alone.collect();
    };
    let mut found = Vec::new();
    let mut paired = BTreeSet::new();
    for pair in pairs {
        paired.extend(pair.head.map(|file| file.entry.path.as_str()));
        let sides = vec![pair.base, pair.head];
        found.push(Lineage { sides, pair: Some(pair), is_subject: true });
    }
    let before: BTreeMap<&str, &TableFile> =
        base.state.catalog.tables.iter().map(|file| (file.entry.path.as_str(), file)).collect();
    for file in &head.state.catalog.tables {
        let path = file.entry.path.as_str();
        if !paired.contains(path) {
            let sides = vec![before.get(path).copied(), Some(file)];
            found.push(Lineage { is_subject: is_subject(&sides), sides, pair: None });
        }
    }
    found
}

/// Groups tables by name. Two names are one group if a table changes its name from one to the other.
fn groups(lineages: Vec<Lineage<'_>>) -> Vec<Group<'_>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    let mut of_name: BTreeMap<&str, usize> = BTreeMap::new();
    for lineage in lineages {
        let names: BTreeSet<&str> =
            lineage.sides.iter().flatten().map(|file| file.table.as_str()).collect();
        let mut known: Vec<usize> =
            names.iter().filter_map(|name| of_name.get(name).copied()).collect();
        known.sort_unstable();
        known.dedup();
        let Some((&first, others)) = known.split_first() else {
            names.iter().for_each(|name| _ = of_name.insert(name, groups.len()));
            groups.push(Group { names, lineages: vec![lineage] });
            continue;
        };
        for other in others {
            let joined = std::mem::take(&mut groups[*other]);
            groups[first].names.extend(joined.names);
            groups[first].lineages.extend(joined.lineages);
        }
        groups[first].names.extend(names);
        groups[first].lineages.push(lineage);
        for name in &groups[first].names {
            of_name.insert(name, first);
        }
    }
    groups
}
