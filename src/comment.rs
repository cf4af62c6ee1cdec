//! The comment on a pull request: one view of a report, rendered by `charts/comment.md.j2`.

use std::collections::BTreeMap;

use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Serde, Value};
use minijinja::{Environment, UndefinedBehavior};
use serde::Serialize;

use crate::checks::{count, plural};
use crate::diff::{Diff, FileDiff, Status, TableDiff, Totals};
use crate::error::{Error, Result};
use crate::report::{Report, clean};

const TEMPLATE: &str = include_str!("../charts/comment.md.j2");

/// What a site takes as a comment, in characters; counted in bytes, which are no fewer.
const LONGEST: usize = 65_536;

/// What the template sees.
#[derive(Serialize)]
struct View {
    headline: String,
    versions: Vec<Version>,
    total: Version,
    tables: Vec<Table>,
    /// Whether a count of them is not known.
    unknown: bool,
    faults: Vec<Table>,
    files: Vec<File>,
    /// A line for each section that did not fit.
    left_out: Vec<String>,
}

#[derive(Serialize, Default)]
struct Version {
    system: String,
    backend: String,
    version: String,
    tables: String,
    rows: Rows,
}

#[derive(Serialize, Default)]
struct Rows {
    added: String,
    removed: String,
    changed: String,
}

#[derive(Serialize)]
struct Table {
    path: String,
    old_path: Option<String>,
    status: &'static str,
    before: String,
    after: String,
    rows: Rows,
    ratio: String,
    fault: Option<String>,
}

#[derive(Serialize)]
struct File {
    path: String,
    status: &'static str,
}

/// Renders the comment of a report, cut to what a site takes: the longest sections become a line
/// first that says what was left out and where it is.
///
/// # Errors
///
/// When the template fails, which is a fault of this program.
pub fn render(report: &Report) -> Result<String> {
    let empty = Diff::default();
    let diff = report.diff.as_ref().unwrap_or(&empty);
    let cuts: [fn(&mut View); 5] = [
        |_| {},
        |view| {
            let tables = plural(view.tables.len(), "table");
            view.tables.clear();
            view.left_out.push(format!("{tables} in the JSON report (`--format json`)."));
        },
        |view| {
            let files = plural(view.files.len(), "file");
            view.files.clear();
            view.left_out.push(format!("{files} beside the tables in the JSON report."));
        },
        |view| {
            let faults = plural(view.faults.len(), "table");
            view.faults.clear();
            view.left_out
                .push(format!("{faults} of which a side cannot be read in the JSON report."));
        },
        |view| {
            let versions = plural(view.versions.len(), "version");
            view.versions.clear();
            view.left_out.push(format!("{versions} in the JSON report."));
        },
    ];
    let mut view = view(diff);
    let mut text = String::new();
    for cut in cuts {
        cut(&mut view);
        text = rendered(&view).map_err(|e| {
            Error::new(format!("cannot render the comment: {e}"), "please report it")
        })?;
        if text.len() <= LONGEST {
            break;
        }
    }
    Ok(text)
}

fn rendered(view: &View) -> Result<String, minijinja::Error> {
    let mut env = Environment::new();
    env.set_undefined_behavior(UndefinedBehavior::Strict);
    env.set_syntax(SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build()?);
    env.add_filter("code", |text: String| code(&text));
    env.add_template("comment.md.j2", TEMPLATE)?;
    env.get_template("comment.md.j2")?.render(Value::from(Serde(view)))
}

/// Text from data as code, in which the site looks for no markup, mentions or links.
fn code(text: &str) -> String {
    format!("`{}`", clean(text).replace('`', "'").replace('|', "\\|"))
}

fn view(diff: &Diff) -> View {
    let mut by_version: BTreeMap<(&str, &str, &str), Vec<&TableDiff>> = BTreeMap::new();
    for table in &diff.tables {
        let place = &table.place;
        let key = (place.system.as_str(), place.backend.as_str(), place.version.as_str());
        by_version.entry(key).or_default().push(table);
    }
    let version =
        |((system, backend, version), tables): ((&str, &str, &str), Vec<&TableDiff>)| Version {
            system: system.to_owned(),
            backend: backend.to_owned(),
            version: version.to_owned(),
            ..sums(&tables)
        };
    View {
        headline: diff.headline(),
        versions: by_version.into_iter().map(version).collect(),
        total: sums(&diff.tables.iter().collect::<Vec<_>>()),
        tables: diff.tables.iter().map(table).collect(),
        unknown: diff.tables.iter().any(|t| t.base_rows.and(t.head_rows).is_none()),
        faults: diff.tables.iter().filter(|t| t.fault.is_some()).map(table).collect(),
        files: diff.files.iter().map(file).collect(),
        left_out: Vec::new(),
    }
}

fn sums(tables: &[&TableDiff]) -> Version {
    let totals = Totals::of(tables.iter().copied());
    Version {
        tables: Status::counts(tables.iter().map(|t| t.status)),
        rows: Rows {
            added: count(totals.added as usize),
            removed: count(totals.removed as usize),
            changed: count(totals.changed as usize),
        },
        ..Version::default()
    }
}

fn table(table: &TableDiff) -> Table {
    let known = |n: Option<usize>| n.map_or("–".to_owned(), count);
    let rows = table.rows.as_ref();
    Table {
        path: table.path.clone(),
        old_path: table.old_path.clone(),
        status: table.status.name(),
        before: known(table.base_rows.map(|n| n as usize)),
        after: known(table.head_rows.map(|n| n as usize)),
        rows: Rows {
            added: known(rows.map(|r| r.added.len())),
            removed: known(rows.map(|r| r.removed.len())),
            changed: known(rows.map(|r| r.changed.len())),
        },
        ratio: table
            .ratios
            .as_ref()
            .map_or(String::new(), |r| format!("{:.3} ({:.3} … {:.3})", r.median, r.low, r.high)),
        fault: table.fault.clone(),
    }
}

fn file(file: &FileDiff) -> File {
    File { path: file.path.clone(), status: file.status.name() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::{Place, Role};
    use crate::diff::RowDiff;

    fn diff(tables: usize, name: &str) -> Diff {
        let table = |i: usize| TableDiff {
            path: format!("systems/data/x/gemm/vllm/{i}/{name}_perf.parquet"),
            old_path: None,
            status: Status::Added,
            place: Place {
                system: "x".into(),
                family: Some("gemm".into()),
                backend: "vllm".into(),
                version: i.to_string(),
            },
            table: format!("{name}_perf"),
            base_rows: Some(0),
            head_rows: Some(2),
            rows: Some(RowDiff { added: vec![0, 1], ..RowDiff::default() }),
            ratios: None,
            fault: None,
        };
        let file = FileDiff {
            path: "systems/x.yaml".into(),
            status: Status::Modified,
            role: Role::System,
        };
        Diff { tables: (0..tables).map(table).collect(), files: vec![file] }
    }

    fn comment(diff: &Diff) -> String {
        let mut view = view(diff);
        view.left_out.push("something".into());
        rendered(&view).unwrap()
    }

    #[test]
    fn names_are_inert() {
        let text = comment(&diff(1, "a|b`@you<img>\u{202e}"));
        assert!(text.contains("a\\|b'@you<img>\\u{202e}"), "{text}");
    }

    #[test]
    fn what_does_not_fit_is_a_line() {
        let report = |tables| Report {
            command: "sanity",
            rules: Vec::new(),
            overlays: Vec::new(),
            tables: 0,
            files: 0,
            rows: 0,
            findings: Vec::new(),
            counts: Default::default(),
            diff: Some(diff(tables, "gemm")),
            elapsed: Default::default(),
            drawn: None,
        };
        let all = render(&report(3)).unwrap();
        assert!(all.contains("<summary>Tables") && !all.contains("in the JSON report"), "{all}");
        let cut = render(&report(800)).unwrap();
        assert!(cut.len() <= LONGEST && cut.contains("\n800 tables in the JSON report"), "{cut}");
        assert!(cut.contains("| 1,600 | 0 | 0 |"), "the total stays: {cut}");
        let most = render(&report(100_000)).unwrap();
        assert!(most.len() <= LONGEST && most.contains("\n100,000 versions in the JSON"), "{most}");
    }
}
