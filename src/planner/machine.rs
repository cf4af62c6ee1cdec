//! The figures of a machine that lookups need: peak rates, bandwidths and the size of a node.

use super::refusal::Refusal;
use crate::specs::system::System;

/// The figures that formulas read, apart from the rates of products ([`MachineFigures::flops`]).
const FIGURES: [&str; 10] = [
    "gpu.mem_bw",
    "gpu.mem_bw_empirical_scaling_factor",
    "gpu.mem_empirical_constant_latency",
    "gpu.sm_version",
    "node.inter_node_bw",
    "node.inter_rack_bw",
    "node.intra_node_bw",
    "node.num_gpus_per_node",
    "node.num_gpus_per_rack",
    "node.p2p_latency",
];

/// The end of the names of rates of products.
const RATE: &str = "_tc_flops";

/// Path of the machine's rate for bfloat16 products.
pub(super) const BFLOAT16: &str = "gpu.bfloat16_tc_flops";
/// Path of the machine's rate for fp8 products.
pub(super) const FP8: &str = "gpu.fp8_tc_flops";
/// Path of the machine's rate for fp4 products.
pub(super) const FP4: &str = "gpu.fp4_tc_flops";
/// Path of the machine's rate for int8 products.
pub(super) const INT8: &str = "gpu.int8_tc_flops";

/// The figures of a system's YAML that formulas read. Rates are in FLOP/s and B/s, times in seconds. Two
/// files that differ only in other figures describe the same machine.
#[derive(Debug, PartialEq)]
pub struct MachineFigures {
    /// The system's description, reduced to the figures that formulas read.
    system: System,
    /// Memory bandwidth, B/s.
    pub bandwidth: f64,
}

impl MachineFigures {
    /// Reads the machine from a system's description.
    ///
    /// # Errors
    ///
    /// [`Refusal::Machine`] if a figure is missing that the planner needs to load the system.
    pub(crate) fn new(system: &System) -> Result<Self, Refusal> {
        for path in ["node.num_gpus_per_node", "node.inter_node_bw", "node.intra_node_bw"] {
            if system.figure(path).is_none() {
                return Err(Refusal::Machine(path.to_owned()));
            }
        }
        let bandwidth = system.figure("gpu.mem_bw");
        let bandwidth = bandwidth.ok_or_else(|| Refusal::Machine("gpu.mem_bw".to_owned()))?;
        let mut system = system.clone();
        system.figures.retain(|path, _| path.ends_with(RATE) || FIGURES.contains(&path.as_str()));
        Ok(Self { system, bandwidth })
    }

    /// The system's name.
    pub(crate) fn name(&self) -> &str {
        &self.system.name
    }

    fn figure(&self, path: &str, otherwise: f64) -> f64 {
        debug_assert!(FIGURES.contains(&path), "{path} is none of the figures that formulas read");
        self.system.figure(path).unwrap_or(otherwise)
    }

    /// A text of the YAML, such as `misc.nccl_version`.
    pub(crate) fn text(&self, path: &str) -> Option<&str> {
        self.system.texts.get(path).map(String::as_str)
    }

    /// The machine's rate for products of a type, FLOP/s, by its path, such as [`FP8`].
    ///
    /// # Errors
    ///
    /// [`Refusal::Machine`] if the system's YAML has no positive figure.
    pub(crate) fn flops(&self, rate: &'static str) -> Result<f64, Refusal> {
        debug_assert!(rate.ends_with(RATE), "{rate} is none of the figures that formulas read");
        let flops = self.system.figure(rate).filter(|flops| *flops > 0.0);
        flops.ok_or_else(|| Refusal::Machine(rate.to_owned()))
    }

    /// The compute capability as one number, 100 for 10.0; 0 if the YAML does not state it.
    pub(crate) fn sm_version(&self) -> f64 {
        self.figure("gpu.sm_version", 0.0)
    }

    /// Returns true if the GPU multiplies fp4; other GPUs compute nvfp4 weights at bfloat16's rate.
    pub(crate) fn has_fp4(&self) -> bool {
        self.flops(FP4).is_ok()
    }

    /// Time of an operation that only moves memory, ms (`Elementwise` and `Embedding`):
    /// bytes / (bandwidth × scaling factor) + constant.
    pub(crate) fn memory_ms(&self, bytes: f64) -> f64 {
        let scale = self.figure("gpu.mem_bw_empirical_scaling_factor", 1.0).max(1e-9);
        let constant = self.figure("gpu.mem_empirical_constant_latency", 0.0);
        (bytes / (self.bandwidth.max(1.0) * scale) + constant) * 1000.0
    }

    /// Number of GPUs in a node.
    pub(crate) fn node(&self) -> f64 {
        self.figure("node.num_gpus_per_node", 1.0)
    }

    /// Bandwidth between GPUs in B/s if `gpus` of them communicate.
    fn link(&self, gpus: f64) -> f64 {
        let between_nodes = self.figure("node.inter_node_bw", 1.0);
        if gpus <= self.node() {
            self.figure("node.intra_node_bw", between_nodes)
        } else if gpus <= self.figure("node.num_gpus_per_rack", 4_294_967_296.0) {
            between_nodes
        } else {
            self.figure("node.inter_rack_bw", between_nodes)
        }
    }

    /// Factor from the time of a collective among `measured` GPUs to that among `gpus`. A ring moves
    /// (g − 1)/g of the data through each link.
    pub(crate) fn collective_scale(&self, gpus: f64, measured: f64) -> f64 {
        (gpus - 1.0) / gpus * measured / (measured - 1.0).max(1.0) * self.link(measured)
            / self.link(gpus)
    }

    /// Time to send `bytes` to the next node, in ms.
    pub(crate) fn hop_ms(&self, bytes: f64) -> f64 {
        let bandwidth = self.figure("node.inter_node_bw", 1.0).max(1.0);
        (bytes / bandwidth + self.figure("node.p2p_latency", 0.0)) * 1000.0
    }
}
