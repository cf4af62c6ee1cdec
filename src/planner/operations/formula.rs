//! Operations without a table, whose time is a formula of the machine's figures.

use serde::Deserialize;

use super::super::dtypes;
use super::super::refusal::Refusal;
use super::operation::{Evaluation, Operation, once, one};

/// Norms, activations and additions: memory traffic only.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Elementwise {
    pub name: String,
    /// Number of layers.
    #[serde(default = "once")]
    pub count: f64,
    /// Bytes that are read and written per token.
    pub bytes_per_token: f64,
    /// Number of tokens per row of the operation.
    #[serde(default = "one")]
    pub scale_num_tokens: u64,
}

/// The lookup of the tokens' rows in the embedding.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Embedding {
    pub name: String,
    /// Number of lookups per step.
    #[serde(default = "once")]
    pub count: f64,
    /// Elements per token.
    pub hidden_size: u64,
    /// Type of the embedding.
    pub quant_mode: String,
}

/// A transfer between pipeline stages.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct P2p {
    pub name: String,
    /// Number of transfers per step.
    #[serde(default = "once")]
    pub count: f64,
    /// Elements per token.
    pub hidden_size: u64,
    /// Number of pipeline stages.
    pub pp_size: u64,
}

impl Operation for Elementwise {
    fn ms(&self, at: &mut Evaluation<'_, '_, '_>) -> Result<f64, Refusal> {
        let rows = at.query.tokens / self.scale_num_tokens.max(1);
        Ok(at.session.machine().memory_ms(self.bytes_per_token * rows as f64) * self.count)
    }
}

impl Operation for Embedding {
    fn ms(&self, at: &mut Evaluation<'_, '_, '_>) -> Result<f64, Refusal> {
        let bytes = dtypes::gemm(&self.quant_mode)?.bytes;
        let elements = at.query.tokens as f64 * self.hidden_size as f64;
        Ok(at.session.machine().memory_ms(elements * bytes) * self.count)
    }
}

impl Operation for P2p {
    fn ms(&self, at: &mut Evaluation<'_, '_, '_>) -> Result<f64, Refusal> {
        if self.pp_size <= 1 {
            return Ok(0.0);
        }
        // Transferred elements have 16 bits.
        let bytes = at.query.tokens as f64 * self.hidden_size as f64 * 2.0;
        Ok(at.session.machine().hop_ms(bytes) * self.count)
    }
}
