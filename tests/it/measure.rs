//! `measure` without a GPU: a plan's grid is measured by a mock, stopped, torn, gone on with.

use std::path::Path;
use std::time::Duration;

use crate::common::snapshot::{redact, shown, without_days};
use crate::common::{Tree, remeasured, run};
use perfdb_gate::base::error::Reason;
use perfdb_gate::database::catalog::Format;
use perfdb_gate::database::table::{Column, Table, encode};
use perfdb_gate::gpu::device::{About, Answer, Device, MeasureError, Point};
use perfdb_gate::gpu::work::Work;
use perfdb_gate::jobs::measure::{self, CollectedTable, MeasureOptions, PlannedPoints};
use perfdb_gate::specs::Specs;

const TABLE: &str = "h200_sxm/mla_bmm/cublas/13.1.0/mla_bmm_perf.parquet";

/// Answers by the sizes of a point; refuses one of them.
struct Mock {
    about: About,
    measured: Vec<Point>,
    /// After so many points the device is gone.
    dies_after: usize,
    /// Every how many of its points fail; 0 for none.
    fails_every: usize,
}

impl Mock {
    fn new(dies_after: usize) -> Self {
        let mut about = About { name: "NVIDIA H200".into(), ..About::default() };
        about.versions.insert("cuBLAS".into(), "13.1.0".into());
        about.power_limit_w = Some(700.0);
        Self { about, measured: Vec::new(), dies_after, fails_every: 0 }
    }
}

impl Device for Mock {
    fn about(&self) -> &About {
        &self.about
    }

    fn supports(&self, work: Option<&Work>) -> bool {
        work.is_some_and(|w| w.size("m") < 20_000)
    }

    fn measure(&mut self, point: &Point) -> Result<Answer, MeasureError> {
        if self.measured.len() == self.dies_after {
            let gone = perfdb_gate::base::error::Error::new("the GPU fell off the bus", "");
            return Err(gone.into());
        }
        self.measured.push(point.clone());
        let work = point.work.as_ref().unwrap();
        if self.fails_every > 0 && self.measured.len().is_multiple_of(self.fails_every) {
            return Err(Reason::from("a mock's whim").into());
        }
        if (work.size("m"), work.size("batch")) == (8192, 128) {
            return Err(Reason::from("out of memory").into());
        }
        let ms = (work.size("m") * work.size("batch")) as f64 * 1e-6;
        Ok(Answer {
            samples_ms: vec![ms, ms * 1.01, ms * 1.02],
            power_w: point.power.then_some(400.0),
            ..Answer::default()
        })
    }
}

fn measure(
    folder: &Path,
    mock: &mut Mock,
) -> Result<CollectedTable, perfdb_gate::base::error::Error> {
    measure_planned("mla_bmm", folder, mock)
}

/// Measures a plan or a rerun list of one table.
fn measure_planned(
    plan: &str,
    folder: &Path,
    mock: &mut Mock,
) -> Result<CollectedTable, perfdb_gate::base::error::Error> {
    let specs = Specs::embedded().unwrap();
    let options = MeasureOptions {
        plan: plan.into(),
        output_dir: folder.to_owned(),
        minutes: None,
        rules: None,
        collectors: false,
    };
    let points = PlannedPoints::find(&specs.library, plan)?;
    let mut tables = measure::run(&specs, &points, &options, mock, &())?;
    assert_eq!(tables.len(), 1);
    Ok(tables.remove(0))
}

/// What the sidecar beside the table says of it.
fn sidecar(folder: &Path) -> serde_json::Value {
    let path = folder.join(TABLE).with_file_name("collection_meta.yaml");
    let meta: serde_json::Value =
        serde_yaml::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    meta["tables"]["mla_bmm_perf"].clone()
}

#[test]
fn an_interrupted_grid_continues_with_the_remaining_points() {
    let tree = Tree::new();
    let folder = tree.path().join("data");
    let mut first = Mock::new(100);
    let lost = measure(&folder, &mut first).unwrap_err();
    insta::assert_snapshot!(redact(&lost.message), @"the GPU fell off the bus");
    // A kill tears the last line.
    let log = folder.join(TABLE).with_extension("samples.jsonl");
    let text = std::fs::read_to_string(&log).unwrap();
    std::fs::write(&log, &text[..text.len() - 20]).unwrap();

    let mut second = Mock::new(usize::MAX);
    let done = measure(&folder, &mut second).unwrap();
    // 2 operations, 28 sizes and 12 heads, the size that the mock does not take apart.
    assert_eq!((done.planned, done.unfit, done.now, done.missing()), (672, 24, 648 - 99, 26));
    assert_eq!((done.written.rows, done.written.failed), (646, 2));
    let again: Vec<u64> = first.measured[..99].iter().map(|p| p.row).collect();
    assert!(second.measured.iter().all(|p| !again.contains(&p.row)), "nothing twice");
    // A third run has only what failed to try.
    let mut third = Mock::new(usize::MAX);
    assert_eq!(measure(&folder, &mut third).unwrap().now, 2);
}

#[test]
fn a_measured_table_has_no_error() {
    let tree = Tree::new();
    let folder = tree.path().join("systems/data");
    measure(&folder, &mut Mock::new(usize::MAX)).unwrap();
    let root = tree.path().to_str().unwrap();
    let judged = run(&["validate", "--root", root, "--format", "json"]);
    let json = judged.json();
    assert_eq!(json["summary"]["rows"], 646, "{json}");
    assert_eq!(json["summary"]["errors"], 0, "{json}");
    // Two points failed, 24 do not fit: it is not all of the plan.
    let entry = sidecar(&folder);
    assert_eq!((&entry["status"], &entry["rows"]), (&"partial".into(), &646.into()));
    let path = folder.join(TABLE).with_file_name("collection_meta.yaml");
    insta::assert_snapshot!(without_days(&std::fs::read_to_string(path).unwrap()));
    // The first of the plan have their power.
    let log = std::fs::read_to_string(folder.join(TABLE).with_extension("samples.jsonl")).unwrap();
    assert_eq!(log.matches("\"power_w\":400.0").count(), 48);
}

#[test]
fn a_failure_to_measure_is_an_error_of_one_line() {
    let tree = Tree::new();
    let folder = tree.path().join("data");
    let mut errors = Vec::new();
    let mut unknown = Mock::new(0);
    unknown.about.name = "A100 of another make".into();
    errors.push(measure(&folder, &mut unknown).unwrap_err().message);
    let mut nameless = Mock::new(0);
    nameless.about.versions.clear();
    errors.push(measure(&folder, &mut nameless).unwrap_err().message);
    let no_plan = run(&["measure", "--plan", "gem", "--output-dir", "x"]);
    assert_eq!(no_plan.code(), 2);

    let own = tree.file("own.yaml", "about: mine\ntable: gemm_perf\n");
    let broken = run(&["measure", "--plan", own.to_str().unwrap(), "--output-dir", "x"]);
    assert_eq!(broken.code(), 2);
    insta::assert_snapshot!(shown([&no_plan, &broken]), @"
    $ perfdb-gate measure --plan gem --output-dir x
    2> perfdb-gate: no plan matches 'gem'
    2> hint: did you mean gemm? known: gemm, mla_bmm, nccl
    (exit 2)

    $ perfdb-gate measure --plan [tmp]/own.yaml --output-dir x
    2> perfdb-gate: [tmp]/own.yaml: missing field `backend` at line 2, column 1
    2> hint: CONTRIBUTING.md describes the format of rules, tables and systems
    (exit 2)
    ");

    let log = folder.join(TABLE).with_extension("samples.jsonl");
    std::fs::create_dir_all(log.parent().unwrap()).unwrap();
    std::fs::write(&log, "no log\n").unwrap();
    errors.push(measure(&folder, &mut Mock::new(0)).unwrap_err().message);
    insta::assert_snapshot!(redact(&errors.join("\n")), @"
    no known system has the device A100 of another make
    the device does not report its version of cuBLAS
    [tmp]/data/h200_sxm/mla_bmm/cublas/13.1.0/mla_bmm_perf.samples.jsonl line 1: expected ident at line 1 column 2
    ");
    assert_eq!(std::fs::read_to_string(&log).unwrap(), "no log\n", "it is left alone");
}

#[test]
fn a_run_without_time_left_measures_no_point() {
    let tree = Tree::new();
    let options = MeasureOptions {
        plan: "mla_bmm".into(),
        output_dir: tree.path().to_owned(),
        rules: None,
        minutes: Some(Duration::ZERO),
        collectors: false,
    };
    let mut mock = Mock::new(usize::MAX);
    // No clock is so coarse that nothing passes before the first point.
    std::thread::sleep(Duration::from_millis(1));
    let specs = Specs::embedded().unwrap();
    let points = PlannedPoints::find(&specs.library, &options.plan).unwrap();
    let done = measure::run(&specs, &points, &options, &mut mock, &());
    insta::assert_snapshot!(done.unwrap_err().message, @"the time ran out before a point was measured");
    assert_eq!(mock.measured.len(), 0);
}

#[test]
fn a_plan_with_failed_points_is_not_complete() {
    let tree = Tree::new();
    let folder = tree.path().join("systems/data");
    let mut half = Mock::new(usize::MAX);
    half.fails_every = 2;
    let done = measure(&folder, &mut half).unwrap();
    assert_eq!((done.measured, done.missing(), done.exit().code()), (324, 348, 3), "{done:?}");
    assert_eq!(sidecar(&folder)["status"], "partial");
    // What is measured stays, also where this device could not measure it.
    let mut none = Mock::new(usize::MAX);
    none.fails_every = 1;
    let again = measure(&folder, &mut none).unwrap();
    assert_eq!((again.measured, again.written.rows), (324, 324));
}

#[test]
fn a_table_without_its_log_and_a_log_in_use_are_not_changed() {
    let tree = Tree::new();
    let folder = tree.path().join("data");
    let table = folder.join(TABLE);
    std::fs::create_dir_all(table.parent().unwrap()).unwrap();
    std::fs::write(&table, "somebody's rows").unwrap();
    let alone = measure(&folder, &mut Mock::new(0)).unwrap_err();
    assert_eq!(std::fs::read_to_string(&table).unwrap(), "somebody's rows");

    let other = tree.path().join("other");
    let about = Mock::new(0).about;
    let held = perfdb_gate::gpu::record::Log::open(&other, &other.join(TABLE), &about).unwrap();
    let used = measure(&other, &mut Mock::new(0)).unwrap_err();
    insta::assert_snapshot!(redact(&format!("{alone}\n{used}")), @"
    [tmp]/data/h200_sxm/mla_bmm/cublas/13.1.0/mla_bmm_perf.parquet exists without its log
    another process writes measurements to [tmp]/other/h200_sxm/mla_bmm/cublas/13.1.0/mla_bmm_perf.samples.jsonl
    ");
    drop(held);
    assert!(measure(&other, &mut Mock::new(usize::MAX)).is_ok());
}

#[cfg(unix)]
#[test]
fn measurements_are_not_written_through_a_link() {
    use std::os::unix::fs::symlink;
    let version = TABLE.rsplit_once('/').unwrap().0;
    for (link, to) in [
        ("", "away"),
        ("h200_sxm", "away"),
        (version, "away"),
        (&*format!("{version}/collection_meta.yaml"), "nowhere"),
        (TABLE, "nowhere"),
        (&*TABLE.replace(".parquet", ".samples.jsonl"), "/dev/zero"),
    ] {
        let (tree, outside) = (Tree::new(), tempfile::tempdir().unwrap());
        tree.git(&["init", "-q"]);
        let away = outside.path().join("away");
        std::fs::create_dir(&away).unwrap();
        let folder = tree.path().join("systems/data");
        let path = if link.is_empty() { folder.clone() } else { folder.join(link) };
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        symlink(outside.path().join(to), &path).unwrap();
        let mut mock = Mock::new(usize::MAX);
        let refused = measure(&folder, &mut mock).unwrap_err();
        let said = format!("{} is a symbolic link", path.display());
        assert!(refused.message.contains(&said), "{refused}");
        assert_eq!(mock.measured.len(), 0, "nothing is measured in vain");
        assert_eq!(std::fs::read_dir(&away).unwrap().count(), 0);
        assert_eq!(std::fs::read_dir(outside.path()).unwrap().count(), 1);
    }
}

/// A measured table with the latency of some rows five times as long.
fn spiked(path: &Path, rows: &[usize]) -> Vec<u8> {
    let table = Table::decode(&std::fs::read(path).unwrap(), Format::Parquet, &|_| false).unwrap();
    let mut columns = table.into_columns();
    for (name, column) in &mut columns {
        if let (true, Column::Float { values, .. }) = (name == "latency", column) {
            rows.iter().for_each(|row| values[*row] *= 5.0);
        }
    }
    encode(&columns).unwrap()
}

fn latencies(bytes: &[u8]) -> Vec<f64> {
    let table = Table::decode(bytes, Format::Parquet, &|_| false).unwrap();
    let latency = table.column("latency").unwrap();
    (0..table.rows).map(|row| latency.number(row)).collect()
}

#[test]
fn artificial_spikes_are_planned_measured_again_and_merged() {
    let tree = Tree::new();
    let data = tree.path().join("systems/data");
    measure(&data, &mut Mock::new(usize::MAX)).unwrap();
    let table = data.join(TABLE);
    let honest = std::fs::read(&table).unwrap();
    let rows: Vec<usize> = (0..10).map(|i| 7 + 61 * i).collect();
    std::fs::write(&table, spiked(&table, &rows)).unwrap();

    let path = |name: &str| tree.path().join(name).display().to_string();
    let list = path("rerun.yaml");
    let of = table.display().to_string();
    let report = tree
        .file("report.json", remeasured(&format!("systems/data/{TABLE}"), &rows))
        .display()
        .to_string();
    let root = tree.path().display().to_string();
    let planned = run(&["plan", "--root", &root, "--from", &report, "--output", &list]);
    assert_eq!(planned.code(), 0, "{}{}", planned.out(), planned.err());
    insta::assert_snapshot!(planned.shown());
    let mut mock = Mock::new(usize::MAX);
    let done = measure_planned(&list, &tree.path().join("again"), &mut mock).unwrap();
    assert_eq!((done.planned, done.missing(), mock.measured.len()), (10, 0, 10));
    let (again, ledger) = (path("again"), path("merged.jsonl"));
    let merge = ["merge", &of, "--with", &again, "--only", &list, "--ledger", &ledger, "--write"];
    let merged = run(&merge);
    assert_eq!(merged.code(), 0, "{}{}", merged.out(), merged.err());
    assert!(
        merged.out().contains("10 keys replaced, 0 added, 0 others touched"),
        "{}",
        merged.out()
    );
    let (honest, merged) = (latencies(&honest), latencies(&std::fs::read(&table).unwrap()));
    let apart = |(one, other): (&f64, &f64)| (one / other - 1.0).abs();
    assert_eq!(honest.len(), merged.len());
    assert!(honest.iter().zip(&merged).map(apart).all(|apart| apart < 0.02));
}
