//! The built-in kernels: the products, one file each, and the collective operations.

mod bmm;
mod collective;
mod gemm;
mod kernel;

pub use self::collective::{Collective, Message};
pub use self::kernel::{Kernel, Launch, Product};
use crate::gpu::work::{GpuOperation, Work};

impl GpuOperation {
    /// The operation's kernel.
    pub fn kernel(self) -> Kernel {
        match self {
            Self::Gemm => Kernel::Product(&gemm::Gemm),
            Self::Bmm => Kernel::Product(&bmm::Bmm),
            Self::AllReduce => Kernel::Collective(Collective::AllReduce),
            Self::AllGather => Kernel::Collective(Collective::AllGather),
            Self::ReduceScatter => Kernel::Collective(Collective::ReduceScatter),
            Self::Alltoall => Kernel::Collective(Collective::Alltoall),
        }
    }
}

impl Work {
    /// Bytes of memory that the measurement needs on each GPU.
    pub fn bytes(&self) -> u64 {
        self.operation.kernel().bytes(self)
    }
}
