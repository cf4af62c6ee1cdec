//! Timing a kernel as the collectors do: warm-ups, a CUDA graph, events around a number of runs, their mean.

use std::sync::Arc;

use cudarc::driver::sys::{CUevent_flags, CUgraphInstantiate_flags, CUstreamCaptureMode};
use cudarc::driver::{CudaGraph, CudaStream, DriverError};

use super::kernel::Kernel;
use super::nvml::Meter;
use super::told;
use crate::measure::{Answer, SAMPLES, Work};

/// The longest timed part of a sample in ms: a unit that takes long is run less often, its mean is
/// the better for its length.
const LONGEST_MS: f64 = 1000.0;

/// Takes the samples of a kernel.
pub fn measure(
    stream: &Arc<CudaStream>,
    kernel: &Kernel<'_>,
    work: &Work,
    meter: Option<&Meter>,
) -> Result<Answer, String> {
    // Loads and plans: nothing of that may be timed or captured.
    kernel.launch()?;
    stream.synchronize().map_err(text)?;
    if !kernel.computed()? {
        return Err("the product gave nothing but zeros".into());
    }
    let graph = if work.cuda_graph { Some(capture(stream, kernel)?) } else { None };
    let run = || match &graph {
        Some(graph) => graph.launch().map_err(text),
        None => kernel.launch(),
    };
    let event = || stream.context().new_event(Some(CUevent_flags::CU_EVENT_DEFAULT)).map_err(text);
    let (start, end) = (event()?, event()?);
    // A unit's mean time over some runs, in ms.
    let timed = |runs: u32| -> Result<f64, String> {
        start.record(stream).map_err(text)?;
        for _ in 0..runs {
            run()?;
        }
        end.record(stream).map_err(text)?;
        stream.synchronize().map_err(text)?;
        Ok(f64::from(start.elapsed_ms(&end).map_err(text)?) / f64::from(runs))
    };
    let once = timed(1)?;
    let long = once * f64::from(work.runs) > LONGEST_MS;
    let runs = if long { ((LONGEST_MS / once) as u32).max(1) } else { work.runs };
    let warmups = if long { 1 } else { work.warmups };
    let reading = meter.map(Meter::start);
    let mut samples_ms = Vec::new();
    for _ in 0..SAMPLES {
        for _ in 0..warmups {
            run()?;
        }
        // The collectors wait here, so that the first run starts on an idle card.
        stream.synchronize().map_err(text)?;
        samples_ms.push(timed(runs)? / work.copies as f64);
    }
    let mut answer = Answer { samples_ms, ..Answer::default() };
    if let Some(reading) = reading {
        reading.finish(&mut answer);
    }
    if runs != work.runs {
        answer.note = Some(format!("{runs} runs of a unit of {once:.0} ms, not {}", work.runs));
    }
    Ok(answer)
}

fn capture(stream: &Arc<CudaStream>, kernel: &Kernel<'_>) -> Result<CudaGraph, String> {
    stream.begin_capture(CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL).map_err(text)?;
    let launched = kernel.launch();
    // Capture ends also where a launch failed, or the stream stays unusable.
    let graph = stream.end_capture(CUgraphInstantiate_flags(0)).map_err(text);
    launched?;
    graph?.ok_or_else(|| "the captured graph is empty".into())
}

fn text(error: DriverError) -> String {
    told(&error)
}
