//! The collectors of a state: pinned runtimes, the operations of each framework, and the files that decide what an
//! operation measures.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::base::yaml;
use crate::database::source::{Entry, Source};

/// The file whose folder is that of the collectors.
pub(super) const POLICY: &str = "collector/evidence_policy.yaml";

/// The token of `hash_closures.yaml` for all files with cases of models, and their folder.
const MODEL_CASES: (&str, &str) = ("__model_cases__", "collector/cases/models/");

/// The files that every plan of cases is made by.
const CASE_CODE: [&str; 2] = ["collector/case_generator.py", "collector/model_cases.py"];

/// The manifest of frameworks.
#[derive(Deserialize)]
struct Manifest {
    frameworks: BTreeMap<String, Framework>,
}

/// A framework of the manifest.
#[derive(Deserialize)]
struct Framework {
    default: Pin,
    #[serde(default)]
    families: BTreeMap<String, Pin>,
    #[serde(default)]
    collector_dir: Option<String>,
    #[serde(default)]
    data_backend: Option<String>,
}

/// A pinned runtime.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(super) struct Pin {
    pub version: String,
    #[serde(default)]
    images: BTreeMap<String, String>,
}

/// The operation catalog.
#[derive(Deserialize)]
struct OperationCatalog {
    families: Vec<Family>,
}

#[derive(Deserialize)]
struct Family {
    family: String,
    op_files: Vec<String>,
}

/// The files of a state below the folder that contains `collector/`, by path from there.
pub(super) struct CollectorFiles<'a> {
    source: &'a dyn Source,
    files: BTreeMap<&'a str, &'a Entry>,
}

impl<'a> CollectorFiles<'a> {
    /// Finds the collectors of a state; `None` if it has no policy of evidence, or several.
    pub(super) fn find(source: &'a dyn Source, entries: &'a [Entry]) -> Option<Self> {
        let prefix = |entry: &'a Entry| {
            let prefix = entry.path.strip_suffix(POLICY)?;
            (prefix.is_empty() || prefix.ends_with('/')).then_some(prefix)
        };
        let prefixes: Vec<&str> = entries.iter().filter_map(prefix).collect();
        let [prefix] = prefixes[..] else { return None };
        let below = entries.iter().filter_map(|e| Some((e.path.strip_prefix(prefix)?, e)));
        Some(Self { source, files: below.collect() })
    }

    fn text(&self, path: &str) -> Result<String, String> {
        let entry = self.files.get(path).ok_or_else(|| format!("{path} does not exist"))?;
        self.source.text(entry).map_err(|why| format!("{path}: {why}"))
    }

    /// Reads a file of YAML.
    pub(super) fn yaml<T: DeserializeOwned>(&self, path: &str) -> Result<T, String> {
        yaml::parse(&self.text(path)?).map_err(|why| format!("{path}: {why}"))
    }

    /// Returns the ids of files; a file that does not exist has none.
    fn ids(&self, paths: &BTreeSet<String>) -> FileIds {
        let id = |path: &String| self.files.get(path.as_str()).and_then(|e| self.source.id(e));
        paths.iter().map(|path| (path.clone(), id(path))).collect()
    }

    /// Replaces the token for cases of models by the files that it stands for.
    fn expanded(&self, paths: &[String]) -> BTreeSet<String> {
        let models = || {
            let below = self.files.keys().filter(|path| path.starts_with(MODEL_CASES.1));
            below.filter(|path| path.ends_with(".yaml")).map(|path| (*path).to_owned())
        };
        let is_token = |path: &&String| path.as_str() == MODEL_CASES.0;
        let others = paths.iter().filter(|path| !is_token(path)).cloned();
        let models = paths.iter().filter(is_token).take(1).flat_map(|_| models());
        others.chain(models).collect()
    }
}

/// The ids of files by path.
type FileIds = BTreeMap<String, Option<git2::Oid>>;

/// A framework's collectors of one family.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct FamilyCollectors {
    /// The pinned runtime; `None` if the framework does not exist.
    pub pin: Option<Pin>,
    /// The folder of the framework's tables.
    pub backend: String,
    /// The stems of the tables.
    pub tables: BTreeSet<String>,
    /// The files that decide how rows are measured, by module.
    pub code: BTreeMap<String, FileIds>,
    /// The files that decide which cases are measured.
    pub cases: FileIds,
}

/// Reads the collectors of a state by framework and family.
///
/// # Errors
///
/// If a file is missing or has another form: a change that cannot be read must not look like none.
pub(super) fn read(
    files: &CollectorFiles<'_>,
) -> Result<BTreeMap<(String, String), FamilyCollectors>, String> {
    let manifest: Manifest = files.yaml("collector/framework_manifest.yaml")?;
    let catalog: OperationCatalog = files.yaml("collector/op_backend_catalog.yaml")?;
    let closures: BTreeMap<String, Option<Vec<String>>> =
        files.yaml("collector/hash_closures.yaml")?;
    let shared = quoted_list(&files.text("collector/provenance.py")?, "SHARED_CORE")
        .ok_or("collector/provenance.py: SHARED_CORE is not a list of texts")?;
    let tables = constants(&files.text("collector/registry_types.py")?, "PerfFile");
    let families: BTreeMap<&str, &str> = catalog
        .families
        .iter()
        .flat_map(|f| f.op_files.iter().map(|table| (table.as_str(), f.family.as_str())))
        .collect();
    let mut found: BTreeMap<(String, String), FamilyCollectors> = BTreeMap::new();
    for (name, framework) in &manifest.frameworks {
        let own = format!("collector/{name}");
        let path = format!("{}/registry.py", framework.collector_dir.as_ref().unwrap_or(&own));
        // A framework without a registry has no operations.
        let Ok(text) = files.text(&path) else { continue };
        let operations = operations(&text, &tables).map_err(|why| format!("{path}: {why}"))?;
        for (module, table) in operations {
            let Some(family) = families.get(table.as_str()) else { continue };
            let of = found.entry((name.clone(), (*family).to_owned())).or_default();
            let pin = framework.families.get(*family).unwrap_or(&framework.default);
            of.pin = Some(pin.clone());
            of.backend = framework.data_backend.clone().unwrap_or_else(|| name.clone());
            of.tables.insert(table);
            let extras = closures
                .get(&module)
                .ok_or_else(|| format!("collector/hash_closures.yaml does not list {module}"))?;
            let extras = files.expanded(extras.as_deref().unwrap_or_default());
            let is_case = |path: &&String| path.starts_with("collector/cases/");
            let cases = extras.iter().filter(is_case).cloned();
            let cases = cases.chain(CASE_CODE.map(str::to_owned)).collect();
            of.cases.extend(files.ids(&cases));
            let file = format!("{}.py", module.replace('.', "/"));
            let code = extras.into_iter().chain(shared.iter().cloned()).chain([file]).collect();
            of.code.insert(module, files.ids(&code));
        }
    }
    Ok(found)
}

/// Returns the module and the table's stem of each operation of a registry, without running it.
fn operations(
    text: &str,
    tables: &BTreeMap<String, String>,
) -> Result<Vec<(String, String)>, String> {
    let is_start = |line: &&str| line.starts_with("REGISTRY:") || line.starts_with("REGISTRY =");
    let lines = text.lines().skip_while(|line| !is_start(line));
    let lines = lines.take_while(|line| *line != "]").map(str::trim);
    let body: String = lines.filter(|l| !l.starts_with('#')).flat_map(|l| [l, "\n"]).collect();
    let mut found = Vec::new();
    for entry in body.split("OpEntry(").skip(1) {
        let argument = |name: &str| {
            let mut parts = entry.split([',', '\n', ')']).map(str::trim);
            parts.find_map(|part| part.strip_prefix(name)?.strip_prefix('='))
        };
        let text = |value: &str| Some(value.strip_prefix('"')?.strip_suffix('"')?.to_owned());
        let module = argument("module").and_then(text).ok_or("an OpEntry names no module")?;
        let file = argument("perf_filename").ok_or("an OpEntry names no perf_filename")?;
        let file = match file.strip_prefix("PerfFile.") {
            Some(name) => tables.get(name).cloned(),
            None => text(file),
        };
        let file = file.ok_or("an OpEntry names an unknown perf_filename")?;
        let stem = file.rsplit_once('.').map_or(file.as_str(), |(stem, _)| stem);
        found.push((module, stem.to_owned()));
    }
    Ok(found)
}

/// Returns the texts of a list or tuple that a module assigns to a name.
fn quoted_list(text: &str, name: &str) -> Option<Vec<String>> {
    let start = text.lines().position(|line| line.starts_with(name))?;
    let rest = text.lines().skip(start).map(|line| line.split('#').next().unwrap_or_default());
    let rest: String = rest.collect::<Vec<_>>().join("\n");
    let (_, value) = rest.split_once('=')?;
    let value = value.trim_start().strip_prefix(['(', '['])?;
    let (items, _) = value.split_once([')', ']'])?;
    let items = items.split(',').map(str::trim).filter(|item| !item.is_empty());
    items.map(|item| Some(item.strip_prefix('"')?.strip_suffix('"')?.to_owned())).collect()
}

/// Returns the texts that a class assigns to its names.
fn constants(text: &str, class: &str) -> BTreeMap<String, String> {
    let head = format!("class {class}");
    let lines = text.lines().skip_while(|line| !line.starts_with(&head)).skip(1);
    let lines = lines.take_while(|line| line.is_empty() || line.starts_with([' ', '#']));
    let pair = |line: &str| {
        let (name, value) = line.trim().split_once(" = ")?;
        Some((name.to_owned(), value.strip_prefix('"')?.split_once('"')?.0.to_owned()))
    };
    lines.filter_map(pair).collect()
}
