//! What a run found, in the formats its readers want.

mod github;
mod html;
mod human;
mod json;
mod junit;
mod markdown;
mod measured;
mod sarif;
mod triage;

pub(crate) use json::schema;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use sha2::{Digest, Sha256};

use crate::chart::Drawing;
use crate::checks::{count, plural};
use crate::diff::Diff;
use crate::digest::sha256;
use crate::error::{Error, Result};
use crate::finding::{Counts, Example, Finding, Severity};
use crate::judge;
use crate::remeasure::Remeasured;
use crate::spec::Rule;

/// The outcome of a run.
#[derive(Debug)]
pub struct Report {
    /// The job's name.
    pub command: &'static str,
    /// The rules that ran.
    pub rules: Vec<Arc<Rule>>,
    /// Files and folders that changed what the embedded rules would say.
    pub overlays: Vec<String>,
    /// Tables judged or compared.
    pub tables: u64,
    /// Sidecars and system YAML judged or compared.
    pub files: u64,
    /// Rows judged; of tables compared, those that the head has.
    pub rows: u64,
    /// Findings, in order.
    pub findings: Vec<Finding>,
    /// Findings by severity.
    pub counts: Counts,
    /// What changed, where two states were compared.
    pub diff: Option<Diff>,
    /// What was measured again.
    pub remeasured: Option<Remeasured>,
    /// Wall time.
    pub elapsed: Duration,
    /// Set where the findings are a draw: how it was made.
    pub drawn: Option<String>,
}

/// How a run ended, for every format alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing at or above the severity that fails.
    Clean,
    /// Findings at or above it.
    Failed,
    /// Nothing was checked or compared, or too noisy to say.
    Inconclusive,
}

impl Verdict {
    /// The exit code of the contract.
    pub fn code(self) -> u8 {
        match self {
            Self::Clean => 0,
            Self::Failed => 1,
            Self::Inconclusive => 3,
        }
    }

    /// Its name in reports.
    fn name(self) -> &'static str {
        match self {
            Self::Clean => "passed",
            Self::Failed => "failed",
            Self::Inconclusive => "inconclusive",
        }
    }
}

/// How a run ended, and by which findings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outcome {
    /// How it ended.
    pub verdict: Verdict,
    /// Findings of this severity and worse fail a run; without one, none do.
    pub fail_on: Option<Severity>,
}

impl Outcome {
    /// Whether the finding fails a run.
    fn fails(self, finding: &Finding) -> bool {
        finding.counts() && self.fail_on.is_some_and(|least| finding.severity <= least)
    }
}

impl Report {
    /// How the run ended when findings of `fail_on` and worse fail it; `None` fails none.
    pub fn outcome(&self, fail_on: Option<Severity>) -> Outcome {
        if let Some(remeasured) = &self.remeasured {
            let verdict = match remeasured.outcome() {
                judge::Outcome::Pass => Verdict::Clean,
                judge::Outcome::Fail => Verdict::Failed,
                judge::Outcome::Inconclusive => Verdict::Inconclusive,
            };
            return Outcome { verdict, fail_on };
        }
        let outcome = Outcome { verdict: Verdict::Failed, fail_on };
        let verdict = if self.findings.iter().any(|f| outcome.fails(f)) {
            Verdict::Failed
        } else if self.tables + self.files == 0 {
            Verdict::Inconclusive
        } else {
            Verdict::Clean
        };
        Outcome { verdict, ..outcome }
    }

    /// Says that rules are not those of this program, where they are not.
    pub(crate) fn changed_rules(&self) -> Option<String> {
        let rules = || format!("Rules changed by {}.", self.overlays.join(", "));
        (!self.overlays.is_empty()).then(rules)
    }

    /// What a reader should know of how the report was made.
    fn notes(&self) -> Vec<String> {
        let rules = self.changed_rules();
        let old = old_debt(self).map(|old| format!("Old debt: {old}."));
        self.drawn.iter().cloned().chain(rules).chain(old).collect()
    }

    /// Leaves `n` findings of each rule and severity, chosen by `seed`: a sample to open and judge
    /// by hand. The counts stay those of all findings.
    pub fn draw(&mut self, n: usize, seed: u64) {
        let lot = |f: &Finding| {
            let mut hash = Sha256::new();
            hash.update(seed.to_le_bytes());
            hash.update(f.fingerprint());
            hash.update(&f.path);
            <[u8; 32]>::from(hash.finalize())
        };
        let mut kinds: BTreeMap<(String, Severity), Vec<[u8; 32]>> = BTreeMap::new();
        for finding in self.findings.iter().filter(|f| f.counts()) {
            kinds.entry((finding.rule.clone(), finding.severity)).or_default().push(lot(finding));
        }
        kinds.values_mut().for_each(|lots| {
            lots.sort_unstable();
            lots.truncate(n);
        });
        let all = self.findings.len();
        let lucky = |f: &Finding| kinds.get(&(f.rule.clone(), f.severity));
        self.findings.retain(|f| f.counts() && lucky(f).is_some_and(|lots| lots.contains(&lot(f))));
        let left = self.findings.len();
        self.drawn = Some(format!(
            "{left} of {all} findings: {n} of each rule and severity, drawn with seed {seed}"
        ));
    }
}

/// What was there before a pull request, in a line; none where there is nothing.
pub fn old_debt(report: &Report) -> Option<String> {
    let mut rules: BTreeMap<&str, usize> = BTreeMap::new();
    report.findings.iter().filter(|f| report.diff.is_some() && f.is_old()).for_each(|f| {
        *rules.entry(&f.rule).or_default() += 1;
    });
    let all: usize = rules.values().sum();
    let mut rules: Vec<(&str, usize)> = rules.into_iter().collect();
    rules.sort_by_key(|(rule, n)| (Reverse(*n), *rule));
    let rules: Vec<String> =
        rules.iter().map(|(rule, n)| format!("{} {rule}", count(*n))).collect();
    let were = if all == 1 { "was" } else { "were" };
    (all > 0)
        .then(|| format!("{} {were} there before ({})", plural(all, "finding"), rules.join(", ")))
}

/// An example on one line: row, key, values.
pub fn line_of(example: &Example) -> String {
    clean(&human::line_of(example))
}

/// How a report is rendered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// For people, with colour or without; brief is the line that sums it up.
    Human { colour: bool, brief: bool },
    /// The versioned JSON of the contract.
    Json,
    /// SARIF 2.1.0.
    Sarif,
    /// Annotations of GitHub Actions.
    Github,
    /// JUnit XML.
    Junit,
    /// A step's summary; of a comparison, the comment on the pull request.
    Markdown,
}

/// Renders a report.
///
/// # Errors
///
/// When a template fails, which is a fault of this program.
pub fn render(report: &Report, outcome: Outcome, format: Format) -> Result<String> {
    Ok(match format {
        Format::Human { brief: true, .. } => clean(&headline(report)) + "\n",
        Format::Human { colour, .. } => human::render(report, colour),
        Format::Json => json::render(report),
        Format::Sarif => sarif::render(report, outcome),
        Format::Github => github::render(report),
        Format::Junit => junit::render(report, outcome),
        Format::Markdown => markdown::render(report, outcome)?,
    })
}

/// Renders a report as a page of its own, with charts where there are any.
///
/// # Errors
///
/// When its template fails, which is a fault of this program.
pub fn page(report: &Report, outcome: Outcome, charts: &[Drawing]) -> Result<String> {
    html::render(report, outcome.verdict, charts)
}

/// A path without what the paths of all tables have in common.
pub(crate) fn below_data(path: &str) -> &str {
    path.rsplit_once("systems/data/").map_or(path, |(_, below)| below)
}

/// What is read first is least: what is worst, then what concerns most rows.
fn urgency(finding: &Finding) -> impl Ord {
    (finding.severity, Reverse(finding.rows), &finding.path, &finding.rule)
}

/// The findings that count, those first that should be read first.
pub(crate) fn worst_first(report: &Report) -> Vec<&Finding> {
    let mut findings: Vec<&Finding> = report.findings.iter().filter(|f| f.counts()).collect();
    findings.sort_by_key(|f| urgency(f));
    findings
}

/// What a run found, in a line that does not depend on how long it took.
fn headline(report: &Report) -> String {
    if let Some(remeasured) = &report.remeasured {
        return measured::headline(remeasured);
    }
    let c = report.counts;
    let new = if report.diff.is_some() { "new " } else { "" };
    let found = |n: u64, what: &str| plural(n as usize, &format!("{new}{what}"));
    let mut parts =
        vec![found(c.errors, "error"), found(c.warnings, "warning"), found(c.infos, "info")];
    if c.waived > 0 {
        parts.push(format!("{} waived", count(c.waived as usize)));
    }
    if c.baselined > 0 {
        parts.push(format!("{} in the baseline", count(c.baselined as usize)));
    }
    let counted = report.findings.iter().filter(|f| f.counts());
    let files: BTreeSet<&str> = counted.map(|f| f.path.as_str()).collect();
    let within = match files.len() {
        0 => String::new(),
        n => format!(" in {}", plural(n, "file")),
    };
    let found = format!("{}{within}", parts.join(", "));
    let checked = report.tables + report.files > 0;
    match &report.diff {
        Some(diff) => {
            let state = if checked { "" } else { "nothing was compared: " };
            format!("{state}{found}; {}", diff.headline())
        }
        None => {
            let state = if checked { "" } else { "nothing was checked: " };
            let judged = match report.tables {
                0 if report.files > 0 => plural(report.files as usize, "file"),
                n => plural(n as usize, "table"),
            };
            format!("{state}{found}; {judged}, {} judged", rows(report.rows))
        }
    }
}

fn rows(n: u64) -> String {
    match n {
        1 => "1 row".to_owned(),
        0..10_000 => format!("{n} rows"),
        10_000..1_000_000 => format!("{:.0} k rows", n as f64 / 1e3),
        _ => format!("{:.1} M rows", n as f64 / 1e6),
    }
}

/// Writes `text` to a file as a whole or not at all. What is no regular file (a device, a pipe) is
/// written to as it is, and a link's target is written, not the link.
///
/// # Errors
///
/// When it cannot be written.
pub fn write_whole(path: &Path, text: &[u8]) -> Result<()> {
    Staged::new(path, text)?.place()
}

/// Writes files, in folders that are made where they are not there: all of them are on the disk
/// before the first has its name, so that what fails leaves none.
///
/// # Errors
///
/// When a folder cannot be made or a file not be written.
pub fn write_all(folders: &[PathBuf], files: &[(PathBuf, Vec<u8>)]) -> Result<()> {
    for folder in folders {
        std::fs::create_dir_all(folder).map_err(|e| {
            let hint = "--output-dir takes a folder; it is made where it is not there";
            Error::new(format!("cannot make {}: {}", folder.display(), e.kind()), hint)
        })?;
    }
    let staged: Vec<Staged<'_>> =
        files.iter().map(|(path, text)| Staged::new(path, text)).collect::<Result<_>>()?;
    staged.into_iter().try_for_each(Staged::place)
}

/// A file that is written and has no name yet.
enum Staged<'a> {
    File(tempfile::NamedTempFile, PathBuf),
    /// No regular file: there is no other to take its place.
    Device(std::fs::File, PathBuf, &'a [u8]),
}

impl<'a> Staged<'a> {
    fn new(path: &Path, text: &'a [u8]) -> Result<Self> {
        let failed = |e| unwritten(path, &e);
        let target = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let before = std::fs::metadata(&target).ok();
        if before.as_ref().is_some_and(|m| !m.is_file()) {
            let device = std::fs::OpenOptions::new().write(true).open(&target).map_err(failed)?;
            return Ok(Self::Device(device, target, text));
        }
        let folder = target.parent().filter(|p| !p.as_os_str().is_empty());
        let mut builder = tempfile::Builder::new();
        #[cfg(unix)]
        {
            // A new file gets the mode that the user's mask leaves, a replaced one keeps its own.
            use std::os::unix::fs::PermissionsExt;
            builder.permissions(std::fs::Permissions::from_mode(0o666));
        }
        let folder = folder.unwrap_or(Path::new("."));
        let mut file = builder.prefix(".perfdb-gate-").tempfile_in(folder).map_err(failed)?;
        if let Some(before) = before {
            file.as_file().set_permissions(before.permissions()).map_err(failed)?;
        }
        file.write_all(text).map_err(failed)?;
        file.as_file().sync_all().map_err(failed)?;
        Ok(Self::File(file, target))
    }

    fn place(self) -> Result<()> {
        match self {
            Self::File(file, target) => {
                file.persist(&target).map(drop).map_err(|e| unwritten(&target, &e.error))
            }
            Self::Device(mut device, target, text) => {
                device.write_all(text).map_err(|e| unwritten(&target, &e))
            }
        }
    }
}

pub(crate) fn unwritten(path: &Path, error: &std::io::Error) -> Error {
    Error::new(
        format!("cannot write {}: {}", path.display(), error.kind()),
        "check the folder and the space on its disk",
    )
}

/// Makes text from data harmless to show: control characters, marks that reorder text and those that
/// nobody sees show as their code. Nor does it read as a command to a runner that takes commands from
/// what a step prints: `::` where a line begins, `##[` anywhere.
pub fn clean(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if hidden(c) {
            out.extend(c.escape_unicode());
        } else {
            out.push(c);
        }
    }
    if out.trim_start().starts_with("::") {
        out = out.replacen(':', "\\u{3a}", 1);
    }
    if out.contains("##[") {
        out = out.replace("##[", "##\\u{5b}");
    }
    out
}

/// Makes lines harmless to show, each as [`clean`] does.
pub fn clean_lines(text: &str) -> String {
    text.lines().map(|line| clean(line) + "\n").collect()
}

/// A file's name made of names from data: characters that mean nothing to a shell, an archive or another
/// system's disk, and no longer than any takes. A name that had to change ends in a digest of what it was.
pub(crate) fn file_stem(parts: &[&str], between: &str) -> String {
    const LONGEST: usize = 180;
    let whole = parts.join(between);
    let plain = |c: char| c.is_ascii_alphanumeric() || "._-+".contains(c);
    let mut name: String = whole.chars().map(|c| if plain(c) { c } else { '_' }).collect();
    if name != whole || name.len() > LONGEST || name.starts_with(['.', '-']) {
        name.truncate(LONGEST);
        let name = name.trim_start_matches(['.', '-']);
        return format!("{name}-{}", &sha256(whole.as_bytes())[..8]);
    }
    name
}

/// Whether a character does something to the text around it, or shows as nothing.
fn hidden(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{180e}'
                | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
                | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}'
                | '\u{e0000}'..='\u{e0fff}'
        )
}

/// JSON as it may be printed: the same document, in which such characters and commands stand escaped.
pub(crate) fn inert_json(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if c != '\n' && hidden(c) {
            let mut units = [0; 2];
            c.encode_utf16(&mut units).iter().for_each(|u| out += &format!("\\u{u:04x}"));
        } else {
            out.push(c);
        }
    }
    out.replace("##[", "##\\u005b")
}

/// Writes to standard output; a reader that left early is no failure.
pub fn print(text: &str) -> Result<()> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(e) if e.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(Error::new(format!("cannot write to standard output: {e}"), ""))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::{clean, file_stem, inert_json};

    #[test]
    fn hostile_names_are_inert() {
        assert_eq!(clean("a\x1b[31mb\nc\u{202e}"), "a\\u{1b}[31mb\\u{a}c\\u{202e}");
        assert_eq!(clean(" ::error::x"), " \\u{3a}:error::x");
        assert_eq!(clean("a##[add-mask]b"), "a##\\u{5b}add-mask]b");
        assert_eq!(clean("vllm::moe [1] \u{e0041}"), "vllm::moe [1] \\u{e0041}");
    }

    #[test]
    fn names_of_files_are_plain_and_stay_apart() {
        let name = |part: &str| file_stem(&["h200", part], "__");
        assert_eq!(name("0.24.0+cu130"), "h200__0.24.0+cu130");
        assert!(name("a/../b").starts_with("h200__a_.._b-") && name("a/../b") != name("a:..:b"));
        assert!(
            name(&"x".repeat(300)).len() < 200 && !file_stem(&["..", "x"], "").starts_with('.')
        );
    }

    #[test]
    fn json_that_is_inert_is_the_same_document() {
        let text = "a\u{9b}\u{202e}\u{e0041}##[debug]\u{7f}\"\\";
        let inert = inert_json(&serde_json::to_string_pretty(&[text]).unwrap());
        assert_eq!(
            inert,
            "[\n  \"a\\u009b\\u202e\\udb40\\udc41##\\u005bdebug]\\u007f\\\"\\\\\"\n]"
        );
        assert_eq!(serde_json::from_str::<Vec<String>>(&inert).unwrap(), [text]);
    }
}
