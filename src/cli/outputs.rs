//! Collects all outputs of a run and writes them together.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use perfdb_gate::base::error::{Error, Result};
use perfdb_gate::base::files::{check_targets, write_all};
use perfdb_gate::base::read::read_text;
use perfdb_gate::database::source::named_like_a_table;
use perfdb_gate::gpu::rerun::RerunList;
use perfdb_gate::report::chart::Drawing;
use perfdb_gate::report::{self, ReportFormat, ReportView, TextStyle};

use crate::cli::output::OutputArgs;
use crate::cli::terminal::{ColorName, TerminalArgs};

/// Checks that a run can write its output files and folders, and that no output file overwrites a file of a database.
pub(crate) fn check<'a>(
    files: impl IntoIterator<Item = &'a PathBuf>,
    folders: impl IntoIterator<Item = &'a PathBuf>,
) -> Result<()> {
    let files: Vec<&Path> = files.into_iter().map(PathBuf::as_path).filter(is_named).collect();
    let folders: Vec<&Path> = folders.into_iter().map(PathBuf::as_path).collect();
    for file in &files {
        let target = file.canonicalize().unwrap_or_else(|_| file.to_path_buf());
        let name = target.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
        let is_foreign = name.ends_with(".yaml") && target.exists() && !is_rerun_list(&target);
        if named_like_a_table(&name) || is_foreign {
            return Err(Error::new(
                format!("{} is a file of a database or has the name of one", file.display()),
                "an output overwrites a file of the same name: choose another name",
            ));
        }
    }
    for folder in folders.iter().filter(|folder| !folder.is_dir()) {
        let ending = folder.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
        if folder.exists() || FILES.contains(&ending) {
            let why = "this is the name of a file, and the output is a folder";
            let hint = "name a folder; it is created if it does not exist";
            return Err(Error::new(format!("cannot write {}: {why}", folder.display()), hint));
        }
    }
    check_targets(&files, &folders)
}

/// Endings of file names, such as `json`. A folder for output files must not have a name with one of these endings.
const FILES: [&str; 7] = ["csv", "json", "md", "parquet", "svg", "txt", "html"];

/// Returns true if a file is a rerun list, which `plan --output` writes.
fn is_rerun_list(path: &Path) -> bool {
    read_text(path).is_ok_and(|text| RerunList::is_one(&text))
}

/// Returns true if a path names a file. The path `-` stands for standard output.
fn is_named(path: &&Path) -> bool {
    path.as_os_str() != "-"
}

/// The texts and files that a run writes. All of them are rendered before the first one is written.
#[derive(Default)]
pub(crate) struct Outputs {
    /// Folders to create if they do not exist.
    folders: Vec<PathBuf>,
    files: Vec<(PathBuf, Vec<u8>)>,
    /// The text for standard output.
    text: String,
    /// True if the report on standard output lists every finding. Otherwise findings are grouped by cause.
    full: bool,
}

impl Outputs {
    /// Creates empty outputs. If `full` is true, the report on standard output lists every finding. Otherwise findings
    /// are grouped by cause.
    pub(crate) fn of(full: bool) -> Self {
        Self { full, ..Self::default() }
    }

    /// Adds a text for a file, or for standard output if the path is `-`.
    pub(crate) fn add(&mut self, path: &Path, text: String) {
        if path.as_os_str() == "-" {
            self.text += &text;
        } else {
            self.files.push((path.to_owned(), text.into_bytes()));
        }
    }

    /// Adds charts as SVG files in a folder.
    pub(crate) fn charts(&mut self, folder: &Path, charts: &[Drawing]) {
        self.folders.push(folder.to_owned());
        for chart in charts {
            let path = folder.join(format!("{}.svg", chart.name));
            self.files.push((path, chart.svg.clone().into_bytes()));
        }
    }

    /// Adds the report in all requested formats, including the HTML page.
    pub(crate) fn report(
        &mut self,
        view: &ReportView<'_>,
        drawings: &[Drawing],
        args: &OutputArgs,
        terminal: TerminalArgs,
    ) -> Result<()> {
        if let Some(path) = &args.html {
            self.add(path, report::page(view, drawings)?);
        }
        for (format, path) in &args.report {
            self.add(path, report::render(view, *format, text_style(true, true, terminal))?);
        }
        let to_file = args.output.is_some();
        let style = text_style(to_file, self.full || to_file, terminal);
        let format = if args.statistics { ReportFormat::Statistics } else { args.format };
        let text = report::render(view, format, style)?;
        self.add(args.output.as_deref().unwrap_or(Path::new("-")), text);
        Ok(())
    }

    /// Writes all files or none. Text for standard output is not printed.
    pub(crate) fn write_files(self) -> Result<()> {
        write_all(&self.folders, &self.files)
    }

    /// Writes all files or none, then prints the text for standard output.
    pub(crate) fn write(self) -> Result<()> {
        write_all(&self.folders, &self.files)?;
        report::print(&self.text)
    }
}

/// Returns how a report for people is printed: whether in colours, how wide, and whether short or in full. `to_file` is
/// true if the report is written to a file. `full` is true if the report lists every finding.
pub(crate) fn text_style(to_file: bool, full: bool, terminal: TerminalArgs) -> TextStyle {
    let says = |name: &str| std::env::var_os(name).unwrap_or_default();
    let colour = match terminal.color {
        ColorName::Always => true,
        ColorName::Never => false,
        ColorName::Auto => {
            let plain = !says("NO_COLOR").is_empty() || says("TERM") == "dumb";
            !to_file && !plain && std::io::stdout().is_terminal()
        }
    };
    let width = report::columns().filter(|_| !to_file);
    TextStyle { colour, brief: terminal.quiet, full, width }
}

/// Writes a text to a file, or to standard output if `file` is `None`.
pub(crate) fn write_text(file: Option<&Path>, text: String) -> Result<()> {
    let mut outputs = Outputs::default();
    outputs.add(file.unwrap_or(Path::new("-")), text);
    outputs.write()
}
