//! The card's clocks, power, temperature and why it throttles, by NVML. Nothing is ever set.

use std::cell::Cell;
use std::time::{Duration, Instant};

use nvml_wrapper::enum_wrappers::device::{Clock, TemperatureSensor};
use nvml_wrapper::{Device, Nvml};

use super::error::{CudaError, Result};
use crate::gpu::device::{About, CardState};

/// How often the card is read.
const EVERY: Duration = Duration::from_millis(25);
/// How long a card works before a power cap may set in: samples of 9 ms and less of the heaviest
/// kernels never slowed, the fourth did (H200).
pub const QUIET_MS: f64 = 10.0;
/// How old NVML's readings are at most.
const LATE: Duration = Duration::from_millis(120);
/// The share of the fastest clock seen at which a card has come to rest.
const RESTED: f64 = 0.99;
/// After which it will not.
const LONGEST_REST: Duration = Duration::from_millis(600);
/// How long the card is watched for other work before anything is measured.
const WATCHED: Duration = Duration::from_millis(600);
/// Utilisation in percent below which a card is idle: NVML counts its own queries.
const IDLE: u32 = 5;

/// A card.
pub struct CardMeter {
    nvml: Nvml,
    bus: String,
    /// The fastest SM clock seen, in MHz.
    fastest: Cell<u32>,
    /// How long it ran since it last rested.
    worked_ms: Cell<f64>,
}

impl CardMeter {
    /// Opens the card at a PCI address.
    pub fn open(bus: &str) -> Result<Self> {
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

    fn card(&self) -> Result<Device<'_>> {
        card(&self.nvml, &self.bus)
    }

    /// Adds versions and settings, and whether something else runs on the card.
    pub fn describe(&self, about: &mut About) {
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

    /// Why what is measured now would say little. This process has run nothing on the card yet.
    fn busy(&self, card: &Device<'_>, others: usize) -> Option<String> {
        let start = Instant::now();
        let mut most = 0;
        while start.elapsed() < WATCHED {
            // The rates are over the last sixth of a second to second, before this process too.
            most = most.max(card.utilization_rates().map_or(0, |u| u.gpu));
            std::thread::sleep(EVERY);
        }
        let last = card.utilization_rates().map_or(most, |u| u.gpu);
        (most.min(last) > IDLE).then(|| {
            format!("the GPU was busy before the first measurement: {last} % used, {others} other processes")
        })
    }

    /// The card now.
    pub fn state(&self) -> CardState {
        self.card().map(|card| state(&card)).unwrap_or_default()
    }

    /// Notes that the card ran for so long.
    pub fn worked(&self, ms: f64) {
        self.worked_ms.set(self.worked_ms.get() + ms);
    }

    /// Waits until what ran before no longer holds the clocks down: they are back some 0.3 s after a
    /// power cap (H200), and a short kernel runs up to 9 % slower until then.
    pub fn rest(&self) {
        if self.worked_ms.get() < QUIET_MS {
            return;
        }
        let start = Instant::now();
        // NVML learns of a cap a tenth of a second late.
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

    /// Whether an SM clock is one of a card that is held down.
    pub fn slowed(&self, mhz: u32) -> bool {
        f64::from(mhz) < RESTED * f64::from(self.fastest.get())
    }
}

fn card<'a>(nvml: &'a Nvml, bus: &str) -> Result<Device<'a>> {
    nvml.device_by_pci_bus_id(bus).map_err(|source| CudaError::Card { bus: bus.to_owned(), source })
}

fn state(card: &Device<'_>) -> CardState {
    use nvml_wrapper::bitmasks::device::ThrottleReasons;
    // What holds the clocks down without anything being wrong with the card.
    let usual = ThrottleReasons::GPU_IDLE | ThrottleReasons::APPLICATIONS_CLOCKS_SETTING;
    let reasons = card
        .current_throttle_reasons()
        .map(|r| r - usual)
        .unwrap_or_else(|_| ThrottleReasons::NONE);
    CardState {
        sm_mhz: card.clock_info(Clock::SM).ok(),
        memory_mhz: card.clock_info(Clock::Memory).ok(),
        power_w: card.power_usage().ok().map(|mw| f64::from(mw) / 1000.0),
        celsius: card.temperature(TemperatureSensor::Gpu).ok(),
        throttled: reasons.iter_names().map(|(name, _)| name.to_owned()).collect(),
    }
}
