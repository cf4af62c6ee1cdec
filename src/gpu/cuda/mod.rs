//! The GPU of this machine, through CUDA's driver and cuBLAS, both loaded at run time: the same binary
//! starts where there is neither.

mod fabric;
mod fp8;
mod kernel;
mod nvml;
mod tensor;
mod timing;

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use cudarc::driver::sys::CUdevice_attribute as Attribute;
use cudarc::driver::{CudaContext, CudaStream, DriverError, result};

use super::device::{About, Answer, Device, Fault, Point, SAMPLES, State, Work};
use crate::base::error::{Error, Result};
use crate::gpu::recipe::{Dtype, Fill};
use fabric::Fabric;
use kernel::Blas;
use nvml::Meter;
use tensor::{Memory, Tensor};

/// Bytes that stay free, for cuBLAS's workspace and CUDA's own needs.
const RESERVE: usize = 4 << 30;

/// Bytes that a point's operands fill with all their places; the largest have one.
const PLACES: u64 = 4 << 30;

/// Launches on the default stream, between launches on another; fewer than twenty had been enough.
const CROWD: usize = 64;

/// A GPU.
pub struct Cuda {
    stream: Arc<CudaStream>,
    blas: Blas,
    meter: Option<Meter>,
    about: About,
    /// GPUs of this host that NCCL can join.
    gpus: usize,
    /// Those that it has joined, by their number, kept from point to point.
    fabrics: BTreeMap<usize, Fabric>,
}

/// Why CUDA failed, in its own words.
pub(super) fn told(error: &DriverError) -> String {
    catch_unwind(|| error.error_string().map(|s| s.to_string_lossy().into_owned()))
        .ok()
        .and_then(std::result::Result::ok)
        .unwrap_or_else(|| format!("{error:?}"))
}

/// Uses the default stream beside this one. From then on a short kernel takes 0.15 µs more (H200,
/// driver 580: 2.64 µs became 2.78, 3.07 became 3.25, in the middle of a series), and as PyTorch does so
/// when it fills tensors, what is measured without it is faster than what collectors measured.
fn crowd(stream: &Arc<CudaStream>) -> std::result::Result<(), String> {
    let memory = Memory::new(stream);
    let bytes = 1 << 20;
    let tensor = Tensor::new(&memory, bytes, Dtype::Fp8, Fill::Zeros)?;
    for _ in 0..CROWD {
        // SAFETY: the tensor has as many bytes.
        unsafe {
            result::memset_d8_sync(tensor.address(), 0, bytes as usize)
                .and_then(|()| {
                    result::memset_d8_async(tensor.address(), 0, bytes as usize, stream.cu_stream())
                })
                .map_err(|e| told(&e))?;
        }
    }
    // Both streams: the memory is given back.
    stream.context().synchronize().map_err(|e| told(&e))
}

impl Cuda {
    /// Opens the first GPU.
    ///
    /// # Errors
    ///
    /// One line on what was looked for, where there is no GPU or a library is missing.
    pub fn open() -> Result<Self> {
        // SAFETY: these only try to open the libraries.
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
        // A driver too old for a function that is used panics in the loader of its symbol.
        match crate::base::panics::quiet_panics(|| catch_unwind(AssertUnwindSafe(Self::connect))) {
            Ok(device) => device,
            Err(_) => Err(Error::new(
                "the CUDA libraries found are too old or do not fit together",
                "CUDA 13 and its cuBLAS are needed; or use --device process",
            )),
        }
    }

    fn connect() -> Result<Self> {
        let failed = |e: DriverError| {
            Error::new(
                format!("no GPU to measure on: {}", told(&e)),
                "nvidia-smi shows what the driver sees",
            )
        };
        let context = CudaContext::new(0).map_err(failed)?;
        // One stream alone: waits on events of other streams would enter the captured graph.
        // SAFETY: no slice of cudarc's is used, and what the default stream does is waited for.
        unsafe { context.disable_event_tracking() };
        let stream = context.new_stream().map_err(failed)?;
        let attribute = |a| context.attribute(a).map_err(failed);
        let bus = format!(
            "{:08X}:{:02X}:{:02X}.0",
            attribute(Attribute::CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID)?,
            attribute(Attribute::CU_DEVICE_ATTRIBUTE_PCI_BUS_ID)?,
            attribute(Attribute::CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID)?,
        );
        let mut about = About { name: context.name().map_err(failed)?, ..About::default() };
        let (meter, why) = match Meter::open(&bus) {
            Ok(meter) => (Some(meter), None),
            Err(why) => (None, Some(why)),
        };
        match &meter {
            Some(meter) => meter.describe(&mut about),
            None => {
                about.settings.insert("nvml".into(), why.unwrap_or_default());
            }
        }
        let blas = Blas::new(&stream).map_err(|why| {
            Error::new(format!("cuBLAS does not start: {why}"), "or use --device process")
        })?;
        about.versions.insert("cuBLAS".into(), blas.version());
        crowd(&stream).map_err(|why| {
            Error::new(format!("the GPU does not run: {why}"), "nvidia-smi shows its state")
        })?;
        let (free, _) = context.mem_get_info().map_err(failed)?;
        about.memory_bytes = Some(free.saturating_sub(RESERVE) as u64);
        let nccl = fabric::version();
        let gpus = if nccl.is_some() { CudaContext::device_count().map_err(failed)? } else { 0 };
        about.versions.extend(nccl.map(|version| ("NCCL".into(), version)));
        about.settings.insert("GPUs".into(), gpus.max(1).to_string());
        // What NCCL is told by its environment decides what it runs.
        about.settings.extend(std::env::vars().filter(|(name, _)| name.starts_with("NCCL_")));
        Ok(Self { stream, blas, meter, about, gpus: gpus as usize, fabrics: BTreeMap::new() })
    }

    fn measure_work(&mut self, work: &Work, power: bool) -> std::result::Result<Answer, String> {
        if !work.operation.is_collective() {
            let fit = (PLACES / work.bytes().max(1)).min(SAMPLES.into());
            // Of two places the first would have most samples.
            let count = if fit < 3 { 1 } else { fit };
            let places: Vec<Memory> = (0..count).map(|_| Memory::new(&self.stream)).collect();
            let (stream, meter) = (&self.stream, self.meter.as_ref());
            return timing::measure(stream, &places, &self.blas, work, meter, power);
        }
        let gpus = work.size("gpus") as usize;
        if self.fabrics.get(&gpus).is_none_or(|f| !f.is_whole()) {
            self.fabrics.insert(gpus, Fabric::open(gpus)?);
        }
        self.fabrics[&gpus].measure(work)
    }
}

impl Device for Cuda {
    fn about(&self) -> &About {
        &self.about
    }

    fn takes(&self, work: Option<&Work>) -> bool {
        work.is_some_and(|w| !w.operation.is_collective() || w.size("gpus") <= self.gpus as u64)
    }

    fn measure(&mut self, point: &Point) -> std::result::Result<Answer, Fault> {
        let Some(work) = &point.work else {
            return Err(Fault::Point("no recipe says how it was measured".into()));
        };
        let run = || self.measure_work(work, point.power);
        let answer = match crate::base::panics::quiet_panics(|| catch_unwind(AssertUnwindSafe(run)))
        {
            Ok(answer) => answer,
            Err(_) => Err("a CUDA function that it needs is missing".into()),
        };
        // A kernel that failed leaves the context unusable: what follows would fail too.
        if let Err(e) = self.stream.synchronize() {
            return Err(Fault::Device(Error::new(
                format!("the GPU failed at row {} of {}: {}", point.row, point.path, told(&e)),
                "nvidia-smi -q shows the card's state",
            )));
        }
        let answer = answer.map_err(Fault::Point)?;
        Ok(Answer { proxy: work.proxy.clone(), ..answer })
    }

    fn state(&mut self) -> Option<State> {
        self.meter.as_ref().map(Meter::state)
    }
}
