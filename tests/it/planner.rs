//! The planner's lookups on synthetic tables, against what a reference implementation answers.

use std::collections::BTreeMap;

use perfdb_gate::database::catalog::Catalog;
use perfdb_gate::database::facts::TreeFacts;
use perfdb_gate::database::served::ServedFormats;
use perfdb_gate::database::source::WorkTree;
use perfdb_gate::database::state::ReadState;
use perfdb_gate::planner::{
    How, Models, Op, PlannerSession, Provenance, Query, Refusal, Snapshot, Store, TableName,
};
use perfdb_gate::specs::{Library, Specs};

use crate::common::planner::{Asked, Fixture, fixture, write_tree};

/// Runs `check` on the session of the fixture's version.
fn with_session(check: impl FnOnce(&PlannerSession<'_, '_>, &Fixture)) {
    let fixture = fixture();
    let root = tempfile::tempdir().expect("a folder");
    write_tree(root.path(), &fixture);
    let specs = Specs::embedded().expect("specs");
    let source = WorkTree::open(root.path()).expect("a tree");
    let catalog = Catalog::read(&source, &specs).expect("a catalog");
    let store = Store::default();
    let facts = TreeFacts::read(&source, &catalog, &specs);
    let read = ReadState::new(catalog, facts, &specs, 0);
    let snapshot =
        Snapshot::new(read.of(&source), ServedFormats::Parquet, &store).expect("a snapshot");
    let system = snapshot.system("synthetic").expect("a system");
    let session = system.session(&fixture.backend, &fixture.version).expect("a session");
    check(&session, &fixture);
}

fn query(asked: &Asked) -> Query {
    Query {
        batch: asked.batch,
        sequence: asked.sequence,
        tokens: asked.tokens,
        prefix: asked.prefix,
    }
}

#[test]
fn answers_agree_with_the_reference() {
    with_session(|session, fixture| {
        for (i, asked) in fixture.queries.iter().enumerate() {
            let ms = asked.op.ms(session, query(asked), &mut Provenance::off());
            match (ms, asked.ms, asked.error.as_deref()) {
                (Ok(ms), Some(expected), None) => {
                    let off = (ms - expected).abs() / expected.abs().max(1e-12);
                    assert!(off < 1e-12, "query {i}: {ms} is not {expected}: {:?}", asked.op);
                }
                (Err(Refusal::Missing(_)), None, Some("missing"))
                | (Err(Refusal::Machine(_)), None, Some("machine")) => {}
                (ms, expected, error) => {
                    panic!("query {i}: {ms:?}, not {expected:?} {error:?}: {:?}", asked.op)
                }
            }
        }
    });
}

#[test]
fn evidence_names_rows_whose_weights_sum_to_one() {
    with_session(|session, fixture| {
        let mut seen = 0;
        for asked in &fixture.queries {
            let mut evidence = Provenance::on();
            let with = asked.op.ms(session, query(asked), &mut evidence);
            let without = asked.op.ms(session, query(asked), &mut Provenance::off());
            assert_eq!(with, without, "collecting rows changes no answer");
            if with.is_err() {
                continue;
            }
            for lookup in evidence.into_lookups() {
                let sum: f64 = lookup.rows.iter().map(|r| r.weight).sum();
                assert!((sum - 1.0).abs() < 1e-9, "{lookup:?}");
                assert!(lookup.rows.iter().all(|r| r.weight >= 0.0), "{lookup:?}");
                for row in &lookup.rows {
                    let table = fixture.tables.iter().find(|(p, _)| row.origin.path.ends_with(*p));
                    let (_, table) = table.expect("a row of a table of the fixture");
                    assert!((row.row as usize) < table.rows.len());
                }
                seen += 1;
            }
        }
        assert!(seen > 200, "{seen} lookups");
    });
}

#[test]
fn the_reference_answers_beside_the_grid_too() {
    with_session(|session, fixture| {
        let mut ways: BTreeMap<&str, usize> = BTreeMap::new();
        let mut off_grid = 0;
        for asked in fixture.queries.iter().filter(|asked| asked.ms.is_some()) {
            let mut evidence = Provenance::on();
            let answered = asked.op.ms(session, query(asked), &mut evidence);
            assert!(answered.is_ok());
            let lookups = evidence.into_lookups();
            off_grid += usize::from(lookups.iter().any(|lookup| lookup.how != How::Exact));
            lookups.iter().for_each(|lookup| *ways.entry(lookup.how.word()).or_default() += 1);
        }
        assert!(off_grid >= 200, "{off_grid} values, {ways:?}");
        assert!(ways.len() == 4 && ways.values().all(|n| *n >= 5), "{ways:?}");
    });
}

#[test]
fn a_newer_version_is_never_a_donor() {
    with_session(|session, _| {
        let origins = session.origins(TableName::Gemm);
        let paths: Vec<&str> = origins.iter().map(|o| o.path.as_str()).collect();
        assert!(paths.iter().all(|p| !p.contains("/1.2.0/")), "{paths:?}");
        let order = ["vllm/1.1.0", "vllm/1.0.0", "vllm/0.9.0", "sglang/2.0.0"];
        assert_eq!(paths.len(), order.len(), "{paths:?}");
        for (path, part) in paths.iter().zip(order) {
            assert!(path.contains(part), "{paths:?}");
        }
    });
}

#[test]
fn a_key_answers_with_its_first_row() {
    with_session(|session, fixture| {
        let op: Op = serde_json::from_str(
            r#"{"Gemm": {"name": "g", "n": 1024, "k": 1024, "quant_mode": "bfloat16"}}"#,
        )
        .expect("an operation");
        let query = Query { batch: 1, sequence: 1, tokens: 1, prefix: 0 };
        let rows = &fixture.tables["gemm/vllm/1.1.0/gemm_perf.parquet"].rows;
        let first = rows.iter().find(|row| row[1] == "bfloat16" && row[2] == 1 && row[3] == 1024);
        let first = first.and_then(|row| row[5].as_f64()).expect("a row");
        assert_eq!(op.ms(session, query, &mut Provenance::off()), Ok(first));
    });
}

#[test]
fn a_list_that_is_written_wrong_names_its_line() {
    let mut library = Library::embedded();
    let file = library.folder("rules/models").next().expect("a list");
    let text = file.text.replacen("quant_mode:", "quant_mod:", 1);
    let role = file.role.trim_start_matches("rules/").to_owned();
    let line = text.lines().position(|l| l.contains("quant_mod:")).expect("a line") + 1;
    library.add(&role, "own.yaml", text);
    let error = Models::read(&library, |_| true).unwrap_err();
    assert!(error.message.starts_with("own.yaml: "), "{error}");
    assert!(error.message.contains(&format!("line {line}")), "{error}");
}

#[test]
fn every_list_is_written_right_and_covers_three_backends() {
    let models = Models::read(&Library::embedded(), |_| true).expect("lists");
    let mut identities = 0;
    for list in &models.lists {
        for backend in ["trtllm", "sglang", "vllm"] {
            let plan = list.plan(backend).unwrap_or_else(|| panic!("{} {backend}", list.model));
            identities += plan.layouts.len();
        }
    }
    assert_eq!(identities, 84);
}
