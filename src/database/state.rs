//! A state of a database: its bytes, what it holds, and what it says of itself.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::database::catalog::{Catalog, TableFile};
use crate::database::decoded::Decoded;
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
    /// Tables of it that were decoded already.
    pub decoded: &'a Decoded,
    /// What it says of itself.
    pub facts: &'a TreeFacts,
    /// What is known of its tables, those facts over it.
    pub specs: &'a Specs,
}

impl State<'_> {
    /// A table of it, decoded once for all stages that share the state.
    ///
    /// # Errors
    ///
    /// When it cannot be read.
    pub fn table(&self, file: &TableFile, specs: &Specs) -> Result<Arc<Table>, TableFault> {
        self.decoded.table(self.source, file, specs)
    }

    /// A table of it with some columns, or more: what was kept of it, or those that a stage needs by itself, which
    /// are not kept.
    ///
    /// # Errors
    ///
    /// When it cannot be read.
    pub fn columns(
        &self,
        file: &TableFile,
        specs: &Specs,
        names: &BTreeSet<&str>,
    ) -> Result<Arc<Table>, TableFault> {
        match self.decoded.get(file) {
            Some(table) => Ok(table),
            None => {
                let bytes = self.source.read(&file.entry)?;
                file.decode_of(specs, &bytes, Wanted::Named(names)).map(Arc::new)
            }
        }
    }
}

/// What was read of a state; with its source it is a [`State`].
pub struct ReadState {
    /// What it holds.
    pub catalog: Catalog,
    /// What it says of itself.
    pub facts: TreeFacts,
    /// What is known of its tables, those facts over it.
    pub specs: Specs,
    /// Tables of it that are kept.
    pub decoded: Decoded,
}

impl ReadState {
    /// A state whose `facts` go over `specs`, and of which at most `kept` bytes of decoded tables are
    /// kept.
    pub fn new(catalog: Catalog, facts: TreeFacts, specs: &Specs, kept: usize) -> Self {
        let specs = facts.over(specs);
        Self { catalog, facts, specs, decoded: Decoded::new(kept) }
    }

    /// It with its bytes.
    pub fn of<'a>(&'a self, source: &'a dyn Source) -> State<'a> {
        State {
            source,
            catalog: &self.catalog,
            decoded: &self.decoded,
            facts: &self.facts,
            specs: &self.specs,
        }
    }
}
