//! Names of the tables that operations read.

use serde::Deserialize;

use crate::base::reason::Reason;

/// Declares [`TableName`] from pairs of variant and file stem.
macro_rules! table_names {
    ($($name:ident $stem:literal),* $(,)?) => {
        /// A table that operations read.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Deserialize)]
        #[serde(try_from = "String")]
        pub enum TableName {
            $(#[doc = concat!("The table `", $stem, "`.")] $name,)*
        }

        impl TableName {
            /// Every table, in the order of the discriminants.
            pub const ALL: [Self; [$($stem),*].len()] = [$(Self::$name),*];

            /// File stem of the table.
            pub fn stem(self) -> &'static str {
                match self {
                    $(Self::$name => $stem,)*
                }
            }
        }
    };
}

table_names! {
    Gemm "gemm_perf",
    Computescale "computescale_perf",
    ScaleMatrix "scale_matrix_perf",
    ContextAttention "context_attention_perf",
    GenerationAttention "generation_attention_perf",
    ContextMla "context_mla_perf",
    GenerationMla "generation_mla_perf",
    MlaContextModule "mla_context_module_perf",
    MlaGenerationModule "mla_generation_module_perf",
    MlaBmm "mla_bmm_perf",
    Moe "moe_perf",
    CustomAllReduce "custom_allreduce_perf",
    Nccl "nccl_perf",
    OneCcl "oneccl_perf",
}

impl TryFrom<String> for TableName {
    type Error = Reason;

    fn try_from(stem: String) -> Result<Self, Reason> {
        Self::of(&stem).ok_or_else(|| format!("no operation reads {stem}").into())
    }
}

impl TableName {
    /// The table with a file stem; `None` if no operation reads it.
    pub(crate) fn of(stem: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|table| table.stem() == stem)
    }

    /// The table of prefill attention with a file stem. Its keys begin with the precision and the type
    /// of the cache.
    pub(super) fn of_prefill_attention(stem: &str) -> Option<Self> {
        let tables = [Self::ContextAttention, Self::ContextMla, Self::MlaContextModule];
        tables.into_iter().find(|table| table.stem() == stem)
    }

    /// The library that measures the table, whose version names the directory; `None` for a table of the
    /// backend.
    pub(crate) fn library(self) -> Option<&'static str> {
        let library = self.stem().trim_end_matches("_perf");
        matches!(self, Self::Nccl | Self::OneCcl).then_some(library)
    }
}
