//! Renders annotations of GitHub Actions: workflow commands on standard output.

use std::fmt::Write;

use super::view::ReportView;
use super::view::finding::FindingView;
use crate::base::words::plural;
use crate::findings::Severity;

/// The maximum number of annotations per severity that GitHub shows for a step. GitHub drops further annotations
/// silently.
const SHOWN: usize = 10;

pub(super) fn render(view: &ReportView<'_>) -> String {
    let findings = view.worst_first();
    let mut out = String::new();
    let mut left_out = Vec::new();
    for severity in [Severity::Error, Severity::Warning] {
        let found: Vec<&&FindingView<'_>> =
            findings.iter().filter(|f| f.raw.severity == severity).collect();
        for finding in found.iter().take(SHOWN) {
            let line = finding.raw.line().map_or(String::new(), |line| format!(",line={line}"));
            let _ = writeln!(
                out,
                "::{} file={}{line},title={}::{}",
                severity.into_str(),
                property(&finding.path),
                property(&finding.rule),
                data(&finding.message)
            );
        }
        if found.len() > SHOWN {
            left_out.push(plural(found.len() - SHOWN, &format!("more {}", severity.into_str())));
        }
    }
    let infos = findings.iter().filter(|f| f.raw.severity == Severity::Info).count();
    if infos > 0 {
        left_out.push(plural(infos, "info"));
    }
    let rest = if left_out.is_empty() {
        String::new()
    } else {
        format!("; not shown as annotations: {}", left_out.join(", "))
    };
    let _ = writeln!(out, "::notice title=perfdb-gate::{}{}", data(&view.head.headline), rest);
    out
}

/// Encodes the message of a GitHub workflow command. Line breaks in `text` must already be escaped.
fn data(text: &str) -> String {
    text.replace('%', "%25")
}

/// Encodes a property of a GitHub workflow command, such as the name of a file.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::{data, property};
    use crate::base::escape::clean;

    #[test]
    fn workflow_commands_cannot_be_nested() {
        let escaped = clean("5 %\r\n::error::x");
        assert_eq!(data(&escaped), "5 %25\\u{d}\\u{a}::error::x");
        assert_eq!(property(&clean("a,b::c\n%0A")), "a%2Cb%3A%3Ac\\u{a}%250A");
    }
}
