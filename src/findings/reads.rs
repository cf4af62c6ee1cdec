//! By what rules judge rows.

use crate::base::expr::Expr;
use crate::specs::TableSpec;

/// By what a rule judges a row: what makes its finding on the row a new one when it changes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reads {
    /// Names of columns; any column where there are none.
    pub(super) columns: Option<Vec<String>>,
    /// Figures of the table's system, by their dotted paths.
    figures: Vec<String>,
    /// Whether it looks up the system's rates: which ones depends on the row.
    rates: bool,
    /// Whether it reads what the system's GPU calls itself.
    devices: bool,
}

impl Reads {
    /// Any column.
    pub fn all() -> Self {
        Self::default()
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
        reads.figures.extend(names.into_iter().map(str::to_owned));
        reads
    }

    /// These, and what formulas read of the table's system.
    pub fn and_formulas<'e>(self, formulas: impl IntoIterator<Item = &'e Expr>) -> Self {
        formulas.into_iter().fold(self, |reads, formula| {
            let rates = reads.rates || formula.reads_rates();
            Self { rates, ..reads }.and_figures(formula.fields())
        })
    }

    /// Whether the rates of the table's system are read.
    pub fn reads_rates(&self) -> bool {
        self.rates
    }

    /// Whether it is read what the GPU of the table's system calls itself.
    pub fn reads_devices(&self) -> bool {
        self.devices
    }

    /// Whether anything that is known of the table's system is read.
    pub fn reads_any(&self) -> bool {
        self.devices || self.rates || !self.figures.is_empty()
    }

    /// Whether a figure of the table's system is read by its path.
    pub fn reads_figure(&self, path: &str) -> bool {
        self.figures.iter().any(|name| name == path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::specs::Specs;

    #[test]
    fn formulas_read_the_figures_that_they_name_and_rates_where_they_look_them_up() {
        let specs = Specs::embedded().unwrap();
        let bounds = |table: &str| {
            let bounds = specs.tables.get(table).unwrap().bounds.iter().map(|bound| &bound.seconds);
            Reads::all().and_formulas(bounds)
        };
        let (gemm, encoder) = (bounds("gemm_perf"), bounds("encoder_attention_perf"));
        assert!(gemm.reads_figure("gpu.mem_bw") && gemm.reads_rates() && encoder.reads_rates());
        assert!(!encoder.reads_figure("gpu.mem_bw") && !gemm.reads_figure("gpu.mem_capacity"));
    }
}
