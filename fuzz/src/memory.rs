//! Files in memory, as a source.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use perfdb_gate::base::error::{Error, Result};
use perfdb_gate::database::source::{AgedFile, Entry, EntryKind, ReadError, Source};

/// What stands between the files of an input.
const NEXT: char = '\u{1}';

/// Files by path.
#[derive(Debug, Default)]
pub struct Memory(pub BTreeMap<String, Vec<u8>>);

impl Memory {
    /// The files of an input: of each its path, a line's end, its bytes; U+0001 between two.
    pub fn unpack(data: &[u8]) -> Self {
        let file = |part: &[u8]| {
            let end = part.iter().position(|b| *b == b'\n').unwrap_or(part.len());
            // As listing a folder gives a path: no part of it is empty, nor leads up.
            let path = String::from_utf8_lossy(&part[..end]).replace('\0', "");
            let parts = path.split('/').filter(|p| !matches!(*p, "" | "." | ".."));
            let path = parts.collect::<Vec<_>>().join("/");
            let bytes = part.get(end + 1..).unwrap_or_default().to_vec();
            (!path.is_empty()).then_some((path, bytes))
        };
        Self(data.split(|b| *b == NEXT as u8).filter_map(file).collect())
    }

    /// The input of which these are the files.
    pub fn pack<'a>(files: impl IntoIterator<Item = (&'a String, &'a String)>) -> Vec<u8> {
        let file = |(path, text): (&String, &String)| format!("{path}\n{text}");
        let files: Vec<String> = files.into_iter().map(file).collect();
        files.join(&NEXT.to_string()).into_bytes()
    }
}

fn alone() -> Error {
    Error::new("files in memory have no history", "")
}

impl Source for Memory {
    fn files(&self) -> Result<Vec<Entry>> {
        let entry = |(path, bytes): (&String, &Vec<u8>)| Entry {
            path: path.clone(),
            kind: EntryKind::Path(path.into()),
            size: bytes.len() as u64,
        };
        Ok(self.0.iter().map(entry).collect())
    }

    fn settings(&self) -> Result<Vec<Entry>> {
        Ok(Vec::new())
    }

    fn top_file(&self, _: &str) -> Result<Option<Entry>> {
        Ok(None)
    }

    fn read_file(&self, entry: &Entry) -> Result<Vec<u8>, ReadError> {
        let missing = || ReadError::NotAFile("there is no such file".to_owned());
        self.0.get(&entry.path).cloned().ok_or_else(missing)
    }

    fn id(&self, entry: &Entry) -> Option<git2::Oid> {
        git2::Oid::hash_object(git2::ObjectType::Blob, self.0.get(&entry.path)?).ok()
    }

    fn changed_since(&self, _: &str) -> Result<Vec<String>> {
        Err(alone())
    }

    fn base(&self, _: &str) -> Result<Box<dyn Source>> {
        Err(alone())
    }

    fn age(&self, _: AgedFile<'_>, _: AgedFile<'_>) -> Option<Ordering> {
        None
    }
}
