//! By what rules judge rows.

use std::collections::BTreeSet;

use crate::base::expr::Expr;
use crate::specs::TableSpec;

/// By what a rule judges a row: what makes its finding on the row a new one when it changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reads {
    /// Names of columns; any column where there are none.
    pub(super) columns: Option<Vec<String>>,
    /// What it reads of the table's system.
    system: ReadFacts,
}

/// What a rule reads of what is known of a system.
#[derive(Debug, Clone, PartialEq, Eq)]
enum ReadFacts {
    None,
    /// Figures, by their dotted paths.
    Figures(Vec<String>),
    All,
}

impl Reads {
    /// Any column.
    pub fn all() -> Self {
        Self { columns: None, system: ReadFacts::None }
    }

    /// What the loader reads of a table: its key, its filters, its latency.
    pub fn loaded(spec: &TableSpec) -> Self {
        Self::columns(spec.loaded_columns()).and_formulas(spec.loaded())
    }

    /// The columns of these names.
    pub fn columns(names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let columns = names.into_iter().map(Into::into).collect();
        Self { columns: Some(columns), system: ReadFacts::None }
    }

    /// These, and all that is known of the table's system.
    pub fn and_system(self) -> Self {
        Self { system: ReadFacts::All, ..self }
    }

    /// These, and figures of the table's system, by their dotted paths.
    pub fn and_figures<'n>(self, names: impl IntoIterator<Item = &'n str>) -> Self {
        let mut names: Vec<String> = names.into_iter().map(str::to_owned).collect();
        let system = match self.system {
            own if names.is_empty() => own,
            ReadFacts::All => ReadFacts::All,
            ReadFacts::None => ReadFacts::Figures(names),
            ReadFacts::Figures(mut own) => {
                own.append(&mut names);
                ReadFacts::Figures(own)
            }
        };
        Self { system, ..self }
    }

    /// These, and what formulas read of the table's system.
    pub fn and_formulas<'e>(self, formulas: impl IntoIterator<Item = &'e Expr>) -> Self {
        formulas.into_iter().fold(self, |reads, formula| {
            // Which rate is looked up depends on the row.
            let reads = if formula.reads_rates() { reads.and_system() } else { reads };
            reads.and_figures(formula.fields())
        })
    }

    /// Whether all that is known of the table's system is read.
    pub fn reads_system(&self) -> bool {
        self.system == ReadFacts::All
    }

    /// Whether anything that is known of the table's system is read.
    pub(super) fn reads_any(&self) -> bool {
        self.system != ReadFacts::None
    }

    /// Whether a figure of the table's system is read.
    pub fn reads_figure(&self, path: &str) -> bool {
        match &self.system {
            ReadFacts::None => false,
            ReadFacts::Figures(names) => names.iter().any(|name| name == path),
            ReadFacts::All => true,
        }
    }

    /// Whether one of some figures of the table's system is read.
    pub fn reads_any_of(&self, figures: &BTreeSet<String>) -> bool {
        figures.iter().any(|path| self.reads_figure(path))
    }
}
