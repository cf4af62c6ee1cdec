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
    /// Figures, some of which limits read, by which tables are held against each other.
    Limits(BTreeSet<String>),
    /// What is not a figure; all of it where one of the two cannot be read.
    All,
}

impl SystemChange {
    /// The figures that change, where nothing else does.
    pub fn figures(&self) -> Option<&BTreeSet<String>> {
        match self {
            Self::Figures(figures) | Self::Limits(figures) => Some(figures),
            Self::None | Self::All => None,
        }
    }

    /// Compares what two YAML say.
    pub fn between(before: &System, after: &System, limits: &Limits) -> Self {
        // A comment, or the order of its lines, says nothing else.
        if before == after {
            return Self::None;
        }
        let figures = before.figures.keys().chain(after.figures.keys());
        let changed = figures.filter(|path| before.figure(path) != after.figure(path));
        let changed: BTreeSet<String> = changed.cloned().collect();
        let is_limit = |path: &String| limits.values().any(|limit| limit.reads_figure(path));
        let without = |system: &System| System { figures: BTreeMap::new(), ..system.clone() };
        if without(before) != without(after) {
            Self::All
        } else if changed.iter().any(is_limit) {
            Self::Limits(changed)
        } else {
            Self::Figures(changed)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::specs::Specs;

    #[test]
    fn a_figure_that_limits_read_is_told_from_others() {
        let limits = Specs::embedded().unwrap().limits.clone();
        let yaml = "gpu:\n  mem_bw: 4800000000000\n  mem_capacity: 151397597184\nmisc:\n  nccl_version: '2.27'\n";
        let before = System::parse("h200_sxm", yaml).unwrap();
        let change = |from: &str, to: &str| {
            let after = System::parse("h200_sxm", &yaml.replace(from, to)).unwrap();
            SystemChange::between(&before, &after, &limits)
        };
        let named = |path: &str| BTreeSet::from([path.to_owned()]);
        assert_eq!(change("misc", "# a note\nmisc"), SystemChange::None);
        assert_eq!(change("480000", "490000"), SystemChange::Figures(named("gpu.mem_bw")));
        assert_eq!(change("1513", "1514"), SystemChange::Limits(named("gpu.mem_capacity")));
        assert_eq!(change("'2.27'", "'2.28'"), SystemChange::All);
    }
}
