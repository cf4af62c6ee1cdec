//! The built-in kernels: products and collective operations.

mod product;

pub(crate) use self::product::{Launch, Product};
use crate::gpu::work::{Dtype, GpuOperation, Work};

/// The kind of kernel that performs an operation.
#[derive(Clone, Copy)]
pub(crate) enum Kernel {
    /// A matrix product on one GPU.
    Product(Product),
    /// A collective operation between GPUs.
    Collective(Collective),
}

/// A collective operation between the GPUs of one host.
#[derive(Clone, Copy)]
pub(crate) enum Collective {
    /// Sum over all GPUs; each GPU gets the whole sum.
    AllReduce,
    /// Concatenation of one part from each GPU; each GPU gets the whole result.
    AllGather,
    /// Sum over all GPUs; each GPU gets one part of the sum.
    ReduceScatter,
    /// Exchange: each GPU sends a different part to each other GPU.
    Alltoall,
}

impl Kernel {
    /// Returns the names of the sizes that a recipe must give for the operation, such as `m` or `count`.
    pub(crate) fn sizes(self) -> &'static [&'static str] {
        match self {
            Self::Product(product) => product.sizes(),
            Self::Collective(_) => &["count", "gpus"],
        }
    }

    /// Returns the element types of inputs and weights that the operation supports.
    pub(crate) fn dtypes(self) -> &'static [Dtype] {
        match self {
            Self::Product(product) => product.dtypes(),
            Self::Collective(_) => &[Dtype::Half, Dtype::Int8],
        }
    }
}

impl GpuOperation {
    /// Returns the kind of kernel that performs the operation.
    pub(crate) fn kernel(self) -> Kernel {
        match self {
            Self::Gemm => Kernel::Product(Product::Gemm),
            Self::Bmm => Kernel::Product(Product::Bmm),
            Self::AllReduce => Kernel::Collective(Collective::AllReduce),
            Self::AllGather => Kernel::Collective(Collective::AllGather),
            Self::ReduceScatter => Kernel::Collective(Collective::ReduceScatter),
            Self::Alltoall => Kernel::Collective(Collective::Alltoall),
        }
    }
}

impl Work {
    /// Returns the memory in bytes that the measurement needs on each GPU.
    pub fn bytes(&self) -> u64 {
        match self.operation.kernel() {
            Kernel::Product(product) => {
                let held = self.inputs_held();
                let read = held.saturating_mul(product.input(self));
                let read = read.saturating_add(self.copies.saturating_mul(product.weight(self)));
                let written = held.saturating_mul(product.output(self));
                read.saturating_mul(self.dtype.bytes()).saturating_add(written.saturating_mul(2))
            }
            Kernel::Collective(_) => self.size("count").saturating_mul(2 * self.dtype.bytes()),
        }
    }
}
