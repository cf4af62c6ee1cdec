//! The tables of a name by system and backend, so that a table finds those it is compared with without a
//! look at all of them.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::sketch::Sketched;
use crate::database::catalog::TableFile;

/// Tables by how many keys they have, and those of one number by path.
type BySize<'a> = BTreeMap<usize, Vec<Sketched<'a>>>;

/// The relation between two tables of one name: whether they share the system, the backend, or neither.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kinship {
    /// Another version of the backend on the system.
    Version,
    /// The backend on another system.
    System,
    /// Another backend on the system.
    Backend,
    /// The name alone.
    Name,
}

/// The tables of a name that can be read.
#[derive(Default)]
pub struct Kin<'a> {
    /// In the catalog's order.
    pub tables: Vec<Sketched<'a>>,
    /// The same by backend.
    pub by_backend: BTreeMap<&'a str, Vec<Sketched<'a>>>,
    by_size: BySize<'a>,
    size_of_system: BTreeMap<&'a str, SizedTables<'a>>,
    size_of_backend: BTreeMap<&'a str, SizedTables<'a>>,
    size_of_both: BTreeMap<(&'a str, &'a str), SizedTables<'a>>,
}

/// Some of the tables.
#[derive(Default)]
struct SizedTables<'a> {
    by_size: BySize<'a>,
    count: usize,
}

impl<'a> SizedTables<'a> {
    fn add(&mut self, table: Sketched<'a>) {
        self.by_size.entry(table.1.keys).or_default().push(table);
        self.count += 1;
    }
}

impl<'a> Kin<'a> {
    /// Sorts tables in.
    pub fn of(tables: impl Iterator<Item = Sketched<'a>>) -> Self {
        let mut kin = Self { tables: tables.collect(), ..Self::default() };
        let mut sorted = kin.tables.clone();
        sorted.sort_by_key(|(file, _)| &file.entry.path);
        for table in sorted {
            let place = &table.0.place;
            let (system, backend) = (place.system.as_str(), place.backend.as_str());
            kin.by_backend.entry(backend).or_default().push(table);
            kin.by_size.entry(table.1.keys).or_default().push(table);
            kin.size_of_system.entry(system).or_default().add(table);
            kin.size_of_backend.entry(backend).or_default().add(table);
            kin.size_of_both.entry((system, backend)).or_default().add(table);
        }
        kin
    }

    /// The tables of a kinship with a table, those whose number of keys is nearest to `keys` first.
    pub fn nearest<'k>(
        &'k self,
        kinship: Kinship,
        file: &'k TableFile,
        keys: usize,
    ) -> Box<dyn Iterator<Item = Sketched<'a>> + 'k> {
        let own = &file.place;
        let system = self.size_of_system.get(own.system.as_str());
        let backend = self.size_of_backend.get(own.backend.as_str());
        let both = self.size_of_both.get(&(own.system.as_str(), own.backend.as_str()));
        let count = |some: Option<&SizedTables<'_>>| some.map_or(0, |some| some.count);
        let (of_system, of_backend, of_both) = (count(system), count(backend), count(both));
        // Tables are only looked at where there is one of the kinship among them.
        let (some, is_any) = match kinship {
            Kinship::Version => (both.map(|s| &s.by_size), true),
            Kinship::System => (backend.map(|s| &s.by_size), of_backend > of_both),
            Kinship::Backend => (system.map(|s| &s.by_size), of_system > of_both),
            Kinship::Name => {
                (Some(&self.by_size), self.tables.len() + of_both > of_system + of_backend)
            }
        };
        let is_kin = move |(other, _): &Sketched<'_>| {
            let other = &other.place;
            match kinship {
                Kinship::Version => other.version != own.version,
                Kinship::System => other.system != own.system,
                Kinship::Backend => other.backend != own.backend,
                Kinship::Name => other.system != own.system && other.backend != own.backend,
            }
        };
        let some = some.filter(|_| is_any).into_iter();
        Box::new(some.flat_map(move |some| outward(some, keys)).filter(is_kin))
    }
}

/// Tables by the distance of their number of keys from `keys`, then by path.
fn outward<'k, 'a>(some: &'k BySize<'a>, keys: usize) -> impl Iterator<Item = Sketched<'a>> + 'k {
    let mut fewer = some.range(..keys).rev().peekable();
    let mut more = some.range(keys..).peekable();
    let next = move || {
        let below = fewer.peek().map(|(size, _)| keys - **size);
        let above = more.peek().map(|(size, _)| **size - keys);
        let takes = |one: Option<usize>, other: Option<usize>| {
            one.is_some_and(|one| other.is_none_or(|other| one <= other))
        };
        let (takes_below, takes_above) = (takes(below, above), takes(above, below));
        let first = fewer.next_if(|_| takes_below).map(|(_, tables)| &tables[..]);
        let second = more.next_if(|_| takes_above).map(|(_, tables)| &tables[..]);
        match (first, second) {
            (None, None) => None,
            (Some(first), Some(second)) => Some(merged(first, second)),
            (Some(one), None) | (None, Some(one)) => Some(Cow::Borrowed(one)),
        }
    };
    std::iter::from_fn(next).flat_map(|tables| (0..tables.len()).map(move |i| tables[i]))
}

/// Tables of two sizes that are equally far, by path.
fn merged<'k, 'a>(first: &[Sketched<'a>], second: &[Sketched<'a>]) -> Cow<'k, [Sketched<'a>]> {
    let mut all = [first, second].concat();
    all.sort_by_key(|(file, _)| &file.entry.path);
    Cow::Owned(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::compare::sketch::Sketch;
    use crate::database::catalog::{Format, Place};
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
    fn those_of_a_kinship_come_nearest_in_size_first() {
        let files: Vec<TableFile> = (0..60).map(|i| table(i % 4, i / 4 % 3, i / 12)).collect();
        let sketch = |i: usize| Sketch { keys: 7 * i % 11, ..Sketch::default() };
        let sketches: Vec<Sketch> = (0..60).map(sketch).collect();
        let kin = Kin::of(files.iter().zip(&sketches));
        for (file, own) in files.iter().zip(&sketches) {
            let mut seen = 0;
            for kinship in [Kinship::Version, Kinship::System, Kinship::Backend, Kinship::Name] {
                let found: Vec<&str> = kin
                    .nearest(kinship, file, own.keys)
                    .map(|(other, _)| other.entry.path.as_str())
                    .collect();
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
