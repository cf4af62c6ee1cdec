//! Names that the shipped lists do not have: warnings that state the date of the facts, and one info for several files. All
//! rows are synthetic.

use std::collections::BTreeSet;

use super::sidecar;
use crate::common::{Run, Tree, run};

const HEAD: &str = "framework,version,device,op_name,kernel_source,";
const MOE: &str = "moe_dtype,num_tokens,hidden_size,inter_size,topk,num_experts,moe_tp_size,moe_ep_size,distribution,latency";

/// A table with the path of its directory and its rows; `{v}` stands for a version.
struct Clean {
    name: &'static str,
    family: &'static str,
    columns: &'static str,
    rows: &'static [&'static str],
}

const TABLES: [Clean; 4] = [
    Clean {
        name: "gemm_perf",
        family: "gemm",
        columns: "gemm_dtype,m,n,k,latency",
        rows: &["gemm,cutlass,bfloat16,1,128,128,0.5", "gemm,cutlass,bfloat16,2,128,128,0.6"],
    },
    Clean {
        name: "moe_perf",
        family: "moe",
        columns: MOE,
        rows: &[
            "moe,triton,fp8,1,128,128,2,8,1,1,uniform,0.5",
            "moe,triton,fp8,2,128,128,2,8,1,1,uniform,0.6",
        ],
    },
    Clean {
        name: "generation_attention_perf",
        family: "attention",
        columns: "batch_size,isl,num_heads,num_key_value_heads,head_dim,window_size,beam_width,attn_dtype,kv_cache_dtype,step,latency",
        rows: &[
            "generation_attention,fa3,1,1,32,8,128,0,1,bfloat16,bfloat16,7,0.5",
            "generation_attention,fa3,1,1,32,8,128,0,1,bfloat16,bfloat16,15,0.6",
        ],
    },
    Clean {
        name: "custom_allreduce_perf",
        family: "comm",
        columns: "allreduce_dtype,num_gpus,message_size,latency",
        rows: &["all_reduce,nccl,bfloat16,2,1024,0.5", "all_reduce,nccl,bfloat16,2,2048,0.6"],
    },
];

const VERSIONS: [&str; 2] = ["0.24.0", "0.25.0"];

impl Clean {
    fn dir(&self, version: &str) -> String {
        format!("systems/data/h200_sxm/{}/vllm/{version}", self.family)
    }

    fn text(&self, version: &str) -> String {
        let row = |row: &&str| format!("VLLM,{version},NVIDIA H200,{row}\n");
        format!("{HEAD}{}\n{}", self.columns, self.rows.iter().map(row).collect::<String>())
    }

    /// Writes the table of the first `count` versions after a change to its text.
    fn write(&self, tree: &Tree, count: usize, change: impl Fn(&str) -> String) {
        // Latencies differ between versions, so that no table is a copy of another.
        for (number, version) in VERSIONS.iter().enumerate().take(count) {
            let text = self.text(version).replace(",0.5\n", &format!(",0.5{number}\n"));
            let text = text.replace(",0.6\n", &format!(",0.6{number}\n"));
            tree.file(&format!("{}/{}.txt", self.dir(version), self.name), change(&text));
            let meta = sidecar(self.name).replace("0.24.0", version);
            tree.file(&format!("{}/collection_meta.yaml", self.dir(version)), meta);
        }
    }
}

fn validate(tree: &Tree) -> Run {
    tree.validate(&["--format", "json"])
}

/// The findings that have a novelty, as `severity: message`.
fn novelties(run: &Run) -> Vec<String> {
    let json = run.json();
    let findings = json["findings"].as_array().unwrap().iter();
    let novel = findings.filter(|finding| finding["evidence"]["unknown"].is_string());
    novel
        .map(|f| format!("{}: {}", f["severity"].as_str().unwrap(), f["message"].as_str().unwrap()))
        .collect()
}

/// A change that makes values of shipped lists unknown, by table: the text that goes and the text that comes.
const CHANGES: [(&str, &str, &str); 13] = [
    ("gemm_perf", ",bfloat16,", ",bfloat17,"),
    ("gemm_perf", ",cutlass,", ",tilelang,"),
    ("gemm_perf", ",gemm,", ",matmul,"),
    ("gemm_perf", "NVIDIA H200", "NVIDIA H200 NVL 2"),
    ("gemm_perf", "VLLM,", "newfw,"),
    ("moe_perf", ",fp8,", ",w2a2,"),
    ("moe_perf", ",uniform,", ",zipf_9,"),
    ("moe_perf", ",8,1,1,", ",9,1,1,"),
    ("moe_perf", ",triton,", ",humming,"),
    ("generation_attention_perf", ",32,8,128,", ",48,3,96,"),
    ("generation_attention_perf", ",bfloat16,bfloat16,", ",fp6,fp6,"),
    ("custom_allreduce_perf", ",bfloat16,", ",e5m2,"),
    ("custom_allreduce_perf", ",nccl,", ",symm_mem,"),
];

#[test]
fn an_unlisted_value_is_not_an_error_and_has_at_most_one_finding() {
    let tree = Tree::new();
    TABLES.iter().for_each(|table| table.write(&tree, 2, str::to_owned));
    assert_eq!(validate(&tree).findings(), [""; 0]);
    for (name, old, new) in CHANGES {
        let table = TABLES.iter().find(|table| table.name == name).unwrap();
        for files in [1, 2] {
            TABLES.iter().for_each(|table| table.write(&tree, 2, str::to_owned));
            table.write(&tree, files, |text| text.replace(old, new));
            let run = validate(&tree);
            let found = run.findings();
            assert!(!found.iter().any(|f| f.contains(" error ")), "{new}: {found:?}");
            let unknown: BTreeSet<String> = novelties(&run).into_iter().collect();
            assert!(unknown.len() <= 1, "{new}: {unknown:?}");
            let severity = if files == 1 { "warning: " } else { "info: " };
            for message in unknown {
                let end = format!(
                    "not known to perfdb-gate {}, whose facts are of 2026-10",
                    env!("CARGO_PKG_VERSION")
                );
                assert!(message.starts_with(severity) && message.ends_with(&end), "{message}");
            }
        }
    }
}

#[test]
fn an_unknown_column_in_two_tables_is_one_info_that_names_the_files() {
    let tree = Tree::new();
    let add = |text: &str| text.replace(",latency\n", ",latency,rank\n").replace("0\n", "0,7\n");
    TABLES[0].write(&tree, 1, add);
    let version = env!("CARGO_PKG_VERSION");
    let end = format!("is not known to perfdb-gate {version}, whose facts are of 2026-10");
    assert_eq!(novelties(&validate(&tree)), [format!("warning: the column rank {end}")]);
    TABLES[1].write(&tree, 1, add);
    let files = [0, 1].map(|i| format!("{}/{}.txt", TABLES[i].dir("0.24.0"), TABLES[i].name));
    let expected = format!("info: the column rank in 2 files ({}) {end}", files.join(", "));
    assert_eq!(novelties(&validate(&tree)), [expected]);
    let baseline = tree.path().join("baseline.json").display().to_string();
    tree.validate(&["--write-baseline", &baseline]);
    let again = tree.validate(&["--baseline", &baseline, "--fail-on", "info"]);
    assert_eq!(again.code(), 0, "a baseline covers the run that wrote it: {}", again.out());
    // A novelty that the base has in any changed file is not new.
    tree.commit();
    TABLES[0].write(&tree, 1, |text| add(text).replace("0.50,7", "0.501,7"));
    let sanity = tree.sanity(&["--base-ref", "main", "--only", "header-mismatch"]).json();
    assert!(sanity["findings"].as_array().unwrap().iter().all(|f| f["new"] == false), "{sanity:#}");
}

#[test]
fn copies_that_differ_in_an_unknown_column_are_a_warning() {
    let tree = Tree::new();
    let table = format!("{}/moe_perf.txt", TABLES[1].dir("0.24.0"));
    let rows = |last: &str| {
        let row = |n: usize| {
            let row = |latency: f64, rank: usize| {
                format!(
                    "VLLM,0.24.0,NVIDIA H200,moe,triton,fp8,{n},128,128,2,8,1,1,uniform,{latency},{rank}\n"
                )
            };
            row(1.0, 0) + &row(9.0, 1)
        };
        format!("{HEAD}{MOE},{last}\n{}", (1..200).map(row).collect::<String>())
    };
    tree.file(&table, rows("rank"));
    let only = ["--only", "duplicate-key", "--format", "json"];
    let found = tree.validate(&only).finding("duplicate-key");
    assert_eq!(
        (&found["severity"], &found["evidence"]["unknown"]),
        (&"warning".into(), &"the column rank".into())
    );
    // The same copies without such a column contradict each other.
    tree.file(&table, rows("power"));
    assert_eq!(tree.validate(&only).finding("duplicate-key")["severity"], "error");
}

#[test]
fn rows_that_are_not_eligible_are_served_by_their_kernel_only() {
    let tree = Tree::new();
    let table = format!("{}/moe_perf.txt", TABLES[1].dir("0.24.0"));
    let text = |other: &str| {
        let row = |kernel: &str, latency: f64, eligible: &str| {
            format!(
                "VLLM,0.24.0,NVIDIA H200,moe,{kernel},fp8,1,128,128,2,8,1,1,uniform,{latency},{eligible}\n"
            )
        };
        format!(
            "{HEAD}{MOE},default_eligible\n{}{}",
            row("triton", 1.0, "true"),
            row("trtllm", 9.0, other)
        )
    };
    let only = ["--only", "duplicate-key", "--only", "header-mismatch", "--format", "json"];
    tree.file(&table, text("false"));
    assert_eq!(tree.validate(&only).findings(), [""; 0]);
    tree.file(&table, text("true"));
    assert_eq!(tree.validate(&only).finding("duplicate-key")["rows"], 1);
}

#[test]
fn a_missing_column_is_an_error_only_if_another_table_of_that_name_has_it() {
    let tree = Tree::new();
    let without = |text: &str| {
        let cut = |line: &str| line.rsplit_once(',').unwrap().0.to_owned() + "\n";
        text.lines().map(cut).collect::<String>()
    };
    TABLES[0].write(&tree, 1, without);
    assert_eq!(validate(&tree).finding("header-mismatch")["severity"], "warning");
    TABLES[0].write(&tree, 2, str::to_owned);
    TABLES[0].write(&tree, 1, without);
    assert_eq!(validate(&tree).finding("header-mismatch")["severity"], "error");
}

#[test]
fn a_sidecar_may_name_the_runtime_instead_of_each_row() {
    let tree = Tree::new();
    let without = |text: &str| {
        let cut = |line: &str| line.splitn(5, ',').nth(4).unwrap().to_owned() + "\n";
        text.lines().map(cut).collect::<String>()
    };
    TABLES[0].write(&tree, 1, without);
    let found = validate(&tree);
    assert_eq!(found.findings().len(), 1);
    assert_eq!(found.finding("header-mismatch")["severity"], "info");
    tree.remove(&format!("{}/collection_meta.yaml", TABLES[0].dir("0.24.0")));
    let found = tree.validate(&["--only", "header-mismatch", "--format", "json"]);
    assert_eq!(found.finding("header-mismatch")["severity"], "warning");
    // Each such table is an info, since each is another table to look at.
    TABLES[0].write(&tree, 1, without);
    TABLES[1].write(&tree, 2, without);
    let found = validate(&tree).findings();
    assert!(found.iter().all(|finding| finding.starts_with("header-mismatch info ")), "{found:?}");
    assert_eq!(found.len(), 3);
}

#[test]
fn a_corrected_label_is_relabelled_and_not_lost() {
    let tree = Tree::new();
    let rows = |dtype: &str, factor: f64| {
        let row = |n: usize| {
            let latency = 0.1 * n as f64 * factor;
            format!(
                "VLLM,0.24.0,NVIDIA H200,moe,triton,{dtype},{n},128,128,2,8,1,1,uniform,{latency:.6}\n"
            )
        };
        format!("{HEAD}{MOE}\n{}", (1..40).map(row).collect::<String>())
    };
    let table = format!("{}/moe_perf.txt", TABLES[1].dir("0.24.0"));
    tree.file(&table, rows("bfloat16", 1.0));
    tree.commit();
    tree.file(&table, rows("fp8", 0.99));
    let only = ["--base-ref", "main", "--only", "no-longer-served"];
    let found = tree.sanity(&only).finding("no-longer-served");
    assert_eq!(found["severity"], "info");
    let message = found["message"].as_str().unwrap();
    assert!(message.starts_with("relabelled: moe_dtype=bfloat16 "), "{message}");
    assert!(message.ends_with("(39 keys, × 0.99)"), "{message}");
    // Rows that are twice as fast were measured anew.
    tree.file(&table, rows("fp8", 0.5));
    assert_eq!(tree.sanity(&only).finding("no-longer-served")["severity"], "error");
}

#[test]
fn missing_all_reduce_keys_are_served_from_earlier_versions_of_a_backend() {
    let tree = Tree::new();
    let text = |version: &str, gpus: &[u32], columns: &str| {
        let sizes = (7..30).map(|power| 1_u64 << power);
        let rows = sizes.flat_map(|size| {
            gpus.iter().map(move |n| {
                let latency = 0.004 + 1e-9 * size as f64 * f64::from(*n);
                format!("VLLM,{version},NVIDIA H200,all_reduce,k,half,{n},{size},{latency:.6}\n")
            })
        });
        format!("{HEAD}{columns},num_gpus,message_size,latency\n{}", rows.collect::<String>())
    };
    let holes = |table: &str, columns: &str| {
        for (version, gpus) in [("0.24.0", &[2, 4, 8][..]), ("0.25.0", &[2])] {
            let dir = format!("systems/data/h200_sxm/comm/vllm/{version}");
            tree.file(&format!("{dir}/{table}.txt"), text(version, gpus, columns));
        }
        tree.validate(&["--format", "json", "--only", "coverage-hole", "--table", table]).findings()
    };
    assert_eq!(holes("custom_allreduce_perf", "allreduce_dtype"), [""; 0]);
    assert_eq!(holes("nccl_perf", "nccl_dtype").len(), 1, "no version fills another's");
}

#[test]
fn missing_all_to_all_keys_are_explained_by_ranks_that_the_nodes_lack() {
    let tree = Tree::new();
    let columns = "comm_backend,phase,comm_dtype,ep_size,node_num,hidden_size,topk,num_experts,num_tokens,transmit_us,notify_us,latency";
    let systems = [
        ("b200_sxm", include_str!("../../../systems/b200_sxm.yaml"), "NVIDIA B200", &[2, 4, 8][..]),
        ("gb200", include_str!("../../../systems/gb200.yaml"), "NVIDIA GB200", &[2, 4]),
    ];
    for (system, yaml, device, ranks) in systems {
        tree.file(&format!("systems/{system}.yaml"), yaml.replace("../data/", "data/"));
        let tokens = (0..12).map(|power| 1_u64 << power);
        let rows = tokens.flat_map(|tokens| {
            ranks.iter().map(move |ranks| {
                let latency = 20.0 + tokens as f64 * 0.01 * f64::from(*ranks);
                format!("VLLM,0.24.0,{device},moe_a2a,k,deepep,combine,bfloat16,{ranks},1,4096,8,256,{tokens},{latency:.3},0.5,{latency:.3}\n")
            })
        });
        let text = format!("{HEAD}{columns}\n{}", rows.collect::<String>());
        tree.file(&format!("systems/data/{system}/comm/vllm/0.24.0/moe_a2a_perf.txt"), text);
    }
    let run = tree.validate(&["--format", "json", "--only", "coverage-hole"]);
    let hole = run.finding("coverage-hole");
    assert_eq!(hole["severity"], "info");
    assert!(
        hole["message"].as_str().unwrap().contains("more-ranks-than-the-nodes-have"),
        "{hole:#}"
    );
}

/// Every shipped list has a source and a date, and `explain` shows those of a rule.
#[test]
fn every_shipped_list_of_known_values_has_a_date() {
    let shipped = perfdb_gate::specs::Specs::embedded().unwrap().shipped;
    let listed: BTreeSet<String> = shipped.lists.iter().flat_map(|l| l.files.clone()).collect();
    assert!(shipped.lists.iter().all(|list| list.date.len() == "2026-10".len()));
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let tables = std::fs::read_dir(root.join("rules/tables")).unwrap();
    let tables =
        tables.map(|file| format!("rules/tables/{}", file.unwrap().file_name().to_str().unwrap()));
    let others = ["dtypes", "facts", "limits", "loader"].map(|name| format!("rules/{name}.yaml"));
    let all: BTreeSet<String> = tables.chain(others).chain(["systems".to_owned()]).collect();
    assert_eq!(listed, all);
    let story = run(&["explain", "coverage-hole"]).out();
    assert!(story.contains("rules/limits.yaml: ai-dynamo/aiconfigurator"), "{story}");
}
