//! The GPU of this machine, through the CUDA driver and cuBLAS. Both are loaded at run time, so that the same binary
//! starts on machines without them.

mod blas;
mod error;
mod fabric;
mod fp8;
pub(crate) mod kernels;
mod nccl;
mod nvml;
mod product;
mod tensor;
mod timing;

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use cudarc::driver::sys::CUdevice_attribute as Attribute;
use cudarc::driver::{CudaContext, CudaStream, DriverError, result};

use super::device::{About, Answer, CardState, Device, MeasureError, Point, SAMPLES};
use super::work::{Dtype, Fill, Work};
use crate::base::error::{Error, Reason, Result};
use crate::base::panics::quiet_panics;
use blas::Blas;
use error::CudaError;
use fabric::Fabric;
use kernels::Kernel;
use nccl::Nccl;
use nvml::CardMeter;
use tensor::{Memory, Tensor};

/// Bytes of GPU memory that are reserved for cuBLAS's workspace and for CUDA itself.
const RESERVE: usize = 4 << 30;

/// The maximum memory in bytes for copies of the operands of one measured product. A product with large operands has a
/// single copy.
const OPERAND_COPIES_BYTES: u64 = 4 << 30;

/// The number of operations that [`use_default_stream`] launches on CUDA's default stream.
const DEFAULT_STREAM_LAUNCHES: usize = 64;

/// The first GPU of this machine.
pub struct Cuda {
    stream: Arc<CudaStream>,
    blas: Blas,
    meter: Option<CardMeter>,
    about: About,
    /// Groups of GPUs joined by NCCL, by their number of GPUs. A group is opened once and reused for later points.
    fabrics: BTreeMap<usize, Fabric>,
}

/// Launches work on CUDA's default stream, as PyTorch does. Each later short kernel takes about 0.15 µs longer because
/// of this (measured on an H200), as in the collectors, which use PyTorch.
fn use_default_stream(stream: &Arc<CudaStream>) -> Result<(), CudaError> {
    let memory = Memory::new(stream);
    let bytes = 1 << 20;
    let tensor = Tensor::new(&memory, bytes, Dtype::Fp8, Fill::Zeros)?;
    for _ in 0..DEFAULT_STREAM_LAUNCHES {
        // SAFETY: the tensor has `bytes` bytes.
        unsafe {
            result::memset_d8_sync(tensor.address(), 0, bytes as usize).and_then(|()| {
                result::memset_d8_async(tensor.address(), 0, bytes as usize, stream.cu_stream())
            })?;
        }
    }
    // Waits for both streams, because the memory is freed next.
    Ok(stream.context().synchronize()?)
}

fn no_gpu(error: DriverError) -> Error {
    let hint = "nvidia-smi shows what the driver sees";
    Error::caused("no GPU to measure on", hint, CudaError::from(error))
}

impl Cuda {
    /// Opens the first GPU.
    ///
    /// # Errors
    ///
    /// If there is no GPU or a library is missing. The message names the missing part in one line.
    pub fn open() -> Result<Self> {
        // SAFETY: these calls only try to open the libraries.
        let found = unsafe {
            [
                ("CUDA's driver (libcuda)", cudarc::driver::sys::is_culib_present()),
                ("cuBLAS (libcublas)", cudarc::cublas::sys::is_culib_present()),
                ("cuBLASLt (libcublasLt)", cudarc::cublaslt::sys::is_culib_present()),
            ]
        };
        let missing: Vec<&str> =
            found.iter().filter(|(_, ok)| !ok).map(|(name, _)| *name).collect();
        if !missing.is_empty() {
            return Err(Error::new(
                format!("no GPU to measure on: {} not found", missing.join(", ")),
                "run on a machine with an NVIDIA GPU and CUDA 13 on the library path, or use --device process",
            ));
        }
        // A driver that is too old for a used function panics when the symbol is loaded.
        quiet_panics(|| catch_unwind(AssertUnwindSafe(Self::connect))).unwrap_or_else(|_| {
            Err(Error::new(
                "the CUDA libraries found are too old or do not fit together",
                "install CUDA 13 with its cuBLAS, or use --device process",
            ))
        })
    }

    fn connect() -> Result<Self> {
        let context = CudaContext::new(0).map_err(no_gpu)?;
        // cudarc's events would add waits for other streams to the captured graph.
        // SAFETY: no slice of cudarc is used, and the default stream's work is waited for.
        unsafe { context.disable_event_tracking() };
        let stream = context.new_stream().map_err(no_gpu)?;
        let attribute = |a| context.attribute(a).map_err(no_gpu);
        let bus = format!(
            "{:08X}:{:02X}:{:02X}.0",
            attribute(Attribute::CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID)?,
            attribute(Attribute::CU_DEVICE_ATTRIBUTE_PCI_BUS_ID)?,
            attribute(Attribute::CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID)?,
        );
        let mut about = About { name: context.name().map_err(no_gpu)?, ..About::default() };
        let meter = CardMeter::open(&bus);
        match &meter {
            Ok(meter) => meter.describe(&mut about),
            Err(why) => {
                about.settings.insert("nvml".into(), why.to_string());
            }
        }
        let blas = Blas::new(&stream).map_err(|why| {
            Error::caused("cuBLAS does not start", "or use --device process", why)
        })?;
        about.versions.insert("cuBLAS".into(), blas.version());
        use_default_stream(&stream).map_err(|why| {
            Error::caused("the GPU does not start", "nvidia-smi shows its state", why)
        })?;
        let (free, _) = context.mem_get_info().map_err(no_gpu)?;
        about.memory_bytes = Some(free.saturating_sub(RESERVE) as u64);
        let nccl = Nccl::get().and_then(Nccl::version);
        let gpus = CudaContext::device_count().map_err(no_gpu)?;
        about.gpus = Some(gpus as u64);
        about.versions.extend(nccl.map(|version| ("NCCL".into(), version)));
        about.settings.insert("GPUs".into(), gpus.to_string());
        // The NCCL variables of the environment decide which algorithm NCCL runs.
        about.settings.extend(std::env::vars().filter(|(name, _)| name.starts_with("NCCL_")));
        Ok(Self { stream, blas, meter: meter.ok(), about, fabrics: BTreeMap::new() })
    }

    fn has_nccl(&self) -> bool {
        self.about.versions.contains_key("NCCL")
    }

    fn measure_work(&mut self, work: &Work, power: bool) -> Result<Answer, CudaError> {
        match work.operation.kernel() {
            Kernel::Product(product) => {
                let fit = (OPERAND_COPIES_BYTES / work.bytes().max(1)).min(SAMPLES.into());
                // With two copies of the operands, the first copy would get most of the samples.
                let count = if fit < 3 { 1 } else { fit };
                let places: Vec<Memory> = (0..count).map(|_| Memory::new(&self.stream)).collect();
                let (stream, meter) = (&self.stream, self.meter.as_ref());
                timing::measure(stream, &places, &self.blas, (product, work), meter, power)
            }
            Kernel::Collective(collective) => {
                let gpus = work.size("gpus") as usize;
                if self.fabrics.get(&gpus).is_none_or(|f| !f.is_whole()) {
                    self.fabrics.insert(gpus, Fabric::open(gpus)?);
                }
                self.fabrics[&gpus].measure(collective, work)
            }
        }
    }
}

impl Device for Cuda {
    fn about(&self) -> &About {
        &self.about
    }

    fn supports(&self, work: Option<&Work>) -> bool {
        work.is_some_and(|work| match work.operation.kernel() {
            Kernel::Product(_) => true,
            Kernel::Collective(_) => self.has_nccl() && Some(work.size("gpus")) <= self.about.gpus,
        })
    }

    fn measure(&mut self, point: &Point) -> Result<Answer, MeasureError> {
        let Some(work) = &point.work else {
            return Err(Reason::from("no recipe describes how to measure it").into());
        };
        let run = || self.measure_work(work, point.power);
        let answer = quiet_panics(|| catch_unwind(AssertUnwindSafe(run)));
        let answer = answer.unwrap_or(Err(CudaError::OldCuda));
        // A failed kernel leaves the context unusable, so that later points would fail too.
        self.stream.synchronize().map_err(|e| {
            let message = format!("the GPU failed at row {} of {}", point.row, point.path);
            Error::caused(message, "nvidia-smi -q shows the state of the GPU", CudaError::from(e))
        })?;
        let answer = answer.map_err(|why| Reason::from(why.to_string()))?;
        Ok(Answer { proxy: work.proxy.clone(), ..answer })
    }

    fn notes(&self) -> Vec<String> {
        let why = "collectives are not measured, because neither the library path nor a Python on PATH has libnccl.so.2";
        let is_missing = self.about.gpus > Some(1) && !self.has_nccl();
        is_missing.then(|| why.to_owned()).into_iter().collect()
    }

    fn state(&mut self) -> Option<CardState> {
        self.meter.as_ref().map(CardMeter::state)
    }
}
