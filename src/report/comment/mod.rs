//! The comment on a pull request: sections of a report, rendered by `charts/comment.md.j2` and cut to
//! what a site takes.

mod sections;
mod smoke;

use std::path::Path;

use self::sections::Sections;
pub use smoke::Smoke;

use crate::base::error::Result;
use crate::base::words::plural;
use crate::report::chart::Figure;
use crate::report::template::fill;
use crate::report::view::ReportView;

const TEMPLATE: &str = include_str!("../../../charts/comment.md.j2");

/// What a site takes as a comment, in characters; counted in bytes, which are no fewer.
const LONGEST: usize = 65_536;
/// Charts drawn in the comment itself.
pub const SKETCHES: usize = 3;

/// What a comment holds beside its report.
#[derive(Debug, Clone, Copy, Default)]
pub struct Extras<'a> {
    /// Charts of what changed most.
    pub figures: &'a [Figure],
    /// Where the charts were written.
    pub folder: Option<&'a Path>,
    /// What became of the command that tries the database.
    pub smoke: Option<&'a Smoke>,
}

/// Renders the comment of a report, cut to what a site takes: the longest sections become a line
/// first that says what was left out and where it is.
///
/// # Errors
///
/// When the template fails, which is a fault of this program.
pub fn render(view: &ReportView<'_>, extras: Extras<'_>) -> Result<String> {
    let cuts: [fn(&mut Sections<'_>); 11] = [
        |_| {},
        |v| leave_out(&mut v.tables, "table", "the JSON report (`--format json`)", &mut v.left_out),
        |v| leave_out(&mut v.files, "file", "the JSON report", &mut v.left_out),
        |v| v.sketches.clear(),
        |v| {
            let folder = v.folder.as_deref().unwrap_or_default();
            leave_out(&mut v.charts, "chart", folder, &mut v.left_out);
        },
        |v| {
            if let Some(tried) = &mut v.smoke {
                tried.output.clear();
            }
        },
        |v| {
            v.with_rows = false;
            v.left_out.push("Rows of the findings in the JSON report.".to_owned());
        },
        |v| leave_out(&mut v.faults, "unreadable table", "the JSON report", &mut v.left_out),
        |v| leave_out(&mut v.versions, "version", "the JSON report", &mut v.left_out),
        |v| leave_out(&mut v.more, "more finding", "the JSON report", &mut v.left_out),
        |v| leave_out(&mut v.findings, "finding", "the JSON report", &mut v.left_out),
    ];
    let mut sections = Sections::new(view, extras);
    let mut text = String::new();
    for cut in cuts {
        cut(&mut sections);
        text = fill("comment.md.j2", TEMPLATE, &sections)?;
        if text.len() <= LONGEST {
            break;
        }
    }
    Ok(text)
}

/// Clears a section, with a line that says how much of what is where instead.
fn leave_out<T>(section: &mut Vec<T>, what: &str, place: &str, left_out: &mut Vec<String>) {
    if !section.is_empty() {
        left_out.push(format!("{} in {place}.", plural(section.len(), what)));
    }
    section.clear();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::database::catalog::{Place, Role};
    use crate::database::diff::{Diff, FileDiff, RowDiff, Status, TableDiff};
    use crate::findings::{Example, Finding, Novelty, Severity, Sink};
    use crate::report::Report;

    fn rendered(report: &Report, extras: Extras<'_>) -> Result<String> {
        render(&ReportView::new(report, report.outcome(Some(Severity::Error))), extras)
    }

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
            class: None,
            served: None,
            columns_changed: Vec::new(),
            matched: None,
            fault: None,
        };
        let file = FileDiff {
            path: "systems/x.yaml".into(),
            status: Status::Modified,
            role: Role::System,
        };
        Diff { tables: (0..tables).map(table).collect(), files: vec![file] }
    }

    fn report(diff: Diff, findings: Vec<Finding>) -> Report {
        let mut sink = Sink::default();
        sink.extend(findings);
        let (findings, counts) = sink.finish();
        Report {
            command: "sanity",
            rules: Vec::new(),
            overlays: Vec::new(),
            facts: Vec::new(),
            outside: Vec::new(),
            strict: false,
            tables: diff.tables.len() as u64,
            files: 0,
            rows: 0,
            findings,
            counts,
            diff: Some(diff),
            states: Default::default(),
            repaired: Vec::new(),
            remeasured: None,
            elapsed: Default::default(),
            drawn: None,
        }
    }

    fn finding(path: &str, message: &str, new: bool) -> Finding {
        let finding = Finding::on_path("a-rule", Severity::Error, path, message);
        Finding { novelty: Novelty::of(new), ..finding }
    }

    #[test]
    fn names_are_inert() {
        let bad = finding("systems/data/`@you`", "see @you, #1 (a|b) and https://x.y; 5 %", true);
        let text =
            rendered(&report(diff(1, "a|b`@you<img>\u{202e}"), vec![bad]), Extras::default())
                .unwrap();
        assert!(text.contains("a\\|b'@you<img>\\u{202e}"), "{text}");
        assert!(text.contains("see `@you`, `#1` (`a\\|b`) and `https://x.y`; 5 %"), "{text}");
        assert!(text.contains("`'@you'`"), "{text}");
    }

    #[test]
    fn what_does_not_fit_is_a_line() {
        let report = |tables| report(diff(tables, "gemm"), Vec::new());
        let all = rendered(&report(3), Extras::default()).unwrap();
        assert!(all.contains("<summary>Tables") && !all.contains("in the JSON report"), "{all}");
        let cut = rendered(&report(800), Extras::default()).unwrap();
        assert!(cut.len() <= LONGEST && cut.contains("\n800 tables in the JSON report"), "{cut}");
        assert!(cut.contains("| 1,600 | 0 | 0 |"), "the total stays: {cut}");
        let most = rendered(&report(100_000), Extras::default()).unwrap();
        assert!(most.len() <= LONGEST && most.contains("\n100,000 versions in the JSON"), "{most}");
    }

    #[test]
    fn findings_are_told_worst_first_and_old_ones_in_a_line() {
        let example = |row| Example {
            row,
            values: vec![("why".into(), "x".repeat(900).into())],
            ..Example::default()
        };
        let new = |i: usize| {
            let mut finding =
                finding(&format!("systems/data/t{i}"), &"much ".repeat(99), true).rows(i);
            finding.examples = (0..5).map(example).collect();
            finding
        };
        let old = [finding("a", "old", false), finding("b", "old", false)];
        let all: Vec<Finding> = (0..200).map(new).chain(old).collect();
        let text = rendered(&report(diff(800, "gemm"), all), Extras::default()).unwrap();
        assert!(text.len() <= LONGEST, "{}", text.len());
        let mut lines = text.lines().skip(1);
        assert!(lines.next().unwrap().starts_with("**perfdb-gate: ❌ 200 new errors**"), "{text}");
        assert!(text.find("`t199`").unwrap() < text.find("`t198`").unwrap(), "{text}");
        assert!(text.contains("142 more findings in the JSON report"), "{text}");
        assert!(text.contains("Old debt: 2 findings were there before (2 a-rule)"), "{text}");
        assert!(text.contains("--only a-rule"), "{text}");
    }

    #[test]
    fn what_a_command_printed_stays_inside_its_fence() {
        let output = "```\n# @you <img>".to_owned();
        let command = "plan | head".to_owned();
        let smoke = Smoke { command, passed: false, ended: "exit status: 1".into(), output };
        let extras = Extras { smoke: Some(&smoke), ..Extras::default() };
        let text = rendered(&report(diff(1, "gemm"), Vec::new()), extras).unwrap();
        assert!(text.contains("❌ Smoke command"), "{text}");
        assert_eq!(text.matches("```").count() % 2, 0, "{text}");
        assert!(text.contains("'''\n# @you"), "{text}");
    }
}
