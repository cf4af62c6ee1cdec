//! The catalog of a database whose layout is declared in `rules/layouts/`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::{Catalog, Format, Place, SystemFile, TableFile, VersionDir, join};
use crate::base::group::grouped;
use crate::database::limits::MOST_HELD;
use crate::database::source::{
    Assembly, Entry, EntryKind, FileRows, Part, ReadError, RowGroup, SelectedRows, Source,
};
use crate::specs::Specs;
use crate::specs::layout::{Dialect, Layout, LayoutTable, filled};
use crate::specs::system::System;

/// The name, system, backend and version of a table.
type TableIdentity = [String; 4];

/// A file that contains rows of a table. If the file contains rows of several tables, this struct also says which rows
/// belong to the table.
struct FileOfTable<'l> {
    identity: TableIdentity,
    table: &'l LayoutTable,
    part: Part,
}

impl Catalog {
    /// Finds the tables among the `files` of a source by the path patterns that a layout declares.
    pub(super) fn declared(
        source: &dyn Source,
        files: Vec<Entry>,
        layout: &Arc<Layout>,
        specs: &Specs,
    ) -> Self {
        let mut held = 0;
        let found: Vec<Vec<FileOfTable<'_>>> =
            files.iter().map(|entry| files_of_table(source, entry, layout, &mut held)).collect();
        let mut catalog = Self { layout: Some(layout.clone()), ..Self::default() };
        // A link or submodule in the place of a table is reported, since its rows are not judged.
        let leading_away = files.iter().filter(|entry| entry.kind.leads_away().is_some());
        for entry in leading_away.filter(|entry| layout.has_table(&entry.path)) {
            catalog.add_stray(entry.clone(), "");
        }
        let is_table: BTreeSet<&str> = files
            .iter()
            .zip(&found)
            .filter(|(_, found)| !found.is_empty())
            .map(|(entry, _)| entry.path.as_str())
            .collect();
        let others = files.iter().filter(|entry| !is_table.contains(entry.path.as_str()));
        catalog.outside_files = Arc::new(others.cloned().collect());
        let tables = grouped(found.into_iter().flatten().map(|file| (file.identity.clone(), file)));
        // Tables with the same first file are distinguished by their places.
        let mut uses: BTreeMap<String, usize> = BTreeMap::new();
        for files in tables.values() {
            *uses.entry(files[0].part.entry.path.clone()).or_default() += 1;
        }
        for (identity, files) in tables {
            let is_shared = uses[&files[0].part.entry.path] > 1;
            for (entry, format) in entries(files, &identity, is_shared) {
                catalog.add_declared(&identity, entry, format, specs);
            }
        }
        catalog.tables.sort_by(|a, b| a.entry.path.cmp(&b.entry.path));
        catalog.refuse_many();
        for (number, file) in catalog.tables.iter().enumerate() {
            if let Some(dir) = catalog.dirs.get_mut(&folder_of(&file.place)) {
                dir.tables.push(number);
            }
        }
        catalog
    }

    /// Adds a table to the catalog. Also adds the table's system and version directory if the catalog lacks them.
    fn add_declared(&mut self, table: &TableIdentity, entry: Entry, format: Format, specs: &Specs) {
        let [table, system, backend, version] = table.clone();
        let place = Place { system, family: None, backend, version };
        let path = folder_of(&place);
        let dir = VersionDir {
            place: place.clone(),
            path: path.clone(),
            meta: None,
            reuse: None,
            markers: Vec::new(),
            tables: Vec::new(),
        };
        self.dirs.entry(path).or_insert(dir);
        let name = &place.system;
        let known = || specs.systems.get(name).cloned();
        let system = || SystemFile {
            name: name.clone(),
            path: entry.path.clone(),
            system: Ok(
                known().unwrap_or_else(|| System { name: name.clone(), ..System::default() })
            ),
            yaml: format!("systems/{name}.yaml"),
            data_dir: String::new(),
            unread: None,
            refused: Vec::new(),
        };
        self.systems.entry(name.clone()).or_insert_with(system);
        self.tables.push(TableFile { entry, place, table, format });
    }
}

/// Returns the key under which [`Catalog::dirs`] stores a system, backend and version: `system/backend/version`. This
/// is not a real path, since a declared layout has no version directories.
fn folder_of(place: &Place) -> String {
    format!("{}/{}/{}", place.system, place.backend, place.version)
}

/// Splits a file into the tables that have rows in the file. Returns no tables for a file that the layout does not
/// describe. `held` counts the bytes of decoded files.
fn files_of_table<'l>(
    source: &dyn Source,
    entry: &Entry,
    layout: &'l Layout,
    held: &mut usize,
) -> Vec<FileOfTable<'l>> {
    if entry.kind.leads_away().is_some() {
        return Vec::new();
    }
    let found = layout.tables.iter().find_map(|table| Some((table, table.parts(&entry.path)?)));
    let Some((table, parts)) = found else { return Vec::new() };
    let names = table.identity_columns(&parts);
    let groups = match &table.dialect {
        Some(dialect) if !names.is_empty() => row_groups(source, entry, (dialect, &names), held),
        Some(_) | None => Ok(Vec::new()),
    };
    let mut entry = entry.clone();
    let groups = groups.unwrap_or_else(|limit| {
        entry.refuse(limit.to_string());
        Vec::new()
    });
    let mut groups: Vec<_> = groups.into_iter().map(|(cells, rows)| (cells, Some(rows))).collect();
    // A file that cannot be read, or has no rows, is one table of an unknown place; reading it is a finding.
    if groups.is_empty() {
        groups.push((Vec::new(), None));
    }
    let file = |(cells, selected): (Vec<String>, Option<SelectedRows>)| {
        let rows: BTreeMap<String, String> =
            names.iter().map(|name| (*name).to_owned()).zip(cells).collect();
        let mut values = parts.clone();
        values.extend(rows.clone());
        let added =
            table.columns.iter().filter_map(|name| Some((name.clone(), parts.get(name)?.clone())));
        let part = Part { entry: entry.clone(), rows, added: added.collect(), selected };
        let identity = table.identity.each_ref().map(|text| filled(text, &values));
        FileOfTable { identity, table, part }
    };
    groups.into_iter().map(file).collect()
}

/// Decodes a file with rows of several tables. Groups the rows by their cells in the columns `names`, one group per
/// table. Returns no groups if the file cannot be read. The size of the decoded file in bytes is added to `held`.
///
/// # Errors
///
/// If the file has rows of too many tables, or if too much was decoded.
fn row_groups(
    source: &dyn Source,
    entry: &Entry,
    (dialect, names): (&Dialect, &[&str]),
    held: &mut usize,
) -> Result<Vec<RowGroup>, ReadError> {
    if *held <= MOST_HELD {
        let bytes = source.read_file(entry);
        let file = bytes.and_then(|bytes| FileRows::read(dialect, &entry.path, &bytes));
        let Ok(file) = file.map(Arc::new) else { return Ok(Vec::new()) };
        *held += file.size();
        if *held <= MOST_HELD {
            return file.groups(names);
        }
    }
    let most = MOST_HELD >> 20;
    Err(ReadError::NotAFile(format!(
        "the files with rows of several tables take more than {most} MiB in memory"
    )))
}

/// Returns the deepest folder that contains all files from which a table is assembled.
fn common_folder(parts: &[Part]) -> String {
    let folders = |part: &Part| -> Vec<String> {
        part.entry.folder().split('/').map(str::to_owned).collect()
    };
    let mut common = parts.first().map(folders).unwrap_or_default();
    for part in parts {
        let same = common.iter().zip(folders(part)).take_while(|(a, b)| **a == *b).count();
        common.truncate(same);
    }
    common.join("/")
}

/// Returns the catalog entries of a table's files: one for each Parquet file, or one for all text files together. If
/// `is_shared` is true, another table has the same first file. The path of an assembled entry then also contains the
/// system, backend and version.
fn entries(
    files: Vec<FileOfTable<'_>>,
    identity: &TableIdentity,
    is_shared: bool,
) -> Vec<(Entry, Format)> {
    let is_whole = |part: &Part| part.rows.is_empty() && part.added.is_empty();
    let Some(dialect) = files.first().and_then(|file| file.table.dialect.clone()) else {
        return files.into_iter().map(|file| (file.part.entry, Format::Parquet)).collect();
    };
    let mut parts: Vec<Part> = files.into_iter().map(|file| file.part).collect();
    if let ([part], true) = (&parts[..], dialect.is_plain())
        && is_whole(part)
    {
        return parts.drain(..).map(|part| (part.entry, Format::Csv)).collect();
    }
    let mut path = parts[0].entry.path.clone();
    if parts.len() > 1 {
        let [table, ..] = identity;
        path = join(&common_folder(&parts), table);
    }
    if is_shared || parts.len() > 1 {
        path += &format!("#{}", identity[1..].join("/"));
    }
    let size = parts.iter().map(|part| part.entry.size).sum();
    let kind = EntryKind::Assembled(Arc::new(Assembly { dialect, parts }));
    vec![(Entry { path, kind, size }, Format::Csv)]
}
