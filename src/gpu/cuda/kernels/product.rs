//! The matrix products on one GPU, through cuBLAS or cuBLASLt, with the same calls that PyTorch makes.
//!
//! cuBLAS is column-major: a row-major `y[m,n] = x[m,k] W[n,k]ᵀ` is the column-major `yᵀ = W xᵀ` of n
//! by m.

use std::ffi::{c_int, c_longlong, c_void};

use cudarc::cublas::{result, sys};

use crate::gpu::cuda::blas::{Blas, WORKSPACE};
use crate::gpu::cuda::error::{CudaError, CudaResult};
use crate::gpu::cuda::tensor::{Memory, Operands};
use crate::gpu::work::{Dtype, Work};

/// cuBLAS's constant for the element type bfloat16.
const BF16: sys::cudaDataType = sys::cudaDataType_t::CUDA_R_16BF;
const FLOAT: sys::cublasComputeType_t = sys::cublasComputeType_t::CUBLAS_COMPUTE_32F;
const DEFAULT: sys::cublasGemmAlgo_t = sys::cublasGemmAlgo_t::CUBLAS_GEMM_DEFAULT_TENSOR_OP;

/// The names of the sizes of a batched matrix product. `m`, `n`, `k` and `batch` are its dimensions. Names with `_row`
/// or `_batch` are strides in elements.
const BATCHED: [&str; 9] = [
    "batch",
    "m",
    "n",
    "k",
    "weight_transposed",
    "weight_row",
    "weight_batch",
    "out_row",
    "out_batch",
];

/// A kernel on one GPU: a matrix product so far.
#[derive(Clone, Copy)]
pub(crate) enum Product {
    /// The matrix product `y[m,n] = x[m,k] W[n,k]ᵀ`: bfloat16 through cuBLAS, fp8 through cuBLASLt.
    Gemm,
    /// The batched matrix product with strides, one product per head.
    Bmm,
}

/// A function that enqueues one call of a product.
pub(crate) type Launch<'a> = Box<dyn Fn(Operands) -> CudaResult<()> + 'a>;

impl Product {
    /// Returns the names of the sizes that a recipe must give for the product, such as `m`, `n` and `k`.
    pub(crate) fn sizes(self) -> &'static [&'static str] {
        match self {
            Self::Gemm => &["m", "n", "k"],
            Self::Bmm => &BATCHED,
        }
    }

    /// Returns the element types of inputs and weights that the product supports.
    pub(crate) fn dtypes(self) -> &'static [Dtype] {
        match self {
            Self::Gemm => &[Dtype::Bfloat16, Dtype::Fp8],
            Self::Bmm => &[Dtype::Bfloat16],
        }
    }

    /// Returns the number of elements of the input of one call.
    pub(crate) fn input(self, work: &Work) -> u64 {
        match self {
            Self::Gemm | Self::Bmm => work.product(&["batch", "m", "k"]),
        }
    }

    /// Returns the number of elements of the weights of one call.
    pub(crate) fn weight(self, work: &Work) -> u64 {
        match self {
            Self::Gemm | Self::Bmm => work.product(&["batch", "n", "k"]),
        }
    }

    /// Returns the number of elements that one output takes in memory, including the gaps between the rows of a strided
    /// output.
    pub(crate) fn output(self, work: &Work) -> u64 {
        let far = |count: &str, step: &str| {
            work.size(count).saturating_sub(1).saturating_mul(work.size(step))
        };
        match self {
            Self::Gemm => work.product(&["m", "n"]),
            Self::Bmm => far("batch", "out_batch")
                .saturating_add(far("m", "out_row"))
                .saturating_add(work.size("n")),
        }
    }

    /// Prepares the product, and returns the function that enqueues it.
    pub(crate) fn launch<'a>(
        self,
        blas: &'a Blas,
        memory: &'a Memory,
        work: &'a Work,
    ) -> CudaResult<Launch<'a>> {
        Ok(match self {
            Self::Gemm if work.dtype == Dtype::Fp8 => {
                let plan = blas.lt.plan(memory, work, WORKSPACE as usize)?;
                Box::new(move |at| blas.lt.run(&plan, at, blas.workspace, memory.stream()))
            }
            Self::Gemm => Box::new(move |at| bfloat16(blas, work, at)),
            Self::Bmm => Box::new(move |at| strided(blas, work, at)),
        })
    }
}

fn bfloat16(blas: &Blas, work: &Work, at: Operands) -> CudaResult<()> {
    use sys::cublasOperation_t::{CUBLAS_OP_N as N, CUBLAS_OP_T as T};
    let size = |name| work.size(name) as c_int;
    let (m, n, k) = (size("m"), size("n"), size("k"));
    let (one, zero) = (1f32, 0f32);
    // SAFETY: the tensors hold n·k, m·k and m·n elements and outlive the call.
    unsafe {
        result::gemm_ex(
            blas.handle,
            T,
            N,
            n,
            m,
            k,
            (&raw const one).cast(),
            at.weight as *const c_void,
            BF16,
            k,
            at.input as *const c_void,
            BF16,
            k,
            (&raw const zero).cast(),
            at.output as *mut c_void,
            BF16,
            n,
            FLOAT,
            DEFAULT,
        )
    }
    .map_err(CudaError::Product)
}

fn strided(blas: &Blas, work: &Work, at: Operands) -> CudaResult<()> {
    use sys::cublasOperation_t::{CUBLAS_OP_N as N, CUBLAS_OP_T as T};
    let size = |name| work.size(name) as c_int;
    let far = |name| work.size(name) as c_longlong;
    let (one, zero) = (1f32, 0f32);
    // SAFETY: the tensors outlive the call; their sizes follow from the strides, which
    // stay within them.
    unsafe {
        result::gemm_strided_batched_ex(
            blas.handle,
            if work.size("weight_transposed") == 1 { T } else { N },
            N,
            size("n"),
            size("m"),
            size("k"),
            (&raw const one).cast(),
            at.weight as *const c_void,
            BF16,
            size("weight_row"),
            far("weight_batch"),
            at.input as *const c_void,
            BF16,
            size("batch") * size("k"),
            far("k"),
            (&raw const zero).cast(),
            at.output as *mut c_void,
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
