//! The built-in kernels, one file each.

mod all_gather;
mod all_reduce;
mod alltoall;
mod bmm;
mod gemm;
mod kernel;
mod reduce_scatter;

pub use self::kernel::{Collective, Kernel, Launch, Message, Product};
use crate::gpu::work::{GpuOperation, Work};

impl GpuOperation {
    /// The operation's kernel.
    pub fn kernel(self) -> Kernel {
        match self {
            Self::Gemm => Kernel::Product(&gemm::Gemm),
            Self::Bmm => Kernel::Product(&bmm::Bmm),
            Self::AllReduce => Kernel::Collective(&all_reduce::AllReduce),
            Self::AllGather => Kernel::Collective(&all_gather::AllGather),
            Self::ReduceScatter => Kernel::Collective(&reduce_scatter::ReduceScatter),
            Self::Alltoall => Kernel::Collective(&alltoall::Alltoall),
        }
    }
}

impl Work {
    /// Bytes of memory that the measurement needs on each GPU.
    pub fn bytes(&self) -> u64 {
        self.operation.kernel().bytes(self)
    }
}
