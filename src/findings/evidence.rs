//! The figures behind a finding's sentence.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use serde_json::{Value, json};

/// The figures behind a finding's sentence, one map in reports. What code of this program reads of
/// another's finding is typed; everything else is for reports and for conditions of waivers.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Evidence {
    /// Path of the table that the finding's table is a copy of.
    pub other: Option<String>,
    /// Path of a table beside which the worst of the rows stands out.
    pub reference: Option<String>,
    /// Line of a text file, from 1.
    pub line: Option<u64>,
    /// The slices concerned.
    pub slices: Vec<SliceEvidence>,
    /// Missing keys that something explains.
    pub explained: Vec<Explained>,
    /// What default models have to do with it, where they were predicted.
    pub models: Option<ModelReach>,
    figures: BTreeMap<String, Value>,
}

/// What a finding on a table means for predictions of default models.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ModelReach {
    /// Whether a step reads one of the rows; none where the finding does not name all of them.
    pub reads: Option<bool>,
    /// How far the rows, or without rows the table, move a step at most, ms.
    pub moves_ms: f64,
    /// Steps that lose their answer for want of rows of the table.
    pub loses: usize,
}

/// A slice of a table, with the figure that shows what is wrong with it.
#[derive(Debug, Clone, PartialEq)]
pub struct SliceEvidence {
    /// The texts of the key that make the slice, by column.
    pub slice: BTreeMap<String, String>,
    /// The figure's name and value.
    pub figure: (Cow<'static, str>, Value),
}

/// Missing keys that something explains.
#[derive(Debug, Clone, PartialEq)]
pub struct Explained {
    /// What explains them.
    pub by: Explanation,
    /// How many there are.
    pub keys: usize,
}

/// Why keys are missing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Explanation {
    /// A limit of `rules/limits.yaml`.
    Limit {
        /// Its id.
        id: String,
        /// Its reason.
        reason: String,
    },
    /// The error of a classified failure.
    Failure(String),
}

impl Explanation {
    /// Who says so.
    pub fn reason(&self) -> &str {
        match self {
            Self::Limit { reason, .. } => reason,
            Self::Failure(_) => "the failure ledger",
        }
    }
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Limit { id, .. } => write!(f, "the limit {id}"),
            Self::Failure(error) => write!(f, "a classified failure, {error}"),
        }
    }
}

impl Explained {
    fn json(&self) -> Value {
        json!({"by": self.by.to_string(), "reason": self.by.reason(), "keys": self.keys})
    }
}

impl SliceEvidence {
    fn json(&self) -> Value {
        let (name, value) = &self.figure;
        json!({"slice": self.slice, name.as_ref(): value})
    }
}

impl ModelReach {
    fn json(&self) -> Value {
        json!({"read": self.reads, "moves_ms": self.moves_ms, "loses": self.loses})
    }
}

impl Evidence {
    /// Adds a figure that reports show.
    pub fn insert(&mut self, name: String, value: Value) {
        self.figures.insert(name, value);
    }

    /// A figure by its name.
    pub fn get(&self, name: &str) -> Option<Value> {
        let typed = || self.typed().find(|(n, _)| *n == name).map(|(_, value)| value);
        self.figures.get(name).cloned().or_else(typed)
    }

    /// All figures by name, as reports show them.
    pub fn json(&self) -> BTreeMap<String, Value> {
        let mut all = self.figures.clone();
        for (name, value) in self.typed() {
            all.entry(name.to_owned()).or_insert(value);
        }
        all
    }

    /// What is typed, where it is there.
    fn typed(&self) -> impl Iterator<Item = (&'static str, Value)> {
        let all = [
            ("other", self.other.as_deref().map(Value::from)),
            ("reference", self.reference.as_deref().map(Value::from)),
            ("line", self.line.map(Value::from)),
            ("slices", list(&self.slices, SliceEvidence::json)),
            ("explained", list(&self.explained, Explained::json)),
            ("predictions", self.models.as_ref().map(ModelReach::json)),
        ];
        all.into_iter().filter_map(|(name, value)| Some((name, value?)))
    }
}

impl Extend<(String, Value)> for Evidence {
    fn extend<I: IntoIterator<Item = (String, Value)>>(&mut self, figures: I) {
        self.figures.extend(figures);
    }
}

/// A list for reports; an empty one is left out.
fn list<T>(items: &[T], json: impl Fn(&T) -> Value) -> Option<Value> {
    (!items.is_empty()).then(|| items.iter().map(json).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typed_evidence_and_figures_are_one_map() {
        let limit = Explanation::Limit { id: "mla".into(), reason: "No kernel.".into() };
        let slice = BTreeMap::from([("dtype".to_owned(), "fp8".to_owned())]);
        let mut evidence = Evidence {
            other: Some("a/b".into()),
            slices: vec![SliceEvidence { slice, figure: ("points".into(), 3.into()) }],
            explained: vec![Explained { by: limit, keys: 7 }],
            ..Evidence::default()
        };
        evidence.insert("factor".into(), 2.into());
        let all = json!({
            "other": "a/b",
            "factor": 2,
            "slices": [{"slice": {"dtype": "fp8"}, "points": 3}],
            "explained": [{"by": "the limit mla", "reason": "No kernel.", "keys": 7}],
        });
        assert_eq!(json!(evidence.json()), all);
        assert_eq!(evidence.get("factor"), Some(2.into()));
        assert_eq!(evidence.get("other"), Some("a/b".into()));
        assert_eq!(evidence.get("line"), None);
    }
}
