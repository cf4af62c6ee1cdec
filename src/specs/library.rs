//! The YAML files that say what is known: embedded in the binary, then those of overlays.
//!
//! Nothing is parsed here. Each room reads the files that are its own ([`Library::file`],
//! [`Library::folder`]), so that a command parses only what it uses.

use std::borrow::Cow;
use std::fmt::Display;
use std::path::Path;

use include_dir::{Dir, include_dir};
use rayon::prelude::*;
use serde::de::DeserializeOwned;

use crate::base::error::{Error, Result};
use crate::base::yaml;

static RULES: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/rules");
static SYSTEMS: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/systems");
static CHARTS: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/charts");

/// One YAML file.
#[derive(Debug, Clone)]
pub struct SpecFile {
    /// Its place, wherever it really lies: `rules/tables/gemm.yaml`.
    pub role: String,
    /// Its name in errors.
    pub shown: String,
    /// Its text.
    pub text: Cow<'static, str>,
    /// Whether it is this program's own.
    pub shipped: bool,
}

/// All YAML files, the embedded ones first, overlays in the order in which they were added.
#[derive(Debug, Default)]
pub struct Library {
    documents: Vec<SpecFile>,
}

impl SpecFile {
    /// The file's name without its folder and ending.
    pub fn stem(&self) -> &str {
        self.role.rsplit('/').next().unwrap_or(&self.role).trim_end_matches(".yaml")
    }

    /// Parses it.
    ///
    /// # Errors
    ///
    /// One line with the file, the line and what is wrong there.
    pub fn parse<T: DeserializeOwned>(&self) -> Result<T> {
        yaml::parse(&self.text).map_err(|why| self.malformed(why))
    }

    /// The error that names this file.
    pub fn malformed(&self, why: impl Display) -> Error {
        Error::new(
            format!("{}: {why}", self.shown),
            "CONTRIBUTING.md describes the format of rules, tables and systems",
        )
    }
}

/// Reads files on several threads: parsing them is most of the time that a command takes to start.
///
/// # Errors
///
/// That of the first file, in the order given, which cannot be read.
pub fn read_all<'a, R: Send>(
    files: impl Iterator<Item = &'a SpecFile>,
    read: impl Fn(&SpecFile) -> Result<R> + Sync,
) -> Result<Vec<R>> {
    let files: Vec<&SpecFile> = files.collect();
    files.par_iter().map(|file| read(file)).collect()
}

impl Library {
    /// The files that are part of the binary.
    pub fn embedded() -> Self {
        let mut documents = Vec::new();
        for (folder, dir) in [("rules", &RULES), ("systems", &SYSTEMS), ("charts", &CHARTS)] {
            collect(folder, dir, &mut documents);
        }
        documents.sort_by(|a, b| a.role.cmp(&b.role));
        Self { documents }
    }

    /// Overlays a folder laid out as `rules/` is; its `systems/` and `charts/` subfolders add facts
    /// of systems and what charts show.
    ///
    /// # Errors
    ///
    /// When the folder or a file of it cannot be read.
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
            let text = std::fs::read_to_string(item.path())
                .map_err(|e| Error::new(format!("cannot read {shown}: {e}"), ""))?;
            let relative = item.path().strip_prefix(folder).unwrap_or(item.path());
            self.add(&relative.to_string_lossy().replace('\\', "/"), &shown, text);
        }
        Ok(())
    }

    /// Overlays one file by its path inside a folder laid out as `rules/`; `shown` names it in errors.
    pub fn add(&mut self, inside: &str, shown: &str, text: String) {
        let apart = inside.starts_with("systems/") || inside.starts_with("charts/");
        let role = if apart { inside.to_owned() } else { format!("rules/{inside}") };
        let text = Cow::Owned(text);
        self.documents.push(SpecFile { role, shown: shown.to_owned(), text, shipped: false });
    }

    /// Whether no file is an overlay's. Tests read and check all of these files, so a run need not
    /// check again what is right whatever it judges.
    pub fn is_embedded(&self) -> bool {
        self.overlays().next().is_none()
    }

    /// The files of overlays, by role, in the order in which later ones replace earlier ones.
    pub fn overlays(&self) -> impl Iterator<Item = &SpecFile> {
        self.documents.iter().filter(|d| !d.shipped)
    }

    /// Every file of a folder, subfolders left out, in the order in which later ones replace earlier ones.
    pub fn folder<'a>(&'a self, folder: &'a str) -> impl Iterator<Item = &'a SpecFile> {
        self.documents.iter().filter(move |d| {
            let inside = d.role.strip_prefix(folder).and_then(|rest| rest.strip_prefix('/'));
            inside.is_some_and(|name| !name.contains('/'))
        })
    }

    /// The files of that role, in the order in which later ones add to or replace earlier ones.
    pub fn file<'a>(&'a self, role: &'a str) -> impl Iterator<Item = &'a SpecFile> {
        self.documents.iter().filter(move |d| d.role == role)
    }

    /// Files in folders that nothing reads: a misspelt folder would be passed over in silence.
    pub fn unread<'a>(&'a self, folders: &'a [&str]) -> impl Iterator<Item = &'a SpecFile> {
        let folder = |d: &SpecFile| d.role.rsplit_once('/').map_or("", |(f, _)| f).to_owned();
        self.documents.iter().filter(move |d| !folders.contains(&folder(d).as_str()))
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
            // Looked through many times faster than what stands for other bytes would be put in.
            let text = file.contents_utf8().map(Cow::Borrowed);
            let text = text.unwrap_or_else(|| String::from_utf8_lossy(file.contents()));
            into.push(SpecFile { shown: role.clone(), role, text, shipped: true });
        }
    }
}
