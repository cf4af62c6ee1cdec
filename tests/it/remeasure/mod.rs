//! `remeasure` without a GPU: what is drawn, judged and told, by a mock device and by commands.

mod collectors;
mod process;
mod replay;
#[cfg(unix)]
mod strangers;

use std::collections::BTreeSet;

use crate::common::{self, SHIPPED, Tree};
use perfdb_gate::database::selection::Selection;
use perfdb_gate::gpu::device::{About, Answer, Device, MeasureError, Point};
use perfdb_gate::gpu::judge::Outcome;
use perfdb_gate::gpu::outcome::Remeasured;
use perfdb_gate::gpu::work::Work;
use perfdb_gate::jobs::remeasure::{self, RemeasureOptions};
use perfdb_gate::report::{self, ReportFormat, ReportView, TextStyle};
use serde_json::Value;

const TABLE: &str = "systems/data/h200_sxm/gemm/torch/2.11.0/gemm_perf.parquet";

/// The shipped table, which was measured on a real H200.
fn tree() -> Tree {
    let tree = Tree::new();
    tree.file(TABLE, SHIPPED);
    tree
}

/// Answers a factor of what is recorded, with the spread of honest reruns.
struct Mock {
    about: About,
    factor: f64,
    /// By how much it slows down with every point.
    drift: f64,
    measured: Vec<u64>,
    works: Vec<Work>,
}

impl Mock {
    fn new(factor: f64) -> Self {
        let about = About { name: "NVIDIA H200".into(), ..About::default() };
        Self { about, factor, drift: 0.0, measured: Vec::new(), works: Vec::new() }
    }
}

impl Device for Mock {
    fn about(&self) -> &About {
        &self.about
    }

    fn supports(&self, work: Option<&Work>) -> bool {
        work.is_some()
    }

    fn measure(&mut self, point: &Point) -> Result<Answer, MeasureError> {
        let spread = (point.row % 7) as f64 / 200.0 - 0.015;
        let slower = 1.0 + self.drift * self.measured.len() as f64;
        let ms = point.recorded_ms * self.factor * (1.0 + spread) * slower;
        self.measured.push(point.row);
        self.works.extend(point.work.clone());
        Ok(Answer { samples_ms: vec![ms * 0.999, ms, ms * 1.001], ..Answer::default() })
    }
}

fn options(tree: &Tree, sample: u32, seed: u64) -> RemeasureOptions {
    RemeasureOptions { root: tree.path().to_owned(), sample, seed, ..RemeasureOptions::default() }
}

fn measure(options: &RemeasureOptions, mock: &mut Mock) -> (Remeasured, String) {
    let report = remeasure::run(options, mock, &(), &|_| Ok(())).unwrap();
    let view = ReportView::new(&report, report.outcome(None));
    let json = report::render(&view, ReportFormat::Json, TextStyle::default()).unwrap();
    (report.remeasured.unwrap(), json)
}

#[test]
fn accurate_tables_pass_and_latencies_five_percent_too_short_fail() {
    let tree = tree();
    for seed in 1..=5 {
        let (honest, _) = measure(&options(&tree, 20, seed), &mut Mock::new(1.0));
        assert_eq!(honest.outcome(), Outcome::Pass, "seed {seed}: {:?}", honest.samples[0].verdict);
        let (lie, _) = measure(&options(&tree, 40, seed), &mut Mock::new(1.0 / 0.95));
        assert_eq!(lie.outcome(), Outcome::Fail, "seed {seed}: {:?}", lie.samples[0].verdict);
    }
}

#[test]
fn measuring_with_another_library_version_is_reported() {
    let tree = tree();
    for (version, told) in
        [("2.10.0", Some("torch 2.10.0")), ("2.11.0", None), ("2.11.0+cu130", None)]
    {
        let mut mock = Mock::new(1.0);
        mock.about.versions.insert("torch".into(), version.into());
        let (remeasured, json) = measure(&options(&tree, 20, 1), &mut mock);
        assert_eq!(remeasured.samples[0].measured_with.as_deref(), told);
        let json: Value = serde_json::from_str(&json).unwrap();
        assert_eq!(json["remeasure"]["tables"][0]["measured_with"].as_str(), told);
    }
}

#[test]
fn rows_of_other_kernels_are_sampled_only_if_there_are_no_others() {
    let tree = Tree::new();
    // The first 40 rows have a recipe for their own kernel, the others' is a stand-in.
    let row = |i: usize| {
        let (kernel, dtype) =
            if i < 40 { ("linear", "bfloat16") } else { ("CutlassScaledMM", "fp8") };
        format!("VLLM,0.24.0,NVIDIA H200,gemm,{kernel},{dtype},{},128,128,0.01\n", i + 1)
    };
    let rows: String = (0..100).map(row).collect();
    tree.file("systems/data/h200_sxm/vllm/0.24.0/gemm_perf.txt", common::GEMM.to_owned() + &rows);
    let mut options = options(&tree, 50, 1);
    let mut mock = Mock::new(1.0);
    let (remeasured, json) = measure(&options, &mut mock);
    let sample = &remeasured.samples[0];
    assert_eq!((sample.draw.rows, sample.draw.proxies, sample.points.len()), (40, 60, 40));
    assert!(mock.works.iter().all(|w| w.proxy.is_none()));
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["remeasure"]["tables"][0]["proxies"], 60);
    insta::assert_snapshot!(sample.sentence(), @"40 of the table's 100 rows (gemm linear bfloat16) are at most 2.1 % off (90 % confidence).");
    options.filter = Some("gemm_dtype = 'fp8'".into());
    let (remeasured, _) = measure(&options, &mut Mock::new(1.0));
    let sample = &remeasured.samples[0];
    assert_eq!((sample.draw.rows, sample.draw.proxies, sample.points.len()), (60, 0, 50));
}

/// MLA's batched products in vLLM, a synthetic row of 64 tokens for each latency in ms.
fn short_calls(latencies: &[f64]) -> Tree {
    let tree = Tree::new();
    let head =
        "framework,version,device,op_name,kernel_source,bmm_dtype,num_tokens,num_heads,latency\n";
    let row = |(i, ms): (usize, &f64)| {
        format!("VLLM,0.24.0,NVIDIA H200,mla_gen_pre,bmm,bfloat16,64,{},{ms}\n", i + 1)
    };
    let rows: String = latencies.iter().enumerate().map(row).collect();
    tree.file("systems/data/h200_sxm/vllm/0.24.0/mla_bmm_perf.txt", head.to_owned() + &rows);
    tree
}

#[test]
fn very_short_calls_are_judged_only_if_a_command_measures_them() {
    let tree = short_calls(&[0.004, 0.019, 0.021, 0.5]);
    let mut mock = Mock::new(1.0);
    let (remeasured, _) = measure(&options(&tree, 10, 1), &mut mock);
    assert_eq!((remeasured.samples[0].draw.rows, remeasured.samples[0].draw.proxies), (2, 2));
    assert!(mock.works.iter().all(|w| w.proxy.is_none()));
    let recorded: Vec<f64> =
        remeasured.samples[0].points.iter().map(|p| p.point.recorded_ms).collect();
    assert!(recorded.iter().all(|ms| *ms > 0.02) && recorded.len() == 2, "{recorded:?}");
    // Where there are no others they are drawn, and say why.
    let mut mock = Mock::new(1.0);
    measure(&options(&short_calls(&[0.004, 0.019]), 10, 1), &mut mock);
    let why: BTreeSet<&str> = mock.works.iter().map(|w| w.proxy.as_deref().unwrap()).collect();
    insta::assert_snapshot!(why.into_iter().collect::<Vec<_>>().join("\n"), @"a unit of one short call is timed with the launches of the process that measures");
}

#[test]
fn a_matrix_product_without_rows_is_not_measured() {
    let tree = Tree::new();
    let rows: String = (0..20)
        .map(|m| format!("VLLM,0.24.0,NVIDIA H200,gemm,x,bfloat16,{m},128,128,0.01\n"))
        .collect();
    tree.file("systems/data/h200_sxm/vllm/0.24.0/gemm_perf.txt", common::GEMM.to_owned() + &rows);
    let (remeasured, _) = measure(&options(&tree, 100, 1), &mut Mock::new(1.0));
    assert_eq!(
        (remeasured.samples[0].draw.rows, remeasured.samples[0].draw.without_recipe),
        (19, 1)
    );
}

#[test]
fn the_remeasure_chart_shows_every_point_and_rings_points_beyond_the_limit() {
    let mut mock = Mock::new(1.5);
    let (remeasured, _) = measure(&options(&tree(), 20, 1), &mut mock);
    let figures = remeasure::figures(&remeasured);
    assert_eq!(figures.len(), 1);
    let line = &figures[0].panels[0].lines[0];
    let name = figures[0].series[line.series].label.as_str();
    assert_eq!((name, line.points.len()), ("judged", 20));
    assert!(line.points.iter().all(|p| p.rings == [0] && (1.4..1.6).contains(&p.y)));
    insta::assert_snapshot!(figures[0].subtitle, @"FAIL: 20 of 20 points compared, seed 1; NVIDIA H200, h200_sxm; dotted: the median of the compared points, +50.4 %; grey: those of correct tables, at most 3.2 % off on this card");
    let (low, high) = figures[0].panels[0].band.unwrap();
    assert!((0.9..1.0).contains(&low) && (low * high - 1.0).abs() < 1e-9, "{low} {high}");
    let median = figures[0].panels[0].lines.last().unwrap();
    assert!(median.points.iter().all(|p| (1.45..1.55).contains(&p.y)), "{median:?}");
    let drawn = report::chart::svg(&figures[0]).unwrap();
    assert_eq!(drawn.matches("<title>").count(), 20);
}

/// The picture names slices by the words in which they differ.
#[test]
fn slices_of_a_remeasured_table_have_short_names() {
    let tree = Tree::new();
    let row = |i: usize| {
        let kernel = if i < 40 { "first" } else { "second" };
        format!("VLLM,0.24.0,NVIDIA H200,gemm,{kernel},bfloat16,{},128,128,0.01\n", i + 1)
    };
    let rows: String = (0..80).map(row).collect();
    tree.file("systems/data/h200_sxm/vllm/0.24.0/gemm_perf.txt", common::GEMM.to_owned() + &rows);
    let (remeasured, _) = measure(&options(&tree, 20, 1), &mut Mock::new(1.0));
    let figures = remeasure::figures(&remeasured);
    let names: Vec<&str> = figures[0].series.iter().map(|name| name.label.as_str()).collect();
    assert_eq!(names, ["first", "second"]);
    assert_eq!(figures[0].series[0].whole, "gemm first bfloat16");
}

/// NCCL's collectives of 8 MiB, for each number of GPUs ten messages.
fn collectives(system: &str) -> Tree {
    let tree = Tree::new();
    let row = |i: u32| {
        let (gpus, size) = (2 << (i % 3), 4_194_304 + i);
        format!("NCCL,2.29.2,NVIDIA H200,all_reduce,NCCL,half,{gpus},{size},0.5\n")
    };
    let head =
        "framework,version,device,op_name,kernel_source,nccl_dtype,num_gpus,message_size,latency\n";
    let rows: String = (0..30).map(row).collect();
    tree.file(&format!("systems/data/{system}/nccl/2.29.2/nccl_perf.txt"), head.to_owned() + &rows);
    tree
}

#[test]
fn collectives_of_up_to_the_available_gpus_are_judged() {
    let (tree, mut mock) = (collectives("h200_sxm"), Mock::new(1.0));
    mock.about.gpus = Some(4);
    let mut options = options(&tree, 20, 1);
    let (remeasured, json) = measure(&options, &mut mock);
    let sample = &remeasured.samples[0];
    assert_eq!((sample.verdict.outcome, sample.verdict.judged), (Outcome::Pass, 20));
    assert!(mock.works.iter().all(|work| work.size("gpus") <= 4 && work.proxy.is_none()));
    insta::assert_snapshot!(sample.sentence(), @"20 of the table's 30 rows (all_reduce NCCL half) are at most 1.9 % off (90 % confidence).");
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["remeasure"]["tables"][0]["larger"], "8 GPUs needed, 4 here (10 rows)");
    options.filter = Some("num_gpus = 8".into());
    let error = remeasure::run(&options, &mut mock, &(), &|_| Ok(())).unwrap_err().to_string();
    insta::assert_snapshot!(error, @"the selection contains no measurable row of 1 table: 8 GPUs needed, 4 here (10 rows)");
    // Eight were never measured again.
    mock.about.gpus = Some(8);
    mock.works.clear();
    measure(&options, &mut mock);
    assert!(!mock.works.is_empty() && mock.works.iter().all(|work| work.proxy.is_some()));
}

#[test]
fn the_statistical_power_of_a_run_is_reported() {
    struct Said(std::sync::Mutex<Vec<String>>);
    impl perfdb_gate::base::progress::Progress for Said {
        fn step(&self, _: usize, _: usize) {}
        fn say(&self, sentence: &str) {
            self.0.lock().unwrap().push(sentence.to_owned());
        }
    }
    let mut said = Vec::new();
    for tree in [tree(), collectives("h200_sxm")] {
        let mut options = options(&tree, 5, 1);
        options.power = true;
        let progress = Said(Default::default());
        let report = remeasure::run(&options, &mut Mock::new(1.0), &progress, &|_| Ok(())).unwrap();
        let mut told = progress.0.into_inner().unwrap();
        told.retain(|line| line.starts_with("--power"));
        assert_eq!(report.remeasured.unwrap().notes, told);
        said.extend(told);
    }
    insta::assert_snapshot!(said.join("\n"), @"
    --power: 5 points of systems/data/h200_sxm/gemm/torch/2.11.0/gemm_perf.parquet take 5 s
    --power: no drawn row of systems/data/h200_sxm/nccl/2.29.2/nccl_perf.txt has a recorded power
    ");
}

#[test]
fn a_gpu_that_slows_down_makes_the_verdict_inconclusive() {
    let mut mock = Mock::new(1.0);
    mock.drift = 0.005;
    let (remeasured, _) = measure(&options(&tree(), 20, 1), &mut mock);
    let verdict = &remeasured.samples[0].verdict;
    assert_eq!(verdict.outcome, Outcome::Inconclusive);
    insta::assert_snapshot!(verdict.reasons.join("\n"), @"the control points drifted by +7.2 % during the run");
    let mut busy = Mock::new(2.0);
    busy.about.busy = Some("the card is busy".into());
    assert_eq!(measure(&options(&tree(), 20, 1), &mut busy).0.outcome(), Outcome::Inconclusive);
}

#[test]
fn a_sample_depends_on_the_seed_and_control_points_are_measured_first_between_and_last() {
    let tree = tree();
    let rows = |seed: u64| {
        let mut mock = Mock::new(1.0);
        let (_, json) = measure(&options(&tree, 20, seed), &mut mock);
        (mock.measured, json)
    };
    let (once, again, other) = (rows(1), rows(1), rows(2));
    assert_eq!(once.0, again.0);
    assert_ne!(once.0, other.0);
    // Once uncounted, to wake the card.
    let (wakes, first, last) = (&once.0[..5], &once.0[5..10], &once.0[35..]);
    assert_eq!((wakes, first, &once.0[20..25], once.0.len()), (last, last, last, 40));
}

#[test]
fn the_recipe_of_a_measurement_is_that_of_its_rows() {
    let (tree, mut mock) = (tree(), Mock::new(1.0));
    let mut options = options(&tree, 3, 1);
    options.filter = Some("m = 1 AND gemm_dtype = 'bfloat16'".into());
    let (remeasured, _) = measure(&options, &mut mock);
    let work = &mock.works[0];
    assert_eq!((work.copies, work.warmups, work.runs), (6, 3, 6));
    let point = &remeasured.samples[0].points[0].point;
    assert!(point.key.contains(&("m".to_owned(), 1.into())), "{:?}", point.key);
    assert_eq!(work.size("m"), 1);
}

#[test]
fn sampled_points_that_do_not_fit_the_gpu_are_replaced_and_counted() {
    let mut mock = Mock::new(1.0);
    mock.about.memory_bytes = Some(500_000_000);
    let (remeasured, json) = measure(&options(&tree(), 40, 1), &mut mock);
    let sample = &remeasured.samples[0];
    assert!(sample.draw.replaced > 0);
    assert!(sample.points.iter().all(|p| p.point.work.as_ref().unwrap().bytes() <= 500_000_000));
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["remeasure"]["tables"][0]["replaced"], sample.draw.replaced);
}

#[test]
fn rows_of_another_gpu_are_not_compared() {
    let mut mock = Mock::new(1.0);
    mock.about.name = "NVIDIA L4".into();
    let error = remeasure::run(&options(&tree(), 5, 1), &mut mock, &(), &|_| Ok(())).unwrap_err();
    insta::assert_snapshot!(error, @"the device is NVIDIA L4, but the tables are of h200_sxm");
}

#[test]
fn an_invalid_selection_of_rows_is_an_error_with_the_reason() {
    let tree = tree();
    let fails = |filter: &str| {
        let mut options = options(&tree, 5, 1);
        options.filter = Some(filter.into());
        remeasure::run(&options, &mut Mock::new(1.0), &(), &|_| Ok(())).unwrap_err().to_string()
    };
    let mut errors = ["dtype = 'fp8'", "m +", "m = 7777"].map(fails).to_vec();
    let mut options = options(&tree, 5, 1);
    options.selection = Selection { tables: vec!["moe".into()], ..Selection::default() };
    let error = remeasure::run(&options, &mut Mock::new(1.0), &(), &|_| Ok(())).unwrap_err();
    errors.push(error.to_string());
    insta::assert_snapshot!(errors.join("\n"), @"
    no column matches 'dtype'
    --where: sql parser error: Expected: an expression, found: EOF in `m +`
    the selection contains no measurable row of 1 table
    no table matches 'moe'
    ");
}
