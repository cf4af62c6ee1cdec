//! Sum over all GPUs; each GPU gets the whole sum.

use cudarc::nccl::result::{NcclError, all_reduce};

use super::kernel::{Collective, Message, SUM};

/// Sum over all GPUs; each GPU gets the whole sum.
pub struct AllReduce;

impl Collective for AllReduce {
    unsafe fn enqueue(&self, m: &Message) -> Result<(), NcclError> {
        // SAFETY: the caller holds what the trait asks for.
        unsafe { all_reduce(m.send, m.receive, m.count, m.dtype, SUM, m.comm, m.stream) }.map(drop)
    }
}
