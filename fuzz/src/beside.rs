//! What lies beside tables: traces, support matrices, operation catalogs, ledgers, measurement logs,
//! declared reuse and waivers.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::{Arc, LazyLock};

use perfdb_gate::base::error::Reason;
use perfdb_gate::checks::Input;
use perfdb_gate::checks::rule::Rule;
use perfdb_gate::database::catalog::{Catalog, Format, Place};
use perfdb_gate::database::coverage::{CoveredPoints, KeyCoverage};
use perfdb_gate::database::facts::TreeFacts;
use perfdb_gate::database::ledger::Ledger;
use perfdb_gate::database::served::ReuseManifest;
use perfdb_gate::database::served::TableIndex;
use perfdb_gate::database::sidecar::Reuse;
use perfdb_gate::database::source::Source;
use perfdb_gate::database::state::State;
use perfdb_gate::database::support::Matrix;
use perfdb_gate::database::table::{Keys, Table, TableScope};
use perfdb_gate::findings::waiver::Waivers;
use perfdb_gate::findings::{Finding, Severity};
use perfdb_gate::gpu::device::{About, Answer};
use perfdb_gate::gpu::record::{Log, Origin};
use perfdb_gate::specs::facts::Operations;
use perfdb_gate::specs::{Filling, TableSpec};
use perfdb_gate::traces::{self, TraceRequest, TraceSpecs};

use crate::memory::Memory;
use crate::{RULES, SPECS};

const SHIPPED: &[u8] = include_bytes!("../../data/h200_sxm/gemm/torch/2.11.0/gemm_perf.parquet");

/// A database of a text table in two versions of a backend.
static DATABASE: LazyLock<Memory> = LazyLock::new(|| {
    let row = "framework,version,device,op_name,kernel_source,gemm_dtype,m,n,k,latency\n\
               VLLM,0.24.0,NVIDIA H200,gemm,cutlass,bfloat16,1,128,128,0.5\n";
    let table = |version: &str| format!("systems/data/h200_sxm/gemm/vllm/{version}/gemm_perf.txt");
    let system = include_bytes!("../../systems/h200_sxm.yaml").to_vec();
    let tables = ["0.22.0", "0.24.0"].map(|v| (table(v), row.as_bytes().to_vec()));
    Memory(tables.into_iter().chain([("systems/h200_sxm.yaml".to_owned(), system)]).collect())
});

fn catalog(files: &Memory) -> Catalog {
    Catalog::walk(files, &SPECS).expect("files in memory can be listed")
}

fn gemm() -> &'static TableSpec {
    SPECS.tables.get("gemm_perf").expect("a known table")
}

/// What is said of a file that cannot be read.
fn said(why: &str) {
    assert!(!why.trim().is_empty() && why.lines().count() == 1, "{why:?}");
}

/// Files of traces.
pub fn trace(data: &[u8]) {
    static OF_TRACES: LazyLock<Vec<Arc<Rule>>> = LazyLock::new(|| {
        RULES.all().filter(|rule| rule.check.needs().has(Input::Traces)).cloned().collect()
    });
    static TRACES: LazyLock<TraceSpecs> =
        LazyLock::new(|| TraceSpecs::read(&SPECS).expect("the embedded specs"));
    let files = Memory::unpack(data);
    let entries = files.files().expect("files in memory can be listed");
    for asked in [TraceRequest(None), TraceRequest(Some("qwen3-tp_4"))] {
        let judged = traces::judge(&files, &entries, &TRACES, &OF_TRACES, asked);
        let judged = judged.expect("formulas that hold for any file, and no panic");
        for finding in judged.findings {
            assert!(!finding.message.is_empty() && finding.message.len() < 10_000, "{finding:?}");
        }
    }
    // As a pull request brings them, with their charts.
    let nothing = Memory::default();
    let (before, after) = (catalog(&nothing), catalog(&files));
    let facts = &TreeFacts::default();
    let state = |source, catalog| State { source, catalog, facts, specs: &SPECS };
    let (base, head) = (state(&nothing, &before), state(&files, &after));
    traces::changed(base, head, &TRACES, &OF_TRACES, 2).expect("no formula fails");
}

/// A support matrix, and what backends take from each other.
pub fn support(data: &[u8]) {
    match Matrix::parse("h200_sxm", data) {
        Ok(matrix) => assert!(!matrix.claims.is_empty()),
        Err(why) => said(&why.to_string()),
    }
    match ReuseManifest::parse(data) {
        Ok(manifest) => {
            let lenders = manifest.lenders("a_perf", "vllm");
            assert!(!lenders.contains("vllm"));
        }
        Err(why) => said(&why.to_string()),
    }
}

/// An operation catalog.
pub fn operations(data: &[u8]) {
    match Operations::parse(data) {
        Ok(operations) => {
            for (table, families) in operations.tables() {
                assert!(!families.is_empty());
                drop(operations.choices(table));
            }
        }
        Err(why) => said(&why.to_string()),
    }
}

/// CoveredPoints of the shipped table.
static POINTS: LazyLock<CoveredPoints> = LazyLock::new(|| {
    let place = Place {
        system: "h200_sxm".to_owned(),
        family: Some("gemm".to_owned()),
        backend: "torch".to_owned(),
        version: "2.11.0".to_owned(),
    };
    let table = Table::decode(SHIPPED, Format::Parquet, &|_| false).expect("the shipped table");
    let system = SPECS.systems.get("h200_sxm");
    let scope = TableScope::new(&table, gemm(), &place, system, &SPECS.lookups);
    let keys = Keys::new(&gemm().key, &scope).expect("formulas of the specs");
    let coverage = KeyCoverage::of(&keys, &[0, 1, 2, 3, 4, 5, 6, 7]);
    let points: Vec<_> = (0..8).map(|point| (&coverage, point)).collect();
    CoveredPoints::new(gemm(), &points)
});

/// A collector's ledger.
pub fn ledger(data: &[u8]) {
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    let files: BTreeMap<String, String> =
        Memory::unpack(data).0.into_iter().map(|(name, bytes)| (name, text(bytes))).collect();
    match Ledger::parse(&files) {
        Ok(ledger) => {
            let tables = ["gemm_perf", "moe_perf"];
            let failures = ledger.of(gemm(), "vllm", "0.24.0", &tables);
            let explained =
                (0..POINTS.len).filter_map(|point| failures.explain(gemm(), &POINTS, point));
            assert!(explained.count() == 0 || !files.is_empty());
        }
        Err(why) => {
            assert!(files.contains_key(&why.file));
            said(&why.to_string());
        }
    }
}

/// A log of measurements, which is gone on with and becomes a table.
pub fn samples(data: &[u8]) {
    static FOLDER: LazyLock<PathBuf> = LazyLock::new(|| {
        let folder = std::env::temp_dir().join(format!("perfdb-gate-fuzz-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        folder
    });
    let path = FOLDER.join("gemm_perf.parquet");
    for old in [&path, &path.with_file_name("collection_meta.yaml")] {
        let _ = std::fs::remove_file(old);
    }
    std::fs::write(path.with_extension("samples.jsonl"), data).expect("a file");
    let about = About { name: "NVIDIA H200".to_owned(), ..About::default() };
    let origin = Origin {
        table: "gemm_perf",
        framework: "cuBLAS",
        version: "13",
        plan: "a grid",
        cases: String::new(),
        complete: true,
    };
    let mut log = match Log::open(&FOLDER, &path, &about) {
        Ok(log) => log,
        Err(e) => return said(&e.message),
    };
    let key = [("m".to_owned(), 1.into())].into();
    log.add(key, &Ok(Answer { samples_ms: vec![0.5], ..Answer::default() })).expect("a point");
    match log.finish(gemm(), &origin) {
        Ok(written) => {
            let bytes = std::fs::read(&path).expect("the table");
            let table = Table::decode(&bytes, Format::Parquet, &|_| false).expect("a table");
            assert_eq!(table.rows, written.rows);
        }
        Err(e) => {
            said(&e.message);
            assert!(!path.exists(), "part of a table");
        }
    }
    drop(log);
    let again = Log::open(&FOLDER, &path.with_file_name("gemm_perf.parquet"), &about);
    assert!(again.is_ok(), "a log that it wrote itself");
}

/// Declared reuse, each of two versions the other's donor.
pub fn reuse(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let declared = match Reuse::parse(&text) {
        Ok(declared) => declared,
        Err(why) => return said(&why.to_string()),
    };
    static CATALOG: LazyLock<Catalog> = LazyLock::new(|| catalog(&DATABASE));
    let every = CATALOG.dirs.keys().map(|dir| (dir.clone(), Ok(declared.clone())));
    let every: BTreeMap<String, Result<Reuse, Reason>> = every.collect();
    let shelf = TableIndex::new(&CATALOG, &every, &SPECS);
    for dir in CATALOG.dirs.values() {
        for filling in [Filling::Always, Filling::Earlier, Filling::Never] {
            let files = shelf.sources(&dir.place, "gemm_perf", filling).files();
            let paths: Vec<&str> = files.map(|f| f.entry.path.as_str()).collect();
            let apart: BTreeSet<&&str> = paths.iter().collect();
            assert!(apart.len() == paths.len() && !paths.is_empty(), "{paths:?}");
        }
    }
    assert!(shelf.references(&SPECS).len() <= CATALOG.tables.len());
}

/// Waivers, on findings.
pub fn waiver(data: &[u8]) {
    let waivers = match Waivers::parse("waivers.yaml", &String::from_utf8_lossy(data)) {
        Ok(waivers) => waivers,
        Err(why) => return said(&why.to_string()),
    };
    let path = "systems/data/h200_sxm/gemm/vllm/0.24.0/gemm_perf.txt";
    let finding = Finding::on_path("duplicate-key", Severity::Error, path, "2 rows").rows(2);
    let mut findings = [
        finding.clone().evidence("worst_ratio", 1.5).evidence("unit", "ms"),
        Finding { path: "a/\u{e9}/*".to_owned(), ..finding },
    ];
    // A condition may read what findings do not have.
    let today = "2030-01-01".parse().expect("a day");
    let Ok(applied) = waivers.apply(&mut findings, today) else { return };
    let told = applied.unused_by(&|rule| RULES.contains(rule), &|rule| RULES.contains(rule));
    assert!(told.len() <= applied.unused.len());
}
