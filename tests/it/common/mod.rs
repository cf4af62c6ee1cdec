//! Temporary databases, and runs of the binary on them.

pub mod example;
pub mod json_schema;
pub mod layout;
pub mod parquet;
pub mod planner;
pub mod snapshot;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use clap::ValueEnum;
use perfdb_gate::report::ReportFormat;
use serde_json::Value;
use tempfile::TempDir;

/// The YAML of the system `h200_sxm`, as it is embedded in the binary.
pub const H200: &str = include_str!("../../../systems/h200_sxm.yaml");

/// The bytes of a shipped table in Parquet, measured on a real H200.
pub const SHIPPED: &[u8] =
    include_bytes!("../../../data/h200_sxm/gemm/torch/2.11.0/gemm_perf.parquet");

/// The path of the binary under test.
pub const BINARY: &str = env!("CARGO_BIN_EXE_perfdb-gate");

/// The header line of a gemm table in text form.
pub const GEMM: &str = "framework,version,device,op_name,kernel_source,gemm_dtype,m,n,k,latency\n";

/// Returns a gemm table in text form with one synthetic row per pair of `m` and latency in ms.
pub fn gemm(rows: &[(u64, f64)]) -> String {
    let line = |(m, latency): &(u64, f64)| {
        format!("VLLM,0.24.0,NVIDIA H200,gemm,cutlass,bfloat16,{m},128,128,{latency}\n")
    };
    GEMM.to_owned() + &rows.iter().map(line).collect::<String>()
}

/// Returns the same table as [`gemm`], in Parquet.
pub fn gemm_parquet(rows: &[(u64, f64)]) -> Vec<u8> {
    use perfdb_gate::database::table::{Column, encode};
    let text = |name: &str, value: &str| {
        (name.to_owned(), Column::texts(rows.iter().map(|_| Some(value))))
    };
    let int = |name: &str, values: Vec<i64>| {
        (name.to_owned(), Column::Int { values: values.into(), nulls: None })
    };
    let latency = rows.iter().map(|(_, latency)| *latency).collect();
    encode(&[
        text("framework", "VLLM"),
        text("version", "0.24.0"),
        text("device", "NVIDIA H200"),
        text("op_name", "gemm"),
        text("kernel_source", "cutlass"),
        text("gemm_dtype", "bfloat16"),
        int("m", rows.iter().map(|(m, _)| *m as i64).collect()),
        int("n", vec![128; rows.len()]),
        int("k", vec![128; rows.len()]),
        ("latency".to_owned(), Column::Float { values: latency, nulls: None }),
    ])
    .expect("parquet")
}

/// Returns the names of the commands that the program's help lists.
pub fn commands() -> Vec<String> {
    let help = run(&["--help"]).out();
    let (_, list) = help.split_once("\nCheck:\n").expect("a group of commands");
    let (list, _) = list.split_once("\nOptions:\n").expect("the end of the groups");
    // A line with a larger indent continues the description above it.
    let names = list.lines().filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    names.filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect()
}

/// Returns the names of the report formats for which `is_wanted` returns true.
pub fn all_formats(is_wanted: impl Fn(ReportFormat) -> bool) -> Vec<String> {
    let formats = ReportFormat::value_variants().iter().filter(|format| is_wanted(**format));
    let names = formats.filter_map(ValueEnum::to_possible_value);
    names.map(|name| name.get_name().to_owned()).collect()
}

/// Returns the names of the formats that describe one state of a database: all but two.
pub fn report_formats() -> Vec<String> {
    assert_eq!(all_formats(ReportFormat::compares), ["stages", "audit"]);
    all_formats(|format| !format.compares())
}

/// Returns a report of `remeasure` in JSON whose listed rows of a table measured three times the recorded latency.
pub fn remeasured(table: &str, rows: &[usize]) -> String {
    let row = |row: &usize| serde_json::json!({"path": table, "row": row, "key": {}, "ratio": 3.0, "verdict": "beyond"});
    let measurements: Vec<Value> = rows.iter().map(row).collect();
    serde_json::json!({"schema": "perfdb-gate/v1", "measurements": measurements}).to_string()
}

/// A temporary folder with a database, deleted at the end of the test.
pub struct Tree(TempDir);

impl Tree {
    /// Creates a folder with the YAML of `h200_sxm`, whose data folder is `systems/data/h200_sxm`.
    pub fn new() -> Self {
        let tree = Self(TempDir::new().expect("a temporary folder"));
        tree.file("systems/h200_sxm.yaml", H200.replace("../data/", "data/"));
        tree
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// Writes a file and creates its folders. Returns its absolute path.
    pub fn file(&self, path: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.path().join(path);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
        std::fs::write(&path, bytes).expect("a file");
        path
    }

    /// Writes a file of version 0.24.0 of vllm on `h200_sxm` in the flat layout. Returns its absolute path.
    pub fn gemm(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        self.file(&format!("systems/data/h200_sxm/vllm/0.24.0/{name}"), bytes)
    }

    /// Runs git in the folder and returns its output. A failure is a panic.
    pub fn git(&self, args: &[&str]) -> String {
        let out = Command::new("git")
            .args(["-c", "user.name=t", "-c", "user.email=t@t", "-c", "init.defaultBranch=main"])
            .args(args)
            .current_dir(self.path())
            .output()
            .expect("git");
        assert!(out.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&out.stderr));
        String::from_utf8_lossy(&out.stdout).trim().to_owned()
    }

    /// Commits all files and returns the commit. Creates the repository if there is none yet.
    pub fn commit(&self) -> String {
        if !self.path().join(".git").exists() {
            self.git(&["init", "-q"]);
        }
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "--allow-empty", "-m", "synthetic"]);
        self.git(&["rev-parse", "HEAD"])
    }

    /// Moves a file or folder, and creates the folders of its new path.
    pub fn rename(&self, from: &str, to: &str) {
        let to = self.0.path().join(to);
        std::fs::create_dir_all(to.parent().expect("a parent")).expect("folders");
        std::fs::rename(self.0.path().join(from), to).expect("a move");
    }

    /// Removes a file.
    pub fn remove(&self, path: &str) {
        std::fs::remove_file(self.0.path().join(path)).expect("a file");
    }

    /// Runs `sanity` on the folder, with a report in JSON.
    pub fn sanity(&self, args: &[&str]) -> Run {
        let root = self.path().display().to_string();
        let mut all = vec!["sanity", "--root", &root, "--format", "json"];
        all.extend(args);
        run(&all)
    }

    /// Runs `validate` on the folder.
    pub fn validate(&self, args: &[&str]) -> Run {
        let root = self.path().display().to_string();
        let mut all = vec!["validate", "--root", &root];
        all.extend(args);
        run(&all)
    }
}

/// A finished run of the binary: its arguments, output and exit code.
pub struct Run {
    args: Vec<String>,
    output: Output,
}

/// The environment variables of the tests that the binary receives.
const ENVIRONMENT: [&str; 4] = ["HOME", "PATH", "SystemRoot", "TMPDIR"];

/// Returns the command of the binary without the user's environment, so that a terminal, a CI system or a proxy around
/// the tests does not change its output.
pub fn command() -> Command {
    let mut command = Command::new(BINARY);
    command.env_clear().env("GIT_CONFIG_GLOBAL", "/dev/null").env("PERFDB_GATE_PLANNER", "none");
    command.envs(ENVIRONMENT.iter().filter_map(|name| Some((name, std::env::var_os(name)?))));
    command
}

/// Runs the binary with arguments.
pub fn run(args: &[&str]) -> Run {
    Run::of(command().args(args)).expect("a run")
}

impl Run {
    /// Runs a command that was prepared by [`command`].
    pub fn of(command: &mut Command) -> std::io::Result<Self> {
        let output = command.output()?;
        let args = command.get_args().map(|a| a.to_string_lossy().into_owned()).collect();
        Ok(Self { args, output })
    }

    pub fn code(&self) -> i32 {
        self.output.status.code().expect("an exit code, not a signal")
    }

    pub fn out(&self) -> String {
        String::from_utf8_lossy(&self.output.stdout).into_owned()
    }

    pub fn err(&self) -> String {
        String::from_utf8_lossy(&self.output.stderr).into_owned()
    }

    /// Parses the JSON report, and sets its elapsed time to 0.
    pub fn json(&self) -> Value {
        let mut json: Value =
            serde_json::from_str(&self.out()).unwrap_or_else(|e| panic!("{e}: {}", self.err()));
        json["summary"]["elapsed_ms"] = 0.into();
        json
    }

    /// Returns one line per finding: `rule severity path`.
    pub fn findings(&self) -> Vec<String> {
        let json = self.json();
        let text = |f: &Value, name: &str| f[name].as_str().unwrap_or_default().to_owned();
        let findings = json["findings"].as_array().expect("findings");
        findings
            .iter()
            .map(|f| format!("{} {} {}", text(f, "rule"), text(f, "severity"), text(f, "path")))
            .collect()
    }

    /// Returns one line per changed table, `status path +added -removed ~changed` with `?` for an unknown number of rows,
    /// and then `status path` for every other changed file. Paths are relative to `systems/data/h200_sxm`.
    pub fn diff(&self) -> Vec<String> {
        let json = self.json();
        let short = |v: &Value| {
            let path = v.as_str().expect("a path");
            path.rsplit_once("systems/data/h200_sxm/").map_or(path, |(_, p)| p).to_owned()
        };
        let count = |v: &Value| v.as_u64().map_or("?".to_owned(), |n| n.to_string());
        let tables = json["diff"].as_array().expect("a diff").iter().map(|t| {
            let was = t["old_path"].as_str().map(|_| format!(" was {}", short(&t["old_path"])));
            format!(
                "{} {} +{} -{} ~{}{}",
                t["status"].as_str().expect("a status"),
                short(&t["path"]),
                count(&t["added"]),
                count(&t["removed"]),
                count(&t["changed"]),
                was.unwrap_or_default()
            )
        });
        let files = json["files"].as_array().expect("files").iter();
        let files =
            files.map(|f| format!("{} {}", f["status"].as_str().unwrap(), short(&f["path"])));
        tables.chain(files).collect()
    }

    /// Returns the only finding of a rule. None or several are a panic.
    pub fn finding(&self, rule: &str) -> Value {
        let json = self.json();
        let found: Vec<&Value> = json["findings"]
            .as_array()
            .expect("findings")
            .iter()
            .filter(|f| f["rule"] == rule)
            .collect();
        assert_eq!(found.len(), 1, "{rule} in {json:#}");
        found[0].clone()
    }
}
