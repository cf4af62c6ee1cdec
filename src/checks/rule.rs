//! A rule, which one YAML file defines with its texts and examples, and the rules of a run.

use std::collections::BTreeMap;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;

use super::{Check, Found, Input, Item, RowContext, RuleHead, TableContext};
use crate::base::error::{Error, Result, unknown};
use crate::base::{published, yaml};
use crate::database::table::ReadsRecord;
use crate::findings::{Confidence, Severity};
use crate::specs::{Library, SpecFile, Specs, read_all};

/// A rule: its texts, its severity, the check that applies it, and two examples.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// The rule's name in kebab case, which is the stem of its file. Users rely on it, so it does not change.
    pub id: String,
    /// The severity of the rule's findings, unless the check chooses another.
    pub severity: Severity,
    /// How often people judged the rule's warnings and infos to be right, as a level such as `likely` (at least 75 %).
    /// Errors always count as certain.
    #[serde(default)]
    pub confidence: Confidence,
    /// A summary of one line, for lists of rules.
    pub summary: String,
    /// The defect that the rule finds, in a few sentences. Comments on pull requests show this text.
    pub what: String,
    /// Texts on the rule's severities, exceptions and thresholds. Each threshold is given with its source.
    #[serde(default)]
    pub details: Vec<String>,
    /// The reason why the defect matters.
    pub why: String,
    /// The way to fix or avoid the defect.
    pub instead: String,
    /// The check that finds the defect, with its parameters.
    pub check: Check,
    /// Example files in which the rule has a finding; empty if rules are read without examples.
    pub bad: ExampleTree,
    /// Example files in which the rule has no finding; empty if rules are read without examples.
    pub good: ExampleTree,
    /// True if the rule is part of this program's release, false for a rule of a repository.
    #[serde(skip)]
    pub shipped: bool,
}

impl Rule {
    /// Returns the confidence in the rule's findings of a severity. Errors count as certain.
    pub fn confidence_of(&self, severity: Severity) -> Confidence {
        if severity == Severity::Error { Confidence::Certain } else { self.confidence }
    }

    /// The id and severity of the rule, which its check needs to create findings.
    pub(crate) fn head(&self) -> RuleHead<'_> {
        RuleHead { id: &self.id, severity: self.severity }
    }

    /// Returns the findings of the rule's check on an item.
    pub fn item(&self, item: &Item<'_>) -> Found {
        self.check.judge().item(self.head(), item)
    }

    /// Prepares a table's rows for the rule's check; `None` if the table cannot be read. The columns and facts that the
    /// check reads are written into `record`.
    pub(crate) fn rows<'a>(
        &'a self,
        at: &'a TableContext<'a>,
        record: &'a ReadsRecord,
    ) -> Option<RowContext<'a>> {
        RowContext::of(at, self.head(), record)
    }

    /// Returns the address of the rule's documentation; `None` for a repository's own rules, and while this program is
    /// not published.
    pub fn page(&self) -> Option<String> {
        let repository = published::repository().filter(|_| self.shipped)?;
        Some(format!("{repository}/blob/v{}/docs/rules.md#{}", env!("CARGO_PKG_VERSION"), self.id))
    }
}

/// A few small made-up files to which a rule is applied, as an example.
///
/// Paths are relative to the root of the tree. If a system's YAML is not given, the embedded one is used.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Example")]
pub struct ExampleTree {
    /// The contents of the files, by path.
    pub files: BTreeMap<String, String>,
    /// The contents of the base's files by path, for a rule that judges the change of a pull request.
    #[serde(default)]
    pub base: Option<BTreeMap<String, String>>,
    /// The number of rows that the rule's finding must state; `None` if the rule does not count rows.
    #[serde(default)]
    pub rows: Option<u64>,
    /// The finding that the rule has in the example, as documentation shows it.
    #[serde(default)]
    pub finds: Option<ExampleFinding>,
}

/// The finding of an example, as the rule's page shows it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExampleFinding {
    /// Path of the file or directory that the finding is on.
    pub path: String,
    /// The message of the finding.
    pub message: String,
    /// Numbers of the lines that show the defect, from 1; empty if the finding is about the whole file.
    #[serde(default)]
    pub lines: Vec<usize>,
}

impl ExampleTree {
    /// Returns true if a line, counted from 1, shows the finding.
    pub(crate) fn is_marked(&self, path: &str, line: usize) -> bool {
        self.finds.as_ref().is_some_and(|f| f.path == path && f.lines.contains(&line))
    }
}

/// Parses a rule without its examples, which are the last fields of its file.
fn without_examples(file: &SpecFile) -> Result<Rule> {
    let end = file.text.find("\nbad:\n").map_or(file.text.len(), |newline| newline + 1);
    let text = format!("{}bad: {{files: {{}}}}\ngood: {{files: {{}}}}\n", &file.text[..end]);
    yaml::parse(&text).map_err(|why| file.malformed(why))
}

/// Returns a rule with its id. Returns an error if the file is not named after the id.
fn by_id(mut rule: Rule, file: &SpecFile) -> Result<(String, Arc<Rule>)> {
    rule.shipped = file.shipped;
    if rule.id != file.stem() {
        let why = format!("the rule has the id {}, but its file is named {}", rule.id, file.stem());
        return Err(file.malformed(&why));
    }
    Ok((rule.id.clone(), Arc::new(rule)))
}

/// All rules that are known, by id.
#[derive(Debug, Default)]
pub struct Rules(BTreeMap<String, Arc<Rule>>);

impl Rules {
    /// Reads the rules in a library. A later file replaces an earlier rule of the same id. Embedded rules are read
    /// without their examples, which a run does not need.
    ///
    /// # Errors
    ///
    /// If a file is not a rule, is in a folder that is not read, or has another name than the rule's id.
    pub fn read(library: &Library) -> Result<Self> {
        Self::read_each(
            library,
            |file| if file.shipped { without_examples(file) } else { file.parse() },
        )
    }

    /// Reads the rules with their examples.
    ///
    /// # Errors
    ///
    /// The same as for [`Rules::read`].
    pub fn with_examples(library: &Library) -> Result<Self> {
        Self::read_each(library, SpecFile::parse)
    }

    fn read_each(
        library: &Library,
        parse: impl Fn(&SpecFile) -> Result<Rule> + Sync,
    ) -> Result<Self> {
        if let Some(file) = library.unread().next() {
            return Err(file.malformed("files in this folder are not read"));
        }
        let rules = read_all(library.rules(), |file| by_id(parse(file)?, file))?;
        Ok(Self(rules.into_iter().collect()))
    }

    /// Returns an error if a rule that is not embedded has a condition on a column that the rule's tables lack. Tests
    /// check the embedded rules.
    ///
    /// # Errors
    ///
    /// At the first such rule; the error names its file and line.
    pub(crate) fn check(&self, specs: &Specs) -> Result<()> {
        // A later file replaces the rule of an earlier one.
        let files: BTreeMap<_, _> = specs.library.rules().map(|file| (file.stem(), file)).collect();
        for (id, file) in files.into_iter().filter(|(_, file)| !file.shipped) {
            if let Check::Where(rows) = &self.get(id)?.check {
                rows.check(specs).map_err(|why| file.malformed(why))?;
            }
        }
        Ok(())
    }

    /// All rules in the order of their ids.
    pub fn all(&self) -> impl Iterator<Item = &Arc<Rule>> {
        self.0.values()
    }

    /// The ids of all rules, sorted.
    pub fn ids(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// Returns true if a rule has the id.
    pub fn contains(&self, id: &str) -> bool {
        self.0.contains_key(id)
    }

    /// The rule with an id.
    ///
    /// # Errors
    ///
    /// If there is none; the hint names the id that is most similar.
    pub fn get(&self, id: &str) -> Result<&Arc<Rule>> {
        self.0.get(id).ok_or_else(|| unknown("rule", id, self.ids()))
    }

    /// Returns the rules that a run applies: all rules, or only those in `only`. Rules in `skip` are left out, and so
    /// are rules for whose check `runs` returns false.
    ///
    /// # Errors
    ///
    /// If a name is not the id of a rule, or if no rule is left.
    pub fn choose(
        &self,
        only: &[String],
        skip: &[String],
        runs: &dyn Fn(&Check) -> bool,
    ) -> Result<Vec<Arc<Rule>>> {
        for name in only.iter().chain(skip) {
            self.get(name)?;
        }
        let is_chosen = |rule: &&Arc<Rule>| {
            (only.is_empty() || only.contains(&rule.id)) && !skip.contains(&rule.id)
        };
        let chosen: Vec<_> = self.all().filter(is_chosen).collect();
        let rules: Vec<_> =
            chosen.iter().filter(|r| runs(&r.check)).map(|r| (*r).clone()).collect();
        if rules.is_empty() {
            let hint = if chosen.is_empty() {
                "--skip excludes every rule that --only selects"
            } else if chosen.iter().any(|r| r.check.needs().has(Input::Changes)) {
                "rules on the changes of a pull request run only in `sanity`"
            } else {
                "rules on traces run only with --traces DIR, and only they do"
            };
            return Err(Error::new("no rule is left to run", hint));
        }
        Ok(rules)
    }
}
