//! Seals, compared with their tables. A seal is a file with a table's digest, row count and place.

use serde_json::{Map, Value};

use crate::checks::context::RowContext;
use crate::findings::Finding;
use crate::specs::Seal;

/// Returns a finding on a table whose seal is missing; `None` otherwise. A seal is a file with the digest and the
/// number of rows of a table.
pub(super) fn missing(rows: &RowContext<'_>) -> Option<Finding> {
    let file = rows.seal().filter(|file| file.fields.is_none())?;
    let name = file.path.rsplit('/').next().unwrap_or(&file.path);
    Some(rows.finding(format!("{name} is missing, and the loader refuses the table without it")))
}

/// Returns a finding on a table's seal, the file with the table's digest and number of rows. The finding is an error if
/// the seal cannot be read or lacks a field. It is a warning if values are unknown, since a newer loader may read them.
/// `None` if the seal is valid.
pub(super) fn invalid(rows: &RowContext<'_>) -> Option<Finding> {
    let (file, seal) = rows.seal().zip(rows.spec.seal.as_ref())?;
    let wrong: Vec<(bool, String)> = match file.fields.as_ref()? {
        Err(why) => vec![(false, why.to_string())],
        Ok(fields) => {
            let other = |(name, any): (&String, &Vec<Value>)| {
                Some((fields.contains_key(name), other_value(fields, name, any)?))
            };
            seal.one_of.iter().filter_map(other).collect()
        }
    };
    let is_new = !wrong.is_empty() && wrong.iter().all(|(has_field, _)| *has_field);
    let wrong: Vec<String> = wrong.into_iter().map(|(_, says)| says).collect();
    let said = wrong.join("; ");
    if is_new {
        let what = format!("a seal of {} whose {said}", rows.spec.name);
        return Some(
            rows.novelty(&what, &format!("{}: {said}, which is", file.path)).parts(&wrong),
        );
    }
    (!wrong.is_empty()).then(|| rows.finding(format!("{}: {said}", file.path)).parts(&wrong))
}

/// Returns a finding on a table that contradicts its seal, the file with the table's digest and number of rows; `None`
/// otherwise.
pub(super) fn contradiction(rows: &RowContext<'_>) -> Option<Finding> {
    let (file, seal) = rows.seal().zip(rows.spec.seal.as_ref())?;
    let wrong = contradictions(rows, file.known()?, seal);
    let finding = || {
        let name = file.path.rsplit('/').next().unwrap_or(&file.path);
        let message = format!("{name} says {}", wrong.join("; "));
        rows.finding(message).rows(rows.count).parts(&wrong)
    };
    (!wrong.is_empty()).then(finding)
}

fn contradictions(rows: &RowContext<'_>, fields: &Map<String, Value>, seal: &Seal) -> Vec<String> {
    let place = &rows.file.place;
    let said = |name: &String| fields.get(name).map_or_else(|| "nothing".to_owned(), brief);
    let mut wrong = Vec::new();
    let stated = fields.get(&seal.rows).and_then(Value::as_f64);
    if stated != Some(rows.count as f64) {
        wrong.push(format!("{} rows, but the table has {}", said(&seal.rows), rows.count));
    }
    let digest = fields.get(&seal.sha256).and_then(Value::as_str);
    if let Some(own) = rows.digest().filter(|own| digest != Some(*own)) {
        wrong.push(format!("SHA-256 {}, but that of the table is {own}", said(&seal.sha256)));
    }
    let named = [
        ("system", &seal.place.system, &place.system),
        ("backend", &seal.place.backend, &place.backend),
        ("version", &seal.place.version, &place.version),
    ];
    for (what, field, own) in named {
        if fields.get(field).and_then(Value::as_str) != Some(own) {
            wrong.push(format!("{what} {}, but the table is of {own}", said(field)));
        }
    }
    wrong
}

/// Returns a clause if the field `name` is missing or has a value that is not in `any`; `None` otherwise.
fn other_value(fields: &Map<String, Value>, name: &String, any: &[Value]) -> Option<String> {
    let alike = |a: &Value, b: &Value| a == b || a.as_f64().is_some_and(|a| b.as_f64() == Some(a));
    let found = fields.get(name);
    if found.is_some_and(|found| any.iter().any(|wanted| alike(found, wanted))) {
        return None;
    }
    let wanted: Vec<String> = any.iter().map(brief).collect();
    let found = found.map_or_else(|| "missing".to_owned(), brief);
    Some(format!("{name} is {found}, not {}", wanted.join(" or ")))
}

/// Formats a value for messages: a text unchanged, any other value as the start of its JSON.
fn brief(value: &Value) -> String {
    const LONGEST: usize = 80;
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    match text.char_indices().nth(LONGEST) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text,
    }
}
