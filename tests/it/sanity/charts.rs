//! Charts of synthetic rows: which tables are drawn, what is ringed, and what is drawn beside it.

use std::collections::BTreeMap;

use perfdb_gate::database::catalog::Catalog;
use perfdb_gate::database::facts::TreeFacts;
use perfdb_gate::database::source;
use perfdb_gate::database::state::State;
use perfdb_gate::findings::{Example, Finding, Novelty, Severity, SliceEvidence};
use perfdb_gate::jobs::sanity;
use perfdb_gate::report::chart::{ChartFigure, ChartPoint, Gallery, LineKind};
use perfdb_gate::specs::Specs;

use super::{FLAT, POINTER};
use crate::common::{H200, Tree, gemm};

/// Eight sizes, each of a latency of its own.
fn sizes(factor: f64) -> Vec<(u64, f64)> {
    (0..8).map(|i| (1 << i, factor * f64::from(1 + i))).collect()
}

fn path(name: &str) -> String {
    format!("{FLAT}/{name}")
}

/// The charts of the files on disk against the last commit, by findings that are all new.
fn charts(tree: &Tree, mut findings: Vec<Finding>, most: usize) -> Vec<ChartFigure> {
    findings.iter_mut().for_each(|finding| finding.novelty = Novelty::New);
    let specs = Specs::embedded().unwrap();
    let head = source::open(tree.path(), None).unwrap();
    let base = head.base("main").unwrap();
    let before = Catalog::walk(base.as_ref(), &specs).unwrap();
    let after = Catalog::walk(head.as_ref(), &specs).unwrap();
    let (facts, specs) = (&TreeFacts::default(), &specs);
    let base = State { source: base.as_ref(), catalog: &before, facts, specs };
    let head = State { source: head.as_ref(), catalog: &after, facts, specs };
    let root = tree.path().to_owned();
    let options =
        sanity::SanityOptions { root, base_ref: "main".into(), ..sanity::SanityOptions::default() };
    let diff = sanity::run(&options, &()).unwrap().0.diff.unwrap();
    let (findings, first) = (&findings, None);
    let gallery = Gallery { base, head, diff: &diff, findings, first };
    gallery.charts(most).unwrap()
}

fn finding(rule: &str, severity: Severity, path: &str) -> Finding {
    Finding::on_path(rule, severity, path, "synthetic")
}

fn points(figure: &ChartFigure, kind: LineKind) -> Vec<&ChartPoint> {
    let lines = figure.panels[0].lines.iter().filter(|line| line.kind == kind);
    lines.flat_map(|line| &line.points).collect()
}

/// The rows that are ringed, with the rules that name them.
fn ringed(figure: &ChartFigure) -> Vec<(usize, Vec<&str>)> {
    let all = points(figure, LineKind::Head).into_iter().chain(points(figure, LineKind::Copies));
    let names = |point: &ChartPoint| {
        point.rings.iter().map(|ring| figure.rings[*ring].name.as_str()).collect()
    };
    all.filter_map(|point| Some((point.row?, names(point)))).collect()
}

#[test]
fn rows_of_another_table_are_never_ringed() {
    let tree = Tree::new();
    tree.commit();
    let table = path("gemm_perf.txt");
    tree.gemm("gemm_perf.txt", gemm(&sizes(1.0)));
    let example = |row| Example { row, ..Example::default() };
    let hole = finding("coverage-hole", Severity::Error, &table);
    let findings = vec![
        // A hole shows rows of its references, and another file's finding is another file's.
        hole.examples((0..5).map(example).collect()),
        finding("latency-spike", Severity::Warning, &table).naming([6]),
        finding("latency-spike", Severity::Warning, &path("moe_perf.txt")).naming([1]),
    ];
    let charts = charts(&tree, findings, 12);
    assert_eq!(ringed(&charts[0]), [(6, vec!["latency-spike"])]);
    assert_eq!(charts[0].path, table);
}

#[test]
fn both_copies_of_a_duplicate_row_are_drawn_and_the_ring_names_its_rule() {
    let tree = Tree::new();
    tree.commit();
    let rows = [sizes(1.0), vec![(4, 9.0)]].concat();
    tree.gemm("gemm_perf.txt", gemm(&rows));
    let copies = finding("duplicate-key", Severity::Error, &path("gemm_perf.txt")).naming([8]);
    let figure = charts(&tree, vec![copies], 12).remove(0);
    let at = |kind| -> Vec<f64> {
        points(&figure, kind).into_iter().filter(|p| p.x == 4.0).map(|p| p.y).collect()
    };
    assert_eq!((at(LineKind::Head), at(LineKind::Copies)), (vec![3.0], vec![9.0]));
    let drawn = perfdb_gate::report::chart::svg(&figure).unwrap();
    let named = "m 4, latency, ms 9, not served; row 8: duplicate-key</title>";
    assert!(drawn.contains(named), "{drawn}");
}

#[test]
fn the_peer_that_a_finding_compares_with_is_drawn() {
    let tree = Tree::new();
    let sglang = "systems/data/h200_sxm/sglang/0.5.9/gemm_perf.txt";
    tree.file(sglang, gemm(&sizes(4.0)).replace("VLLM,0.24.0", "SGLang,0.5.9"));
    tree.commit();
    let table = path("gemm_perf.txt");
    tree.gemm("gemm_perf.txt", gemm(&sizes(1.0)));
    let slice = BTreeMap::from([("gemm_dtype".to_owned(), "bfloat16".to_owned())]);
    let apart = |reference: &str| {
        let ratios = serde_json::json!({reference: 0.25});
        let slices =
            [SliceEvidence { slice: slice.clone(), figure: ("ratio_over".into(), ratios) }];
        finding("sibling-deviation", Severity::Warning, &table).slices(slices)
    };
    let mut copied = finding("copied-table", Severity::Error, &table);
    copied.evidence.other = Some(sglang.to_owned());
    let mut slow = finding("latency-spike", Severity::Warning, &table);
    slow.evidence.reference = Some(sglang.to_owned());
    for held in [apart("sglang"), copied, slow] {
        let figure = charts(&tree, vec![held], 12).remove(0);
        let peer: Vec<f64> = points(&figure, LineKind::Peer).iter().map(|p| p.y).collect();
        assert_eq!(peer, sizes(4.0).iter().map(|(_, y)| *y).collect::<Vec<_>>());
        assert!(figure.subtitle.contains("wide and pale: sglang 0.5.9"), "{}", figure.subtitle);
        assert!(ringed(&figure).is_empty());
        // What the table takes over the peer, place by place.
        let over = figure.panels.last().unwrap();
        assert_eq!(over.y, "latency over that of sglang 0.5.9");
        let ratios: Vec<f64> = over.lines[0].points.iter().map(|point| point.y).collect();
        assert_eq!((ratios, over.mark), (vec![0.25; 8], Some(1.0)));
    }
    let unknown = charts(&tree, vec![apart("trtllm")], 12).remove(0);
    assert!(points(&unknown, LineKind::Peer).is_empty());
    assert!(unknown.panels.iter().all(|panel| !panel.y.contains("over that of")));
    // A point that stands out in the ratio is ringed there, too.
    let mut slow = finding("latency-spike", Severity::Warning, &table).naming([3]);
    slow.evidence.reference = Some(sglang.to_owned());
    let figure = charts(&tree, vec![slow], 12).remove(0);
    let over = figure.panels.last().unwrap();
    let ringed: Vec<f64> =
        over.lines[0].points.iter().filter(|p| p.row == Some(3)).map(|p| p.y).collect();
    assert_eq!(ringed, [0.25]);
}

#[test]
fn changed_latencies_are_drawn_first_and_tables_without_a_chart_are_skipped() {
    let tree = Tree::new();
    let folder = |version: &str| format!("systems/data/h200_sxm/vllm/{version}/gemm_perf.txt");
    tree.gemm("gemm_perf.txt", gemm(&sizes(1.0)));
    tree.file(&folder("0.1.0"), gemm(&sizes(1.0)));
    tree.file(&folder("0.2.0"), gemm(&sizes(1.0)));
    tree.commit();
    tree.gemm("gemm_perf.txt", gemm(&sizes(2.0)));
    tree.remove(&folder("0.1.0"));
    tree.file(&folder("0.2.0"), gemm(&sizes(1.0)).replace('\n', "\r\n"));
    tree.file(&folder("0.3.0"), gemm(&[(1, 0.5), (2, 0.6)]));
    tree.file(&folder("0.4.0"), POINTER);
    tree.file(&folder("0.5.0"), gemm(&sizes(1.5)));
    let drawn = |most| -> Vec<String> {
        charts(&tree, Vec::new(), most).into_iter().map(|figure| figure.path).collect()
    };
    assert_eq!(drawn(1), [path("gemm_perf.txt")]);
    assert_eq!(drawn(12), [path("gemm_perf.txt"), folder("0.5.0")]);
}

#[test]
fn charts_of_one_table_in_two_roots_have_distinct_names() {
    let tree = Tree::new();
    let tables = ["other/", ""].map(|root| {
        tree.file(&format!("{root}systems/h200_sxm.yaml"), H200.replace("../data/", "data/"));
        format!("{root}systems/data/h200_sxm/gemm/vllm/0.24.0/gemm_perf.txt")
    });
    tables.iter().for_each(|table| drop(tree.file(table, gemm(&sizes(1.0)))));
    tree.commit();
    tables.iter().for_each(|table| drop(tree.file(table, gemm(&sizes(2.0)))));
    let root = tree.path().to_owned();
    let base_ref = "main".to_owned();
    let options = sanity::SanityOptions { root, base_ref, most_charts: 12, ..Default::default() };
    let (_, figures) = sanity::run(&options, &()).unwrap();
    let drawn: Vec<&str> = figures.iter().map(|figure| figure.path.as_str()).collect();
    assert_eq!(drawn, tables);
    let names: Vec<&str> = figures.iter().map(|figure| figure.name.as_str()).collect();
    let name = "h200_sxm-vllm-0.24.0-gemm_perf";
    assert_eq!(names, [name, &format!("{name}-2")]);
}

#[test]
fn a_reference_that_is_implausible_itself_is_not_drawn() {
    let tree = Tree::new();
    let sglang = "systems/data/h200_sxm/sglang/0.5.9/gemm_perf.txt";
    tree.file(sglang, gemm(&sizes(4.0)).replace("VLLM,0.24.0", "SGLang,0.5.9"));
    tree.commit();
    tree.gemm("gemm_perf.txt", gemm(&sizes(1.0)));
    let mut slow = finding("latency-spike", Severity::Warning, &path("gemm_perf.txt"));
    slow.evidence.reference = Some(sglang.to_owned());
    let has_peer = |of_reference: Option<&str>| {
        let others = of_reference.map(|rule| finding(rule, Severity::Warning, sglang));
        let findings = others.into_iter().chain([slow.clone()]).collect();
        let charts = charts(&tree, findings, 12);
        !points(&charts[0], LineKind::Peer).is_empty()
    };
    assert!(has_peer(None) && has_peer(Some("duplicate-key")));
    for rule in ["below-speed-of-light", "far-above-bound", "slice-implausible", "synthetic-rows"] {
        assert!(!has_peer(Some(rule)), "{rule}");
    }
}
