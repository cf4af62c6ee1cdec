//! What is judged: the tables of one state or of two, each with what it was before, grouped by name.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use crate::database::catalog::TableFile;
use crate::database::diff::{ChangedFacts, Details, FilePair};
use crate::database::selection::Selected;
use crate::database::state::State;

/// Bytes of tables that are read at once, about: a name that has more is read by itself. Its tables keep all
/// threads busy, those of a small name do not.
const BATCH: u64 = 8 << 20;

/// A state of a database, and what of it is judged.
pub(crate) struct StateScope<'a> {
    /// The state.
    pub state: State<'a>,
    /// The part of it that is selected, and the files of it that changed.
    pub selected: &'a Selected,
    /// Paths of the tables that all rules judge; the others are there to compare with.
    pub subjects: BTreeSet<&'a str>,
}

impl<'a> StateScope<'a> {
    /// Judges the tables that are selected and of which the bytes, the sidecar or the system's YAML changed, or of which
    /// `is_known_otherwise` says so.
    pub fn new(
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

    /// Whether all rules judge a table.
    pub fn judges(&self, file: &TableFile) -> bool {
        self.subjects.contains(file.entry.path.as_str())
    }
}

/// What a pull request changes: the state before, and how the other differs from it.
pub(crate) struct Before<'a> {
    /// The state before.
    pub base: StateScope<'a>,
    /// The tables that differ between the states.
    pub pairs: Vec<FilePair<'a>>,
    /// The facts that the states state differently.
    pub facts: ChangedFacts<'a>,
    /// The bytes of the head under what the base states, where that differs and a rule asks for what it excuses.
    pub excused: Option<State<'a>>,
    /// Where rows that changed are written.
    pub details: Option<&'a Details>,
}

/// A table in the states that are judged.
pub(super) struct Lineage<'a> {
    /// The table by state.
    pub sides: Vec<Option<&'a TableFile>>,
    /// Its bytes before and after, where they differ or lie elsewhere.
    pub pair: Option<FilePair<'a>>,
    /// Whether all rules judge it.
    pub is_subject: bool,
}

impl<'a> Lineage<'a> {
    /// Bytes to read, about.
    pub fn size(&self) -> u64 {
        match &self.pair {
            Some(pair) if !pair.same_bytes => pair.size(),
            _ => self.file().map_or(0, |file| file.entry.size),
        }
    }

    /// The table in the latest state that has it.
    pub fn file(&self) -> Option<&'a TableFile> {
        self.sides.iter().rev().flatten().next().copied()
    }
}

/// The tables of one name; of several names, if a table changes its name.
#[derive(Default)]
pub(super) struct Group<'a> {
    pub names: BTreeSet<&'a str>,
    pub lineages: Vec<Lineage<'a>>,
}

/// The tables of all names that have a subject, in batches that are read at once: names in the order of their bytes, the
/// most first. `states` are the base, where there is one, and the head.
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

/// Each table with what it was before.
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

/// Groups tables by name. A table that changes its name joins the two.
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
