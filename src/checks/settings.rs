//! What a run uses beside the data: rules with their overlays, waivers, a baseline.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use crate::base::dates::today;
use crate::base::error::{Error, Result};
use crate::base::read::read_text;
use crate::base::reason::Reason;
use crate::checks::context::{Item, WaiverContext};
use crate::checks::rule::{Rule, Rules};
use crate::database::catalog::Catalog;
use crate::database::facts::TreeFacts;
use crate::database::source::{Commit, Entry, Source};
use crate::findings::baseline::Baseline;
use crate::findings::exceptions::{self, Exceptions};
use crate::findings::waiver::{Applied, WAIVER_HINT, Waivers};
use crate::findings::{Confidence, Finding, Sink};
use crate::specs::{Library, Specs, is_honoured};

/// What a run uses beside the data.
#[derive(Default)]
pub struct Settings {
    /// What is known of tables and systems, overlays included.
    pub specs: Specs,
    /// The rules, overlays included.
    pub rules: Rules,
    /// Signed exceptions.
    pub waivers: Waivers,
    /// Exceptions that the owners of the database signed in a file of their own.
    pub exceptions: Exceptions,
    /// Findings that are known.
    pub baseline: Option<Baseline>,
    /// Files that changed what the embedded rules would say.
    pub overlays: Vec<String>,
    /// Files of the database's own that are not honoured.
    pub declined: Vec<String>,
    /// The least confidence of findings that are reported; `None` for all.
    pub min_confidence: Option<Confidence>,
}

impl Settings {
    /// Reads the settings of a commit of the repository at `root`, or without one those of `source`.
    ///
    /// A commit is named where what is judged must not choose how it is judged.
    ///
    /// # Errors
    ///
    /// When there is no such commit, and those of [`Settings::read`].
    pub fn of(
        source: &dyn Source,
        (root, commit): (&Path, Option<&str>),
        rules: Option<&Path>,
        baseline: Option<&Path>,
    ) -> Result<Self> {
        match commit {
            Some(commit) => Self::read(&Commit::open(root, commit)?, rules, baseline),
            None => Self::read(source, rules, baseline),
        }
    }

    /// The embedded specs, the settings of a source's own repository, then what the command line
    /// names: a folder of `rules`, a `baseline`.
    ///
    /// # Errors
    ///
    /// When one of them cannot be read; a rule that is silently not there would pass what it should find.
    pub fn read(
        source: &dyn Source,
        rules: Option<&Path>,
        baseline: Option<&Path>,
    ) -> Result<Self> {
        let mut settings = Self::default();
        let text = |path: &str| -> Result<Option<String>> {
            Ok(source.top_file(path)?.and_then(|entry| source.text(&entry).ok()))
        };
        if let Some(signed) = text(exceptions::PATH)? {
            settings.exceptions = Exceptions::parse(&signed);
        }
        let misses =
            ["json", "csv"].map(|ending| text(&format!("{}.{ending}", exceptions::MISSES)));
        if let [Ok(Some(manifest)), Ok(Some(misses))] = &misses {
            settings.exceptions.expect(manifest, misses);
        }
        let mut library = Library::embedded();
        for entry in source.settings()? {
            let shown = format!(".perfdb-gate/{}", entry.path);
            let bad = |why: Reason| {
                let hint = match entry.path.as_str() {
                    "waivers.yaml" => WAIVER_HINT,
                    "baseline.json" => "--write-baseline writes one",
                    _ => "CONTRIBUTING.md describes the format",
                };
                Error::new(format!("{shown}: {why}"), hint)
            };
            let text = || source.text(&entry).map_err(|e| bad(e.into()));
            match entry.path.as_str() {
                "waivers.yaml" => {
                    settings.waivers = Waivers::parse(&shown, &text()?).map_err(bad)?;
                }
                "baseline.json" => {
                    settings.baseline = Some(Baseline::parse(&text()?).map_err(bad)?);
                }
                path if path.ends_with(".yml") => {
                    let why = "files of settings are only read if their name ends in .yaml";
                    return Err(Error::new(
                        format!("{shown}: {why}"),
                        format!("`git mv {shown} {}yaml` renames it", &shown[..shown.len() - 3]),
                    ));
                }
                path => {
                    if let Some(inside) =
                        path.strip_prefix("rules/").filter(|p| p.ends_with(".yaml"))
                    {
                        if is_honoured(inside) {
                            library.add(inside, &shown, text()?);
                            settings.overlays.push(shown.clone());
                        } else {
                            settings.declined.push(shown.clone());
                        }
                    }
                }
            }
        }
        if let Some(folder) = rules {
            library.overlay(folder)?;
            settings.overlays.push(folder.display().to_string());
        }
        settings.rules = Rules::read(&library)?;
        for rule in settings.waivers.rules() {
            settings.rules.get(rule).map_err(|e| {
                Error::new(format!("{}: {}", settings.waivers.path, e.message), e.hint)
            })?;
        }
        settings.specs = Specs::read(library)?;
        if let Some(path) = baseline {
            let bad = |why: Reason| {
                Error::new(format!("{}: {why}", path.display()), "--write-baseline writes one")
            };
            let text = read_text(path).map_err(|e| bad(e.to_string().into()))?;
            settings.baseline = Some(Baseline::parse(&text).map_err(bad)?);
        }
        Ok(settings)
    }

    /// Returns the ids of the contents of the files that decide how later runs judge, by path: those below
    /// `.perfdb-gate/`, and `.gitattributes`, which decides what is in git-LFS.
    ///
    /// # Errors
    ///
    /// If the files cannot be listed.
    pub fn ids(source: &dyn Source) -> Result<BTreeMap<String, Option<git2::Oid>>> {
        let attributes =
            source.top_file(".gitattributes")?.map(|e| (e.path.clone(), source.id(&e)));
        let id = |entry: Entry| (format!(".perfdb-gate/{}", entry.path), source.id(&entry));
        Ok(source.settings()?.into_iter().map(id).chain(attributes).collect())
    }

    /// Chooses the layout of a database from its files, or by its name.
    ///
    /// # Errors
    ///
    /// If the name is unknown.
    pub fn choose_layout(&mut self, name: Option<&str>, files: &[Entry]) -> Result<()> {
        self.specs.choose_layout(name, files.iter().map(|entry| entry.path.as_str()))
    }

    /// Takes what a tree says of itself over what is known.
    pub fn take_facts(&mut self, source: &dyn Source, catalog: &Catalog) -> TreeFacts {
        let facts = TreeFacts::read(source, catalog, &self.specs);
        self.specs = facts.over(&self.specs);
        facts
    }

    /// Returns false for a finding below the least confidence that was asked for. Errors are certain.
    pub fn is_reported(&self, finding: &Finding) -> bool {
        let rule = self.rules.get(&finding.rule).ok();
        let confidence = rule.map(|rule| rule.confidence_of(finding.severity));
        self.min_confidence.is_none_or(|least| confidence.is_none_or(|own| own >= least))
    }

    /// Marks the findings that are waived or excused today, and says what is to be said of the waivers and exceptions.
    ///
    /// # Errors
    ///
    /// When a waiver's condition reads what findings do not have.
    pub fn waive(&self, sink: &mut Sink) -> Result<Applied> {
        let mut applied =
            sink.waive(&self.waivers, today()).map_err(|e| e.of(&self.waivers.path))?;
        applied.expired_exceptions =
            sink.excuse(&self.exceptions, today(), &|id| self.rules.contains(id));
        Ok(applied)
    }

    /// Applies waivers and the baseline, and judges the waivers themselves by the rules that ran: only
    /// where those judged the `whole` of what they are for can a waiver be called unused.
    ///
    /// # Errors
    ///
    /// Those of [`Settings::waive`].
    pub fn conclude(&self, sink: &mut Sink, rules: &[Arc<Rule>], whole: bool) -> Result<()> {
        let applied = self.waive(sink)?;
        let unused = if whole {
            applied.unused_by(&|id| rules.iter().any(|r| r.id == id), &|id| self.rules.contains(id))
        } else {
            Vec::new()
        };
        let path = self.waivers.path.as_str();
        let context = WaiverContext { path, expired: &applied.expired, unused: &unused };
        let (expired, unused) = (&applied.expired_exceptions, &self.exceptions.unread);
        let theirs = WaiverContext { path: exceptions::PATH, expired, unused };
        for context in [context, theirs] {
            let item = Item::Waivers(context);
            for rule in rules {
                sink.extend(rule.item(&item));
            }
        }
        self.settle(sink);
        Ok(())
    }

    /// Applies the baseline, merges the same novelty of several files, and drops findings that nobody asked for.
    pub fn settle(&self, sink: &mut Sink) {
        if let Some(baseline) = &self.baseline {
            sink.compare(baseline);
        }
        sink.merge_unknown(&self.specs.shipped.not_known());
        sink.retain(|finding| self.is_reported(finding));
    }
}
