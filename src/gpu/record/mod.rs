//! The log of measurements, and the table that is written from it.
//!
//! The log of a table `gemm_perf.parquet` is the file `gemm_perf.samples.jsonl` in the same folder. It has one line per
//! point, with every sample, which is appended as soon as the point is measured. Only one process writes to it at a
//! time. A run that was killed continues from the log. The table, and the sidecar that states its origin, are written
//! from the whole log.

mod entries;
mod rows;
mod sidecar;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use self::entries::LogLine;
pub use self::entries::{Key, LogPoint, Origin, Session, Written};
use crate::base::dates::today;
use crate::base::error::{Error, Reason, Result};
use crate::base::read::read_open;
use crate::base::tree_files::TreeFiles;
use crate::database::table;
use crate::gpu::device::{About, Answer};
use crate::specs::TableSpec;

/// The file name of the sidecar in a table's folder.
const SIDECAR: &str = "collection_meta.yaml";

/// The measurement log of a table, open for writing. Only one process at a time can open it.
pub struct Log {
    tree: TreeFiles,
    table: PathBuf,
    file: File,
    /// The description of the current run, which is written to the log just before the run's first point. `None`
    /// afterwards.
    unwritten: Option<Session>,
    sessions: Vec<Session>,
    /// The latest log entry of each point, by the point's key as JSON text.
    points: BTreeMap<String, LogPoint>,
}

impl Log {
    /// Opens or creates the measurement log of a table below `folder`. An incomplete last line, left by a killed run,
    /// is dropped. No other process can open the log until this process ends.
    ///
    /// # Errors
    ///
    /// If the path is not that of a Parquet file, if the table exists without its log, if another process has the log
    /// open, or if the log cannot be read or is malformed.
    pub fn open(folder: &Path, table: &Path, about: &About) -> Result<Self> {
        if table.extension().is_none_or(|e| e != "parquet") {
            return Err(Error::new(
                format!("{} is not the name of a table", table.display()),
                "measurements are recorded as DIR/TABLE.parquet, with a log and a sidecar beside it",
            ));
        }
        let path = table.with_extension("samples.jsonl");
        let tree = TreeFiles::at(folder)?;
        if tree.has(table)? && !tree.has(&path)? {
            return Err(Error::new(
                format!("{} exists without its log", table.display()),
                "a table is replaced only from its own log: record into another folder",
            ));
        }
        let failed = |e: std::io::Error| {
            let hint = "the log is written next to the recorded table";
            Error::caused(format!("cannot write {}", path.display()), hint, e)
        };
        tree.has(&table.with_file_name(SIDECAR))?;
        let file = tree.log(&path)?;
        file.try_lock().map_err(|_| {
            let message = format!("another process writes measurements to {}", path.display());
            Error::new(message, "wait until it ends, or record into another folder")
        })?;
        let bytes = read_open(&file, &path).map_err(failed)?;
        let whole = bytes.iter().rposition(|b| *b == b'\n').map_or(0, |end| end + 1);
        let (mut sessions, mut points) = (Vec::new(), BTreeMap::new());
        for (number, line) in bytes[..whole].split(|b| *b == b'\n').enumerate() {
            if line.is_empty() {
                continue;
            }
            match serde_json::from_slice(line) {
                Ok(LogLine::Session { session }) => sessions.push(session),
                Ok(LogLine::Point(mut point)) => {
                    point.session = sessions.len().saturating_sub(1);
                    points.insert(name(&point.key), point);
                }
                Err(e) => {
                    return Err(Error::caused(
                        format!("{} line {}", path.display(), number + 1),
                        "this is not a log of measurements; move it away to start again",
                        e,
                    ));
                }
            }
        }
        file.set_len(whole as u64).map_err(failed)?;
        let now = Session { date: today().to_string(), about: about.clone() };
        Ok(Self { tree, table: table.to_owned(), file, unwritten: Some(now), sessions, points })
    }

    /// Returns true if the log contains a measurement of the point with this key.
    pub(crate) fn has(&self, key: &Key) -> bool {
        self.points.get(&name(key)).is_some_and(|p| p.answer.is_some())
    }

    /// Adds a measured point to the log: its key and the device's answer, or the reason why there is no answer.
    ///
    /// # Errors
    ///
    /// If the point cannot be written.
    pub fn add(&mut self, key: Key, answer: &Result<Answer, Reason>) -> Result<()> {
        if let Some(session) = self.unwritten.take() {
            self.append(&LogLine::Session { session: session.clone() })?;
            self.sessions.push(session);
        }
        let session = self.sessions.len() - 1;
        let point = match answer {
            Ok(answer) => LogPoint { key, answer: Some(rounded(answer)), error: None, session },
            Err(why) => LogPoint { key, answer: None, error: Some(why.to_string()), session },
        };
        self.append(&LogLine::Point(point.clone()))?;
        self.points.insert(name(&point.key), point);
        Ok(())
    }

    fn append(&mut self, line: &LogLine) -> Result<()> {
        let failed =
            |e: std::io::Error| Error::caused("cannot write a measurement to the log", "", e);
        let mut text = serde_json::to_string(line).map_err(std::io::Error::from).map_err(failed)?;
        text.push('\n');
        self.file.seek(SeekFrom::End(0)).map_err(failed)?;
        self.file.write_all(text.as_bytes()).map_err(failed)
    }

    /// Writes the table and its entry in the sidecar.
    ///
    /// # Errors
    ///
    /// If nothing was measured, the rows do not make a table, or a file cannot be written.
    pub fn finish(&self, spec: &TableSpec, origin: &Origin<'_>) -> Result<Written> {
        let measured: Vec<&LogPoint> =
            self.points.values().filter(|p| p.answer.is_some()).collect();
        if measured.is_empty() {
            let why = self.points.values().find_map(|p| p.error.as_deref());
            return Err(Error::new(
                format!(
                    "nothing could be measured: {}",
                    why.unwrap_or("the list of points was empty")
                ),
                "the log next to the table gives the reason for each point",
            ));
        }
        let columns = rows::columns(spec, measured, &self.sessions)?;
        let bytes = table::encode(&columns)?;
        let rows = columns.first().map_or(0, |(_, c)| c.len());
        let spread = rows::spread(self.points.values().filter_map(|p| p.answer.as_ref()));
        let written =
            Written { table: self.table.clone(), rows, failed: self.points.len() - rows, spread };
        self.tree.lock()?;
        let path = self.table.with_file_name(SIDECAR);
        let before = self.tree.text(&path)?;
        let meta = sidecar::text((&path, before), origin, &self.sessions, &written, &bytes)?;
        self.tree.write(None, &[(self.table.clone(), bytes), (path, meta.into_bytes())])?;
        Ok(written)
    }
}

fn name(key: &Key) -> String {
    serde_json::to_string(key).unwrap_or_default()
}

/// Rounds times to picoseconds, power to 0.1 W and clocks to 0.1 MHz.
fn rounded(answer: &Answer) -> Answer {
    let round = |ms: &f64| if *ms < 1e-6 { *ms } else { (ms * 1e9).round() / 1e9 };
    let tenth = |v: f64| (v * 10.0).round() / 10.0;
    Answer {
        samples_ms: answer.samples_ms.iter().map(round).collect(),
        power_w: answer.power_w.map(tenth),
        clocks_mhz: answer.clocks_mhz.map(tenth),
        ..answer.clone()
    }
}
