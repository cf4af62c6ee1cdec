//! Exchange of parts: each GPU sends one part to each other GPU.

use cudarc::nccl::result::{NcclError, group_end, group_start, recv, send};

use super::kernel::{Collective, Message};

/// Exchange of parts: each GPU sends one part to each other GPU.
pub struct Alltoall;

impl Collective for Alltoall {
    unsafe fn enqueue(&self, m: &Message) -> Result<(), NcclError> {
        group_start()?;
        for peer in 0..m.gpus {
            let at = peer as usize * m.part * m.bytes;
            // SAFETY: the caller holds what the trait asks for, and `gpus` parts fit in the buffers.
            unsafe {
                send(m.send.add(at), m.part, m.dtype, peer, m.comm, m.stream)?;
                recv(m.receive.add(at), m.part, m.dtype, peer, m.comm, m.stream)?;
            }
        }
        group_end().map(drop)
    }
}
