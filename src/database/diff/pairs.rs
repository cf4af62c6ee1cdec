//! Pairs each table of the base with its table in the head.

use std::collections::{BTreeMap, VecDeque};

use git2::Oid;

use crate::database::catalog::{Format, TableFile};
use crate::database::state::State;

/// A table of the base and the same table of the head. The base is `None` for an added table, and the head is `None`
/// for a deleted one.
pub(crate) struct FilePair<'a> {
    pub base: Option<&'a TableFile>,
    pub head: Option<&'a TableFile>,
    /// The table's file in the head, or in the base if the table was deleted. Reports name this file.
    pub shown: &'a TableFile,
    /// True if the file has the same bytes in base and head, so that only its path changed.
    pub same_bytes: bool,
}

/// A table whose path exists only in the base or only in the head.
struct Loose<'a> {
    file: &'a TableFile,
    id: Option<Oid>,
}

impl<'a> FilePair<'a> {
    fn of(old: &'a TableFile, new: &'a TableFile, same_bytes: bool) -> Self {
        Self { base: Some(old), head: Some(new), shown: new, same_bytes }
    }

    fn gone(old: &'a TableFile) -> Self {
        Self { base: Some(old), head: None, shown: old, same_bytes: false }
    }

    fn come(new: &'a TableFile) -> Self {
        Self { base: None, head: Some(new), shown: new, same_bytes: false }
    }

    /// Returns the path in the base if it differs from the path in the head.
    pub(crate) fn old_path(&self) -> Option<&'a str> {
        let (base, head) = (self.base?, self.head?);
        (base.entry.path != head.entry.path).then_some(base.entry.path.as_str())
    }

    /// Returns the approximate number of bytes to read for comparing the table; 0 if the bytes are equal.
    pub(crate) fn size(&self) -> u64 {
        let sides = self.base.iter().chain(&self.head).filter(|_| !self.same_bytes);
        sides.map(|f| f.entry.size).sum()
    }
}

/// Pairs each changed table of the base with the same table of the head. Tables are paired by path, then by bytes, then
/// by system, backend, version and name. Unchanged tables are left out.
pub(crate) fn pairs<'a>(base: State<'a>, head: State<'a>) -> Vec<FilePair<'a>> {
    let mut pairs = Vec::new();
    let before: BTreeMap<&str, &TableFile> =
        base.catalog.tables.iter().map(|t| (t.entry.path.as_str(), t)).collect();
    let mut gone = before.clone();
    let mut come = Vec::new();
    for file in &head.catalog.tables {
        let id = head.source.id(&file.entry);
        match gone.remove(file.entry.path.as_str()) {
            None => come.push(Loose { file, id }),
            Some(old) if base.source.id(&old.entry) == id => {}
            Some(old) => pairs.push(FilePair::of(old, file, false)),
        }
    }
    let mut gone: Vec<Loose<'_>> =
        gone.into_values().map(|file| Loose { file, id: base.source.id(&file.entry) }).collect();
    come.sort_by(|a, b| a.file.entry.path.cmp(&b.file.entry.path));

    // Equal bytes are stronger evidence than equal names. If several tables have the same bytes, tables with
    // the same identity are paired first, then those with the same name, then the rest in the order of their
    // paths.
    let mut moved = take(&mut gone, &mut come, |t| Some((t.id?, t.file.identity())));
    moved.extend(take(&mut gone, &mut come, |t| Some((t.id?, t.file.table.as_str()))));
    moved.extend(take(&mut gone, &mut come, |t| t.id));
    pairs.extend(moved.into_iter().map(|(old, new)| FilePair::of(old.file, new.file, true)));
    let of_format = |t: &Loose<'a>| Some((t.file.identity(), t.file.format == Format::Csv));
    let mut changed = take(&mut gone, &mut come, of_format);
    changed.extend(take(&mut gone, &mut come, |t| Some(t.file.identity())));
    pairs.extend(changed.into_iter().map(|(old, new)| FilePair::of(old.file, new.file, false)));

    pairs.extend(gone.iter().map(|t| FilePair::gone(t.file)));
    pairs.extend(come.iter().map(|t| FilePair::come(t.file)));
    pairs
}

/// Pairs each table in `come` with a table in `gone` for which `key` returns the same value. Returns the pairs, and
/// removes the paired tables from both lists. Several tables with the same key are paired in the order of the lists.
fn take<'a, K: Ord>(
    gone: &mut Vec<Loose<'a>>,
    come: &mut Vec<Loose<'a>>,
    key: impl Fn(&Loose<'a>) -> Option<K>,
) -> Vec<(Loose<'a>, Loose<'a>)> {
    let mut waiting: BTreeMap<K, VecDeque<usize>> = BTreeMap::new();
    for (i, table) in gone.iter().enumerate() {
        if let Some(key) = key(table) {
            waiting.entry(key).or_default().push_back(i);
        }
    }
    let mut old: Vec<Option<Loose<'a>>> = std::mem::take(gone).into_iter().map(Some).collect();
    let mut found = Vec::new();
    for new in std::mem::take(come) {
        let first = key(&new).and_then(|k| waiting.get_mut(&k)?.pop_front());
        match first.and_then(|i| old[i].take()) {
            Some(old) => found.push((old, new)),
            None => come.push(new),
        }
    }
    gone.extend(old.into_iter().flatten());
    found
}
