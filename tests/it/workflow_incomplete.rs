//! What `workflow-incomplete` says of a plan, held against the planner's own answers on synthetic tables.

use std::collections::{BTreeMap, BTreeSet};

use perfdb_gate::planner::{Models, Op, POINTS, Provenance, Refusal, SliceSource};
use perfdb_gate::specs::Library;
use serde_json::Value;

use crate::common::planner::{fixture, with_session, write_tree};
use crate::common::run;

/// Whether a refusal says that a slice has no rows; others are about where in a slice a point lies.
fn is_of_slices(why: &str) -> bool {
    why.contains("has no rows of") || why.contains("has rows of") || why.starts_with("no rows of")
}

/// Every operation that reads a table, of every list of every backend, as the session plans it.
fn each_op(source: &dyn SliceSource, check: &mut dyn FnMut(&Op)) {
    let models = Models::read(&Library::embedded(), |_| true).expect("lists");
    for list in &models.lists {
        for plan in &list.plans {
            for layout in &plan.layouts {
                let ops = list.resolve(plan, layout, source).ops;
                let mut leaf = |op: &Op| {
                    if !op.tables().is_empty() {
                        check(op);
                    }
                };
                ops.prefill.iter().chain(&ops.decode).for_each(|op| op.visit(&mut leaf));
            }
        }
    }
}

/// A database without a table of those groups needs no list at all.
#[test]
fn each_list_reads_a_table_by_which_a_backend_claims_it() {
    let rule: Value =
        serde_yaml::from_str(include_str!("../../rules/workflow-incomplete.yaml")).unwrap();
    let groups = rule["check"]["workflows"]["claims"].as_array().unwrap();
    let claims = groups.iter().flat_map(|group| group.as_array().unwrap());
    let claims: BTreeSet<&str> = claims.map(|table| table.as_str().unwrap()).collect();
    for list in &Models::read(&Library::embedded(), |_| true).unwrap().lists {
        for backend in list.plans.iter().flat_map(|plan| &plan.backends) {
            let mut reads = BTreeSet::new();
            list.tables(backend, &mut reads);
            assert!(reads.iter().any(|t| claims.contains(t.stem())), "{} {backend}", list.id);
        }
    }
}

#[test]
fn an_operation_lacks_a_slice_where_its_answer_says_so() {
    with_session(|session, _| {
        let mut lacking: BTreeSet<String> = BTreeSet::new();
        let mut answered: BTreeSet<&str> = BTreeSet::new();
        each_op(session, &mut |op| {
            let checked = op.check(session);
            for point in POINTS {
                let ms = op.ms(session, point.query(), &mut Provenance::off());
                match (&checked, ms) {
                    (Ok(()), Err(Refusal::Missing(why))) => {
                        assert!(!is_of_slices(&why), "{why}: {op:?}");
                    }
                    (Err(Refusal::Unread(_)), _) => panic!("the session reads all: {op:?}"),
                    (Err(checked), ms) => {
                        assert_eq!(Err(checked), ms.as_ref(), "{op:?}");
                        lacking.insert(checked.to_string());
                    }
                    (Ok(()), Ok(_)) => {
                        answered.extend(op.tables().iter().map(|table| table.stem()));
                    }
                    (Ok(()), Err(other)) => panic!("{other}: {op:?}"),
                }
            }
        });
        let tables: BTreeSet<&str> = lacking
            .iter()
            .filter_map(|why| why.split(' ').find(|w| w.ends_with("_perf")))
            .collect();
        insta::assert_debug_snapshot!((tables, answered));
    });
}

/// What `impact` says of a model's steps.
#[derive(Default)]
struct Answers {
    /// Steps without a time.
    refused: usize,
    /// Why, where it is for want of slices.
    whys: BTreeSet<String>,
}

/// The answers of a run of `impact` by backend and model.
fn answers(impact: &Value) -> BTreeMap<(String, String), Answers> {
    let mut answers: BTreeMap<_, Answers> = BTreeMap::new();
    for case in impact["cases"].as_array().expect("cases") {
        let text = |value: &Value| value.as_str().expect("a text").to_owned();
        let quant = ["gemm", "moe", "kvcache"].map(|part| text(&case["quant"][part]));
        let model = format!("{} {}", text(&case["model"]), quant.join(" "));
        let slot = answers.entry((text(&case["backend"]), model)).or_default();
        let points = case["points"].as_array().expect("points").iter();
        for why in points.filter_map(|p| p["error"].as_str()) {
            slot.refused += 1;
            slot.whys.extend(is_of_slices(why).then(|| why.to_owned()));
        }
    }
    answers
}

#[test]
fn the_rule_and_the_planner_refuse_the_same_plans() {
    let root = tempfile::tempdir().expect("a folder");
    write_tree(root.path(), &fixture());
    let at = root.path().to_str().expect("a path");
    let impact = run(&["impact", "--root", at, "--format", "json"]).json();
    let only = ["--only", "workflow-incomplete", "--format", "json"];
    let validate = run(&[&["validate", "--root", at], &only[..]].concat()).json();

    let models = Models::read(&Library::embedded(), |_| true).expect("lists");
    let names: BTreeMap<&str, String> = models
        .lists
        .iter()
        .map(|list| {
            let quant = list.stated(&list.plans[0]);
            let name = format!("{} {} {} {}", list.model, quant.gemm, quant.moe, quant.kvcache);
            (list.id.as_str(), name)
        })
        .collect();
    let answers = answers(&impact);
    let mut told = BTreeSet::new();
    for finding in validate["findings"].as_array().expect("findings") {
        let backend = finding["backend"].as_str().expect("a backend");
        for (id, lacks) in finding["evidence"]["lacks"].as_object().expect("lacks") {
            let key = (backend.to_owned(), names[id.as_str()].clone());
            let lacks: Vec<&str> =
                lacks.as_array().expect("a list").iter().filter_map(Value::as_str).collect();
            let Answers { refused, whys } = &answers[&key];
            assert!(*refused > 0, "{key:?} is planned, and the rule says {lacks:?}");
            for why in whys {
                assert!(lacks.iter().any(|lack| lack.ends_with(why)), "{key:?}: {why}, {lacks:?}");
            }
            told.insert(key);
        }
    }
    // What the planner refuses and the rule does not judge: see the rule on rates, memory and claims.
    let silent = answers.iter().filter(|(key, a)| !a.whys.is_empty() && !told.contains(*key));
    let silent: Vec<_> = silent.map(|(key, _)| key).collect();
    insta::assert_debug_snapshot!((told, silent));
}
