//! The log of a run's replies, by which tables are judged again without a GPU.
//!
//! Each line is a JSON object. The first describes the device. Then follows one line per reply, with the point that
//! was asked for, and for a table during which the runner complained a line that says so.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::base::error::{Error, Result};
use crate::base::read::read_text;
use crate::base::reason::Reason;
use crate::base::stats::median;
use crate::database::catalog::TableFile;
use crate::gpu::device::{About, Answer, Complaints, Device, MeasureError, Point};
use crate::gpu::rerun::{RerunList, RerunOperation, RerunPoint, is_listed};
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
#[derive(Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub enum ReplayLine {
    /// A reply, with its point.
    Reply(Box<Replied>),
    /// Complaints while a table was measured.
    Complaints { path: String, complaints: Complaints },
    /// The device.
    Device(About),
}

/// A reply, with the point that was asked for.
#[derive(Debug, Serialize, Deserialize)]
pub struct Replied {
    /// Path of the table; logs of other programs may have only its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    table: String,
    row: u64,
    key: Map<String, Value>,
    recorded: f64,
    #[serde(default)]
    role: Role,
    /// Time in ms below which the host's launches decide the point's time.
    #[serde(default)]
    pub host_ms: f64,
    /// The row's kernel, where the key does not contain it.
    #[serde(default, skip_serializing)]
    kernel_source: Option<String>,
    reply: Reply,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(untagged)]
enum Reply {
    Failed { error: String },
    Measured(Answer),
}

impl Replied {
    /// The line for a reply.
    pub fn new(point: &Point, role: Role, host_ms: f64, answer: &Result<Answer, Reason>) -> Self {
        Self {
            path: Some(point.path.clone()),
            table: point.table().to_owned(),
            row: point.row,
            key: point.key.iter().cloned().collect(),
            recorded: point.recorded_ms,
            role,
            host_ms,
            kernel_source: None,
            reply: match answer {
                Ok(answer) => Reply::Measured(answer.clone()),
                Err(why) => Reply::Failed { error: why.to_string() },
            },
        }
    }

    /// The device's answer.
    pub fn answer(&self) -> Result<Answer, Reason> {
        match &self.reply {
            Reply::Measured(answer) => Ok(answer.clone()),
            Reply::Failed { error } => Err(error.as_str().into()),
        }
    }

    fn is_of(&self, file: &TableFile) -> bool {
        self.path.as_ref().map_or(self.table == file.table, |path| *path == file.entry.path)
    }

    /// The point in a list of points to measure.
    fn listed(&self) -> RerunPoint {
        let key = self.key.iter().filter(|(name, _)| is_listed(name));
        let mut key: BTreeMap<String, Value> = key.map(|(n, v)| (n.clone(), v.clone())).collect();
        if let Some(kernel) = &self.kernel_source {
            key.entry("kernel_source".into()).or_insert(kernel.as_str().into());
        }
        RerunPoint { key, reason: "replayed".into(), latency_ms: None, seconds: None, power: false }
    }
}

/// A log of replies that is being written.
pub struct ReplayLog(File);

impl ReplayLog {
    /// Creates the log, with the device as its first line.
    ///
    /// # Errors
    ///
    /// When the file cannot be written.
    pub fn create(path: &Path, about: &About) -> Result<Self> {
        let failed = |e| Error::caused(format!("cannot write {}", path.display()), "", e);
        let mut log = Self(File::create(path).map_err(failed)?);
        log.add(&ReplayLine::Device(about.clone()))?;
        Ok(log)
    }

    /// Appends a line.
    ///
    /// # Errors
    ///
    /// When the line cannot be written.
    pub fn add(&mut self, line: &ReplayLine) -> Result<()> {
        let text = serde_json::to_string(line).unwrap_or_default() + "\n";
        let failed = |e| Error::caused("cannot write a reply to the log", "", e);
        self.0.write_all(text.as_bytes()).map_err(failed)
    }
}

/// A log of replies that was read.
pub struct Replay {
    about: About,
    replies: Vec<Replied>,
    complaints: BTreeMap<String, Complaints>,
}

impl Replay {
    /// Reads a log. A log without a device is one of a GPU of `system`.
    ///
    /// # Errors
    ///
    /// When the file cannot be read, a line is not one of a log, or the device is not known.
    pub fn read(path: &Path, system: Option<&str>) -> Result<Self> {
        let (mut about, mut replies, mut complaints) = (None, Vec::new(), BTreeMap::new());
        let unread = |e| Error::caused(format!("cannot read {}", path.display()), "", e);
        for (number, line) in read_text(path).map_err(unread)?.lines().enumerate() {
            let bad = |e| {
                let place = format!("{} line {}", path.display(), number + 1);
                Error::caused(
                    place,
                    "`perfdb-gate remeasure --log FILE` writes a log of replies",
                    e,
                )
            };
            match serde_json::from_str(line).map_err(bad)? {
                ReplayLine::Device(device) => about = Some(device),
                ReplayLine::Reply(reply) => replies.push(*reply),
                ReplayLine::Complaints { path, complaints: own } => {
                    complaints.insert(path, own);
                }
            }
        }
        // A system's name is accepted for the name of its device.
        let named = |name: &str| About { name: name.to_owned(), ..About::default() };
        let about = about.or_else(|| system.map(named)).ok_or_else(|| {
            let hint = "name the system of its GPU: --system h100_sxm";
            Error::new(format!("{} does not state its device", path.display()), hint)
        })?;
        Ok(Self { about, replies, complaints })
    }

    /// The points of tables as a list to measure.
    ///
    /// # Errors
    ///
    /// When the points of a table have different columns.
    pub fn list<'t>(&self, files: impl Iterator<Item = &'t TableFile>) -> Result<RerunList> {
        let mut operations = Vec::new();
        for file in files {
            let points: Vec<RerunPoint> = self.points(file).map(Replied::listed).collect();
            let place = &file.place;
            let operation = RerunOperation {
                system: place.system.clone(),
                family: place.family.clone().unwrap_or_default(),
                backend: place.backend.clone(),
                version: place.version.clone(),
                table: file.table.clone(),
                path: Some(file.entry.path.clone()),
                seconds: None,
                collect: Vec::new(),
                sweep: None,
                points,
            };
            if !operation.points.is_empty() {
                let bad = |why: Reason| Error::new(format!("{} in the log: {why}", file.table), "");
                operation.rows().map_err(bad)?;
                operations.push(operation);
            }
        }
        Ok(RerunList::new("replies of a log".into(), operations))
    }

    /// Returns true if a reply names the path of a table.
    pub fn names(&self, file: &TableFile) -> bool {
        self.replies.iter().any(|reply| reply.path.as_ref() == Some(&file.entry.path))
    }

    /// The replies about a table's points, in the order of the list.
    pub fn points<'a>(&'a self, file: &TableFile) -> impl Iterator<Item = &'a Replied> {
        self.all(file).filter(|reply| reply.role == Role::Point)
    }

    /// The replies about a table, in their order.
    pub fn all<'a>(&'a self, file: &TableFile) -> impl Iterator<Item = &'a Replied> {
        self.replies.iter().filter(|reply| reply.is_of(file))
    }

    /// Times in ms of each control point of a table, one per pass.
    pub fn controls(&self, file: &TableFile) -> Vec<Vec<f64>> {
        let mut passes: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
        for reply in self.all(file).filter(|reply| reply.role == Role::Control) {
            let times = reply.answer().map(|answer| median(&answer.samples_ms));
            passes.entry(reply.row).or_default().extend(times);
        }
        passes.into_values().collect()
    }

    /// The runner's complaints while a table was measured.
    pub fn complaints(&self, file: &TableFile) -> Complaints {
        self.complaints.get(&file.entry.path).cloned().unwrap_or_default()
    }
}

impl Device for Replay {
    fn about(&self) -> &About {
        &self.about
    }

    fn takes(&self, _: Option<&Work>) -> bool {
        true
    }

    /// Always false: the replies state any difference.
    fn stands_in(&self, _: &Work) -> bool {
        false
    }

    fn measure(&mut self, _: &Point) -> Result<Answer, MeasureError> {
        Err(Reason::from("a log of replies measures nothing").into())
    }
}
