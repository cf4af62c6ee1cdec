//! A rule, one YAML file that holds its whole life, and the rules of a run.

use std::collections::BTreeMap;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::base::error::{Error, Result, unknown};
use crate::base::published;
use crate::base::yaml;
use crate::checks::check::Check;
use crate::checks::context::{Item, RowContext, TableContext};
use crate::checks::inputs::Input;
use crate::checks::judge::Found;
use crate::checks::rule_head::RuleHead;
use crate::database::table::ReadsRecord;
use crate::findings::{Confidence, Severity};
use crate::specs::{Library, SpecFile, read_all};

/// What is looked for, why it matters, what to do, and how it is checked.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// Kebab-case, the file's stem; part of the contract.
    pub id: String,
    /// The severity of its findings, unless the check says another.
    pub severity: Severity,
    /// The share of the rule's warnings and infos that are right; `look` until somebody judges them. Errors are certain.
    #[serde(default)]
    pub confidence: Confidence,
    /// One line for lists.
    pub summary: String,
    /// What it looks for, in a few sentences: comments on pull requests show it.
    pub what: String,
    /// Severities, exceptions and thresholds, each threshold with its source.
    #[serde(default)]
    pub details: Vec<String>,
    /// Why that matters.
    pub why: String,
    /// What to do instead.
    pub instead: String,
    /// The check that finds it, with its parameters.
    pub check: Check,
    /// A tree in which it fires; empty where rules are read without examples.
    pub bad: ExampleTree,
    /// A tree in which it does not; empty where rules are read without examples.
    pub good: ExampleTree,
    /// Whether it is this program's own, as it was released.
    #[serde(skip)]
    pub shipped: bool,
}

impl Rule {
    /// Returns how often its findings of a severity are right.
    pub fn confidence_of(&self, severity: Severity) -> Confidence {
        if severity == Severity::Error { Confidence::Certain } else { self.confidence }
    }

    /// Returns the part of the rule that its check needs to write findings.
    pub fn head(&self) -> RuleHead<'_> {
        RuleHead { id: &self.id, severity: self.severity }
    }

    /// Returns the findings of the rule's check on an item.
    pub fn item(&self, item: &Item<'_>) -> Found {
        self.check.judge().item(self.head(), item)
    }

    /// Returns the view of a table's rows for the rule, which writes into `record` what the rule reads; `None` if the table
    /// cannot be read.
    pub(crate) fn rows<'a>(
        &'a self,
        at: &'a TableContext<'a>,
        record: &'a ReadsRecord,
    ) -> Option<RowContext<'a>> {
        RowContext::of(at, self.head(), record)
    }

    /// The address of its documentation; `None` for a repository's own rules, and while this program is not published.
    pub fn page(&self) -> Option<String> {
        let repository = published::repository().filter(|_| self.shipped)?;
        Some(format!("{repository}/blob/v{}/docs/rules.md#{}", env!("CARGO_PKG_VERSION"), self.id))
    }
}

/// A small tree of files, synthetic, that a rule is tried on.
///
/// Paths are relative to the tree's top. A system YAML that is not given is taken from the
/// embedded facts.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Example")]
pub struct ExampleTree {
    /// Contents by path.
    pub files: BTreeMap<String, String>,
    /// Contents by path of the tree before, of a rule that judges what a pull request changes.
    #[serde(default)]
    pub base: Option<BTreeMap<String, String>>,
    /// Rows the finding must count, where the rule counts rows.
    #[serde(default)]
    pub rows: Option<u64>,
    /// What the rule finds in it, for readers: where, why, and the lines that show it.
    #[serde(default)]
    pub finds: Option<ExampleFinding>,
}

/// The finding of an example, as its page shows it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExampleFinding {
    /// Path of the file or directory that the finding is on.
    pub path: String,
    /// Its message.
    pub message: String,
    /// Lines of the file that show it, from 1; empty where it is about the whole file.
    #[serde(default)]
    pub lines: Vec<usize>,
}

impl ExampleTree {
    /// Whether a line of a file, from 1, shows the finding.
    pub fn is_marked(&self, path: &str, line: usize) -> bool {
        self.finds.as_ref().is_some_and(|f| f.path == path && f.lines.contains(&line))
    }
}

/// Parses a rule up to its examples, which are the last that its file says.
fn without_examples(file: &SpecFile) -> Result<Rule> {
    let end = file.text.find("\nbad:\n").map_or(file.text.len(), |newline| newline + 1);
    let text = format!("{}bad: {{files: {{}}}}\ngood: {{files: {{}}}}\n", &file.text[..end]);
    yaml::parse(&text).map_err(|why| file.malformed(why))
}

/// A rule with its id, which its file is named after.
fn by_id(mut rule: Rule, file: &SpecFile) -> Result<(String, Arc<Rule>)> {
    rule.shipped = file.shipped;
    if rule.id != file.stem() {
        let why = format!("the rule has the id {}, but its file is named {}", rule.id, file.stem());
        return Err(file.malformed(&why));
    }
    Ok((rule.id.clone(), Arc::new(rule)))
}

/// All rules, by id.
#[derive(Debug, Default)]
pub struct Rules(BTreeMap<String, Arc<Rule>>);

impl Rules {
    /// Reads the rules among the files; one of the same id is replaced. The examples of embedded rules,
    /// half of their text, are left out: a run has no use for them.
    ///
    /// # Errors
    ///
    /// At the first file that is not a rule, lies where nothing is read from, or whose id is not its name.
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
    /// Those of [`Rules::read`].
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

    /// Every rule, by id.
    pub fn all(&self) -> impl Iterator<Item = &Arc<Rule>> {
        self.0.values()
    }

    /// Their ids, sorted.
    pub fn ids(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// Whether there is a rule of that id.
    pub fn contains(&self, id: &str) -> bool {
        self.0.contains_key(id)
    }

    /// The rule of that id.
    ///
    /// # Errors
    ///
    /// When there is none; the hint names the nearest.
    pub fn get(&self, id: &str) -> Result<&Arc<Rule>> {
        self.0.get(id).ok_or_else(|| unknown("rule", id, self.ids()))
    }

    /// The rules to run: all whose checks `runs` accepts, or `only` some, without those to `skip`.
    ///
    /// # Errors
    ///
    /// When a name is not a rule's, or no rule is left.
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
