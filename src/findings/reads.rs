//! The inputs that rules read to judge rows.

use crate::base::expr::Expr;
use crate::specs::TableSpec;

/// The inputs of a rule's judgement of a row. The finding on a row may be new only if one of them
/// changed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reads {
    /// Names of the columns; `None` means any column.
    pub(super) columns: Option<Vec<String>>,
    /// Figures of the table's system, by their dotted paths.
    figures: Vec<String>,
    /// True if the rule looks up rates of the system; the row decides which ones.
    rates: bool,
    /// True if the rule reads the device names of the system's GPU.
    devices: bool,
}

impl Reads {
    /// Inputs of a rule that reads any column.
    pub fn all() -> Self {
        Self::default()
    }

    /// Inputs that the loader reads of a table: key, filters and latency.
    pub fn loaded(spec: &TableSpec) -> Self {
        Self::columns(spec.loaded_columns()).and_formulas(spec.loaded())
    }

    /// Inputs of a rule that compares the latency with the table's bounds.
    pub fn bounded(spec: &TableSpec) -> Self {
        let bounds = || spec.bounds.iter().map(|bound| &bound.seconds);
        let columns = spec.loaded_columns().into_iter().chain(bounds().flat_map(Expr::columns));
        Self::columns(columns).and_formulas(bounds())
    }

    /// Inputs of a rule that reads the columns with these names.
    pub fn columns(names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let columns = names.into_iter().map(Into::into).collect();
        Self { columns: Some(columns), ..Self::all() }
    }

    /// Adds the device names of the system's GPU.
    pub fn and_devices(self) -> Self {
        Self { devices: true, ..self }
    }

    /// Adds figures of the table's system, by their dotted paths.
    pub fn and_figures<'n>(self, names: impl IntoIterator<Item = &'n str>) -> Self {
        let mut reads = self;
        reads.figures.extend(names.into_iter().map(str::to_owned));
        reads
    }

    /// Adds the figures and rates of the system that formulas read.
    pub fn and_formulas<'e>(self, formulas: impl IntoIterator<Item = &'e Expr>) -> Self {
        formulas.into_iter().fold(self, |reads, formula| {
            let rates = reads.rates || formula.reads_rates();
            Self { rates, ..reads }.and_figures(formula.fields())
        })
    }

    /// Returns true if rates of the table's system are read.
    pub fn reads_rates(&self) -> bool {
        self.rates
    }

    /// Returns true if the device names of the system's GPU are read.
    pub fn reads_devices(&self) -> bool {
        self.devices
    }

    /// Returns true if any fact about the table's system is read.
    pub fn reads_any(&self) -> bool {
        self.devices || self.rates || !self.figures.is_empty()
    }

    /// Returns true if the figure with this path is read from the table's system.
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
