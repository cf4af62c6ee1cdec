//! Collective operations between the GPUs of one host, through NCCL. The method of timing is that of nccl-tests: one
//! thread per GPU, warm-ups, the wall time of several out-of-place runs that are enqueued together, and the mean over
//! the GPUs.

use std::ffi::{c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier};
use std::time::Instant;

use cudarc::driver::{CudaContext, CudaStream, DriverError, sys as driver};
use cudarc::nccl::sys;

use super::error::{CudaError, CudaResult};
use super::kernels::Collective;
use super::nccl::Nccl;
use super::tensor::{Memory, Tensor};
use crate::gpu::device::{Answer, SAMPLES};
use crate::gpu::work::{Dtype, Fill, Work};

/// NCCL's constant for a sum.
const SUM: sys::ncclRedOp_t = sys::ncclRedOp_t::ncclSum;

/// The first N GPUs of this host, joined by NCCL communicators, to measure collective operations.
pub(crate) struct Fabric {
    nccl: &'static Nccl,
    ranks: Vec<Rank>,
    /// True after an operation failed; the communicators are unusable then.
    broken: AtomicBool,
}

struct Rank {
    stream: Arc<CudaStream>,
    comm: Comm,
}

/// What one rank executes: a collective operation, with the device addresses of the rank's input and output.
#[derive(Clone, Copy)]
struct Run<'a> {
    collective: Collective,
    work: &'a Work,
    from: u64,
    to: u64,
}

/// NCCL's communicator of one GPU.
#[derive(Clone, Copy)]
struct Comm(sys::ncclComm_t);

// SAFETY: NCCL allows any thread to use a communicator, one thread at a time; only its rank's own thread
// uses it.
unsafe impl Send for Comm {}
// SAFETY: as for Send; no two threads use a communicator at the same time.
unsafe impl Sync for Comm {}

impl Fabric {
    /// Joins the first `gpus` GPUs of this host.
    pub(crate) fn open(gpus: usize) -> CudaResult<Self> {
        let nccl = Nccl::get().ok_or(CudaError::NoNccl)?;
        let devices: Vec<c_int> = (0..gpus as c_int).collect();
        let mut comms = vec![std::ptr::null_mut(); gpus];
        // SAFETY: both lists have `gpus` elements.
        unsafe { (nccl.init_all)(comms.as_mut_ptr(), gpus as c_int, devices.as_ptr()) }.result()?;
        let ranks = devices.iter().zip(&comms).map(|(device, comm)| {
            let context = CudaContext::new(*device as usize)?;
            Ok(Rank { stream: context.new_stream()?, comm: Comm(*comm) })
        });
        let ranks: Result<Vec<Rank>, DriverError> = ranks.collect();
        if ranks.is_err() {
            for comm in &comms {
                // SAFETY: nothing uses the communicators.
                unsafe { (nccl.abort)(*comm) };
            }
        }
        Ok(Self { nccl, ranks: ranks?, broken: AtomicBool::new(false) })
    }

    /// Returns true if no operation has failed.
    pub(crate) fn is_whole(&self) -> bool {
        !self.broken.load(Ordering::SeqCst)
    }

    /// Measures a collective operation on all GPUs of the fabric. The message has as many elements as the size `count`
    /// in `work` states.
    pub(crate) fn measure(&self, collective: Collective, work: &Work) -> CudaResult<Answer> {
        let memories: Vec<Memory> = self.ranks.iter().map(|r| Memory::new(&r.stream)).collect();
        let mut buffers = Vec::new();
        for (rank, memory) in self.ranks.iter().zip(&memories) {
            rank.stream.context().bind_to_thread()?;
            let buffer = || Tensor::new(memory, work.size("count"), work.dtype, Fill::Zeros);
            buffers.push((buffer()?.address(), buffer()?.address()));
        }
        let together = &Barrier::new(self.ranks.len());
        let samples: Vec<CudaResult<Vec<f64>>> = std::thread::scope(|scope| {
            let started: Vec<_> = self
                .ranks
                .iter()
                .zip(buffers)
                .map(|(rank, (from, to))| {
                    let run = Run { collective, work, from, to };
                    scope.spawn(move || self.run(rank, run, together))
                })
                .collect();
            started
                .into_iter()
                .map(|thread| thread.join().unwrap_or(Err(CudaError::ThreadEnded)))
                .collect()
        });
        let samples: Vec<Vec<f64>> = samples.into_iter().collect::<CudaResult<_>>()?;
        let mean = |i: usize| samples.iter().map(|s| s[i]).sum::<f64>() / samples.len() as f64;
        Ok(Answer { samples_ms: (0..SAMPLES as usize).map(mean).collect(), ..Answer::default() })
    }

    /// Measures the collective operation on one rank, and returns the samples in ms. After an error, the rank still
    /// reaches every barrier, so that no other rank waits forever.
    fn run(&self, rank: &Rank, run: Run<'_>, together: &Barrier) -> CudaResult<Vec<f64>> {
        let work = run.work;
        let times = |count: u32| -> CudaResult<()> {
            rank.stream.context().bind_to_thread()?;
            (0..count).try_for_each(|_| self.enqueue(rank, run))?;
            self.finish(rank)
        };
        let mut samples = Vec::new();
        for _ in 0..SAMPLES {
            let warm = self.attempt(rank, || times(work.warmups));
            together.wait();
            let start = Instant::now();
            let done = warm.and_then(|()| self.attempt(rank, || times(work.runs)));
            let ms = start.elapsed().as_secs_f64() * 1e3 / f64::from(work.runs);
            together.wait();
            samples.push(done.map(|()| ms));
        }
        samples.into_iter().collect()
    }

    /// Calls `part`, or fails at once if another rank has failed. If `part` fails, marks the fabric as broken and
    /// aborts this rank's communicator.
    fn attempt(&self, rank: &Rank, part: impl Fn() -> CudaResult<()>) -> CudaResult<()> {
        if self.broken.load(Ordering::SeqCst) {
            return Err(CudaError::OtherRank);
        }
        let done = catch_unwind(AssertUnwindSafe(part)).unwrap_or(Err(CudaError::OldCuda));
        if done.is_err() {
            self.broken.store(true, Ordering::SeqCst);
            // SAFETY: the communicator belongs to this rank and is not used again.
            unsafe { (self.nccl.abort)(rank.comm.0) };
        }
        done
    }

    /// Waits for the enqueued operations by polling, as nccl-tests does. Fails if another rank has failed.
    fn finish(&self, rank: &Rank) -> CudaResult<()> {
        loop {
            // SAFETY: the stream is alive.
            let status = unsafe { driver::cuStreamQuery(rank.stream.cu_stream()) };
            if status != driver::CUresult::CUDA_ERROR_NOT_READY {
                return Ok(status.result()?);
            }
            if self.broken.load(Ordering::SeqCst) {
                return Err(CudaError::OtherRank);
            }
            std::thread::yield_now();
        }
    }

    /// Enqueues the operation on one rank.
    fn enqueue(&self, rank: &Rank, run: Run<'_>) -> CudaResult<()> {
        let (nccl, comm, stream) = (self.nccl, rank.comm.0, rank.stream.cu_stream().cast());
        let (send, receive) = (run.from as *const c_void, run.to as *mut c_void);
        let (gpus, bytes) = (self.ranks.len(), run.work.dtype.bytes() as usize);
        let count = run.work.size("count") as usize;
        // Number of elements per GPU. As in nccl-tests, the parts of the GPUs start at multiples of 16 bytes.
        let part = (count / gpus) & (16 / bytes).wrapping_neg();
        let dtype = match run.work.dtype {
            Dtype::Int8 => sys::ncclDataType_t::ncclInt8,
            Dtype::Bfloat16 | Dtype::Fp8 | Dtype::Half => sys::ncclDataType_t::ncclFloat16,
        };
        // SAFETY: both buffers have `count` elements, `gpus` parts fit in them, and the communicator and stream live.
        let status = unsafe {
            match run.collective {
                Collective::AllReduce => {
                    (nccl.all_reduce)(send, receive, count, dtype, SUM, comm, stream)
                }
                Collective::AllGather => {
                    (nccl.all_gather)(send, receive, part, dtype, comm, stream)
                }
                Collective::ReduceScatter => {
                    (nccl.reduce_scatter)(send, receive, part, dtype, SUM, comm, stream)
                }
                Collective::Alltoall => {
                    (nccl.group_start)().result()?;
                    for peer in 0..gpus {
                        let (at, peer) = (peer * part * bytes, peer as c_int);
                        (nccl.send)(send.add(at), part, dtype, peer, comm, stream).result()?;
                        (nccl.receive)(receive.add(at), part, dtype, peer, comm, stream)
                            .result()?;
                    }
                    (nccl.group_end)()
                }
            }
        };
        status.result().map(drop).map_err(CudaError::from)
    }
}

impl Drop for Fabric {
    fn drop(&mut self) {
        if self.broken.load(Ordering::SeqCst) {
            return;
        }
        for rank in &self.ranks {
            // SAFETY: the communicator is not used again.
            unsafe { (self.nccl.destroy)(rank.comm.0) };
        }
    }
}
