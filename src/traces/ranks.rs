//! Checks files that every rank of a run writes: each rank has one, none is empty, and all have as
//! many iterations.

use std::collections::{BTreeMap, BTreeSet};

use super::find::is_file;
use super::{Findings, TraceDocument, TraceFile, TraceSpecs, split};
use crate::base::words::{names, plural};
use crate::checks::kinds::traces::TraceCheck;
use crate::database::source::Entry;
use crate::findings::Severity;

/// The files that a run's ranks wrote into one directory, by rank. Their names match the same pattern, such as
/// `timing_stats_{rank}.json`.
type RankGroup<'a> = BTreeMap<u64, &'a Entry>;

/// Checks that each rank of a run has written its files, that none of these files is empty, and that the files of all
/// ranks have the same number of iterations.
pub(crate) fn check(
    files: &[Entry],
    found: &[TraceFile<'_>],
    cards: &[TraceDocument<'_>],
    configs: &[TraceDocument<'_>],
    specs: &TraceSpecs,
    findings: &mut Findings<'_>,
) {
    let mut groups: BTreeMap<(&str, &str), RankGroup<'_>> = BTreeMap::new();
    for entry in files {
        let (dir, _, name) = split(&entry.path);
        for pattern in &specs.ranks.files {
            if let Some(rank) = rank(name, pattern) {
                groups.entry((dir, pattern)).or_default().insert(rank, entry);
            }
        }
    }
    for ((dir, pattern), group) in groups {
        for entry in group.values().filter(|e| e.size == 0 && is_file(e)) {
            // An empty metric file is already reported as unreadable.
            if !found.iter().any(|f| f.entry.path == entry.path) {
                findings.add_only(TraceCheck::Ranks, &entry.path, "the file is empty".into());
            }
        }
        let run = run_of(dir, cards).or_else(|| run_of(dir, configs));
        if let Some((run, world)) = run.and_then(|run| Some((run, world(run, &group)?))) {
            complete(dir, pattern, &group, run, world, findings);
        }
        if let Some(list) = specs.ranks.iterations.get(pattern) {
            iterations(dir, list, &group, found, configs, findings);
        }
    }
}

/// Returns true if a file's name matches a pattern of rank files.
pub(crate) fn is_of_rank(name: &str, specs: &TraceSpecs) -> bool {
    specs.ranks.files.iter().any(|pattern| rank(name, pattern).is_some())
}

/// Returns the rank in a file's name; `None` if the pattern does not match.
fn rank(name: &str, pattern: &str) -> Option<u64> {
    let (before, after) = pattern.split_once("{rank}")?;
    let digits = name.strip_prefix(before)?.strip_suffix(after)?;
    let plain = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    if plain { digits.parse().ok() } else { None }
}

/// Returns the card or config of the run to which a directory belongs. The search starts in the directory and goes up
/// to the first parent with cards or configs. `None` if the first directory with cards or configs has several of them,
/// or if there is no such directory.
pub(crate) fn run_of<'c, 'a>(
    dir: &str,
    documents: &'c [TraceDocument<'a>],
) -> Option<&'c TraceDocument<'a>> {
    let mut dir = dir;
    loop {
        let mut here = documents.iter().filter(|d| d.dir() == dir && !d.template);
        if let Some(first) = here.next() {
            // Several documents do not say which of them describes the run.
            return here.next().is_none().then_some(first);
        }
        dir = dir.rsplit_once('/')?.0;
    }
}

/// Returns the number of ranks of a run; `None` if the number is unknown or implausible.
///
/// The number of ranks is usually the product of the run's parallel degrees. But it is the number of GPUs that the
/// run's card or config states, if this number of GPUs fulfils one of these conditions:
/// - It equals the product times the expert parallel degree.
/// - It is a multiple of the product, fits on one host, and equals the number of files in `group`.
fn world(run: &TraceDocument<'_>, group: &RankGroup<'_>) -> Option<u64> {
    let plan = run.number("world")?;
    let with_experts = run.number("ep").map_or(plan, |ep| plan * ep);
    let units = run.number("total_count");
    let host = |u: f64| {
        let of_a_host = u > plan && u % plan == 0.0 && run.number("count_per_node") >= Some(u);
        of_a_host && group.len() as f64 == u
    };
    let world = units.filter(|u| *u == with_experts || host(*u)).unwrap_or(plan);
    // No machine has more ranks.
    (1.0..=1e6).contains(&world).then_some(world as u64)
}

fn complete(
    dir: &str,
    pattern: &str,
    group: &RankGroup<'_>,
    run: &TraceDocument<'_>,
    world: u64,
    findings: &mut Findings<'_>,
) {
    let of = format!("{dir}/{pattern}");
    let beyond: Vec<u64> = group.keys().copied().filter(|r| *r >= world).collect();
    if !beyond.is_empty() {
        let (files, size) = (named(beyond.into_iter()), plural(world as usize, "rank"));
        let message = format!("{pattern}: there are files of rank {files}, but the run has {size}");
        findings.add_about(
            TraceCheck::Ranks,
            None,
            &run.path,
            &format!("beyond {of}"),
            None,
            message,
        );
    }
    let there = group.keys().filter(|r| **r < world).count() as u64;
    if there == world {
        return;
    }
    let ranks = named((0..world).filter(|r| !group.contains_key(r)).take(100));
    // A profiler that only follows the driver process writes rank 0 alone.
    let driver = there == 1 && group.contains_key(&0);
    let severity = driver.then_some(Severity::Warning);
    let message =
        format!("{pattern}: only {there} of {world} ranks have a file; rank {ranks} has none");
    findings.add_about(TraceCheck::Ranks, severity, &run.path, &of, None, message);
}

/// Lists ranks for a message.
fn named(ranks: impl Iterator<Item = u64>) -> String {
    let ranks: Vec<String> = ranks.map(|rank| rank.to_string()).collect();
    names(ranks.iter().map(String::as_str))
}

fn iterations(
    dir: &str,
    list: &str,
    group: &RankGroup<'_>,
    found: &[TraceFile<'_>],
    configs: &[TraceDocument<'_>],
    findings: &mut Findings<'_>,
) {
    let mut counts: BTreeMap<usize, BTreeSet<String>> = BTreeMap::new();
    for (rank, entry) in group {
        let file = found.iter().find(|f| f.entry.path == entry.path);
        let text = file.and_then(|f| f.text.as_ref().ok());
        let json: Option<serde_json::Value> = text.and_then(|t| serde_json::from_str(t).ok());
        let count = json.as_ref().and_then(|j| j.get(list)?.as_array().map(Vec::len));
        if let Some(count) = count {
            counts.entry(count).or_default().insert(rank.to_string());
        }
    }
    let Some(entry) = group.values().next() else { return };
    if counts.len() > 1 {
        let each = counts.iter().map(|(count, ranks)| {
            format!("{count} entries in rank {}", names(ranks.iter().map(String::as_str)))
        });
        let each: Vec<String> = each.collect();
        let message = format!("{list} differs between ranks: {}", each.join(", "));
        findings.add_about(TraceCheck::Ranks, None, &entry.path, "iterations", None, message);
    }
    let config = run_of(dir, configs);
    let asked = config.and_then(|c| Some((c, c.number("profile_iterations")?)));
    if let (Some((config, asked)), [count]) = (asked, &counts.keys().collect::<Vec<_>>()[..])
        && asked != **count as f64
    {
        let message = format!("{list} has {count} entries, but {} asks for {asked}", config.path);
        findings.add_about(TraceCheck::Ranks, None, &entry.path, "asked", None, message);
    }
}

#[cfg(test)]
mod tests {
    use super::rank;

    #[test]
    fn the_rank_of_a_file_is_the_only_variable_part_of_its_name() {
        let pattern = "timing_stats_{rank}.json";
        assert_eq!(rank("timing_stats_12.json", pattern), Some(12));
        for name in ["timing_stats_.json", "timing_stats_1a.json", "timing_stats_+1.json", "x.json"]
        {
            assert_eq!(rank(name, pattern), None, "{name}");
        }
    }
}
