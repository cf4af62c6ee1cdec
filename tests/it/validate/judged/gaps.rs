//! What a table lacks: stubs, ragged slices, limits and choices. Synthetic rows.

use super::{severity, told};
use crate::common::Tree;

#[test]
fn a_nearly_empty_table_is_a_finding_although_other_versions_serve_its_keys() {
    let rows = |keys: std::ops::RangeInclusive<u64>, version: &str| {
        let rows: Vec<(u64, f64)> = keys.map(|m| (m, 0.05 + m as f64 / 100.0)).collect();
        crate::common::gemm(&rows).replace("0.24.0", version)
    };
    let of = |keys: std::ops::RangeInclusive<u64>| {
        let tree = Tree::new();
        let path = |version: &str| format!("systems/data/h200_sxm/vllm/{version}/gemm_perf.txt");
        tree.file(&path("0.22.0"), rows(1..=200, "0.22.0"));
        tree.file(&path("0.23.0"), rows(1..=220, "0.23.0"));
        tree.file(&path("0.24.0"), rows(keys, "0.24.0"));
        told(&tree, "row-count-parity")
    };
    let (severity, message) = of(1..=4).unwrap();
    assert_eq!(severity, "info", "the loader fills it");
    insta::assert_snapshot!(message, @"the table has only 4 keys of its own, while 2 other tables have 220 in the median; the loader adds rows of 0.22.0, 0.23.0, which makes 220 keys");
    assert_eq!(of(1..=100), None);
    assert_eq!(of(300..=304), None, "keys that no earlier version has are an addition");
}

#[test]
fn an_incomplete_slice_among_complete_ones_is_a_finding() {
    let rows = |fp8: u64, version: &str| {
        let row = |dtype: &str, m: u64| {
            format!(
                "VLLM,{version},NVIDIA H200,gemm,cutlass,{dtype},{m},128,128,{}\n",
                0.05 + m as f64 / 100.0
            )
        };
        let of = |dtype: &str, keys: u64| (1..=keys).map(|m| row(dtype, m)).collect::<String>();
        crate::common::GEMM.to_owned() + &of("bfloat16", 400) + &of("fp8", fp8)
    };
    let tree = Tree::new();
    for (version, fp8) in [("0.22.0", 400), ("0.23.0", 390), ("0.24.0", 16)] {
        let path = format!("systems/data/h200_sxm/vllm/{version}/gemm_perf.txt");
        tree.file(&path, rows(fp8, version));
    }
    let (severity, message) = told(&tree, "row-count-parity").unwrap();
    assert_eq!(severity, "info", "the loader fills it");
    insta::assert_snapshot!(message, @"gemm_dtype=fp8 has only 16 keys of its own, while 2 other tables have 400 in the median; the loader adds rows of 0.22.0, 0.23.0, which makes 800 keys");
}

#[test]
fn a_series_with_a_third_of_the_sizes_of_others_is_a_finding() {
    let ladders = |of: [&[u64]; 4]| {
        let row = |n: usize, m: u64| {
            let latency = 0.05 + m as f64 / 1000.0;
            format!("VLLM,0.24.0,NVIDIA H200,gemm,cutlass,bfloat16,{m},{},128,{latency}\n", n + 1)
        };
        let sizes = of.iter().enumerate();
        let rows = sizes.flat_map(|(n, sizes)| sizes.iter().map(move |m| row(n, *m)));
        let tree = Tree::new();
        tree.gemm("gemm_perf.txt", crate::common::GEMM.to_owned() + &rows.collect::<String>());
        told(&tree, "coverage-hole").map(|(_, message)| message)
    };
    let full: Vec<u64> = (0..16).map(|power| 1 << power).collect();
    insta::assert_snapshot!(ladders([&full, &full, &full, &full[4..8]]).unwrap(), @"1 of 4 groups of keys has at most 4 sizes along m, where the median group has 16: the planner extrapolates beyond them");
    insta::assert_snapshot!(ladders([&full, &full, &full, &full[..1]]).unwrap(), @"1 of 4 groups of keys has one size along m, where the median group has 16: the planner cannot interpolate there");
    assert_eq!(ladders([&full, &full, &full, &full[..8]]), None);
}

#[test]
fn memory_explains_only_missing_large_sizes_of_a_series() {
    let batches: Vec<u64> = (0..11).map(|power| 1 << power).collect();
    let ladders = |short: &[u64]| {
        let mut rows = "framework,version,device,op_name,kernel_source,mla_dtype,kv_cache_dtype,num_heads,batch_size,isl,tp_size,step,latency\n".to_owned();
        for heads in [16, 32, 64, 128] {
            for batch in if heads == 128 { short } else { &batches } {
                let latency = 0.01 + (heads * batch) as f64 / 1e4;
                rows += &format!(
                    "VLLM,0.24.0,NVIDIA H200,generation_mla,default,bfloat16,bfloat16,{heads},{batch},1,1,1023,{latency}\n"
                );
            }
        }
        let tree = Tree::new();
        tree.file("systems/data/h200_sxm/vllm/0.24.0/generation_mla_perf.txt", rows);
        told(&tree, "coverage-hole").map(|(_, message)| message)
    };
    assert_eq!(ladders(&batches), None);
    assert_eq!(ladders(&batches[..3]), None, "larger batches may not fit");
    insta::assert_snapshot!(ladders(&batches[8..]).unwrap(), @"1 of 4 groups of keys has at most 3 sizes along batch_size, where the median group has 11: the planner extrapolates beyond them");
}

#[test]
fn limits_of_kernels_name_their_source() {
    let specs = perfdb_gate::specs::Specs::embedded().unwrap();
    let limits = [
        "fp8-block-on-sm120",
        "min-latency-experts",
        "shards-of-experts-not-aligned",
        "heads-a-group-on-blackwell",
        "deepseek-v4-on-sm120",
        "megamoe-campaigns",
    ];
    for limit in limits {
        assert!(specs.limits[limit].reason.contains("collector/"), "{limit} names its source");
    }
    // Key heads of 40 query heads: TensorRT-LLM's kernels on Blackwell take 32, 64, 96 of one.
    let header = "framework,version,device,op_name,kernel_source,batch_size,isl,num_heads,num_key_value_heads,head_dim,beam_width,attn_dtype,kv_cache_dtype,step,latency\n";
    let rows = |heads: &[u64]| {
        let row = |heads: &u64, isl: u64| {
            format!(
                "TRTLLM,1.3.0,GPU,context_attention,k,1,{isl},{heads},1,128,1,bfloat16,bfloat16,0,{}\n",
                isl as f64 / 100.0
            )
        };
        let each = heads.iter().flat_map(|h| (1..=8).map(move |i| (h, i * 128)));
        header.to_owned() + &each.map(|(h, isl)| row(h, isl)).collect::<String>()
    };
    let of = |system: &str, other: &str| {
        let tree = Tree::new();
        for name in [system, other] {
            let facts = std::fs::read_to_string(format!("systems/{name}.yaml")).unwrap();
            tree.file(&format!("systems/{name}.yaml"), facts.replace("../data/", "data/"));
        }
        let path = |s: &str| format!("systems/data/{s}/trtllm/1.3.0/context_attention_perf.txt");
        tree.file(&path(other), rows(&[16, 32, 40]));
        tree.file(&path(system), rows(&[16, 32]));
        severity(&tree, "coverage-hole").unwrap()
    };
    assert_eq!(of("b200_sxm", "gb200"), "info");
    assert_eq!(of("h200_sxm", "h100_sxm"), "warning");
}

#[test]
fn a_kernel_that_another_one_replaces_is_not_missing() {
    let header = "framework,version,device,op_name,kernel_source,phase,batch_size,seq_len,num_tokens,d_model,d_conv,num_k_heads,head_k_dim,num_v_heads,head_v_dim,model_name,latency\n";
    let rows = |scan: Option<&str>| {
        let row = |kernel: &str, n: u64| {
            format!(
                "VLLM,0.24.0,GPU,gdn,{kernel},context,1,{n},{n},2048,4,16,128,32,128,m,{}\n",
                n as f64 / 1000.0
            )
        };
        let kernels = [Some("causal_conv1d_fn"), scan].into_iter().flatten();
        header.to_owned()
            + &kernels.flat_map(|k| (1..=8).map(move |n| row(k, n * 64))).collect::<String>()
    };
    let of = |own: Option<&str>| {
        let tree = Tree::new();
        let facts = std::fs::read_to_string("systems/h100_sxm.yaml").unwrap();
        tree.file("systems/h100_sxm.yaml", facts.replace("../data/", "data/"));
        let path = |s: &str| format!("systems/data/{s}/vllm/0.24.0/gdn_perf.txt");
        tree.file(&path("h100_sxm"), rows(Some("chunk_gated_delta_rule_flashinfer")));
        tree.file(&path("h200_sxm"), rows(own));
        let run =
            tree.validate(&["--only", "coverage-hole", "--system", "h200_sxm", "--format", "json"]);
        run.findings().len()
    };
    assert_eq!(of(Some("chunk_gated_delta_rule_triton")), 0);
    assert_eq!(of(None), 1);
}

#[test]
fn sizes_of_a_slice_are_a_hole_and_scattered_keys_are_an_info() {
    let rows = |is_kept: &dyn Fn(&str, u32, u32) -> bool| {
        let of = |dtype: &str| {
            let keys = (0..8).flat_map(|m| (0..4).map(move |n| (m, n)));
            let row = |(m, n): (u32, u32)| {
                let latency = f64::from(m + n + 1) / 100.0;
                let (m, n) = (1 << m, 128 << n);
                format!("VLLM,0.24.0,GPU,gemm,cutlass,{dtype},{m},{n},128,{latency}\n")
            };
            keys.filter(|(m, n)| is_kept(dtype, *m, *n)).map(row).collect::<String>()
        };
        crate::common::GEMM.to_owned() + &of("bfloat16") + &of("fp8")
    };
    let of = |is_kept: &dyn Fn(&str, u32, u32) -> bool| {
        let tree = Tree::new();
        let facts = std::fs::read_to_string("systems/h100_sxm.yaml").unwrap();
        tree.file("systems/h100_sxm.yaml", facts.replace("../data/", "data/"));
        let path = |system: &str| format!("systems/data/{system}/vllm/0.24.0/gemm_perf.txt");
        tree.file(&path("h100_sxm"), rows(&|_, _, _| true));
        tree.file(&path("h200_sxm"), rows(is_kept));
        told(&tree, "coverage-hole")
    };
    let (severity, message) = of(&|dtype, m, _| dtype == "bfloat16" || m < 5).unwrap();
    assert_eq!(severity, "warning");
    insta::assert_snapshot!(message, @"compared with 64 keys of h100_sxm 0.24.0: the loader finds no rows of gemm_dtype fp8, m from 32 up (12 keys, present in 1 of 1 nearest system)");
    let (severity, message) = of(&|_, m, n| (m + n) % 4 > 0).unwrap();
    assert_eq!(severity, "info");
    insta::assert_snapshot!(message, @"compared with 64 keys of h100_sxm 0.24.0: 16 keys are missing here and there, no slice or size as a whole");
    assert_eq!(of(&|_, m, n| (m + n) % 8 > 0), None, "too few");
}

#[test]
fn slices_that_only_another_gpu_generation_has_are_not_missing() {
    let of = |system: &str| {
        let tree = Tree::new();
        for name in [system, "h100_sxm", "b200_sxm"] {
            let facts = std::fs::read_to_string(format!("systems/{name}.yaml")).unwrap();
            tree.file(&format!("systems/{name}.yaml"), facts.replace("../data/", "data/"));
        }
        let row = |dtype: &str, m: u64| {
            format!("VLLM,0.24.0,GPU,gemm,cutlass,{dtype},{m},128,128,{}\n", m as f64 / 100.0)
        };
        let rows = |dtypes: &[&str]| {
            let each = dtypes.iter().flat_map(|d| (1..=8).map(move |m| row(d, m)));
            crate::common::GEMM.to_owned() + &each.collect::<String>()
        };
        let path = |s: &str| format!("systems/data/{s}/vllm/0.24.0/gemm_perf.txt");
        tree.file(&path("h100_sxm"), rows(&["bfloat16", "fp8"]));
        tree.file(&path("b200_sxm"), rows(&["bfloat16", "fp8"]));
        tree.file(&path(system), rows(&["bfloat16"]));
        let run =
            tree.validate(&["--only", "coverage-hole", "--system", system, "--format", "json"]);
        run.finding("coverage-hole")["severity"].as_str().unwrap().to_owned()
    };
    assert_eq!(of("h200_sxm"), "warning", "h100_sxm is of its generation");
    assert_eq!(of("l40s"), "info");
}

#[test]
fn a_missing_distribution_is_not_explained_by_the_gpu_generation() {
    let tree = Tree::new();
    for name in ["a100_sxm", "h100_sxm", "b200_sxm"] {
        let facts = std::fs::read_to_string(format!("systems/{name}.yaml")).unwrap();
        tree.file(&format!("systems/{name}.yaml"), facts.replace("../data/", "data/"));
    }
    let header = "framework,version,device,op_name,kernel_source,moe_dtype,num_tokens,hidden_size,inter_size,topk,num_experts,moe_tp_size,moe_ep_size,distribution,latency\n";
    let row = |distribution: &str, i: u32| {
        format!(
            "VLLM,0.24.0,GPU,moe,k,bfloat16,{},2048,768,8,128,1,1,{distribution},{}\n",
            1 << i,
            f64::from(i + 1) / 10.0
        )
    };
    for (system, kinds) in [("h100_sxm", 2), ("b200_sxm", 2), ("a100_sxm", 1)] {
        let each = ["power_law_1.2", "balanced"].into_iter().take(kinds);
        let rows = each.flat_map(|d| (0..10).map(move |i| row(d, i))).collect::<String>();
        tree.file(
            &format!("systems/data/{system}/vllm/0.24.0/moe_perf.txt"),
            header.to_owned() + &rows,
        );
    }
    let run =
        tree.validate(&["--only", "coverage-hole", "--system", "a100_sxm", "--format", "json"]);
    assert_eq!(run.finding("coverage-hole")["severity"], "warning");
}

#[test]
fn a_row_of_size_zero_is_not_below_the_speed_of_light() {
    let tree = Tree::new();
    tree.file(
        "systems/data/h200_sxm/vllm/0.24.0/gemm_perf.txt",
        crate::common::gemm(&[(0, 1e-9), (64, 0.05)]).replace(",128,128,", ",65536,65536,"),
    );
    let (severity, message) = told(&tree, "key-out-of-range").unwrap();
    assert_eq!((severity.as_str(), message.as_str()), ("error", "m is zero in 1 row"));
    let (_, message) = told(&tree, "below-speed-of-light").unwrap();
    assert!(message.starts_with("1 row takes"), "of m = 64 alone: {message}");
}
