//! The figures behind a finding's message.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use serde_json::{Value, json};

/// The values behind a finding's message. Reports show all of them as one map. Values that this program's own code
/// reads have a field of their own. Other values are only for reports and for conditions of waivers.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Evidence {
    /// Path of the table that the finding's table copies.
    pub other: Option<String>,
    /// Path of a reference table. The latencies of the finding's worst rows deviate from the latencies in this table.
    pub reference: Option<String>,
    /// Line of a text file, from 1.
    pub line: Option<u64>,
    /// The affected slices.
    pub slices: Vec<SliceEvidence>,
    /// Numbers of missing keys, each with the reason why these keys are missing.
    pub explained: Vec<Explained>,
    /// Effect on predictions of the default models; `None` if they were not predicted.
    pub models: Option<ModelReach>,
    figures: BTreeMap<String, Value>,
}

/// Effect of a finding on predictions of the default models.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelReach {
    /// The absolute change in ms that the finding's table causes in one predicted step time. Of all steps of the
    /// default models, this is the step with the largest relative change.
    pub moves_ms: f64,
    /// Text for reports, such as `its table moves STEP by 12 %`. STEP is the predicted step with the largest relative
    /// change. `None` if the change is too small to mention.
    pub moves: Option<String>,
    /// Number of steps that the planner can no longer predict because of the finding's table.
    pub loses: usize,
}

/// A slice of a table, with the value that shows the slice's defect.
#[derive(Debug, Clone, PartialEq)]
pub struct SliceEvidence {
    /// Values of the key's text columns, by column. All rows of the slice have these values.
    pub slice: BTreeMap<String, String>,
    /// Name and value of the measure that shows the slice's defect, such as the number of deviating points.
    pub figure: (Cow<'static, str>, Value),
}

/// A number of missing keys, with the reason why these keys are missing.
#[derive(Debug, Clone, PartialEq)]
pub struct Explained {
    /// The explanation of the missing keys.
    pub explanation: Explanation,
    /// Number of missing keys.
    pub keys: usize,
}

/// The reason why keys are missing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Explanation {
    /// A limit of `rules/limits.yaml`.
    Limit {
        /// Id of the limit.
        id: String,
        /// Reason stated by the limit.
        reason: String,
    },
    /// The collector failed to measure the keys, with this error.
    Failure(String),
}

impl Explanation {
    /// Returns the reason for the missing keys as a text: the reason that `rules/limits.yaml` states, or `the failure
    /// ledger` if the collector failed.
    pub(crate) fn reason(&self) -> &str {
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
        json!({"by": self.explanation.to_string(), "reason": self.explanation.reason(), "keys": self.keys})
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
        json!({"moves_ms": self.moves_ms, "moves": self.moves, "loses": self.loses})
    }
}

impl Evidence {
    /// Adds a named value for reports and for conditions of waivers.
    pub(crate) fn insert(&mut self, name: String, value: Value) {
        self.figures.insert(name, value);
    }

    /// Returns the value with the given name; `None` if the evidence has no such value.
    pub fn get(&self, name: &str) -> Option<Value> {
        let typed = || self.typed().find(|(n, _)| *n == name).map(|(_, value)| value);
        self.figures.get(name).cloned().or_else(typed)
    }

    /// All values by name, as reports show them.
    pub(crate) fn json(&self) -> BTreeMap<String, Value> {
        let mut all = self.figures.clone();
        for (name, value) in self.typed() {
            all.entry(name.to_owned()).or_insert(value);
        }
        all
    }

    /// The values of all fields except `figures`, by name. Fields without a value are left out.
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

/// Converts a list to JSON for reports; `None` if the list is empty.
fn list<T>(items: &[T], json: impl Fn(&T) -> Value) -> Option<Value> {
    (!items.is_empty()).then(|| items.iter().map(json).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typed_evidence_and_figures_are_written_as_one_map() {
        let limit = Explanation::Limit { id: "mla".into(), reason: "No kernel.".into() };
        let slice = BTreeMap::from([("dtype".to_owned(), "fp8".to_owned())]);
        let mut evidence = Evidence {
            other: Some("a/b".into()),
            slices: vec![SliceEvidence { slice, figure: ("points".into(), 3.into()) }],
            explained: vec![Explained { explanation: limit, keys: 7 }],
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
