//! Python programs of ours, which import nothing of the caller's working folder.

use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

use super::interrupt::{Leftover, RemovedOnSignal};

/// The temporary folder of a Python program. It is removed when the value is dropped.
#[derive(Debug)]
pub(crate) struct PythonFolder {
    folder: TempDir,
    _removed: RemovedOnSignal,
}

impl PythonFolder {
    /// Creates the folder, with an empty folder inside in which the program runs.
    ///
    /// # Errors
    ///
    /// If the temporary folder cannot be written.
    pub fn new() -> std::io::Result<Self> {
        let folder = tempfile::tempdir()?;
        let _removed = RemovedOnSignal::new(Leftover::Folder(folder.path().to_owned()));
        std::fs::create_dir(folder.path().join("empty"))?;
        Ok(Self { folder, _removed })
    }

    /// Returns the path of the temporary folder, for files of the caller. The program itself runs in a subfolder.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Returns the command that runs a program's source. Python is isolated (`-I`): it imports nothing of the
    /// working folder, of the environment's `PYTHONPATH` or of the user's own packages.
    pub fn command(&self, python: &Path, source: &str) -> Command {
        let mut command = Command::new(python);
        command.args(["-I", "-c", source]).current_dir(self.path().join("empty"));
        command
    }
}
