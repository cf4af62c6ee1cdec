//! The card's clocks, power, temperature and why it throttles, by NVML. Nothing is ever set.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use nvml_wrapper::enum_wrappers::device::{Clock, TemperatureSensor};
use nvml_wrapper::{Device, Nvml};

use crate::measure::{About, Answer, State};

/// How often the card is read while something is timed.
const EVERY: Duration = Duration::from_millis(25);
/// Readings that a mean power needs.
const LEAST_READINGS: usize = 8;
/// How long the card is watched for other work before anything is measured.
const WATCHED: Duration = Duration::from_millis(600);
/// Utilisation in percent below which a card is idle: NVML counts its own queries.
const IDLE: u32 = 5;

/// A card.
pub struct Meter {
    nvml: Arc<Nvml>,
    bus: String,
}

impl Meter {
    /// Opens the card at a PCI address.
    pub fn open(bus: &str) -> Result<Self, String> {
        let nvml = Nvml::init().map_err(|e| format!("NVML does not start: {e}"))?;
        let meter = Self { nvml: Arc::new(nvml), bus: bus.to_owned() };
        meter.card()?;
        Ok(meter)
    }

    fn card(&self) -> Result<Device<'_>, String> {
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
        let mut set = |name: &str, value: String| about.settings.insert(name.into(), value);
        if let Ok(on) = card.is_in_persistent_mode() {
            set("persistence mode", if on { "on" } else { "off" }.into());
        }
        if let Ok(limit) = card.enforced_power_limit() {
            set("power limit", format!("{} W", limit / 1000));
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

    /// Why what is measured now would say little. This process has not used the card yet.
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
            format!("the card is busy before anything is measured: {last} % used, {others} other processes on it")
        })
    }

    /// The card now.
    pub fn state(&self) -> State {
        self.card().map(|card| state(&card)).unwrap_or_default()
    }

    /// Reads the card until [`Reading::finish`].
    pub fn start(&self) -> Reading {
        let done = Arc::new(AtomicBool::new(false));
        let states = Arc::new(Mutex::new(Vec::new()));
        let (nvml, bus) = (self.nvml.clone(), self.bus.clone());
        let (stop, seen) = (done.clone(), states.clone());
        let thread = std::thread::spawn(move || {
            let Ok(card) = card(&nvml, &bus) else { return };
            // A short point is over before the first reading: queries of the driver must not disturb it.
            loop {
                std::thread::park_timeout(EVERY);
                let ended = stop.load(Ordering::Relaxed);
                let now = state(&card);
                seen.lock().unwrap_or_else(|e| e.into_inner()).push(now);
                if ended {
                    break;
                }
            }
        });
        Reading { done, states, thread }
    }
}

/// A card that is being read.
pub struct Reading {
    done: Arc<AtomicBool>,
    states: Arc<Mutex<Vec<State>>>,
    thread: JoinHandle<()>,
}

impl Reading {
    /// Ends it, and tells what was read.
    pub fn finish(self, answer: &mut Answer) {
        self.done.store(true, Ordering::Relaxed);
        self.thread.thread().unpark();
        let _ = self.thread.join();
        let states = self.states.lock().unwrap_or_else(|e| e.into_inner());
        let mean = |values: Vec<f64>| {
            (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
        };
        // The card averages its power over some 100 ms: of a shorter part it says nothing.
        let watts: Vec<f64> = states.iter().filter_map(|s| s.power_w).collect();
        answer.power_w = if watts.len() > LEAST_READINGS { mean(watts) } else { None };
        answer.clocks_mhz = mean(states.iter().filter_map(|s| s.sm_mhz.map(f64::from)).collect());
        let mut reasons: Vec<String> =
            states.iter().flat_map(|s| s.throttled.iter().cloned()).collect();
        reasons.sort();
        reasons.dedup();
        answer.throttled = reasons;
    }
}

fn card<'a>(nvml: &'a Nvml, bus: &str) -> Result<Device<'a>, String> {
    nvml.device_by_pci_bus_id(bus).map_err(|e| format!("NVML does not know the card at {bus}: {e}"))
}

fn state(card: &Device<'_>) -> State {
    use nvml_wrapper::bitmasks::device::ThrottleReasons;
    // What holds the clocks down without anything being wrong with the card.
    let usual = ThrottleReasons::GPU_IDLE | ThrottleReasons::APPLICATIONS_CLOCKS_SETTING;
    let reasons = card
        .current_throttle_reasons()
        .map(|r| r - usual)
        .unwrap_or_else(|_| ThrottleReasons::NONE);
    State {
        sm_mhz: card.clock_info(Clock::SM).ok(),
        memory_mhz: card.clock_info(Clock::Memory).ok(),
        power_w: card.power_usage().ok().map(|mw| f64::from(mw) / 1000.0),
        celsius: card.temperature(TemperatureSensor::Gpu).ok(),
        throttled: reasons.iter_names().map(|(name, _)| name.to_owned()).collect(),
    }
}
