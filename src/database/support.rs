//! Support matrices (`systems/support_matrix/<system>.csv`): the models that can be planned on each system. A
//! line contains a model, backend, version, mode and status.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::base::error::Reason;
use crate::base::words::names;
use crate::database::catalog::Catalog;
use crate::database::source::{Entry, NOT_FETCHED, Source, pointer};

/// For each system, the file of the support matrix, and either the parsed matrix or the reason why it cannot be read.
pub(crate) type Matrices = BTreeMap<String, (Entry, Result<Matrix, Reason>)>;

/// The support matrix of a system. It lists which models the planner supports there, by backend and version.
#[derive(Debug, Default)]
pub struct Matrix {
    /// The lines of the matrix, in file order.
    pub claims: Vec<Claim>,
}

/// A line of a support matrix: a model on one version of a backend.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// The model's architecture.
    pub architecture: String,
    /// The model's name.
    pub model: String,
    /// The backend's name.
    pub backend: String,
    /// The backend's version.
    pub version: String,
    /// True if the line states that the model can be predicted from measured rows alone.
    pub silicon: bool,
}

/// A line of the support matrix's CSV file, by column.
#[derive(Deserialize)]
struct MatrixLine {
    #[serde(rename = "HuggingFaceID")]
    model: String,
    #[serde(rename = "Architecture")]
    architecture: String,
    #[serde(rename = "System")]
    system: String,
    #[serde(rename = "Backend")]
    backend: String,
    #[serde(rename = "Version")]
    version: String,
    #[serde(rename = "Status")]
    status: String,
    #[serde(rename = "Command", default)]
    command: String,
    /// The origin of the latencies, such as `silicon` for measured ones. `None` in older matrices, which state the
    /// origin in the column `Command`.
    #[serde(rename = "Source", default)]
    source: Option<String>,
}

impl Matrix {
    /// Parses a support matrix.
    pub fn parse(system: &str, text: &[u8]) -> Result<Self, Reason> {
        let mut claims = Vec::new();
        let mut reader = csv::Reader::from_reader(text);
        for line in reader.deserialize() {
            let line: MatrixLine = line.map_err(|e| e.to_string())?;
            if line.system != system {
                let other = names(std::iter::once(line.system.as_str()));
                let other = other.escape_debug();
                return Err(format!("a line names the system '{other}' instead of {system}").into());
            }
            let silicon = match line.source.as_deref() {
                Some(source) => source == "silicon",
                None => line.command.contains("--database-mode SILICON"),
            };
            claims.push(Claim {
                architecture: line.architecture,
                model: line.model,
                backend: line.backend,
                version: line.version,
                silicon: line.status == "PASS" && silicon,
            });
        }
        if claims.is_empty() { Err("the matrix has no lines".into()) } else { Ok(Self { claims }) }
    }
}

/// Reads the support matrices of a database.
pub(crate) fn read(source: &dyn Source, catalog: &Catalog) -> Matrices {
    let matrix = |(system, entry): (&String, &Entry)| {
        let matrix = source.read(entry).map_err(Reason::from);
        let matrix = matrix.and_then(|text| match pointer(&text) {
            Some(_) => Err(NOT_FETCHED.into()),
            None => Matrix::parse(system, &text),
        });
        (system.clone(), (entry.clone(), matrix))
    };
    catalog.support.iter().map(matrix).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str =
        "HuggingFaceID,Architecture,System,Backend,Version,Mode,Status,ErrMsg,Command";

    #[test]
    fn a_pass_is_from_silicon_if_its_source_or_command_says_so() {
        let line = "a/b,Llama,s,vllm,1,agg";
        let text = format!(
            "{HEAD},Source\n{line},PASS,,x,silicon\n{line},PASS,,x --database-mode SILICON,xshape\n\
             {line},FAIL,\"said \"\"no\"\",\nat length\",x,silicon\n"
        );
        let silicon = |text: &str| {
            let claims = Matrix::parse("s", text.as_bytes()).unwrap().claims;
            claims.iter().map(|c| c.silicon).collect::<Vec<_>>()
        };
        assert_eq!(silicon(&text), [true, false, false]);
        let old = format!("{HEAD}\n{line},PASS,,x --database-mode SILICON\n{line},PASS,,x\n");
        assert_eq!(silicon(&old), [true, false]);
    }

    #[test]
    fn an_invalid_support_matrix_is_refused_with_the_reason() {
        let of = |text: &str| Matrix::parse("s", text.as_bytes()).unwrap_err().to_string();
        assert!(of("a,b\n1,2\n").contains("missing field"));
        assert!(of(&format!("{HEAD}\na,b,s,vllm\n")).contains("line: 2"));
        assert_eq!(of(HEAD), "the matrix has no lines");
        assert!(of(&format!("{HEAD}\na,b,t,vllm,1,agg,PASS,,x\n")).contains("the system 't'"));
        let long = "t".repeat(1 << 20);
        for system in [long.as_str(), "\"t\nu\""] {
            let why = of(&format!("{HEAD}\na,b,{system},vllm,1,agg,PASS,,x\n"));
            assert!(why.len() < 300 && why.lines().count() == 1, "{why}");
        }
    }
}
