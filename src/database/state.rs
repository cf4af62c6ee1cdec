//! A state of a database: its source, its catalog, and the facts that it states.

use std::collections::BTreeSet;

use crate::database::catalog::{Catalog, TableFile};
use crate::database::facts::TreeFacts;
use crate::database::sidecar::Meta;
use crate::database::source::Source;
use crate::database::table::{Table, TableFault, Wanted};
use crate::specs::Specs;

/// One version of a whole database, such as the base or the head of a pull request: its files, and the facts that the
/// files declare.
#[derive(Clone, Copy)]
pub struct State<'a> {
    /// The source of the files' bytes.
    pub source: &'a dyn Source,
    /// The files of the database.
    pub catalog: &'a Catalog,
    /// The facts that the database's files declare.
    pub facts: &'a TreeFacts,
    /// The specs of tables and systems, in which `facts` replace the values of `rules/`.
    pub specs: &'a Specs,
}

impl<'a> State<'a> {
    /// Returns the sidecar of a table's directory; `None` if it is missing or cannot be read.
    pub(crate) fn meta(&self, file: &TableFile) -> Option<&'a Meta> {
        let dir = self.catalog.dir_of(file)?;
        self.facts.sidecars.meta.get(&dir.path)?.as_ref().ok()
    }

    /// Decodes a table.
    ///
    /// # Errors
    ///
    /// If the table cannot be read.
    pub(crate) fn table(&self, file: &TableFile) -> Result<Table, TableFault> {
        file.decode(self.specs, &self.source.read(&file.entry)?)
    }

    /// Decodes some columns of a table.
    ///
    /// # Errors
    ///
    /// If the table cannot be read.
    pub(crate) fn columns(
        &self,
        file: &TableFile,
        names: &BTreeSet<&str>,
    ) -> Result<Table, TableFault> {
        let bytes = self.source.read(&file.entry)?;
        file.decode_of(self.specs, &bytes, Wanted::Named(names))
    }
}

/// The owned parts of a [`State`], without its source.
pub(crate) struct ReadState {
    /// The files of the database.
    pub catalog: Catalog,
    /// The facts that the database's files declare.
    pub facts: TreeFacts,
    /// The specs of tables and systems, in which `facts` replace the values of `rules/`.
    pub specs: Specs,
}

impl ReadState {
    /// Creates a state whose `facts` override `specs`.
    pub(crate) fn new(catalog: Catalog, facts: TreeFacts, specs: &Specs) -> Self {
        let specs = facts.apply_to(specs);
        Self { catalog, facts, specs }
    }

    /// Creates a mixed state. The facts, the systems' YAML and the `reuse.yaml` declarations are those of `base`, and
    /// all other files are those of `head`. A system that only the head has keeps its YAML.
    pub(crate) fn head_by_base(base: State<'_>, head: State<'_>) -> Self {
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

    /// Returns a [`State`] that borrows these parts and reads files from `source`.
    pub(crate) fn of<'a>(&'a self, source: &'a dyn Source) -> State<'a> {
        State { source, catalog: &self.catalog, facts: &self.facts, specs: &self.specs }
    }
}
