//! Opens git repositories, resolves revisions and converts git errors.

use std::path::Path;

use git2::Repository;

use crate::base::error::{Error, Result, unknown};

/// Opens the repository that contains `root`; `None` outside of a repository. Also returns the path of `root` below the
/// repository's top, which is empty or ends in `/`.
pub(super) fn repository(root: &Path) -> Result<Option<(Repository, String)>> {
    let root = root.canonicalize().map_err(|e| {
        Error::new(
            format!("cannot open {}: {e}", root.display()),
            "--root takes a repository or a folder that holds a perf database",
        )
    })?;
    // Like git, this trusts object hashes: fetching has verified them, and objects damaged later fail to
    // inflate.
    git2::opts::strict_hash_verification(false);
    let repo = match Repository::discover(&root) {
        Ok(repo) => repo,
        Err(e) if e.code() == git2::ErrorCode::NotFound => return Ok(None),
        Err(e) => {
            let message =
                format!("cannot open the repository at {}: {}", root.display(), e.message());
            return Err(Error::new(message, why_unopened(e.message())));
        }
    };
    let git_dir = repo.commondir();
    if !git_dir.join("config").exists() && !git_dir.ends_with(".git") {
        return Err(Error::new(
            format!(
                "the repository at {} has no config file, so whether it is bare is not known",
                git_dir.display()
            ),
            "`git init --bare DIR` writes one and does not change anything else",
        ));
    }
    let top = repo.workdir().and_then(|w| w.canonicalize().ok());
    let prefix = top
        .and_then(|top| root.strip_prefix(top).ok().map(slashes))
        .map(|p| if p.is_empty() { p } else { p + "/" })
        .unwrap_or_default();
    if let Some(at) = prefix.find("systems/data/") {
        let above = if at == 0 { "the top of the repository" } else { &prefix[..at] };
        return Err(Error::new(
            format!(
                "{} is inside a perf database; its systems are in a folder above",
                root.display()
            ),
            format!("point --root at {above} and select systems with --system"),
        ));
    }
    Ok(Some((repo, prefix)))
}

/// Returns a hint on how to fix a repository that cannot be opened. `message` is libgit2's error message.
fn why_unopened(message: &str) -> &'static str {
    if message.contains("object format") {
        "repositories with SHA-256 objects are not supported: copy the files to a folder outside of git \
         and check that, or convert the repository to SHA-1"
    } else if message.contains("refstorage") {
        "the reftable format is not supported: `git refs migrate --ref-format=files` converts the refs"
    } else if message.contains("extension") {
        "the config of the repository enables a git extension that is not supported"
    } else {
        "if it belongs to another user, `git config --global --add safe.directory DIR` allows it"
    }
}

/// Converts a path to forward slashes; lossy if it is not UTF-8.
pub(super) fn slashes(path: &Path) -> String {
    let parts: Vec<_> = path.components().map(|c| c.as_os_str().to_string_lossy()).collect();
    parts.join("/")
}

pub(super) fn merge_base(repo: &Repository, reference: &str, head: git2::Oid) -> Result<git2::Oid> {
    let base = resolve(repo, reference)?
        .peel_to_commit()
        .map_err(|e| Error::new(format!("{reference} is not a commit: {}", e.message()), ""))?
        .id();
    let hint = if repo.is_shallow() {
        "this clone is shallow: `git fetch --unshallow` fetches its history (in a workflow: fetch-depth: 0)"
    } else {
        "the two commits have no common history"
    };
    let error = |why: &str| Error::new(format!("no merge base with {reference}: {why}"), hint);
    repo.merge_base(base, head).map_err(|e| error(e.message()))
}

/// Returns the old and new paths of all files in a diff, sorted and without duplicates.
pub(super) fn touched(diff: &git2::Diff<'_>) -> Vec<String> {
    let mut paths: Vec<String> = diff
        .deltas()
        .flat_map(|d| [d.old_file().path(), d.new_file().path()])
        .flatten()
        .map(slashes)
        .collect();
    paths.sort_unstable();
    paths.dedup();
    paths
}

/// Returns a function that converts a libgit2 error to a one-line error. `what` names the failed operation.
pub(super) fn git_error(what: &str) -> impl Fn(git2::Error) -> Error {
    move |e| match e.code() {
        git2::ErrorCode::NotFound => Error::new(
            format!("{what}: an object is not in this clone: {}", e.message()),
            "`git fetch --refetch --no-filter` completes a partial clone; `git fsck` checks any other",
        ),
        _ => Error::new(
            format!("{what}: {}", e.message()),
            "`git fsck` checks whether the repository is complete",
        ),
    }
}

/// Resolves a revision. If it does not exist, the error's hint names the branches.
pub(super) fn resolve<'r>(repo: &'r Repository, reference: &str) -> Result<git2::Object<'r>> {
    // A CI clone usually has other branches only as remote branches.
    repo.revparse_single(reference)
        .or_else(|e| {
            repo.revparse_single(&format!("refs/remotes/origin/{reference}")).map_err(|_| e)
        })
        .map_err(|_| unreadable(repo, reference).unwrap_or_else(|| unnamed(repo, reference)))
}

/// Creates the error for a name that is not a branch, tag or commit.
fn unnamed(repo: &Repository, reference: &str) -> Error {
    let unborn = repo.head().is_err_and(|e| e.code() == git2::ErrorCode::UnbornBranch);
    let pull = reference.split_once("pull/").and_then(|(_, rest)| rest.split('/').next());
    let pull = pull.filter(|number| number.parse::<u32>().is_ok());
    let hint = if unborn {
        "the repository does not have a commit yet".to_owned()
    } else if let Some(number) = pull {
        format!(
            "a clone has no pull requests: `git fetch origin pull/{number}/head:pr{number}` fetches \
             this one as pr{number}"
        )
    } else if repo.is_shallow() {
        "this clone is shallow: `git fetch --unshallow --tags origin '+refs/heads/*:refs/remotes/origin/*'` fetches the \
         history, branches and tags (in a workflow: fetch-depth: 0)"
            .to_owned()
    } else if reference.trim_start_matches('v').starts_with(|c: char| c.is_ascii_digit())
        && reference.contains('.')
    {
        "no tag has this name here: `git fetch --tags` fetches the tags of the remote".to_owned()
    } else {
        let branches = repo.branches(None).into_iter().flatten().flatten();
        let names: Vec<String> =
            branches.filter_map(|(b, _)| b.name().ok().flatten().map(str::to_owned)).collect();
        unknown("branch", reference, names.iter().map(String::as_str)).hint
    };
    Error::new(format!("{reference} does not name a commit"), hint)
}

/// Returns true if `reference` is the HEAD of a repository without a commit.
pub(super) fn is_before_the_first(repo: &Repository, reference: &str) -> bool {
    reference == "HEAD" && repo.head().is_err_and(|e| e.code() == git2::ErrorCode::UnbornBranch)
}

/// Creates the error for an existing branch or tag whose commit cannot be read; `None` if there is no such
/// name.
fn unreadable(repo: &Repository, reference: &str) -> Option<Error> {
    let named = [reference.to_owned(), format!("refs/remotes/origin/{reference}")];
    let found = named.iter().find_map(|n| repo.resolve_reference_from_short_name(n).ok())?;
    let id = found.resolve().ok()?.target()?;
    let why = repo.find_object(id, None).err()?;
    Some(Error::new(
        format!("cannot read {reference}, the commit {id}: {}", why.message()),
        "an object of the repository is missing or damaged: `git fsck` names it, and a fresh clone \
         repairs it",
    ))
}
