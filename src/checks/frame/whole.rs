//! Judges a state as a whole after all tables were read: the database, version directories, systems, files of facts,
//! and misplaced files.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use rayon::prelude::*;
use tracing::debug;

use super::judging::JudgeRun;
use super::name::StateResults;
use crate::base::error::Result;
use crate::base::group::grouped;
use crate::checks::compare::peers::Peers;
use crate::checks::compare::sketch::Sketches;
use crate::checks::context::{
    DirContext, FactsContext, History, Item, ProfileContext, SystemContext,
};
use crate::checks::inputs::Input;
use crate::checks::rule::Rule;
use crate::database::catalog::{TableFile, VersionDir};
use crate::database::collection_report::CollectionReport;
use crate::database::profile::Profile;
use crate::database::source::Entry;
use crate::findings::Finding;

/// The result of judging everything in a state that is not a single table, such as directories and systems.
pub(super) struct JudgedWhole {
    pub findings: Vec<Finding>,
    /// Number of judged files that are not tables: sidecars, system YAMLs and files of facts.
    pub files: u64,
}

impl<'a> JudgeRun<'a> {
    /// Judges everything in a state that is not a single table: the database, directories, systems and files of facts.
    /// `number` is the state's index. `in_lfs` are the paths of tables that should have been judged but are in git-LFS
    /// and were not fetched.
    pub(super) fn whole(
        &self,
        number: usize,
        kept: &StateResults<'a>,
        history: &History,
        in_lfs: &[String],
    ) -> Result<JudgedWhole> {
        let mut findings = self.database(number, kept, history)?;
        let files = self.dirs(number, &mut findings)
            + self.systems(number, &mut findings)
            + self.reports(number, &mut findings)
            + self.stated_facts(number, &mut findings);
        findings.extend(self.strays(number));
        if !in_lfs.is_empty() {
            findings.extend(self.item(&Item::InLfs(in_lfs)));
        }
        Ok(JudgedWhole { findings, files })
    }

    /// Returns the findings of the rules that judge all tables of a state together.
    fn database(
        &self,
        number: usize,
        kept: &StateResults<'a>,
        history: &History,
    ) -> Result<Vec<Finding>> {
        let state = self.states[number].state;
        let tables: Vec<&TableFile> = state.catalog.tables.iter().collect();
        let sketches = Sketches { by_path: kept.sketches.clone() };
        let peers = Peers::new(state, &sketches, &tables);
        let at = self.context(number, history, (&peers, &sketches), &kept.compared);
        let rules: Vec<&Arc<Rule>> = self.comparing_rules().collect();
        let judge = |rule: &&Arc<Rule>| {
            let start = Instant::now();
            let found = rule.check.judge().whole(rule.head(), &at);
            debug!(rule = rule.id, took = ?start.elapsed(), "checked the database as a whole");
            found
        };
        let found: Vec<Result<Vec<Finding>>> = rules.par_iter().map(judge).collect();
        let mut findings = found.into_iter().collect::<Result<Vec<_>>>()?.concat();
        findings.retain(|finding| at.is_on_known_table(finding));
        Ok(findings)
    }

    /// Returns the findings of all rules on an item, such as a directory or a system.
    fn item(&self, item: &Item<'_>) -> Vec<Finding> {
        self.terms.rules.iter().flat_map(|rule| rule.item(item)).collect()
    }

    /// Judges the version directories of a state, and adds their findings to `findings`. Returns the number of judged
    /// files: sidecars, `reuse.yaml` files and marker files.
    fn dirs(&self, number: usize, findings: &mut Vec<Finding>) -> u64 {
        let judged = &self.states[number];
        let (state, selected) = (judged.state, judged.selected);
        let sidecars = &state.facts.sidecars;
        let mut files = 0;
        // A declared layout has no version directories with sidecars.
        if state.catalog.layout.is_some() {
            return files;
        }
        for dir in state.catalog.dirs.values() {
            if !selected.place(&dir.place)
                || !self.touched(number, dir)
                || !self.wanted(number, dir)
            {
                continue;
            }
            if self.needs.has(Input::VersionDirs) {
                files += dir.meta.iter().chain(&dir.reuse).chain(&dir.markers).count() as u64;
            }
            let context = DirContext {
                dir,
                catalog: state.catalog,
                specs: state.specs,
                meta: sidecars.meta.get(&dir.path),
                reuse: sidecars.reuse.get(&dir.path),
            };
            let of_selected =
                |f: &Finding| f.table.as_ref().is_none_or(|t| selected.table(&dir.place, t));
            let unread_meta = context.meta.is_some_and(Result::is_err);
            let unread_reuse = context.reuse.is_some_and(Result::is_err);
            let mut found = self.item(&Item::Dir(context));
            found.retain(of_selected);
            let meta = dir.meta.iter().filter(|_| unread_meta);
            let reuse = dir.reuse.iter().filter(|_| unread_reuse);
            meta.chain(reuse).for_each(|entry| judged.name_bytes(entry, &mut found));
            findings.append(&mut found);
        }
        files
    }

    /// Returns true if a file changed in a version directory, or in a directory from which this version reuses tables.
    fn touched(&self, number: usize, dir: &VersionDir) -> bool {
        let judged = &self.states[number];
        let parent = dir.path.rsplit_once('/').map_or("", |(parent, _)| parent);
        let reuse = judged.state.facts.sidecars.reuse.get(&dir.path);
        let reuse = reuse.and_then(|reuse| reuse.as_ref().ok());
        let mut donors =
            reuse.iter().flat_map(|r| &r.reuse).map(|d| format!("{parent}/{}", d.from_version));
        let selected = judged.selected;
        selected.touched(&dir.path) || donors.any(|donor| selected.touched(&donor))
    }

    /// Returns true if the selection includes the directory: either a table in it is selected, or the selection does
    /// not name tables.
    fn wanted(&self, number: usize, dir: &VersionDir) -> bool {
        let judged = &self.states[number];
        let tables = &judged.state.catalog.tables;
        let selected = |i: &usize| judged.selected.table(&dir.place, &tables[*i].table);
        judged.selected.whole_dirs() || dir.tables.iter().any(selected)
    }

    /// Judges the YAMLs of systems, and adds their findings to `findings`. Returns the number of judged YAMLs.
    fn systems(&self, number: usize, findings: &mut Vec<Finding>) -> u64 {
        let judged = &self.states[number];
        let catalog = judged.state.catalog;
        let systems = catalog.systems.values();
        let by_data_dir =
            grouped(systems.map(|system| (system.data_dir.as_str(), system.name.as_str())));
        let mut files = 0;
        // The requirements on a system's YAML apply only to the public layout.
        let public = catalog.systems.values().filter(|_| catalog.layout.is_none());
        for file in public {
            let selected = judged.selected;
            let is_changed = selected.changed(&file.yaml) || selected.touched(&file.data_dir);
            if !self.needs.has(Input::Systems) || !selected.system(&file.name) || !is_changed {
                continue;
            }
            files += 1;
            let specs = judged.state.specs;
            let is_known = specs.systems.get(&file.name).is_some();
            let devices = if is_known { Vec::new() } else { judged.devices_of(&file.name) };
            let context =
                SystemContext { file, by_data_dir: &by_data_dir, catalog, devices, specs };
            let mut found = self.item(&Item::System(context));
            let yaml = catalog.other_files.iter().map(|(entry, _)| entry);
            if let Some(yaml) = yaml.filter(|_| file.system.is_err()).find(|e| e.path == file.yaml)
            {
                judged.name_bytes(yaml, &mut found);
            }
            findings.append(&mut found);
        }
        files
    }

    /// Judges collection reports whose system changed, and all profiles. Adds their findings to `findings`, and returns
    /// the number of judged files.
    fn reports(&self, number: usize, findings: &mut Vec<Finding>) -> u64 {
        let judged = &self.states[number];
        let selected = judged.selected;
        if !self.needs.has(Input::VersionDirs) {
            return 0;
        }
        let mut files = 0;
        for entry in CollectionReport::files(judged.state.catalog) {
            let system = CollectionReport::system_of(entry);
            if !selected.system(system) || !selected.touched(entry.folder()) {
                continue;
            }
            files += 1;
            let mut found = self.item(&Item::Report(judged.report(entry)));
            judged.name_bytes(entry, &mut found);
            findings.append(&mut found);
        }
        let state = judged.state;
        let is_left_out = |entry: &&Entry| {
            let mut systems = state.catalog.systems.values();
            systems.any(|system| {
                let is_own = entry.path.starts_with(&format!("{}/", system.data_dir));
                is_own && !selected.system(&system.name)
            })
        };
        let documents = Profile::files(state.catalog).chain(Profile::documents(state.catalog));
        for entry in documents.filter(|entry| !is_left_out(entry)) {
            files += 1;
            let profile = Profile::read(state.source, entry);
            let mut found = self.item(&Item::Profile(ProfileContext { entry, profile, state }));
            judged.name_bytes(entry, &mut found);
            findings.append(&mut found);
        }
        files
    }

    /// Judges the changed files that state facts, and adds their findings to `findings`. Returns the number of judged
    /// files.
    fn stated_facts(&self, number: usize, findings: &mut Vec<Finding>) -> u64 {
        if !self.needs.has(Input::Facts) {
            return 0;
        }
        let judged = &self.states[number];
        let mut files: BTreeMap<&str, FactsContext<'_>> = BTreeMap::new();
        let facts = judged.state.facts.files();
        let facts = facts.map(|file| (&file.entry, file.fault.clone(), file.is_code));
        let matrices = judged.support.values();
        let matrices = matrices
            .map(|(entry, read)| (entry, read.as_ref().err().map(ToString::to_string), false));
        for (entry, fault, is_code) in facts.chain(matrices) {
            let file = FactsContext { entry, is_code, faults: Vec::new() };
            files.entry(&entry.path).or_insert(file).faults.extend(fault);
        }
        files.retain(|path, _| judged.selected.changed(path));
        let count = files.len() as u64;
        for file in files.into_values().filter(|file| !file.faults.is_empty()) {
            let entry = file.entry;
            let mut found = self.item(&Item::Facts(file));
            judged.name_bytes(entry, &mut found);
            findings.append(&mut found);
        }
        count
    }

    /// Returns the findings on stray files: tables at a wrong depth or with a misspelt name, links and submodules.
    fn strays(&self, number: usize) -> Vec<Finding> {
        let judged = &self.states[number];
        let is_judged = |(entry, system): &&(Entry, String)| {
            let selected = system.is_empty() || judged.selected.system(system);
            selected && judged.selected.changed(&entry.path)
        };
        let strays = judged.state.catalog.strays.iter().filter(is_judged);
        strays.flat_map(|(entry, _)| self.item(&Item::Stray(entry))).collect()
    }
}
