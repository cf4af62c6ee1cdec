//! The collective operations between the GPUs of one host, through NCCL.

use std::ffi::{c_int, c_void};

use cudarc::nccl::result::{
    NcclError, all_gather, all_reduce, group_end, group_start, recv, reduce_scatter, send,
};
use cudarc::nccl::sys;

/// A collective operation between the GPUs of one host.
#[derive(Clone, Copy)]
pub(crate) enum Collective {
    /// Sum over all GPUs; each GPU gets the whole sum.
    AllReduce,
    /// Concatenation of all GPUs' parts; each GPU gets all of it.
    AllGather,
    /// Sum over all GPUs; each GPU gets one part of the sum.
    ReduceScatter,
    /// Exchange of parts: each GPU sends one part to each other GPU.
    Alltoall,
}

/// One rank's part of a collective operation.
pub(crate) struct Message {
    /// Buffer that is sent.
    pub send: *const c_void,
    /// Buffer that is received.
    pub receive: *mut c_void,
    /// Number of elements of the whole message.
    pub count: usize,
    /// Number of elements of one GPU's part. As in nccl-tests, parts start at multiples of 16 bytes.
    pub part: usize,
    /// Bytes of one element.
    pub bytes: usize,
    /// Number of GPUs.
    pub gpus: c_int,
    pub dtype: sys::ncclDataType_t,
    pub comm: sys::ncclComm_t,
    pub stream: sys::cudaStream_t,
}

/// NCCL's name of a sum.
const SUM: sys::ncclRedOp_t = sys::ncclRedOp_t::ncclSum;

impl Collective {
    /// Enqueues the operation on one rank.
    ///
    /// # Safety
    ///
    /// Both buffers of the message have `count` elements, `gpus` parts fit in them, and the communicator
    /// and stream live.
    pub(crate) unsafe fn enqueue(self, m: &Message) -> Result<(), NcclError> {
        // SAFETY: the caller holds what this function asks for.
        let enqueued = unsafe {
            match self {
                Self::AllReduce => {
                    all_reduce(m.send, m.receive, m.count, m.dtype, SUM, m.comm, m.stream)
                }
                Self::AllGather => all_gather(m.send, m.receive, m.part, m.dtype, m.comm, m.stream),
                Self::ReduceScatter => {
                    reduce_scatter(m.send, m.receive, m.part, m.dtype, SUM, m.comm, m.stream)
                }
                Self::Alltoall => {
                    group_start()?;
                    for peer in 0..m.gpus {
                        let at = peer as usize * m.part * m.bytes;
                        send(m.send.add(at), m.part, m.dtype, peer, m.comm, m.stream)?;
                        recv(m.receive.add(at), m.part, m.dtype, peer, m.comm, m.stream)?;
                    }
                    group_end()
                }
            }
        };
        enqueued.map(drop)
    }
}
