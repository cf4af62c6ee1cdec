//! What lies around tables: version directories with their sidecars, systems, strays.

use std::collections::BTreeMap;

use rayon::prelude::*;

use super::job::Job;
use crate::base::reason::Reason;
use crate::checks::{DirContext, SystemContext};
use crate::database::catalog::VersionDir;
use crate::database::sidecar::{Meta, Reuse};
use crate::database::source::Entry;
use crate::findings::Finding;

/// The parsed sidecars of every version directory, by path.
pub(crate) struct Sidecars {
    /// `collection_meta.yaml`.
    pub meta: BTreeMap<String, Result<Meta, Reason>>,
    /// `reuse.yaml`.
    pub reuse: BTreeMap<String, Result<Reuse, Reason>>,
}

impl Job<'_> {
    fn text(&self, entry: &Entry) -> Result<String, Reason> {
        Ok(self.source.text(entry)?)
    }

    /// Reads the sidecars of all version directories.
    pub fn sidecars(&self) -> Sidecars {
        let dirs: Vec<&VersionDir> = self.catalog.dirs.values().collect();
        let parse = |dir: &&VersionDir| {
            let meta = dir.meta.as_ref().map(|e| self.text(e).and_then(|t| Meta::parse(&t)));
            let reuse = dir.reuse.as_ref().map(|e| self.text(e).and_then(|t| Reuse::parse(&t)));
            (meta, reuse)
        };
        let parsed: Vec<_> = dirs.par_iter().map(parse).collect();
        let mut sidecars = Sidecars { meta: BTreeMap::new(), reuse: BTreeMap::new() };
        for (path, (meta, reuse)) in self.catalog.dirs.keys().zip(parsed) {
            sidecars.meta.extend(meta.map(|meta| (path.clone(), meta)));
            sidecars.reuse.extend(reuse.map(|reuse| (path.clone(), reuse)));
        }
        sidecars
    }

    /// Judges version directories; counts the sidecars among them.
    pub(super) fn dirs(&self, sidecars: &Sidecars, findings: &mut Vec<Finding>) -> u64 {
        let mut files = 0;
        for dir in self.catalog.dirs.values() {
            let within = dir.meta.iter().chain(&dir.reuse).chain(&dir.markers);
            if !self.selected.place(&dir.place) || !self.touched(dir, sidecars) || !self.wanted(dir)
            {
                continue;
            }
            if self.needs().version_dirs {
                files += within.count() as u64;
            }
            let context = DirContext {
                dir,
                catalog: self.catalog,
                specs: self.specs,
                meta: sidecars.meta.get(&dir.path),
                reuse: sidecars.reuse.get(&dir.path),
            };
            let of_selected =
                |f: &Finding| f.table.as_ref().is_none_or(|t| self.selected.table(&dir.place, t));
            let found = self.rules.iter().flat_map(|rule| rule.check.judge().dir(rule, &context));
            let mut found: Vec<Finding> = found.filter(of_selected).collect();
            let is_unread = |sidecar: Option<bool>| sidecar == Some(false);
            let meta = dir.meta.iter().filter(|_| is_unread(context.meta.map(Result::is_ok)));
            let reuse = dir.reuse.iter().filter(|_| is_unread(context.reuse.map(Result::is_ok)));
            meta.chain(reuse).for_each(|entry| self.name_bytes(entry, &mut found));
            findings.append(&mut found);
        }
        files
    }

    /// Whether a directory changed, or one that it takes rows from.
    fn touched(&self, dir: &VersionDir, sidecars: &Sidecars) -> bool {
        let parent = dir.path.rsplit_once('/').map_or("", |(parent, _)| parent);
        let reuse = sidecars.reuse.get(&dir.path).and_then(|r| r.as_ref().ok());
        let mut donors =
            reuse.iter().flat_map(|r| &r.reuse).map(|d| format!("{parent}/{}", d.from_version));
        self.selected.touched(&dir.path) || donors.any(|donor| self.selected.touched(&donor))
    }

    /// Whether a directory holds a selected table, or no table is selected by name.
    fn wanted(&self, dir: &VersionDir) -> bool {
        let selected = |i: &usize| self.selected.table(&dir.place, &self.catalog.tables[*i].table);
        self.selected.whole_dirs() || dir.tables.iter().any(selected)
    }

    /// Judges systems; counts them.
    pub(super) fn systems(&self, findings: &mut Vec<Finding>) -> u64 {
        let mut files = 0;
        let mut by_data_dir: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for system in self.catalog.systems.values() {
            by_data_dir.entry(&system.data_dir).or_default().push(&system.name);
        }
        for file in self.catalog.systems.values() {
            if !self.selected.system(&file.name) || !self.selected.changed(&file.yaml) {
                continue;
            }
            files += u64::from(self.needs().systems);
            let context = SystemContext { file, by_data_dir: &by_data_dir, specs: self.specs };
            let found =
                self.rules.iter().flat_map(|rule| rule.check.judge().system(rule, &context));
            let mut found: Vec<Finding> = found.collect();
            let yaml = self.catalog.beside.iter().map(|(entry, _)| entry);
            if let Some(yaml) = yaml.filter(|_| file.system.is_err()).find(|e| e.path == file.yaml)
            {
                self.name_bytes(yaml, &mut found);
            }
            findings.append(&mut found);
        }
        files
    }

    pub(super) fn strays(&self) -> Vec<Finding> {
        let judged = |(entry, system): &&(Entry, String)| {
            let selected = system.is_empty() || self.selected.system(system);
            selected && self.selected.changed(&entry.path)
        };
        let strays = self.catalog.strays.iter().filter(judged);
        strays
            .flat_map(|(e, _)| self.rules.iter().filter_map(|r| r.check.judge().stray(r, e)))
            .collect()
    }
}
