//! Inputs of `n` and of `2n` rows, columns, files or names: twice the input takes at most about twice the memory and time,
//! or both are refused with the limit in the sentence.

use std::io::Read;
use std::process::Stdio;

use crate::common::snapshot::message;
use crate::common::{GEMM, Tree, command, gemm};

/// The memory in KiB that no run on damaged or hostile input takes: 1.5 GB.
const MOST_MEMORY: i64 = 1_500_000;

/// The memory and time that a run of the program used.
struct Usage {
    /// The peak of its memory in KiB; not less than that of these tests when they start it.
    memory: i64,
    /// The CPU time of the run, in ms.
    time: i64,
}

#[allow(unsafe_code, reason = "the peak memory of a child has no safe interface")]
fn usage_of(call: impl FnOnce(*mut libc::rusage)) -> Usage {
    // SAFETY: the type is plain numbers, for which zeros are valid.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    call(&raw mut usage);
    let time = usage.ru_utime.tv_sec * 1000 + usage.ru_utime.tv_usec / 1000;
    // The unit of macOS is the byte.
    let memory = usage.ru_maxrss / if cfg!(target_os = "macos") { 1024 } else { 1 };
    Usage { memory, time }
}

/// Holds the memory of every run so far of these tests below the limit.
#[allow(unsafe_code, reason = "the peak memory of children has no safe interface")]
pub(super) fn assert_small() {
    // SAFETY: the pointer is valid during the call.
    let usage = usage_of(|to| unsafe {
        libc::getrusage(libc::RUSAGE_CHILDREN, to);
    });
    assert!(usage.memory < MOST_MEMORY, "a run took {} KiB", usage.memory);
}

/// Runs the binary with one thread on a tree, and returns what it used and its report.
#[allow(unsafe_code, reason = "the peak memory of a child has no safe interface")]
#[allow(clippy::zombie_processes, reason = "`wait4` waits")]
fn used(tree: &Tree, args: &[&str]) -> (Usage, String) {
    let mut command = command();
    command.args(args).args(["--format", "json", "--threads", "1", "--root"]).arg(tree.path());
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut report = String::new();
    child.stdout.take().unwrap().read_to_string(&mut report).unwrap();
    let mut status = 0;
    // SAFETY: the pointers are valid during the call, and nothing else waits for the child.
    let usage = usage_of(|to| unsafe {
        libc::wait4(child.id() as libc::pid_t, &raw mut status, 0, to);
    });
    assert!([0, 1, 3].contains(&libc::WEXITSTATUS(status)), "{args:?}: {status} {report}");
    (usage, report)
}

/// Holds that twice the input takes at most about twice as much.
fn assert_linear(what: &str, n: usize, args: &[&str], tree: &dyn Fn(usize) -> Tree) {
    let runs = [n, 2 * n].map(|n| used(&tree(n), args));
    let [(few, _), (many, report)] = &runs;
    assert!(
        many.memory < few.memory * 3 / 2 && many.memory < 300_000,
        "{what}: {} {} KiB",
        few.memory,
        many.memory
    );
    assert!(many.time < 3 * few.time + 500, "{what}: {} {} ms", few.time, many.time);
    assert!(report.contains("\"findings\""), "{what}");
}

/// A tree with a layout of files in one folder, whose tables differ in the columns of `system`.
fn layout(reader: &str, system: &str) -> Tree {
    let tree = Tree::new();
    tree.remove("systems/h200_sxm.yaml");
    let text = format!(
        "about: Synthetic.\ndetect: [\"perf/*\"]\ntables:\n  - name: t\n    files: [\"perf/*\"]\n    system: \"{system}\"\n    backend: b\n    version: v\n    reader: {reader}\n"
    );
    tree.file(".perfdb-gate/rules/layouts/synthetic.yaml", text);
    tree
}

/// A row of a gemm table.
fn row(version: &str, dtype: &str, m: usize, latency: f64) -> String {
    format!("VLLM,{version},NVIDIA H200,gemm,cutlass,{dtype},{m},128,128,{latency:.7}\n")
}

#[test]
fn columns_are_counted_before_a_table_is_built() {
    let lines = |n: usize| (0..n).map(|i| format!("{{\"m\":{i},\"latency\":0.5,\"c{i}\":1}}\n"));
    assert_linear("a column for each line of JSON", 4000, &["validate"], &|n| {
        let tree = layout("json-lines", "s");
        tree.file("perf/a", lines(n).collect::<String>());
        tree
    });
    assert_linear("a column for each part", 20, &["validate"], &|n| {
        let tree = layout("csv", "s");
        for part in 0..n {
            let names: String = (0..200).map(|i| format!(",c{part}_{i}")).collect();
            let row = ",1".repeat(200);
            let rows: String = (0..200).map(|i| format!("{i}{row}\n")).collect();
            tree.file(&format!("perf/{part}"), format!("m{names}\n{rows}"));
        }
        tree
    });
    assert_linear("a wide header", 50_000, &["validate"], &|n| {
        let tree = layout("csv", "s");
        let names: String = (0..n).map(|i| format!(",c{i}")).collect();
        tree.file("perf/a", format!("m{names}\n1{}\n", ",1".repeat(n)));
        tree
    });
    assert_linear("long names of nested fields", 500, &["validate"], &|n| {
        let tree = layout("json-lines", "s");
        let fields: Vec<String> = (0..n).map(|i| format!("\"{i}\":1")).collect();
        tree.file("perf/a", format!("{{\"{}\":{{{}}}}}\n", "x".repeat(200_000), fields.join(",")));
        tree
    });
    let tree = layout("json-lines", "s");
    tree.file("perf/a", lines(4100).collect::<String>());
    let finding = tree.validate(&["--format", "json"]).finding("table-unreadable");
    insta::assert_snapshot!(message(&finding), @"cannot be read: a table has at most 4096 columns, with names of at most 1024 bytes");
}

#[test]
fn a_file_with_rows_of_many_tables_is_decoded_once() {
    let tree = |n: usize| {
        let tree = layout("csv", "{card}");
        let rows: String = (0..n).map(|i| format!("c{i},{i},0.5\n")).collect();
        tree.file("perf/a", format!("card,m,latency\n{rows}"));
        tree
    };
    assert_linear("cards", 250, &["validate"], &tree);
    let finding = tree(1100).validate(&["--format", "json"]).finding("table-unreadable");
    insta::assert_snapshot!(message(&finding), @"cannot be read: the file has rows of more than 1024 tables");
}

#[test]
fn a_slice_is_compared_with_a_limited_number_of_slices() {
    let rows = |n: usize, name: &str| -> String {
        let row = |i: usize| row("0.24.0", &format!("{name}{}", i / 5), 1 << (i % 5), 0.01);
        (0..5 * n).map(row).collect()
    };
    assert_linear("dtypes", 1000, &["validate"], &|n| {
        let tree = Tree::new();
        tree.gemm("gemm_perf.txt", GEMM.to_owned() + &rows(n, "d"));
        tree
    });
    let args = ["sanity", "--base-ref", "HEAD~1", "--head-ref", "HEAD"];
    assert_linear("dtypes that are renamed", 400, &args, &|n| {
        let tree = Tree::new();
        tree.gemm("gemm_perf.txt", GEMM.to_owned() + &rows(n, "d"));
        tree.commit();
        tree.gemm("gemm_perf.txt", GEMM.to_owned() + &rows(n, "e"));
        tree.commit();
        tree
    });
}

#[test]
fn a_pull_request_of_many_versions_takes_linear_memory() {
    let versions = |tree: &Tree, n: usize| {
        for i in 0..n {
            let version = format!("1.{i}.0");
            let rows = GEMM.to_owned() + &row(&version, "bfloat16", i % 50 + 1, 0.1);
            tree.file(&format!("systems/data/h200_sxm/gemm/vllm/{version}/gemm_perf.txt"), rows);
        }
    };
    let args = ["sanity", "--base-ref", "HEAD~1", "--head-ref", "HEAD"];
    assert_linear("versions", 150, &args, &|n| {
        let tree = Tree::new();
        tree.commit();
        versions(&tree, n);
        tree.commit();
        tree
    });
    let tree = Tree::new();
    tree.gemm("moe_perf.txt", gemm(&[(1, 0.5)]));
    versions(&tree, 1025);
    let run = tree.validate(&["--format", "json", "--only", "table-unreadable"]);
    insta::assert_snapshot!(message(&run.finding("table-unreadable")), @"cannot be read: the database has more than 1024 tables of this name");
    // A change of a table that is not read is not green.
    tree.commit();
    let last = "systems/data/h200_sxm/gemm/vllm/1.999.0/gemm_perf.txt";
    tree.file(last, GEMM.to_owned() + &row("1.999.0", "bfloat16", 1, 0.0));
    tree.commit();
    let run = tree.sanity(&["--base-ref", "HEAD~1", "--head-ref", "HEAD"]);
    assert_ne!(run.code(), 0, "{}", run.out());
}
