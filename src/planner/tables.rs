//! Names of the tables that operations read.

use serde::Deserialize;

use crate::base::reason::Reason;

/// A table that operations read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Deserialize)]
#[serde(try_from = "String")]
pub enum TableName {
    /// The table `gemm_perf`.
    Gemm,
    /// The table `computescale_perf`.
    Computescale,
    /// The table `scale_matrix_perf`.
    ScaleMatrix,
    /// The table `context_attention_perf`.
    ContextAttention,
    /// The table `generation_attention_perf`.
    GenerationAttention,
    /// The table `context_mla_perf`.
    ContextMla,
    /// The table `generation_mla_perf`.
    GenerationMla,
    /// The table `mla_context_module_perf`.
    MlaContextModule,
    /// The table `mla_generation_module_perf`.
    MlaGenerationModule,
    /// The table `mla_bmm_perf`.
    MlaBmm,
    /// The table `moe_perf`.
    Moe,
    /// The table `custom_allreduce_perf`.
    CustomAllReduce,
    /// The table `nccl_perf`.
    Nccl,
    /// The table `oneccl_perf`.
    OneCcl,
}

impl TryFrom<String> for TableName {
    type Error = Reason;

    fn try_from(stem: String) -> Result<Self, Reason> {
        Self::of(&stem).ok_or_else(|| format!("no operation reads {stem}").into())
    }
}

impl TableName {
    /// Every table, in the order of the discriminants.
    pub const ALL: [Self; 14] = [
        Self::Gemm,
        Self::Computescale,
        Self::ScaleMatrix,
        Self::ContextAttention,
        Self::GenerationAttention,
        Self::ContextMla,
        Self::GenerationMla,
        Self::MlaContextModule,
        Self::MlaGenerationModule,
        Self::MlaBmm,
        Self::Moe,
        Self::CustomAllReduce,
        Self::Nccl,
        Self::OneCcl,
    ];

    /// The file stem of the table.
    pub fn stem(self) -> &'static str {
        match self {
            Self::Gemm => "gemm_perf",
            Self::Computescale => "computescale_perf",
            Self::ScaleMatrix => "scale_matrix_perf",
            Self::ContextAttention => "context_attention_perf",
            Self::GenerationAttention => "generation_attention_perf",
            Self::ContextMla => "context_mla_perf",
            Self::GenerationMla => "generation_mla_perf",
            Self::MlaContextModule => "mla_context_module_perf",
            Self::MlaGenerationModule => "mla_generation_module_perf",
            Self::MlaBmm => "mla_bmm_perf",
            Self::Moe => "moe_perf",
            Self::CustomAllReduce => "custom_allreduce_perf",
            Self::Nccl => "nccl_perf",
            Self::OneCcl => "oneccl_perf",
        }
    }

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
