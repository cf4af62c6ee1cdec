//! A state of a database: its bytes, what it holds, and what it states about itself.

use std::collections::BTreeSet;

use crate::database::catalog::{Catalog, TableFile};
use crate::database::facts::TreeFacts;
use crate::database::source::Source;
use crate::database::table::{Table, TableFault, Wanted};
use crate::specs::Specs;

/// A state of a database.
#[derive(Clone, Copy)]
pub struct State<'a> {
    /// Where its bytes are.
    pub source: &'a dyn Source,
    /// What it holds.
    pub catalog: &'a Catalog,
    /// What it states about itself.
    pub facts: &'a TreeFacts,
    /// What is known of its tables, those facts over it.
    pub specs: &'a Specs,
}

impl State<'_> {
    /// Decodes a table.
    ///
    /// # Errors
    ///
    /// When it cannot be read.
    pub fn table(&self, file: &TableFile) -> Result<Table, TableFault> {
        file.decode(self.specs, &self.source.read(&file.entry)?)
    }

    /// Decodes some columns of a table.
    ///
    /// # Errors
    ///
    /// When it cannot be read.
    pub fn columns(&self, file: &TableFile, names: &BTreeSet<&str>) -> Result<Table, TableFault> {
        let bytes = self.source.read(&file.entry)?;
        file.decode_of(self.specs, &bytes, Wanted::Named(names))
    }
}

/// What was read of a state; with its source it is a [`State`].
pub struct ReadState {
    /// What it holds.
    pub catalog: Catalog,
    /// What it states about itself.
    pub facts: TreeFacts,
    /// What is known of its tables, those facts over it.
    pub specs: Specs,
}

impl ReadState {
    /// A state whose `facts` go over `specs`.
    pub fn new(catalog: Catalog, facts: TreeFacts, specs: &Specs) -> Self {
        let specs = facts.over(specs);
        Self { catalog, facts, specs }
    }

    /// The bytes of `head` under what `base` states: its facts, its systems and its declared reuse. Systems that came with
    /// the head keep what the head states.
    pub fn excused(base: State<'_>, head: State<'_>) -> Self {
        let mut catalog = head.catalog.clone();
        for (name, system) in &mut catalog.systems {
            if let Some(before) = base.catalog.systems.get(name) {
                system.system = before.system.clone();
            }
        }
        let mut facts = base.facts.clone();
        facts.sidecars.meta = head.facts.sidecars.meta.clone();
        Self { catalog, facts, specs: base.specs.clone() }
    }

    /// It with its bytes.
    pub fn of<'a>(&'a self, source: &'a dyn Source) -> State<'a> {
        State { source, catalog: &self.catalog, facts: &self.facts, specs: &self.specs }
    }
}
