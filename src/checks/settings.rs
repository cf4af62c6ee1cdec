//! The inputs of a run other than the data: rules with their overlays, waivers, and a baseline.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::base::dates::today;
use crate::base::error::{Error, Reason, Result};
use crate::base::read::read_text;
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

/// The rules to run, and the rule files to read.
#[derive(Debug, Default, Clone, clap::Args)]
pub struct RuleSelection {
    /// Run only these rules, e.g. `duplicate-key`; may be repeated.
    #[arg(long, value_name = "RULE", help_heading = "Rules")]
    pub only: Vec<String>,
    /// Do not run these rules; may be repeated.
    #[arg(long, value_name = "RULE", help_heading = "Rules")]
    pub skip: Vec<String>,
    /// Only findings that are at least so often right, judged by hand: `certain` (95 % and more),
    /// `likely` (75 % and more) or `look` (all). Errors are certain.
    #[arg(long, value_name = "LEVEL", hide_possible_values = true, help_heading = "Rules")]
    pub min_confidence: Option<Confidence>,
    /// A folder laid out like perfdb-gate's rules/; its files are added, or replace the ones with
    /// the same id.
    #[arg(long = "rules", value_name = "DIR", help_heading = "Rules")]
    pub folder: Option<PathBuf>,
}

/// The inputs of a run other than the data.
#[derive(Default)]
pub struct Settings {
    /// The specs of tables and systems, including overlays.
    pub specs: Specs,
    /// The rules, overlays included.
    pub rules: Rules,
    /// The repository's waivers.
    pub waivers: Waivers,
    /// Exceptions that the owners of the database signed in a file of their own.
    pub(crate) exceptions: Exceptions,
    /// The recorded findings of an earlier run, which do not count as new; `None` without a baseline.
    pub baseline: Option<Baseline>,
    /// Paths of the files that replace embedded rules or add further rules.
    pub overlays: Vec<String>,
    /// Paths of rule files in the database that are ignored, because only the caller may supply such files.
    pub declined: Vec<String>,
    /// The minimum confidence of reported findings; `None` reports all findings.
    pub min_confidence: Option<Confidence>,
}

impl Settings {
    /// Reads the settings from `commit` of the repository at `root`, or from `source` if no commit is given.
    ///
    /// With a commit, a pull request cannot change the rules by which it is judged.
    ///
    /// # Errors
    ///
    /// If the commit does not exist, and in the cases of [`Settings::read`].
    pub(crate) fn of(
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

    /// Reads the embedded specs, then the settings in the repository of `source`, then a folder of `rules` and a
    /// `baseline` from the command line.
    ///
    /// # Errors
    ///
    /// If one of them cannot be read. A rule that is silently missing would let its defects pass.
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
            settings.exceptions.add_expected_losses(manifest, misses);
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
        settings.rules.check(&settings.specs)?;
        if let Some(path) = baseline {
            let bad = |why: Reason| {
                Error::new(format!("{}: {why}", path.display()), "--write-baseline writes one")
            };
            let text = read_text(path).map_err(|e| bad(e.to_string().into()))?;
            settings.baseline = Some(Baseline::parse(&text).map_err(bad)?);
        }
        Ok(settings)
    }

    /// Returns the git object ids of the files that affect later runs of this program, by path. These files are
    /// `.gitattributes`, which decides which files are in git-LFS, and all files below `.perfdb-gate/`. The id is
    /// `None` if a file has no git object.
    ///
    /// # Errors
    ///
    /// If the files cannot be listed.
    pub(crate) fn ids(source: &dyn Source) -> Result<BTreeMap<String, Option<git2::Oid>>> {
        let attributes =
            source.top_file(".gitattributes")?.map(|e| (e.path.clone(), source.id(&e)));
        let id = |entry: Entry| (format!(".perfdb-gate/{}", entry.path), source.id(&entry));
        Ok(source.settings()?.into_iter().map(id).chain(attributes).collect())
    }

    /// Chooses the layout of a database by its `name`, or else from its files.
    ///
    /// # Errors
    ///
    /// If the name is unknown.
    pub(crate) fn choose_layout(&mut self, name: Option<&str>, files: &[Entry]) -> Result<()> {
        self.specs.choose_layout(name, files.iter().map(|entry| entry.path.as_str()))
    }

    /// Reads the facts that the database states about itself, and returns these facts. They also replace the embedded
    /// facts in the specs.
    pub(crate) fn take_facts(&mut self, source: &dyn Source, catalog: &Catalog) -> TreeFacts {
        let facts = TreeFacts::read(source, catalog, &self.specs);
        self.specs = facts.apply_to(&self.specs);
        facts
    }

    /// Returns false for a finding below the requested confidence. Errors are always reported.
    pub(crate) fn is_reported(&self, finding: &Finding) -> bool {
        let rule = self.rules.get(&finding.rule).ok();
        let confidence = rule.map(|rule| rule.confidence_of(finding.severity));
        self.min_confidence.is_none_or(|least| confidence.is_none_or(|own| own >= least))
    }

    /// Marks the findings that a waiver or an exception accepts today. Returns messages on waivers and exceptions that
    /// had no effect, such as expired ones.
    ///
    /// # Errors
    ///
    /// If a waiver's condition reads a name that findings do not have.
    pub(crate) fn waive(&self, sink: &mut Sink) -> Result<Applied> {
        let mut applied =
            sink.waive(&self.waivers, today()).map_err(|e| e.of(&self.waivers.path))?;
        applied.expired_exceptions =
            sink.excuse(&self.exceptions, today(), &|id| self.rules.contains(id));
        Ok(applied)
    }

    /// Applies waivers and the baseline to the findings, and then checks the waivers themselves. `whole` is true if the
    /// run judged the whole database. If it is false, no waiver is reported as unused.
    ///
    /// # Errors
    ///
    /// The same as for [`Settings::waive`].
    pub(crate) fn conclude(&self, sink: &mut Sink, rules: &[Arc<Rule>], whole: bool) -> Result<()> {
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

    /// Merges findings of several files about the same unknown name into one. Then compares the findings with the
    /// baseline, and drops findings below the requested confidence.
    pub(crate) fn settle(&self, sink: &mut Sink) {
        sink.merge_unknown(&self.specs.shipped.not_known());
        if let Some(baseline) = &self.baseline {
            sink.compare(baseline);
        }
        sink.retain(|finding| self.is_reported(finding));
    }
}
