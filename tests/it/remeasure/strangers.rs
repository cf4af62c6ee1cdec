//! Code of a judged checkout: nothing that perfdb-gate starts imports or calls it.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;

use super::collectors;
use crate::common::{self, Run, Tree};

/// Modules that the runners, collectors or Python itself import.
const MODULES: [&str; 12] = [
    "csv",
    "glob",
    "json",
    "tempfile",
    "socket",
    "torch",
    "helper",
    "collector/__init__",
    "aisimulate_core/__init__",
    "aiconfigurator_core/__init__",
    "sitecustomize",
    "usercustomize",
];

/// A collector that starts an interpreter which is not isolated, as some collectors do.
const STARTS: &str = "
import os, subprocess, sys
from collector.vllm.collect_attn import run_attention_torch
def run(batch, *, perf_filename, device='cuda:0'):
    subprocess.run([sys.executable, '-c', 'import csv, glob, json'], check=True)
    for isl in (1, 2, 4, 8, 16, 32, 64):
        if os.environ.get('RANK', '0') == '0':
            run_attention_torch(batch, isl, 8, 4, 64, False, True, 0, perf_filename=perf_filename, device=device)
";

/// A checkout whose modules leave a mark when they run, and the caller's own folder beside it.
struct Checkout {
    judged: Tree,
    caller: Tree,
}

impl Checkout {
    fn new() -> Self {
        let (caller, _) = collectors::tree(&[1, 2, 4, 8, 16, 32, 64]);
        let judged = Tree::new();
        let table = "systems/data/h200_sxm/vllm/0.24.0/context_attention_perf.txt";
        judged.file(table, std::fs::read(caller.path().join(table)).unwrap());
        let mark = caller.path().join("ran").display().to_string();
        let users = (8..20).map(|minor| format!("base/lib/python3.{minor}/site-packages/"));
        for folder in ["".to_owned(), "lib/".to_owned()].into_iter().chain(users) {
            for module in MODULES {
                let leaves = format!("open({mark:?}, 'a').write('{folder}{module} ')\n");
                judged.file(&format!("{folder}{module}.py"), leaves);
            }
        }
        for program in ["python3", "nvidia-smi", "sh"] {
            let path = judged.file(program, format!("#!/bin/sh\necho {program} >> {mark}\n"));
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
        }
        judged.commit();
        caller.file("collectors/collector/vllm/starts.py", STARTS);
        Self { judged, caller }
    }

    fn in_judged(&self, path: &str) -> String {
        self.judged.path().join(path).display().to_string()
    }

    fn in_callers(&self, path: &str) -> String {
        self.caller.path().join(path).display().to_string()
    }

    /// Lets a command run in the checkout, with an environment that names it in every way.
    fn lead(&self, command: &mut Command) {
        let link = self.caller.path().join("link");
        if !link.exists() {
            std::os::unix::fs::symlink(self.judged.path().join("lib"), &link).unwrap();
        }
        let (top, lib) = (self.in_judged(""), self.in_judged("systems/../lib"));
        let named = format!(":.:lib:/nowhere:{top}:{lib}:{}", link.display());
        command.current_dir(self.judged.path()).env("PYTHONPATH", named);
        command.env("PYTHONUSERBASE", self.in_judged("base"));
        command.env("PATH", format!(".:{}", std::env::var("PATH").unwrap()));
    }

    /// The command with the caller's collectors, which a relative path names.
    fn command(&self, arguments: &[&str]) -> Command {
        let beside = self.caller.path().file_name().unwrap().to_owned();
        let mut command = common::command();
        command.args(arguments).args(["--runner", "collectors", "--collectors"]);
        command.arg(PathBuf::from("..").join(beside).join("collectors"));
        command.current_dir(self.judged.path()).env_remove("PYTHONPATH");
        command
    }

    fn remeasure(&self, more: &[&str]) -> Command {
        let mut command = self.command(&["remeasure", "--format", "json", "--controls", "0"]);
        command.args(more);
        command
    }

    /// A folder of rules of the caller, by which a function measures attention.
    fn rules(&self, run: &str, more: &str) -> String {
        self.caller.file("rules/runners.yaml", runners(run, more));
        self.in_callers("rules")
    }

    /// The modules of the checkout that ran.
    fn ran(&self) -> String {
        std::fs::read_to_string(self.caller.path().join("ran")).unwrap_or_default()
    }
}

fn runners(run: &str, more: &str) -> String {
    format!(
        "vllm:\n  requires: vllm==0.24.0\n  calls:\n  - tables: [context_attention_perf]\n    \
         run: {run}\n    args: [batch_size]\n    group: [batch_size]\n{more}"
    )
}

fn passes(run: &Run) {
    let table = &run.json()["remeasure"]["tables"][0];
    assert_eq!((run.code(), table["judged"].as_u64()), (0, Some(7)), "{} {table}", run.err());
}

#[test]
fn python_without_isolation_imports_modules_of_the_checkout() {
    let checkout = Checkout::new();
    let mut python = Command::new("python3");
    python.args(["-c", "import csv, torch, aisimulate_core"]);
    checkout.lead(&mut python);
    python.output().unwrap();
    assert_eq!(checkout.ran(), "python3\n");
    python.env("PATH", std::env::var("PATH").unwrap()).output().unwrap();
    for module in ["csv", "torch", "aisimulate_core/__init__", "sitecustomize", "usercustomize"] {
        assert!(checkout.ran().contains(module), "{module}: {}", checkout.ran());
    }
}

#[test]
fn the_runner_of_collectors_imports_nothing_of_the_checkout() {
    let checkout = Checkout::new();
    passes(&Run::of(&mut checkout.remeasure(&[])).unwrap());
    let mut led = checkout.remeasure(&[]);
    checkout.lead(&mut led);
    let run = Run::of(&mut led).unwrap();
    passes(&run);
    for left in [".", "lib", &checkout.in_judged("systems/../lib"), &checkout.in_callers("link")] {
        let said = format!("PYTHONPATH: {left} is left out");
        assert!(run.err().contains(&said), "{said}: {}", run.err());
    }
    assert_eq!(checkout.ran(), "");
}

#[test]
fn interpreters_that_collectors_start_import_nothing_of_the_checkout() {
    let checkout = Checkout::new();
    for more in ["", "    processes: 2\n"] {
        let rules = checkout.rules("collector.vllm.starts:run", more);
        let mut command = checkout.remeasure(&["--rules", &rules]);
        checkout.lead(&mut command);
        passes(&Run::of(&mut command).unwrap());
        assert_eq!(checkout.ran(), "", "{more}");
    }
}

#[test]
fn measuring_a_rerun_list_imports_nothing_of_the_checkout() {
    let checkout = Checkout::new();
    let point = "key: {framework: VLLM, op_name: context_attention, kernel_source: fa3, batch_size: 2, isl: 4, num_heads: 8, num_key_value_heads: 4, head_dim: 64, beam_width: 1, attn_dtype: bfloat16, kv_cache_dtype: bfloat16, step: 0, window_size: 0}";
    let list = format!(
        "schema: perfdb-gate/rerun/v1\nabout: synthetic\noperations:\n- {{system: h200_sxm, family: attention, backend: vllm, version: 0.24.0, table: context_attention_perf, points: [{{{point}, reason: synthetic}}]}}\n"
    );
    checkout.caller.file("rerun.yaml", list);
    let list = checkout.in_callers("rerun.yaml");
    // The folder of the output does not exist yet.
    let mut command = checkout.command(&["measure", "--plan", &list, "--output-dir", "new/data"]);
    checkout.lead(&mut command);
    let run = Run::of(&mut command).unwrap();
    assert_eq!((run.code(), checkout.ran().as_str()), (0, ""), "{}", run.err());
    assert!(run.err().contains("PYTHONPATH: lib is left out"), "{}", run.err());
}

#[test]
fn the_planner_s_program_imports_nothing_of_the_checkout() {
    let checkout = Checkout::new();
    let mut command = common::command();
    command.args(["impact", "--planner", "python3", "--base-ref", "HEAD"]);
    checkout.lead(&mut command);
    let run = Run::of(&mut command).unwrap();
    assert_eq!(checkout.ran(), "", "{} {}", run.out(), run.err());
}

#[test]
fn absolute_folders_of_the_caller_s_pythonpath_are_kept() {
    let checkout = Checkout::new();
    checkout.caller.rename("collectors/torch.py", "lib/torch.py");
    let absent = Run::of(&mut checkout.remeasure(&[])).unwrap();
    assert_eq!(absent.code(), 2, "{}", absent.err());
    passes(
        &Run::of(checkout.remeasure(&[]).env("PYTHONPATH", checkout.in_callers("lib"))).unwrap(),
    );
    // The caller names the collectors of the judged repository itself, and a folder beside them.
    let tree = collectors::tree(&[1, 2, 4, 8, 16, 32, 64]);
    tree.0.rename("collectors/torch.py", "collectors/src/torch.py");
    tree.0.commit();
    let mut command = collectors::command((&tree.0, &tree.1));
    passes(&Run::of(command.env("PYTHONPATH", tree.1.join("src"))).unwrap());
}

#[test]
fn runners_declared_in_the_judged_tree_are_not_called() {
    let checkout = Checkout::new();
    let mark = checkout.in_callers("ran");
    let marks = format!("def run(batch, **named): open({mark:?}, 'a').write('called')\n");
    checkout.caller.file("collectors/collector/vllm/marks.py", marks);
    let own = ".perfdb-gate/rules/runners.yaml";
    for text in [runners("collector.vllm.marks:run", ""), "[".to_owned()] {
        checkout.judged.file(own, text);
        let run = Run::of(&mut checkout.remeasure(&[])).unwrap();
        passes(&run);
        let notes = run.json()["remeasure"]["notes"].to_string();
        assert!(notes.contains(&format!("{own} is not honoured")), "{notes}");
        assert_eq!(checkout.ran(), "");
        let none = Run::of(&mut checkout.remeasure(&["--where", "isl = 3"])).unwrap();
        assert!(none.err().contains("is not honoured"), "{}", none.err());
    }
    // The caller may name it.
    let rules = checkout.rules("collector.vllm.marks:run", "");
    Run::of(&mut checkout.remeasure(&["--rules", &rules])).unwrap();
    assert!(checkout.ran().starts_with("called"));
}

#[test]
fn a_runner_calls_only_collector_modules_and_writes_only_into_its_folder() {
    let checkout = Checkout::new();
    for (run, more, why) in [
        ("os:system", "", "below `collector.`"),
        ("collector.vllm.collect_attn:run", "    file: ../a.txt\n", "without a folder"),
    ] {
        let rules = checkout.rules(run, more);
        let run = Run::of(&mut checkout.remeasure(&["--rules", &rules])).unwrap();
        assert_eq!(run.code(), 2);
        assert!(run.err().contains(why), "{}", run.err());
    }
}
