//! Operations of an inference step. Each file describes one kind: its table, the key parts that must
//! match, its coordinates and its speed of light.

mod attention;
mod collective;
mod dispatch;
mod formula;
mod gemm;
mod mla;
mod mla_bmm;
mod mla_module;
mod moe;
mod op;
mod operation;
mod quantize;

pub use op::Op;
pub use operation::Query;
