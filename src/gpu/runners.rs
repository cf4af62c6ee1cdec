//! Runners: the functions of a database's collectors that measure rows (`rules/runners.yaml`).

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::str::FromStr;

use pep440_rs::{Version, VersionSpecifiers};
use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;

use crate::base::error::Result;
use crate::base::expr::Expr;
use crate::specs::Library;

/// The content of `rules/runners.yaml`: the runners of each backend.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(transparent)]
pub(crate) struct Runners(BTreeMap<String, BackendRunners>);

/// The runners of one backend.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct BackendRunners {
    /// The framework version that the backend's collectors require, unless a runner states another.
    requires: Requirement,
    /// The runners in order; the first that matches a row is used.
    pub calls: Vec<Runner>,
    /// The reason why a table cannot be measured by any runner, by the table's file stem.
    #[serde(default)]
    #[allow(dead_code, reason = "people read it in the YAML")]
    pub without: BTreeMap<String, String>,
}

/// A runner: a Python function of a collector that measures rows. Formulas over a row's columns give its arguments.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Runner {
    /// File stems of the tables that the runner measures.
    pub tables: Vec<String>,
    /// Condition that selects the rows that the runner measures; `None` means all rows.
    #[serde(default)]
    pub rows: Option<Expr>,
    /// The framework version that this runner requires; `None` means `requires` of the backend.
    #[serde(default)]
    requires: Option<Requirement>,
    /// The Python module and the function to call, joined by a colon, such as `collector.vllm.collect_gemm:run_gemm`.
    pub run: String,
    /// Positional arguments of the function.
    pub args: Vec<Argument>,
    /// Name of the module's function that lists the collector's cases; `None` if no argument is taken from a case. A
    /// case is a tuple of arguments.
    #[serde(default)]
    pub cases: Option<String>,
    /// Formulas of environment variables for the call, by the variable's name.
    #[serde(default)]
    pub env: BTreeMap<String, Expr>,
    /// Name of the file to which the function writes its results; `None` means the table's file stem with the extension
    /// `.txt`.
    #[serde(default)]
    pub file: Option<String>,
    /// Names of columns. One call measures all rows that have equal values in these columns. Empty if each call
    /// measures only one row.
    #[serde(default)]
    pub group: Vec<String>,
    /// Formula of the number of processes that call the function together, each on its own GPU; `None` means one
    /// process.
    #[serde(default)]
    pub processes: Option<Expr>,
    /// The rows that are timed without a CUDA graph; `None` if all rows are timed with one.
    #[serde(default)]
    pub eager: Option<Eager>,
}

/// Describes rows that are timed without a CUDA graph, so that their times may include the host's kernel launches.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Eager {
    /// Condition that selects the rows that are timed without a CUDA graph.
    pub rows: Expr,
    /// The host's time for one call, expressed as a number of empty kernel launches.
    pub launches: u32,
}

/// A positional argument of a function.
#[derive(Debug, Clone)]
pub(crate) enum Argument {
    /// The value of a formula: a number, a text, a boolean or null.
    Value(Expr),
    /// An argument of another form, such as a list with one value.
    Form(Form),
}

/// The forms of an argument that is not a plain value, such as a list with one value.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
pub(crate) enum Form {
    /// A list that contains one value.
    List {
        /// Formula of the list's only value.
        list: Expr,
    },
    /// A floating-point number, even if the value is whole: `1.0` and not `1`.
    Real {
        /// Formula of the number.
        real: Expr,
    },
    /// A Python type: an attribute, looked up by name, of the module in which the called function is defined.
    Type {
        /// Formula of the attribute's name.
        #[serde(rename = "type")]
        name: Expr,
    },
    /// An argument that is taken from a case: one of the tuples of arguments that the collector lists. The case must
    /// contain the call's other arguments.
    Case {
        /// Index of the argument within the case.
        case: usize,
        /// Formula of the argument's preferred value. If several cases agree with the call's other arguments, a case
        /// with the preferred value is used.
        #[serde(default)]
        like: Option<Expr>,
    },
}

impl Argument {
    /// Returns the argument's formula. For an argument that is taken from a collector's case, returns the formula of
    /// the preferred value, or `None` if no value is preferred.
    pub(crate) fn formula(&self) -> Option<&Expr> {
        match self {
            Self::Value(value) => Some(value),
            Self::Form(Form::List { list }) => Some(list),
            Self::Form(Form::Real { real }) => Some(real),
            Self::Form(Form::Type { name }) => Some(name),
            Self::Form(Form::Case { like, .. }) => like.as_ref(),
        }
    }
}

impl<'de> Deserialize<'de> for Argument {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ArgumentVisitor;
        impl<'de> serde::de::Visitor<'de> for ArgumentVisitor {
            type Value = Argument;
            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("a formula, or one of {list: F}, {real: F}, {type: F}, {case: N}")
            }
            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Argument, E> {
                text.parse().map(Argument::Value).map_err(E::custom)
            }
            fn visit_bool<E: serde::de::Error>(self, value: bool) -> Result<Argument, E> {
                self.visit_str(&value.to_string())
            }
            fn visit_i64<E: serde::de::Error>(self, value: i64) -> Result<Argument, E> {
                self.visit_str(&value.to_string())
            }
            fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<Argument, E> {
                self.visit_str(&value.to_string())
            }
            fn visit_map<A: serde::de::MapAccess<'de>>(self, map: A) -> Result<Argument, A::Error> {
                Form::deserialize(MapAccessDeserializer::new(map)).map(Argument::Form)
            }
        }
        deserializer.deserialize_any(ArgumentVisitor)
    }
}

impl Runners {
    /// Reads the runners. If there are several files, the last one is used.
    ///
    /// # Errors
    ///
    /// If a file is malformed; the error names file and line.
    pub(crate) fn read(library: &Library) -> Result<Self> {
        let mut runners = Self::default();
        for file in library.file("rules/runners.yaml") {
            runners = file.parse()?;
            if let Some(why) = runners.fault() {
                return Err(file.malformed(&why));
            }
        }
        Ok(runners)
    }

    /// Returns the first error that the YAML parser does not detect, such as a runner without tables; `None` if there
    /// is none.
    fn fault(&self) -> Option<String> {
        let runners = self.0.values().flat_map(|b| &b.calls);
        runners.into_iter().find_map(|runner| {
            let asks = |arg: &Argument| matches!(arg, Argument::Form(Form::Case { .. }));
            let is_name = |name: &str| Path::new(name).file_name().is_some_and(|own| own == name);
            if runner.tables.is_empty() {
                Some(format!("{} has no tables", runner.run))
            } else if !is_collectors(&runner.run) {
                let form = "a module below `collector.` and its function, joined by `:`";
                Some(format!("{}: `run` is {form}", runner.run))
            } else if !runner.file.as_deref().is_none_or(is_name) {
                Some(format!("{}: `file` is the name of a file, without a folder", runner.run))
            } else if runner.args.iter().any(asks) != runner.cases.is_some() {
                Some(format!("{}: `cases` and {{case: N}} need each other", runner.run))
            } else {
                None
            }
        })
    }

    /// Returns the runners that measure a table of a backend.
    pub(crate) fn of(&self, table: &str, backend: &str) -> Vec<&Runner> {
        let runners = self.0.get(backend).into_iter().flat_map(|b| &b.calls);
        runners.filter(|runner| runner.tables.iter().any(|name| name == table)).collect()
    }

    /// Returns the framework version that the first runner of a table requires; `None` if the table has no runner.
    pub(crate) fn requirement(&self, table: &str, backend: &str) -> Option<&Requirement> {
        let own = self.of(table, backend).first()?.requires.as_ref();
        own.or(self.0.get(backend).map(|b| &b.requires))
    }
}

/// Returns true if `run` names a function of a Python module below `collector`, such as `collector.a.b:f`.
fn is_collectors(run: &str) -> bool {
    let is_word = |word: &str| {
        !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    let inside = run.strip_prefix("collector.").and_then(|inside| inside.split_once(':'));
    inside.is_some_and(|(module, function)| module.split('.').all(is_word) && is_word(function))
}

/// A required version of a framework, such as `vllm==0.24.0` or `trtllm>=1.3.0rc20`.
#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct Requirement {
    text: String,
    versions: VersionSpecifiers,
}

impl TryFrom<String> for Requirement {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let bad = || format!("`{text}` is not NAME==VERSION or NAME>=VERSION");
        let at = text.find(['=', '>']).ok_or_else(bad)?;
        let versions = VersionSpecifiers::from_str(&text[at..]).map_err(|_| bad())?;
        Ok(Self { versions, text })
    }
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Requirement {
    /// Returns true if a framework's version meets the requirement. The build part of the version, such as `+cu130`, is
    /// ignored.
    pub(crate) fn is_met(&self, version: &str) -> bool {
        Version::from_str(version).is_ok_and(|version| self.versions.contains(&version))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shipped_runners_can_be_read() {
        let runners = Runners::read(&Library::embedded()).unwrap();
        let tables = |b: &BackendRunners| {
            b.calls
                .iter()
                .flat_map(|r| r.tables.clone())
                .collect::<std::collections::BTreeSet<_>>()
                .len()
        };
        let counts: Vec<usize> = runners.0.values().map(tables).collect();
        assert_eq!(counts, [30, 23, 24]);
        assert_eq!(
            runners.requirement("kda_perf", "sglang").unwrap().to_string(),
            "sglang==0.5.16"
        );
    }

    #[test]
    fn an_invalid_runner_entry_is_refused_with_its_line() {
        let read = |entry: &str| -> Result<Runners, String> {
            let text = format!(
                "vllm:\n  requires: vllm==0.24.0\n  calls:\n  - tables: [t]\n    {entry}\n"
            );
            let runners: Runners = crate::base::yaml::parse(&text).map_err(|e| e.to_string())?;
            runners.fault().map_or(Ok(runners), Err)
        };
        let run = "run: collector.m:f\n   ";
        assert!(read(&format!("{run} args: [a, 1, true, {{list: b}}, {{real: c}}]")).is_ok());
        assert!(read(&format!("{run} args: []\n    file: a.txt")).is_ok());
        for (entry, why) in [
            ("args: [{case: 3}]", "need each other"),
            ("args: [a +]", "line 6"),
            ("args: [{lst: a}]", "line 6"),
            ("requires: vllm 0.24.0\n    args: []", "line 6"),
            ("arguments: []", "line 6"),
            ("args: []\n    file: ../a.txt", "without a folder"),
            ("args: []\n    file: /a.txt", "without a folder"),
            ("args: []\n    file: ..", "without a folder"),
            ("args: []\n    file: ''", "without a folder"),
        ] {
            let error = read(&format!("{run} {entry}")).unwrap_err();
            assert!(error.contains(why), "{entry}: {error}");
        }
        for name in [
            "collector.m.f",
            "collector:f",
            "os:system",
            "collector.:f",
            "collector..m:f",
            "collector.m:f:g",
            "collector.m:",
            "collector.m:f()",
            "collector.m.:f",
            "collectors.m:f",
        ] {
            let error = read(&format!("run: '{name}'\n    args: []")).unwrap_err();
            assert!(error.contains("below `collector.`"), "{name}: {error}");
        }
    }

    #[test]
    fn version_requirements_are_compared_as_in_python() {
        let met = |need: &str, version: &str| {
            Requirement::try_from(need.to_owned()).unwrap().is_met(version)
        };
        assert!(met("vllm==0.24.0", "0.24.0") && met("vllm==0.24.0", "0.24.0+cu130"));
        assert!(!met("vllm==0.24.0", "0.24.1") && !met("vllm==0.24.0", "0.9.0"));
        assert!(met("trtllm>=1.3.0rc20", "1.3.0rc23") && met("trtllm>=1.3.0rc20", "1.3.0"));
        assert!(!met("trtllm>=1.3.0rc20", "1.3.0rc9") && !met("a>=0.5.16", "0.5.14"));
        assert!(met("vllm==0.1.dev19262", "0.1.dev19262"));
    }
}
