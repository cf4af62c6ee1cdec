//! Sets a repository up: workflows, a hook and a baseline, for the database that it holds.
//!
//! What is there stays as it is, so that a second run changes nothing. The files are those that
//! `docs/ci.md` shows; a test compares them.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use crate::base::error::{Error, Result};
use crate::base::escape::clean;
use crate::base::files::write_all;
use crate::base::progress::Progress;
use crate::base::words::plural;
use crate::database::source::WorkTree;
use crate::findings::baseline::Baseline;
use crate::jobs::validate::{self, Looked};

/// The files that are written as they are, except for what `fitted` puts in.
const TEMPLATES: [(&str, &str); 4] = [
    (".github/workflows/perfdb.yml", include_str!("perfdb.yml")),
    (".github/workflows/perfdb-comment.yml", include_str!("perfdb-comment.yml")),
    (".github/workflows/perfdb-nightly.yml", include_str!("perfdb-nightly.yml")),
    (HOOKS, include_str!("pre-commit-config.yaml")),
];

/// The file that configures pre-commit's hooks.
const HOOKS: &str = ".pre-commit-config.yaml";
/// Where known findings are.
const BASELINE: &str = ".perfdb-gate/baseline.json";

/// What stands in the templates for this program's repository and the commit of it.
const ACTION: &str = "OWNER/perfdb-gate";
const COMMIT: &str = "0000000000000000000000000000000000000000";
/// What stands in the templates for the paths that a workflow is for.
const PATHS: &str =
    r#"["**/systems/**", "systems/**", "**/trace_collection/**", "trace_collection/**"]"#;
/// The lines that git-LFS needs.
const LFS: [&str; 2] = ["      - run: git lfs fetch --all\n", ", lfs: true"];

/// What to set up.
#[derive(Debug, Default, Clone)]
pub struct Options {
    /// The repository.
    pub root: PathBuf,
    /// The commit or tag of perfdb-gate that workflows name; this version's tag without one.
    pub action: Option<String>,
}

/// What became of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InitOutcome {
    /// It was not there.
    Written,
    /// It was there and is what would have been written.
    Same,
    /// It was there and is something else, which stays.
    Kept,
}

/// What was set up.
#[derive(Debug)]
pub struct Setup {
    /// Files below the repository's top, in the order in which they are reported.
    pub files: Vec<(String, InitOutcome)>,
    /// Findings that the baseline holds, where it was written.
    known: Option<usize>,
    /// The hook as text, where a configuration of others is there.
    hook: Option<String>,
    /// Whether workflows name a tag.
    tagged: bool,
}

/// What is known of the repository at hand.
struct FoundTree {
    /// Folders of systems.
    folders: BTreeSet<String>,
    baseline: String,
    known: usize,
}

/// Sets a repository up.
///
/// # Errors
///
/// When it holds no database, or a file cannot be written: then none is.
pub fn run(options: &Options, progress: &dyn Progress) -> Result<Setup> {
    let top = WorkTree::open(&options.root)?.top()?.ok_or_else(|| {
        let message = format!("{} is not in a git repository", options.root.display());
        Error::new(message, "workflows and hooks need a git repository: `git init` creates one")
    })?;
    let found = look(options, progress)?;
    let mut outputs = Vec::new();
    let mut files = Vec::new();
    let uses_lfs = std::fs::read_to_string(top.join(".gitattributes"))
        .is_ok_and(|text| text.contains("filter=lfs"));
    let texts = TEMPLATES.map(|(path, text)| (path, fitted(text, options, &found, uses_lfs)));
    let hook = &texts[3].1;
    let mut told_hook = None;
    for (path, text) in &texts {
        let outcome = outcome(&top.join(path), text);
        if *path == HOOKS && outcome == InitOutcome::Kept && !has_hook(&top.join(path)) {
            told_hook = Some(hook.clone());
        }
        files.push(((*path).to_owned(), outcome));
        if outcome == InitOutcome::Written {
            outputs.push((top.join(path), text.clone().into_bytes()));
        }
    }
    // What a baseline holds was agreed on: findings that came since are not known.
    let is_new = !top.join(BASELINE).exists();
    files
        .push((BASELINE.to_owned(), if is_new { InitOutcome::Written } else { InitOutcome::Kept }));
    if is_new {
        outputs.push((top.join(BASELINE), found.baseline.into_bytes()));
    }
    let folders: BTreeSet<PathBuf> =
        outputs.iter().filter_map(|(path, _)| path.parent().map(Path::to_owned)).collect();
    write_all(&folders.into_iter().collect::<Vec<_>>(), &outputs)?;
    let known = is_new.then_some(found.known);
    Ok(Setup { files, known, hook: told_hook, tagged: options.action.is_none() })
}

/// Judges the database as it is.
fn look(options: &Options, progress: &dyn Progress) -> Result<FoundTree> {
    let judged = validate::Options {
        root: options.root.clone(),
        ..validate::Options::default()
    };
    let look = |looked: &Looked<'_>| {
        let systems = looked.job.catalog.systems.values();
        let places = systems.flat_map(|system| [system.yaml.as_str(), system.data_dir.as_str()]);
        Ok(places.map(folder).collect::<BTreeSet<String>>())
    };
    let (report, all) = validate::judged(&judged, progress, look)?;
    // A folder within another is seen with it.
    let is_within = |f: &String| all.iter().any(|o| o != f && f.starts_with(&format!("{o}/")));
    let folders = all.iter().filter(|f| !is_within(f)).cloned().collect();
    let baseline = Baseline::of(&report.findings);
    let known = report.findings.iter().filter(|f| f.waived_by.is_none()).count();
    Ok(FoundTree { folders, baseline: baseline.text(), known })
}

/// The folder of a file.
fn folder(path: &str) -> String {
    path.rsplit_once('/').map_or(String::new(), |(folder, _)| folder.to_owned())
}

/// A template for the repository at hand.
fn fitted(text: &str, options: &Options, found: &FoundTree, uses_lfs: bool) -> String {
    let place = env!("CARGO_PKG_REPOSITORY").trim_start_matches("https://github.com/");
    let tag = format!("v{}", env!("CARGO_PKG_VERSION"));
    let commit = options.action.as_deref().unwrap_or(&tag);
    let paths: Vec<String> = found
        .folders
        .iter()
        .map(|folder| if folder.is_empty() { "\"**\"".into() } else { format!("\"{folder}/**\"") })
        .collect();
    let mut text = text.replace(COMMIT, commit).replace(ACTION, place);
    text = text.replace(&format!("rev: {tag}"), &format!("rev: \"{commit}\""));
    text = text.replace(PATHS, &format!("[{}]", paths.join(", ")));
    if !uses_lfs {
        for line in LFS {
            text = text.replace(line, "");
        }
    }
    text
}

fn outcome(path: &Path, text: &str) -> InitOutcome {
    match std::fs::read(path) {
        Ok(there) if there == text.as_bytes() => InitOutcome::Same,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => InitOutcome::Written,
        // Whatever is there and cannot be read is not replaced either.
        _ => InitOutcome::Kept,
    }
}

/// Whether a configuration of hooks has one of these already.
fn has_hook(path: &Path) -> bool {
    std::fs::read_to_string(path).is_ok_and(|text| text.contains("perfdb-gate"))
}

impl Setup {
    /// What was done, for people, and what is left to do.
    pub fn text(&self) -> String {
        let mut out = String::new();
        for (path, outcome) in &self.files {
            let outcome = match outcome {
                InitOutcome::Written => "written",
                InitOutcome::Same => "there",
                InitOutcome::Kept => "kept",
            };
            let _ = writeln!(out, "{outcome:7}  {}", clean(path));
        }
        if let Some(known) = self.known {
            let known = plural(known, "finding");
            let _ = writeln!(
                out,
                "\nThe baseline contains {known}; `perfdb-gate validate` fails only on new ones."
            );
        }
        if let Some(hook) = &self.hook {
            let _ = write!(out, "\n{HOOKS} exists already. Add this to it:\n\n{hook}");
        }
        let written = self.files.iter().any(|(_, outcome)| *outcome == InitOutcome::Written);
        if !written {
            out += "\nAll files exist already; nothing was written.\n";
            return out;
        }
        if self.tagged {
            out += "\nThe workflows name a tag of perfdb-gate. A tag can be moved; `--action COMMIT` names a commit instead.\n";
        }
        out += "\nNext: review the files, `git add` them and open a pull request. `pre-commit install` turns the hook on.\n";
        out
    }
}
