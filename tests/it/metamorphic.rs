//! A database that is written otherwise has the same findings: columns and rows in another order, other codecs, row
//! groups, pages and dictionaries, and another number of threads. All rows are synthetic.

use crate::common::Tree;
use crate::common::layout::File;
use crate::common::parquet::{Layout, laid_out, texts};
use polars_arrow::array::PrimitiveArray;
use polars_arrow::datatypes::ArrowDataType;
use polars_parquet_format::CompressionCodec;
use serde_json::Value;

/// A measured point.
#[derive(Debug, Clone)]
struct Row {
    device: &'static str,
    dtype: &'static str,
    sizes: [i64; 3],
    latency: f64,
}

/// A table's backend and version, with its rows.
type Rows = (&'static str, &'static str, Vec<Row>);

/// A number from 0 to 1 that depends on all of its seeds.
fn random(seeds: &[u64]) -> f64 {
    let mix =
        |hash: u64, seed: &u64| (hash ^ seed).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
    (seeds.iter().fold(0x51_7c_c1_b7, mix) >> 11) as f64 / (1u64 << 53) as f64
}

/// GEMM on an H200 in milliseconds: a launch, and 60 % of the peak, give or take 6 %.
fn latency(table: u64, dtype: &str, [m, n, k]: [i64; 3]) -> f64 {
    let rate = if dtype == "fp8" { 1.978e12 } else { 0.989e12 };
    let noise = random(&[table, dtype.len() as u64, m as u64, n as u64, k as u64]);
    (0.006 + 2.0 * (m * n * k) as f64 / (0.6 * rate)) * (0.94 + 0.12 * noise)
}

/// Four tables of one grid, with a few defects in the first two.
fn database() -> Vec<Rows> {
    let places =
        [("vllm", "0.24.0"), ("vllm", "0.22.0"), ("sglang", "0.5.14"), ("trtllm", "1.3.0rc20")];
    let table = |(number, (backend, version)): (usize, (&'static str, &'static str))| {
        let mut rows = Vec::new();
        for dtype in ["bfloat16", "fp8"] {
            for n in [128, 256, 1024, 4096] {
                for k in [256, 1024, 4096, 8192] {
                    for m in (0..12).map(|i| 1 << i) {
                        let (sizes, table) = ([m, n, k], number as u64);
                        let latency = latency(table, dtype, sizes);
                        rows.push(Row { device: "NVIDIA H200", dtype, sizes, latency });
                    }
                }
            }
        }
        (backend, version, rows)
    };
    let mut tables: Vec<Rows> = places.into_iter().enumerate().map(table).collect();
    let first = &mut tables[0].2;
    first[30].latency *= 8.0;
    first[90].latency /= 40.0;
    first[150].latency = 0.0;
    first[200].device = "NVIDIA L40S";
    first[250].sizes[0] = 0;
    first.extend_from_within(40..43);
    tables[1].2.retain(|row| row.dtype != "fp8" || row.sizes[1] != 256);
    tables
}

/// How a database is written.
#[derive(Debug, Clone, Default)]
struct Writing {
    layout: Layout,
    snappy: bool,
    /// Which column comes first, and whether they are in reverse.
    columns: (usize, bool),
    /// A seed for the order of rows; 0 leaves them as they are.
    rows: u64,
}

fn bytes((backend, version, rows): &Rows, writing: &Writing) -> Vec<u8> {
    let mut rows: Vec<&Row> = rows.iter().collect();
    if writing.rows > 0 {
        let mut at: Vec<(usize, &Row)> = rows.into_iter().enumerate().collect();
        at.sort_by(|a, b| {
            let place = |at: usize| random(&[writing.rows, at as u64]);
            place(a.0).total_cmp(&place(b.0))
        });
        rows = at.into_iter().map(|(_, row)| row).collect();
    }
    let framework = backend.to_uppercase();
    let all = |value: &str| texts(rows.iter().map(|_| Some(value)));
    let size =
        |of: usize| -> PrimitiveArray<i64> { rows.iter().map(|r| Some(r.sizes[of])).collect() };
    let latency: PrimitiveArray<f64> = rows.iter().map(|r| Some(r.latency)).collect();
    let mut columns = vec![
        ("framework", all(&framework)),
        ("version", all(version)),
        ("device", texts(rows.iter().map(|r| Some(r.device)))),
        ("op_name", all("gemm")),
        ("kernel_source", all("cutlass")),
        ("gemm_dtype", texts(rows.iter().map(|r| Some(r.dtype)))),
        ("m", size(0).boxed()),
        ("n", size(1).boxed()),
        ("k", size(2).boxed()),
        ("latency", latency.boxed()),
    ];
    columns.rotate_left(writing.columns.0);
    if writing.columns.1 {
        columns.reverse();
    }
    let bytes = laid_out(&columns, &writing.layout);
    if writing.snappy { snappy(&bytes) } else { bytes }
}

/// A file that is not compressed, compressed with snappy, without page indexes.
fn snappy(bytes: &[u8]) -> Vec<u8> {
    let mut file = File::read(bytes).unwrap();
    for column in file.footer.row_groups.iter_mut().flat_map(|group| &mut group.columns) {
        let meta = column.meta_data.as_mut().unwrap();
        assert_eq!(meta.codec, CompressionCodec::UNCOMPRESSED);
        meta.codec = CompressionCodec::SNAPPY;
    }
    for page in file.chunks.iter_mut().flatten() {
        page.body = snap::raw::Encoder::new().compress_vec(&page.body).unwrap();
        page.header.compressed_page_size = page.body.len() as i32;
    }
    file.write()
}

fn write(tree: &Tree, tables: &[Rows], writing: &Writing) {
    for table in tables {
        let folder = format!("systems/data/h200_sxm/{}/{}", table.0, table.1);
        tree.file(&format!("{folder}/gemm_perf.parquet"), bytes(table, writing));
    }
}

fn findings(tree: &Tree, threads: &str) -> Vec<Value> {
    let run = tree.validate(&["--format", "json", "--threads", threads]);
    assert_eq!(run.code(), 1, "{}", run.err());
    run.json()["findings"].as_array().unwrap().clone()
}

/// What does not depend on where rows are.
fn without_places(findings: &[Value]) -> Vec<String> {
    let fields = ["rule", "severity", "path", "slice", "rows", "message", "fingerprint"];
    let text = |finding: &Value| fields.map(|field| finding[field].to_string()).join(" ");
    findings.iter().map(text).collect()
}

/// Writings that keep the order of rows.
fn layouts() -> Vec<Writing> {
    let layout = Layout::default;
    let of = |layout: Layout| Writing { layout, ..Writing::default() };
    let none = Layout { zstd: false, ..layout() };
    vec![
        of(none.clone()),
        Writing { snappy: true, ..of(none.clone()) },
        of(Layout { group: 37, ..layout() }),
        of(Layout { page: Some(256), ..layout() }),
        of(Layout { dictionary: false, ..layout() }),
        of(Layout {
            group: 100,
            page: Some(64),
            dictionary: false,
            zstd: false,
            text: ArrowDataType::Utf8,
        }),
        of(Layout { text: ArrowDataType::LargeUtf8, ..layout() }),
        Writing { columns: (0, true), ..Writing::default() },
        Writing { columns: (4, false), snappy: true, ..of(Layout { group: 50, ..none }) },
    ]
}

#[test]
fn findings_do_not_depend_on_file_format_and_encoding() {
    let tables = database();
    let tree = Tree::new();
    write(&tree, &tables, &Writing::default());
    let wanted = findings(&tree, "1");
    let rules: Vec<&str> = wanted.iter().filter_map(|f| f["rule"].as_str()).collect();
    for rule in [
        "latency-spike",
        "latency-not-positive",
        "device-mismatch",
        "key-out-of-range",
        "duplicate-key",
    ] {
        assert!(rules.contains(&rule), "{rule} in {rules:?}");
    }
    assert_eq!(findings(&tree, "2"), wanted, "two threads");
    for writing in layouts() {
        write(&tree, &tables, &writing);
        assert_eq!(findings(&tree, "2"), wanted, "{writing:?}");
    }
}

#[test]
fn reordered_rows_have_the_same_findings_at_other_positions() {
    let tables = database();
    let tree = Tree::new();
    write(&tree, &tables, &Writing::default());
    let wanted = without_places(&findings(&tree, "2"));
    for rows in [1, 2, 3] {
        for (number, layout) in
            layouts().into_iter().enumerate().filter(|(at, _)| at % 3 == rows as usize % 3)
        {
            write(&tree, &tables, &Writing { rows, ..layout });
            let found = without_places(&findings(&tree, "2"));
            assert_eq!(found, wanted, "rows {rows}, layout {number}");
        }
    }
}

/// Bytes change, no cell does: a pull request that does that has no new finding.
#[test]
fn a_pull_request_that_only_re_encodes_tables_adds_no_finding() {
    let tables = database();
    let tree = Tree::new();
    write(&tree, &tables, &Writing::default());
    tree.commit();
    for (number, writing) in layouts().into_iter().enumerate() {
        write(&tree, &tables, &Writing { rows: number as u64 % 2, ..writing });
        let run = tree.sanity(&["--base-ref", "main"]);
        let json = run.json();
        let mut findings = json["findings"].as_array().unwrap().iter();
        assert!(findings.all(|f| f["new"] == false), "{number}: {json:#}");
        assert_eq!(run.code(), 0, "{number}");
    }
}
