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
pub struct InitOptions {
    /// The repository.
    pub root: PathBuf,
    /// The repository of perfdb-gate on GitHub, `OWNER/NAME`; without it, where this program is published.
    pub repository: Option<String>,
    /// The commit or version of perfdb-gate that workflows name; this version's tag without one.
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

/// The program that workflows run.
struct PublishedAction {
    /// `OWNER/NAME` on GitHub.
    repository: String,
    /// A commit or a tag.
    revision: String,
    is_tag: bool,
}

impl PublishedAction {
    /// The program that the options name, by default this one.
    ///
    /// Whoever holds the named account runs code where the workflows run, so a name that nobody chose is
    /// refused.
    fn of(options: &InitOptions) -> Result<Self> {
        let published = env!("CARGO_PKG_REPOSITORY").trim_start_matches("https://github.com/");
        let repository = match options.repository.as_deref() {
            Some(named) if is_repository(named) => named,
            None if is_repository(published) => published,
            Some(named) => {
                return Err(Error::new(
                    format!(
                        "--repository takes OWNER/NAME of a repository on GitHub, not '{named}'"
                    ),
                    "the workflows run the action of that repository",
                ));
            }
            None => {
                return Err(Error::new(
                    "this build does not know where perfdb-gate is published, and the workflows must name it",
                    "--repository OWNER/NAME names its repository on GitHub; \
                     `perfdb-gate validate --write-baseline FILE` writes only a baseline",
                ));
            }
        };
        let action = options.action.as_deref().unwrap_or(env!("CARGO_PKG_VERSION"));
        let Some((revision, is_tag)) = revision(action) else {
            return Err(Error::new(
                format!("--action takes a commit or a version, not '{action}'"),
                "a commit has 40 hexadecimal digits; a version is like 1.2.3 or v1.2.3",
            ));
        };
        Ok(Self { repository: repository.to_owned(), revision, is_tag })
    }
}

/// Whether a text is `OWNER/NAME` as GitHub allows it, and not the words themselves.
fn is_repository(text: &str) -> bool {
    let Some((owner, name)) = text.split_once('/') else { return false };
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '-';
    let is_owner = (1..=39).contains(&owner.len())
        && owner.chars().all(is_word)
        && !owner.starts_with('-')
        && owner != "OWNER";
    let is_name = (1..=100).contains(&name.len())
        && name.chars().all(|c| is_word(c) || c == '.' || c == '_')
        && !matches!(name, "." | ".." | "NAME");
    is_owner && is_name
}

/// The commit, or the tag of the version, that a text names, and whether it is a tag.
fn revision(text: &str) -> Option<(String, bool)> {
    if text.len() == 40 && text.bytes().all(|b| b.is_ascii_hexdigit()) {
        return Some((text.to_owned(), false));
    }
    let version = text.strip_prefix('v').unwrap_or(text);
    let (core, before) = version.split_once('-').unwrap_or((version, "0"));
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    let is_core = core.split('.').count() == 3 && core.split('.').all(is_number);
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '.';
    let is_before = !before.is_empty() && before.chars().all(is_word);
    (is_core && is_before).then(|| (format!("v{version}"), true))
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
/// When it holds no database, nobody says where the workflows find perfdb-gate, or a file cannot be
/// written: then none is.
pub fn run(options: &InitOptions, progress: &dyn Progress) -> Result<Setup> {
    let top = WorkTree::open(&options.root)?.top()?.ok_or_else(|| {
        let message = format!("{} is not in a git repository", options.root.display());
        Error::new(message, "workflows and hooks need a git repository: `git init` creates one")
    })?;
    let action = PublishedAction::of(options)?;
    let found = look(options, progress)?;
    let mut outputs = Vec::new();
    let mut files = Vec::new();
    let uses_lfs = std::fs::read_to_string(top.join(".gitattributes"))
        .is_ok_and(|text| text.contains("filter=lfs"));
    let texts = TEMPLATES.map(|(path, text)| (path, fitted(text, &action, &found, uses_lfs)));
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
    Ok(Setup { files, known, hook: told_hook, tagged: action.is_tag })
}

/// Judges the database as it is.
fn look(options: &InitOptions, progress: &dyn Progress) -> Result<FoundTree> {
    let judged = validate::ValidateOptions {
        root: options.root.clone(),
        ..validate::ValidateOptions::default()
    };
    let look = |looked: &Looked<'_>| {
        let systems = looked.state.catalog.systems.values();
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
fn fitted(text: &str, action: &PublishedAction, found: &FoundTree, uses_lfs: bool) -> String {
    let PublishedAction { repository, revision, .. } = action;
    let tag = format!("v{}", env!("CARGO_PKG_VERSION"));
    let paths: Vec<String> = found
        .folders
        .iter()
        .map(|folder| if folder.is_empty() { "\"**\"".into() } else { format!("\"{folder}/**\"") })
        .collect();
    let mut text = text.replace(COMMIT, revision).replace(ACTION, repository);
    text = text.replace(&format!("rev: {tag}"), &format!("rev: \"{revision}\""));
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
