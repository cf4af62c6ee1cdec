//! Small trees of files, and the binary run on them.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;
use tempfile::TempDir;

/// The repository of perfdb-gate.
pub const REPOSITORY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

/// Rows of the shipped table, measured on a real H200.
pub const SHIPPED: &[u8] =
    include_bytes!("../../../data/h200_sxm/gemm/torch/2.11.0/gemm_perf.parquet");

/// A text table of synthetic rows, one for each `m,latency`.
pub fn gemm(rows: &[(u64, f64)]) -> String {
    let line = |(m, latency): &(u64, f64)| {
        format!("VLLM,0.24.0,NVIDIA H200,gemm,cutlass,bfloat16,{m},128,128,{latency}\n")
    };
    let header = "framework,version,device,op_name,kernel_source,gemm_dtype,m,n,k,latency\n";
    header.to_owned() + &rows.iter().map(line).collect::<String>()
}

/// A temporary tree of files.
pub struct Tree(TempDir);

impl Tree {
    /// Creates a tree with the H200's YAML, whose data is in `systems/data/h200_sxm`.
    pub fn new() -> Self {
        let tree = Self(TempDir::new().unwrap());
        let yaml = include_str!("../../../systems/h200_sxm.yaml");
        tree.file("systems/h200_sxm.yaml", yaml.replace("../data/", "data/"));
        tree
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// Writes a file and its folders.
    pub fn file(&self, path: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, bytes).unwrap();
        path
    }

    /// Writes a gemm table of the flat layout.
    pub fn gemm(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        self.file(&format!("systems/data/h200_sxm/vllm/0.24.0/{name}"), bytes)
    }
}

/// A finished run of the binary.
pub struct Run {
    args: Vec<String>,
    output: Output,
}

/// Runs the binary in the repository of perfdb-gate.
pub fn run(args: &[&str]) -> Run {
    let mut command = Command::new(env!("CARGO_BIN_EXE_selftest"));
    let output = command.args(args).current_dir(REPOSITORY).output().unwrap();
    Run { args: args.iter().map(|arg| (*arg).to_owned()).collect(), output }
}

impl Run {
    pub fn code(&self) -> i32 {
        self.output.status.code().expect("an exit code, not a signal")
    }

    pub fn out(&self) -> String {
        String::from_utf8_lossy(&self.output.stdout).into_owned()
    }

    pub fn err(&self) -> String {
        String::from_utf8_lossy(&self.output.stderr).into_owned()
    }

    pub fn json(&self) -> Value {
        serde_json::from_str(&self.out()).unwrap_or_else(|e| panic!("{e}: {}", self.err()))
    }

    /// The command and all that it printed, for a snapshot; a line of standard error has the mark
    /// `2>`.
    pub fn shown(&self) -> String {
        let mut text = format!("$ selftest {}\n{}", self.args.join(" "), self.out());
        for line in self.err().lines() {
            text += &format!("2> {line}\n");
        }
        text += &format!("(exit {})", self.code());
        let temporary = std::env::temp_dir().join(".tmp").display().to_string();
        let mut parts = text.split(&temporary);
        let mut shown = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            shown += "[tmp]";
            shown += part.trim_start_matches(|c: char| c.is_ascii_alphanumeric());
        }
        shown
    }
}
