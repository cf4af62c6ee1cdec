//! Lists the files of a run, with their shard numbers and the missing shards.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::base::error::{Error, Result};
use crate::base::words::{count, plural};
use crate::database::catalog::Format;
use crate::jobs::rows::format_of;

/// A file that a collector's run wrote, with rows to merge into a table.
#[derive(Debug, Clone)]
pub(super) struct RunFile {
    pub(super) path: PathBuf,
    pub(super) format: Format,
    /// The shard's number and the total number of shards, if the path names them.
    shard: Option<(usize, Option<usize>)>,
}

/// Words in a file path that are followed by a shard's number, as in `rank3`.
const SHARD_WORDS: [&str; 6] = ["shard", "rank", "part", "gpu", "node", "worker"];

/// The maximum depth of folders that are searched for shards.
const DEPTH: usize = 8;

impl RunFile {
    /// Returns the file's path as text for people.
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
                if item.file_type().is_file() && is_of_table(&name, table) {
                    found.extend(RunFile::at(item.path().to_owned(), path));
                }
            }
        } else {
            let parent = path.parent().and_then(Path::parent).unwrap_or(Path::new(""));
            found.extend(RunFile::at(path.clone(), parent).filter(|f| f.path.exists()));
        }
        if found.len() == before {
            let shown = path.display();
            let why = if path.exists() {
                format!("{shown} has no rows of {table}")
            } else {
                format!("{shown} does not exist")
            };
            return Err(Error::new(
                why,
                format!("--with takes {table}.parquet, {table}.txt, or a folder that contains it"),
            ));
        }
    }
    Ok(found)
}

/// Returns true if a file name is the table's or a shard's, such as `gemm_perf.shard-3.txt`.
fn is_of_table(name: &str, table: &str) -> bool {
    let stem = name.rsplit_once('.').filter(|_| format_of(Path::new(name)).is_some());
    stem.and_then(|(stem, _)| stem.strip_prefix(table)).is_some_and(|rest| {
        let shard = rest.trim_start_matches(['.', '_', '-']);
        let is_number = shard.starts_with(|c: char| c.is_ascii_digit());
        rest.is_empty() || is_number || shard_of(shard).is_some()
    })
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

/// Parses the number at the start of a text, after an optional separator such as `-`. Returns the number and the
/// remaining text. Returns `None` if there is no number.
fn number(text: &str) -> Option<(usize, &str)> {
    let text = text.strip_prefix(['-', '_', '.', '=']).unwrap_or(text);
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    Some((text[..end].parse().ok()?, &text[end..]))
}

/// Describes which shards of a run are missing; for example, shard 2 is missing if only the files of shards 1 and 3
/// exist. `of` is the total number of shards. If `of` is `None`, the total in the file names is used. Returns `None` if
/// no shard is missing.
pub(super) fn lost(files: &[RunFile], of: Option<usize>) -> Option<String> {
    let numbered: BTreeMap<usize, Option<usize>> = files.iter().filter_map(|f| f.shard).collect();
    let of = of.or_else(|| numbered.values().flatten().max().copied());
    let (missing, of, numbers) = match numbered.keys().next_back() {
        None => (of?.saturating_sub(files.len()), of?, Vec::new()),
        // A single numbered file is a shard only if a total is known.
        Some(_) if of.is_none() && numbered.len() < 2 => return None,
        Some(last) => {
            let from = usize::from(!numbered.contains_key(&0) && of.is_none_or(|of| *last == of));
            let end = of.map_or(last + 1, |of| (from + of).max(last + 1));
            let all = from..end.min(from + 1_000_000);
            let missing = all.clone().filter(|number| !numbered.contains_key(number));
            let numbers: Vec<String> = missing.map(|number| number.to_string()).collect();
            (numbers.len(), all.len(), numbers)
        }
    };
    let be = if missing == 1 { "is" } else { "are" };
    let listed = if numbers.is_empty() { "" } else { ": " };
    (missing > 0).then(|| {
        format!(
            "{} of {} {be} missing{listed}{}; --incomplete merges without them",
            count(missing),
            plural(of, "shard"),
            numbers.join(", ")
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shards(names: &[&str]) -> Vec<RunFile> {
        let file = |name: &&str| RunFile::at(PathBuf::from(name), Path::new("")).unwrap();
        names.iter().map(file).collect()
    }

    #[test]
    fn a_shard_number_follows_a_word_such_as_rank() {
        assert_eq!(shard_of("run7/shard-3/gemm_perf.txt"), Some((3, None)));
        assert_eq!(shard_of("gemm_perf.shard3of16.txt"), Some((3, Some(16))));
        assert_eq!(shard_of("gpu0/rank_12/gemm_perf.txt"), Some((12, None)));
        assert_eq!(shard_of("run7/gemm_perf.txt"), None);
        let is_gemm = |name: &str| is_of_table(name, "gemm_perf");
        assert!(is_gemm("gemm_perf.shard3.txt") && is_gemm("gemm_perf_2.txt"));
        assert!(!is_gemm("gemm_perf_old.txt") && !is_gemm("moe_perf.txt"));
        assert!(!is_gemm("gemm_perf.samples.jsonl"));
    }

    #[test]
    fn missing_shard_numbers_are_listed() {
        let lost = |names: &[&str], of| {
            let lost = lost(&shards(names), of)?;
            Some(lost.strip_suffix("; --incomplete merges without them").unwrap().to_owned())
        };
        let missing = |words: &str| Some(words.to_owned());
        let three = ["shard0/t.txt", "shard1/t.txt", "shard3/t.txt"];
        assert_eq!(lost(&three, None), missing("1 of 4 shards is missing: 2"));
        assert_eq!(lost(&three, Some(6)), missing("3 of 6 shards are missing: 2, 4, 5"));
        assert_eq!(lost(&["shard1/t.txt", "shard2/t.txt"], None), None, "numbered from 1");
        let two = lost(&["shard1/t.txt", "shard2/t.txt"], Some(3));
        assert_eq!(two, missing("1 of 3 shards is missing: 0"));
        assert_eq!(lost(&["t.shard1of2.txt", "t.shard2of2.txt"], None), None);
        assert_eq!(lost(&["a/t.txt", "b/t.txt"], None), None);
        assert_eq!(lost(&["a/t.txt"], Some(3)), missing("2 of 3 shards are missing"));
        assert_eq!(lost(&["rank5/t.txt"], None), None);
    }
}
