//! Signs of how a whole table was measured: cards of different speed, zeros. Synthetic rows.

use super::told;
use crate::common::{GEMM, Tree};

/// A number of the row from -1 to 1, as noise.
fn noise(row: usize) -> f64 {
    (row.wrapping_mul(40_503) % 65_536) as f64 / 32_768.0 - 1.0
}

/// The findings of `slice-implausible` on a GEMM table: two dtypes, six shapes and 13 sizes. `of` is the latency
/// of a row by its number, its `m` and the time that the machine needs.
fn gemm(of: impl Fn(usize, u64, f64) -> f64) -> Option<String> {
    const SHAPES: [(u64, u64); 6] =
        [(4096, 4096), (7168, 2048), (2048, 7168), (5120, 5120), (8192, 4096), (4096, 8192)];
    let mut rows = String::new();
    let mut number = 0;
    for (dtype, rate) in [("bfloat16", 989e9), ("fp8", 1979e9)] {
        for (n, k) in SHAPES {
            for m in [64, 128, 256, 384, 512, 768, 1024, 2048, 3072, 4096, 6144, 8192, 16384] {
                let latency = of(number, m, (2 * m * n * k) as f64 / rate);
                rows += &format!(
                    "VLLM,0.24.0,NVIDIA H200,gemm,cutlass,{dtype},{m},{n},{k},{latency:.6}\n"
                );
                number += 1;
            }
        }
    }
    let tree = Tree::new();
    tree.gemm("gemm_perf.txt", GEMM.to_owned() + &rows);
    told(&tree, "slice-implausible").map(|(severity, message)| format!("{severity}: {message}"))
}

/// The latency of a kernel with noise of a share.
fn kernel(row: usize, need: f64, share: f64) -> f64 {
    (0.003 + need / 0.7) * (1.0 + share * noise(row))
}

#[test]
fn rows_of_a_slow_gpu_are_reported() {
    let with = |stride: usize, factor: f64| {
        gemm(|row, _, need| {
            kernel(row, need, 0.01) * if row % stride == 4 % stride { factor } else { 1.0 }
        })
    };
    let eighth = with(8, 1.38).unwrap();
    assert!(eighth.starts_with("warning: every 8th row from row 5 on takes 1.3"), "{eighth}");
    assert!(eighth.ends_with("as if one of 8 cards ran slower"), "{eighth}");
    let fourth = with(4, 0.7).unwrap();
    assert!(fourth.contains("every 4th row from row 1 on takes 0.7"), "{fourth}");
    assert!(fourth.ends_with("as if one of 4 cards ran faster"), "{fourth}");
    assert!(with(2, 1.3).unwrap().contains("one of 2 cards"));
    assert_eq!(with(8, 1.05), None, "less than the limit");
}

#[test]
fn noise_slow_sizes_and_scattered_slow_rows_are_not_a_slow_gpu() {
    assert_eq!(gemm(|row, _, need| kernel(row, need, 0.3)), None, "noise");
    let slow_size = |row, m, need| kernel(row, need, 0.01) * if m == 2048 { 1.4 } else { 1.0 };
    assert_eq!(gemm(slow_size), None, "every 13th row is one size");
    let scattered =
        |row: usize, _, need| kernel(row, need, 0.01) * if noise(row) > 0.75 { 1.4 } else { 1.0 };
    assert_eq!(gemm(scattered), None, "no stride");
    let two = |row: usize, _, need| {
        kernel(row, need, 0.01) * [1.4, 1.0, 1.0, 1.2, 1.0, 1.0, 1.0, 1.0][row % 8]
    };
    assert_eq!(gemm(two), None, "more than one card is off");
}

#[test]
fn a_column_that_names_the_gpu_is_read() {
    let with = |slow: bool| {
        let mut rows = GEMM.replace(",latency", ",gpu_id,latency");
        for row in 0..120_usize {
            let (m, n) = (256 * (1 + row % 12), 2048 * (1 + row / 12));
            let card = row * row % 7 % 3;
            let need = (2 * m * n * 8192) as f64 / 989e9 / 0.7;
            let latency = need * if slow && card == 2 { 1.3 } else { 1.0 };
            rows += &format!(
                "VLLM,0.24.0,NVIDIA H200,gemm,cutlass,bfloat16,{m},{n},8192,{card},{latency:.6}\n"
            );
        }
        let tree = Tree::new();
        tree.gemm("gemm_perf.txt", rows);
        told(&tree, "slice-implausible").map(|(_, message)| message)
    };
    let slow = with(true).unwrap();
    assert!(slow.starts_with("rows of one gpu_id take 1.3"), "{slow}");
    assert_eq!(with(false), None);
}

#[test]
fn a_table_of_zeros_is_an_info() {
    let with = |is_zero: fn(usize) -> bool, end: &str| {
        let row = |row: usize| {
            let latency = if is_zero(row) { 0.0 } else { 0.001 + row as f64 / 1e5 };
            format!("SGLang,0.5.14,NVIDIA H200,{end},{},2048,fp8,{latency}\n", row + 1)
        };
        let rows: String = (0..40).map(row).collect();
        let tree = Tree::new();
        let text = "framework,version,device,op_name,kernel_source,m,k,quant_dtype,latency\n";
        let path = "systems/data/h200_sxm/sglang/0.5.14/computescale_perf.txt";
        tree.file(path, text.to_owned() + &rows);
        told(&tree, "slice-implausible").map(|(severity, message)| format!("{severity}: {message}"))
    };
    let scales = "compute_scale,sglang";
    let zeros = with(|row| row > 0, scales).unwrap();
    assert!(zeros.starts_with("info: latency is 0 in 39 of 40 rows"), "{zeros}");
    assert!(with(|_| true, scales).is_some(), "a column of whole numbers");
    assert_eq!(with(|row| row < 8, scales), None, "single zeros");
}
