//! Operations without a table: their time is a formula of the machine's figures.

use serde::Deserialize;

use super::super::dtypes;
use super::super::refusal::Refusal;
use super::operation::{Evaluation, Operation, once, one};

/// Norms, activations, additions.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Elementwise {
    pub name: String,
    /// Layers.
    #[serde(default = "once")]
    pub count: f64,
    /// Bytes that a token reads and writes.
    pub bytes_per_token: f64,
    /// Tokens per row of the operation.
    #[serde(default = "one")]
    pub scale_num_tokens: u64,
}

/// The embedding's rows of the tokens.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Embedding {
    pub name: String,
    /// Times per step.
    #[serde(default = "once")]
    pub count: f64,
    /// Elements of a token.
    pub hidden_size: u64,
    /// Type of the embedding.
    pub quant_mode: String,
}

/// A hand-over between pipeline stages.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct P2p {
    pub name: String,
    /// Hand-overs per step.
    #[serde(default = "once")]
    pub count: f64,
    /// Elements of a token.
    pub hidden_size: u64,
    /// Stages.
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
        // Hand-overs are of 16 bits an element.
        let bytes = at.query.tokens as f64 * self.hidden_size as f64 * 2.0;
        Ok(at.session.machine().hop_ms(bytes) * self.count)
    }
}
