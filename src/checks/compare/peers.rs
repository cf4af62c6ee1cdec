//! The tables of one name that can be compared with each other.

use std::collections::BTreeMap;

use hashbrown::HashMap;

use super::sketch::{SketchedTable, Sketches, Slice};
use crate::database::catalog::{Place, TableFile};
use crate::database::state::State;
use crate::specs::system::System;

/// The relation between two tables of one name: what they have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kinship {
    /// Two tables of the same system and backend, in different versions.
    Version,
    /// Two tables of the same backend on different systems.
    System,
    /// Two tables of different backends on the same system.
    Backend,
    /// Two tables that have only the name in common.
    Name,
}

impl Kinship {
    /// Returns the kinship of two tables, given whether they have the same system, the same backend and the same
    /// version; `None` if they have all three in common.
    fn sharing([system, backend, version]: [bool; 3]) -> Option<Self> {
        match (system, backend) {
            (true, true) => (!version).then_some(Self::Version),
            (false, true) => Some(Self::System),
            (true, false) => Some(Self::Backend),
            (false, false) => Some(Self::Name),
        }
    }
}

/// Tables that can be compared with each other: the tables of one name, or all tables.
#[derive(Default)]
pub struct Peers<'a> {
    /// All tables, readable or not.
    pub files: &'a [&'a TableFile],
    /// The readable tables in the catalog's order.
    pub tables: Vec<SketchedTable<'a>>,
    /// For each readable table, its system, backend and version as numbers, which `numbers` assigns to names.
    places: Vec<[usize; 3]>,
    /// A different number for each name of a system, backend or version. Numbers are faster to compare than names.
    numbers: HashMap<&'a str, usize>,
    /// The GPU generation of each system, by the system's name.
    generations: HashMap<&'a str, &'a str>,
    /// For each slice, the tables that contain it: each table's index in `tables`, and the slice's index in the table's
    /// sketch.
    by_slice: BTreeMap<&'a Slice, Vec<(usize, usize)>>,
}

impl<'a> Peers<'a> {
    /// Collects the peers among the table files `files` of a database. Tables without a sketch count as not readable.
    pub(crate) fn new(
        state: State<'a>,
        sketches: &'a Sketches,
        files: &'a [&'a TableFile],
    ) -> Self {
        let sketched =
            files.iter().filter_map(|file| Some((*file, sketches.get(&file.entry.path)?)));
        let mut peers = Self { files, ..Self::of(sketched.collect()) };
        for (number, (file, sketch)) in peers.tables.iter().enumerate() {
            let system = file.place.system.as_str();
            let facts = state.catalog.system(system, state.specs);
            peers.generations.extend(facts.and_then(System::generation).map(|g| (system, g)));
            for (index, slice) in sketch.slices[..sketch.counts.len()].iter().enumerate() {
                peers.by_slice.entry(slice).or_default().push((number, index));
            }
        }
        peers
    }

    /// Collects peers from readable tables only, without generations.
    fn of(tables: Vec<SketchedTable<'a>>) -> Self {
        let mut numbers = HashMap::new();
        let mut place = |(file, _): &SketchedTable<'a>| {
            parts(&file.place).map(|part| {
                let next = numbers.len();
                *numbers.entry(part).or_insert(next)
            })
        };
        let places = tables.iter().map(&mut place).collect();
        Self { tables, places, numbers, ..Self::default() }
    }

    /// Returns the GPU generation of a system that has readable tables; `None` if it is not known.
    pub(crate) fn generation(&self, system: &str) -> Option<&'a str> {
        self.generations.get(system).copied()
    }

    /// Returns the kinship of each readable table with `file`, in the order of `tables`; `None` for a table of the same
    /// system, backend and version.
    pub(crate) fn kinships(&self, file: &TableFile) -> impl Iterator<Item = Option<Kinship>> {
        // A name without a readable table gets a number that none has.
        let number = |part| self.numbers.get(part).copied().unwrap_or(usize::MAX);
        let [system, backend, version] = parts(&file.place).map(number);
        let places = self.places.iter();
        places.map(move |[s, b, v]| Kinship::sharing([*s == system, *b == backend, *v == version]))
    }

    /// Returns the readable tables of another system, backend or version than `file`, each with its kinship.
    pub(crate) fn elsewhere(
        &self,
        file: &TableFile,
    ) -> impl Iterator<Item = (Kinship, SketchedTable<'a>)> {
        let tables = self.tables.iter().zip(self.kinships(file));
        tables.filter_map(|(one, kinship)| Some((kinship?, *one)))
    }

    /// Returns the readable tables of another system, backend or version than a table, each with its kinship. The
    /// tables are sorted by kinship. Within a kinship, tables whose number of keys is nearest to the table's come
    /// first.
    pub(crate) fn nearest(
        &self,
        (file, own): SketchedTable<'_>,
    ) -> Vec<(Kinship, SketchedTable<'a>)> {
        let mut found: Vec<(Kinship, SketchedTable<'a>)> = self.elsewhere(file).collect();
        // The sort is stable: equally near tables stay in the order of the catalog, which is by path.
        found.sort_by_cached_key(|(kinship, (_, sketch))| {
            (*kinship, sketch.keys.abs_diff(own.keys))
        });
        found
    }

    /// Returns the tables that contain a slice: each table's index in `tables`, and the slice's index in the table's
    /// sketch.
    pub(crate) fn with_slice(&self, slice: &Slice) -> impl Iterator<Item = (usize, usize)> {
        self.by_slice.get(slice).into_iter().flatten().copied()
    }
}

/// Returns the system, backend and version of a table's place in the database.
fn parts(place: &Place) -> [&str; 3] {
    [&place.system, &place.backend, &place.version]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::compare::sketch::Sketch;
    use crate::database::catalog::Format;
    use crate::database::source::{Entry, EntryKind};

    /// A synthetic table.
    fn table(system: usize, backend: usize, version: usize) -> TableFile {
        let place = Place {
            system: format!("s{system}"),
            family: None,
            backend: format!("b{backend}"),
            version: version.to_string(),
        };
        let path = format!("s{system}/b{backend}/{version}/t_perf.txt");
        let entry = Entry { path, size: 0, kind: EntryKind::Link(String::new()) };
        TableFile { entry, place, table: "t_perf".into(), format: Format::Csv }
    }

    #[test]
    fn peers_of_one_kinship_are_ordered_by_the_nearest_number_of_keys() {
        let mut files: Vec<TableFile> = (0..60).map(|i| table(i % 4, i / 4 % 3, i / 12)).collect();
        files.sort_by(|a, b| a.entry.path.cmp(&b.entry.path));
        let sketch = |i: usize| Sketch { keys: 7 * i % 11, ..Sketch::default() };
        let sketches: Vec<Sketch> = (0..60).map(sketch).collect();
        let peers = Peers::of(files.iter().zip(&sketches).collect());
        for (file, own) in files.iter().zip(&sketches) {
            let mut seen = 0;
            let nearest = peers.nearest((file, own));
            assert!(nearest.is_sorted_by_key(|(kinship, _)| *kinship));
            for kinship in [Kinship::Version, Kinship::System, Kinship::Backend, Kinship::Name] {
                let of_kinship = nearest.iter().filter(|(other, _)| *other == kinship);
                let found: Vec<&str> =
                    of_kinship.map(|(_, (other, _))| other.entry.path.as_str()).collect();
                let expected = |other: &TableFile| {
                    let (a, b) = (&file.place, &other.place);
                    let kin = match (a.system == b.system, a.backend == b.backend) {
                        (true, true) => Kinship::Version,
                        (false, true) => Kinship::System,
                        (true, false) => Kinship::Backend,
                        (false, false) => Kinship::Name,
                    };
                    kin == kinship && a != b
                };
                let all = files.iter().zip(&sketches).filter(|(other, _)| expected(other));
                let mut all: Vec<(usize, &str)> = all
                    .map(|(other, s)| (s.keys.abs_diff(own.keys), other.entry.path.as_str()))
                    .collect();
                all.sort_unstable();
                assert_eq!(found, all.iter().map(|(_, path)| *path).collect::<Vec<_>>());
                seen += found.len();
            }
            assert_eq!(seen, 59);
        }
    }
}
