//! Adds a waiver to the text of a file of waivers, which keeps its comments and order.

use jiff::civil::Date;

use super::Finding;
use super::waiver::Waivers;
use crate::base::error::Reason;

/// A waiver of one finding, before it is written to a file.
#[derive(Debug)]
pub(crate) struct WaiverEntry<'a> {
    /// The finding to accept.
    pub finding: &'a Finding,
    /// The reason why the finding is acceptable.
    pub reason: &'a str,
    /// Reference to the evidence for the reason.
    pub evidence: &'a str,
    /// Name of the person who approves the waiver.
    pub approved_by: &'a str,
    /// Last day on which the waiver applies.
    pub until: Date,
}

impl WaiverEntry<'_> {
    /// Returns the waiver as YAML. The waiver does not match if the finding later has more rows or another severity.
    pub(crate) fn text(&self) -> String {
        // A JSON string is a YAML string.
        let quoted = |text: &str| serde_json::Value::from(text).to_string();
        let Finding { rule, severity, path, .. } = self.finding;
        let mut condition = format!("severity = '{}'", severity.into_str());
        let rows = self.finding.all_rows.unwrap_or(self.finding.rows);
        if rows > 0 {
            condition += &format!(" AND rows <= {rows}");
        }
        format!(
            "- rule: {rule}\n  path: {}\n  where: {condition}\n  reason: {}\n  evidence: {}\n  \
             approved_by: {}\n  until: {}\n",
            quoted(&globset::escape(path)),
            quoted(self.reason),
            quoted(self.evidence),
            quoted(self.approved_by),
            self.until
        )
    }

    /// Appends this waiver to the text of a waiver file, and returns the new text. An empty `text` stands for a new
    /// file.
    ///
    /// # Errors
    ///
    /// If the file cannot be read, or is written in a way that cannot be appended to.
    pub(crate) fn added_to(&self, shown: &str, text: &str) -> Result<String, Reason> {
        let before = if text.trim().is_empty() { "waivers:\n" } else { text };
        let count = match text.trim() {
            "" => 0,
            text => Waivers::parse(shown, text)?.rules().count(),
        };
        let indent = before
            .lines()
            .find_map(|line| line.find("- ").filter(|at| line[..*at].trim().is_empty()));
        let entry = textwrap::indent(&self.text(), &" ".repeat(indent.unwrap_or(0)));
        let after = format!("{}\n{entry}", before.trim_end());
        let is_added =
            Waivers::parse(shown, &after).is_ok_and(|all| all.rules().count() == count + 1);
        if is_added {
            Ok(after)
        } else {
            Err("the list of waivers is not one entry per `- rule:`, so that no entry can be added"
                .into())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::Severity;

    #[test]
    fn a_waiver_is_appended_to_a_file_without_changing_the_rest() {
        let finding = Finding::on_path("r", Severity::Error, "a/[b]/t", "m").rows(3);
        let until = "2027-12-31".parse().unwrap();
        let entry = WaiverEntry {
            finding: &finding,
            reason: "known: \"x\"",
            evidence: "e",
            approved_by: "me",
            until,
        };
        let first = entry.added_to("w", "").unwrap();
        let indented = format!("# ours\nwaivers:\n{}", textwrap::indent(&entry.text(), "  "));
        for (text, count) in [
            (first.as_str(), 1),
            (&*entry.added_to("w", &first).unwrap(), 2),
            (&*entry.added_to("w", &indented).unwrap(), 2),
        ] {
            let waivers = Waivers::parse("w", text).unwrap();
            assert_eq!(waivers.rules().count(), count, "{text}");
            let mut findings = [finding.clone(), finding.clone().rows(4)];
            waivers.apply(&mut findings, until).unwrap();
            assert_eq!(findings.map(|f| f.waived_by.is_some()), [true, false]);
        }
        assert!(entry.added_to("w", "waivers: []\n").is_err());
        assert!(entry.added_to("w", "waivers: 1\n").is_err());
    }
}
