//! Renders the comment on a pull request with `charts/comment.md.j2`, shortened until it fits.

mod causes;
mod extras;
mod sections;

pub use extras::{Extras, Smoke};

use self::sections::{Sections, Size};
use crate::base::error::Result;
use crate::report::template::fill;
use crate::report::view::ReportView;

const TEMPLATE: &str = include_str!("../../../charts/comment.md.j2");

/// The preferred maximum length of a comment in bytes, so that reviewers read all of it. [`LONGEST`] is the hard limit.
const READ: usize = 8_000;

/// The maximum length of a comment in bytes. GitHub accepts 65,536.
const LONGEST: usize = 16_000;

/// The number of charts drawn in the comment itself.
pub const SKETCHES: usize = 1;

/// The limits on the sections of a comment, from the largest to the smallest. The comment is rendered with the first
/// entry, then with the second, and so on, until it has at most [`READ`] bytes. The entries from the index [`FORCED`]
/// on are used only if the comment still has more than [`LONGEST`] bytes.
const SIZES: [Size; 7] = [
    size([20, 5, 100, 10, 6, 40, 1, 100]),
    size([10, 3, 100, 10, 6, 15, 1, 40]),
    size([5, 2, 100, 10, 6, 6, 1, 20]),
    size([5, 1, 10, 8, 4, 0, 1, 10]),
    size([1, 0, 30, 6, 3, 0, 0, 10]),
    size([1, 0, 10, 4, 2, 0, 0, 5]),
    size([1, 0, 0, 3, 1, 0, 0, 0]),
];

/// Creates a size from its limits, which are given in the order of the fields.
const fn size([paths, rows, blocks, slices, movers, listed, sketches, output]: [usize; 8]) -> Size {
    Size { paths, rows, blocks, slices, movers, listed, sketches, output }
}

/// The index of the first entry of [`SIZES`] that is used only if the comment would otherwise be longer than
/// [`LONGEST`].
const FORCED: usize = 4;

/// Renders the comment of a report: the verdict, new errors, the summary tables of the change, new warnings,
/// predictions, repaired and existing findings. A section that does not fit becomes one line that refers to the JSON
/// report.
///
/// # Errors
///
/// If the template fails, which is a bug of this program.
pub fn render(view: &ReportView<'_>, extras: Extras<'_>) -> Result<String> {
    let mut text = String::new();
    for (number, size) in SIZES.iter().enumerate() {
        if number == FORCED && text.len() <= LONGEST {
            break;
        }
        text = fill("comment.md.j2", TEMPLATE, &Sections::new(view, extras, *size))?;
        let most = if number < FORCED { READ } else { LONGEST };
        if text.len() <= most {
            break;
        }
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::database::catalog::{Place, Role};
    use crate::database::diff::{Diff, FileDiff, RowDiff, Status, TableDiff};
    use crate::findings::{Example, Finding, ModelReach, Novelty, Severity, Sink};
    use crate::report::predictions::PredictedMove;
    use crate::report::{Predictions, Report};

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
            changes: Vec::new(),
        };
        Diff { tables: (0..tables).map(table).collect(), files: vec![file], ..Diff::default() }
    }

    fn report(diff: Diff, findings: Vec<Finding>) -> Report {
        let mut sink = Sink::default();
        sink.extend(findings);
        let (findings, counts) = sink.finish();
        Report {
            command: "sanity",
            tables: diff.tables.len() as u64,
            findings,
            counts,
            diff: Some(diff),
            ..Report::default()
        }
    }

    fn finding(path: &str, message: &str, new: bool) -> Finding {
        let finding = Finding::on_path("a-rule", Severity::Error, path, message);
        Finding { novelty: Novelty::of(new), ..finding }
    }

    #[test]
    fn names_in_a_comment_are_escaped() {
        let bad = finding("systems/data/`@you`", "see @you, #1 (a|b) and https://x.y; 5 %", true);
        let text =
            rendered(&report(diff(1, "a|b`@you<img>\u{202e}"), vec![bad]), Extras::default())
                .unwrap();
        assert!(text.contains("a\\|b'@you<img>\\u{202e}"), "{text}");
        assert!(text.contains("see `@you`, `#1` (`a\\|b`) and `https://x.y`; 5 %"), "{text}");
        assert!(text.contains("`'@you'`"), "{text}");
    }

    #[test]
    fn tables_that_do_not_fit_into_a_comment_are_counted_in_one_line() {
        let report = |tables| report(diff(tables, "gemm"), Vec::new());
        let all = rendered(&report(3), Extras::default()).unwrap();
        assert!(all.contains("<summary>Tables") && !all.contains("in the JSON report"), "{all}");
        let cut = rendered(&report(800), Extras::default()).unwrap();
        assert!(cut.len() <= LONGEST && cut.contains("\n800 tables in the JSON report"), "{cut}");
        assert!(cut.contains("rows: 1,600 added, 0 removed"), "the total stays: {cut}");
        let most = rendered(&report(100_000), Extras::default()).unwrap();
        assert!(most.len() <= LONGEST && most.contains("\n100,000 tables in the JSON"), "{most}");
    }

    #[test]
    fn new_findings_are_listed_worst_first_and_existing_ones_are_summed_up() {
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
        assert!(text.contains("more in the JSON report"), "{text}");
        assert!(text.contains("Existing findings: 2 (2 a-rule)"), "{text}");
        assert!(text.contains("--only a-rule"), "{text}");
    }

    #[test]
    fn a_shortened_comment_keeps_every_section_and_whole_words() {
        let found = |i: usize, severity| {
            let path = format!("systems/data/x/gemm/vllm/{i}/gemm_perf.parquet");
            let message = "measured ".repeat(80);
            let mut finding = finding(&path, message.trim_end(), true);
            finding.evidence.models =
                Some(ModelReach { moves_ms: 1.0, moves: Some("row 1 moves it".into()), loses: 0 });
            Finding { severity, ..finding }
        };
        let all =
            (0..40).map(|i| found(i, if i % 2 == 0 { Severity::Error } else { Severity::Warning }));
        let mut report = report(diff(40, "gemm"), all.collect());
        let step = |i: usize| PredictedMove {
            step: format!("step {i}"),
            subject: format!("model {i}"),
            point: "decode 1 × 1024".into(),
            before_ms: 1.0,
            after_ms: 2.0,
            change: "+100.0 %".into(),
            because: None,
            cause: None,
        };
        let movers = (0..9).map(step).collect();
        report.predictions = Some(Predictions {
            compared: true,
            versions: 1,
            values: 9,
            moved: 9,
            movers,
            ..Predictions::default()
        });
        let view = ReportView::new(&report, report.outcome(Some(Severity::Error)));
        for size in SIZES {
            let sections = Sections::new(&view, Extras::default(), size);
            let text = fill("comment.md.j2", TEMPLATE, &sections).unwrap();
            for heading in ["### Errors", "### What changed", "### Warnings", "### Predictions"] {
                assert!(text.contains(heading), "{heading} is missing:\n{text}");
            }
            assert!(text.contains("20 new errors, 20 new warnings"), "{text}");
            assert!(text.contains("9 of 9 predicted step times move"), "{text}");
            assert!(text.contains("measured …; row 1 moves it"), "{text}");
            let mut cut = text.split('…').map(str::trim_end);
            assert!(cut.all(|start| !start.ends_with("measure")), "{text}");
        }
    }

    /// Returns the comment's line that states whether the pull request is blocked.
    fn decision(report: &Report, fail_on: Option<Severity>, extras: Extras<'_>) -> String {
        let mut outcome = report.outcome(fail_on);
        if extras.smoke.is_some() {
            outcome.verdict = crate::report::RunVerdict::Failed;
        }
        let text = render(&ReportView::new(report, outcome), extras).unwrap();
        let is_it = |line: &&str| line.starts_with("This pull") || line.starts_with("Nothing");
        text.lines().find(is_it).unwrap_or_default().to_owned()
    }

    #[test]
    fn a_comment_states_whether_the_pull_request_is_blocked() {
        let (error, warning) = (Some(Severity::Error), Some(Severity::Warning));
        let found = |severity| Finding { severity, ..finding("a", "m", true) };
        let one = |findings| report(diff(1, "gemm"), findings);
        let free = "Nothing blocks this pull request";
        let says = |report: &Report, fail_on| decision(report, fail_on, Extras::default());
        let merge = format!("{free}: merge it if what changed is intended.");
        assert_eq!(says(&one(Vec::new()), error), merge);
        let warned = one(vec![found(Severity::Warning)]);
        assert_eq!(says(&warned, error), format!("{free}; 1 new finding is worth a look."));
        assert!(
            says(&warned, warning).starts_with("This pull request is blocked by 1 new warning. ")
        );
        let failed = one(vec![found(Severity::Error), found(Severity::Error)]);
        assert_eq!(
            says(&failed, error),
            "This pull request is blocked by 2 new errors. Fix the data, or waive the findings on the base \
             branch."
        );
        assert_eq!(says(&failed, None), format!("{free}; 2 new findings are worth a look."));
        let known = one(vec![finding("a", "m", false)]);
        assert_eq!(says(&known, error), merge, "existing findings do not block");

        let empty = report(Diff::default(), Vec::new());
        let nothing = says(&empty, error);
        assert_eq!(nothing, "This pull request is blocked: nothing was compared.");
        let passes = Extras { inconclusive_passes: true, ..Extras::default() };
        assert_eq!(decision(&empty, error, passes), format!("{free}, but nothing was compared."));
        let command = "plan".to_owned();
        let smoke = Smoke { command, passed: false, ended: "1".into(), output: String::new() };
        let extras = Extras { smoke: Some(&smoke), ..Extras::default() };
        let blocked =
            "This pull request is blocked by the failed smoke command. Its output is below.";
        assert_eq!(decision(&one(Vec::new()), error, extras), blocked);
    }

    #[test]
    fn output_of_a_smoke_command_cannot_end_its_code_block() {
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
