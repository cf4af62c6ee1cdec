//! Open handles of cuBLAS and cuBLASLt.

use std::ffi::c_void;
use std::sync::Arc;

use cudarc::cublas::{result, sys};
use cudarc::driver::CudaStream;

use super::error::{CudaError, CudaResult};
use super::fp8::Lt;
use super::tensor::{Memory, Tensor};
use crate::gpu::work::{Dtype, Fill};

/// Size of cuBLAS's workspace in bytes, as PyTorch sets it for Hopper.
pub(crate) const WORKSPACE: u64 = 32 << 20;

/// Open handles of cuBLAS and cuBLASLt.
pub(crate) struct Blas {
    /// The handle of cuBLAS.
    pub handle: sys::cublasHandle_t,
    /// The handle of cuBLASLt.
    pub lt: Lt,
    /// Device address of the workspace of [`WORKSPACE`] bytes.
    pub workspace: u64,
    // The workspace's memory, freed when the handle is closed.
    _memory: Memory,
}

impl Blas {
    /// Opens cuBLAS and cuBLASLt on a stream.
    pub(crate) fn new(stream: &Arc<CudaStream>) -> CudaResult<Self> {
        let memory = Memory::new(stream);
        let workspace = Tensor::new(&memory, WORKSPACE, Dtype::Fp8, Fill::Zeros)?.address();
        let handle = result::create_handle().map_err(CudaError::Cublas)?;
        // SAFETY: the handle is new, and the stream and the workspace live as long as the handle.
        unsafe {
            result::set_stream(handle, stream.cu_stream().cast()).map_err(CudaError::Cublas)?;
            sys::cublasSetWorkspace_v2(handle, workspace as *mut c_void, WORKSPACE as usize)
                .result()
                .map_err(CudaError::Cublas)?;
        }
        Ok(Self { handle, lt: Lt::new()?, workspace, _memory: memory })
    }

    /// cuBLAS's version, such as `13.0.2`.
    pub(crate) fn version(&self) -> String {
        let mut version = 0;
        // SAFETY: the handle is open.
        let got = unsafe { sys::cublasGetVersion_v2(self.handle, &mut version) }.result();
        match got {
            Ok(()) => format!("{}.{}.{}", version / 10_000, version / 100 % 100, version % 100),
            Err(_) => "unknown".into(),
        }
    }
}

impl Drop for Blas {
    fn drop(&mut self) {
        // SAFETY: the handle is not used again; a failure to close it needs no reaction.
        let _ = unsafe { result::destroy_handle(self.handle) };
    }
}
