//! Specs that are overridden by the facts of a work tree or commit.

use std::sync::Arc;

use super::facts::{KernelChoices, Lanes, Operations};
use super::{Specs, StatedFacts};

impl Specs {
    /// Returns a copy of these specs in which the facts that a tree states replace the embedded ones.
    pub(crate) fn with_facts(&self, facts: &StatedFacts) -> Self {
        let mut specs = self.clone();
        for (table, families) in facts.operations.iter().flat_map(Operations::tables) {
            let Some(family) = families.first().copied() else { continue };
            specs.families.insert(table.to_owned(), family.to_owned());
            if specs.tables.family(table).is_some_and(|own| own != family)
                && let Some(spec) = specs.tables.get_mut(table)
            {
                spec.family = family.to_owned();
            }
        }
        if let Some(defaults) = &facts.lanes {
            let column = &self.facts.attention_lanes.column;
            let lanes = Arc::new(Lanes { column: column.clone(), defaults: defaults.clone() });
            for table in &self.facts.attention_lanes.tables {
                if let Some(spec) = specs.tables.get_mut(table) {
                    spec.lanes = Some(lanes.clone());
                }
            }
        }
        if let (Some(operations), Some(sources)) = (&facts.operations, &facts.kernel_sources) {
            for table in operations.tables().into_keys() {
                let choices = operations.choices(table);
                if let (false, Some(spec)) = (choices.is_empty(), specs.tables.get_mut(table)) {
                    spec.kernels =
                        Some(Arc::new(KernelChoices { choices, sources: sources.clone() }));
                }
            }
        }
        specs.query_versions = facts.query_versions.clone();
        let pins = facts.pins.iter();
        specs.lookups.pins.extend(pins.map(|(list, pins)| (list.clone(), pins.clone())));
        specs.lookups.changed_facts = facts.changed_facts.clone();
        specs
    }

    /// Returns true if these specs and `other` agree about a table's family, attention lanes and looked-up numbers.
    /// Results for the table are then the same with either of them.
    pub(crate) fn know_alike(&self, other: &Self, table: &str) -> bool {
        let spec = |specs: &Self| specs.tables.get(table).cloned();
        let alike = match (spec(self), spec(other)) {
            (Some(own), Some(others)) => {
                let lookups = own.formulas().flat_map(|f| f.lookups());
                own.family == others.family
                    && own.lanes == others.lanes
                    && lookups.into_iter().all(|(l, _)| self.lookups.gives_same(&other.lookups, l))
            }
            (own, others) => own.is_none() && others.is_none(),
        };
        alike && self.families.get(table) == other.families.get(table)
    }
}
