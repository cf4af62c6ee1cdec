//! The matrix product `y[m,n] = x[m,k] W[n,k]ᵀ`: bfloat16 through cuBLAS, fp8 through cuBLASLt.

use std::ffi::{c_int, c_void};

use cudarc::cublas::{result, sys};

use super::kernel::{BF16, DEFAULT, FLOAT, Launch, Product};
use crate::gpu::cuda::blas::{Blas, WORKSPACE};
use crate::gpu::cuda::error::{CudaError, CudaResult};
use crate::gpu::cuda::tensor::{Memory, Operands};
use crate::gpu::work::{Dtype, Work};

/// The matrix product.
pub struct Gemm;

impl Product for Gemm {
    fn sizes(&self) -> &'static [&'static str] {
        &["m", "n", "k"]
    }

    fn dtypes(&self) -> &'static [Dtype] {
        &[Dtype::Bfloat16, Dtype::Fp8]
    }

    fn output(&self, work: &Work) -> u64 {
        work.product(&["m", "n"])
    }

    fn launch<'a>(
        &self,
        blas: &'a Blas,
        memory: &'a Memory,
        work: &'a Work,
    ) -> CudaResult<Launch<'a>> {
        if work.dtype != Dtype::Fp8 {
            return Ok(Box::new(move |at| bfloat16(blas, work, at)));
        }
        let plan = blas.lt.plan(memory, work, WORKSPACE as usize)?;
        Ok(Box::new(move |at| blas.lt.run(&plan, at, blas.workspace, memory.stream())))
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
