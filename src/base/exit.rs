//! How a run of the program ends, in one place: the contract of the exit codes.

use std::process::ExitCode;

/// How a run ends, from the mildest to the gravest: of several endings the greatest counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Exit {
    /// Everything was checked, and nothing found that fails a run.
    Clean,
    /// Nothing was checked or compared, or it was too noisy to say.
    Inconclusive,
    /// There are findings that fail a run.
    Findings,
    /// The program could not do its work.
    Failed,
}

impl Exit {
    /// The code that the process exits with.
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
