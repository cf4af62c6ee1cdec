//! The GPU's clocks, power, temperature and throttle reasons, read through NVML. No setting is changed.

use std::cell::Cell;
use std::time::{Duration, Instant};

use nvml_wrapper::bitmasks::device::ThrottleReasons;
use nvml_wrapper::enum_wrappers::device::{Clock, TemperatureSensor};
use nvml_wrapper::{Device, Nvml};

use super::error::{CudaError, CudaResult};
use crate::gpu::device::{About, CardState};

/// The interval between two readings of the GPU's clocks or utilisation.
const EVERY: Duration = Duration::from_millis(25);
/// The time in ms for which a GPU can work at full clocks before a power cap may reduce them (measured on an H200).
pub(crate) const QUIET_MS: f64 = 10.0;
/// The maximum delay with which NVML reports reduced clocks.
const LATE: Duration = Duration::from_millis(120);
/// A GPU counts as rested if its SM clock is above this share of the fastest SM clock read so far.
const RESTED: f64 = 0.99;
/// The maximum time to wait for a GPU to rest, that is, to return to full clocks.
const LONGEST_REST: Duration = Duration::from_millis(600);
/// The time for which the GPU is watched for work of other processes before the first measurement.
const WATCHED: Duration = Duration::from_millis(600);
/// The maximum utilisation in percent at which a GPU counts as idle. NVML's own queries cause a few percent.
const IDLE: u32 = 5;

/// Reads the clocks, power and temperature of a GPU through NVML, and counts how long the GPU has worked without a
/// rest.
pub(crate) struct CardMeter {
    nvml: Nvml,
    bus: String,
    /// The fastest SM clock read so far, in MHz.
    fastest: Cell<u32>,
    /// The time in ms for which the GPU has worked since its last rest.
    worked_ms: Cell<f64>,
}

impl CardMeter {
    /// Opens NVML's access to the GPU with the PCI address `bus`.
    pub(crate) fn open(bus: &str) -> CudaResult<Self> {
        let nvml = Nvml::init().map_err(CudaError::Nvml)?;
        let meter = Self {
            nvml,
            bus: bus.to_owned(),
            fastest: Cell::default(),
            worked_ms: Cell::default(),
        };
        meter.card()?;
        Ok(meter)
    }

    fn card(&self) -> CudaResult<Device<'_>> {
        let found = self.nvml.device_by_pci_bus_id(self.bus.as_str());
        found.map_err(|source| CudaError::Card { bus: self.bus.clone(), source })
    }

    /// Adds driver versions and GPU settings to `about`. If other processes keep the GPU busy, also adds a sentence
    /// that states this.
    pub(crate) fn describe(&self, about: &mut About) {
        if let Ok(version) = self.nvml.sys_driver_version() {
            about.versions.insert("driver".into(), version);
        }
        if let Ok(version) = self.nvml.sys_cuda_driver_version() {
            let (major, minor) = (version / 1000, version % 1000 / 10);
            about.versions.insert("CUDA".into(), format!("{major}.{minor}"));
        }
        let Ok(card) = self.card() else { return };
        about.power_limit_w =
            card.enforced_power_limit().ok().map(|mw| (f64::from(mw) / 1000.0).round());
        let mut set = |name: &str, value: String| about.settings.insert(name.into(), value);
        if let Ok(on) = card.is_in_persistent_mode() {
            set("persistence mode", if on { "on" } else { "off" }.into());
        }
        if let Some(watts) = about.power_limit_w {
            set("power limit", format!("{watts} W"));
        }
        for (name, clock) in [("SM", Clock::SM), ("memory", Clock::Memory)] {
            if let Ok(mhz) = card.applications_clock(clock) {
                set(&format!("applied {name} clock"), format!("{mhz} MHz"));
            }
            if let Ok(mhz) = card.max_clock_info(clock) {
                set(&format!("greatest {name} clock"), format!("{mhz} MHz"));
            }
        }
        let own = std::process::id();
        let processes = card.running_compute_processes().unwrap_or_default();
        let others = processes.iter().filter(|p| p.pid != own).count();
        set("other processes", others.to_string());
        about.busy = self.busy(&card, others);
    }

    /// Returns a sentence if other processes keep the GPU busy; `None` if it is idle. `others` is the number of other
    /// processes on the GPU. Call this before this process uses the GPU.
    fn busy(&self, card: &Device<'_>, others: usize) -> Option<String> {
        let start = Instant::now();
        let mut most = 0;
        while start.elapsed() < WATCHED {
            // A rate covers the last second or the last sixth of a second, which includes time before this process
            // started.
            most = most.max(card.utilization_rates().map_or(0, |u| u.gpu));
            std::thread::sleep(EVERY);
        }
        let last = card.utilization_rates().map_or(most, |u| u.gpu);
        (most.min(last) > IDLE).then(|| {
            format!("the GPU was busy before the first measurement: {last} % used, {others} other processes")
        })
    }

    /// Reads the GPU's clocks, power, temperature and throttle reasons.
    pub(crate) fn state(&self) -> CardState {
        let Ok(card) = self.card() else { return CardState::default() };
        // Reasons for reduced clocks that are normal for a healthy GPU.
        let usual = ThrottleReasons::GPU_IDLE | ThrottleReasons::APPLICATIONS_CLOCKS_SETTING;
        let reasons = card.current_throttle_reasons().map(|reasons| reasons - usual);
        let reasons = reasons.unwrap_or(ThrottleReasons::NONE);
        CardState {
            sm_mhz: card.clock_info(Clock::SM).ok(),
            memory_mhz: card.clock_info(Clock::Memory).ok(),
            power_w: card.power_usage().ok().map(|mw| f64::from(mw) / 1000.0),
            celsius: card.temperature(TemperatureSensor::Gpu).ok(),
            throttled: reasons.iter_names().map(|(name, _)| name.to_owned()).collect(),
        }
    }

    /// Adds `ms` to the time for which the GPU has worked since its last rest.
    pub(crate) fn worked(&self, ms: f64) {
        self.worked_ms.set(self.worked_ms.get() + ms);
    }

    /// Waits until the GPU is back at full clocks. After a power cap, this takes about 0.3 s on an H200.
    pub(crate) fn rest(&self) {
        if self.worked_ms.get() < QUIET_MS {
            return;
        }
        let start = Instant::now();
        // NVML reports a cap a tenth of a second late.
        std::thread::sleep(LATE);
        while start.elapsed() < LONGEST_REST {
            let Some(mhz) = self.card().ok().and_then(|c| c.clock_info(Clock::SM).ok()) else {
                return;
            };
            self.fastest.set(self.fastest.get().max(mhz));
            if !self.slowed(mhz) {
                self.worked_ms.set(0.0);
                return;
            }
            std::thread::sleep(EVERY);
        }
    }

    /// Returns true if an SM clock in MHz is lower than the clock of a rested GPU.
    pub(crate) fn slowed(&self, mhz: u32) -> bool {
        f64::from(mhz) < RESTED * f64::from(self.fastest.get())
    }
}
