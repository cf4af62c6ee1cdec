//! Judges each root of a database and adds up the results, with the data from which a report was made.

use crate::base::error::Result;
use crate::base::progress::Progress;
use crate::checks::frame::{StateScope, Terms, judge};
use crate::database::catalog::TableFile;
use crate::database::selection::Selected;
use crate::database::served::TableIndex;
use crate::database::state::State;
use crate::findings::Finding;
use crate::report::AbsentFiles;
use crate::report::health::JudgedPlaces;

/// The result of judging all roots of a database.
#[derive(Default)]
pub(super) struct JudgedDatabase {
    pub tables: u64,
    pub rows: u64,
    /// The number of judged files that are not tables.
    pub files: u64,
    pub found: Vec<Finding>,
    pub absent: AbsentFiles,
    pub places: JudgedPlaces,
}

impl JudgedDatabase {
    /// Judges the selected tables of one database root. Adds the findings, and the numbers of judged rows and files, to
    /// `self`.
    pub(crate) fn judge(
        &mut self,
        state: State<'_>,
        selected: &Selected,
        terms: Terms<'_>,
        progress: &dyn Progress,
    ) -> Result<()> {
        let catalog = state.catalog;
        // A system's YAML describes its rows, so that a change of it makes their tables part of the
        // scope.
        let has_other_system = |file: &TableFile| {
            let system = catalog.systems.get(&file.place.system);
            system.is_some_and(|system| selected.changed(&system.yaml))
        };
        let scope = StateScope::new(state, selected, has_other_system);
        for file in catalog.tables.iter().filter(|t| scope.judges(t)) {
            self.places.add(&file.place, &file.table);
        }
        self.tables += scope.subjects.len() as u64;
        let judgement = judge(scope, None, terms, progress)?;
        self.rows += judgement.rows;
        self.files += judgement.files;
        self.found.extend(judgement.findings);
        self.absent.in_lfs.extend(judgement.in_lfs);
        Ok(())
    }
}

/// The data from which a report was made.
pub(crate) struct JudgedData<'a> {
    /// The database.
    pub state: State<'a>,
    /// The part of the database that was judged.
    pub selected: &'a Selected,
    /// The findings in the order of the report.
    pub findings: &'a [Finding],
}

impl<'a> JudgedData<'a> {
    /// Iterates over the selected tables of the catalog.
    pub(crate) fn tables(&self) -> impl Iterator<Item = &'a TableFile> {
        let tables = self.state.catalog.tables.iter();
        tables.filter(|file| self.selected.table(&file.place, &file.table))
    }

    /// Returns the tables by backend, system and version.
    pub(crate) fn table_index(&self) -> TableIndex<'a> {
        let State { catalog, facts, specs, .. } = self.state;
        TableIndex::new(catalog, &facts.sidecars.reuse, specs)
    }
}
