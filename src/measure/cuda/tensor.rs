//! Device memory with given contents.

use std::sync::{Arc, OnceLock};

use cudarc::driver::{CudaSlice, CudaStream, DevicePtr};

use super::told;
use crate::sample::Random;
use crate::spec::{Dtype, Fill};

/// Elements that are drawn; longer tensors repeat them. Their number is prime, so that rows of a
/// power of two differ.
const DRAWN: usize = 4_194_301;

/// Device memory, of bytes.
pub struct Tensor {
    memory: CudaSlice<u8>,
    stream: Arc<CudaStream>,
}

impl Tensor {
    /// Memory for `elements` of `size` bytes, filled.
    pub fn new(
        stream: &Arc<CudaStream>,
        elements: u64,
        dtype: Dtype,
        fill: Fill,
    ) -> Result<Self, String> {
        let size = if dtype == Dtype::Fp8 { 1 } else { 2 };
        let bytes = (elements * size) as usize;
        let failed = |e| told(&e);
        let mut memory = stream.alloc_zeros::<u8>(bytes.max(16)).map_err(failed)?;
        if fill != Fill::Zeros {
            let head = bytes.min(DRAWN * size as usize);
            let mut view = memory.slice_mut(..head);
            stream.memcpy_htod(&values(dtype, fill)[..head], &mut view).map_err(failed)?;
            // Doubles what is filled, a copy at a time.
            let mut filled = head;
            while filled < bytes {
                let more = filled.min(bytes - filled);
                let (from, mut rest) = memory.split_at_mut(filled);
                let mut to = rest.slice_mut(..more);
                stream.memcpy_dtod(&from.slice(..more), &mut to).map_err(failed)?;
                filled += more;
            }
        }
        Ok(Self { memory, stream: stream.clone() })
    }

    /// Memory that holds these bytes.
    pub fn holding(stream: &Arc<CudaStream>, bytes: &[u8]) -> Result<Self, String> {
        let memory = stream.clone_htod(bytes).map_err(|e| told(&e))?;
        Ok(Self { memory, stream: stream.clone() })
    }

    /// Its address on the device.
    pub fn address(&self) -> u64 {
        self.memory.device_ptr(&self.stream).0
    }

    /// The first bytes, on the host.
    pub fn head(&self, bytes: usize) -> Result<Vec<u8>, String> {
        self.stream.clone_dtoh(&self.memory.slice(..bytes)).map_err(|e| told(&e))
    }
}

/// [`DRAWN`] values, the same every time: what a tensor holds decides the power, not the outcome of a
/// draw.
fn values(dtype: Dtype, fill: Fill) -> &'static [u8] {
    static NORMAL: OnceLock<[Vec<u8>; 2]> = OnceLock::new();
    static CONSTANT: OnceLock<[Vec<u8>; 2]> = OnceLock::new();
    let narrow = |values: &mut dyn FnMut() -> f32| {
        let mut wide = Vec::with_capacity(2 * DRAWN);
        let mut small = Vec::with_capacity(DRAWN);
        for _ in 0..DRAWN {
            let value = values();
            wide.extend(bfloat16(value).to_le_bytes());
            small.push(e4m3(value));
        }
        [wide, small]
    };
    let both = match fill {
        Fill::Normal => NORMAL.get_or_init(|| {
            let mut random = Random::new(0);
            narrow(&mut || random.normal())
        }),
        Fill::Constant | Fill::Zeros => CONSTANT.get_or_init(|| narrow(&mut || 0.01)),
    };
    &both[usize::from(dtype == Dtype::Fp8)]
}

/// The nearest bfloat16, ties to even.
fn bfloat16(value: f32) -> u16 {
    let bits = value.to_bits();
    ((bits + 0x7fff + ((bits >> 16) & 1)) >> 16) as u16
}

/// The nearest float8 e4m3 of moderate values: 3 bits of fraction, exponents from -6, at most 448.
fn e4m3(value: f32) -> u8 {
    let sign = if value < 0.0 { 0x80 } else { 0 };
    let size = value.abs().min(448.0);
    let exponent = (size.max(f32::MIN_POSITIVE).log2().floor() as i32).clamp(-6, 8);
    let steps = (size / 2f32.powi(exponent - 3)).round() as u32;
    // Below the least normal value the leading bit is absent.
    let (exponent, steps) = if steps >= 16 { (exponent + 1, steps / 2) } else { (exponent, steps) };
    let code = if steps < 8 { steps } else { ((exponent + 7) as u32) << 3 | (steps - 8) };
    sign | code as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn narrow_floats_round_to_the_nearest() {
        assert_eq!(bfloat16(1.0), 0x3f80);
        assert_eq!(bfloat16(-2.0), 0xc000);
        assert_eq!(bfloat16(1.003_906_3), 0x3f80, "a tie, to even");
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
    fn normal_values_are_normal() {
        let mut random = Random::new(1);
        let drawn: Vec<f32> = (0..10_000).map(|_| random.normal()).collect();
        let mean = drawn.iter().sum::<f32>() / 1e4;
        let square = drawn.iter().map(|v| v * v).sum::<f32>() / 1e4;
        assert!(mean.abs() < 0.04 && (square - 1.0).abs() < 0.05, "{mean} {square}");
        assert_eq!(values(Dtype::Fp8, Fill::Constant)[..4], [e4m3(0.01); 4]);
        assert_eq!(values(Dtype::Bfloat16, Fill::Normal).len(), 2 * DRAWN);
    }
}
