//! Every rule's own bad and good example, and guards over the rule files.

use crate::common;
use crate::common::example::finding_of_example;
use crate::common::planner::FakePlanner;
use crate::common::snapshot::{message, shown};
use std::collections::{BTreeMap, BTreeSet};

use perfdb_gate::base::error::Result;
use perfdb_gate::checks::Input;
use perfdb_gate::checks::rule::{ExampleFinding, ExampleTree, Rule, Rules};
use perfdb_gate::checks::settings::RuleSelection;
use perfdb_gate::database::selection::Selection;
use perfdb_gate::findings::{Confidence, Finding, Severity};
use perfdb_gate::jobs::explain;
use perfdb_gate::jobs::impact::PlannerOptions;
use perfdb_gate::jobs::sanity;
use perfdb_gate::jobs::validate::{ValidateOptions, run};
use perfdb_gate::specs::Library;
use perfdb_gate::traces;

fn shipped() -> Rules {
    Rules::with_examples(&Library::embedded()).unwrap()
}

#[test]
fn a_run_reads_every_field_of_a_rule_except_the_examples() {
    let read = Rules::read(&Library::embedded()).unwrap();
    let whole = shipped();
    assert!(read.ids().eq(whole.ids()));
    for (read, whole) in read.all().zip(whole.all()) {
        let texts = |rule: &Rule| {
            let Rule { id, severity, confidence, summary, what, why, instead, check, .. } = rule;
            format!("{id} {severity:?} {confidence:?} {summary} {what} {why} {instead} {check:?}")
        };
        assert_eq!(texts(read), texts(whole));
        assert!(read.bad.files.is_empty() && read.good.files.is_empty(), "{}", read.id);
        assert!(whole.bad.base.is_some() || !whole.bad.files.is_empty(), "{}", whole.id);
    }
}

/// A tree of an example's files; systems that it does not give come from the embedded facts.
fn grown(files: &BTreeMap<String, String>) -> common::Tree {
    let tree = common::Tree::new();
    for name in ["h100_sxm", "h200_sxm"] {
        let path = format!("systems/{name}.yaml");
        let facts = std::fs::read_to_string(&path).expect("the shipped systems");
        tree.file(&path, facts.replace("../data/", "data/"));
    }
    for (path, text) in files {
        tree.file(path, text);
    }
    tree
}

/// Judges what changes between two trees.
fn compare(
    base: &BTreeMap<String, String>,
    head: &BTreeMap<String, String>,
    planner: Option<&PlannerOptions>,
) -> Result<Vec<Finding>> {
    let tree = grown(base);
    tree.commit();
    base.keys().for_each(|path| tree.remove(path));
    for (path, text) in head {
        tree.file(path, text);
    }
    let (root, base_ref) = (tree.path().to_owned(), "HEAD".into());
    let planner = planner.cloned().unwrap_or_default();
    let options =
        sanity::SanityOptions { root, base_ref, planner, ..sanity::SanityOptions::default() };
    Ok(sanity::run(&options, &())?.0.findings)
}

/// Judges an example by the planner that stands for the package in tests, if one is given.
fn judge(
    example: &ExampleTree,
    traces: bool,
    planner: Option<&PlannerOptions>,
) -> Result<Vec<Finding>> {
    if let Some(base) = &example.base {
        return compare(base, &example.files, planner);
    }
    let tree = grown(&example.files);
    let root = tree.path().to_owned();
    if traces {
        return Ok(traces::run(&traces::TraceOptions { root, ..traces::TraceOptions::default() })?
            .findings);
    }
    let planner = planner.cloned();
    Ok(run(&ValidateOptions { root, planner, ..ValidateOptions::default() }, &())?.findings)
}

#[test]
fn every_rule_reports_its_bad_example_and_not_its_good_one() {
    let rules = shipped();
    let mut wrong = Vec::new();
    let fake = FakePlanner::new("");
    let asked = fake.options();
    for rule in rules.all() {
        let planner = rule.check.needs().has(Input::Predictions).then_some(&asked);
        let traces = rule.check.needs().has(Input::Traces);
        let bad = judge(&rule.bad, traces, planner).unwrap();
        let own: Vec<&Finding> = bad.iter().filter(|f| f.rule == rule.id).collect();
        assert_eq!(own.len(), 1, "{} on its bad example: {bad:#?}", rule.id);
        assert_eq!(own[0].severity, rule.severity, "{}", rule.id);
        if let Some(rows) = rule.bad.rows {
            assert_eq!(own[0].rows, rows, "{}: {own:#?}", rule.id);
        }
        let others: Vec<&Finding> =
            bad.iter().filter(|f| f.rule != rule.id && f.severity == Severity::Error).collect();
        assert!(others.is_empty(), "{} shares its example with {others:#?}", rule.id);

        let found = finding_of_example(&rule.bad, own[0]);
        let is_shown = rule.bad.finds.as_ref().is_some_and(|shown| {
            let lines = rule.bad.files.get(&shown.path).map_or(0, |text| text.lines().count());
            // A file that is wrong as a whole may have a line that shows it.
            let marked = found.lines.is_empty() || shown.lines == found.lines;
            (&shown.path, &shown.message) == (&found.path, &found.message)
                && marked
                && shown.lines.iter().all(|line| (1..=lines).contains(line))
        });
        if !is_shown {
            let ExampleFinding { path, message, lines } = found;
            wrong.push(format!(
                "{}: finds: {{path: {path:?}, message: {message:?}, lines: {lines:?}}}",
                rule.id
            ));
        }
        let good = judge(&rule.good, traces, planner).unwrap();
        let others: Vec<&Finding> =
            good.iter().filter(|f| f.rule == rule.id || f.severity == Severity::Error).collect();
        assert!(others.is_empty(), "{} on its good example: {others:#?}", rule.id);
    }
    assert!(wrong.is_empty(), "examples that show another finding:\n{}", wrong.join("\n"));
}

#[test]
fn every_rule_states_its_confidence() {
    for rule in shipped().all() {
        let text = std::fs::read_to_string(format!("rules/{}.yaml", rule.id)).unwrap();
        let stated = format!("\nconfidence: {}\n", rule.confidence.into_str());
        assert!(text.contains(&stated), "{}", rule.id);
        assert_eq!(rule.confidence_of(Severity::Error), Confidence::Certain);
    }
}

#[test]
fn findings_below_the_minimum_confidence_are_not_reported() {
    let rules = shipped();
    let judged = |rule: &str, least: Option<Confidence>| {
        let tree = grown(&rules.get(rule).unwrap().bad.files);
        let root = tree.path().to_owned();
        let rules = RuleSelection { min_confidence: least, ..Default::default() };
        let options = ValidateOptions { root, rules, ..Default::default() };
        let report = run(&options, &()).unwrap();
        let own = report.findings.iter().filter(|found| found.rule == rule).count();
        (own, report.counts.errors + report.counts.warnings + report.counts.infos > 0)
    };
    let (look, likely) = (Some(Confidence::Look), Some(Confidence::Likely));
    assert_eq!(judged("latency-drop", None), (1, true));
    assert_eq!(judged("latency-drop", look), (1, true));
    assert_eq!(judged("latency-drop", likely).0, 0);
    // An error is certain, whatever its rule.
    assert_eq!(judged("key-out-of-range", Some(Confidence::Certain)), (1, true));
}

/// One system a job, in any scheduler: together they find what one run finds.
#[test]
fn separate_runs_per_system_find_the_same_as_a_single_run() {
    let rules = shipped();
    let told = |findings: &[Finding]| {
        // A run over a part cannot tell what a waiver is for.
        let of_data = findings.iter().filter(|f| !f.rule.starts_with("waiver-"));
        // A novelty in several files is one info of the run that sees them all.
        let of_data = of_data.filter(|f| f.evidence.get("unknown").is_none());
        let mut told: Vec<String> = of_data
            .map(|f| format!("{} {} {} {}", f.rule, f.severity.into_str(), f.path, f.message))
            .collect();
        told.sort();
        told
    };
    let mut several = 0;
    for rule in rules.all() {
        let tree = grown(&rule.bad.files);
        // The other system has what this one has, so that each is compared with the other.
        for (path, text) in &rule.bad.files {
            let other = path.replace("/h200_sxm/", "/h100_sxm/");
            if other != *path && !rule.bad.files.contains_key(&other) {
                tree.file(&other, text);
            }
        }
        let options =
            ValidateOptions { root: tree.path().to_owned(), ..ValidateOptions::default() };
        let whole = run(&options, &()).unwrap().findings;
        let places: BTreeSet<_> =
            whole.iter().filter_map(|f| f.place.as_ref().map(|p| p.system.clone())).collect();
        several += usize::from(places.len() > 1);
        let mut parts = Vec::new();
        for system in ["h100_sxm", "h200_sxm", "*[!m]"] {
            let selection = Selection { systems: vec![system.to_owned()], ..Selection::default() };
            let options = ValidateOptions { selection, ..options.clone() };
            // A tree may hold no other system.
            parts.extend(run(&options, &()).map(|r| r.findings).unwrap_or_default());
        }
        let (mut parts, whole) = (told(&parts), told(&whole));
        // Facts are of all systems, so that each run that is judged by them says what is wrong with them.
        if rule.id == "facts-invalid" {
            parts.dedup();
        }
        assert_eq!(parts, whole, "{}", rule.id);
    }
    assert!(several > 0, "no example concerns two systems");
}

#[test]
fn rule_ids_equal_the_contract() {
    let rules = shipped();
    let ids: Vec<&str> = rules.ids().collect();
    insta::assert_snapshot!(ids.join("\n"), @r"
    below-speed-of-light
    copied-table
    coverage-hole
    data-deleted
    derived-contradiction
    device-mismatch
    duplicate-key
    excused-by-change
    facts-invalid
    far-above-bound
    framework-mismatch
    header-mismatch
    key-out-of-range
    kv-cache-not-filled
    latency-drop
    latency-moved
    latency-not-finite
    latency-not-positive
    latency-spike
    legacy-marker
    lfs-pointer
    no-longer-served
    noisy-slice
    planner-refuses
    power-coverage
    power-implausible
    power-limit-mismatch
    power-out-of-range
    prediction-lost
    prediction-moved
    reuse-forbidden
    reuse-invalid
    row-count-parity
    sibling-deviation
    sidecar-contradiction
    sidecar-invalid
    sidecar-missing
    slice-implausible
    support-matrix
    synthetic-rows
    system-invalid
    system-suspicious
    table-empty
    table-misplaced
    table-unreadable
    torn-row
    trace-card-contradiction
    trace-card-implausible
    trace-card-invalid
    trace-config-contradiction
    trace-config-invalid
    trace-file-missing
    trace-metric-contradiction
    trace-metric-implausible
    trace-metric-invalid
    trace-unreadable
    unit-shift
    version-mismatch
    waiver-expired
    waiver-unused
    workflow-incomplete
    ");
}

#[test]
fn every_rule_has_all_its_texts() {
    let rules = shipped();
    for rule in rules.all() {
        let shipped = perfdb_gate::specs::Specs::embedded().unwrap().shipped;
        for (name, text) in [("what", &rule.what), ("why", &rule.why), ("instead", &rule.instead)] {
            assert!(
                text.trim().len() > 20 && text.trim().ends_with('.'),
                "{}.{name}: {text}",
                rule.id
            );
        }
        assert!(rule.summary.len() < 80 && !rule.summary.ends_with('.'), "{}", rule.id);
        let story = explain::rule_text(rule, &shipped, 100);
        let files = rule.bad.files.keys().chain(rule.good.files.keys());
        let lacks: Vec<&String> =
            files.chain([&rule.id]).filter(|name| !story.contains(name.as_str())).collect();
        assert!(lacks.is_empty(), "{lacks:?} in {story}");
    }
}

/// `UPDATE_DOCS=1 cargo test --test it rules::` writes the page instead.
#[test]
fn the_page_of_rules_is_generated_from_the_rules() {
    let page = explain::page(&shipped());
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write("docs/rules.md", &page).unwrap();
    }
    let written = std::fs::read_to_string("docs/rules.md").unwrap_or_default();
    assert!(written == page, "run UPDATE_DOCS=1 cargo test --test it rules::");
}

#[test]
fn a_rule_links_to_its_section_of_the_page() {
    let page = std::fs::read_to_string("docs/rules.md").unwrap();
    for rule in shipped().all() {
        assert!(page.contains(&format!("\n## {}\n", rule.id)), "{}", rule.id);
        // While the owner of the address is a placeholder, nothing leads there.
        let is_published = !env!("CARGO_PKG_REPOSITORY").contains("OWNER");
        let address = rule.page();
        assert_eq!(address.is_some(), is_published);
        let end = format!("/docs/rules.md#{}", rule.id);
        assert!(address.is_none_or(|address| address.ends_with(&end)));
    }
    // A repository's own rule has no page here.
    let own = std::fs::read_to_string("rules/torn-row.yaml").unwrap();
    let mut library = Library::embedded();
    library.add("torn-row.yaml", "torn-row.yaml", own);
    assert_eq!(Rules::read(&library).unwrap().get("torn-row").unwrap().page(), None);
}

#[test]
fn a_new_table_and_system_need_only_yaml() {
    let tree = common::Tree::new();
    // A machine of its own, not a copy of the H200's figures.
    let zx1 =
        common::H200.replace("../data/h200_sxm", "data/zx1").replace("power: 700", "power: 750");
    tree.file("systems/zx1.yaml", zx1);
    let header = "framework,version,device,op_name,kernel_source,side,latency\n";
    let row = "VLLM,0.24.0,ZX One,warp,warp_v1,";
    let table = format!("{header}{row}1,0.5\n{row}1,0.6\n{row}2,0\n");
    tree.file("systems/data/zx1/warp/vllm/0.24.0/warp_perf.txt", table);
    let meta = "schema_version: 1\nruntime: {framework: vllm, version: 0.24.0}\ntables:\n  warp_perf: {status: complete}\n";
    tree.file("systems/data/zx1/warp/vllm/0.24.0/collection_meta.yaml", meta);

    // Without a spec it is judged by what holds for any table.
    let inferred = tree.validate(&["--format", "json", "--system", "zx1"]);
    let info = inferred.finding("header-mismatch");
    assert_eq!(info["severity"], "info");
    insta::assert_snapshot!(message(&info), @"no spec describes warp_perf: only measurements (latency in ms) and repeated rows are checked; `perfdb-gate suggest` prints a first spec");
    // Two rows of a side differ in what was measured, and nothing says that zero is wrong.
    assert_eq!(inferred.findings().len(), 1, "{:?}", inferred.findings());

    // With a spec in the repository's own rules, by that.
    tree.file(
        ".perfdb-gate/rules/tables/warp.yaml",
        "family: warp\ntables:\n  warp_perf:\n    about: Synthetic.\n    columns: {side: int, latency: ms}\n    key: [side]\n    serves: last\n    zero: {latency: side = 2}\n",
    );
    tree.file(
        ".perfdb-gate/rules/systems/zx1.yaml",
        "data_dir: data/zx1\ngeneration: zx\ndevices: [ZX Two]\n",
    );
    // The root's own YAML gives no device names, so those of the facts hold.
    let bare: String = common::H200
        .lines()
        .filter(|l| !l.contains("NVIDIA H200\"") && !l.starts_with("devices"))
        .map(|l| format!("{l}\n"))
        .collect();
    tree.file("systems/zx1.yaml", bare.replace("../data/h200_sxm", "data/zx1"));
    let known = tree.validate(&["--format", "json", "--system", "zx1"]);
    assert!(
        !known.findings().iter().any(|f| f.starts_with("header-mismatch")),
        "{:?}",
        known.findings()
    );
    assert!(!known.findings().iter().any(|f| f.starts_with("latency-not-positive")));
    assert_eq!(known.finding("duplicate-key")["evidence"]["serves"], "last");
    assert_eq!(known.finding("device-mismatch")["rows"], 3);
}

#[test]
fn a_broken_rule_file_is_named_with_its_line() {
    let tree = common::Tree::new();
    tree.gemm("gemm_perf.txt", common::gemm(&[(1, 0.5)]));
    let file = tree.file("my/duplicate-key.yaml", "id: duplicate-key\nseverity: fatal\n");
    let rule = tree.validate(&["--rules", &tree.path().join("my").display().to_string()]);
    assert_eq!(rule.code(), 2);

    let bad = "family: x\ntables:\n  x_perf:\n    about: a\n    columns: {m: int, latency: ms}\n    key: [n]\n    serves: first\n";
    std::fs::remove_file(file).unwrap();
    tree.file("my/tables/x.yaml", bad);
    let table = tree.validate(&["--rules", &tree.path().join("my").display().to_string()]);
    assert_eq!(table.code(), 2);
    insta::assert_snapshot!(shown([&rule, &table]), @"
    $ perfdb-gate validate --root [tmp] --rules [tmp]/my
    2> perfdb-gate: [tmp]/my/duplicate-key.yaml: unknown variant `fatal`, expected one of error, warning, info at line 2, column 11
    2> hint: CONTRIBUTING.md describes the format of rules, tables and systems
    (exit 2)

    $ perfdb-gate validate --root [tmp] --rules [tmp]/my
    2> perfdb-gate: [tmp]/my/tables/x.yaml: table x_perf: a formula reads n, which is not one of its columns
    2> hint: CONTRIBUTING.md describes the format of rules, tables and systems
    (exit 2)
    ");
}
