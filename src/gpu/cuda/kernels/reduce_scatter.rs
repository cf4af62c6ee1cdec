//! Sum over all GPUs; each GPU gets one part of the sum.

use cudarc::nccl::result::{NcclError, reduce_scatter};

use super::kernel::{Collective, Message, SUM};

/// Sum over all GPUs; each GPU gets one part of the sum.
pub struct ReduceScatter;

impl Collective for ReduceScatter {
    unsafe fn enqueue(&self, m: &Message) -> Result<(), NcclError> {
        // SAFETY: the caller holds what the trait asks for.
        unsafe { reduce_scatter(m.send, m.receive, m.part, m.dtype, SUM, m.comm, m.stream) }
            .map(drop)
    }
}
