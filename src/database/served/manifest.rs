//! The reuse manifest (`perf_data_reuse_manifest.yaml`): the kernels whose rows several backends share.

use std::collections::BTreeSet;

use serde::Deserialize;

use crate::base::error::Reason;
use crate::base::yaml;

/// The contents of the reuse manifest: the kernels whose rows several backends share.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct ReuseManifest {
    groups: Vec<KernelGroup>,
}

/// The backends that share the rows of a kernel.
#[derive(Debug, Clone, Deserialize)]
struct KernelGroup {
    op_file: String,
    kernel_source: String,
    tier: Tier,
    frameworks: Vec<String>,
}

/// States whether other backends may read the rows of a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Tier {
    /// Other backends may read the rows.
    Shared,
    /// Other backends may read the rows, as for `Shared`. In addition, the framework itself chooses this kernel.
    SharedFallback,
    /// Other backends may not read the rows. The manifest lists the kernel only to document that its rows must stay
    /// absent.
    AbsenceLoadBearing,
}

impl KernelGroup {
    /// Returns the table whose rows are shared; `None` if the group shares no rows.
    fn table(&self) -> Option<&str> {
        let (stem, _) = self.op_file.rsplit_once('.')?;
        let shares = self.tier != Tier::AbsenceLoadBearing && !self.kernel_source.is_empty();
        shares.then_some(stem)
    }

    fn backends(&self) -> Vec<String> {
        self.frameworks.iter().map(|name| name.to_lowercase()).collect()
    }
}

impl ReuseManifest {
    /// Parses a manifest. The error is one line.
    pub fn parse(bytes: &[u8]) -> Result<Self, Reason> {
        yaml::parse(&String::from_utf8_lossy(bytes))
    }

    /// Returns the other backends from which `backend` reads rows of at least one kernel of a table.
    pub fn lenders(&self, table: &str, backend: &str) -> BTreeSet<String> {
        let groups = self.groups.iter().filter(|group| group.table() == Some(table));
        let sharing = groups.map(KernelGroup::backends);
        let of_backend = sharing.filter(|backends| backends.iter().any(|name| name == backend));
        of_backend.flatten().filter(|other| other != backend).collect()
    }

    /// Returns true if backend `to` reads rows of at least one kernel of a table from backend `from`.
    pub(crate) fn lends(&self, table: &str, from: &str, to: &str) -> bool {
        self.lenders(table, to).contains(from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn backends_share_the_tables_that_the_manifest_lists() {
        let text = "groups:\n\
            - {op_file: moe_perf.parquet, kernel_source: a, tier: shared, frameworks: [sglang, vllm]}\n\
            - {op_file: moe_perf.parquet, kernel_source: b, tier: absence_load_bearing, frameworks: [trtllm, vllm]}\n";
        let manifest = ReuseManifest::parse(text.as_bytes()).unwrap();
        assert!(manifest.lends("moe_perf", "vllm", "sglang"));
        assert!(!manifest.lends("moe_perf", "vllm", "trtllm"));
        assert!(!manifest.lends("gemm_perf", "vllm", "sglang"));
        assert!(!manifest.lends("moe_perf", "vllm", "vllm"), "its own");
        for wrong in
            ["groups: 3\n", "", "groups: [{op_file: a}]\n", &text.replace("shared,", "free,")]
        {
            assert!(ReuseManifest::parse(wrong.as_bytes()).is_err(), "{wrong}");
        }
    }
}
