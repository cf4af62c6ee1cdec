//! Programs that measure: the user's command, or the built-in runner of collectors.

use std::ffi::OsStr;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::base::child::{Child, PythonFolder};
use crate::base::error::{Error, Result};
use crate::base::escape::clean;

/// The Python source of the built-in runner, which measures rows with the collectors of a database.
pub const COLLECTORS: &str = include_str!("../collectors.py");

/// The name of the Python interpreter that runs [`COLLECTORS`], as found on `PATH`.
const PYTHON: &str = "python3";

/// The program that measures points: a user's command or the built-in runner.
#[derive(Debug, Clone)]
pub enum Program {
    /// A shell command of the user.
    Command(String),
    /// The built-in runner, which calls the collectors' Python functions.
    Collectors {
        /// The folder whose subfolder `collector` contains the collectors.
        folder: PathBuf,
        /// Further folders from which the runner may import Python modules.
        modules: Vec<PathBuf>,
    },
}

/// A running program. Its temporary folder is removed after the process has ended.
pub(super) struct Running {
    pub child: Child,
    _folder: Option<PythonFolder>,
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Command(line) => line,
            Self::Collectors { .. } => PYTHON,
        })
    }
}

impl Program {
    /// Prepares the program that measures with the collectors in `folder`: the user's `command` if it is given,
    /// otherwise the built-in runner. For safety, the built-in runner imports no Python modules from the repository
    /// that contains the folder `judged`. Modules in `folder` are exempt.
    ///
    /// # Errors
    ///
    /// If the folder has no collectors.
    pub fn of_collectors(
        folder: &Path,
        command: Option<&str>,
        judged: &Path,
        tell: fn(&str),
    ) -> Result<Self> {
        let real = folder.canonicalize().ok().filter(|real| real.join("collector").is_dir());
        let folder = real.ok_or_else(|| {
            Error::new(
                format!("{} does not contain the folder collector", folder.display()),
                "--collectors takes a clone of the repository that measured the database",
            )
        })?;
        if let Some(line) = command {
            return Ok(Self::Command(line.to_owned()));
        }
        let named = std::env::var_os("PYTHONPATH").unwrap_or_default();
        let modules = modules(&named, &tree(judged), &folder, tell);
        Ok(Self::Collectors { folder, modules })
    }

    /// Starts the program.
    ///
    /// # Errors
    ///
    /// If the process or its temporary folder cannot be created.
    pub(super) fn start(&self) -> std::io::Result<Running> {
        let (mut command, _folder) = match self {
            Self::Command(line) => {
                let mut shell = Command::new("sh");
                shell.args(["-c", line]);
                (shell, None)
            }
            Self::Collectors { folder, modules } => {
                let own = PythonFolder::new()?;
                let mut python = own.command(Path::new(PYTHON), COLLECTORS);
                python.arg(folder).args(modules);
                // Collectors start further interpreters in folders of the runner, which are not isolated.
                python.env("PYTHONPATH", std::env::join_paths(modules).unwrap_or_default());
                python.env("PYTHONNOUSERSITE", "1");
                (python, Some(own))
            }
        };
        command.stderr(Stdio::piped());
        Ok(Running { child: Child::start(&mut command)?, _folder })
    }
}

/// Returns the root of the git repository that contains a folder. Outside of a repository, returns the folder itself.
/// The folder need not exist.
fn tree(folder: &Path) -> PathBuf {
    let folder = folder.canonicalize().or_else(|_| std::path::absolute(folder)).unwrap_or_default();
    let real = folder.ancestors().find_map(|above| above.canonicalize().ok()).unwrap_or_default();
    // A repository of another user also counts, so the file system is searched instead of asking git.
    let top = real.ancestors().find(|above| above.join(".git").exists());
    top.map_or(folder, Path::to_owned)
}

/// Returns the folders of `named`, the value of PYTHONPATH, from which the runner may import modules. These are the
/// absolute folders outside the judged repository `tree`, and those inside `collectors`. Reports every other folder by
/// `tell`.
fn modules(named: &OsStr, tree: &Path, collectors: &Path, tell: fn(&str)) -> Vec<PathBuf> {
    let mut kept = Vec::new();
    for entry in std::env::split_paths(named) {
        // Python takes an empty entry for the working folder, so it is skipped.
        let Ok(real) = entry.canonicalize() else { continue };
        if entry.is_absolute() && (!real.starts_with(tree) || real.starts_with(collectors)) {
            kept.push(real);
        } else {
            let shown = clean(&entry.display().to_string());
            tell(&format!(
                "PYTHONPATH: {shown} is left out, because it is relative or inside of the judged tree"
            ));
        }
    }
    kept
}
