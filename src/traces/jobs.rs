//! Compares configs with the number of GPUs that Slurm job scripts request (`sbatch`, `salloc`,
//! `srun`).

use super::{Findings, TraceDocument, split};
use crate::base::words::plural;
use crate::checks::kinds::traces::TraceCheck;
use crate::database::source::{Entry, Source};
use crate::findings::Severity;

/// The maximum size of a job script, in bytes.
const LARGEST: u64 = 256 << 10;

/// Reports configs whose product of parallel degrees differs from the number of GPUs that their job script requests.
pub(crate) fn check(
    source: &dyn Source,
    files: &[Entry],
    configs: &[TraceDocument<'_>],
    findings: &mut Findings<'_>,
) {
    if configs.is_empty() {
        return;
    }
    for script in files.iter().filter(|e| is_script(e)) {
        let Ok(text) = source.text(script) else { continue };
        let named = |c: &&TraceDocument<'_>| text.contains(split(&c.path).2);
        // A script that runs several configs does not state the GPUs of each.
        let [config] = configs.iter().filter(named).collect::<Vec<_>>()[..] else { continue };
        let (Some(asked), Some(world)) = (asked(&text), config.number("world")) else { continue };
        let experts = config.number("ep").map_or(world, |ep| world * ep);
        if asked == world || asked == experts {
            continue;
        }
        let message = format!(
            "{} requests {} to run this config, but the product of its parallel degrees is {world}",
            script.path,
            plural(asked as usize, "GPU"),
        );
        // A job may leave GPUs of whole nodes idle.
        let severity = (asked > world).then_some(Severity::Warning);
        let of = format!("job {}", script.path);
        let check = TraceCheck::ConfigContradiction;
        findings.add_about(check, severity, &config.path, &of, None, message);
    }
}

/// Returns true if a file has the name and size of a job script.
pub(crate) fn is_script(entry: &Entry) -> bool {
    let name = split(&entry.path).2;
    [".sh", ".slurm", ".sbatch"].iter().any(|end| name.ends_with(end)) && entry.size <= LARGEST
}

/// Returns the number of GPUs that a script requests; `None` if the script states no number or contradictory numbers.
fn asked(text: &str) -> Option<f64> {
    let is_job = |line: &&str| {
        let first = line.split_whitespace().next().unwrap_or_default();
        matches!(first, "#SBATCH" | "sbatch" | "salloc" | "srun")
    };
    let words: Vec<&str> =
        text.lines().map(str::trim).filter(is_job).flat_map(str::split_whitespace).collect();
    let all = option(&words, &["--gpus", "-G"]).ok()?;
    let per_node = option(&words, &["--gpus-per-node"]).ok()?;
    let nodes = option(&words, &["--nodes", "-N"]).ok()?;
    let per_task = option(&words, &["--gpus-per-task"]).ok()?;
    let tasks = option(&words, &["--ntasks", "-n"]).ok()?;
    let per_task = per_task.zip(tasks).map(|(gpus, tasks)| gpus * tasks);
    all.or(per_node.map(|gpus| gpus * nodes.unwrap_or(1.0))).or(per_task)
}

/// The error for an option without a number, or with two different numbers.
struct Unclear;

/// Returns the number after an option in the words of a script; `None` if the option is absent. `names` are the
/// option's spellings, such as `--gpus` and `-G`.
fn option(words: &[&str], names: &[&str]) -> Result<Option<f64>, Unclear> {
    let mut found = None;
    for (i, word) in words.iter().enumerate() {
        let (name, value) = match word.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (*word, words.get(i + 1).copied()),
        };
        if !names.contains(&name) {
            continue;
        }
        // `a100:4` means four GPUs of type a100.
        let value = value.and_then(|v| v.rsplit(':').next()?.parse::<u32>().ok());
        let value = f64::from(value.ok_or(Unclear)?);
        if found.is_some_and(|other| other != value) {
            return Err(Unclear);
        }
        found = Some(value);
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::asked;

    #[test]
    fn the_number_of_gpus_is_read_from_all_spellings_of_a_job_script() {
        for (text, gpus) in [
            (
                "salloc --nodes 1 --constraint gpu --gpus 1 --account m1\npython x --gpus 9\n",
                Some(1.0),
            ),
            ("#SBATCH -N 2\n#SBATCH --gpus-per-node=a100:4\n", Some(8.0)),
            ("#SBATCH --gpus-per-task=1\n#SBATCH --ntasks=4\n", Some(4.0)),
            ("#SBATCH -G 4\nsrun -G 2 python x\n", None),
            ("#SBATCH --gpus=$N\n", None),
            ("echo --gpus 4\n", None),
        ] {
            assert_eq!(asked(text), gpus, "{text}");
        }
    }
}
