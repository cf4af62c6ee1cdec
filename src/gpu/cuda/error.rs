//! What can go wrong between this program and CUDA, cuBLAS, NCCL or NVML.

use std::fmt::Debug;
use std::panic::catch_unwind;

use cudarc::cublas::result::CublasError;
use cudarc::cublaslt::result::CublasError as CublasLtError;
use cudarc::driver::DriverError;
use cudarc::nccl::result::NcclError;
use nvml_wrapper::error::NvmlError;

/// A result of this room.
pub type Result<T, E = CudaError> = std::result::Result<T, E>;

/// Why a call failed or what it gave cannot be used. Each is one line, for the log and the report.
///
/// The libraries' statuses are shown by the names of their constants (`CUBLAS_STATUS_…`), which is how
/// their manuals list them.
#[derive(Debug, thiserror::Error)]
pub enum CudaError {
    /// A call of the driver.
    #[error("{}", in_words(.0))]
    Driver(#[from] DriverError),
    /// cuBLAS, when it is opened.
    #[error("{}", constant(.0.0))]
    Cublas(#[source] CublasError),
    /// cuBLAS, on a product.
    #[error("cuBLAS refuses this product: {}", constant(.0.0))]
    Product(#[source] CublasError),
    /// cuBLASLt, on a product in fp8.
    #[error("cuBLASLt does not support this fp8 product: {}", constant(.0.0))]
    ScaledProduct(#[from] CublasLtError),
    /// NCCL, on a collective operation. Its error type does not implement `Error`, so it is not a source.
    #[error("NCCL: {}", constant(.0.0))]
    Nccl(NcclError),
    /// NVML, when it is opened.
    #[error("NVML does not start: {0}")]
    Nvml(#[source] NvmlError),
    /// NVML, asked for a card.
    #[error("NVML does not find the GPU at {bus}: {source}")]
    Card {
        /// The card's PCI address.
        bus: String,
        source: NvmlError,
    },
    /// No library used here multiplies batches in fp8.
    #[error("the built-in kernels do not include batched products in fp8")]
    BatchedFp8,
    /// No memory was given for the operands.
    #[error("the operands do not fit in GPU memory")]
    NoPlace,
    /// The kernel ran and computed nothing.
    #[error("the product is zero everywhere")]
    Zeros,
    /// Capturing a launch gave no graph.
    #[error("the captured graph is empty")]
    EmptyGraph,
    /// A rank stopped since another has failed.
    #[error("NCCL failed on another GPU")]
    OtherGpu,
    /// The library found is older than the function.
    #[error("NCCL lacks a function that this measurement needs")]
    OldNccl,
    /// The library found is older than the function.
    #[error("CUDA lacks a function that this measurement needs")]
    OldCuda,
    /// A rank's thread panicked.
    #[error("a thread of the measurement ended early")]
    ThreadEnded,
}

impl From<NcclError> for CudaError {
    fn from(error: NcclError) -> Self {
        Self::Nccl(error)
    }
}

/// A status by the name of its constant. cudarc's statuses have no `Display`; their derived `Debug` is
/// that name, and asking a library for it needs a library that may be the one that is missing.
fn constant(status: impl Debug) -> String {
    format!("{status:?}")
}

/// Why the driver failed, in its own words, or else by the name of its constant: asking for the words
/// calls the driver, which may lack the function.
fn in_words(error: &DriverError) -> String {
    let words = catch_unwind(|| error.error_string().map(|s| s.to_string_lossy().into_owned()));
    match words {
        Ok(Ok(words)) => words,
        _ => constant(error.0),
    }
}
