//! Points that collectors measure: a folder with collectors of our own, on a GPU that does not exist.

use std::path::PathBuf;

use perfdb_gate::database::catalog::Format;
use perfdb_gate::database::table::Table;
use serde_json::Value;

use crate::common::{self, Run, Tree, run};

/// PyTorch, as far as the runner uses it.
const TORCH: &str = "
float32 = 'float32'
bfloat16 = 'bfloat16'
set_default_dtype = set_default_device = lambda value: None
class version:
    cuda = '13.0'
class Tensor:
    def zero_(self): pass
zeros = lambda *args, **named: Tensor()
class cuda:
    get_device_name = staticmethod(lambda index: 'NVIDIA H200')
    synchronize = empty_cache = staticmethod(lambda: None)
    device_count = staticmethod(lambda: 2)
";

/// The common part of the fake collectors: they log their arguments and write rows.
const HELPER: &str = "
import os
HERE = os.path.dirname(os.path.abspath(__file__))
def log(*args):
    with open(os.path.join(HERE, 'calls'), 'a') as calls:
        print(*map(repr, args), file=calls)
def write(path, **row):
    new = not os.path.exists(path)
    with open(path, 'a') as rows:
        if new:
            print('framework,version,device', *row, sep=',', file=rows)
        print('VLLM,0.24.0,NVIDIA H200', *row.values(), sep=',', file=rows)
";

/// Attention: a row of `isl` / 10 ms, and every way to go wrong for some lengths.
const ATTENTION: &str = "
import os, sys, time
from collector.helper import log, write
os.system('echo a program prints')
compiled = set()
def run_attention_torch(batch, isl, heads, kv_heads, head_dim, fp8, context, window, *, perf_filename, device):
    log(batch, isl, heads, kv_heads, head_dim, fp8, context, window, os.path.basename(perf_filename), device)
    print('a collector prints')
    row = dict(op_name='context_attention', kernel_source='fa3', batch_size=batch, isl=isl, num_heads=heads,
               num_key_value_heads=kv_heads, head_dim=head_dim, beam_width=1, attn_dtype='bfloat16',
               kv_cache_dtype='fp8' if fp8 else 'bfloat16', step=0, window_size=window, latency=isl / 10)
    if isl == 101:
        os._exit(7)
    if isl == 102:
        time.sleep(60)
    if isl == 103:
        raise RuntimeError('CUDA error: an illegal memory access')
    if isl == 104:
        row['kernel_source'] = 'triton'
    if isl == 105:
        sys.exit('not this one')
    if isl == 106:
        row['isl'] = 7
    if isl == 108 and isl not in compiled:
        compiled.add(isl)
        time.sleep(2.2)
    write(perf_filename, **row)
    if isl == 107:
        with open(perf_filename, 'a') as torn:
            torn.write('VLLM,0.24')
";

const MOE: &str = "
from collector.helper import log, write
def get_moe_test_cases():
    case = lambda tokens, model: ['bfloat16', tokens, 64, 32, 2, 8, 1, 1, model, 'power_law', 1.2]
    return [case([1, 2], 'small'), case([4, 8], 'large')]
def run_moe_torch(*args, perf_filename, device):
    log(*args)
    write(perf_filename, op_name='moe', kernel_source='triton', moe_dtype=args[0], num_tokens=args[1][0],
          hidden_size=64, inter_size=32, topk=2, num_experts=8, moe_tp_size=1, moe_ep_size=1,
          distribution='power_law_1.2', latency=args[1][0] / 10)
";

const ATTENTION_HEAD: &str = "framework,version,device,op_name,kernel_source,batch_size,isl,num_heads,num_key_value_heads,head_dim,beam_width,attn_dtype,kv_cache_dtype,step,window_size,latency\n";

/// A tree with a table of attention for these lengths, and the folder of the collectors.
pub(super) fn tree(lengths: &[u32]) -> (Tree, PathBuf) {
    let tree = Tree::new();
    let row = |isl: &u32| {
        format!(
            "VLLM,0.24.0,NVIDIA H200,context_attention,fa3,2,{isl},8,4,64,1,bfloat16,bfloat16,0,0,{}\n",
            f64::from(*isl) / 10.0
        )
    };
    let rows: String = lengths.iter().map(row).collect();
    let table = "systems/data/h200_sxm/vllm/0.24.0/context_attention_perf.txt";
    tree.file(table, ATTENTION_HEAD.to_owned() + &rows);
    let folder = tree.file("collectors/torch.py", TORCH);
    for (path, text) in [
        ("collector/helper.py", HELPER),
        ("collector/vllm/collect_attn.py", ATTENTION),
        ("collector/vllm/collect_moe.py", MOE),
        ("vllm-0.24.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: vllm\nVersion: 0.24.0\n"),
    ] {
        tree.file(&format!("collectors/{path}"), text);
    }
    let folder = folder.parent().unwrap().to_owned();
    (tree, folder)
}

fn remeasure((tree, folder): &(Tree, PathBuf), more: &[&str]) -> Run {
    Run::of(command((tree, folder)).args(more)).unwrap()
}

/// The command that measures a tree with the collectors in a folder.
pub(super) fn command((tree, folder): (&Tree, &PathBuf)) -> std::process::Command {
    let mut command = common::command();
    command.args(["remeasure", "--runner", "collectors", "--root"]).arg(tree.path());
    command.arg("--collectors").arg(folder).args(["--format", "json", "--controls", "0"]);
    command
}

/// The measurements by the row's length.
fn point(document: &Value, isl: u64) -> &Value {
    let points = document["measurements"].as_array().unwrap();
    points.iter().find(|p| p["key"]["isl"] == isl).unwrap()
}

fn calls((_, folder): &(Tree, PathBuf)) -> Vec<String> {
    let calls = std::fs::read_to_string(folder.join("collector/calls")).unwrap();
    calls.lines().map(str::to_owned).collect()
}

#[test]
#[cfg(unix)]
fn a_collector_is_called_with_the_arguments_of_the_row() {
    let tree = tree(&[1, 2, 4, 8, 16, 32, 64]);
    let run = remeasure(&tree, &[]);
    let document = run.json();
    assert_eq!(run.code(), 0, "{} {}", run.err(), document["remeasure"]["tables"]);
    assert_eq!(document["remeasure"]["versions"]["vllm"], "0.24.0");
    let first = point(&document, 4);
    assert_eq!((&first["ratio"], &first["kernel_source"]), (&1.0.into(), &"fa3".into()));
    assert_eq!(first["samples_ms"].as_array().unwrap().len(), 3);
    let call = "2 4 8 4 64 False True 0 'context_attention_perf.txt' 'cuda:0'";
    assert!(calls(&tree).iter().any(|c| c == call), "{:?}", calls(&tree));
    assert!(!run.err().contains("a collector prints"), "{}", run.err());
    let verbose = remeasure(&tree, &["--verbose"]);
    assert!(verbose.err().contains("runner: a collector prints"), "{}", verbose.err());
}

/// The time that no further sample starts after begins with the first one, which may compile for longer.
#[test]
#[cfg(unix)]
fn a_slow_first_call_does_not_reduce_the_number_of_samples() {
    let run = remeasure(&tree(&[108]), &[]);
    let document = run.json();
    let samples = point(&document, 108)["samples_ms"].as_array().unwrap().len();
    assert_eq!(samples, 3, "{}", run.err());
}

/// A program stands in for `nvidia-smi`; a machine with a GPU names its own driver.
#[test]
#[cfg(unix)]
fn the_collectors_runner_reports_the_driver_version() {
    use std::os::unix::fs::PermissionsExt;
    let tree = tree(&[1, 2]);
    let program = tree.0.file("bin/nvidia-smi", "#!/bin/sh\necho 580.82.07\n");
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let path =
        format!("{}:{}", program.parent().unwrap().display(), std::env::var("PATH").unwrap());
    let run = Run::of(command((&tree.0, &tree.1)).env("PATH", path)).unwrap();
    let driver = run.json()["remeasure"]["versions"]["driver"].clone();
    let is_version = |text: &str| text.split('.').all(|part| part.parse::<u32>().is_ok());
    assert!(driver.as_str().is_some_and(is_version), "{driver}: {}", run.err());
}

#[test]
#[cfg(unix)]
fn arguments_without_a_column_are_read_from_the_collector_s_cases() {
    let tree = tree(&[1]);
    let head = "framework,version,device,op_name,kernel_source,moe_dtype,num_tokens,hidden_size,inter_size,topk,num_experts,moe_tp_size,moe_ep_size,distribution,latency\n";
    let row = |n: u32| {
        let ms = f64::from(n) / 10.0;
        format!(
            "VLLM,0.24.0,NVIDIA H200,moe,triton,bfloat16,{n},64,32,2,8,1,1,power_law_1.2,{ms}\n"
        )
    };
    let rows: String = [2, 8, 5].map(row).concat();
    tree.0.file("systems/data/h200_sxm/vllm/0.24.0/moe_perf.txt", head.to_owned() + &rows);
    let document = remeasure(&tree, &["--table", "moe"]).json();
    let calls = calls(&tree);
    for (tokens, model) in [(2, "small"), (8, "large")] {
        let call = format!("'bfloat16' [{tokens}] 64 32 2 8 1 1 '{model}' 'power_law' 1.2");
        assert!(calls.contains(&call), "{call}: {calls:?}");
    }
    let points = document["measurements"].as_array().unwrap();
    let none = points.iter().find(|p| p["key"]["num_tokens"] == 5).unwrap();
    assert_eq!(none["note"], "LookupError: no case of get_moe_test_cases has these arguments");
}

#[test]
#[cfg(unix)]
fn a_failing_collector_loses_only_its_own_point() {
    let tree = tree(&[1, 2, 4, 8, 16, 32, 101, 102, 103, 104, 105, 106, 107]);
    let run = remeasure(&tree, &["--point-timeout", "3"]);
    let document = run.json();
    assert_eq!(run.code(), 0, "{} {}", run.err(), document["remeasure"]["tables"]);
    let note = |isl| point(&document, isl)["note"].as_str().unwrap().to_owned();
    insta::assert_snapshot!([101, 102, 103, 105, 106].map(note).join("\n"));
    let other = point(&document, 104);
    assert_eq!((&other["verdict"], &other["kernel_source"]), (&"proxy".into(), &"triton".into()));
    assert_eq!(other["proxy"], "ran triton instead of fa3");
    // A torn row beside the whole one does not matter.
    assert_eq!(point(&document, 107)["ratio"], 1.0);
    assert_eq!(document["remeasure"]["tables"][0]["judged"], 7);
    let notes = document["remeasure"]["notes"].to_string();
    assert!(notes.contains("started again"), "{notes}");
}

/// The rows of fp8 need a package that is missing.
#[test]
#[cfg(unix)]
fn a_slice_that_cannot_be_measured_does_not_pass_and_is_not_compared() {
    let tree = tree(&[1]);
    let row = |isl: u32| {
        let cache = if isl <= 7 { "bfloat16" } else { "fp8" };
        let ms = f64::from(isl) / 10.0;
        format!(
            "VLLM,0.24.0,NVIDIA H200,context_attention,fa3,2,{isl},8,4,64,1,bfloat16,{cache},0,0,{ms}\n"
        )
    };
    let rows: String = (1..=27).map(row).collect();
    let table = "systems/data/h200_sxm/vllm/0.24.0/context_attention_perf.txt";
    tree.0.file(table, ATTENTION_HEAD.to_owned() + &rows);
    let import = "    if fp8:\n        raise ModuleNotFoundError(\"No module named 'flashinfer'\")\n    log(batch";
    let attention = ATTENTION.replace("    log(batch", import);
    tree.0.file("collectors/collector/vllm/collect_attn.py", attention);
    let run = remeasure(&tree, &["--sample", "14"]);
    let table = run.json()["remeasure"]["tables"][0].clone();
    assert_eq!((run.code(), &table["judged"], &table["points"]), (3, &7.into(), &14.into()));
    insta::assert_snapshot!(table["reasons"][0].as_str().unwrap(), @"no point of context_attention fa3 bfloat16 fp8 could be measured (20 of 27 rows): ModuleNotFoundError: No module named 'flashinfer'");
    let run = remeasure(&tree, &["--sample", "14", "--where", "kv_cache_dtype = 'bfloat16'"]);
    let table = &run.json()["remeasure"]["tables"][0];
    assert_eq!((&table["verdict"], &table["covered_rows"]), (&"PASS".into(), &7.into()), "{table}");
    assert_eq!((&table["rows"], &table["table_rows"]), (&7.into(), &27.into()));
}

/// Short units of one call scatter, whoever measures them.
#[test]
#[cfg(unix)]
fn rows_of_very_short_calls_are_not_sampled_for_collectors() {
    let (short, other) = (super::short_calls(&[0.004, 0.019, 0.021, 0.5]), tree(&[1]));
    let document = remeasure(&(short, other.1.clone()), &["--table", "mla_bmm"]).json();
    let table = &document["remeasure"]["tables"][0];
    assert_eq!((&table["proxies"], &table["points"]), (&2.into(), &2.into()), "{table}");
}

#[test]
#[cfg(unix)]
fn one_collector_call_measures_all_rows_of_a_group() {
    let tree = tree(&[1, 2, 4, 8, 16, 32, 64]);
    let runners = "vllm:
  requires: vllm==0.24.0
  calls:
  - tables: [context_attention_perf]
    run: collector.vllm.group:run
    args: [batch_size]
    group: [batch_size]
";
    let folder = tree.0.file("rules/runners.yaml", runners);
    let rules = folder.parent().unwrap().display().to_string();
    let group = "
import os
from collector.helper import log
from collector.vllm.collect_attn import run_attention_torch
def run(batch, *, perf_filename, device):
    for isl in (1, 2, 4, 8, 16, 32, 64):
        run_attention_torch(batch, isl, 8, 4, 64, False, True, 0, perf_filename=perf_filename, device=device)
";
    tree.0.file("collectors/collector/vllm/group.py", group);
    let document = remeasure(&tree, &["--rules", &rules]).json();
    let table = &document["remeasure"]["tables"][0];
    assert_eq!((&table["judged"], &table["verdict"]), (&7.into(), &"PASS".into()), "{table}");
    assert_eq!(calls(&tree).len(), 7, "one call");
}

/// A function that one process for each GPU calls, and that ends its processes, as those of all-reduce do.
#[test]
#[cfg(unix)]
fn a_collector_function_is_called_by_several_processes_together() {
    let tree = tree(&[1, 2, 4, 8, 16, 32, 64]);
    let rules = |processes: u32| {
        let runners = format!(
            "vllm:
  requires: vllm==0.24.0
  calls:
  - tables: [context_attention_perf]
    run: collector.vllm.together:run
    args: [batch_size]
    processes: {processes}
    group: [batch_size]
"
        );
        let file = tree.0.file(&format!("rules{processes}/runners.yaml"), runners);
        file.parent().unwrap().display().to_string()
    };
    let together = "
import os
from collector.helper import log
from collector.vllm.collect_attn import run_attention_torch
def run(batch, *, perf_filename):
    log(*(os.environ[name] for name in ('RANK', 'LOCAL_RANK', 'WORLD_SIZE', 'MASTER_ADDR')))
    for isl in (1, 2, 4, 8, 16, 32, 64):
        if os.environ['RANK'] == '0':
            run_attention_torch(batch, isl, 8, 4, 64, False, True, 0, perf_filename=perf_filename, device='cuda:0')
    os._exit(0)
";
    tree.0.file("collectors/collector/vllm/together.py", together);
    let four = remeasure(&tree, &["--rules", &rules(4)]);
    let run = remeasure(&tree, &["--rules", &rules(2)]);
    let document = run.json();
    let table = &document["remeasure"]["tables"][0];
    assert_eq!((&table["judged"], &table["verdict"]), (&7.into(), &"PASS".into()), "{}", run.err());
    let said =
        "the selection contains no measurable row of 1 table: 4 GPUs needed, 2 here (7 rows)";
    assert_eq!((four.code(), four.err().contains(said)), (2, true), "{}", four.err());
    let mut ranks = calls(&tree);
    ranks.retain(|call| call.contains("localhost"));
    ranks.sort();
    assert_eq!(ranks, ["'0' '0' '2' 'localhost'", "'1' '1' '2' 'localhost'"]);
}

/// The collectors are in a repository, and the sidecar names a commit of it.
#[test]
#[cfg(unix)]
fn a_failed_table_names_the_changed_files_of_its_collector() {
    let tree = tree(&[1, 2, 4, 8, 16, 32, 64]);
    tree.0.file("collectors/collector/unused.py", "");
    let commit = tree.0.commit();
    let meta = format!(
        "schema_version: 1\nprovenance: collected\nruntime: {{framework: vllm, version: 0.24.0}}\ntables:\n  context_attention_perf: {{status: complete, collector_ref: {commit}}}\n"
    );
    tree.0.file("systems/data/h200_sxm/vllm/0.24.0/collection_meta.yaml", meta.clone());
    // The table says that everything takes half the time.
    let rows = [1, 2, 4, 8, 16, 32, 64].map(|isl| {
        let half = f64::from(isl) / 20.0;
        format!("VLLM,0.24.0,NVIDIA H200,context_attention,fa3,2,{isl},8,4,64,1,bfloat16,bfloat16,0,0,{half}\n")
    });
    let table = ATTENTION_HEAD.to_owned() + &rows.concat();
    tree.0.file("systems/data/h200_sxm/vllm/0.24.0/context_attention_perf.txt", table);
    let reason = || {
        let document = remeasure(&tree, &[]).json();
        let message = document["findings"][0]["message"].as_str().unwrap().to_owned();
        message.rsplit("; ").next().unwrap().replace(&commit[..9], "COMMIT")
    };
    let attention = ATTENTION.replace("latency=isl / 10", "latency=isl / 20");
    let mut said = Vec::new();
    for (path, text) in [
        ("unused.py", "changed = True\n"),
        (
            "helper.py",
            &HELPER.replace(
                "row.values()",
                "[v * 2 if n == 'latency' else v for n, v in row.items()]",
            ),
        ),
        ("vllm/collect_attn.py", &attention),
    ] {
        tree.0.file(&format!("collectors/collector/{path}"), text);
        said.push(reason());
    }
    let unknown = meta.replace(&commit, "unknown");
    tree.0.file("systems/data/h200_sxm/vllm/0.24.0/collection_meta.yaml", unknown);
    said.push(reason());
    insta::assert_snapshot!(said.join("\n"));
}

#[test]
#[cfg(unix)]
fn rows_faster_than_the_host_can_launch_are_not_judged() {
    let tree = tree(&[1, 2, 4, 8, 16, 32, 64]);
    // Any time is below that of as many launches.
    let runners = "vllm:
  requires: vllm==0.24.0
  calls:
  - tables: [context_attention_perf]
    run: collector.vllm.collect_attn:run_attention_torch
    args: [batch_size, isl, num_heads, num_key_value_heads, head_dim, false, true, window_size]
    eager: {rows: isl <= 4, launches: 4000000000}
";
    let rules = tree.0.file("rules/runners.yaml", runners);
    let rules = rules.parent().unwrap().display().to_string();
    let document = remeasure(&tree, &["--rules", &rules]).json();
    let table = &document["remeasure"]["tables"][0];
    assert_eq!((&table["host_bound"], &table["judged"]), (&3.into(), &4.into()), "{table}");
    assert_eq!(point(&document, 4)["verdict"], "host-bound");
}

#[test]
#[cfg(unix)]
fn another_version_or_folder_of_collectors_is_an_error_with_a_hint() {
    let other = tree(&[1]);
    std::fs::remove_dir_all(other.1.join("vllm-0.24.0.dist-info")).unwrap();
    let absent = remeasure(&other, &[]);
    let meta = "Metadata-Version: 2.1\nName: vllm\nVersion: 0.19.0\n";
    other.0.file("collectors/vllm-0.19.0.dist-info/METADATA", meta);
    let older = remeasure(&other, &[]);
    let folder = (tree(&[1]).0, other.0.path().join("systems"));
    let nothing = remeasure(&folder, &[]);
    assert_eq!([&absent, &older, &nothing].map(Run::code), [2, 2, 2]);
    let said = |run: &Run| {
        let lines: Vec<String> = run.err().lines().map(str::to_owned).collect();
        common::snapshot::redact(&lines.join("\n"))
    };
    insta::assert_snapshot!([&absent, &older, &nothing].map(said).join("\n"));
}

#[test]
#[cfg(unix)]
fn a_rerun_list_becomes_a_table_with_the_kernels_that_ran() {
    let tree = tree(&[1]);
    let point = |isl: u32| {
        format!(
            "  - key: {{framework: VLLM, op_name: context_attention, kernel_source: fa3, batch_size: 2, isl: {isl}, num_heads: 8, num_key_value_heads: 4, head_dim: 64, beam_width: 1, attn_dtype: bfloat16, kv_cache_dtype: bfloat16, step: 0, window_size: 0}}\n    reason: synthetic\n"
        )
    };
    let list = format!(
        "schema: perfdb-gate/rerun/v1\nabout: synthetic\noperations:\n- system: h200_sxm\n  family: attention\n  backend: vllm\n  version: 0.24.0\n  table: context_attention_perf\n  points:\n{}",
        [4, 104, 105].map(point).concat()
    );
    let list = tree.0.file("rerun.yaml", list).display().to_string();
    let (folder, out) = (tree.1.display().to_string(), tree.0.path().join("out"));
    let mut args = vec!["measure", "--plan", &list, "--runner", "collectors"];
    let out_name = out.display().to_string();
    args.extend(["--collectors", &folder, "--output-dir", &out_name]);
    let measured = run(&args);
    assert_eq!(measured.code(), 3, "{}{}", measured.out(), measured.err());
    assert!(measured.out().contains("2 of 3 planned points"), "{}", measured.out());
    let dir = out.join("h200_sxm/attention/vllm/0.24.0");
    let bytes = std::fs::read(dir.join("context_attention_perf.parquet")).unwrap();
    let table = Table::decode(&bytes, Format::Parquet, &|_| false).unwrap();
    let kernels = |row| table.column("kernel_source").unwrap().text(row).unwrap().to_owned();
    assert_eq!([kernels(0), kernels(1)], ["fa3", "triton"]);
    assert!(dir.join("collection_meta.yaml").exists());
    assert!(dir.join("context_attention_perf.samples.jsonl").exists());
}
