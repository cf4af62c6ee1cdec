//! A merge in the sidecar beside its table: an event of schema 2, a dated comment in one of schema 1,
//! which has no place for events.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Value, json};
use serde_yaml::Spanned;

use crate::base::yaml;
use crate::jobs::repair::SidecarError;

/// What a merge leaves in a sidecar.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergeEvent {
    /// File stem of the table.
    pub table: String,
    /// Day, UTC, as YYYY-MM-DD.
    pub date: String,
    /// What was done, in a sentence.
    pub said: String,
    /// Rows that the run brought.
    pub rows: usize,
    /// Whether all that was to be measured is among them.
    pub complete: bool,
    /// Digest of the keys that were merged.
    pub keys: String,
    /// The collector's commit and digest, as the run's own sidecar states them.
    pub collector: Option<(String, String)>,
}

#[derive(Deserialize)]
struct TableEntries {
    schema_version: i64,
    tables: BTreeMap<String, Spanned<Value>>,
}

#[derive(Deserialize)]
struct MultiEventSidecar {
    tables: BTreeMap<String, MultiEventTable>,
}

#[derive(Deserialize)]
struct MultiEventTable {
    #[serde(default)]
    collections: Vec<Spanned<Value>>,
}

/// The sidecar's text with the event; none where it says nothing of the table.
///
/// # Errors
///
/// When it is not a sidecar, or the event cannot be added without changing what else it says.
pub fn with_event(text: &str, event: &MergeEvent) -> Result<Option<String>, SidecarError> {
    let sidecar: TableEntries = yaml::parse(text)?;
    let Some(entry) = sidecar.tables.get(&event.table) else { return Ok(None) };
    let (new, wanted) = match sidecar.schema_version {
        1 => (commented(text, entry.referenced.line() as usize, event), yaml::parse(text)?),
        2 => {
            let mut wanted: Value = yaml::parse(text)?;
            let events = wanted["tables"][&event.table]["collections"].as_array_mut();
            events.ok_or(SidecarError::Elsewhere)?.push(event.json());
            (listed(text, event)?, wanted)
        }
        other => return Err(crate::base::reason::Reason::from(unknown(other)).into()),
    };
    let now: Value = yaml::parse(&new)?;
    if now == wanted { Ok(Some(new)) } else { Err(SidecarError::NotAlone) }
}

fn unknown(schema: i64) -> String {
    format!("schema_version is {schema}, not 1 or 2")
}

/// The text with a comment above the first line of an entry, as far to the right.
fn commented(text: &str, line: usize, event: &MergeEvent) -> String {
    let mut lines: Vec<String> = text.split_inclusive('\n').map(str::to_owned).collect();
    let at = line.saturating_sub(1).min(lines.len());
    let indent = lines.get(at).map_or("", |l| leading(l)).to_owned();
    let words = format!("{}: {}", event.date, event.said);
    let comment: String = wrapped(&words, 96).iter().map(|l| format!("{indent}# {l}\n")).collect();
    lines.insert(at, comment);
    lines.concat()
}

/// The text with the event below the last one of its table.
fn listed(text: &str, event: &MergeEvent) -> Result<String, SidecarError> {
    let sidecar: MultiEventSidecar = yaml::parse(text)?;
    let last = sidecar.tables.get(&event.table).and_then(|t| t.collections.last());
    let last = last.ok_or(SidecarError::Elsewhere)?.referenced;
    let mut lines: Vec<String> = text.split_inclusive('\n').map(str::to_owned).collect();
    let start = (last.line() as usize).saturating_sub(1);
    let first = lines.get(start).ok_or(SidecarError::Elsewhere)?;
    let column = (last.column() as usize).saturating_sub(1);
    let prefix: String = first.chars().take(column).collect();
    // A list in one line has no line of its own to go below.
    if prefix.trim() != "-" {
        return Err(SidecarError::Elsewhere);
    }
    let inside = |line: &String| leading(line).len() >= column || line.trim().is_empty();
    let mut end = start + 1 + lines[start + 1..].iter().take_while(|l| inside(l)).count();
    while end > start + 1 && lines[end - 1].trim().is_empty() {
        end -= 1;
    }
    if let Some(before) = lines.get_mut(end - 1).filter(|l| !l.ends_with('\n')) {
        before.push('\n');
    }
    let fields = event.fields();
    let field = |(i, (name, value)): (usize, &(&str, String))| {
        let lead = if i == 0 { prefix.clone() } else { " ".repeat(column) };
        format!("{lead}{name}: {value}\n")
    };
    lines.insert(end, fields.iter().enumerate().map(field).collect());
    Ok(lines.concat())
}

fn leading(line: &str) -> &str {
    &line[..line.len() - line.trim_start_matches(' ').len()]
}

/// Words in lines of at most this many characters.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let line = lines.last_mut().filter(|l| l.is_empty() || l.len() + word.len() < width);
        match line {
            Some(line) if line.is_empty() => line.push_str(word),
            Some(line) => *line += &format!(" {word}"),
            None => lines.push(word.to_owned()),
        }
    }
    lines
}

impl MergeEvent {
    fn collector(&self) -> (&str, &str) {
        const UNKNOWN: &str = "unknown";
        self.collector.as_ref().map_or((UNKNOWN, UNKNOWN), |(commit, hash)| (commit, hash))
    }

    fn status(&self) -> &'static str {
        if self.complete { "complete" } else { "partial" }
    }

    /// The event as the collectors write one: the fields in their order.
    fn json(&self) -> Value {
        let (commit, hash) = self.collector();
        json!({
            "collector_ref": commit, "collector_hash": hash,
            "case_plan_hash": format!("sha256:{}", self.keys), "collected_at": self.date,
            "rows": self.rows, "status": self.status(),
        })
    }

    fn fields(&self) -> [(&'static str, String); 6] {
        // A quoted text is no number and no date, whoever reads it.
        let quoted = |text: &str| format!("'{}'", text.replace('\'', "''"));
        let (commit, hash) = self.collector();
        [
            ("collector_ref", quoted(commit)),
            ("collector_hash", quoted(hash)),
            ("case_plan_hash", quoted(&format!("sha256:{}", self.keys))),
            ("collected_at", quoted(&self.date)),
            ("rows", self.rows.to_string()),
            ("status", self.status().to_owned()),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event() -> MergeEvent {
        MergeEvent {
            table: "gemm_perf".into(),
            date: "2017-08-17".into(),
            said: "merge: 2 keys replaced".into(),
            rows: 2,
            complete: true,
            keys: "00ff".into(),
            collector: None,
        }
    }

    const ONE: &str = "schema_version: 1\nruntime: {framework: vllm, version: 0.24.0}\ntables:\n";

    #[test]
    fn schema_1_gets_a_comment_where_maintainers_write_theirs() {
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
    fn schema_2_gets_an_event() {
        let two = "schema_version: 2\nruntime: {framework: vllm, version: 0.24.0}\ntables:\n  gemm_perf:\n    rows: 9\n    status: complete\n    collections:\n    - collector_ref: 'a'\n      collector_hash: 'b'\n      case_plan_hash: 'c'\n      collected_at: '2017-01-01'\n      rows: 9\n      status: complete\n  moe_perf:\n    rows: 1\n";
        let new = with_event(two, &event()).unwrap().unwrap();
        let added = "    - collector_ref: 'unknown'\n      collector_hash: 'unknown'\n      case_plan_hash: 'sha256:00ff'\n      collected_at: '2017-08-17'\n      rows: 2\n      status: complete\n";
        assert_eq!(new, two.replace("  moe_perf:", &format!("{added}  moe_perf:")));
        // Where the file ends with the list, and without a line's end.
        let short = two.split("  moe_perf").next().unwrap().trim_end();
        assert_eq!(with_event(short, &event()).unwrap().unwrap(), format!("{short}\n{added}"));
        let flow = "schema_version: 2\ntables: {gemm_perf: {collections: [{rows: 1}]}}\n";
        assert!(with_event(flow, &event()).is_err());
        assert!(with_event("schema_version: 3\ntables: {gemm_perf: {}}\n", &event()).is_err());
    }
}
