//! A merge that is killed: the table is the old one or the new one, and the record agrees.

use std::process::Stdio;
use std::time::{Duration, Instant};

use super::{DIR, merge, site};
use crate::common::{command, gemm};
use serde_json::Value;
use sha2::{Digest, Sha256};

const META: &str = "schema_version: 1\nruntime: {framework: vllm, version: 0.24.0}\ntables:\n  gemm_perf:\n    rows: 3000\n    status: complete\n";

fn digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|b| format!("{b:02x}")).collect()
}

/// Moments at which a merge is killed; more where the environment says so.
fn moments() -> u32 {
    std::env::var("PERFDB_GATE_KILLS").ok().and_then(|n| n.parse().ok()).unwrap_or(6)
}

#[test]
fn a_killed_merge_leaves_the_old_or_the_new_table_with_a_matching_record() {
    let own: Vec<(u64, f64)> = (1..=3000).map(|m| (m, m as f64 / 1000.0)).collect();
    let again: Vec<(u64, f64)> = (1..=2000).map(|m| (m, m as f64 / 1500.0)).collect();
    // How long one takes here.
    let (tree, path) = site(&own);
    tree.file(&format!("{DIR}/collection_meta.yaml"), META);
    let before = std::fs::read(&path).unwrap();
    tree.file("run/gemm_perf.txt", gemm(&again));
    let start = Instant::now();
    assert_eq!(merge(&tree, &["run"], &["--write"]).code(), 0);
    let takes = start.elapsed();
    let after = std::fs::read(&path).unwrap();
    let sidecar = tree.path().join(DIR).join("collection_meta.yaml");
    let meta = std::fs::read(&sidecar).unwrap();
    assert_ne!(before, after);
    let (mut old, mut new) = (0, 0);
    for moment in 0..moments() {
        std::fs::write(&path, &before).unwrap();
        std::fs::write(&sidecar, META).unwrap();
        let record = tree.path().join("merged.jsonl");
        if record.exists() {
            std::fs::remove_file(&record).unwrap();
        }
        // Most of the time goes by before anything is written: the later half is where it matters.
        let share = 0.4 + 0.7 * f64::from(moment) / f64::from(moments());
        let mut child = command()
            .args(["merge", &path.display().to_string(), "--write", "--with"])
            .arg(tree.path().join("run"))
            .arg("--ledger")
            .arg(&record)
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_secs_f64(takes.as_secs_f64() * share));
        // SIGKILL, as from `kill -9`.
        child.kill().unwrap();
        child.wait().unwrap();
        let now = std::fs::read(&path).unwrap();
        assert!(now == before || now == after, "neither the old table nor the new one");
        let head = std::fs::read_to_string(&record).ok().map(|text| {
            let first = text.lines().next().unwrap().to_owned();
            serde_json::from_str::<Value>(&first).unwrap()["merge"].clone()
        });
        if now == after {
            new += 1;
            assert!(head.is_some(), "a new table without a record");
        } else {
            old += 1;
        }
        if let Some(head) = head {
            assert_eq!(head["before"], digest(&before));
            assert_eq!(head["after"], digest(&after));
        }
        // The same command goes on where it was killed.
        let done = merge(&tree, &["run"], &["--write"]);
        assert_eq!(done.code(), 0, "{}{}", done.out(), done.err());
        assert_eq!(std::fs::read(&path).unwrap(), after);
        assert_eq!(std::fs::read(&sidecar).unwrap(), meta);
    }
    println!("killed {} times: the old table {old} times, the new one {new} times", moments());
}
