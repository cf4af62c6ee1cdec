//! A product with its operands on the device, launched through its kernel or from a captured graph.

use std::sync::Arc;

use cudarc::driver::sys::{CUgraphInstantiate_flags, CUstreamCaptureMode};
use cudarc::driver::{CudaGraph, CudaStream};

use super::blas::Blas;
use super::error::{CudaError, CudaResult};
use super::kernels::{Launch, Product};
use super::tensor::{Memory, Operands, Tensor};
use crate::gpu::work::{Dtype, Fill, Work};

/// A product with its operands on the device.
pub(crate) struct PreparedProduct<'a> {
    stream: &'a Arc<CudaStream>,
    work: &'a Work,
    weights: Vec<Tensor<'a>>,
    inputs: Vec<Tensor<'a>>,
    outputs: Vec<Tensor<'a>>,
    call: Launch<'a>,
    /// The captured CUDA graph, which contains one call per copy of the weights. `None` if the work requests plain
    /// launches.
    graph: Option<CudaGraph>,
}

impl<'a> PreparedProduct<'a> {
    /// Allocates and fills the operands, and runs the product once. Captures a CUDA graph if the work requests one.
    pub(crate) fn new(
        stream: &'a Arc<CudaStream>,
        memory: &'a Memory,
        blas: &'a Blas,
        product: Product,
        work: &'a Work,
    ) -> CudaResult<Self> {
        let tensors = |count: u64, elements: u64, dtype, fill| -> CudaResult<Vec<Tensor<'a>>> {
            (0..count).map(|_| Tensor::new(memory, elements, dtype, fill)).collect()
        };
        let held = work.inputs_held();
        let call = product.launch(blas, memory, work)?;
        let mut prepared = Self {
            weights: tensors(work.copies, product.weight(work), work.dtype, work.weight_fill)?,
            inputs: tensors(held, product.input(work), work.dtype, work.input_fill)?,
            outputs: tensors(held, product.output(work), Dtype::Bfloat16, Fill::Zeros)?,
            stream,
            work,
            call,
            graph: None,
        };
        // The first launch loads and plans the kernel, so that neither is timed or captured.
        prepared.launch()?;
        stream.synchronize()?;
        if !prepared.computed()? {
            return Err(CudaError::Zeros);
        }
        if work.cuda_graph {
            prepared.graph = Some(prepared.capture()?);
        }
        Ok(prepared)
    }

    fn capture(&self) -> CudaResult<CudaGraph> {
        let mode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
        self.stream.begin_capture(mode)?;
        let launched = self.launch();
        // Capture must end even after a failed launch, or the stream stays unusable.
        let graph = self.stream.end_capture(CUgraphInstantiate_flags(0));
        launched?;
        graph?.ok_or(CudaError::EmptyGraph)
    }

    /// Enqueues one call per copy of the weights. Uses the CUDA graph if there is one.
    pub(crate) fn run(&self) -> CudaResult<()> {
        match &self.graph {
            Some(graph) => Ok(graph.launch()?),
            None => self.launch(),
        }
    }

    /// Enqueues one call per copy of the weights, without the CUDA graph.
    fn launch(&self) -> CudaResult<()> {
        self.weights.iter().enumerate().try_for_each(|(index, weight)| {
            (self.call)(Operands {
                weight: weight.address(),
                input: self.inputs[index % self.inputs.len()].address(),
                output: self.outputs[index % self.outputs.len()].address(),
            })
        })
    }

    /// Returns false if the output is all zeros although the operands are not: the kernel computed nothing.
    fn computed(&self) -> CudaResult<bool> {
        if self.work.weight_fill == Fill::Zeros || self.work.input_fill == Fill::Zeros {
            return Ok(true);
        }
        let bytes = (2 * self.work.size("n")).min(4096) as usize;
        Ok(self.outputs[0].head(bytes)?.iter().any(|b| *b != 0))
    }
}
