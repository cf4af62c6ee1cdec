//! `measure` without a GPU: a plan's grid is measured by a mock, stopped, torn, gone on with.

use std::path::Path;
use std::time::Duration;

use crate::common::{Tree, run};
use perfdb_gate::gpu::device::{About, Answer, Device, MeasureError, Point, Unmeasured, Work};
use perfdb_gate::jobs::measure::{self, Collected, Options};
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

    fn takes(&self, work: Option<&Work>) -> bool {
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
            return Err(Unmeasured::new("a mock's whim").into());
        }
        if (work.size("m"), work.size("batch")) == (8192, 128) {
            return Err(Unmeasured::new("out of memory").into());
        }
        let ms = (work.size("m") * work.size("batch")) as f64 * 1e-6;
        Ok(Answer {
            samples_ms: vec![ms, ms * 1.01, ms * 1.02],
            power_w: point.power.then_some(400.0),
            ..Answer::default()
        })
    }
}

fn measure(folder: &Path, mock: &mut Mock) -> Result<Collected, perfdb_gate::base::error::Error> {
    let options = Options { plan: "mla_bmm".into(), folder: folder.to_owned(), until: None };
    measure::run(&Specs::embedded().unwrap(), &options, mock, &())
}

#[test]
fn a_grid_that_was_stopped_goes_on_where_it_was() {
    let tree = Tree::new();
    let folder = tree.path().join("data");
    let mut first = Mock::new(100);
    assert!(measure(&folder, &mut first).unwrap_err().message.contains("fell off"));
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
fn what_was_measured_is_a_table_that_validates() {
    let tree = Tree::new();
    let folder = tree.path().join("systems/data");
    measure(&folder, &mut Mock::new(usize::MAX)).unwrap();
    let root = tree.path().to_str().unwrap();
    let judged = run(&["validate", "--root", root, "--format", "json"]);
    let json = judged.json();
    assert_eq!(json["summary"]["rows"], 646, "{json}");
    assert_eq!(json["summary"]["errors"], 0, "{json}");
    let meta = std::fs::read_to_string(folder.join(TABLE).with_file_name("collection_meta.yaml"));
    let meta = meta.unwrap();
    // Two points failed, 24 do not fit: it is not all of the plan.
    for said in ["status: partial", "rows: 646", "framework: cuBLAS", "case_plan_hash: sha256:"] {
        assert!(meta.contains(said), "{said}: {meta}");
    }
    // The first of the plan have their power.
    let log = std::fs::read_to_string(folder.join(TABLE).with_extension("samples.jsonl")).unwrap();
    assert_eq!(log.matches("\"power_w\":400.0").count(), 48);
}

#[test]
fn what_cannot_be_measured_is_one_line() {
    let tree = Tree::new();
    let folder = tree.path().join("data");
    let mut unknown = Mock::new(0);
    unknown.about.name = "A100 of another make".into();
    assert!(measure(&folder, &mut unknown).unwrap_err().message.contains("no system is known"));
    let mut nameless = Mock::new(0);
    nameless.about.versions.clear();
    assert!(measure(&folder, &mut nameless).unwrap_err().message.contains("version of cuBLAS"));
    let no_plan = run(&["measure", "--plan", "gem", "--output-dir", "x"]);
    assert_eq!(no_plan.code(), 2);
    assert!(no_plan.err().contains("did you mean gemm?"), "{}", no_plan.err());

    let own = tree.file("own.yaml", "about: mine\ntable: gemm_perf\n");
    let broken = run(&["measure", "--plan", own.to_str().unwrap(), "--output-dir", "x"]);
    assert_eq!(broken.code(), 2);
    assert!(broken.err().contains("own.yaml: missing field"), "{}", broken.err());

    let log = folder.join(TABLE).with_extension("samples.jsonl");
    std::fs::create_dir_all(log.parent().unwrap()).unwrap();
    std::fs::write(&log, "no log\n").unwrap();
    let error = measure(&folder, &mut Mock::new(0)).unwrap_err();
    assert!(error.message.contains("line 1"), "{error}");
    assert_eq!(std::fs::read_to_string(&log).unwrap(), "no log\n", "it is left alone");
}

#[test]
fn a_run_that_has_no_time_begins_no_point() {
    let tree = Tree::new();
    let options = Options {
        plan: "mla_bmm".into(),
        folder: tree.path().to_owned(),
        until: Some(Duration::ZERO),
    };
    let mut mock = Mock::new(usize::MAX);
    // No clock is so coarse that nothing passes before the first point.
    std::thread::sleep(Duration::from_millis(1));
    let done = measure::run(&Specs::embedded().unwrap(), &options, &mut mock, &());
    assert!(done.unwrap_err().message.contains("time was over"));
    assert_eq!(mock.measured.len(), 0);
}

#[test]
fn a_plan_of_which_points_fail_is_not_complete() {
    let tree = Tree::new();
    let folder = tree.path().join("systems/data");
    let mut half = Mock::new(usize::MAX);
    half.fails_every = 2;
    let done = measure(&folder, &mut half).unwrap();
    assert_eq!((done.measured, done.missing(), done.exit().code()), (324, 348, 3), "{done:?}");
    let meta = folder.join(TABLE).with_file_name("collection_meta.yaml");
    assert!(std::fs::read_to_string(&meta).unwrap().contains("status: partial"));
    // What is measured stays, also where this device could not measure it.
    let mut none = Mock::new(usize::MAX);
    none.fails_every = 1;
    let again = measure(&folder, &mut none).unwrap();
    assert_eq!((again.measured, again.written.rows), (324, 324));
}

#[test]
fn a_table_without_its_log_and_a_log_in_use_are_left_alone() {
    let tree = Tree::new();
    let folder = tree.path().join("data");
    let table = folder.join(TABLE);
    std::fs::create_dir_all(table.parent().unwrap()).unwrap();
    std::fs::write(&table, "somebody's rows").unwrap();
    let error = measure(&folder, &mut Mock::new(0)).unwrap_err();
    assert!(error.message.contains("no log of it"), "{error}");
    assert_eq!(std::fs::read_to_string(&table).unwrap(), "somebody's rows");

    let other = tree.path().join("other");
    let about = Mock::new(0).about;
    let held = perfdb_gate::gpu::record::Log::open(&other.join(TABLE), &about).unwrap();
    let error = measure(&other, &mut Mock::new(0)).unwrap_err();
    assert!(error.message.contains("another process"), "{error}");
    drop(held);
    assert!(measure(&other, &mut Mock::new(usize::MAX)).is_ok());
}
