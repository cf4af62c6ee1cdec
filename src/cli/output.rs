//! Arguments for the report: formats, files, and the severity that fails a run.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use perfdb_gate::base::error::{Error, Exit};
use perfdb_gate::findings::Severity;
use perfdb_gate::report::{Report, ReportFormat, RunVerdict};

/// Arguments that set the formats and files of a report.
#[derive(Debug, Args)]
pub struct OutputArgs {
    /// Format of the report.
    #[arg(long, value_enum, default_value_t = ReportFormat::Human, help_heading = "Output")]
    pub format: ReportFormat,
    /// Print only how many findings each rule has.
    #[arg(long, conflicts_with = "format", help_heading = "Output")]
    pub statistics: bool,
    /// Write the report to a file instead of standard output.
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub output: Option<PathBuf>,
    /// Also write the report in another format, e.g. `sarif=perfdb.sarif`; may be repeated.
    #[arg(long, value_name = "FORMAT=FILE", value_parser = report_of, help_heading = "Output")]
    pub report: Vec<(ReportFormat, PathBuf)>,
    /// Write the report as an HTML page: one file that needs no network.
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub html: Option<PathBuf>,
    /// What to do if the run could not read or compare everything.
    #[arg(long, value_enum, default_value_t = Inconclusive::Fail, help_heading = "Output")]
    pub inconclusive: Inconclusive,
}

impl OutputArgs {
    /// Iterates over the files to which reports are written.
    pub fn files(&self) -> impl Iterator<Item = &PathBuf> {
        self.output.iter().chain(self.report.iter().map(|(_, file)| file)).chain(&self.html)
    }

    /// Returns true if the report is written in a format.
    pub fn shows(&self, format: ReportFormat) -> bool {
        self.formats().any(|requested| requested == format)
    }

    fn formats(&self) -> impl Iterator<Item = ReportFormat> {
        self.report.iter().map(|(format, _)| *format).chain([self.format])
    }

    /// Returns an error if a requested report format needs a base and a head. Commands that judge only one version of
    /// the database call this.
    pub fn check_one_state(&self) -> Result<(), Error> {
        if !self.formats().any(ReportFormat::compares) {
            return Ok(());
        }
        let hint = "`perfdb-gate sanity --base-ref REF` compares a change with its base";
        Err(Error::new(
            "stages and audits are of a change, and this command judges one state",
            hint,
        ))
    }
}

/// Parses an argument of the form `FORMAT=FILE`, such as `sarif=perfdb.sarif`.
fn report_of(text: &str) -> Result<(ReportFormat, PathBuf), String> {
    let (name, file) =
        text.split_once('=').ok_or("write FORMAT=FILE, for example sarif=perfdb.sarif")?;
    if file.is_empty() || file == "-" {
        return Err("the name of the file is missing; --format sets the format of standard output"
            .to_owned());
    }
    let format = ReportFormat::from_str(name, false).map_err(|_| {
        let known = ReportFormat::value_variants().iter().filter_map(ValueEnum::to_possible_value);
        let known: Vec<String> = known.map(|value| value.get_name().to_owned()).collect();
        format!("'{name}' is not a format: the formats are {}", known.join(", "))
    })?;
    Ok((format, PathBuf::from(file)))
}

/// The exit code of an inconclusive run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Inconclusive {
    /// Exit with code 3.
    Fail,
    /// Exit with code 0; the report still says that the run is inconclusive.
    Pass,
    /// Exit with code 0 if a pull request changes no file of the database, otherwise with code 3.
    Unrelated,
}

impl Inconclusive {
    /// Returns true if an inconclusive run ends with exit code 0.
    pub fn passes(self, report: &Report) -> bool {
        match self {
            Self::Fail => false,
            Self::Pass => true,
            Self::Unrelated => !report.touches_database(),
        }
    }

    /// Returns the exit code of a run.
    pub fn exit(self, verdict: RunVerdict, report: &Report) -> Exit {
        match verdict {
            RunVerdict::Inconclusive if self.passes(report) => Exit::Clean,
            RunVerdict::Passed | RunVerdict::Failed | RunVerdict::Inconclusive => verdict.exit(),
        }
    }
}

/// The severities that fail a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum FailOn {
    Error,
    Warning,
    Info,
    /// Never fail on findings.
    Never,
}

impl FailOn {
    /// Returns the lowest severity that fails a run; `None` if findings never fail it.
    pub fn least(self) -> Option<Severity> {
        match self {
            Self::Error => Some(Severity::Error),
            Self::Warning => Some(Severity::Warning),
            Self::Info => Some(Severity::Info),
            Self::Never => None,
        }
    }
}
