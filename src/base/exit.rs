//! The exit codes of the program.

use std::process::ExitCode;

/// The outcome of a run, from mildest to gravest. If a run has several outcomes, the greatest one counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Exit {
    /// Everything was checked, and no finding fails the run.
    Clean,
    /// Nothing was checked or compared, or the measurements were too noisy to decide.
    Inconclusive,
    /// At least one finding fails the run.
    Findings,
    /// The program could not do its work.
    Failed,
}

impl Exit {
    /// Returns the process's exit code.
    pub const fn code(self) -> u8 {
        match self {
            Self::Clean => 0,
            Self::Findings => 1,
            Self::Failed => 2,
            Self::Inconclusive => 3,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

#[cfg(test)]
mod tests {
    use super::Exit;

    #[test]
    fn a_failure_outweighs_findings_and_those_an_inconclusive_run() {
        let mut endings = [Exit::Clean, Exit::Findings, Exit::Failed, Exit::Inconclusive];
        endings.sort();
        assert_eq!(endings.map(Exit::code), [0, 3, 1, 2]);
    }
}
