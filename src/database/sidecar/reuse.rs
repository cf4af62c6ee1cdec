//! `reuse.yaml`: other versions that provide missing rows.

use serde::Deserialize;

use crate::base::error::Reason;

/// The contents of a version directory's `reuse.yaml`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Reuse {
    /// The schema version, always 1.
    pub schema_version: i64,
    /// The donors in the order in which the loader reads them.
    pub reuse: Vec<Donor>,
}

/// A donor: another version of a table that provides missing rows.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Donor {
    /// The table's name.
    pub table: String,
    /// The donor version, of the same system, family and backend.
    pub from_version: String,
    /// The reason why the reuse is valid.
    pub reason: String,
    /// The person who approved the reuse.
    pub approved_by: String,
}

impl Reuse {
    /// Returns the donors as table and version, in the order of `reuse.yaml`.
    pub(crate) fn donors(&self) -> Vec<(String, String)> {
        self.reuse.iter().map(|d| (d.table.clone(), d.from_version.clone())).collect()
    }

    /// Parses `reuse.yaml` and checks that no field is empty.
    pub fn parse(text: &str) -> Result<Self, Reason> {
        let reuse: Self = crate::base::yaml::parse(text)?;
        if reuse.schema_version != 1 {
            return Err(format!("schema_version is {}, not 1", reuse.schema_version).into());
        }
        for (i, donor) in reuse.reuse.iter().enumerate() {
            let fields = [
                ("table", &donor.table),
                ("from_version", &donor.from_version),
                ("reason", &donor.reason),
                ("approved_by", &donor.approved_by),
            ];
            if let Some((name, _)) = fields.iter().find(|(_, value)| value.trim().is_empty()) {
                return Err(format!("reuse[{i}].{name} is empty").into());
            }
        }
        Ok(reuse)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_field_of_a_reuse_declaration_is_named() {
        let empty = "schema_version: 1\nreuse:\n- {table: t, from_version: '1', reason: '', approved_by: me}\n";
        assert_eq!(Reuse::parse(empty).unwrap_err().to_string(), "reuse[0].reason is empty");
    }
}
