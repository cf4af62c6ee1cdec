//! Databases with thousands of places: the work of a run grows with their number, not with its square.
//!
//! Work is counted, not timed, so that a busy machine changes nothing. The library logs an event on the level TRACE
//! whenever it looks up a table's directory, system, sketch or neighbour, or asks if a place is selected. A step that takes each
//! place together with each other place does this for each pair. `Peers::kinships` compares three numbers for each
//! pair of tables of a name; this takes nanoseconds and is not counted.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use perfdb_gate::jobs::validate::{self, ValidateOptions};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

use crate::common::{Tree, gemm};

/// Counts the events on the level TRACE.
#[derive(Clone, Default)]
struct Lookups(Arc<AtomicUsize>);

impl Subscriber for Lookups {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() == Level::TRACE && metadata.target().starts_with("perfdb_gate")
    }

    fn event(&self, _: &Event<'_>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// Counts the lookups of a run over synthetic tables in a number of places, which `path` names by number.
fn lookups(places: usize, path: &dyn Fn(usize) -> String) -> usize {
    let tree = Tree::new();
    let rows: Vec<(u64, f64)> = (0..24).map(|i| (1 << (i % 12), 0.5 + 0.01 * i as f64)).collect();
    let rows = gemm(&rows);
    for place in 0..places {
        tree.file(&format!("systems/data/{}/gemm_perf.txt", path(place)), &rows);
    }
    let options = ValidateOptions { root: tree.path().to_owned(), ..ValidateOptions::default() };
    let counter = Lookups::default();
    // The subscriber is that of one thread, so all work has to be done by this thread.
    let work = {
        let counter = counter.clone();
        move || {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(1).use_current_thread();
            let pool = pool.build().unwrap();
            let run = || pool.install(|| validate::run(&options, &()).unwrap());
            let report = tracing::subscriber::with_default(counter, run);
            assert_eq!(report.tables, places as u64);
        }
    };
    thread::Builder::new().stack_size(16 << 20).spawn(work).unwrap().join().unwrap();
    counter.0.load(Ordering::Relaxed)
}

#[test]
fn work_grows_linearly_with_the_number_of_tables() {
    let kinds: [(&str, &dyn Fn(usize) -> String); 3] = [
        ("systems without YAML", &|i| format!("sys_{i}/gemm/vllm/0.24.0")),
        ("backends", &|i| format!("h200_sxm/gemm/backend_{i}/0.24.0")),
        ("versions", &|i| format!("h200_sxm/gemm/vllm/0.24.{i}")),
    ];
    for (kind, path) in kinds {
        let (few, many) = (lookups(50, path), lookups(400, path));
        println!("{kind}: {few} {many}");
        assert!(few > 50, "{kind}: {few} lookups for 50 places: the events are gone");
        assert!(many < 10 * few, "{kind}: {few} lookups for 50 places, {many} for 400");
    }
}
