//! The YAML files of rules, tables and systems: first those embedded in the binary, then those of overlays.
//!
//! Nothing is parsed here. Each room reads its own files ([`Library::file`], [`Library::folder`]), so that a
//! command parses only the files that it uses.

use std::borrow::Cow;
use std::fmt::Display;
use std::path::Path;

use include_dir::{Dir, include_dir};
use rayon::prelude::*;
use serde::de::DeserializeOwned;

use crate::base::error::{Error, Result};
use crate::base::read::read_text;
use crate::base::yaml;

static RULES: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/rules");
static SYSTEMS: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/systems");
static CHARTS: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/charts");

/// The kinds of YAML files that the program reads from `rules/` or an overlay folder. The text is the path, in which
/// `*` stands for any name. The flag is true if a database may contain such a file. It is false for files that decide
/// which programs run or what is measured; only the program's user may supply these.
pub const KINDS: [(&str, bool); 19] = [
    // A rule.
    ("*.yaml", true),
    ("cases.yaml", true),
    ("charts/*.yaml", true),
    ("collectors.yaml", true),
    ("dtypes.yaml", true),
    ("facts.yaml", true),
    ("layouts/*.yaml", true),
    ("limits.yaml", true),
    ("loader.yaml", true),
    ("noise.yaml", true),
    ("operations.yaml", true),
    ("plans/*.yaml", false),
    ("recipes.yaml", true),
    ("runners.yaml", false),
    ("sources.yaml", true),
    ("stages.yaml", true),
    ("systems/*.yaml", true),
    ("tables/*.yaml", true),
    ("traces/*.yaml", true),
];

/// Returns the entry of [`KINDS`] for a path inside `rules/` or an overlay folder; `None` if the program does not read
/// such a file.
fn kind_of(inside: &str) -> Option<(&'static str, bool)> {
    let name = inside.rsplit('/').next().unwrap_or(inside);
    let any = format!("{}*.yaml", &inside[..inside.len() - name.len()]);
    let find = |kind: &str| KINDS.iter().find(|(known, _)| *known == kind).copied();
    find(inside).or_else(|| find(&any))
}

/// Returns true if a database may contain its own file at this path inside `rules/`. False if only the program's user
/// may supply the file.
pub fn is_honoured(inside: &str) -> bool {
    kind_of(inside).is_none_or(|(_, is_honoured)| is_honoured)
}

/// A YAML file of rules, tables, systems or charts.
#[derive(Debug, Clone)]
pub struct SpecFile {
    /// The file's path in this repository, such as `rules/tables/gemm.yaml`. For an overlay file, the path that it
    /// would have in this repository.
    pub role: String,
    /// The file's name in error messages.
    pub shown: String,
    /// The file's text.
    pub text: Cow<'static, str>,
    /// True if the file is embedded in the binary; false for a file of an overlay.
    pub shipped: bool,
}

/// All YAML files: the embedded ones first, then overlays in the order in which they were added.
#[derive(Debug, Default)]
pub struct Library {
    documents: Vec<SpecFile>,
}

impl SpecFile {
    /// Returns the file's kind, one of [`KINDS`]; `None` if the program does not read such a file.
    pub(crate) fn kind(&self) -> Option<&'static str> {
        kind_of(self.role.strip_prefix("rules/").unwrap_or(&self.role)).map(|(kind, _)| kind)
    }

    /// Returns the file's name without its folder and `.yaml`.
    pub(crate) fn stem(&self) -> &str {
        self.role.rsplit('/').next().unwrap_or(&self.role).trim_end_matches(".yaml")
    }

    /// Parses the file.
    ///
    /// # Errors
    ///
    /// If the file is malformed. The error is one line with the file, the line and the problem.
    pub fn parse<T: DeserializeOwned>(&self) -> Result<T> {
        yaml::parse(&self.text).map_err(|why| self.malformed(why))
    }

    /// Creates an error that names this file and the problem.
    pub(crate) fn malformed(&self, why: impl Display) -> Error {
        Error::new(
            format!("{}: {why}", self.shown),
            "CONTRIBUTING.md describes the format of rules, tables and systems",
        )
    }
}

/// Calls `read` on each file, in parallel, because parsing takes most of a command's start time. Returns the results in
/// the order of the files.
///
/// # Errors
///
/// If a file cannot be read. The error is that of the first such file in the given order.
pub fn read_all<'a, R: Send>(
    files: impl Iterator<Item = &'a SpecFile>,
    read: impl Fn(&SpecFile) -> Result<R> + Sync,
) -> Result<Vec<R>> {
    let files: Vec<&SpecFile> = files.collect();
    files.par_iter().map(|file| read(file)).collect()
}

impl Library {
    /// Returns the files embedded in the binary.
    pub fn embedded() -> Self {
        let mut documents = Vec::new();
        for (folder, dir) in [("rules", &RULES), ("systems", &SYSTEMS), ("charts", &CHARTS)] {
            collect(folder, dir, &mut documents);
        }
        documents.sort_by(|a, b| a.role.cmp(&b.role));
        Self { documents }
    }

    /// Adds the files of an overlay folder, which has the same subfolders as `rules/`. The additional subfolders
    /// `systems/` and `charts/` correspond to the folders `systems/` and `charts/` of this repository.
    ///
    /// # Errors
    ///
    /// If the folder or one of its files cannot be read.
    pub fn overlay(&mut self, folder: &Path) -> Result<()> {
        if !folder.is_dir() {
            return Err(Error::new(
                format!("{} is not a folder", folder.display()),
                "--rules takes a folder with the same layout as rules/ of perfdb-gate",
            ));
        }
        for item in walkdir::WalkDir::new(folder).sort_by_file_name() {
            let item = item.map_err(|e| Error::new(format!("cannot list rules: {e}"), ""))?;
            if !item.file_type().is_file() || item.path().extension().is_none_or(|e| e != "yaml") {
                continue;
            }
            let shown = item.path().display().to_string();
            let text = read_text(item.path())
                .map_err(|e| Error::new(format!("cannot read {shown}: {e}"), ""))?;
            let relative = item.path().strip_prefix(folder).unwrap_or(item.path());
            self.add(&relative.to_string_lossy().replace('\\', "/"), &shown, text);
        }
        Ok(())
    }

    /// Adds an overlay file. `inside` is the file's path inside the overlay folder, and `shown` is the file's name in
    /// error messages.
    pub fn add(&mut self, inside: &str, shown: &str, text: String) {
        let apart = inside.starts_with("systems/") || inside.starts_with("charts/");
        let role = if apart { inside.to_owned() } else { format!("rules/{inside}") };
        let text = Cow::Owned(text);
        self.documents.push(SpecFile { role, shown: shown.to_owned(), text, shipped: false });
    }

    /// Returns true if all files are embedded in the binary, that is, if there are no overlays. Embedded files are not
    /// checked at run time, because tests check them.
    pub(crate) fn is_embedded(&self) -> bool {
        self.overlays().next().is_none()
    }

    /// Returns the overlay files in the order in which they were added. Later files replace earlier ones.
    pub(crate) fn overlays(&self) -> impl Iterator<Item = &SpecFile> {
        self.documents.iter().filter(|d| !d.shipped)
    }

    /// Returns the files of a folder, without its subfolders, in the order in which they were added. Later files
    /// replace earlier ones.
    pub(crate) fn folder<'a>(&'a self, folder: &'a str) -> impl Iterator<Item = &'a SpecFile> {
        self.documents.iter().filter(move |d| {
            let inside = d.role.strip_prefix(folder).and_then(|rest| rest.strip_prefix('/'));
            inside.is_some_and(|name| !name.contains('/'))
        })
    }

    /// Returns all files for a path such as `rules/noise.yaml`: first the embedded file, then those of overlays in the
    /// order in which they were added. Contents of a later file replace or extend those of earlier files.
    pub(crate) fn file<'a>(&'a self, role: &'a str) -> impl Iterator<Item = &'a SpecFile> {
        self.documents.iter().filter(move |d| d.role == role)
    }

    /// Returns the files that the program never reads, for example because the name of their folder is misspelt.
    pub(crate) fn unread(&self) -> impl Iterator<Item = &SpecFile> {
        self.documents.iter().filter(|d| d.kind().is_none())
    }

    /// Returns the files of rules in the order in which they were added. Later files replace earlier ones.
    pub(crate) fn rules(&self) -> impl Iterator<Item = &SpecFile> {
        self.documents.iter().filter(|d| d.kind() == Some("*.yaml"))
    }
}

fn collect(role: &str, dir: &'static Dir<'static>, into: &mut Vec<SpecFile>) {
    for folder in dir.dirs() {
        collect(role, folder, into);
    }
    for file in dir.files() {
        let path = file.path().to_string_lossy().replace('\\', "/");
        if path.ends_with(".yaml") {
            let role = format!("{role}/{path}");
            // Validating UTF-8 first is many times faster than a lossy conversion.
            let text = file.contents_utf8().map(Cow::Borrowed);
            let text = text.unwrap_or_else(|| String::from_utf8_lossy(file.contents()));
            into.push(SpecFile { shown: role.clone(), role, text, shipped: true });
        }
    }
}
