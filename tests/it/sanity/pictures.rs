//! The charts that the documents show: of a table in `data/`, which was measured on an H200.

use perfdb_gate::database::catalog::Format;
use perfdb_gate::database::table::{Column, Table, encode};

use crate::common::Tree;

/// Products of MLA's decode in regular steps.
const MEASURED: &[u8] =
    include_bytes!("../../../data/h200_sxm/mla_bmm/cublas/13.1.0/mla_bmm_perf.parquet");

/// Where a tree has it.
const PLACE: &str = "systems/data/h200_sxm/mla_bmm/cublas/13.1.0/mla_bmm_perf.parquet";

/// The measured table with some latencies multiplied, by operation, heads and tokens.
fn table(factor: impl Fn(&str, f64, f64) -> f64) -> Vec<u8> {
    let table = Table::decode(MEASURED, Format::Parquet, &|_| false).unwrap();
    let factors: Vec<f64> = {
        let [op, heads, tokens] =
            ["op_name", "num_heads", "num_tokens"].map(|c| table.column(c).unwrap());
        let of = |row: usize| factor(op.text(row).unwrap(), heads.number(row), tokens.number(row));
        (0..table.rows).map(of).collect()
    };
    let mut columns = table.into_columns();
    let latency = columns.iter_mut().find(|(name, _)| name == "latency").unwrap();
    let Column::Float { values, .. } = &mut latency.1 else { panic!("latency is a number") };
    values.iter_mut().zip(&factors).for_each(|(value, factor)| *value *= factor);
    encode(&columns).unwrap()
}

/// Texts and titles of a picture, without those that are blank. Where its lines run depends on the last digit of a
/// logarithm, which not all machines have in common.
fn texts(svg: &str) -> Vec<String> {
    let page = roxmltree::Document::parse(svg).unwrap();
    let named =
        page.descendants().filter(|node| matches!(node.tag_name().name(), "text" | "title"));
    let texts = named.filter_map(|node| node.text()).map(|text| text.trim().to_owned());
    texts.filter(|text| !text.is_empty()).collect()
}

/// Holds a picture of the documents against what `sanity` draws of two states of the table.
fn is_drawn(name: &str, base: Option<Vec<u8>>, head: Vec<u8>) -> Vec<String> {
    let tree = Tree::new();
    if let Some(base) = base {
        tree.file(PLACE, base);
    }
    tree.commit();
    tree.file(PLACE, head);
    let charts = tree.path().join("charts");
    let args = ["--base-ref", "main", "--output-dir", &charts.display().to_string()];
    let run = tree.sanity(&args);
    assert!(run.code() < 2, "{}", run.err());
    let drawn = charts.join("h200_sxm-cublas-13.1.0-mla_bmm_perf.svg");
    let drawn = std::fs::read_to_string(drawn).unwrap();
    let file = format!("docs/charts/{name}.svg");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&file, &drawn).unwrap();
    }
    let written = std::fs::read_to_string(&file).unwrap();
    assert_eq!(
        texts(&written),
        texts(&drawn),
        "{file}: run UPDATE_DOCS=1 cargo test --test it pictures::"
    );
    texts(&drawn)
}

/// `UPDATE_DOCS=1 cargo test --test it pictures::` writes the pictures instead.
#[test]
fn the_charts_on_the_pages_equal_those_that_sanity_draws() {
    is_drawn("new", None, MEASURED.to_vec());

    let is_slow = |op: &str, heads| op == "mla_gen_pre" && [16.0, 128.0].contains(&heads);
    let was = table(|op, heads, _| if is_slow(op, heads) { 1.5 } else { 1.0 });
    let changed = is_drawn("changed", Some(was), MEASURED.to_vec());
    assert!(changed.iter().any(|text| text.ends_with(", before")), "{changed:?}");

    let is_it = |op: &str, heads, tokens| op == "mla_gen_pre" && heads == 64.0 && tokens == 512.0;
    let spiked = table(|op, heads, tokens| if is_it(op, heads, tokens) { 9.0 } else { 1.0 });
    let spike = is_drawn("spike", Some(MEASURED.to_vec()), spiked);
    let legend = spike.iter().any(|text| text == "latency-spike: 1 of 1 row ringed");
    assert!(legend, "the point is ringed: {spike:?}");
}
