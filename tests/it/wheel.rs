//! The wheel: built in a few seconds from what is compiled already, installed into a fresh
//! environment, and run.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::common::{Tree, gemm};

const MOST_BYTES: u64 = 40 << 20;

fn output(command: &mut Command) -> Output {
    let out = command.output().unwrap_or_else(|e| panic!("{command:?}: {e}"));
    let (said, err) = (String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr));
    assert!(out.status.success(), "{command:?}: {said}{err}");
    out
}

#[test]
#[ignore = "needs maturin and python3 with venv on the path"]
fn the_python_wheel_runs_validate_sanity_and_remeasure() {
    for tool in ["maturin", "python3"] {
        let found = Command::new(tool).arg("--version").output();
        assert!(found.is_ok(), "{tool} is not on the path (pip install maturin)");
    }
    let scratch = tempfile::TempDir::new().unwrap();
    let wheels = scratch.path().join("wheels");
    let target = Path::new(env!("CARGO_BIN_EXE_perfdb-gate")).ancestors().nth(2).unwrap();
    // The profile of the tests: what it stands on is compiled. Cargo's metadata are of all platforms, so on a fresh
    // machine it fetches the crates of the others.
    let mut build = Command::new("maturin");
    build.args(["build", "--profile", "dev", "--locked", "--compatibility", "linux"]);
    output(build.arg("--target-dir").arg(target).arg("--out").arg(&wheels));
    let wheel: Vec<PathBuf> =
        std::fs::read_dir(&wheels).unwrap().map(|f| f.unwrap().path()).collect();
    assert_eq!(wheel.len(), 1, "{wheel:?}");
    assert!(std::fs::metadata(&wheel[0]).unwrap().len() < MOST_BYTES);

    let venv = scratch.path().join("venv");
    let made = Command::new("python3").args(["-m", "venv"]).arg(&venv).output().unwrap();
    assert!(made.status.success(), "python3 makes no environments: install python3-venv");
    let mut install = Command::new(venv.join("bin/pip"));
    output(install.args(["install", "--quiet", "--no-index"]).arg(&wheel[0]));
    let gate = |args: &[&str]| {
        let mut command = Command::new(venv.join("bin/perfdb-gate"));
        let out = command.args(args).current_dir(env!("CARGO_MANIFEST_DIR")).output().unwrap();
        let said = String::from_utf8_lossy(&out.stdout).into_owned();
        (out.status.code().unwrap(), said, String::from_utf8_lossy(&out.stderr).into_owned())
    };
    // Rules, systems and charts are inside: the folder it runs in has a database alone.
    let (code, said, err) = gate(&["validate", "--system", "h200_sxm"]);
    assert_eq!((code, err.as_str()), (0, ""), "{said}");
    // What the binary of this checkout says, but for the time it takes.
    let told = |said: &str| said.rsplit_once(" in ").map(|(what, _)| what.to_owned());
    let mut checkout = Command::new(env!("CARGO_BIN_EXE_perfdb-gate"));
    let own = output(checkout.args(["validate", "--system", "h200_sxm"]));
    assert_eq!(told(&said), told(&String::from_utf8_lossy(&own.stdout)), "{said}");
    assert!(told(&said).is_some(), "{said}");
    let charts = scratch.path().join("charts").display().to_string();
    let tree = Tree::new();
    tree.gemm("gemm_perf.txt", gemm(&[(1, 0.5), (2, 0.6), (4, 0.7)]));
    tree.commit();
    tree.gemm("gemm_perf.txt", gemm(&[(1, 0.5), (2, 0.6), (4, 0.8)]));
    let root = tree.path().display().to_string();
    let (code, said, err) =
        gate(&["sanity", "--root", &root, "--base-ref", "main", "--output-dir", &charts]);
    assert!(code < 2 && Path::new(&charts).is_dir(), "{said}{err}");
    let (code, said, err) = gate(&["remeasure", "--table", "gemm"]);
    assert_eq!(code == 2, said.is_empty(), "without a GPU it says so and nothing else: {said}");
    assert!(code != 2 || err.lines().count() == 2, "a line and a hint: {err}");
}
