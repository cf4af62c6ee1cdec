//! The fp8 product through cuBLASLt: e4m3 operands with one scale per tensor, bfloat16 output.

use std::ffi::c_void;
use std::mem::size_of_val;
use std::sync::Arc;

use cudarc::cublaslt::{result, sys};
use cudarc::driver::CudaStream;

use super::error::CudaResult;
use super::tensor::{Memory, Operands, Tensor};
use crate::gpu::work::Work;

/// The handle of cuBLASLt.
pub(crate) struct Lt(sys::cublasLtHandle_t);

/// An fp8 matrix product, with the algorithm that cuBLASLt chose for it.
pub(crate) struct ScaledProduct<'a> {
    descriptor: sys::cublasLtMatmulDesc_t,
    layouts: [sys::cublasLtMatrixLayout_t; 3],
    chosen: sys::cublasLtMatmulHeuristicResult_t,
    scale: Tensor<'a>,
}

impl Lt {
    /// Opens cuBLASLt.
    pub(crate) fn new() -> CudaResult<Self> {
        Ok(Self(result::create_handle()?))
    }

    /// Asks cuBLASLt for an algorithm for an fp8 product. Fails for sizes that no kernel supports.
    pub(crate) fn plan<'a>(
        &self,
        memory: &'a Memory,
        work: &Work,
        workspace: usize,
    ) -> CudaResult<ScaledProduct<'a>> {
        let (m, n, k) = (work.size("m"), work.size("n"), work.size("k"));
        let (wide, narrow) =
            (sys::cudaDataType_t::CUDA_R_16BF, sys::cudaDataType_t::CUDA_R_8F_E4M3);
        let scale = Tensor::holding(memory, &1f32.to_le_bytes())?;
        let compute = sys::cublasComputeType_t::CUBLAS_COMPUTE_32F;
        let descriptor = result::create_matmul_desc(compute, sys::cudaDataType_t::CUDA_R_32F)?;
        let layout =
            |of, rows, columns| result::create_matrix_layout(of, rows, columns, rows as i64);
        let layouts = [layout(narrow, k, n)?, layout(narrow, k, m)?, layout(wide, n, m)?];
        let transposed = 1i32;
        let address = scale.address();
        let preference = result::create_matmul_pref()?;
        // SAFETY: each attribute has the type and size that the library documents for it.
        let chosen = unsafe {
            use sys::cublasLtMatmulDescAttributes_t as Attribute;
            use sys::cublasLtMatmulPreferenceAttributes_t as Preference;
            let transposed = ((&raw const transposed).cast(), size_of_val(&transposed));
            let scale = ((&raw const address).cast(), size_of_val(&address));
            for (attribute, (value, size)) in [
                (Attribute::CUBLASLT_MATMUL_DESC_TRANSA, transposed),
                (Attribute::CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, scale),
                (Attribute::CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, scale),
            ] {
                result::set_matmul_desc_attribute(descriptor, attribute, value, size)?;
            }
            result::set_matmul_pref_attribute(
                preference,
                Preference::CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                (&raw const workspace).cast(),
                size_of_val(&workspace),
            )?;
            let [a, b, d] = layouts;
            let chosen =
                result::get_matmul_algo_heuristic(self.0, descriptor, a, b, d, d, preference);
            let _ = result::destroy_matmul_pref(preference);
            chosen?
        };
        Ok(ScaledProduct { descriptor, layouts, chosen, scale })
    }

    /// Enqueues the fp8 product on the stream.
    pub(crate) fn run(
        &self,
        plan: &ScaledProduct<'_>,
        at: Operands,
        workspace: u64,
        stream: &Arc<CudaStream>,
    ) -> CudaResult<()> {
        let (one, zero) = (1f32, 0f32);
        let [a, b, d] = plan.layouts;
        debug_assert!(plan.scale.address() != 0);
        // SAFETY: the addresses are those of tensors as large as the layouts state, and the parts of the plan are
        // alive.
        unsafe {
            result::matmul(
                self.0,
                plan.descriptor,
                (&raw const one).cast(),
                (&raw const zero).cast(),
                at.weight as *const c_void,
                a,
                at.input as *const c_void,
                b,
                at.output as *const c_void,
                d,
                at.output as *mut c_void,
                d,
                &raw const plan.chosen.algo,
                workspace as *mut c_void,
                plan.chosen.workspaceSize,
                stream.cu_stream().cast(),
            )?;
        }
        Ok(())
    }
}

impl Drop for Lt {
    fn drop(&mut self) {
        // SAFETY: the handle is not used again.
        let _ = unsafe { result::destroy_handle(self.0) };
    }
}

impl Drop for ScaledProduct<'_> {
    fn drop(&mut self) {
        // SAFETY: the plan created each of them, and they are not used again.
        unsafe {
            for layout in self.layouts {
                let _ = result::destroy_matrix_layout(layout);
            }
            let _ = result::destroy_matmul_desc(self.descriptor);
        }
    }
}
