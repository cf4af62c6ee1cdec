//! What cannot be read, or is not in this clone.

use std::collections::BTreeMap;

use super::job::Job;
use crate::checks::FactsContext;
use crate::database::source::Entry;
use crate::database::support::Matrices;
use crate::findings::Finding;

impl Job<'_> {
    /// Adds the id of a file that cannot be read to the findings on it: one that is unreadable in another way than
    /// before is new, since nobody knows what it holds.
    pub(super) fn name_bytes(&self, entry: &Entry, findings: &mut [Finding]) {
        let Some(id) = self.source.id(entry) else { return };
        for finding in findings.iter_mut().filter(|finding| finding.path == entry.path) {
            finding.parts.insert(id.to_string());
        }
    }

    /// One finding of all tables that are in git-LFS and were not fetched.
    pub(super) fn tables_in_lfs(&self, paths: &[String]) -> Option<Finding> {
        if paths.is_empty() {
            return None;
        }
        self.rules.iter().find_map(|rule| rule.check.judge().tables_in_lfs(rule, paths))
    }

    /// Judges the files that state facts, of a change those that it touches; counts them.
    pub(super) fn stated_facts(&self, matrices: &Matrices, findings: &mut Vec<Finding>) -> u64 {
        if !self.needs().facts {
            return 0;
        }
        let mut files: BTreeMap<&str, FactsContext<'_>> = BTreeMap::new();
        let facts = self.facts.files().map(|file| (&file.entry, file.fault.clone(), file.is_code));
        let matrices = matrices.values();
        let matrices = matrices
            .map(|(entry, read)| (entry, read.as_ref().err().map(ToString::to_string), false));
        for (entry, fault, is_code) in facts.chain(matrices) {
            let file = FactsContext { entry, is_code, faults: Vec::new() };
            files.entry(&entry.path).or_insert(file).faults.extend(fault);
        }
        files.retain(|path, _| self.selected.changed(path));
        for file in files.values().filter(|file| !file.faults.is_empty()) {
            let found = self.rules.iter().filter_map(|rule| rule.check.judge().facts(rule, file));
            let mut found: Vec<Finding> = found.collect();
            self.name_bytes(file.entry, &mut found);
            findings.append(&mut found);
        }
        files.len() as u64
    }
}
