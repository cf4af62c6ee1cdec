//! The Python interpreter whose planner package is asked.

use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;

use super::session::{RunnerSession, SessionFailure};
use crate::base::error::{Error, Result};
use crate::report::predictions::PREDICTIONS_OFF;

/// The environment variable that names the interpreter if the command line does not.
pub const VARIABLE: &str = "PERFDB_GATE_PLANNER";

/// The name and version of the protocol between this program and its Python script, which calls the planner.
const SCHEMA: &str = "perfdb-gate/planner/v1";

/// The time limit for starting the interpreter and importing the package.
const STARTING: Duration = Duration::from_secs(60);

const HINT: &str =
    "--planner takes a Python with aisimulate or aiconfigurator-core, or none (docs/impact.md)";

/// The user's choice of a planner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PlannerChoice {
    /// Use the planner of this Python interpreter.
    Python(PathBuf),
    /// Use no planner.
    Nobody,
}

impl From<OsString> for PlannerChoice {
    /// Parses the value of `--planner` or of [`VARIABLE`].
    fn from(name: OsString) -> Self {
        if name == "none" { Self::Nobody } else { Self::Python(name.into()) }
    }
}

/// An interpreter with the planner's package.
#[derive(Debug, Clone)]
pub struct Planner {
    python: PathBuf,
    about: HelloReply,
    /// True if the caller named the interpreter.
    is_named: bool,
}

/// The reply of the planner's package to the first request, `hello`.
#[derive(Debug, Clone, Deserialize)]
struct HelloReply {
    schema: String,
    package: String,
    version: String,
    python: String,
}

impl fmt::Display for Planner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let HelloReply { package, version, python, .. } = &self.about;
        write!(f, "{package} {version} ({}, Python {python})", self.python.display())
    }
}

impl Planner {
    /// Finds the planner to ask. The inner `Err` is the reason why no planner is asked. If `choice` is `None`, the
    /// environment variable [`VARIABLE`] names the Python interpreter. Without this variable, `python3` is used if it
    /// has the planner's package.
    ///
    /// # Errors
    ///
    /// If an interpreter was named and its package does not answer.
    pub(crate) fn find(choice: Option<&PlannerChoice>) -> Result<Result<Self, String>> {
        let variable = || std::env::var_os(VARIABLE).filter(|name| !name.is_empty());
        match choice.cloned().or_else(|| variable().map(PlannerChoice::from)) {
            Some(PlannerChoice::Nobody) => Ok(Err(PREDICTIONS_OFF.to_owned())),
            Some(PlannerChoice::Python(python)) => {
                // The process starts in another folder. A bare name is looked for in PATH.
                let is_path = python.components().count() > 1;
                let python = if is_path { std::path::absolute(&python).unwrap_or(python) } else { python };
                Ok(Ok(Self { is_named: true, ..Self::start(&python)? }))
            }
            None => Ok(Self::start(Path::new("python3")).map_err(|_| {
                "python3 has neither aisimulate nor aiconfigurator-core; install one in a virtual environment, then \
                 --planner PYTHON"
                    .to_owned()
            })),
        }
    }

    fn start(python: &Path) -> Result<Self> {
        let failed = |why: &dyn fmt::Display| no_answer(python, why);
        let mut session = RunnerSession::start(python).map_err(|why| failed(&why))?;
        let hello = serde_json::json!({"do": "hello"});
        let about: HelloReply = session.ask(&hello, STARTING).map_err(|why| failed(&why))?;
        if about.schema != SCHEMA {
            let schema = &about.schema;
            return Err(failed(&format!("it speaks {schema}, and {SCHEMA} is needed")));
        }
        Ok(Self { python: python.to_owned(), about, is_named: false })
    }

    /// Returns true if the caller named the interpreter. The run then ends with an error if the planner does not
    /// answer.
    pub(super) fn is_named(&self) -> bool {
        self.is_named
    }

    /// Creates the error of a planner that stopped answering.
    pub(super) fn failed(&self, why: &SessionFailure) -> Error {
        no_answer(&self.python, why)
    }

    /// Starts a planner process, which answers requests about one version in one state of the database.
    pub(super) fn session(&self) -> Result<RunnerSession, SessionFailure> {
        RunnerSession::start(&self.python)
    }

    /// Returns the name and version of the planner's package.
    pub(crate) fn package(&self) -> String {
        format!("{} {}", self.about.package, self.about.version)
    }

    /// Returns the version of the planner's package.
    pub(crate) fn version(&self) -> &str {
        &self.about.version
    }
}

fn no_answer(python: &Path, why: &dyn fmt::Display) -> Error {
    Error::new(format!("the planner of {} does not answer: {why}", python.display()), HINT)
}
