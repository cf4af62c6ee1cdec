//! Accepts a finding until a date: writes its waiver to the repository's own settings.

use std::path::PathBuf;

use jiff::ToSpan;
use jiff::civil::Date;

use crate::base::dates::today;
use crate::base::error::{Error, Reason, Result, nearest};
use crate::base::progress::Progress;
use crate::base::tree_files::TreeFiles;
use crate::database::source::{SETTINGS, WorkTree};
use crate::findings::waiver::{WAIVER_HINT, parse_date};
use crate::findings::waiver_entry::WaiverEntry;
use crate::findings::{Finding, Severity};
use crate::jobs::validate::{self, ValidateOptions};

/// The number of days that a waiver applies if no date is given.
const DAYS: i64 = 90;

/// The options of `waive`.
#[derive(Debug, Clone, clap::Args)]
pub struct WaiveOptions {
    /// Fingerprint of the finding; without it, errors and warnings are listed with theirs.
    #[arg(requires = "reason")]
    pub fingerprint: Option<String>,
    /// Reason why the finding is acceptable.
    #[arg(long, value_name = "TEXT", requires = "fingerprint")]
    pub reason: Option<String>,
    /// Last day on which the waiver applies, YYYY-MM-DD; 90 days from today without it.
    #[arg(long, value_name = "DATE", requires = "fingerprint")]
    pub until: Option<String>,
    /// Link to the evidence for the reason; without it, the finding's message.
    #[arg(long, value_name = "TEXT", requires = "fingerprint")]
    pub evidence: Option<String>,
    /// Person who approves the waiver; without it, git's user.name.
    #[arg(long, value_name = "NAME", requires = "fingerprint")]
    pub approved_by: Option<String>,
    /// Repository that contains the database, or a folder in it.
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub root: PathBuf,
}

/// Lists the findings that can be waived, one per line with its fingerprint.
fn list(all: &[Finding]) -> String {
    let mut out = String::new();
    for finding in all {
        let (severity, print) = (finding.severity.into_str(), finding.fingerprint());
        out += &format!(
            "{print}  {severity:7} {} {}: {}\n",
            finding.rule, finding.path, finding.message
        );
    }
    if out.is_empty() { "no errors or warnings\n".into() } else { out }
}

/// Returns the errors and warnings that are not waived.
fn found(root: PathBuf, progress: &dyn Progress) -> Result<Vec<Finding>> {
    let options = ValidateOptions { root, ..ValidateOptions::default() };
    let mut findings = validate::run(&options, progress)?.findings;
    findings.retain(|f| f.waived_by.is_none() && f.severity != Severity::Info);
    Ok(findings)
}

/// Writes the waiver of a finding and returns what was written. Without a fingerprint, lists the findings that can be
/// waived.
///
/// # Errors
///
/// Returns an error if no finding has the fingerprint, if the date has passed, or if the file of
/// waivers cannot be written.
pub fn run(options: &WaiveOptions, progress: &dyn Progress) -> Result<String> {
    let (Some(fingerprint), Some(reason)) = (&options.fingerprint, &options.reason) else {
        return Ok(list(&found(options.root.clone(), progress)?));
    };
    let until = until(options.until.as_deref())?;
    if reason.trim().is_empty() {
        return Err(Error::new("--reason is empty", "say why the finding is acceptable"));
    }
    let tree = WorkTree::open(&options.root)?;
    let approved_by = match &options.approved_by {
        Some(name) => name.clone(),
        None => tree.user().ok_or_else(|| {
            let hint = "--approved-by NAME names the person, or `git config user.name NAME`";
            Error::new("git does not know the name of the person who approves", hint)
        })?,
    };
    let top = tree.top()?.unwrap_or_else(|| options.root.clone());
    let files = TreeFiles::at_root(&top)?;
    files.lock()?;
    let all = found(options.root.clone(), progress)?;
    let finding = all
        .iter()
        .filter(|finding| finding.fingerprint() == *fingerprint)
        .min_by_key(|finding| finding.severity)
        .ok_or_else(|| unknown(&all, fingerprint))?;
    let evidence = options.evidence.clone();
    let evidence =
        evidence.unwrap_or_else(|| format!("finding {fingerprint}: {}", finding.message));
    let entry =
        WaiverEntry { finding, reason, evidence: &evidence, approved_by: &approved_by, until };
    let shown = format!("{SETTINGS}/waivers.yaml");
    let path = top.join(&shown);
    let bad = |why: Reason| Error::new(format!("{shown}: {why}"), WAIVER_HINT);
    let text = files.text(&path)?.unwrap_or_default();
    let after = entry.added_to(&shown, &text).map_err(bad)?;
    files.write(None, &[(path, after.into_bytes())])?;
    Ok(format!(
        "added to {shown}:\n\n{}\nNext: commit the file. In a pull request a waiver counts once it is on the \
         base branch.\n",
        entry.text()
    ))
}

/// Parses the last day of a waiver; without a text, returns the day [`DAYS`] after today.
fn until(text: Option<&str>) -> Result<Date> {
    let today = today();
    let hint = "--until takes the last day on which the waiver applies";
    let Some(text) = text else {
        return today.checked_add(DAYS.days()).map_err(|e| Error::caused("no date", hint, e));
    };
    let date = parse_date(text).map_err(|why| Error::new(format!("--until: {why}"), hint))?;
    if date < today {
        return Err(Error::new(format!("--until: {date} has passed; today is {today}"), hint));
    }
    Ok(date)
}

fn unknown(all: &[Finding], fingerprint: &str) -> Error {
    let prints: Vec<String> = all.iter().map(Finding::fingerprint).collect();
    let meant = nearest(fingerprint, prints.iter().map(String::as_str));
    let meant = meant.map(|meant| format!("did you mean {meant}? ")).unwrap_or_default();
    Error::new(
        format!("no error or warning has the fingerprint '{fingerprint}'"),
        format!(
            "{meant}`perfdb-gate waive` lists all that `validate` reports; a finding on a change itself is waived \
             by hand ({WAIVER_HINT})"
        ),
    )
}
