//! The place of a table that is given by its path alone.

use std::collections::BTreeSet;
use std::path::Path;

use super::Place;
use crate::specs::Specs;

/// Derives a table file's place from the folders above it: system, family, backend and version, or system,
/// backend and version in the flat layout. Missing folders give empty names.
pub fn place_of(path: &Path, specs: &Specs) -> Place {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let folders: Vec<String> = path
        .parent()
        .into_iter()
        .flat_map(Path::components)
        .map(|c| c.as_os_str().to_string_lossy().into_owned())
        .collect();
    let above = |steps: usize| folders.iter().rev().nth(steps - 1).cloned().unwrap_or_default();
    let families: BTreeSet<&str> = specs.tables.values().map(|t| t.family.as_str()).collect();
    let (version, backend, third) = (above(1), above(2), above(3));
    if families.contains(third.as_str()) {
        return Place { system: above(4), family: Some(third), backend, version };
    }
    Place { system: third, family: None, backend, version }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_a_place() {
        let specs = Specs::embedded().unwrap();
        let place = |path: &str| {
            let p = place_of(Path::new(path), &specs);
            [p.system, p.family.unwrap_or_default(), p.backend, p.version]
        };
        assert_eq!(
            place("/x/data/h200_sxm/gemm/vllm/0.24.0/gemm_perf.parquet"),
            ["h200_sxm", "gemm", "vllm", "0.24.0"]
        );
        assert_eq!(
            place("/x/data/h200_sxm/vllm/0.24.0/gemm_perf.txt"),
            ["h200_sxm", "", "vllm", "0.24.0"]
        );
        assert_eq!(place("/gemm_perf.parquet"), ["", "", "", "/"]);
    }
}
