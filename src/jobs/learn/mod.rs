//! Learns a spec of a table from the rows of its files, for jobs that meet a table without one, and renders it as YAML
//! for `rules/tables/<family>.yaml`.

mod learned;

use self::learned::LearnedColumn;
pub(super) use self::learned::LearnedTable;
use crate::base::error::{Error, Result};
use crate::base::escape::clean;
use crate::base::words::{count, plural};
use crate::specs;
use crate::specs::{ColumnKind, IDENTITY, KeyPart};

/// Renders a learned spec as YAML for `rules/tables/`; `unread` names files that were not read.
///
/// # Errors
///
/// Returns an error if no column is named like a latency.
pub(super) fn yaml(learned: &LearnedTable<'_>, unread: &[String]) -> Result<String> {
    if learned.latencies().is_empty() {
        let message = format!("no column of {} looks like a latency", learned.name);
        return Err(Error::new(message, "name the column latency, *_ms or *_us"));
    }
    let text = render(learned, unread);
    // The YAML must be valid for --rules.
    specs::check_tables(&text)?;
    Ok(text)
}

/// Renders a learned spec as YAML, with comments on the lines that the user should check.
fn render(learned: &LearnedTable<'_>, unread: &[String]) -> String {
    let mut out = String::new();
    let read = format!("{} of {}", plural(learned.rows, "row"), plural(learned.files, "file"));
    out += &format!("# Learned from {read}: check each line against the loader of the table.\n");
    let name = learned.name;
    if learned.specs.tables.contains_key(name) {
        out += &format!("# A spec of {name} exists already; this one would replace it.\n");
    }
    for why in unread {
        out += &format!("# Not read: {}\n", comment(why));
    }
    out += &format!("family: {}\ntables:\n  {}:\n", quoted(&learned.family), quoted(learned.name));
    out += "    about: \"To do: describe the content.\"\n";
    write_identity(&mut out, learned);
    out += "    columns:\n";
    for column in learned.columns.iter().filter(|c| !c.is_identity()) {
        out += &format!("      {}: {}\n", quoted(&column.name), kind(column, learned.files));
    }
    write_key(&mut out, learned);
    out += "    # Which row of a repeated key its loader serves: first, last or error.\n";
    out += "    serves: first\n";
    write_latency(&mut out, learned);
    write_zero(&mut out, learned);
    write_sweep(&mut out, learned);
    if learned.peers_never_fill {
        out += "    # No known table of its family takes rows of other versions.\n";
        out += "    shared: false\n";
    }
    out
}

fn write_identity(out: &mut String, learned: &LearnedTable<'_>) {
    let has = |name: &&&str| learned.columns.iter().any(|c| c.name == **name);
    let there: Vec<&str> = IDENTITY.iter().filter(has).copied().collect();
    if there.len() < IDENTITY.len() {
        *out += &format!("    identity: [{}]\n", there.join(", "));
    }
}

fn write_key(out: &mut String, learned: &LearnedTable<'_>) {
    let key = learned.key();
    *out += "    key:\n";
    for column in &key {
        let note = match &column.constant {
            Some(value) => format!(" # always {}", comment(value)),
            None => String::new(),
        };
        *out += &format!("      - {}{note}\n", quoted(&column.name));
    }
    if key.is_empty() {
        *out += "      - op_name # no column distinguishes its rows\n";
    }
    let left_out = |c: &&LearnedColumn| {
        c.unit().is_none() && !c.is_identity() && !key.iter().any(|k| k.name == c.name)
    };
    let left_out: Vec<String> =
        learned.columns.iter().filter(left_out).map(|c| comment(&c.name)).collect();
    if !left_out.is_empty() {
        *out += &format!("    # Not in the key: {}.\n", left_out.join(", "));
    }
    if learned.repeated > 0 {
        let (repeated, rows) = (count(learned.repeated), count(learned.rows));
        *out += &format!(
            "    # {repeated} of {rows} rows repeat the key of an earlier row of their file.\n"
        );
    }
}

/// Writes the formulas that convert latency columns to ms. Writes nothing if all latency columns are in ms already.
fn write_latency(out: &mut String, learned: &LearnedTable<'_>) {
    let latencies = learned.latencies();
    if !latencies.iter().any(|(_, in_us)| *in_us) {
        return;
    }
    *out += "    # In ms.\n    latency:\n";
    for (name, in_us) in latencies.iter().filter(|(name, _)| KeyPart::column(name).is_some()) {
        let scale = if *in_us { " / 1000" } else { "" };
        *out += &format!("      {}: {name}{scale}\n", quoted(name));
    }
}

fn write_zero(out: &mut String, learned: &LearnedTable<'_>) {
    let zero: Vec<&LearnedColumn> =
        learned.columns.iter().filter(|c| c.zero && c.unit().is_some()).collect();
    if !zero.is_empty() {
        *out += "    # Some rows are zero: state for which rows that is right.\n    zero:\n";
        for column in zero {
            *out += &format!("      {}: true\n", quoted(&column.name));
        }
    }
}

fn write_sweep(out: &mut String, learned: &LearnedTable<'_>) {
    let key = learned.key();
    let mut sweep: Vec<&&LearnedColumn> = key.iter().filter(|c| c.is_sweep()).collect();
    sweep.sort_by_key(|c| std::cmp::Reverse(c.pairs));
    for column in &sweep {
        *out += &format!(
            "    # Along {}, the latency falls by more than 5 % in {} of {}.\n",
            comment(&column.name),
            count(column.falls),
            plural(column.pairs, "pair")
        );
    }
    let names: Vec<String> = sweep.iter().map(|c| quoted(&c.name)).collect();
    *out += &format!("    sweep: [{}]\n", names.join(", "));
}

/// Renders the type of a column, such as `int` or `text?`. The `?` means that some files lack the column, or that some
/// rows lack a value.
fn kind(column: &LearnedColumn, files: usize) -> String {
    let name = match (column.unit(), column.kind) {
        (Some(unit), _) => unit.name(),
        (None, Some(ColumnKind::Int)) => "int",
        (None, Some(ColumnKind::Bool)) => "bool",
        (None, Some(ColumnKind::Number | ColumnKind::Measure(_))) => "number",
        (None, Some(ColumnKind::Text) | None) => "text",
    };
    let optional = column.files < files || column.nulls;
    format!("{name}{}", if optional { "?" } else { "" })
}

/// Renders a name as YAML. A name that YAML would not read as text, such as `on`, gets quotes.
fn quoted(name: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let begins = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    let word = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"];
    if begins && name.chars().all(plain) && !word.contains(&name.to_ascii_lowercase().as_str()) {
        return name.to_owned();
    }
    // A JSON string is a valid YAML string.
    serde_json::Value::from(name).to_string()
}

/// Renders a text as a comment of one line.
fn comment(text: &str) -> String {
    const LONGEST: usize = 80;
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    clean(&line.chars().take(LONGEST).collect::<String>())
}
