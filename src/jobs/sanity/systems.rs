//! What a pull request changes of what is known of a system.

use std::collections::{BTreeMap, BTreeSet};

use crate::specs::Limits;
use crate::specs::system::System;

/// What another YAML of a system says otherwise of it.
#[derive(Debug, PartialEq, Eq)]
pub enum SystemChange {
    /// Nothing.
    None,
    /// Figures by which rows are judged, each table by itself, by their dotted paths.
    Figures(BTreeSet<String>),
    /// What tables are held against each other by; all of it where one of the two cannot be read.
    All,
}

impl SystemChange {
    /// Compares what two YAML say.
    pub fn between(before: &System, after: &System, limits: &Limits) -> Self {
        // A comment, or the order of its lines, says nothing else.
        if before == after {
            return Self::None;
        }
        let figures = before.figures.keys().chain(after.figures.keys());
        let changed = figures.filter(|path| before.figure(path) != after.figure(path));
        let changed: BTreeSet<String> = changed.cloned().collect();
        // Tables are held against each other by limits and by what is no figure.
        let is_limit = |path: &String| limits.values().any(|limit| limit.reads_figure(path));
        let without = |system: &System| System { figures: BTreeMap::new(), ..system.clone() };
        if without(before) == without(after) && !changed.iter().any(is_limit) {
            Self::Figures(changed)
        } else {
            Self::All
        }
    }
}
