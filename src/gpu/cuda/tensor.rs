//! Device memory with given contents, in the layout of PyTorch's allocator.

use std::cell::RefCell;
use std::marker::PhantomData;
use std::sync::{Arc, OnceLock};

use cudarc::driver::{CudaStream, result};
use half::bf16;

use super::error::CudaResult;
use crate::base::random::Random;
use crate::gpu::work::{Dtype, Fill};

/// The number of random elements that are generated once. A longer tensor repeats these elements. The number is prime,
/// so that the rows of a tensor differ.
const DRAWN: usize = 4_194_301;

/// The alignment of tensors in bytes.
///
/// Like the next four constants, this is a size of PyTorch's caching allocator, which [`Memory`] imitates. Tensors of
/// up to [`SMALL`] bytes share blocks of [`SMALL_BLOCK`] bytes, and tensors below [`LARGE`] bytes share blocks of
/// [`MIDDLE_BLOCK`] bytes. A larger tensor has its own block.
const ALIGNED: usize = 512;
const SMALL: usize = 1 << 20;
const SMALL_BLOCK: usize = 2 << 20;
const LARGE: usize = 10 << 20;
const MIDDLE_BLOCK: usize = 20 << 20;

/// Device memory for tensors. All of it is freed when this value is dropped.
pub(crate) struct Memory {
    stream: Arc<CudaStream>,
    blocks: RefCell<Vec<MemoryBlock>>,
}

struct MemoryBlock {
    address: u64,
    bytes: usize,
    used: usize,
}

impl Memory {
    /// Creates an empty memory, which allocates on demand.
    pub(crate) fn new(stream: &Arc<CudaStream>) -> Self {
        Self { stream: stream.clone(), blocks: RefCell::default() }
    }

    /// Returns the CUDA stream that uses the memory.
    pub(crate) fn stream(&self) -> &Arc<CudaStream> {
        &self.stream
    }

    /// Allocates bytes with undefined contents, and returns their device address.
    fn take(&self, bytes: usize) -> CudaResult<u64> {
        self.stream.context().bind_to_thread()?;
        let bytes = bytes.max(1).next_multiple_of(ALIGNED);
        let size = match bytes {
            _ if bytes <= SMALL => SMALL_BLOCK,
            _ if bytes < LARGE => MIDDLE_BLOCK,
            _ => bytes.next_multiple_of(SMALL_BLOCK),
        };
        let room = |b: &&mut MemoryBlock| b.bytes == size && b.bytes - b.used >= bytes;
        if let Some(block) = self.blocks.borrow_mut().iter_mut().find(room) {
            block.used += bytes;
            return Ok(block.address + (block.used - bytes) as u64);
        }
        // SAFETY: the block is freed once, when this is dropped.
        let address = unsafe { result::malloc_sync(size) }?;
        self.blocks.borrow_mut().push(MemoryBlock { address, bytes: size, used: bytes });
        Ok(address)
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // Running kernels still use their operands, so they must end first. A failure to free needs no reaction.
        let _ = self.stream.synchronize();
        for block in self.blocks.borrow().iter() {
            // SAFETY: tensors do not outlive this memory.
            let _ = unsafe { result::free_sync(block.address) };
        }
    }
}

/// The device addresses of the weight, input and output of one call.
#[derive(Clone, Copy)]
pub(crate) struct Operands {
    pub weight: u64,
    pub input: u64,
    pub output: u64,
}

/// A tensor in GPU memory.
pub(crate) struct Tensor<'a> {
    address: u64,
    stream: &'a Arc<CudaStream>,
    memory: PhantomData<&'a Memory>,
}

impl<'a> Tensor<'a> {
    /// Creates a tensor in GPU memory with `elements` elements. `fill` states their values.
    pub(crate) fn new(
        memory: &'a Memory,
        elements: u64,
        dtype: Dtype,
        fill: Fill,
    ) -> CudaResult<Self> {
        let size = dtype.bytes() as usize;
        let bytes = elements as usize * size;
        let stream = memory.stream.cu_stream();
        let address = memory.take(bytes)?;
        // SAFETY: all writes are within the tensor, and the values live as long as the program.
        unsafe {
            if fill == Fill::Zeros {
                result::memset_d8_async(address, 0, bytes, stream)?;
            } else {
                let mut filled = bytes.min(DRAWN * size);
                result::memcpy_htod_async(address, &values(dtype, fill)[..filled], stream)?;
                // Each copy doubles the filled part.
                while filled < bytes {
                    let more = filled.min(bytes - filled);
                    result::memcpy_dtod_async(address + filled as u64, address, more, stream)?;
                    filled += more;
                }
            }
        }
        Ok(Self { address, stream: &memory.stream, memory: PhantomData })
    }

    /// Creates a tensor with the given bytes.
    pub(crate) fn holding(memory: &'a Memory, bytes: &[u8]) -> CudaResult<Self> {
        let address = memory.take(bytes.len())?;
        // SAFETY: the tensor is as long as the bytes, which live until the copy is over.
        unsafe { result::memcpy_htod_async(address, bytes, memory.stream.cu_stream()) }
            .and_then(|()| memory.stream.synchronize())?;
        Ok(Self { address, stream: &memory.stream, memory: PhantomData })
    }

    /// The tensor's address on the device.
    pub(crate) fn address(&self) -> u64 {
        self.address
    }

    /// Copies the first `bytes` bytes of the tensor to the host. The tensor must have at least `bytes` bytes.
    pub(crate) fn head(&self, bytes: usize) -> CudaResult<Vec<u8>> {
        self.stream.synchronize()?;
        let mut head = vec![0u8; bytes];
        // SAFETY: the tensor has at least `bytes` bytes.
        unsafe { result::memcpy_dtoh_sync(&mut head, self.address) }?;
        Ok(head)
    }
}

/// Returns [`DRAWN`] values of a type as bytes. The values are the same in every run of the program.
fn values(dtype: Dtype, fill: Fill) -> &'static [u8] {
    static NORMAL: OnceLock<[Vec<u8>; 2]> = OnceLock::new();
    static CONSTANT: OnceLock<[Vec<u8>; 2]> = OnceLock::new();
    let mut random = Random::new(0);
    let both = match fill {
        Fill::Normal => NORMAL.get_or_init(|| in_both_types(|| random.normal())),
        Fill::Constant | Fill::Zeros => CONSTANT.get_or_init(|| in_both_types(|| 0.01)),
    };
    &both[usize::from(dtype == Dtype::Fp8)]
}

/// Generates [`DRAWN`] values by calling `value`. Returns the values as bytes, first in bfloat16, then in float8.
fn in_both_types(mut value: impl FnMut() -> f32) -> [Vec<u8>; 2] {
    let mut wide = Vec::with_capacity(2 * DRAWN);
    let mut small = Vec::with_capacity(DRAWN);
    for _ in 0..DRAWN {
        let value = value();
        wide.extend(bf16::from_f32(value).to_le_bytes());
        small.push(e4m3(value));
    }
    [wide, small]
}

/// Returns the nearest float8 e4m3 number: 3 bits of fraction, exponents from -6, at most 448.
fn e4m3(value: f32) -> u8 {
    let sign = if value < 0.0 { 0x80 } else { 0 };
    let size = value.abs().min(448.0);
    let exponent = (size.max(f32::MIN_POSITIVE).log2().floor() as i32).clamp(-6, 8);
    let steps = (size / 2f32.powi(exponent - 3)).round() as u32;
    // Below the smallest normal number, the leading bit is absent.
    let (exponent, steps) = if steps >= 16 { (exponent + 1, steps / 2) } else { (exponent, steps) };
    let code = if steps < 8 { steps } else { ((exponent + 7) as u32) << 3 | (steps - 8) };
    sign | code as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn narrow_floats_round_to_the_nearest() {
        assert_eq!(bf16::from_f32(1.003_906_3).to_bits(), 0x3f80, "a tie, to even");
        for (value, code) in [
            (0.0, 0x00),
            (1.0, 0x38),
            (-1.0, 0xb8),
            (1.125, 0x39),
            (448.0, 0x7e),
            (1000.0, 0x7e),
            (0.015_625, 0x08),
            (0.001_953_125, 0x01),
            (1.96, 0x40),
        ] {
            assert_eq!(e4m3(value), code, "{value}");
        }
    }

    #[test]
    fn normal_values_have_mean_zero_and_variance_one() {
        let mut random = Random::new(1);
        let drawn: Vec<f32> = (0..10_000).map(|_| random.normal()).collect();
        let mean = drawn.iter().sum::<f32>() / 1e4;
        let square = drawn.iter().map(|v| v * v).sum::<f32>() / 1e4;
        assert!(mean.abs() < 0.04 && (square - 1.0).abs() < 0.05, "{mean} {square}");
        assert_eq!(values(Dtype::Fp8, Fill::Constant)[..4], [e4m3(0.01); 4]);
        assert_eq!(values(Dtype::Bfloat16, Fill::Normal).len(), 2 * DRAWN);
    }
}
