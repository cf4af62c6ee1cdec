//! By what rules judge rows.

use std::collections::BTreeSet;

use crate::base::expr::Expr;
use crate::specs::TableSpec;

/// By what a rule judges a row: what makes its finding on the row a new one when it changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reads {
    /// Names of columns; any column where there are none.
    pub(super) columns: Option<Vec<String>>,
    /// Which figures of the table's system it reads.
    figures: ReadFigures,
    /// Whether it reads what the system's GPU calls itself.
    devices: bool,
}

/// Which figures of a system a rule reads.
#[derive(Debug, Clone, PartialEq, Eq)]
enum ReadFigures {
    /// Those of these dotted paths.
    Named(Vec<String>),
    All,
}

impl ReadFigures {
    const NONE: Self = Self::Named(Vec::new());
}

impl Reads {
    /// Any column.
    pub fn all() -> Self {
        Self { columns: None, figures: ReadFigures::NONE, devices: false }
    }

    /// What the loader reads of a table: its key, its filters, its latency.
    pub fn loaded(spec: &TableSpec) -> Self {
        Self::columns(spec.loaded_columns()).and_formulas(spec.loaded())
    }

    /// The columns of these names.
    pub fn columns(names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let columns = names.into_iter().map(Into::into).collect();
        Self { columns: Some(columns), ..Self::all() }
    }

    /// These, and what the GPU of the table's system calls itself.
    pub fn and_devices(self) -> Self {
        Self { devices: true, ..self }
    }

    /// These, and figures of the table's system, by their dotted paths.
    pub fn and_figures<'n>(self, names: impl IntoIterator<Item = &'n str>) -> Self {
        let mut reads = self;
        if let ReadFigures::Named(own) = &mut reads.figures {
            own.extend(names.into_iter().map(str::to_owned));
        }
        reads
    }

    /// These, and what formulas read of the table's system.
    pub fn and_formulas<'e>(self, formulas: impl IntoIterator<Item = &'e Expr>) -> Self {
        formulas.into_iter().fold(self, |reads, formula| {
            // Which rate is looked up depends on the row.
            if formula.reads_rates() {
                Self { figures: ReadFigures::All, ..reads }
            } else {
                reads.and_figures(formula.fields())
            }
        })
    }

    /// Whether all figures of the table's system are read.
    pub fn reads_figures(&self) -> bool {
        self.figures == ReadFigures::All
    }

    /// Whether it is read what the GPU of the table's system calls itself.
    pub fn reads_devices(&self) -> bool {
        self.devices
    }

    /// Whether anything that is known of the table's system is read.
    pub fn reads_any(&self) -> bool {
        self.devices || self.figures != ReadFigures::NONE
    }

    /// Whether a figure of the table's system is read.
    pub fn reads_figure(&self, path: &str) -> bool {
        match &self.figures {
            ReadFigures::Named(names) => names.iter().any(|name| name == path),
            ReadFigures::All => true,
        }
    }

    /// Whether one of some figures of the table's system is read.
    pub fn reads_any_of(&self, figures: &BTreeSet<String>) -> bool {
        figures.iter().any(|path| self.reads_figure(path))
    }
}
