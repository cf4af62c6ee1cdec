//! Concatenation of all GPUs' parts; each GPU gets all of it.

use cudarc::nccl::result::{NcclError, all_gather};

use super::kernel::{Collective, Message};

/// Concatenation of all GPUs' parts; each GPU gets all of it.
pub struct AllGather;

impl Collective for AllGather {
    unsafe fn enqueue(&self, m: &Message) -> Result<(), NcclError> {
        // SAFETY: the caller holds what the trait asks for.
        unsafe { all_gather(m.send, m.receive, m.part, m.dtype, m.comm, m.stream) }.map(drop)
    }
}
