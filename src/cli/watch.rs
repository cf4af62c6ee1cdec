//! The arguments of `perfdb-gate validate --watch`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use perfdb_gate::base::error::Result;
use perfdb_gate::base::escape::clean_lines;
use perfdb_gate::jobs::{validate, watch};
use perfdb_gate::report::Report;

/// Arguments for watching a running collection.
#[derive(Debug, Args)]
pub struct WatchArgs {
    /// Watch a running collection's staging folder, print one line per change, and check the result
    /// when it ends.
    #[arg(long, value_name = "DIR", help_heading = "What to judge")]
    #[arg(conflicts_with_all = ["root", "reference", "since", "settings_ref", "traces", "system", "backend", "version", "table"])]
    pub watch: Option<PathBuf>,
    /// The rerun list that is being measured; the run ends when all of its points have arrived.
    #[arg(long, value_name = "FILE", requires = "watch", help_heading = "What to judge")]
    pub points: Option<PathBuf>,
    /// Seconds between two looks at the folder.
    #[arg(long, value_name = "SECONDS", default_value_t = 30.0, value_parser = seconds, requires = "watch", help_heading = "What to judge")]
    pub every: f64,
    /// Seconds without a change after which the run counts as ended.
    #[arg(long, value_name = "SECONDS", default_value_t = 900.0, value_parser = seconds, requires = "watch", help_heading = "What to judge")]
    pub idle: f64,
}

fn seconds(text: &str) -> Result<f64, String> {
    let seconds: f64 = text.parse().map_err(|_| "not a number".to_owned())?;
    let some = (0.0..=1e7).contains(&seconds);
    some.then_some(seconds).ok_or_else(|| "from 0 to 10,000,000".into())
}

impl WatchArgs {
    /// Watches a folder until the run ends; progress goes to standard error.
    pub fn run(&self, folder: &Path, judged: validate::ValidateOptions) -> Result<Report> {
        let options = watch::WatchOptions {
            folder: folder.to_owned(),
            every: Duration::from_secs_f64(self.every),
            idle: Duration::from_secs_f64(self.idle),
            list: self.points.clone(),
            judged,
        };
        watch::run(&options, &mut |line| {
            eprint!("{}", clean_lines(line));
            Ok(())
        })
    }
}
