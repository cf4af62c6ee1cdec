//! Plants faults in text: a table torn as text, or a changed field of a YAML file.

use crate::faults::draft::Draft;
use crate::faults::fault::{Edit, Tear};
use crate::faults::injection::Planted;
use crate::faults::overlay::FileChange;
use perfdb_gate::base::random::Random;
use perfdb_gate::database::catalog::TableFile;

/// The maximum number of lines of a torn table.
const MOST_TEXT: usize = 20_000;

/// Replaces the value of a field on the first line that has it.
pub(super) fn edited(edit: &Edit, by: Option<f64>, text: &str) -> Option<FileChange> {
    let mut found = false;
    let mut new = String::new();
    for line in text.lines() {
        let replaced = if found { None } else { replaced(edit, by, line) };
        found |= replaced.is_some();
        new += replaced.as_deref().unwrap_or(line);
        new.push('\n');
    }
    found.then(|| FileChange::Bytes(new.into_bytes()))
}

/// Replaces the value on a line; `None` if the line does not have the field.
fn replaced(edit: &Edit, by: Option<f64>, line: &str) -> Option<String> {
    let name = line.trim_start();
    let value = name.strip_prefix(&edit.field)?.strip_prefix(':')?;
    let new = match &edit.to {
        Some(to) => to.clone(),
        None => {
            let number: f64 = value.split('#').next()?.trim().parse().ok()?;
            (number * by.unwrap_or(1.0)).to_string()
        }
    };
    Some(format!("{}{}: {new}", &line[..line.len() - name.len()], edit.field))
}

/// Writes the table as torn text in its own directory, where loaders of text would find it.
pub(super) fn torn(
    tear: Tear,
    file: &TableFile,
    draft: &Draft,
    random: &mut Random,
) -> Option<Planted> {
    let mut lines = draft.lines();
    let plain = |line: &String| !line.contains(['"', ';']);
    if !(4..MOST_TEXT).contains(&lines.len()) || !lines.iter().all(plain) {
        return None;
    }
    let width = |line: &String| line.matches(',').count();
    if !file.table.ends_with("_perf") || lines.iter().any(|l| width(l) != width(&lines[0])) {
        return None;
    }
    let at = 1 + random.below(lines.len() - 3);
    match tear {
        Tear::End => {
            let last = lines.last_mut()?;
            last.truncate(last.len() / 2);
        }
        Tear::Short => lines[at] = lines[at].rsplitn(3, ',').last()?.to_owned() + "\n",
        Tear::Header => lines.insert(at, lines[0].clone()),
        Tear::Together => {
            let ending = lines[at].len() - 1;
            lines[at].truncate(ending);
        }
    }
    let text = file.entry.path.strip_suffix(".parquet")?.to_owned() + ".txt";
    let bytes = FileChange::Bytes(lines.concat().into_bytes());
    Some(Planted::files([(file.entry.path.clone(), FileChange::Gone), (text, bytes)]))
}
