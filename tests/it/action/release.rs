//! Where the action's program comes from, and that what is released names one place and one version.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Output};

use super::{action, program, run_step};
use crate::common::{BINARY, Tree};

/// Runs the step that finds the program, on a platform.
fn find(tree: &Tree, inputs: &[(&str, &str)]) -> (Output, String) {
    let here = tree.path().display().to_string();
    let mut says: BTreeMap<String, String> = BTreeMap::new();
    says.insert("programs".into(), format!("{here}/bin"));
    says.insert("runner.temp".into(), here);
    says.insert("runner.os".into(), "Linux".into());
    says.insert("runner.arch".into(), "X64".into());
    says.insert("github.action_path".into(), env!("CARGO_MANIFEST_DIR").into());
    says.insert("github.action_repository".into(), "some-one/perfdb-gate".into());
    says.insert("github.server_url".into(), "https://github.com".into());
    for (name, value) in inputs {
        says.insert((*name).into(), (*value).into());
    }
    let output = tree.file("output", "");
    let action = action();
    let steps = action["runs"]["steps"].as_array().unwrap();
    let step = steps.iter().find(|s| s["id"] == "find").unwrap();
    let out = run_step(tree.path(), step, &says, &output, Path::new(""));
    (out, std::fs::read_to_string(output).unwrap())
}

fn told(out: &Output) -> String {
    (String::from_utf8_lossy(&out.stdout) + String::from_utf8_lossy(&out.stderr)).into_owned()
}

#[test]
fn the_action_builds_its_own_checkout_once_on_request() {
    let tree = Tree::new();
    let here = tree.path().display().to_string();
    // A cargo that notes what it is asked for, and what it would have built.
    program(
        &tree,
        "cargo",
        &format!(
            "echo \"$*\" >> '{here}/asked'\nmkdir -p '{here}/perfdb-gate-built/bin'\n\
             cp '{BINARY}' '{here}/perfdb-gate-built/bin/perfdb-gate'\n"
        ),
    );
    let action = action();
    let steps = action["runs"]["steps"].as_array().unwrap();
    let sources = steps.iter().find(|s| s["id"] == "sources").unwrap();
    let says =
        BTreeMap::from([("github.action_path".to_owned(), env!("CARGO_MANIFEST_DIR").to_owned())]);
    let output = tree.file("output", "");
    let out = run_step(tree.path(), sources, &says, &output, &output);
    let key = std::fs::read_to_string(&output).unwrap();
    assert!(out.status.success() && key.trim().len() > "key=".len() + 39, "{key}");

    for _ in 0..2 {
        let (out, output) = find(&tree, &[("inputs.build", "true")]);
        assert!(out.status.success(), "{}", told(&out));
        assert_eq!(output, format!("binary={here}/perfdb-gate-built/bin/perfdb-gate\n"));
    }
    let asked = std::fs::read_to_string(tree.path().join("asked")).unwrap();
    let root = env!("CARGO_MANIFEST_DIR");
    let expected = format!(
        "install --quiet --locked --profile dist --path {root} --root {here}/perfdb-gate-built\n"
    );
    assert_eq!(asked, expected, "once");
}

/// A release of this version for Linux, in a folder that a `curl` takes files from.
fn released(tree: &Tree, version: &str) -> String {
    let here = tree.path().display().to_string();
    let name = format!("perfdb-gate-{version}-x86_64-unknown-linux-musl.tar.gz");
    let script = format!(
        "mkdir -p '{here}/release' '{here}/content'\nln -s '{BINARY}' '{here}/content/perfdb-gate'\n\
         tar -czhf '{here}/release/{name}' -C '{here}/content' perfdb-gate\n\
         cd '{here}/release'\nsha256sum -- * > SHA256SUMS || shasum -a 256 -- * > SHA256SUMS"
    );
    assert!(Command::new("bash").args(["-ec", &script]).status().unwrap().success());
    program(
        tree,
        "curl",
        &format!(
            "echo \"${{@: -1}}\" >> '{here}/asked'\nwhile [ \"$1\" != --output ]; do shift; done\n\
             cp '{here}/release/'\"$(basename \"$3\")\" \"$2\" 2> /dev/null"
        ),
    );
    name
}

#[test]
fn the_action_downloads_its_own_version_and_verifies_the_checksum() {
    let tree = Tree::new();
    let version = env!("CARGO_PKG_VERSION");
    let name = released(&tree, version);
    let (out, output) = find(&tree, &[]);
    assert!(out.status.success(), "{}", told(&out));
    let path = output.trim().strip_prefix("binary=").unwrap();
    let said = Command::new(path).arg("--version").output().unwrap().stdout;
    assert_eq!(String::from_utf8(said).unwrap(), format!("perfdb-gate {version}\n"));
    let asked = std::fs::read_to_string(tree.path().join("asked")).unwrap();
    let from = format!("https://github.com/some-one/perfdb-gate/releases/download/v{version}");
    assert_eq!(asked, format!("{from}/{name}\n{from}/SHA256SUMS\n"));

    // The sum that a workflow names is the one that counts.
    let sums = std::fs::read_to_string(tree.path().join("release/SHA256SUMS")).unwrap();
    let sum = sums.split_whitespace().next().unwrap();
    assert!(find(&tree, &[("inputs.sha256", sum)]).0.status.success());
    tree.file("release/SHA256SUMS", format!("{}  {name}\n", "0".repeat(64)));
    assert!(find(&tree, &[("inputs.sha256", sum)]).0.status.success());

    let zeros = "0".repeat(64);
    // An action that a workflow calls by its folder has the address of Cargo.toml.
    if env!("CARGO_PKG_REPOSITORY").contains("OWNER") {
        let (out, output) = find(&tree, &[("github.action_repository", "")]);
        assert!(!out.status.success() && output.is_empty(), "{output}");
        let said = "::error title=perfdb-gate::this copy of perfdb-gate does not say where its releases are: set build to true\n";
        assert_eq!(told(&out), said);
        let asked = std::fs::read_to_string(tree.path().join("asked")).unwrap();
        assert!(!asked.contains("OWNER"), "nothing was fetched: {asked}");
    }
    let wrong: [&[(&str, &str)]; 7] = [
        &[],
        &[("inputs.sha256", &zeros)],
        &[("inputs.sha256", "latest")],
        &[("inputs.version", "9.9.9")],
        &[("inputs.version", "../../other")],
        &[("runner.os", "Windows")],
        &[("github.action_repository", "OWNER/perfdb-gate")],
    ];
    let mut logs = String::new();
    for inputs in wrong {
        let (out, output) = find(&tree, inputs);
        assert!(!out.status.success() && output.is_empty(), "{inputs:?}: {output}");
        let said = told(&out).replace(sum, "[the sum]").replace(version, "[version]");
        logs += &format!("{inputs:?}: {said}");
    }
    insta::assert_snapshot!(logs.replace(&zeros, "[zeros]"), @r#"
    []: ::error title=perfdb-gate::perfdb-gate-[version]-x86_64-unknown-linux-musl.tar.gz has the SHA-256 [the sum], not [zeros]
    [("inputs.sha256", "[zeros]")]: ::error title=perfdb-gate::perfdb-gate-[version]-x86_64-unknown-linux-musl.tar.gz has the SHA-256 [the sum], not [zeros]
    [("inputs.sha256", "latest")]: ::error title=perfdb-gate::there is no SHA-256 of perfdb-gate-[version]-x86_64-unknown-linux-musl.tar.gz
    [("inputs.version", "9.9.9")]: ::error title=perfdb-gate::https://github.com/some-one/perfdb-gate/releases/download/v9.9.9/perfdb-gate-9.9.9-x86_64-unknown-linux-musl.tar.gz cannot be had: name another version, or set build to true
    [("inputs.version", "../../other")]: ::error title=perfdb-gate::version takes a release's number
    [("runner.os", "Windows")]: ::error title=perfdb-gate::no release is made for Windows-X64: set build to true
    [("github.action_repository", "OWNER/perfdb-gate")]: ::error title=perfdb-gate::this copy of perfdb-gate does not say where its releases are: set build to true
    "#);
}

/// The texts that name where this is.
const NAMED: [&str; 4] = ["README.md", "SECURITY.md", "docs/ci.md", "docs/adopting.md"];

/// `UPDATE_DOCS=1 cargo test --test it release::` puts the owner of Cargo.toml into the texts.
#[test]
fn the_repository_s_address_is_taken_from_cargo_toml() {
    let place = env!("CARGO_PKG_REPOSITORY").strip_prefix("https://github.com/").unwrap();
    let mut seen = 0;
    for file in NAMED {
        let text = std::fs::read_to_string(file).unwrap();
        let mut out = String::new();
        let mut rest = text.as_str();
        while let Some(at) = rest.find("/perfdb-gate") {
            let is_name = |c: char| c.is_ascii_alphanumeric() || c == '-';
            let start = rest[..at].rfind(|c| !is_name(c)).map_or(0, |i| i + 1);
            let end = at + "/perfdb-gate".len();
            // A workflow's `uses:`, a hook's `repo:`, an option's value; not a path of this machine.
            let before = rest[..start].trim_end_matches("https://github.com/");
            let named = ["uses: ", "repo: ", "--repo ", "--git ", "git clone ", "perfdb-gate @ "]
                .iter()
                .any(|b| before.ends_with(b));
            out += &rest[..start];
            out += if named { place } else { &rest[start..end] };
            seen += usize::from(named);
            rest = &rest[end..];
        }
        out += rest;
        if std::env::var_os("UPDATE_DOCS").is_some() {
            std::fs::write(file, &out).unwrap();
        }
        let written = std::fs::read_to_string(file).unwrap();
        assert!(written == out, "{file}: run UPDATE_DOCS=1 cargo test --test it release::");
    }
    assert!(seen > 5, "{seen}");
    // So does the version that a hook names.
    let rev = concat!("\n  rev: v", env!("CARGO_PKG_VERSION"), "\n");
    let page = std::fs::read_to_string("docs/ci.md").unwrap();
    let wheel = concat!(
        "/download/v",
        env!("CARGO_PKG_VERSION"),
        "/perfdb_gate-",
        env!("CARGO_PKG_VERSION"),
        "-py3"
    );
    assert!(page.contains(rev) && page.contains(wheel), "{rev} {wheel}");
}

#[test]
fn other_actions_are_pinned_by_commit() {
    let workflows = std::fs::read_dir(".github/workflows").unwrap();
    let mut paths: Vec<String> =
        workflows.map(|f| f.unwrap().path().display().to_string()).collect();
    assert!(paths.len() > 1);
    paths.extend(
        ["action.yml", ".github/actions/comment/action.yml", "docs/ci.md"].map(String::from),
    );
    for path in paths {
        let text = std::fs::read_to_string(&path).unwrap();
        let uses = text.lines().filter_map(|l| l.split_once("uses: "));
        let mut seen = 0;
        // A workflow of the same repository is of the same commit.
        for (_, name) in uses.filter(|(_, name)| !name.starts_with("./")) {
            let commit = name.split_once('@').unwrap_or_else(|| panic!("{path}: {name}")).1;
            let commit = commit.split(' ').next().unwrap();
            let is_hex = commit.len() == 40 && commit.bytes().all(|b| b.is_ascii_hexdigit());
            assert!(is_hex, "{path}: {name}");
            seen += 1;
        }
        assert!(seen > 0, "{path} names no action");
    }
}

/// What a release says of itself is the changelog's section of the version, and only a tag of it makes one.
#[test]
fn a_release_needs_a_changelog_section_and_a_tag() {
    let notes = |tag: &str| Command::new(".ci/release-notes").arg(tag).output().unwrap();
    let tried = notes("main");
    assert!(tried.status.success(), "{}", told(&tried));
    let section = String::from_utf8(tried.stdout).unwrap();
    assert!(section.contains("\n### Added\n") && !section.contains("\n## "), "{section}");
    let other = notes("v9.9.9");
    assert_eq!(other.status.code(), Some(1), "{}", told(&other));
    let own = notes(concat!("v", env!("CARGO_PKG_VERSION")));
    let placed = !env!("CARGO_PKG_REPOSITORY").contains("OWNER");
    assert_eq!(own.status.success(), placed, "{}", told(&own));
}

/// The week's targets are those that there are.
#[test]
fn the_weekly_workflow_runs_every_fuzz_target() {
    let workflow = super::read(".github/workflows/ci.yml");
    let mut targets: Vec<&str> = workflow["jobs"]["fuzz"]["strategy"]["matrix"]["target"]
        .as_array()
        .unwrap()
        .iter()
        .map(|t| t.as_str().unwrap())
        .collect();
    targets.sort_unstable();
    let files = std::fs::read_dir("fuzz/fuzz_targets").unwrap().map(|f| f.unwrap().path());
    let mut there: Vec<String> =
        files.map(|f| f.file_stem().unwrap().to_string_lossy().into_owned()).collect();
    there.sort_unstable();
    assert_eq!(targets, there);
}
