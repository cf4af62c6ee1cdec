//! Lists the files of a run, with their shard numbers and the missing shards.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};

use crate::base::error::{Error, Result};
use crate::base::words::{count, plural};
use crate::database::catalog::Format;
use crate::jobs::rows::format_of;

/// A file with rows of a table.
#[derive(Debug, Clone)]
pub(super) struct RunFile {
    pub(super) path: PathBuf,
    pub(super) format: Format,
    /// The shard's number and the total number of shards, if the path names them.
    shard: Option<(usize, Option<usize>)>,
}

/// Words that precede a shard's number.
const SHARD_WORDS: [&str; 6] = ["shard", "rank", "part", "gpu", "node", "worker"];

/// The maximum depth of folders that are searched for shards.
const DEPTH: usize = 8;

impl RunFile {
    /// Returns the path for people.
    pub(super) fn shown(&self) -> String {
        self.path.display().to_string()
    }

    fn at(path: PathBuf, below: &Path) -> Option<Self> {
        let format = format_of(&path)?;
        let inside = path.strip_prefix(below).unwrap_or(&path).display().to_string();
        let shard = shard_of(&inside);
        Some(Self { path, format, shard })
    }
}

/// Lists the files of a table at the named paths; folders are searched.
///
/// # Errors
///
/// Returns an error if a folder cannot be listed, or if a path has no rows of the table.
pub(super) fn files(named: &[PathBuf], table: &str) -> Result<Vec<RunFile>> {
    let mut found = Vec::new();
    for path in named {
        let before = found.len();
        if path.is_dir() {
            for item in walkdir::WalkDir::new(path).max_depth(DEPTH).sort_by_file_name() {
                let item = item.map_err(|e| {
                    let message = format!("cannot list {}: {e}", path.display());
                    Error::new(message, "--with takes the folder of a run or its files")
                })?;
                let name = item.file_name().to_string_lossy();
                if item.file_type().is_file() && holds(&name, table) {
                    found.extend(RunFile::at(item.path().to_owned(), path));
                }
            }
        } else {
            let parent = path.parent().and_then(Path::parent).unwrap_or(Path::new(""));
            found.extend(RunFile::at(path.clone(), parent).filter(|f| f.path.exists()));
        }
        if found.len() == before {
            return Err(Error::new(
                format!("{} has no rows of {table}", path.display()),
                format!("--with takes {table}.parquet, {table}.txt, or a folder that contains it"),
            ));
        }
    }
    Ok(found)
}

/// Returns true if a file name is the table's or a shard's, such as `gemm_perf.shard-3.txt`.
fn holds(name: &str, table: &str) -> bool {
    let Some((stem, _)) = name.rsplit_once('.').filter(|_| format_of(Path::new(name)).is_some())
    else {
        return false;
    };
    match stem.strip_prefix(table) {
        Some("") => true,
        Some(rest) => {
            let rest = rest.trim_start_matches(['.', '_', '-']);
            rest.starts_with(|c: char| c.is_ascii_digit()) || shard_of(rest).is_some()
        }
        None => false,
    }
}

/// Returns the last shard number in a path, with the total number of shards if it follows, as in
/// `shard3of16`.
fn shard_of(path: &str) -> Option<(usize, Option<usize>)> {
    let lower = path.to_ascii_lowercase();
    let after = |word: &str| Some(lower.rmatch_indices(word).next()?.0 + word.len());
    let at = SHARD_WORDS.iter().filter_map(|word| after(word)).max()?;
    let (shard, rest) = number(&lower[at..])?;
    let total = rest.trim_start_matches(['-', '_', '.']).strip_prefix("of");
    Some((shard, total.and_then(number).map(|(total, _)| total)))
}

/// Parses the number at the start of a text, after an optional separator; also returns the rest.
fn number(text: &str) -> Option<(usize, &str)> {
    let text = text.strip_prefix(['-', '_', '.', '=']).unwrap_or(text);
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    Some((text[..end].parse().ok()?, &text[end..]))
}

/// Shards that a run should have and lacks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LostShards {
    /// The numbers of missing shards; empty if the files are not numbered.
    numbers: Vec<usize>,
    missing: usize,
    /// The number of shards that the run should have.
    of: usize,
}

impl fmt::Display for LostShards {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let be = if self.missing == 1 { "is" } else { "are" };
        write!(f, "{} of {} {be} missing", count(self.missing), plural(self.of, "shard"))?;
        if !self.numbers.is_empty() {
            let all: Vec<String> = self.numbers.iter().map(usize::to_string).collect();
            write!(f, ": {}", all.join(", "))?;
        }
        f.write_str("; --incomplete merges without them")
    }
}

/// Returns the missing shards: gaps in the numbers, and numbers up to the total. The total is `of`,
/// or else the one in the file names.
pub(super) fn lost(files: &[RunFile], of: Option<usize>) -> Option<LostShards> {
    let numbered: BTreeMap<usize, Option<usize>> = files.iter().filter_map(|f| f.shard).collect();
    let of = of.or_else(|| numbered.values().flatten().max().copied());
    let Some(last) = numbered.keys().next_back() else {
        let of = of?;
        let missing = of.saturating_sub(files.len());
        return (missing > 0).then(|| LostShards { numbers: Vec::new(), missing, of });
    };
    // A single numbered file is a shard only if a total is known.
    if of.is_none() && numbered.len() < 2 {
        return None;
    }
    let from = usize::from(!numbered.contains_key(&0) && of.is_none_or(|of| *last == of));
    let end = of.map_or(last + 1, |of| (from + of).max(last + 1));
    let all: BTreeSet<usize> = (from..end.min(from + 1_000_000)).collect();
    let numbers: Vec<usize> = all.iter().filter(|n| !numbered.contains_key(n)).copied().collect();
    let (missing, of) = (numbers.len(), all.len());
    (missing > 0).then_some(LostShards { numbers, missing, of })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shards(names: &[&str]) -> Vec<RunFile> {
        let file = |name: &&str| RunFile::at(PathBuf::from(name), Path::new("")).unwrap();
        names.iter().map(file).collect()
    }

    #[test]
    fn numbers_follow_their_word() {
        assert_eq!(shard_of("run7/shard-3/gemm_perf.txt"), Some((3, None)));
        assert_eq!(shard_of("gemm_perf.shard3of16.txt"), Some((3, Some(16))));
        assert_eq!(shard_of("gpu0/rank_12/gemm_perf.txt"), Some((12, None)));
        assert_eq!(shard_of("run7/gemm_perf.txt"), None);
        assert!(
            holds("gemm_perf.shard3.txt", "gemm_perf") && holds("gemm_perf_2.txt", "gemm_perf")
        );
        assert!(!holds("gemm_perf_old.txt", "gemm_perf") && !holds("moe_perf.txt", "gemm_perf"));
        assert!(!holds("gemm_perf.samples.jsonl", "gemm_perf"));
    }

    #[test]
    fn gaps_are_lost_shards() {
        let numbers = |names: &[&str], of| lost(&shards(names), of).map(|l| (l.numbers, l.of));
        let three = ["shard0/t.txt", "shard1/t.txt", "shard3/t.txt"];
        assert_eq!(numbers(&three, None), Some((vec![2], 4)));
        assert_eq!(numbers(&three, Some(6)), Some((vec![2, 4, 5], 6)));
        assert_eq!(numbers(&["shard1/t.txt", "shard2/t.txt"], None), None, "numbered from 1");
        assert_eq!(numbers(&["shard1/t.txt", "shard2/t.txt"], Some(3)), Some((vec![0], 3)));
        assert_eq!(numbers(&["t.shard1of2.txt", "t.shard2of2.txt"], None), None);
        assert_eq!(numbers(&["a/t.txt", "b/t.txt"], None), None);
        assert_eq!(lost(&shards(&["a/t.txt"]), Some(3)).map(|l| l.missing), Some(2));
        assert_eq!(numbers(&["rank5/t.txt"], None), None);
    }
}
