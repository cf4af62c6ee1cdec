//! What is fuzzed: readers of what a pull request can bring (tables, systems, sidecars, waivers, the
//! baseline, overlays of the rules, git-LFS pointers; what lies [`beside`] tables), and every writer of names
//! that it can choose. A target panics where the program is wrong: where it would crash, or where a name acts.

use std::sync::{LazyLock, Once};

use perfdb_gate::checks::rule::Rules;
use perfdb_gate::database::catalog::{Format as Layout, Place, TableFile};
use perfdb_gate::database::sidecar::{Meta, Reuse};
use perfdb_gate::database::source::{self, Entry, EntryKind};
use perfdb_gate::database::table::{Keys, Table, TableScope};
use perfdb_gate::findings::baseline::Baseline;
use perfdb_gate::findings::waiver::Waivers;
use perfdb_gate::findings::{Counts, Example, Finding, Severity};
use perfdb_gate::report::{Report, ReportFormat, ReportView, TextStyle, page, render};
use perfdb_gate::specs::system::System;
use perfdb_gate::specs::{Library, Specs};

pub mod beside;
pub mod forge;
#[path = "../../tests/it/common/layout.rs"]
pub mod layout;
pub mod memory;
pub mod seeds;

/// A target, by name.
pub type Target = (&'static str, fn(&[u8]), fn() -> Vec<Vec<u8>>);

/// All targets, with the seeds of each.
pub const TARGETS: [Target; 14] = [
    ("parquet", parquet, seeds::parquet),
    ("csv", csv, seeds::csv),
    ("system", system, seeds::system),
    ("sidecar", sidecar, seeds::sidecar),
    ("rules", rules, seeds::rules),
    ("pointer", pointer, seeds::pointer),
    ("report", report, seeds::report),
    ("trace", beside::trace, seeds::trace),
    ("support", beside::support, seeds::support),
    ("operations", beside::operations, seeds::operations),
    ("ledger", beside::ledger, seeds::ledger),
    ("samples", beside::samples, seeds::samples),
    ("reuse", beside::reuse, seeds::reuse),
    ("waiver", beside::waiver, seeds::waiver),
];

pub(crate) static SPECS: LazyLock<Specs> =
    LazyLock::new(|| Specs::embedded().expect("the embedded specs"));

pub(crate) static RULES: LazyLock<Rules> =
    LazyLock::new(|| Rules::read(&SPECS.library).expect("the embedded rules"));

fn place() -> Place {
    let name = |text: &str| text.to_owned();
    Place { system: name("h200_sxm"), family: None, backend: name("vllm"), version: name("0.24.0") }
}

/// Decodes a table and takes the loader's key of its rows.
fn table(data: &[u8], format: Layout) {
    static QUIET: Once = Once::new();
    QUIET.call_once(perfdb_gate::base::panics::install_panic_hook);
    let entry = Entry { path: "gemm_perf".into(), kind: EntryKind::Broken(String::new()), size: 0 };
    let file = TableFile { entry, place: place(), table: "gemm_perf".into(), format };
    let Ok(table) = Table::decode(data, format, &|name| name == "version") else { return };
    assert!(table.rows > 0, "a table without rows is a fault");
    let spec = file.spec(&SPECS, Some(&table));
    let scope =
        TableScope::new(&table, &spec, &file.place, SPECS.systems.get("h200_sxm"), &SPECS.lookups);
    let keys = Keys::new(&spec.key, &scope).expect("formulas of the specs");
    assert_eq!(keys.hashes().len(), table.rows);
    let last = table.rows - 1;
    assert!(keys.equal(last, last));
    for (_, column) in table.columns() {
        let (_, equal) = (column.json(last), column.equal(0, last));
        assert!(last > 0 || equal);
    }
}

/// Bytes of a Parquet file.
pub fn parquet(data: &[u8]) {
    table(data, Layout::Parquet);
}

/// Bytes of a text table.
pub fn csv(data: &[u8]) {
    table(data, Layout::Csv);
}

/// A system's YAML.
pub fn system(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let known = SPECS.systems.get("h200_sxm");
    if let Ok(system) = System::parse("h200_sxm", &text) {
        let system = system.with_facts(known);
        assert!(system.figure("gpu.l2_cache").is_some() || system.generation().is_some());
    }
}

/// The sidecars, waivers and the baseline.
pub fn sidecar(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    for error in [
        Meta::parse(&text).err(),
        Reuse::parse(&text).err(),
        Waivers::parse("waivers.yaml", &text).err(),
        Baseline::parse(&text).err(),
    ] {
        assert!(error.is_none_or(|e| !e.to_string().is_empty()));
    }
}

/// Files that overlay the rules.
pub fn rules(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    for inside in [
        "x.yaml",
        "tables/x.yaml",
        "limits.yaml",
        "noise.yaml",
        "dtypes.yaml",
        "loader.yaml",
        "recipes.yaml",
        "charts/tables.yaml",
        "systems/x.yaml",
    ] {
        let library = || {
            let mut library = Library::default();
            library.add(inside, inside, text.clone().into_owned());
            library
        };
        for error in [Rules::read(&library()).err(), Specs::read(library()).err()] {
            assert!(error.is_none_or(|e| !e.message.is_empty()));
        }
    }
}

/// A git-LFS pointer.
pub fn pointer(data: &[u8]) {
    if let Some(pointer) = source::pointer(data) {
        assert!(data.starts_with(b"version ") && pointer.oid.len() <= data.len());
    }
}

/// Names of a report, in every format.
#[allow(clippy::field_reassign_with_default, reason = "some fields are not public")]
pub fn report(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let mut names = text.split('\u{1}').map(str::to_owned).cycle();
    let mut name = || names.next().unwrap_or_default();
    let mut finding = Finding::on_path(&name(), Severity::Error, &name(), name())
        .evidence(&name(), name())
        .examples(vec![Example {
            line: None,
            row: 1,
            key: vec![(name(), name().into())],
            values: vec![(name(), name().into())],
        }]);
    finding.place =
        Some(Place { system: name(), family: Some(name()), backend: name(), version: name() });
    finding.table = Some(name());
    finding.slice.insert(name(), name().into());
    let waived = Finding { waived_by: Some(name()), ..finding.clone() };
    let mut report = Report::default();
    report.command = "validate";
    report.overlays = vec![name()];
    (report.tables, report.rows) = (1, 1);
    report.findings = vec![finding.clone(), waived, finding];
    report.counts = Counts { errors: 2, waived: 1, ..Counts::default() };
    report.outside = vec![name()];
    let view = ReportView::new(&report, report.outcome(Some(Severity::Error)));
    for format in [
        ReportFormat::Human,
        ReportFormat::Concise,
        ReportFormat::Json,
        ReportFormat::Sarif,
        ReportFormat::Junit,
        ReportFormat::Markdown,
        ReportFormat::Github,
    ] {
        let text = render(&view, format, TextStyle::default()).expect("a report");
        inert(&text, format == ReportFormat::Github);
        if matches!(format, ReportFormat::Json | ReportFormat::Sarif) {
            assert!(text.starts_with('{') && text.trim_end().ends_with('}'));
        }
    }
    let full = TextStyle { full: true, ..TextStyle::default() };
    inert(&render(&view, ReportFormat::Human, full).expect("a report"), false);
    let page = page(&view, &[]).expect("a page");
    inert(&page, false);
    assert_eq!(page.matches("<script").count(), 1);
    assert_eq!(page.matches("</script").count(), 1);
}

/// No character that acts on a terminal, no command of a runner but our own.
fn inert(text: &str, commands: bool) {
    for line in text.lines() {
        let acts = |c: char| {
            c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
        };
        assert!(!line.contains(acts), "{line:?}");
        let command = line.trim_start().starts_with("::");
        assert!(!line.contains("##[") && command == (commands && command), "{line:?}");
        if commands {
            assert!(
                ["::error ", "::warning ", "::notice "].iter().any(|c| line.starts_with(c)),
                "{line:?}"
            );
        }
    }
}
