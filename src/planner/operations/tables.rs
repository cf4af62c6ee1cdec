//! The tables that operations read: their columns, and where a row belongs in them.

use serde::Deserialize;

use super::super::Reason;
use super::super::cells::{Cells, Columns};
use super::super::names::NameCodes;
use super::super::slices::SliceKey;
use super::{attention, collective, gemm, mla, mla_bmm, mla_module, moe, quantize};

/// A table that operations read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Deserialize)]
#[serde(try_from = "String")]
pub enum TableName {
    /// `gemm_perf`
    Gemm,
    /// `computescale_perf`
    Computescale,
    /// `scale_matrix_perf`
    ScaleMatrix,
    /// `context_attention_perf`
    ContextAttention,
    /// `generation_attention_perf`
    GenerationAttention,
    /// `context_mla_perf`
    ContextMla,
    /// `generation_mla_perf`
    GenerationMla,
    /// `mla_context_module_perf`
    MlaContextModule,
    /// `mla_generation_module_perf`
    MlaGenerationModule,
    /// `mla_bmm_perf`
    MlaBmm,
    /// `moe_perf`
    Moe,
    /// `custom_allreduce_perf`
    CustomAllReduce,
    /// `nccl_perf`
    Nccl,
    /// `oneccl_perf`
    OneCcl,
}

impl TryFrom<String> for TableName {
    type Error = Reason;

    fn try_from(stem: String) -> Result<Self, Reason> {
        Self::of(&stem).ok_or_else(|| format!("no operation reads {stem}").into())
    }
}

impl TableName {
    /// All of them, in the order of their discriminants.
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

    /// File stem.
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

    /// The table of a file stem.
    pub fn of(stem: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|table| table.stem() == stem)
    }

    /// The library whose version, not the backend's, a table is kept under.
    pub fn library(self) -> Option<&'static str> {
        match self {
            Self::Nccl => Some("nccl"),
            Self::OneCcl => Some("oneccl"),
            _ => None,
        }
    }

    /// The columns that its loader reads.
    pub(in super::super) fn columns(self) -> Columns {
        match self {
            Self::Gemm => gemm::COLUMNS,
            Self::Computescale | Self::ScaleMatrix => quantize::COLUMNS,
            Self::ContextAttention => attention::CONTEXT_COLUMNS,
            Self::GenerationAttention => attention::GENERATION_COLUMNS,
            Self::ContextMla => mla::CONTEXT_COLUMNS,
            Self::GenerationMla => mla::GENERATION_COLUMNS,
            Self::MlaContextModule => mla_module::CONTEXT_COLUMNS,
            Self::MlaGenerationModule => mla_module::GENERATION_COLUMNS,
            Self::MlaBmm => mla_bmm::COLUMNS,
            Self::Moe => moe::COLUMNS,
            Self::CustomAllReduce => collective::ALL_REDUCE_COLUMNS,
            Self::Nccl | Self::OneCcl => collective::NCCL_COLUMNS,
        }
    }

    /// The slice of a row; `None` for a row that its loader ignores.
    ///
    /// # Errors
    ///
    /// For a row that its loader refuses, which fails the whole table.
    pub(in super::super) fn slice(
        self,
        cells: &Cells<'_>,
        names: &NameCodes,
    ) -> Result<Option<SliceKey>, Reason> {
        match self {
            Self::Gemm => Ok(gemm::slice_of(cells)),
            Self::Computescale | Self::ScaleMatrix => Ok(Some(quantize::slice_of(cells))),
            Self::ContextAttention => Ok(Some(attention::context_slice(cells))),
            Self::GenerationAttention => Ok(Some(attention::generation_slice(cells))),
            Self::ContextMla => Ok(Some(mla::context_slice(cells))),
            Self::GenerationMla => Ok(Some(mla::generation_slice(cells))),
            Self::MlaContextModule => mla_module::context_slice(cells).map(Some),
            Self::MlaGenerationModule => mla_module::generation_slice(cells).map(Some),
            Self::MlaBmm => Ok(Some(mla_bmm::slice_of(cells))),
            Self::Moe => Ok(Some(moe::slice_of(cells, names))),
            Self::CustomAllReduce => Ok(Some(collective::all_reduce_slice(cells))),
            Self::Nccl | Self::OneCcl => Ok(Some(collective::nccl_slice(cells))),
        }
    }
}
