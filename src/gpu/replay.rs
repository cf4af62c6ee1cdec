//! The log of a run's replies, from which tables can be judged again without a GPU.
//!
//! Each line is a JSON object. The first line describes the device. The next lines are the replies, each with its
//! point. After the replies of a table, one line contains the runner's complaints and the slices that the points were
//! drawn from.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write;
use std::path::Path;

use serde::Deserialize;
use serde_json::{Value, json};

use crate::base::error::{Error, Reason, Result};
use crate::base::read::read_text;
use crate::base::stats::median;
use crate::database::catalog::TableFile;
use crate::gpu::device::{About, Answer, Complaints, Device, MeasureError, Point};
use crate::gpu::points::MeasurablePoints;
use crate::gpu::rerun::is_listed;
use crate::gpu::work::Work;

/// A log line about a whole table. It follows the replies about the table's points.
#[derive(Deserialize)]
pub struct LoggedTable {
    path: String,
    /// Errors and warnings that the runner wrote while the table was measured.
    pub complaints: Complaints,
    /// Number of rows in each slice, including rows that were not drawn for measurement. Empty in older logs.
    #[serde(default)]
    pub slices: BTreeMap<String, usize>,
}

/// An entry of a log: a point with the device's reply.
#[derive(Deserialize)]
pub(crate) struct Replied {
    /// Path of the table; `None` in logs of other programs, which state only the table's name.
    path: Option<String>,
    table: String,
    row: u64,
    key: BTreeMap<String, Value>,
    /// The row's kernel, if the log states it outside of the key. It is moved to `key` when the log is read.
    kernel_source: Option<Value>,
    /// True if the point is a control point, which is measured several times to find drift.
    #[serde(default)]
    pub control: bool,
    /// The threshold in ms below which the point's recorded time is launch-bound: determined by the host's kernel
    /// launches and not by the GPU.
    #[serde(default)]
    pub host_ms: f64,
    reply: Value,
}

impl Replied {
    /// Returns the device's answer, or the reason why there is none.
    pub(crate) fn answer(&self) -> Result<Answer, Reason> {
        match self.reply.get("error").and_then(Value::as_str) {
            Some(why) => Err(why.into()),
            None => Ok(serde_json::from_value(self.reply.clone())?),
        }
    }
}

/// Appends a line to the log. Does nothing if `log` is `None`.
///
/// # Errors
///
/// If the line cannot be written.
pub(crate) fn write(log: &mut Option<File>, line: &Value) -> Result<()> {
    let failed = |e| Error::caused("cannot write a reply to the log", "", e);
    log.iter_mut().try_for_each(|log| log.write_all(format!("{line}\n").as_bytes()).map_err(failed))
}

/// Returns the log line that records a device's answer to a point.
pub(crate) fn line(
    point: &Point,
    control: bool,
    host_ms: f64,
    answer: &Result<Answer, Reason>,
) -> Value {
    let key: BTreeMap<_, _> = point.key.iter().cloned().collect();
    let failed = |why: &Reason| json!({"error": why.to_string()});
    let reply = answer.as_ref().map_or_else(failed, |answer| json!(answer));
    json!({"path": point.path, "table": point.table(), "row": point.row, "key": key,
           "recorded": point.recorded_ms, "control": control, "host_ms": host_ms, "reply": reply})
}

/// A log of replies that is judged again without measuring.
pub struct Replay {
    about: About,
    replies: Vec<Replied>,
    /// True if the last line of the log was cut off, because the run was killed.
    is_cut: bool,
    /// The log lines about whole tables, by the table's path.
    pub tables: BTreeMap<String, LoggedTable>,
}

impl Replay {
    /// Reads a log. If the log does not describe the device, the device is assumed to be a GPU of `system`.
    ///
    /// # Errors
    ///
    /// If the file cannot be read, if a line is malformed, if there is no reply, or if the device is unknown.
    pub fn read(path: &Path, system: Option<&str>) -> Result<Self> {
        // The name of a system is accepted in place of a device's name.
        let mut about = system.map(|name| About { name: name.to_owned(), ..About::default() });
        let (mut replies, mut tables) = (Vec::new(), BTreeMap::new());
        let bad = |why: &str| {
            let hint =
                "`remeasure --log FILE` writes a log; --system names the GPU of a log without one";
            Error::new(format!("{}: {why}", path.display()), hint)
        };
        let text = read_text(path).map_err(|e| bad(&e.to_string()))?;
        // A line is written at once, with its end, so a line without an end is incomplete.
        let (whole, cut) = text.rsplit_once('\n').unwrap_or(("", &text));
        for (number, line) in whole.lines().enumerate() {
            let bad = |why: serde_json::Error| bad(&format!("line {}: {why}", number + 1));
            let value: Value = serde_json::from_str(line).map_err(bad)?;
            if value.get("reply").is_some() {
                let mut reply: Replied = serde_json::from_value(value).map_err(bad)?;
                let kernel = reply.kernel_source.take();
                reply.key.extend(kernel.map(|kernel| ("kernel_source".to_owned(), kernel)));
                reply.key.retain(|name, _| is_listed(name));
                replies.push(reply);
            } else if value.get("complaints").is_some() {
                let table: LoggedTable = serde_json::from_value(value).map_err(bad)?;
                tables.insert(table.path.clone(), table);
            } else {
                about = Some(serde_json::from_value(value).map_err(bad)?);
            }
        }
        if replies.is_empty() {
            return Err(bad("it has no whole line with a reply"));
        }
        let about = about.ok_or_else(|| bad("it does not state a device"))?;
        Ok(Self { about, replies, tables, is_cut: !cut.is_empty() })
    }

    /// Returns true if the log has a reply with the path of this table.
    pub(crate) fn names(&self, file: &TableFile) -> bool {
        self.replies.iter().any(|reply| reply.path.as_ref() == Some(&file.entry.path))
    }

    /// Returns the replies about a table, in the order of the log.
    pub(crate) fn of(&self, file: &TableFile) -> Vec<&Replied> {
        let is_own = |reply: &&Replied| {
            reply.path.as_ref().map_or(reply.table == file.table, |path| *path == file.entry.path)
        };
        self.replies.iter().filter(is_own).collect()
    }

    /// Finds the rows of a table for which the log has a reply. Maps each row number to the index of its reply in the
    /// list that [`Self::of`] returns.
    pub(crate) fn rows(
        &self,
        file: &TableFile,
        points: &MeasurablePoints<'_>,
    ) -> BTreeMap<u64, usize> {
        let replies = self.of(file);
        let names: Vec<&String> = replies.first().iter().flat_map(|r| r.key.keys()).collect();
        let texts = |value: &dyn Fn(&str) -> Option<Value>| -> Vec<String> {
            names.iter().map(|name| value(name).unwrap_or_default().to_string()).collect()
        };
        let asked = replies.iter().enumerate().filter(|(_, reply)| !reply.control);
        let asked: BTreeMap<Vec<String>, usize> =
            asked.map(|(at, r)| (texts(&|name| r.key.get(name).cloned()), at)).collect();
        let found = |row| Some((row as u64, *asked.get(&texts(&|name| points.value(row, name)))?));
        points.rows().into_iter().filter_map(found).collect()
    }
}

/// Returns, for each control point, the times of its repeated measurements in ms.
pub(crate) fn controls(replies: &[&Replied]) -> Vec<Vec<f64>> {
    let mut passes: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
    for reply in replies.iter().filter(|reply| reply.control) {
        let times = reply.answer().map(|answer| median(&answer.samples_ms));
        passes.entry(reply.row).or_default().extend(times);
    }
    passes.into_values().collect()
}

impl Device for Replay {
    fn about(&self) -> &About {
        &self.about
    }

    /// Always returns false. Instead, each reply in the log states whether another kernel than the recorded one was
    /// measured.
    fn is_proxy_for(&self, _: &Work) -> bool {
        false
    }

    fn measure(&mut self, _: &Point) -> Result<Answer, MeasureError> {
        Err(Reason::from("a log of replies measures nothing").into())
    }

    fn notes(&self) -> Vec<String> {
        let cut = self.is_cut.then_some("the last line of the log is incomplete and was left out");
        let again = "nothing was measured now: the replies of a log are judged again";
        std::iter::once(again).chain(cut).map(str::to_owned).collect()
    }
}
