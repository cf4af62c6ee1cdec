//! Errors of CUDA, cuBLAS, NCCL and NVML.

use std::fmt::Debug;
use std::panic::catch_unwind;

use cudarc::cublas::result::CublasError;
use cudarc::cublaslt::result::CublasError as CublasLtError;
use cudarc::driver::DriverError;
use cudarc::nccl::result::NcclError;
use nvml_wrapper::error::NvmlError;

/// A result with a [`CudaError`].
pub(crate) type CudaResult<T> = Result<T, CudaError>;

/// A failed library call, or a result that cannot be used. Each error is one line in the log and in the report.
///
/// Library errors are shown by the names of their constants (`CUBLAS_STATUS_…`), which their manuals explain.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CudaError {
    /// A call of the CUDA driver failed.
    #[error("{}", in_words(.0))]
    Driver(#[from] DriverError),
    /// cuBLAS cannot be opened.
    #[error("{}", constant(.0.0))]
    Cublas(#[source] CublasError),
    /// cuBLAS rejects a matrix product.
    #[error("cuBLAS refuses this product: {}", constant(.0.0))]
    Product(#[source] CublasError),
    /// cuBLASLt rejects a matrix product in fp8.
    #[error("cuBLASLt does not support this fp8 product: {}", constant(.0.0))]
    ScaledProduct(#[from] CublasLtError),
    /// NCCL rejects a collective operation. NCCL's error type does not implement `Error`, so it is not a source.
    #[error("NCCL: {}", constant(.0.0))]
    Nccl(NcclError),
    /// NVML cannot be opened.
    #[error("NVML does not start: {0}")]
    Nvml(#[source] NvmlError),
    /// NVML does not find the GPU.
    #[error("NVML does not find the GPU at {bus}: {source}")]
    Card {
        /// The GPU's PCI address.
        bus: String,
        source: NvmlError,
    },
    /// Memory for the operands could not be allocated.
    #[error("the operands do not fit in GPU memory")]
    OutOfMemory,
    /// The kernel ran, but its output is all zeros.
    #[error("the output is zero everywhere")]
    Zeros,
    /// The capture of a launch returned no graph.
    #[error("the captured graph is empty")]
    EmptyGraph,
    /// The rank (the thread of one GPU) stopped because another rank failed.
    #[error("NCCL failed on another GPU")]
    OtherRank,
    /// No installed NCCL has the functions that collectives need.
    #[error("no NCCL library was found")]
    NoNccl,
    /// The installed CUDA lacks a required function, because it is too old.
    #[error("CUDA lacks a function that this measurement needs")]
    OldCuda,
    /// The thread of a rank panicked.
    #[error("a thread of the measurement ended early")]
    ThreadEnded,
}

impl From<NcclError> for CudaError {
    fn from(error: NcclError) -> Self {
        Self::Nccl(error)
    }
}

/// Returns the name of the constant of a status code, such as `CUBLAS_STATUS_NOT_SUPPORTED`. The name comes from
/// `Debug`, because the library itself may be missing.
fn constant(status: impl Debug) -> String {
    format!("{status:?}")
}

/// Returns the driver's description of an error. If the driver cannot describe errors, returns the name of the error's
/// constant.
fn in_words(error: &DriverError) -> String {
    let words = catch_unwind(|| error.error_string().map(|s| s.to_string_lossy().into_owned()));
    match words {
        Ok(Ok(words)) => words,
        _ => constant(error.0),
    }
}
