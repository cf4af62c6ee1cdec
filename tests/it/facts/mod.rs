//! What a tree says of itself beside its tables, on small trees of synthetic rows.

mod exceptions;
mod invalid;
mod novel;
mod older;
mod profiles;
mod readers;
mod roots;
mod selectable;
mod sidecars;
mod suggest;
mod systems;
mod unknown;

use crate::common::snapshot::message;
use crate::common::{Run, Tree, gemm, run};

const CATALOG: &str = "collector/op_backend_catalog.yaml";
const LOADER: &str = "core/rust/src/perf_database/mla.rs";
const MODULE: &str = "systems/data/h200_sxm/mla/vllm/0.24.0";

/// An operation catalog with GEMM under a family.
fn catalog(family: &str) -> String {
    format!("schema_version: 1\nfamilies:\n- family: {family}\n  op_files: [gemm_perf]\n")
}

/// GEMM under a family, with its sidecar.
fn gemm_under(tree: &Tree, family: &str) {
    let dir = format!("systems/data/h200_sxm/{family}/vllm/0.24.0");
    tree.file(&format!("{dir}/gemm_perf.txt"), gemm(&[(1, 0.5)]));
    tree.file(&format!("{dir}/collection_meta.yaml"), sidecar("gemm_perf"));
}

fn sidecar(table: &str) -> String {
    format!(
        "schema_version: 1\nruntime: {{framework: vllm, version: 0.24.0}}\ntables:\n  {table}: {{status: complete}}\n"
    )
}

/// The findings of a pull request by some rules: `rule severity path`, new ones with a `+`.
fn news(run: &Run) -> Vec<String> {
    let json = run.json();
    let findings = json["findings"].as_array().unwrap_or_else(|| panic!("{}", run.err()));
    let line = |f: &serde_json::Value| {
        let text = |name: &str| f[name].as_str().unwrap_or_default().to_owned();
        let sign = if f["new"] == true { "+" } else { "" };
        format!("{sign}{} {} {}", text("rule"), text("severity"), text("path"))
    };
    findings.iter().map(line).collect()
}

#[test]
fn a_table_that_moves_with_its_catalog_entry_is_not_misplaced() {
    let tree = Tree::new();
    gemm_under(&tree, "gemm");
    tree.file(CATALOG, catalog("gemm"));
    tree.commit();
    let only = ["--base-ref", "main", "--only", "table-misplaced"];
    // Table and catalog move together.
    tree.rename("systems/data/h200_sxm/gemm", "systems/data/h200_sxm/matmul");
    tree.file(CATALOG, catalog("matmul"));
    let together = tree.sanity(&only);
    assert_eq!(news(&together), [""; 0]);
    let json = together.json();
    assert_eq!(json["facts"][0]["name"], "operation-catalog");
    assert_eq!(json["facts"][0]["from"], "tree");
    assert_eq!(json["facts"][0]["path"], CATALOG);
    // The table alone moves.
    tree.file(CATALOG, catalog("gemm"));
    let path = "systems/data/h200_sxm/matmul/vllm/0.24.0/gemm_perf.txt";
    assert_eq!(news(&tree.sanity(&only)), [format!("+table-misplaced error {path}")]);
    // The catalog alone moves: the table, of which nothing changed, is where it no longer belongs.
    tree.rename("systems/data/h200_sxm/matmul", "systems/data/h200_sxm/gemm");
    tree.file(CATALOG, catalog("matmul"));
    let path = "systems/data/h200_sxm/gemm/vllm/0.24.0/gemm_perf.txt";
    assert_eq!(news(&tree.sanity(&only)), [format!("+table-misplaced error {path}")]);
}

#[test]
fn changed_facts_excuse_only_tables_that_change_with_them() {
    let only = ["--base-ref", "main", "--only", "excused-by-change"];
    let tree = Tree::new();
    gemm_under(&tree, "gemm");
    tree.file(CATALOG, catalog("gemm"));
    tree.commit();
    tree.rename("systems/data/h200_sxm/gemm", "systems/data/h200_sxm/matmul");
    tree.file(CATALOG, catalog("matmul"));
    let path = "systems/data/h200_sxm/matmul/vllm/0.24.0/gemm_perf.txt";
    assert_eq!(news(&tree.sanity(&only)), [format!("+excused-by-change info {path}")]);
    // The catalog is corrected, and the table stays as it is.
    let tree = Tree::new();
    gemm_under(&tree, "gemm");
    tree.file(CATALOG, catalog("matmul"));
    tree.commit();
    tree.file(CATALOG, catalog("gemm"));
    assert_eq!(news(&tree.sanity(&only)), [""; 0]);
}

#[test]
fn unreadable_facts_are_listed_in_the_report() {
    let tree = Tree::new();
    gemm_under(&tree, "gemm");
    tree.file(CATALOG, "families: 7\n");
    tree.file("systems/query_versions.yaml", "schema_version: 1\n");
    let human = tree.validate(&["--only", "table-misplaced"]);
    assert_eq!(human.code(), 0, "rules/ stand in: {}", human.out());
    insta::assert_snapshot!(human.shown(), @"
    $ perfdb-gate validate --root [tmp] --only table-misplaced
    facts: query-versions from the checked tree; operation-catalog, reuse-manifest, attention-lanes, native_heads, support-matrix from rules/ of 2026-10; collector/op_backend_catalog.yaml cannot be read (expected sequence start at line 1, column 11), so rules/ is used instead
    0 errors, 0 warnings, 0 infos; checked 1 table, 1 row in [seconds] s
    (exit 0)
    ");
    let json = tree.validate(&["--only", "table-misplaced", "--format", "json"]).json();
    insta::assert_snapshot!(serde_json::to_string_pretty(&json["facts"]).unwrap(), @r#"
    [
      {
        "from": "rules",
        "name": "operation-catalog",
        "path": "collector/op_backend_catalog.yaml",
        "problem": "expected sequence start at line 1, column 11"
      },
      {
        "from": "rules",
        "name": "reuse-manifest",
        "path": null
      },
      {
        "from": "tree",
        "name": "query-versions",
        "path": "systems/query_versions.yaml"
      },
      {
        "from": "rules",
        "name": "attention-lanes",
        "path": null
      },
      {
        "from": "rules",
        "name": "native_heads",
        "path": null
      },
      {
        "from": "rules",
        "name": "support-matrix",
        "path": null
      }
    ]
    "#);
}

/// Rows of the MLA module, each a model, its rank's heads, its share of the heads and a latency.
fn module(rows: &[(&str, u32, u32, f64)]) -> String {
    let mut text = "framework,version,device,op_name,kernel_source,model,architecture,mla_dtype,kv_cache_dtype,\
                    gemm_type,num_heads,batch_size,isl,tp_size,step,latency\n"
        .to_owned();
    for (model, heads, share, latency) in rows {
        text += &format!(
            "VLLM,0.24.0,NVIDIA H200,mla_generation_module,k,{model},a,bfloat16,bfloat16,bfloat16,{heads},1,1,{share},7,{latency}\n"
        );
    }
    text
}

fn loader(pins: &str) -> String {
    format!(
        "pub(crate) fn mla_module_native_heads(model: &str) -> Option<u32> {{\n    match model {{\n{pins}        _ => None,\n    }}\n}}\n"
    )
}

const V3: &str = "        \"deepseek-ai/DeepSeek-V3\" => Some(128),\n";
const K3: &str = "        \"acme/K3\" => Some(96),\n";

#[test]
fn a_model_added_to_the_loader_with_its_rows_is_known() {
    let tree = Tree::new();
    tree.file(LOADER, loader(V3));
    tree.file(&format!("{MODULE}/collection_meta.yaml"), sidecar("mla_generation_module_perf"));
    let table = format!("{MODULE}/mla_generation_module_perf.txt");
    tree.file(&table, module(&[("deepseek-ai/DeepSeek-V3", 8, 1, 0.1)]));
    tree.commit();
    let only = ["--base-ref", "main", "--only", "key-out-of-range", "--only", "duplicate-key"];
    let rows = [("deepseek-ai/DeepSeek-V3", 8, 1, 0.1), ("acme/K3", 8, 1, 0.9)];
    tree.file(&table, module(&rows));
    let refused = format!("+key-out-of-range warning {table}");
    assert_eq!(
        news(&tree.sanity(&only)),
        std::slice::from_ref(&refused),
        "no loader knows the model"
    );
    tree.file(LOADER, loader(&format!("{V3}{K3}")));
    assert_eq!(news(&tree.sanity(&only)), [""; 0], "another model's heads are another key");
    // A pinned model's rows have a rank's share of its heads.
    tree.file(&table, module(&[("deepseek-ai/DeepSeek-V3", 8, 1, 0.1), ("acme/K3", 8, 2, 0.9)]));
    assert_eq!(news(&tree.sanity(&only)), [refused]);
    // A loader that was rewritten cannot be read, but it changes with the rows.
    tree.file(&table, module(&rows));
    tree.file(LOADER, "pub fn heads(model: &str) -> Option<u32> {\n    PINS.get(model)\n}\n");
    let rewritten = tree.sanity(&only);
    let found = news(&rewritten);
    assert_eq!(found, [format!("+key-out-of-range info {table}")]);
    insta::assert_snapshot!(message(&rewritten.finding("key-out-of-range")), @"the loader's code changes too, and rules/facts.yaml does not list a text in 1 row");
}

/// Decode attention at one key by several kernels.
fn attention(kernels: &[(&str, f64)]) -> String {
    let mut text = "framework,version,device,op_name,kernel_source,batch_size,isl,num_heads,num_key_value_heads,\
                    head_dim,window_size,beam_width,attn_dtype,kv_cache_dtype,step,latency\n"
        .to_owned();
    for (kernel, latency) in kernels {
        text += &format!(
            "SGLang,0.5.14,NVIDIA H200,generation_attention,{kernel},1,1,32,8,128,0,1,bfloat16,bfloat16,7,{latency}\n"
        );
    }
    text
}

#[test]
fn two_kernels_of_a_key_are_lanes_if_the_tree_declares_lanes() {
    let tree = Tree::new();
    let dir = "systems/data/h200_sxm/sglang/0.5.14";
    let table = format!("{dir}/generation_attention_perf.txt");
    tree.file(&table, attention(&[("triton", 0.05), ("fa3", 0.02)]));
    let only = ["--only", "duplicate-key", "--format", "json"];
    assert_eq!(tree.validate(&only).finding("duplicate-key")["rows"], 1);
    let lanes = "sglang:\n  '0.5.14': {90: fa3}\n";
    tree.file("systems/attention_lane_defaults.yaml", lanes);
    assert_eq!(tree.validate(&only).findings(), [""; 0]);
    // One kernel twice is a copy still.
    tree.file(&table, attention(&[("triton", 0.05), ("fa3", 0.02), ("fa3", 0.03)]));
    assert_eq!(tree.validate(&only).finding("duplicate-key")["rows"], 1);
}

#[test]
fn the_pinned_lane_is_served() {
    let tree = Tree::new();
    tree.file("systems/attention_lane_defaults.yaml", "sglang:\n  '0.5.14': {90: fa3}\n");
    let table = "systems/data/h200_sxm/sglang/0.5.14/generation_attention_perf.txt";
    tree.file(table, attention(&[("triton", 0.05), ("fa3", 0.02)]));
    tree.commit();
    let served = |kernels: &[(&str, f64)]| {
        tree.file(table, attention(kernels));
        let json = tree.sanity(&["--base-ref", "main"]).json();
        json["change"]["served"]["median_ratio"].as_f64()
    };
    assert_eq!(served(&[("triton", 0.5), ("fa3", 0.02)]), Some(1.0), "no query asks for triton");
    assert_eq!(served(&[("triton", 0.05), ("fa3", 0.04)]), Some(2.0));
}

#[test]
fn each_state_is_served_by_its_own_lanes() {
    let tree = Tree::new();
    let table = "systems/data/h200_sxm/sglang/0.5.14/generation_attention_perf.txt";
    tree.file(table, attention(&[("triton", 0.05), ("fa3", 0.02)]));
    tree.commit();
    tree.file("systems/attention_lane_defaults.yaml", "sglang:\n  '0.5.14': {90: fa3}\n");
    tree.file(table, attention(&[("triton", 0.05), ("fa3", 0.025)]));
    let json = tree.sanity(&["--base-ref", "main"]).json();
    assert_eq!(json["change"]["served"]["median_ratio"], 0.5, "triton, the first row, was served");
    let root = tree.path().display().to_string();
    let report =
        run(&["sanity", "--root", &root, "--base-ref", "main", "--format", "markdown"]).out();
    let line = "Attributes changed: `kernel_source`: triton → fa3 in 1 table";
    assert!(report.contains(line), "{report}");
}

#[test]
fn a_kernel_of_a_backend_that_cannot_be_selected_is_a_warning() {
    let tree = Tree::new();
    let table = "systems/data/h200_sxm/sglang/0.5.14/generation_attention_perf.txt";
    tree.file(table, attention(&[("triton", 0.05), ("flash_attention", 0.02), ("new", 0.03)]));
    let mapping = |kernel: &str, backend: &str, dtype: &str| {
        let condition =
            format!("match: {{op_file: generation_attention_perf, attn_dtype: {dtype}}}");
        format!(
            "- {{framework: sglang, kernel_source: {kernel}, {condition}, backend: {backend}}}\n"
        )
    };
    let choices = |backends: &str| {
        let backends =
            backends.split(' ').map(|backend| format!("      - {{backend: {backend}}}\n"));
        let backends: String = backends.collect();
        let catalog = format!(
            "families:\n- family: attention\n  op_files: [generation_attention_perf]\n  frameworks:\n    sglang:\n      choices:\n{backends}"
        );
        tree.file(CATALOG, catalog);
        tree.validate(&["--only", "key-out-of-range", "--format", "json"])
    };
    let mappings = [
        mapping("flash_attention", "fa4", "fp8"),
        mapping("flash_attention", "fa3", "bfloat16"),
        mapping("triton", "triton", "bfloat16"),
    ];
    let kernels = format!("schema_version: 1\nmappings:\n{}", mappings.concat());
    tree.file("collector/kernel_source_backends.yaml", kernels);
    assert_eq!(choices("fa3 triton").findings(), [""; 0]);
    let found = choices("fa4 triton").finding("key-out-of-range");
    assert_eq!((found["severity"].as_str(), found["rows"].as_u64()), (Some("warning"), Some(1)));
    insta::assert_snapshot!(message(&found), @"kernel_source flash_attention stands for fa3, which sglang cannot choose for attention (fa4, triton) in 1 row");
}

#[test]
fn a_version_that_no_query_reaches_needs_no_line() {
    let tree = Tree::new();
    for version in ["0.22.0", "0.23.0", "0.24.0", "0.25.0"] {
        let text = gemm(&[(1, 0.5)]).replace("0.24.0", version);
        tree.file(&format!("systems/data/h200_sxm/vllm/{version}/gemm_perf.txt"), text);
    }
    let line = "acme/A,A,h200_sxm,vllm,0.22.0,agg,FAIL,,plan,\n";
    let head =
        "HuggingFaceID,Architecture,System,Backend,Version,Mode,Status,ErrMsg,Command,Source\n";
    tree.file("systems/support_matrix/h200_sxm.csv", format!("{head}{line}"));
    let only = ["--only", "support-matrix", "--format", "json"];
    insta::assert_snapshot!(message(&tree.validate(&only).finding("support-matrix")), @"the matrix has no line for vllm 0.23.0, 0.24.0, 0.25.0, which has data");
    let slots = "schema_version: 1\ndefaults:\n  vllm: {current: 0.24.0, previous: null}\n";
    tree.file("systems/query_versions.yaml", slots);
    insta::assert_snapshot!(message(&tree.validate(&only).finding("support-matrix")), @"the matrix has no line for vllm 0.24.0, 0.25.0, which has data");
    let frozen = "overrides:\n  h200_sxm:\n    vllm: {current: 0.22.0}\n";
    tree.file("systems/query_versions.yaml", format!("{slots}{frozen}"));
    assert_eq!(tree.validate(&only).findings(), [""; 0]);
}

#[test]
fn a_change_of_the_kernel_mapping_judges_tables_with_these_kernels() {
    let tree = Tree::new();
    let path = |version: &str| {
        format!("systems/data/h200_sxm/sglang/{version}/generation_attention_perf.txt")
    };
    tree.file(&path("0.5.14"), attention(&[("triton", 0.05)]));
    tree.file(&path("0.5.15"), attention(&[("flash_attention", 0.02)]).replace("0.5.14", "0.5.15"));
    tree.file(CATALOG, "families:\n- family: attention\n  op_files: [generation_attention_perf]\n  frameworks:\n    sglang:\n      choices:\n      - {backend: fa3}\n");
    let kernels = |triton: &str| {
        let fixed = "{framework: sglang, kernel_source: flash_attention, backend: fa4}";
        let mapping = format!("{{framework: sglang, kernel_source: triton, backend: {triton}}}");
        tree.file(
            "collector/kernel_source_backends.yaml",
            format!("mappings:\n- {fixed}\n- {mapping}\n"),
        );
    };
    kernels("fa3");
    tree.commit();
    kernels("triton");
    let run = tree.sanity(&["--base-ref", "main", "--only", "key-out-of-range"]);
    assert_eq!(news(&run), [format!("+key-out-of-range warning {}", path("0.5.14"))]);
}
