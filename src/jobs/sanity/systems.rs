//! What a pull request changes of what is known of a system.

use std::collections::{BTreeMap, BTreeSet};

use crate::findings::ChangedFigures;
use crate::specs::Lookups;
use crate::specs::system::System;

/// What another YAML of a system says otherwise of it.
#[derive(Debug, PartialEq, Eq)]
pub enum SystemChange {
    /// Nothing.
    None,
    /// Figures alone.
    Figures(ChangedFigures),
    /// What is not a figure; all of it where one of the two cannot be read.
    All,
}

impl SystemChange {
    /// The figures that change, where nothing else does.
    pub fn figures(&self) -> Option<&ChangedFigures> {
        match self {
            Self::Figures(figures) => Some(figures),
            Self::None | Self::All => None,
        }
    }

    /// Compares what two YAML say.
    pub fn between(before: &System, after: &System, lookups: &Lookups) -> Self {
        // A comment, or the order of its lines, says nothing else.
        if before == after {
            return Self::None;
        }
        let figures = before.figures.keys().chain(after.figures.keys());
        let changed = figures.filter(|path| before.figure(path) != after.figure(path));
        let changed: BTreeSet<String> = changed.cloned().collect();
        let without = |system: &System| System { figures: BTreeMap::new(), ..system.clone() };
        if without(before) != without(after) {
            return Self::All;
        }
        Self::Figures(ChangedFigures::new(changed, lookups))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::specs::Specs;

    #[test]
    fn figures_are_told_from_other_facts() {
        let yaml = "gpu:\n  mem_bw: 4800000000000\n  mem_capacity: 151397597184\nmisc:\n  nccl_version: '2.27'\n";
        let lookups = Specs::embedded().unwrap().lookups;
        let before = System::parse("h200_sxm", yaml).unwrap();
        let change = |from: &str, to: &str| {
            let after = System::parse("h200_sxm", &yaml.replace(from, to)).unwrap();
            SystemChange::between(&before, &after, &lookups)
        };
        let named = |path: &str| {
            SystemChange::Figures(ChangedFigures::new(BTreeSet::from([path.to_owned()]), &lookups))
        };
        assert_eq!(change("misc", "# a note\nmisc"), SystemChange::None);
        assert_eq!(change("480000", "490000"), named("gpu.mem_bw"));
        assert_eq!(change("1513", "1514"), named("gpu.mem_capacity"));
        assert_eq!(change("'2.27'", "'2.28'"), SystemChange::All);
    }
}
