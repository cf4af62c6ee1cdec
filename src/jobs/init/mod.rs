//! Sets up a repository for its database: workflows, a pre-commit hook and a baseline.
//!
//! Existing files are kept, so that a second run changes nothing. A test compares the templates
//! with `docs/ci.md`.

use std::path::PathBuf;

use crate::base::error::{Error, Result};
use crate::base::escape::clean;
use crate::base::progress::Progress;
use crate::base::published;
use crate::base::tree_files::TreeFiles;
use crate::base::words::plural;
use crate::database::selection::Selection;
use crate::database::source::WorkTree;
use crate::findings::baseline::Baseline;
use crate::jobs::validate::{self, JudgedData, ValidateOptions};

/// The files that `init` writes: for each file, its path below the repository's top folder, and its template. `fitted`
/// replaces the placeholders in the templates.
const TEMPLATES: [(&str, &str); 4] = [
    (".github/workflows/perfdb.yml", include_str!("perfdb.yml")),
    (COMMENT, include_str!("perfdb-comment.yml")),
    (".github/workflows/perfdb-nightly.yml", include_str!("perfdb-nightly.yml")),
    (HOOKS, include_str!("pre-commit-config.yaml")),
];

/// The path of the workflow that comments on pull requests. This workflow needs permission to write comments.
const COMMENT: &str = ".github/workflows/perfdb-comment.yml";
/// The path of pre-commit's configuration file.
const HOOKS: &str = ".pre-commit-config.yaml";
/// The path of the baseline file, which lists the existing findings of the database.
const BASELINE: &str = ".perfdb-gate/baseline.json";

/// The placeholder in the templates for the repository of perfdb-gate.
const ACTION: &str = "OWNER/perfdb-gate";
const COMMIT: &str = "0000000000000000000000000000000000000000";
/// The branch of perfdb-gate that the workflows use by default if this program is not a release. A release uses its own
/// tag.
const BRANCH: &str = "main";
/// Texts in the templates that need git-LFS. `fitted` removes these texts unless the repository uses git-LFS.
const LFS: [&str; 2] = ["      - run: git lfs fetch --all\n", ", lfs: true"];
/// Texts in the templates that make the workflows build perfdb-gate from source. `fitted` removes these texts if a
/// released program can be downloaded instead.
const BUILD: [&str; 2] = ["          build: true\n", ", build: true"];

/// The options of `init`.
#[derive(Debug, Default, Clone, clap::Args)]
pub struct InitOptions {
    /// Repository that contains the database, or a folder in it.
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub root: PathBuf,
    /// Repository of perfdb-gate on GitHub, whose action the workflows use; without it, the one where
    /// this program is published.
    #[arg(long, value_name = "OWNER/NAME")]
    pub repository: Option<String>,
    /// Commit (40 hexadecimal digits) or version of perfdb-gate that the workflows use; without it,
    /// this version's tag, or the branch main if this is not the program of a release.
    #[arg(long, value_name = "COMMIT")]
    pub action: Option<String>,
    /// Also write a workflow that comments on pull requests; it needs the right to write comments.
    #[arg(long)]
    pub comment: bool,
    /// Layout of the database, copied to `.perfdb-gate/rules/layouts/`, so that every run uses it.
    #[arg(long, value_name = "NAME")]
    pub layout: Option<String>,
}

/// What `init` did with one file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InitOutcome {
    /// The file did not exist and was written.
    Written,
    /// The file existed with the same content.
    Same,
    /// The file existed with other content and was kept.
    Kept,
}

/// What the command `init` did with each file, for its report to the user.
#[derive(Debug)]
pub struct InitResult {
    /// Files below the repository's top folder with their outcomes, in the order of the report.
    pub files: Vec<(String, InitOutcome)>,
    /// Number of findings in the baseline; `None` if no baseline was written.
    known: Option<usize>,
    /// The YAML of the pre-commit hook, which the user must add by hand to an existing hook configuration. `None` if
    /// the repository has no such configuration, or if the configuration already has this hook.
    hook: Option<String>,
    /// The repository and revision of perfdb-gate that the workflows run.
    action: PublishedAction,
}

/// The repository and revision of perfdb-gate that workflows run.
#[derive(Debug)]
struct PublishedAction {
    /// The repository on GitHub, `OWNER/NAME`.
    repository: String,
    /// A commit id, or the name of a tag or branch.
    revision: String,
    is_commit: bool,
    /// True if this program is a release from `repository`, so that workflows can download it instead of compiling it.
    is_released: bool,
}

impl PublishedAction {
    /// Determines the repository and revision of perfdb-gate that the workflows run. If the options name no repository,
    /// takes the one that published this program.
    ///
    /// The owner of the chosen repository can run code in the workflows. Therefore a placeholder such as `OWNER/NAME`
    /// is an error.
    fn of(options: &InitOptions) -> Result<Self> {
        let published =
            published::repository().and_then(|at| at.strip_prefix("https://github.com/"));
        let repository = options.repository.as_deref().or(published).unwrap_or_default();
        if !is_repository(repository) {
            return Err(match &options.repository {
                Some(named) => Error::new(
                    format!(
                        "--repository takes OWNER/NAME of a repository on GitHub, not '{named}'"
                    ),
                    "the workflows run the action of that repository",
                ),
                None => Error::new(
                    "this build does not know where perfdb-gate is published, and the workflows must name it",
                    "--repository OWNER/NAME names its repository on GitHub; \
                     `perfdb-gate validate --write-baseline FILE` writes only a baseline",
                ),
            });
        }
        let is_released = published::is_release() && published == Some(repository);
        let named = options.action.as_deref();
        let (revision, is_commit) = match named.or(is_released.then_some(env!("CARGO_PKG_VERSION")))
        {
            None => (BRANCH.to_owned(), false),
            Some(action) => revision(action).ok_or_else(|| {
                Error::new(
                    format!("--action takes a commit or a version, not '{action}'"),
                    "a commit has 40 hexadecimal digits; a version is like 1.2.3 or v1.2.3",
                )
            })?,
        };
        Ok(Self { repository: repository.to_owned(), revision, is_commit, is_released })
    }
}

/// Returns true if a text is a valid name of a GitHub repository, such as `alice/tools`. Returns false for a
/// placeholder such as `OWNER/NAME`.
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

/// Parses a commit id (40 hexadecimal digits) or a version such as `1.2.3`. Returns the commit id and true, or the
/// version's tag and false. Returns `None` for any other text.
fn revision(text: &str) -> Option<(String, bool)> {
    if text.len() == 40 && text.bytes().all(|b| b.is_ascii_hexdigit()) {
        return Some((text.to_owned(), true));
    }
    let version = text.strip_prefix('v').unwrap_or(text);
    let (core, before) = version.split_once('-').unwrap_or((version, "0"));
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    let is_core = core.split('.').count() == 3 && core.split('.').all(is_number);
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '.';
    let is_before = !before.is_empty() && before.chars().all(is_word);
    (is_core && is_before).then(|| (format!("v{version}"), false))
}

/// Adds the workflows, the hook configuration and the baseline of perfdb-gate to a repository.
///
/// # Errors
///
/// Returns an error if there is no database, if the repository of perfdb-gate is not known, or if a file cannot be
/// written. No file is written then.
pub fn run(options: &InitOptions, progress: &dyn Progress) -> Result<InitResult> {
    let top = WorkTree::open(&options.root)?.top()?.ok_or_else(|| {
        let message = format!("{} is not in a git repository", options.root.display());
        Error::new(message, "workflows and hooks need a git repository: `git init` creates one")
    })?;
    let action = PublishedAction::of(options)?;
    let tree = TreeFiles::at_root(&top)?;
    tree.lock()?;
    let selection = Selection { layout: options.layout.clone(), ..Selection::default() };
    let judged =
        ValidateOptions { root: options.root.clone(), selection, ..ValidateOptions::default() };
    let text = |data: &JudgedData<'_>| {
        let path = options.layout.as_ref().map(|name| format!("rules/layouts/{name}.yaml"));
        let file = path.as_ref().and_then(|path| data.state.specs.library.file(path).last());
        Ok(file.map(|file| file.text.clone().into_owned()))
    };
    let (report, layout) = validate::judged(&judged, progress, text)?;
    let mut outputs = Vec::new();
    let mut files = Vec::new();
    let attributes = tree.read(&top.join(".gitattributes"))?.unwrap_or_default();
    let uses_lfs = String::from_utf8_lossy(&attributes).contains("filter=lfs");
    let mut missing_hook = None;
    for (path, text) in TEMPLATES.iter().filter(|(path, _)| options.comment || *path != COMMENT) {
        let text = fitted(text, &action, uses_lfs);
        let before = tree.read(&top.join(path))?;
        let outcome = outcome(before.as_deref(), &text);
        if *path == HOOKS && outcome == InitOutcome::Kept && !has_hook(before.as_deref()) {
            missing_hook = Some(text.clone());
        }
        files.push(((*path).to_owned(), outcome));
        if outcome == InitOutcome::Written {
            outputs.push((top.join(path), text.into_bytes()));
        }
    }
    if let (Some(name), Some(text)) = (&options.layout, &layout) {
        let path = format!(".perfdb-gate/rules/layouts/{name}.yaml");
        let outcome = outcome(tree.read(&top.join(&path))?.as_deref(), text);
        if outcome == InitOutcome::Written {
            outputs.push((top.join(&path), text.clone().into_bytes()));
        }
        files.push((path, outcome));
    }
    // An existing baseline was agreed on: later findings are not added to it.
    let is_new = !tree.has(&top.join(BASELINE))?;
    files
        .push((BASELINE.to_owned(), if is_new { InitOutcome::Written } else { InitOutcome::Kept }));
    if is_new {
        outputs.push((top.join(BASELINE), Baseline::of(&report.findings).text().into_bytes()));
    }
    tree.write(None, &outputs)?;
    let known = report.findings.iter().filter(|f| f.waived_by.is_none()).count();
    let known = is_new.then_some(known);
    Ok(InitResult { files, known, hook: missing_hook, action })
}

/// Replaces the placeholders of a template by the repository and revision in `action`. If `uses_lfs` is false, also
/// removes the texts that need git-LFS.
fn fitted(text: &str, action: &PublishedAction, uses_lfs: bool) -> String {
    let PublishedAction { repository, revision, is_released, .. } = action;
    let tag = format!("v{}", env!("CARGO_PKG_VERSION"));
    let mut text = text.replace(COMMIT, revision).replace(ACTION, repository);
    text = text.replace(&format!("rev: {tag}"), &format!("rev: \"{revision}\""));
    for (parts, is_kept) in [(LFS, uses_lfs), (BUILD, !is_released)] {
        for part in parts.iter().filter(|_| !is_kept) {
            text = text.replace(part, "");
        }
    }
    text
}

/// Decides what `init` does with a file that should contain `text`. `before` is the present content of the file, or
/// `None` if the file does not exist.
fn outcome(before: Option<&[u8]>, text: &str) -> InitOutcome {
    match before {
        None => InitOutcome::Written,
        Some(before) if before == text.as_bytes() => InitOutcome::Same,
        Some(_) => InitOutcome::Kept,
    }
}

/// Returns true if a hook configuration already names perfdb-gate.
fn has_hook(bytes: Option<&[u8]>) -> bool {
    String::from_utf8_lossy(bytes.unwrap_or_default()).contains("perfdb-gate")
}

impl InitResult {
    /// Renders the outcomes of all files and the next steps.
    pub fn text(&self) -> String {
        let mut out = String::new();
        for (path, outcome) in &self.files {
            let outcome = match outcome {
                InitOutcome::Written => "written",
                InitOutcome::Same => "there",
                InitOutcome::Kept => "kept",
            };
            out += &format!("{outcome:7}  {}\n", clean(path));
        }
        if let Some(known) = self.known {
            let known = plural(known, "finding");
            out += &format!(
                "\nThe baseline contains {known}; `perfdb-gate validate` fails only on new ones.\n"
            );
        }
        if let Some(hook) = &self.hook {
            out += &format!("\n{HOOKS} exists already. Add this to it:\n\n{hook}");
        }
        let written = self.files.iter().any(|(_, outcome)| *outcome == InitOutcome::Written);
        if !written {
            out += "\nAll files exist already; nothing was written.\n";
            return out;
        }
        let PublishedAction { revision, is_commit, is_released, .. } = &self.action;
        if !is_commit {
            out += &format!(
                "\nThe workflows name {revision} of perfdb-gate. A tag or branch can be moved; `--action COMMIT` names a \
                 commit instead.\n"
            );
        }
        if !is_released {
            out += "\nThis perfdb-gate is not that of a release, so the workflows compile it (`build: true`). The first \
                    run takes some minutes; later ones find the binary in the cache.\n";
        }
        out += "\nNext: review the files, `git add` them and open a pull request. `pre-commit install` turns the hook \
                on; its first commit compiles perfdb-gate, which takes some minutes.\n";
        out
    }
}
