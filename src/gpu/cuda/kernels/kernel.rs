//! The interface of a kernel.

use cudarc::cublas::sys as blas;

use super::collective::Collective;
use crate::gpu::cuda::blas::Blas;
use crate::gpu::cuda::error::CudaResult;
use crate::gpu::cuda::tensor::{Memory, Operands};
use crate::gpu::work::{Dtype, Work};

/// The kernel of an operation.
#[derive(Clone, Copy)]
pub enum Kernel {
    /// A product on one GPU.
    Product(&'static dyn Product),
    /// A collective operation between GPUs.
    Collective(Collective),
}

impl Kernel {
    /// Names of the sizes that the operation needs.
    pub fn sizes(self) -> &'static [&'static str] {
        match self {
            Self::Product(product) => product.sizes(),
            Self::Collective(_) => &["count", "gpus"],
        }
    }

    /// Element types of inputs and weights that the operation supports.
    pub fn dtypes(self) -> &'static [Dtype] {
        match self {
            Self::Product(product) => product.dtypes(),
            Self::Collective(_) => &[Dtype::Half, Dtype::Int8],
        }
    }

    /// Bytes of memory that a measurement needs on each GPU.
    pub fn bytes(self, work: &Work) -> u64 {
        match self {
            Self::Product(product) => {
                let held = work.inputs_held();
                let read = held.saturating_mul(work.input());
                let read = read.saturating_add(work.copies.saturating_mul(work.weight()));
                let written = held.saturating_mul(product.output(work));
                read.saturating_mul(work.dtype.bytes()).saturating_add(written.saturating_mul(2))
            }
            Self::Collective(_) => work.size("count").saturating_mul(2 * work.dtype.bytes()),
        }
    }
}

/// Enqueues one call of a product.
pub type Launch<'a> = Box<dyn Fn(Operands) -> CudaResult<()> + 'a>;

/// A product on one GPU, through cuBLAS or cuBLASLt with the calls that PyTorch makes.
///
/// cuBLAS is column-major: a row-major `y[m,n] = x[m,k] W[n,k]ᵀ` is the column-major `yᵀ = W xᵀ` of n
/// by m.
pub trait Product: Sync {
    /// Names of the sizes that the product needs.
    fn sizes(&self) -> &'static [&'static str];

    /// Element types of inputs and weights that the product supports.
    fn dtypes(&self) -> &'static [Dtype];

    /// Number of elements of one output, including the gaps of a strided output. Each element has 2
    /// bytes.
    fn output(&self, work: &Work) -> u64;

    /// Plans the product.
    fn launch<'a>(
        &self,
        blas: &'a Blas,
        memory: &'a Memory,
        work: &'a Work,
    ) -> CudaResult<Launch<'a>>;
}

/// cuBLAS's names for what products use.
pub(super) const BF16: blas::cudaDataType = blas::cudaDataType_t::CUDA_R_16BF;
pub(super) const FLOAT: blas::cublasComputeType_t = blas::cublasComputeType_t::CUBLAS_COMPUTE_32F;
pub(super) const DEFAULT: blas::cublasGemmAlgo_t =
    blas::cublasGemmAlgo_t::CUBLAS_GEMM_DEFAULT_TENSOR_OP;
