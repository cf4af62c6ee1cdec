//! Records a merge in the table's sidecar: as an event in schema 2, or as a dated comment in schema
//! 1, which has no events.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Value, json};
use serde_yaml::Spanned;

use crate::base::error::Reason;
use crate::base::yaml;
use crate::jobs::repair::SidecarError;

/// An entry in a sidecar that records one merge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct MergeEvent {
    /// The table's file stem.
    pub(super) table: String,
    /// The day of the merge in UTC, as YYYY-MM-DD.
    pub(super) date: String,
    /// A sentence about the merge for people.
    pub(super) sentence: String,
    /// Number of rows that the table takes from the run.
    pub(super) rows: usize,
    /// True if the run measured all planned points.
    pub(super) complete: bool,
    /// Digest of the merged keys.
    pub(super) keys: String,
    /// The commit and the digest of the collector, from the sidecar beside the run's files. `None` if that sidecar
    /// lacks one of the two.
    pub(super) collector: Option<(String, String)>,
}

#[derive(Deserialize)]
struct EventSidecar {
    schema_version: i64,
    tables: BTreeMap<String, Spanned<EventTable>>,
}

#[derive(Deserialize)]
struct EventTable {
    #[serde(default)]
    collections: Vec<Spanned<Value>>,
}

/// Records a merge in the text of a sidecar, and returns the new text. Returns `None` if the sidecar does not mention
/// the table. If the merge is already recorded, the text is returned unchanged.
///
/// # Errors
///
/// Returns an error if the text is not a sidecar, or if the event cannot be added without changing
/// another value.
pub(super) fn with_event(text: &str, event: &MergeEvent) -> Result<Option<String>, SidecarError> {
    let sidecar: EventSidecar = yaml::parse(text)?;
    let Some(entry) = sidecar.tables.get(&event.table) else { return Ok(None) };
    let mut wanted: Value = yaml::parse(text)?;
    let new = match sidecar.schema_version {
        1 => commented(text, entry.referenced.line() as usize, event),
        2 => {
            let last = entry.value.collections.last().ok_or(SidecarError::Elsewhere)?;
            let json: Value = event.fields().into_iter().collect();
            if last.value == json {
                return Ok(Some(text.to_owned()));
            }
            let events = wanted["tables"][&event.table]["collections"].as_array_mut();
            events.ok_or(SidecarError::Elsewhere)?.push(json);
            listed(text, last, event)?
        }
        other => {
            let why = format!("schema_version is {other}, not 1 or 2");
            return Err(Reason::from(why).into());
        }
    };
    let now: Value = yaml::parse(&new)?;
    if now == wanted { Ok(Some(new)) } else { Err(SidecarError::NotAlone) }
}

/// Inserts the event as a comment above the first line of a table's entry, with the indentation of that line.
fn commented(text: &str, line: usize, event: &MergeEvent) -> String {
    let mut lines: Vec<String> = text.split_inclusive('\n').map(str::to_owned).collect();
    let at = line.saturating_sub(1).min(lines.len());
    let indent = lines.get(at).map_or("", |l| leading(l)).to_owned();
    let words = format!("{}: {}", event.date, event.sentence);
    let comment: String =
        textwrap::wrap(&words, 96).iter().map(|l| format!("{indent}# {l}\n")).collect();
    if text.contains(&comment) {
        return text.to_owned();
    }
    lines.insert(at, comment);
    lines.concat()
}

/// Appends a merge to the list `collections` of a table in the text of a sidecar. `last` is the list's last entry.
/// Returns the new text.
fn listed(text: &str, last: &Spanned<Value>, event: &MergeEvent) -> Result<String, SidecarError> {
    let mut lines: Vec<String> = text.split_inclusive('\n').map(str::to_owned).collect();
    let start = (last.referenced.line() as usize).saturating_sub(1);
    let first = lines.get(start).ok_or(SidecarError::Elsewhere)?;
    let column = (last.referenced.column() as usize).saturating_sub(1);
    let prefix: String = first.chars().take(column).collect();
    // A list on a single line has no place for another line.
    if prefix.trim() != "-" {
        return Err(SidecarError::Elsewhere);
    }
    let inside = |line: &String| leading(line).len() >= column || line.trim().is_empty();
    let mut end = start + 1 + lines[start + 1..].iter().take_while(|l| inside(l)).count();
    while lines[end - 1].trim().is_empty() {
        end -= 1;
    }
    if !lines[end - 1].ends_with('\n') {
        lines[end - 1].push('\n');
    }
    let mut lead = prefix;
    for (name, value) in event.fields() {
        // Quotes keep a text from being read as a number or a date.
        let shown = match value {
            Value::String(text) if name != "status" => format!("'{}'", text.replace('\'', "''")),
            Value::String(text) => text,
            number => number.to_string(),
        };
        lines.insert(end, format!("{lead}{name}: {shown}\n"));
        (end, lead) = (end + 1, " ".repeat(column));
    }
    Ok(lines.concat())
}

fn leading(line: &str) -> &str {
    &line[..line.len() - line.trim_start_matches(' ').len()]
}

impl MergeEvent {
    /// Returns the names and values of the event's fields, as collectors write them.
    fn fields(&self) -> [(String, Value); 6] {
        let unknown = || ("unknown".to_owned(), "unknown".to_owned());
        let (commit, hash) = self.collector.clone().unwrap_or_else(unknown);
        let status = if self.complete { "complete" } else { "partial" };
        [
            ("collector_ref", json!(commit)),
            ("collector_hash", json!(hash)),
            ("case_plan_hash", json!(format!("sha256:{}", self.keys))),
            ("collected_at", json!(self.date)),
            ("rows", json!(self.rows)),
            ("status", json!(status)),
        ]
        .map(|(name, value)| (name.to_owned(), value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event() -> MergeEvent {
        MergeEvent {
            table: "gemm_perf".into(),
            date: "2017-08-17".into(),
            sentence: "merge: 2 keys replaced".into(),
            rows: 2,
            complete: true,
            keys: "00ff".into(),
            collector: None,
        }
    }

    const ONE: &str = "schema_version: 1\nruntime: {framework: vllm, version: 0.24.0}\ntables:\n";

    #[test]
    fn a_merge_into_a_sidecar_of_schema_1_adds_a_comment_at_the_table_s_entry() {
        let text = format!(
            "{ONE}  gemm_perf:\n    # before\n    status: complete\n  moe_perf: {{status: complete}}\n"
        );
        let new = with_event(&text, &event()).unwrap().unwrap();
        let wanted = text.replace(
            "    status: complete\n",
            "    # 2017-08-17: merge: 2 keys replaced\n    status: complete\n",
        );
        assert_eq!(new, wanted);
        let flow = format!("{ONE}  gemm_perf: {{status: complete}}\n");
        let new = with_event(&flow, &event()).unwrap().unwrap();
        assert!(new.contains("  # 2017-08-17: merge: 2 keys replaced\n  gemm_perf: {"), "{new}");
        assert_eq!(with_event(&format!("{ONE}  moe_perf: {{}}\n"), &event()).unwrap(), None);
    }

    #[test]
    fn a_merge_into_a_sidecar_of_schema_2_adds_an_event() {
        let two = "schema_version: 2\nruntime: {framework: vllm, version: 0.24.0}\ntables:\n  gemm_perf:\n    rows: 9\n    status: complete\n    collections:\n    - collector_ref: 'a'\n      collector_hash: 'b'\n      case_plan_hash: 'c'\n      collected_at: '2017-01-01'\n      rows: 9\n      status: complete\n  moe_perf:\n    rows: 1\n";
        let new = with_event(two, &event()).unwrap().unwrap();
        let added = "    - collector_ref: 'unknown'\n      collector_hash: 'unknown'\n      case_plan_hash: 'sha256:00ff'\n      collected_at: '2017-08-17'\n      rows: 2\n      status: complete\n";
        assert_eq!(new, two.replace("  moe_perf:", &format!("{added}  moe_perf:")));
        // The file ends with the list and without a line break.
        let short = two.split("  moe_perf").next().unwrap().trim_end();
        assert_eq!(with_event(short, &event()).unwrap().unwrap(), format!("{short}\n{added}"));
        let flow = "schema_version: 2\ntables: {gemm_perf: {collections: [{rows: 1}]}}\n";
        assert!(with_event(flow, &event()).is_err());
        assert!(with_event("schema_version: 3\ntables: {gemm_perf: {}}\n", &event()).is_err());
    }
}
