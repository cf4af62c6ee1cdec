//! The log of a run's replies, by which tables are judged again without a GPU.
//!
//! Each line is a JSON object. The first describes the device. Then follows one line per reply, with the point that
//! was asked for, and one line for each table during which the runner wrote errors or warnings.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::base::error::{Error, Result};
use crate::base::read::read_text;
use crate::base::reason::Reason;
use crate::base::stats::median;
use crate::database::catalog::TableFile;
use crate::gpu::device::{About, Answer, Complaints, Device, MeasureError, Point};
use crate::gpu::rerun::{RerunList, RerunOperation, is_listed};
use crate::gpu::work::Work;

/// The reason for which a device was asked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// To compare the point with its row.
    #[default]
    Point,
    /// To see whether the device drifts.
    Control,
    /// To wake the card; the answer does not count.
    Waking,
}

/// A line of a log of replies.
#[derive(Deserialize)]
#[serde(untagged)]
enum Line {
    Reply(Box<Replied>),
    Complaints { path: String, complaints: Complaints },
    Device(About),
}

/// A reply, with the point that was asked for.
#[derive(Deserialize)]
pub struct Replied {
    /// Path of the table; logs of other programs may have only its name.
    path: Option<String>,
    table: String,
    row: u64,
    key: BTreeMap<String, Value>,
    /// The row's kernel, where the key does not contain it.
    kernel_source: Option<String>,
    /// The reason for the request.
    #[serde(default)]
    pub role: Role,
    /// Time in ms below which the host's launches decide the point's time.
    #[serde(default)]
    pub host_ms: f64,
    reply: Reply,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Reply {
    Failed { error: String },
    Measured(Answer),
}

impl Replied {
    /// The line for a reply.
    pub fn line(point: &Point, role: Role, host_ms: f64, answer: &Result<Answer, Reason>) -> Value {
        let key: BTreeMap<_, _> = point.key.iter().cloned().collect();
        let reply = match answer {
            Ok(answer) => json!(answer),
            Err(why) => json!({"error": why.to_string()}),
        };
        json!({"path": point.path, "table": point.table(), "row": point.row, "key": key,
               "recorded": point.recorded_ms, "role": role, "host_ms": host_ms, "reply": reply})
    }

    /// The device's answer.
    pub fn answer(&self) -> Result<Answer, Reason> {
        match &self.reply {
            Reply::Measured(answer) => Ok(answer.clone()),
            Reply::Failed { error } => Err(error.as_str().into()),
        }
    }
}

/// Creates a log, with the device as its first line.
///
/// # Errors
///
/// When the file cannot be written.
pub fn create(path: &Path, about: &About) -> Result<File> {
    let failed = |e| Error::caused(format!("cannot write {}", path.display()), "", e);
    let mut log = File::create(path).map_err(failed)?;
    write(&mut log, &json!(about))?;
    Ok(log)
}

/// Appends a line to a log.
///
/// # Errors
///
/// When the line cannot be written.
pub fn write(log: &mut File, line: &Value) -> Result<()> {
    let failed = |e| Error::caused("cannot write a reply to the log", "", e);
    log.write_all(format!("{line}\n").as_bytes()).map_err(failed)
}

/// A log of replies that was read.
pub struct Replay {
    about: About,
    replies: Vec<Replied>,
    /// Errors and warnings by the path of the table.
    pub complaints: BTreeMap<String, Complaints>,
}

impl Replay {
    /// Reads a log. A log without a device is one of a GPU of `system`.
    ///
    /// # Errors
    ///
    /// When the file cannot be read, a line is not one of a log, or the device is not known.
    pub fn read(path: &Path, system: Option<&str>) -> Result<Self> {
        // A system's name is accepted for the name of its device.
        let mut about = system.map(|name| About { name: name.to_owned(), ..About::default() });
        let (mut replies, mut complaints) = (Vec::new(), BTreeMap::new());
        let bad = |why: &dyn std::error::Error| {
            let hint = "`perfdb-gate remeasure --log FILE` writes a log of replies";
            Error::new(format!("{}: {why}", path.display()), hint)
        };
        for line in read_text(path).map_err(|e| bad(&e))?.lines() {
            match serde_json::from_str(line).map_err(|e| bad(&e))? {
                Line::Device(device) => about = Some(device),
                Line::Reply(reply) => replies.push(*reply),
                Line::Complaints { path, complaints: own } => drop(complaints.insert(path, own)),
            }
        }
        let about = about.ok_or_else(|| {
            let hint = "name the system of its GPU: --system h100_sxm";
            Error::new(format!("{} does not state its device", path.display()), hint)
        })?;
        Ok(Self { about, replies, complaints })
    }

    /// The points of tables as a list to measure.
    ///
    /// # Errors
    ///
    /// When the points of a table do not make a list.
    pub fn list<'t>(&self, files: impl Iterator<Item = &'t TableFile>) -> Result<RerunList> {
        let mut operations = Vec::new();
        for file in files {
            let mut points = Vec::new();
            for reply in self.of(file).iter().filter(|reply| reply.role == Role::Point) {
                let mut key = reply.key.clone();
                let kernel = reply.kernel_source.iter().cloned();
                key.extend(kernel.map(|kernel| ("kernel_source".to_owned(), kernel.into())));
                key.retain(|name, _| is_listed(name));
                points.push(json!({"key": key, "reason": "replayed"}));
            }
            if points.is_empty() {
                continue;
            }
            let bad = |why: Reason| Error::new(format!("{} in the log: {why}", file.table), "");
            let place = &file.place;
            let operation = json!({"system": place.system, "family": place.family.as_deref().unwrap_or_default(),
                "backend": place.backend, "version": place.version, "table": file.table, "points": points});
            let operation: RerunOperation =
                serde_json::from_value(operation).map_err(|e| bad(e.into()))?;
            operation.rows().map_err(bad)?;
            operations.push(operation);
        }
        Ok(RerunList::new("replies of a log".into(), operations))
    }

    /// Returns true if a reply names the path of a table.
    pub fn names(&self, file: &TableFile) -> bool {
        self.replies.iter().any(|reply| reply.path.as_ref() == Some(&file.entry.path))
    }

    /// The replies about a table, in their order.
    pub fn of(&self, file: &TableFile) -> Vec<&Replied> {
        let is_own = |r: &&Replied| match &r.path {
            Some(path) => *path == file.entry.path,
            None => r.table == file.table,
        };
        self.replies.iter().filter(is_own).collect()
    }
}

/// Times in ms of each control point, one per pass.
pub fn controls(replies: &[&Replied]) -> Vec<Vec<f64>> {
    let mut passes: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
    for reply in replies.iter().filter(|reply| reply.role == Role::Control) {
        let times = reply.answer().map(|answer| median(&answer.samples_ms));
        passes.entry(reply.row).or_default().extend(times);
    }
    passes.into_values().collect()
}

impl Device for Replay {
    fn about(&self) -> &About {
        &self.about
    }

    /// Always false: the replies state any difference.
    fn stands_in(&self, _: &Work) -> bool {
        false
    }

    fn measure(&mut self, _: &Point) -> Result<Answer, MeasureError> {
        Err(Reason::from("a log of replies measures nothing").into())
    }

    fn notes(&self) -> Vec<String> {
        vec!["Nothing was measured now: the replies of a log are judged again".to_owned()]
    }
}
