//! Times a kernel as the collectors do: warm-ups, a CUDA graph, and events around several runs, whose mean is the
//! sample.

use std::sync::Arc;
use std::time::{Duration, Instant};

use cudarc::driver::CudaStream;
use cudarc::driver::sys::CUevent_flags;

use super::blas::Blas;
use super::error::{CudaError, CudaResult};
use super::kernels::Product;
use super::nvml::{CardMeter, QUIET_MS};
use super::product::PreparedProduct;
use super::tensor::Memory;
use crate::gpu::device::{Answer, SAMPLES};
use crate::gpu::work::Work;

/// The maximum time in ms that the timed runs of one sample take together. If a kernel is too slow for this, fewer runs
/// are timed than requested.
const LONGEST_MS: f64 = 1000.0;

/// The number of samples per point if the GPU must rest before each sample. A sample with a rest takes a quarter of a
/// second.
const RESTED_SAMPLES: u32 = 3;
/// The maximum number of samples per point that are discarded and measured again, because earlier work still slowed the
/// GPU down.
const RETAKES: u32 = 3;

/// The time for which a kernel is repeated while its power is read. It is as long as in the collectors.
const POWER_FOR: Duration = Duration::from_secs(1);
const POWER_EVERY_MS: f64 = 100.0;

/// Measures a matrix product, and also its power if `power` is true. Each memory in `places` holds a copy of the
/// operands, and each sample uses the next copy. The copies are needed because the operands' addresses change the time
/// of a short product by up to 10 %.
pub(crate) fn measure<'a>(
    stream: &'a Arc<CudaStream>,
    places: &'a [Memory],
    blas: &'a Blas,
    (product, work): (Product, &'a Work),
    meter: Option<&CardMeter>,
    power: bool,
) -> CudaResult<Answer> {
    let place = |at: &'a Memory| PreparedProduct::new(stream, at, blas, product, work);
    let mut places = places.iter();
    let first = places.next().ok_or(CudaError::OutOfMemory)?;
    let mut kernels = vec![place(first)?];
    let event = || stream.context().new_event(Some(CUevent_flags::CU_EVENT_DEFAULT));
    let (start, end) = (event()?, event()?);
    // The mean time of a unit over some runs, in ms.
    let timed = |kernel: &PreparedProduct<'_>, runs: u32| -> CudaResult<f64> {
        start.record(stream)?;
        for _ in 0..runs {
            kernel.run()?;
        }
        end.record(stream)?;
        stream.synchronize()?;
        let elapsed = f64::from(start.elapsed_ms(&end)?);
        meter.inspect(|m| m.worked(elapsed));
        Ok(elapsed / f64::from(runs))
    };
    let once = timed(&kernels[0], 1)?;
    let long = once * f64::from(work.runs) > LONGEST_MS;
    let runs = if long { ((LONGEST_MS / once) as u32).max(1) } else { work.runs };
    let warmups = if long { 1 } else { work.warmups };
    let rests = work.rested && once * f64::from(warmups + runs) > QUIET_MS;
    let samples = if rests { RESTED_SAMPLES } else { SAMPLES };
    let mut answer = Answer::default();
    let mut clocks = Vec::new();
    let mut retakes = RETAKES;
    while answer.samples_ms.len() < samples as usize {
        if kernels.len() == answer.samples_ms.len()
            && let Some(at) = places.next()
        {
            kernels.push(place(at)?);
            meter.inspect(|m| m.worked(once));
        }
        let kernel = &kernels[answer.samples_ms.len() % kernels.len()];
        if let (true, Some(meter)) = (work.rested, meter) {
            meter.rest();
        }
        for _ in 0..warmups {
            kernel.run()?;
        }
        meter.inspect(|m| m.worked(once * f64::from(warmups)));
        // Wait as the collectors do, so that the first run starts on an idle GPU.
        stream.synchronize()?;
        let ms = timed(kernel, runs)? / work.copies as f64;
        let state = meter.map(CardMeter::state).unwrap_or_default();
        // NVML reports reduced clocks with a delay, so the GPU had not rested before this sample.
        let slowed = meter.zip(state.sm_mhz).is_some_and(|(m, mhz)| m.slowed(mhz));
        if work.rested && !rests && slowed && retakes > 0 {
            retakes -= 1;
            meter.inspect(|m| m.worked(QUIET_MS));
            continue;
        }
        answer.samples_ms.push(ms);
        clocks.extend(state.sm_mhz.map(f64::from));
        answer.throttled.extend(state.throttled);
    }
    answer.throttled.sort();
    answer.throttled.dedup();
    answer.clocks_mhz = mean(&clocks);
    if let (true, Some(meter)) = (power, meter) {
        let batch = (POWER_EVERY_MS / once).clamp(1.0, 100_000.0) as u32;
        answer.power_w = mean_power(meter, || timed(&kernels[0], batch))?;
    }
    if runs != work.runs {
        answer.note =
            Some(format!("measured {runs} runs of {once:.0} ms each instead of {}", work.runs));
    }
    Ok(answer)
}

/// Returns the mean power in W while `run` is repeated; `None` if NVML gives no reading.
fn mean_power(meter: &CardMeter, run: impl Fn() -> CudaResult<f64>) -> CudaResult<Option<f64>> {
    let started = Instant::now();
    let mut watts = Vec::new();
    while started.elapsed() < POWER_FOR {
        run()?;
        watts.extend(meter.state().power_w);
    }
    Ok(mean(&watts))
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}
