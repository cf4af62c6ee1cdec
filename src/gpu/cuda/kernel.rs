//! The measured products, through cuBLAS and cuBLASLt, with the calls that PyTorch makes.
//!
//! cuBLAS is column-major: a row-major `y[m,n] = x[m,k] W[n,k]ᵀ` is the column-major `yᵀ = W xᵀ` of n by
//! m.

use std::ffi::{c_int, c_longlong, c_void};
use std::sync::Arc;

use cudarc::cublas::{result as blas, sys as blas_sys};
use cudarc::driver::sys::{CUgraphInstantiate_flags, CUstreamCaptureMode};
use cudarc::driver::{CudaGraph, CudaStream};

use super::error::{CudaError, CudaResult};
use super::fp8::{Lt, ScaledProduct};
use super::tensor::{Memory, Tensor};
use crate::gpu::device::Work;
use crate::gpu::recipe::{Dtype, Fill, GpuOperation};

/// Bytes of cuBLAS's workspace, as PyTorch sets it for Hopper.
const WORKSPACE: u64 = 32 << 20;

/// Open handles of cuBLAS and cuBLASLt.
pub struct Blas {
    handle: blas_sys::cublasHandle_t,
    lt: Lt,
    workspace: u64,
    // The workspace's memory, freed when the handle is closed.
    _memory: Memory,
}

impl Blas {
    /// Opens cuBLAS and cuBLASLt on a stream.
    pub fn new(stream: &Arc<CudaStream>) -> CudaResult<Self> {
        let memory = Memory::new(stream);
        let workspace = Tensor::new(&memory, WORKSPACE, Dtype::Fp8, Fill::Zeros)?.address();
        let handle = blas::create_handle().map_err(CudaError::Cublas)?;
        // SAFETY: the handle is new, and the stream and the workspace live as long as the handle.
        unsafe {
            blas::set_stream(handle, stream.cu_stream().cast()).map_err(CudaError::Cublas)?;
            blas_sys::cublasSetWorkspace_v2(handle, workspace as *mut c_void, WORKSPACE as usize)
                .result()
                .map_err(CudaError::Cublas)?;
        }
        Ok(Self { handle, lt: Lt::new()?, workspace, _memory: memory })
    }

    /// cuBLAS's version, such as `13.0.2`.
    pub fn version(&self) -> String {
        let mut version = 0;
        // SAFETY: the handle is open.
        let got = unsafe { blas_sys::cublasGetVersion_v2(self.handle, &mut version) }.result();
        match got {
            Ok(()) => format!("{}.{}.{}", version / 10_000, version / 100 % 100, version % 100),
            Err(_) => "unknown".into(),
        }
    }
}

impl Drop for Blas {
    fn drop(&mut self) {
        // SAFETY: the handle is not used again; a failure to close it needs no reaction.
        let _ = unsafe { blas::destroy_handle(self.handle) };
    }
}

/// A product with its operands on the device.
pub struct Kernel<'a> {
    blas: &'a Blas,
    stream: &'a Arc<CudaStream>,
    work: &'a Work,
    weights: Vec<Tensor<'a>>,
    inputs: Vec<Tensor<'a>>,
    outputs: Vec<Tensor<'a>>,
    scaled: Option<ScaledProduct<'a>>,
    /// One unit, captured; `None` if the work asks for plain launches.
    graph: Option<CudaGraph>,
}

impl<'a> Kernel<'a> {
    /// Allocates and fills the operands, runs one unit, and captures a graph if the work asks for it.
    pub fn new(
        stream: &'a Arc<CudaStream>,
        memory: &'a Memory,
        blas: &'a Blas,
        work: &'a Work,
    ) -> CudaResult<Self> {
        if work.operation == GpuOperation::Bmm && work.dtype == Dtype::Fp8 {
            return Err(CudaError::BatchedFp8);
        }
        let tensors = |count: u64, elements: u64, dtype, fill| -> CudaResult<Vec<Tensor<'a>>> {
            (0..count).map(|_| Tensor::new(memory, elements, dtype, fill)).collect()
        };
        let held = work.inputs_held();
        let is_fp8 = work.dtype == Dtype::Fp8;
        let scaled = is_fp8.then(|| blas.lt.plan(memory, work, WORKSPACE as usize)).transpose()?;
        let mut kernel = Self {
            weights: tensors(work.copies, work.weight(), work.dtype, work.weight_fill)?,
            inputs: tensors(held, work.input(), work.dtype, work.input_fill)?,
            outputs: tensors(held, work.output(), Dtype::Bfloat16, Fill::Zeros)?,
            blas,
            stream,
            work,
            scaled,
            graph: None,
        };
        // Loads and plans the kernel, so that neither is timed or captured.
        kernel.launch()?;
        stream.synchronize()?;
        if !kernel.computed()? {
            return Err(CudaError::Zeros);
        }
        if work.cuda_graph {
            kernel.graph = Some(kernel.capture()?);
        }
        Ok(kernel)
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

    /// Enqueues one timed unit, from the graph if there is one.
    pub fn run(&self) -> CudaResult<()> {
        match &self.graph {
            Some(graph) => Ok(graph.launch()?),
            None => self.launch(),
        }
    }

    /// Enqueues the calls of one unit: one call per copy of the weights.
    fn launch(&self) -> CudaResult<()> {
        for (index, weight) in self.weights.iter().enumerate() {
            let input = &self.inputs[index % self.inputs.len()];
            let output = &self.outputs[index % self.outputs.len()];
            let addresses = (weight.address(), input.address(), output.address());
            if let Some(plan) = &self.scaled {
                self.blas.lt.run(plan, addresses, self.blas.workspace, self.stream)?;
            } else if self.work.operation == GpuOperation::Gemm {
                self.gemm(addresses)?;
            } else {
                self.bmm(addresses)?;
            }
        }
        Ok(())
    }

    fn gemm(&self, (weight, input, output): (u64, u64, u64)) -> CudaResult<()> {
        use blas_sys::cublasOperation_t::{CUBLAS_OP_N as N, CUBLAS_OP_T as T};
        let size = |name| self.work.size(name) as c_int;
        let (m, n, k) = (size("m"), size("n"), size("k"));
        let (one, zero) = (1f32, 0f32);
        // SAFETY: the tensors hold n·k, m·k and m·n elements and live as long as this kernel.
        unsafe {
            blas::gemm_ex(
                self.blas.handle,
                T,
                N,
                n,
                m,
                k,
                (&raw const one).cast(),
                weight as *const c_void,
                BF16,
                k,
                input as *const c_void,
                BF16,
                k,
                (&raw const zero).cast(),
                output as *mut c_void,
                BF16,
                n,
                FLOAT,
                DEFAULT,
            )
        }
        .map_err(CudaError::Product)
    }

    /// Enqueues a batched product. x is [m, batch, k]; the recipe gives the strides of weights and
    /// output.
    fn bmm(&self, (weight, input, output): (u64, u64, u64)) -> CudaResult<()> {
        use blas_sys::cublasOperation_t::{CUBLAS_OP_N as N, CUBLAS_OP_T as T};
        let size = |name| self.work.size(name) as c_int;
        let far = |name| self.work.size(name) as c_longlong;
        let (one, zero) = (1f32, 0f32);
        // SAFETY: the tensors live as long as this kernel; their sizes follow from the strides, which
        // stay within them.
        unsafe {
            blas::gemm_strided_batched_ex(
                self.blas.handle,
                if self.work.size("weight_transposed") == 1 { T } else { N },
                N,
                size("n"),
                size("m"),
                size("k"),
                (&raw const one).cast(),
                weight as *const c_void,
                BF16,
                size("weight_row"),
                far("weight_batch"),
                input as *const c_void,
                BF16,
                size("batch") * size("k"),
                far("k"),
                (&raw const zero).cast(),
                output as *mut c_void,
                BF16,
                size("out_row"),
                far("out_batch"),
                size("batch"),
                FLOAT,
                DEFAULT,
            )
        }
        .map_err(CudaError::Product)
    }

    /// Returns true if the output contains a nonzero value, or zeros were expected.
    fn computed(&self) -> CudaResult<bool> {
        if self.work.weight_fill == Fill::Zeros || self.work.input_fill == Fill::Zeros {
            return Ok(true);
        }
        let bytes = (2 * self.work.size("n")).min(4096) as usize;
        Ok(self.outputs[0].head(bytes)?.iter().any(|b| *b != 0))
    }
}

const BF16: blas_sys::cudaDataType = blas_sys::cudaDataType_t::CUDA_R_16BF;
const FLOAT: blas_sys::cublasComputeType_t = blas_sys::cublasComputeType_t::CUBLAS_COMPUTE_32F;
const DEFAULT: blas_sys::cublasGemmAlgo_t =
    blas_sys::cublasGemmAlgo_t::CUBLAS_GEMM_DEFAULT_TENSOR_OP;
