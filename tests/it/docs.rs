//! Every command in the README and in docs/ runs, every workflow names what there is, and the guides for contributors
//! name paths that exist.
//!
//! A fence's info string says what a block needs: `sh` runs on a small repository of synthetic rows;
//! `sh gpu`, `sh planner`, `sh build` and `sh traces` need what a test has not, so that their flags alone are read.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::common::{self, BINARY, SHIPPED, Tree, gemm};
use perfdb_gate::findings::waiver::Waivers;
use regex::Regex;
use serde_json::Value;

/// A fenced block.
struct Block {
    /// File and line of its fence.
    at: String,
    /// The fence's info string, word by word.
    info: Vec<String>,
    text: String,
}

fn blocks() -> Vec<Block> {
    let mut found = Vec::new();
    for page in pages() {
        let text = std::fs::read_to_string(&page).unwrap();
        let mut open: Option<Block> = None;
        for (number, line) in text.lines().enumerate() {
            match (&mut open, line.strip_prefix("```")) {
                (None, Some(info)) => {
                    let at = format!("{}:{}", page.display(), number + 1);
                    let info = info.split_whitespace().map(str::to_owned).collect();
                    open = Some(Block { at, info, text: String::new() });
                }
                (Some(_), Some(_)) => found.extend(open.take()),
                (Some(block), None) => block.text += &format!("{line}\n"),
                (None, None) => {}
            }
        }
        assert!(open.is_none(), "{} ends within a block", page.display());
    }
    found
}

/// The pages of `docs/` and the README.
pub fn pages() -> Vec<PathBuf> {
    let docs = std::fs::read_dir("docs").unwrap().map(|f| f.unwrap().path());
    let mut pages: Vec<PathBuf> =
        docs.filter(|p| p.extension().is_some_and(|e| e == "md")).collect();
    pages.push("README.md".into());
    pages.sort();
    pages
}

impl Block {
    fn is(&self, kind: &str) -> bool {
        self.info.first().is_some_and(|i| i == kind)
    }

    fn page(&self) -> &str {
        self.at.split(':').next().unwrap_or_default()
    }

    /// Its commands, a line each.
    fn commands(&self) -> Vec<String> {
        let joined = self.text.replace("\\\n", " ");
        joined.lines().map(str::trim).filter(|l| !l.is_empty()).map(str::to_owned).collect()
    }
}

/// Runs a command in the shell that the pages are written for.
fn shell(folder: &Path, path: &Path, text: &str) -> Output {
    let rest = std::env::var("PATH").unwrap_or_default();
    let mut command = Command::new("bash");
    command.args(["--noprofile", "--norc", "-c"]).current_dir(folder);
    command.env("PATH", format!("{}:{rest}", path.display())).env("GIT_CONFIG_GLOBAL", "/dev/null");
    command.env("TABLE", "gemm").env("GITHUB_RUN_NUMBER", "7");
    command.arg(text).output().expect("the commands of the pages run in bash: install it")
}

/// A folder in which the binary has its name.
fn named_binary() -> tempfile::TempDir {
    let folder = tempfile::TempDir::new().unwrap();
    let name = folder.path().join("perfdb-gate");
    // No copy: a file that was written just now may still be open where another test starts a process.
    #[cfg(unix)]
    std::os::unix::fs::symlink(BINARY, &name).unwrap();
    #[cfg(not(unix))]
    std::fs::hard_link(BINARY, &name).unwrap();
    folder
}

/// A repository of synthetic rows with a branch that changes some of them, committed and not.
fn repository() -> Tree {
    let tree = Tree::new();
    let rows = |last: f64| {
        let of = |m: u64| if m == 30 { last } else { 0.5 + 0.01 * m as f64 };
        gemm(&(1..=30).map(|m| (m, of(m))).collect::<Vec<_>>())
    };
    tree.gemm("gemm_perf.txt", rows(0.8));
    tree.file("systems/data/h200_sxm/gemm/torch/2.11.0/gemm_perf.parquet", SHIPPED);
    tree.commit();
    tree.git(&["update-ref", "refs/remotes/origin/main", "HEAD"]);
    tree.git(&["checkout", "-qb", "more"]);
    tree.gemm("gemm_perf.txt", rows(0.9));
    tree.commit();
    tree.gemm("gemm_perf.txt", rows(1.0));
    tree
}

fn said(out: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr))
}

/// Reads a command's flags without doing what it says; the shell splits its words.
fn flags_are_known(at: &str, command: &str) {
    let (folder, binary) = (tempfile::TempDir::new().unwrap(), named_binary());
    let out = shell(folder.path(), binary.path(), &format!("{command} --help"));
    assert!(out.status.success(), "{at}: {command}: {}", said(&out));
}

#[test]
fn every_command_of_the_pages_runs() {
    let binary = named_binary();
    let (mut ran, mut read) = (0, 0);
    // A page's commands build on those before them, and on no other page's.
    let (mut tree, mut page) = (repository(), String::new());
    for block in blocks().iter().filter(|b| b.is("sh")) {
        if block.page() != page {
            (tree, page) = (repository(), block.page().to_owned());
        }
        for command in block.commands() {
            let program = command.split_whitespace().next().unwrap();
            if let [_, needs] = &block.info[..] {
                assert!(
                    ["gpu", "planner", "build", "traces"].contains(&needs.as_str()),
                    "{}",
                    block.at
                );
                if program == "perfdb-gate" {
                    flags_are_known(&block.at, &command);
                    read += 1;
                }
                continue;
            }
            // Readers put the account in; `init` refuses the word itself.
            let command = command.replace("OWNER/", "some-one/");
            let out = shell(tree.path(), binary.path(), &command);
            let code = out.status.code().unwrap_or(-1);
            // Findings are no failure of the page; that nothing was checked would be one.
            let fine = if program == "perfdb-gate" { code == 0 || code == 1 } else { code == 0 };
            assert!(fine, "{}: {command}: exit {code}: {}", block.at, said(&out));
            ran += 1;
        }
    }
    assert!(ran > 20 && read > 2, "{ran} ran, of {read} the flags were read");
}

#[test]
fn the_first_command_of_the_readme_prints_the_shown_output() {
    let blocks = blocks();
    let of_readme = blocks.iter().filter(|b| b.at.starts_with("README.md"));
    let first = of_readme.clone().find(|b| b.is("console")).unwrap();
    let lines: Vec<&str> = first.text.lines().collect();
    assert_eq!(lines[0], "$ cargo run -- validate --system h200_sxm");
    let run = common::run(&["validate", "--system", "h200_sxm"]);
    let told = |text: &str| text.rsplit_once(" in ").map(|(what, _)| what.to_owned());
    // Above it stand two infos on rows without a power reading.
    let out = run.out();
    let last = out.lines().last().unwrap();
    assert_eq!(told(last), told(lines[1]), "{}", run.err());
    assert!(told(lines[1]).is_some() && lines.contains(&"$ cargo test"));
    // Without a selection, this clone is clean, too.
    let whole = common::run(&["validate"]);
    assert_eq!(whole.code(), 0, "{}", whole.shown());
    let last = whole.out().lines().last().and_then(told);
    assert!(last.is_some_and(|last| last.ends_with("2736 rows")), "{}", whole.out());
}

/// The defect, its rows and the command of each row of the table of what it caught.
pub fn caught() -> Vec<(String, u64, String)> {
    let page = std::fs::read_to_string("docs/found.md").unwrap();
    let rows = page.lines().filter(|l| l.ends_with("` |") && l.contains("| `perfdb-gate "));
    let row = |line: &str| {
        let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        let [what, _, rows, command] = cells[..] else { panic!("{line}") };
        let rows = rows.replace(',', "").parse().unwrap_or_else(|_| panic!("{line}"));
        (what.to_owned(), rows, command.trim_matches(['`', ' ']).to_owned())
    };
    rows.map(row).collect()
}

#[test]
fn the_commands_of_the_page_of_found_errors_exist() {
    let caught = caught();
    assert!(caught.len() > 5);
    // The README shows three of them, as they are.
    let readme = std::fs::read_to_string("README.md").unwrap();
    let shown = |(what, ..): &&(String, u64, String)| readme.contains(&format!("\n| {what} | "));
    assert_eq!(caught.iter().filter(shown).count(), 3);
    for (what, _, command) in &caught {
        flags_are_known(what, command);
    }
}

#[test]
fn workflows_on_the_pages_name_existing_inputs_and_hooks() {
    let action = std::fs::read_to_string("action.yml").unwrap();
    let action: Value = serde_yaml::from_str(&action).unwrap();
    let hooks = std::fs::read_to_string(".pre-commit-hooks.yaml").unwrap();
    let (mut steps_seen, mut runs_seen) = (0, 0);
    for block in blocks().iter().filter(|b| b.is("yaml")) {
        let read: Result<Value, _> = serde_yaml::from_str(&block.text);
        let document = read.unwrap_or_else(|e| panic!("{}: {e}", block.at));
        if !document["waivers"].is_null() {
            Waivers::parse(&block.at, &block.text).unwrap();
        }
        for hook in
            document.pointer("/repos/0/hooks").and_then(Value::as_array).into_iter().flatten()
        {
            assert!(hooks.contains(&format!("- id: {}\n", hook["id"].as_str().unwrap())), "{hook}");
        }
        let jobs = document["jobs"].as_object().into_iter().flatten();
        for step in jobs.flat_map(|(_, job)| job["steps"].as_array().into_iter().flatten()) {
            if step["uses"].as_str().is_some_and(|u| u.starts_with("OWNER/perfdb-gate@")) {
                for (name, _) in step["with"].as_object().into_iter().flatten() {
                    assert!(!action["inputs"][name].is_null(), "{}: {name}", block.at);
                }
                steps_seen += 1;
            }
            for line in step["run"].as_str().into_iter().flat_map(str::lines) {
                if line.starts_with("perfdb-gate") {
                    flags_are_known(&block.at, line);
                    runs_seen += 1;
                }
            }
        }
    }
    assert!(steps_seen > 2 && runs_seen > 0, "{steps_seen} steps, {runs_seen} runs");
}

#[test]
fn the_pages_list_every_flag_and_input() {
    let page = |name: &str| std::fs::read_to_string(format!("docs/{name}.md")).unwrap();
    let action: Value =
        serde_yaml::from_str(&std::fs::read_to_string("action.yml").unwrap()).unwrap();
    let ci = page("ci");
    for name in action["inputs"].as_object().unwrap().keys() {
        assert!(ci.contains(&format!("`{name}`")), "docs/ci.md lacks {name}");
    }
    for name in action["outputs"].as_object().unwrap().keys() {
        assert!(ci.contains(&format!("`{name}`")), "docs/ci.md lacks {name}");
    }
    let whole = page("validate") + &page("sanity") + &page("remeasure");
    for job in ["validate", "sanity", "remeasure"] {
        let help = common::run(&[job, "--help"]).out();
        for line in help.lines().map(str::trim).filter(|l| l.starts_with("--")) {
            let flag = line.split([' ', '[']).next().unwrap();
            assert!(whole.contains(flag), "no page of a job tells of {flag}");
        }
    }
}

/// The flags of a table's row, and its last cell: which commands have them.
fn flags_and_commands(row: &str) -> Option<(Vec<&str>, &str)> {
    let cells: Vec<&str> = row.split('|').map(str::trim).collect();
    let [_, flags, .., commands, _] = cells[..] else { return None };
    let flags = flags.split('`').filter(|part| part.starts_with("--"));
    Some((flags.filter_map(|flag| flag.split(' ').next()).collect(), commands))
}

#[test]
fn the_table_of_output_flags_lists_the_commands_with_each_flag() {
    let page = std::fs::read_to_string("docs/validate.md").unwrap();
    let (_, section) = page.split_once("## Where output goes").unwrap();
    let (section, _) = section.split_once("\n## ").unwrap();
    let commands = common::commands();
    let mut rows = 0;
    for (flags, listed) in section.lines().filter_map(flags_and_commands) {
        rows += usize::from(!flags.is_empty());
        let listed: Vec<&str> = listed.split(|c: char| !c.is_ascii_lowercase()).collect();
        for command in &commands {
            let help = common::run(&[command, "--help"]).out();
            let has = |flag: &&&str| {
                let mut lines = help.lines().map(str::trim_start);
                lines.any(|line| line.split([' ', '[', '=']).next() == Some(**flag))
            };
            // An input of other commands has the same name.
            for flag in flags.iter().filter(|flag| **flag != "--ledger") {
                let only_base = ["explore", "remeasure"].contains(&command.as_str());
                let known = (only_base && *flag == "--head-ref") || has(&flag);
                assert_eq!(known, listed.contains(&command.as_str()), "{flag} of {command}");
            }
        }
    }
    assert!(rows > 12, "{rows}");
}

/// The paths of this repository that a text names, in blocks of code, too.
fn named_paths(text: &str) -> Vec<&str> {
    let folders = "benches|charts|docs|fuzz|rules|selftest|src|tests";
    let path = Regex::new(&format!(r"(?:^|[^\w./-])((?:{folders})/[\w./-]*)")).unwrap();
    let found = path.captures_iter(text).filter_map(|found| found.get(1));
    found.map(|path| path.as_str().trim_end_matches('.')).collect()
}

#[test]
fn the_guides_name_paths_that_exist() {
    for (page, least) in [("CONTRIBUTING.md", 60), ("docs/architecture.md", 60)] {
        let text = std::fs::read_to_string(page).unwrap();
        let paths = named_paths(&text);
        assert!(paths.len() > least, "{page}: {}", paths.len());
        let wrong: Vec<&&str> = paths.iter().filter(|path| !Path::new(path).exists()).collect();
        assert!(wrong.is_empty(), "{page}: {wrong:?}");
    }
}

#[test]
fn paths_are_found_in_sentences_and_blocks() {
    let text = "It is `src/lib.rs`.\n```text\n  rules/tables/<family>.yaml and .perfdb-gate/rules/x.yaml\n```";
    assert_eq!(named_paths(text), ["src/lib.rs", "rules/tables/"]);
}

#[test]
fn links_of_the_pages_have_an_existing_target() {
    for page in pages().into_iter().chain(["CONTRIBUTING.md".into()]) {
        let text = std::fs::read_to_string(&page).unwrap();
        for (at, _) in text.match_indices("](") {
            let target = text[at + 2..].split(')').next().unwrap();
            let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
            if file.starts_with("https:") {
                continue;
            }
            let to = if file.is_empty() { page.clone() } else { page.parent().unwrap().join(file) };
            assert!(to.exists(), "{}: {target}", page.display());
            if !anchor.is_empty() {
                let named = |line: &&str| {
                    let word = |c: char| if c == ' ' { '-' } else { c.to_ascii_lowercase() };
                    let title = line.trim_start_matches('#').trim();
                    let keep = |c: &char| c.is_alphanumeric() || matches!(c, ' ' | '-');
                    line.starts_with('#') && title.chars().filter(keep).map(word).eq(anchor.chars())
                };
                let text = std::fs::read_to_string(&to).unwrap();
                assert!(text.lines().any(|l| named(&l)), "{}: {target}", page.display());
            }
        }
    }
}
