//! Synthetic tables of a planner's operations, with queries and what a reference answers.

use std::collections::BTreeMap;
use std::path::Path;

use perfdb_gate::database::catalog::Catalog;
use perfdb_gate::database::facts::TreeFacts;
use perfdb_gate::database::served::ServedFormats;
use perfdb_gate::database::source::WorkTree;
use perfdb_gate::database::state::ReadState;
use perfdb_gate::database::table::{Column, write};
use perfdb_gate::planner::{Op, PlannerSession, Snapshot, Store};
use perfdb_gate::specs::Specs;
use serde::Deserialize;
use serde_json::Value;

/// Tables, and queries with their answers.
#[derive(Deserialize)]
pub struct Fixture {
    pub system: Value,
    pub manifest: Value,
    pub backend: String,
    pub version: String,
    pub tables: BTreeMap<String, Rows>,
    pub queries: Vec<Asked>,
}

#[derive(Clone, Deserialize)]
pub struct Rows {
    pub columns: Vec<String>,
    pub rows: Vec<Vec<Value>>,
}

#[derive(Deserialize)]
pub struct Asked {
    pub op: Op,
    pub batch: u64,
    pub sequence: u64,
    pub tokens: u64,
    pub prefix: u64,
    pub ms: Option<f64>,
    pub error: Option<String>,
}

pub fn fixture() -> Fixture {
    serde_json::from_str(include_str!("../fixtures/planner-synthetic.json")).expect("a fixture")
}

/// A column of a table, typed by its cells.
fn column(name: &str, cells: Vec<&Value>) -> Column {
    if matches!(name, "latency" | "power") {
        let values = cells.iter().map(|c| c.as_f64().unwrap_or(f64::NAN)).collect();
        return Column::Float { values, nulls: None };
    }
    if cells.iter().any(|c| c.is_string()) {
        return Column::texts(cells.into_iter().map(Value::as_str));
    }
    let nulls: Vec<bool> = cells.iter().map(|c| c.is_null()).collect();
    let values = cells.iter().map(|c| c.as_i64().unwrap_or(0)).collect();
    Column::Int { values, nulls: nulls.contains(&true).then_some(nulls) }
}

/// Writes the tables, their system and the reuse manifest below a folder.
pub fn write_tree(root: &Path, fixture: &Fixture) {
    let systems = root.join("systems");
    std::fs::create_dir_all(&systems).expect("a folder");
    // JSON is YAML.
    std::fs::write(systems.join("synthetic.yaml"), fixture.system.to_string()).expect("a system");
    let manifest = systems.join("perf_data_reuse_manifest.yaml");
    std::fs::write(manifest, fixture.manifest.to_string()).expect("a manifest");
    for (path, table) in &fixture.tables {
        let path = systems.join("data/synthetic").join(path);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
        let columns: Vec<(String, Column)> = table
            .columns
            .iter()
            .enumerate()
            .map(|(i, name)| {
                (name.clone(), column(name, table.rows.iter().map(|row| &row[i]).collect()))
            })
            .collect();
        write(&path, &columns).expect("a table");
    }
}

/// Runs `check` on the session of the fixture's version.
pub fn with_session(check: impl FnOnce(&PlannerSession<'_, '_>, &Fixture)) {
    let fixture = fixture();
    let root = tempfile::tempdir().expect("a folder");
    write_tree(root.path(), &fixture);
    let specs = Specs::embedded().expect("specs");
    let source = WorkTree::open(root.path()).expect("a tree");
    let catalog = Catalog::read(&source, &specs).expect("a catalog");
    let store = Store::default();
    let facts = TreeFacts::read(&source, &catalog, &specs);
    let read = ReadState::new(catalog, facts, &specs);
    let snapshot =
        Snapshot::new(read.of(&source), ServedFormats::Parquet, &store).expect("a snapshot");
    let system = snapshot.system("synthetic").expect("a system");
    let session = system.session(&fixture.backend, &fixture.version).expect("a session");
    check(&session, &fixture);
}

/// A model whose operations the synthetic tables answer, as a file of `rules/models/`.
pub const SMALL_MODEL: &str = "\
model: synthetic/small
captured_from: synthetic
quant: {gemm: bfloat16, moe: bfloat16, kvcache: bfloat16, comm: half}
plans:
- backends: [vllm]
  fmha: bfloat16
  layouts:
  - parallel: {tp: 1, dp: 1, moe_tp: 1, moe_ep: 1}
    prefill: &prefill
    - Embedding: {name: context_embedding, hidden_size: 4096, quant_mode: bfloat16}
    - Gemm: {name: context_qkv_gemm, count: 4, n: 6144, k: 4096, quant_mode: bfloat16}
    - ContextAttention: {name: context_attention, count: 4, n: 16, n_kv: 4, head_size: 128}
    - Gemm: {name: context_up_gemm, count: 4, n: 24576, k: 4096, quant_mode: bfloat16}
    decode: &decode
    - Gemm: {name: generation_qkv_gemm, count: 4, n: 6144, k: 4096, quant_mode: bfloat16}
    - GenerationAttention: {name: generation_attention, count: 4, n: 16, n_kv: 4, head_size: 128}
    - Max:
        name: generation_overlap
        of:
        - [{Gemm: {name: generation_up_gemm, count: 4, n: 24576, k: 4096, quant_mode: bfloat16}}]
        - [{Elementwise: {name: generation_norm, count: 8, bytes_per_token: 8192}}]
  - parallel: {tp: 2, dp: 1, moe_tp: 1, moe_ep: 1}
    prefill: *prefill
    decode:
    - Gemm: {name: generation_qkv_gemm, count: 4, n: 6144, k: 4096, quant_mode: bfloat16}
    - CustomAllReduce: {name: generation_ar, count: 8, hidden_size: 4096, tp_size: 2}
";

impl Fixture {
    /// A column of a table of the fixture.
    pub fn cells(&mut self, path: &str, column: &str) -> impl Iterator<Item = &mut Value> {
        let table = self.tables.get_mut(path).expect("a table");
        let at = table.columns.iter().position(|name| name == column).expect("a column");
        table.rows.iter_mut().map(move |row| &mut row[at])
    }

    /// Gives every row of every table a power.
    pub fn add_power(&mut self) {
        for table in self.tables.values_mut() {
            table.columns.push("power".to_owned());
            table.rows.iter_mut().for_each(|row| row.push(350.into()));
        }
    }
}
