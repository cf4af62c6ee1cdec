//! The batched matrix product with strides, one product per head. x is [m, batch, k]; the recipe gives
//! the strides of weights and output.

use std::ffi::{c_int, c_longlong, c_void};

use cudarc::cublas::{result, sys};

use super::kernel::{BF16, DEFAULT, FLOAT, Launch, Product};
use crate::gpu::cuda::blas::Blas;
use crate::gpu::cuda::error::{CudaError, CudaResult};
use crate::gpu::cuda::tensor::{Memory, Operands};
use crate::gpu::work::{Dtype, Work};

/// The batched matrix product.
pub struct Bmm;

impl Product for Bmm {
    fn sizes(&self) -> &'static [&'static str] {
        &[
            "batch",
            "m",
            "n",
            "k",
            "weight_transposed",
            "weight_row",
            "weight_batch",
            "out_row",
            "out_batch",
        ]
    }

    fn dtypes(&self) -> &'static [Dtype] {
        &[Dtype::Bfloat16]
    }

    fn output(&self, work: &Work) -> u64 {
        let far = |count: &str, step: &str| {
            work.size(count).saturating_sub(1).saturating_mul(work.size(step))
        };
        far("batch", "out_batch").saturating_add(far("m", "out_row")).saturating_add(work.size("n"))
    }

    fn launch<'a>(&self, blas: &'a Blas, _: &'a Memory, work: &'a Work) -> CudaResult<Launch<'a>> {
        Ok(Box::new(move |at| strided(blas, work, at)))
    }
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
