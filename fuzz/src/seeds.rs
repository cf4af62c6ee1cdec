//! What mutation starts from: small, synthetic, one of each form.

/// The table that ships with the program is the only one that is not made up.
pub fn parquet() -> Vec<Vec<u8>> {
    let shipped = include_bytes!("../../data/h200_sxm/gemm/torch/2.11.0/gemm_perf.parquet");
    vec![shipped.to_vec(), b"PAR1\0\0\0\0PAR1".to_vec()]
}

fn texts(all: &[&str]) -> Vec<Vec<u8>> {
    all.iter().map(|text| text.as_bytes().to_vec()).collect()
}

const HEADER: &str = "framework,version,device,op_name,kernel_source,gemm_dtype,m,n,k,latency\n";

/// Text tables: plain, quoted, torn, with a mark and other line ends.
pub fn csv() -> Vec<Vec<u8>> {
    let row = "VLLM,0.24.0,NVIDIA H200,gemm,cutlass,bfloat16,1,128,128,0.5\n";
    texts(&[
        &format!("{HEADER}{row}{row}"),
        &format!("\u{feff}{HEADER}{}", row.replace('\n', "\r\n")),
        &format!("{HEADER}{}", row.replace("cutlass", "\"a,\"\"b\nc\"")),
        &format!("{HEADER}{row}VLLM,0.2"),
        &format!("{HEADER}{}", row.replace("0.5", "NaN").replace(",1,", ",,")),
        "m,latency,on\n1,0.5,True\n2,1e400,False\n",
    ])
}

/// Systems.
pub fn system() -> Vec<Vec<u8>> {
    vec![include_bytes!("../../systems/h200_sxm.yaml").to_vec(), b"devices: ['*', '[a']\n".to_vec()]
}

/// Sidecars, waivers, a baseline.
pub fn sidecar() -> Vec<Vec<u8>> {
    texts(&[
        "schema_version: 1\nprovenance: collected\nruntime: {framework: vllm, version: 0.24.0}\ntables:\n  gemm_perf: {status: complete, rows: 2, sha256: ab}\n",
        "schema_version: 1\nreuse:\n- {table: gemm_perf, from_version: 0.22.0, reason: r, approved_by: a}\n",
        "waivers:\n- {rule: duplicate-key, path: '**', where: rows < 3 AND worst_ratio > 1, reason: r, evidence: e, approved_by: a, until: 2030-01-01}\n",
        "{\"schema\": \"perfdb-gate/baseline/v1\", \"findings\": [{\"fingerprint\": \"a\", \"rule\": \"r\", \"severity\": \"error\", \"path\": \"p\", \"rows\": 1}]}",
        "a: &a [x, x]\nb: *a\n",
    ])
}

/// Rules, tables and what else overlays them.
pub fn rules() -> Vec<Vec<u8>> {
    let files: [&[u8]; 8] = [
        include_bytes!("../../rules/key-out-of-range.yaml"),
        include_bytes!("../../rules/tables/gemm.yaml"),
        include_bytes!("../../rules/tables/attention.yaml"),
        include_bytes!("../../rules/limits.yaml"),
        include_bytes!("../../rules/dtypes.yaml"),
        include_bytes!("../../rules/recipes.yaml"),
        include_bytes!("../../rules/faults.yaml"),
        include_bytes!("../../charts/tables.yaml"),
    ];
    files.iter().map(|f| f.to_vec()).collect()
}

/// Pointers.
pub fn pointer() -> Vec<Vec<u8>> {
    texts(&[
        "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize 12345\n",
    ])
}

/// Names, apart by U+0001.
pub fn report() -> Vec<Vec<u8>> {
    texts(&[
        "duplicate-key\u{1}systems/data/h200_sxm/gemm/vllm/0.24.0/gemm_perf.parquet\u{1}2 rows",
        "::error::x\u{1}##[error]y\u{1}%0A::add-mask::z\r\n::error::\u{1}</script><img src=x onerror=alert(1)>",
        "[a](http:b) @you `|\u{1}\u{202e}\u{2066}\x1b[31m\u{9b}31m\x7f\u{1}-->]]>&amp;\"'\\",
    ])
}
