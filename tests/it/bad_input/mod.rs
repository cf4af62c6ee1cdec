//! Damaged and hostile input: each gives a finding or one clear line; nothing panics or hangs.

mod documents;
mod forged;
#[cfg(unix)]
mod growth;
mod parquet;
mod readers;

use crate::common::snapshot::message;
use crate::common::{self, GEMM, Run, SHIPPED, Tree, gemm};
use proptest::prelude::*;

/// The rules that fire on a table of these bytes, and that the run ends as it should.
fn rules(name: &str, bytes: &[u8]) -> Vec<String> {
    let tree = Tree::new();
    tree.gemm(name, bytes);
    let run = tree.validate(&["--format", "json"]);
    assert!([0, 1].contains(&run.code()), "{}", run.err());
    assert_eq!(run.err(), "", "nothing is said outside the report");
    #[cfg(unix)]
    growth::assert_small();
    run.findings().iter().map(|f| f.split(' ').next().unwrap().to_owned()).collect()
}

#[test]
fn damaged_lines_of_text_tables_are_findings() {
    let good = gemm(&[(1, 0.5), (2, 0.6)]);
    let header_again =
        good.clone() + GEMM + "VLLM,0.24.0,NVIDIA H200,gemm,cutlass,bfloat16,4,128,128,0.7\n";
    for (what, text, rule) in [
        ("a cut line", good.clone() + "VLLM,0.24.0,NVID\n", "torn-row"),
        ("the header again", header_again, "torn-row"),
        ("no end of line", good[..good.len() - 2].to_owned(), "torn-row"),
        ("two rows in one", good.replacen("0.5\n", "0.5", 1), "torn-row"),
        ("no rows", GEMM.to_owned(), "table-empty"),
        ("a column twice", good.replace("gemm_dtype", "latency"), "table-unreadable"),
        ("bytes that are no text", "\0\u{1}\u{2}".to_owned(), "table-unreadable"),
        ("a line of 2 MB", good.clone() + &"1".repeat(2 << 20) + "\n", "table-unreadable"),
    ] {
        assert_eq!(rules("gemm_perf.txt", text.as_bytes()), [rule], "{what}");
    }
}

#[test]
fn text_tables_with_crlf_or_a_byte_order_mark_are_read() {
    let good = gemm(&[(1, 0.5), (2, 0.6)]);
    assert_eq!(rules("gemm_perf.txt", good.replace('\n', "\r\n").as_bytes()), [] as [&str; 0]);
    assert_eq!(rules("gemm_perf.txt", format!("\u{feff}{good}").as_bytes()), [] as [&str; 0]);
    let latin1: Vec<u8> = good.replace("cutlass", "k\u{e9}rnel").chars().map(|c| c as u8).collect();
    // Bytes that are not UTF-8 are no name: the loader would read another one, or none.
    assert_eq!(rules("gemm_perf.txt", &latin1), ["torn-row"]);
}

#[test]
fn a_text_table_above_the_size_limit_is_refused_unread() {
    let tree = Tree::new();
    let path = tree.gemm("gemm_perf.txt", "x");
    // Sparse: the size is claimed, not written.
    std::fs::OpenOptions::new().write(true).open(path).unwrap().set_len(2 << 30).unwrap();
    let finding = tree.validate(&["--format", "json"]).finding("table-unreadable");
    insta::assert_snapshot!(message(&finding), @"cannot be read: the file has 2147483648 bytes, but at most 134217728 are expected");
}

#[test]
fn a_directory_named_like_a_table_is_unreadable() {
    let tree = Tree::new();
    tree.file("systems/data/h200_sxm/vllm/0.24.0/gemm_perf.parquet/inside.parquet", SHIPPED);
    let found = tree.validate(&["--format", "json"]).finding("table-unreadable");
    insta::assert_snapshot!(message(&found), @"cannot be read: this is a directory, but a file of this name is expected");
    tree.commit();
    let commit = tree.validate(&["--format", "json", "--ref", "HEAD"]).finding("table-unreadable");
    assert_eq!(found, commit);
}

#[cfg(unix)]
#[test]
fn links_loops_and_file_names_that_are_not_utf_8_do_not_end_the_run() {
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::symlink;
    let tree = Tree::new();
    let dir = tree.gemm("gemm_perf.txt", gemm(&[(1, 0.5)])).parent().unwrap().to_owned();
    symlink("gemm_perf.txt", dir.join("moe_perf.txt")).unwrap();
    symlink("nowhere.parquet", dir.join("context_mla_perf.parquet")).unwrap();
    symlink("nccl_perf.parquet", dir.join("nccl_perf.parquet")).unwrap();
    symlink("..", dir.join("up")).unwrap();
    std::fs::write(dir.join(std::ffi::OsStr::from_bytes(b"k\xff_perf.parquet")), "PAR1").unwrap();
    let run = tree.validate(&["--format", "json"]);
    let unreadable: Vec<String> = run
        .findings()
        .iter()
        .filter_map(|f| {
            f.strip_prefix("table-unreadable error ")
                .map(|p| p.rsplit('/').next().unwrap().to_owned())
        })
        .collect();
    // A link is what a commit holds of it, so none is followed, and each is told.
    let told = [
        "context_mla_perf.parquet",
        "k\u{fffd}_perf.parquet",
        "moe_perf.txt",
        "nccl_perf.parquet",
        "up",
    ];
    assert_eq!(unreadable, told);
    assert_eq!(run.json()["summary"]["tables"], 2);
    std::fs::remove_file(dir.join(std::ffi::OsStr::from_bytes(b"k\xff_perf.parquet"))).unwrap();
    let files = tree.validate(&["--format", "json"]).findings();
    tree.commit();
    assert_eq!(tree.validate(&["--format", "json", "--ref", "HEAD"]).findings(), files);
}

#[test]
fn a_column_of_another_type_is_a_finding_and_does_not_end_the_run() {
    let row = "VLLM,0.24.0,NVIDIA H200,generation_attention,fa3,8,1,16,2,128,1,bfloat16,fp8,";
    let header = "framework,version,device,op_name,kernel_source,batch_size,isl,num_heads,num_key_value_heads,head_dim,beam_width,attn_dtype,kv_cache_dtype,step,window_size,latency\n";
    let table = |cells: &str| format!("{header}{row}{cells}\n{row}{cells}\n");
    let mut told = Vec::new();
    for cells in ["x,0,0.5", "7,0,error", "7,none,0.5"] {
        let tree = Tree::new();
        tree.gemm("generation_attention_perf.txt", table(cells));
        tree.gemm("gemm_perf.txt", gemm(&[(1, 0.0)]));
        let run = tree.validate(&["--format", "json"]);
        assert_eq!(run.code(), 1, "{cells}: {}", run.err());
        told.push(message(&run.finding("header-mismatch")));
        run.finding("latency-not-positive");
    }
    insta::assert_snapshot!(told.join("\n"), @"
    the columns are not those of generation_attention_perf: step is text, not int
    the columns are not those of generation_attention_perf: latency is text, not number
    the columns are not those of generation_attention_perf: window_size is text, not int
    ");
}

#[cfg(unix)]
#[test]
fn files_and_folders_without_read_permission_are_reported() {
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::process::CommandExt;
    let tree = Tree::new();
    let table = tree.gemm("gemm_perf.txt", gemm(&[(1, 0.5)]));
    let allow = |path: &std::path::Path, mode: u32| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    allow(&table, 0o000);
    // Root may read everything, so a run of root's becomes one of nobody's, with a binary of its own.
    let privileged = std::fs::read(&table).is_ok();
    let binary = if privileged { tree.path().join("perfdb-gate") } else { common::BINARY.into() };
    if privileged {
        allow(tree.path(), 0o755);
        std::fs::copy(common::BINARY, &binary).unwrap();
    }
    let validate = |format: &str| {
        let mut command = std::process::Command::new(&binary);
        command.env_clear().args(["validate", "--format", format, "--root"]).arg(tree.path());
        if privileged {
            command.uid(65534).gid(65534);
        }
        loop {
            match Run::of(&mut command) {
                // A process that another test starts just now still has the copy open for writing.
                Err(error) if error.kind() == std::io::ErrorKind::ExecutableFileBusy => {
                    std::thread::sleep(std::time::Duration::from_millis(10));
                }
                run => return run.expect("a run as nobody"),
            }
        }
    };
    let run = validate("json");
    assert_eq!(run.code(), 2);
    insta::assert_snapshot!(run.shown(), @"
    $ perfdb-gate validate --format json --root [tmp]
    2> perfdb-gate: cannot read [tmp]/systems/data/h200_sxm/vllm/0.24.0/gemm_perf.txt: permission denied
    2> hint: the user that runs perfdb-gate may not read the file: `chmod` changes that
    (exit 2)
    ");
    let folder = table.parent().unwrap();
    allow(folder, 0o000);
    let run = validate("human");
    allow(folder, 0o755);
    assert_eq!(run.code(), 2);
    insta::assert_snapshot!(run.shown(), @"
    $ perfdb-gate validate --format human --root [tmp]
    2> perfdb-gate: cannot list [tmp]/systems/data/h200_sxm/vllm/0.24.0: Permission denied (os error 13)
    2> hint: check its permissions
    (exit 2)
    ");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// Whatever is done to a parquet file, the run ends with a verdict.
    #[test]
    fn damaged_parquet_never_crashes_the_run(
        flips in prop::collection::vec((0..SHIPPED.len(), 0u8..8), 1..6),
        cut in 0..SHIPPED.len(),
        keep in any::<bool>(),
    ) {
        let mut bytes = SHIPPED.to_vec();
        for (at, bit) in flips {
            bytes[at] ^= 1 << bit;
        }
        if !keep {
            bytes.drain(cut / 2..cut);
        }
        rules("gemm_perf.parquet", &bytes);
    }

    /// Whatever text is, the run ends with a verdict.
    #[test]
    fn arbitrary_text_never_crashes_the_run(lines in prop::collection::vec("[ -~,\"]{0,60}", 0..8), header in any::<bool>()) {
        let text = if header { GEMM.to_owned() } else { String::new() } + &lines.join("\n");
        rules("gemm_perf.txt", text.as_bytes());
    }
}

#[test]
fn intact_rows_of_a_table_with_torn_rows_are_judged() {
    let tree = Tree::new();
    tree.gemm("gemm_perf.txt", gemm(&[(1, 0.5), (2, 0.0)]) + "VLLM,0.24.0,NVID\n");
    let run = tree.validate(&["--format", "json"]);
    assert_eq!(run.finding("torn-row")["rows"], 1);
    assert_eq!(run.finding("latency-not-positive")["examples"][0]["row"], 1);
}

#[test]
fn a_cell_that_is_not_a_number_does_not_hide_findings_in_other_rows() {
    let tree = Tree::new();
    let rows = gemm(&[(1, 0.5), (2, 0.6), (4, -0.7)]).replace(",0.6\n", ",OOM\n");
    tree.gemm("gemm_perf.txt", &rows);
    let run = tree.validate(&["--format", "json"]);
    let torn = run.finding("torn-row");
    assert_eq!((&torn["rows"], &torn["examples"][0]["line"]), (&1.into(), &3.into()));
    assert_eq!(
        message(&torn),
        "1 damaged row, line 3: latency is 'OOM', not a number; the other rows were checked"
    );
    let negative = run.finding("latency-not-positive");
    assert_eq!(
        (&negative["examples"][0]["row"], &negative["examples"][0]["line"]),
        (&1.into(), &4.into())
    );
    // Where most cells are no numbers, the column is wrong, and its rows are shown.
    tree.gemm("gemm_perf.txt", rows.replace("-0.7", "OOM"));
    let finding = tree.validate(&["--format", "json"]).finding("header-mismatch");
    assert_eq!(finding["examples"][0]["values"]["latency"], "OOM");
}

#[test]
fn a_finding_on_a_table_of_many_columns_has_a_short_message() {
    let names: Vec<String> = (0..2000).map(|i| format!("c{i}")).collect();
    let row = vec!["1"; 2000].join(",");
    let tree = Tree::new();
    tree.gemm("gemm_perf.txt", format!("{}\n{row}\n", names.join(",")));
    let run = tree.validate(&["--format", "json"]).json();
    let found: Vec<_> = run["findings"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|f| f["rule"] == "header-mismatch")
        .collect();
    insta::assert_snapshot!(message(found[0]), @"a table with the columns c0, c1, c2, c3, c4 and 1995 more is not known to perfdb-gate [version], whose facts are of 2026-10");
    insta::assert_snapshot!(message(found[1]), @"the columns are not those of gemm_perf: gemm_dtype is missing, m is missing, n is missing, k is missing, latency is missing, framework is missing, version is missing, device is missing, op_name is missing, kernel_source is missing");
}

#[test]
fn a_text_table_with_too_many_columns_is_refused() {
    let names: Vec<String> = (0..100_000).map(|i| format!("c{i}")).collect();
    let text = format!("{}\n{}\n", names.join(","), vec!["1"; names.len()].join(","));
    assert_eq!(rules("gemm_perf.txt", text.as_bytes()), ["table-unreadable"]);
}
