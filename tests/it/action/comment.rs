//! The step that posts the comment, with a `gh` that notes what it is asked and answers from files.

use std::collections::BTreeMap;
use std::path::Path;

use super::{program, read, run_step};
use crate::common::Tree;

const HEAD: &str = "1111111111111111111111111111111111111111";
const OLDER: &str = "2222222222222222222222222222222222222222";

/// Notes its arguments, and the body that it is given; answers what the file of the address says.
const GH: &str = r#"
here=$(dirname "$0")/..
printf '%s\n' "$*" | sed "s|$here|HERE|g; s|@.*perfdb-gate-body-[^ ]*|@BODY|" >> "$here/asked"
for word in "$@"; do
  case $word in
    body=@*) cat "${word#body=@}" > "$here/posted" ;;
    repos/*/pulls/*/commits*) cat "$here/answers/commits" ;;
    repos/*/pulls/*) cat "$here/answers/head" ;;
    repos/*/artifacts*) cat "$here/answers/artifact" ;;
    repos/*/issues/*/comments\?*) cat "$here/answers/comments" ;;
    repos/*/issues/*)
      case "$*" in
        *--method*) echo "https://example.invalid/comment" ;;
        *) cat "$here/answers/last" ;;
      esac ;;
  esac
done
"#;

/// A folder with what a run left, and answers for a pull request whose head that run judged.
fn left() -> Tree {
    let tree = Tree::new();
    program(&tree, "gh", GH);
    tree.file("artifact/pull-request", "17\n");
    tree.file("artifact/comment.md", "<!-- perfdb-gate -->\n## 1 new error\n");
    tree.file("answers/head", format!("{HEAD}\n"));
    tree.file("answers/commits", format!("{OLDER}\n{HEAD}\n"));
    tree.file("answers/artifact", "99\n");
    tree.file("answers/comments", "");
    tree.file("answers/last", "");
    tree
}

/// Exit code, what was printed, what `gh` was asked.
fn post(tree: &Tree) -> (i32, String, String) {
    let step = read(".github/actions/comment/action.yml")["runs"]["steps"][1].clone();
    assert_eq!(step["id"], "post");
    let here = tree.path().display().to_string();
    let says = [
        ("programs", format!("{here}/bin")),
        ("inputs.folder", format!("{here}/artifact")),
        ("inputs.artifact", "perfdb-gate".to_owned()),
        ("inputs.login", "github-actions[bot]".to_owned()),
        ("github.repository", "somebody/something".to_owned()),
        ("github.server_url", "https://example.invalid".to_owned()),
        ("github.event.workflow_run.id", "42".to_owned()),
        ("github.event.workflow_run.head_sha", HEAD.to_owned()),
        ("runner.temp", here.clone()),
    ];
    let says: BTreeMap<String, String> =
        says.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    for file in ["asked", "posted", "output"] {
        tree.file(file, "");
    }
    let out = run_step(tree.path(), &step, &says, &tree.path().join("output"), Path::new(""));
    let said = String::from_utf8_lossy(&out.stdout) + String::from_utf8_lossy(&out.stderr);
    let asked = std::fs::read_to_string(tree.path().join("asked")).unwrap();
    (out.status.code().unwrap(), said.replace(&here, "[tmp]"), asked)
}

fn posted(tree: &Tree) -> String {
    std::fs::read_to_string(tree.path().join("posted")).unwrap()
}

#[test]
fn the_comment_of_a_pull_request_is_created_once_and_then_updated() {
    let tree = left();
    let (code, said, asked) = post(&tree);
    assert_eq!((code, said.as_str()), (0, "https://example.invalid/comment\n"));
    insta::assert_snapshot!(asked, @"
    api repos/somebody/something/pulls/17 --jq .head.sha
    api repos/somebody/something/actions/runs/42/artifacts?per_page=100 --jq first(.artifacts[] | select(.name == env.ARTIFACT) | .id)
    api --paginate repos/somebody/something/issues/17/comments?per_page=100 --jq .[] | select(.user.login == env.LOGIN and (.body | startswith(env.MARKER))) | .id
    api --method POST repos/somebody/something/issues/17/comments --field body=@BODY --jq .html_url
    ");
    insta::assert_snapshot!(posted(&tree), @"
    <!-- perfdb-gate -->
    ## 1 new error


    [The run](https://example.invalid/somebody/something/actions/runs/42) · [report, charts and page](https://example.invalid/somebody/something/actions/runs/42/artifacts/99) · 1111111111111111111111111111111111111111
    ");
    let output = std::fs::read_to_string(tree.path().join("output")).unwrap();
    assert_eq!(output, "url=https://example.invalid/comment\n");

    // Its own comment is there, and a second that it once wrote by mistake: the first is changed.
    tree.file("answers/comments", "7001\n7002\n");
    tree.file("answers/artifact", "");
    let (code, _, asked) = post(&tree);
    assert_eq!(code, 0);
    let writes: Vec<&str> = asked.lines().filter(|l| l.contains("--method")).collect();
    assert_eq!(
        writes,
        [
            "api --method PATCH repos/somebody/something/issues/comments/7001 --field body=@BODY --jq .html_url"
        ]
    );
    assert!(!posted(&tree).contains("artifacts"), "there is none to lead to");
}

#[test]
fn a_comment_states_the_findings_changed_since_the_last_comment() {
    let tree = left();
    tree.file("answers/comments", "7001\n");
    tree.file("answers/last", "<!-- perfdb-gate -->\n## 3 errors\n\n<!-- findings: 0a 0b 0c -->\n");
    tree.file(
        "artifact/comment.md",
        "<!-- perfdb-gate -->\n## 2 errors\n\nNothing.\n<!-- findings: 0c 0d -->\n",
    );
    assert_eq!(post(&tree).0, 0);
    let since = "## 2 errors\n\nSince the last comment: 2 fixed, 1 new, 1 unchanged.\n\nNothing.";
    assert!(posted(&tree).contains(since), "{}", posted(&tree));
    // All is repaired, and the last comment listed none: an older version wrote it.
    tree.file("artifact/comment.md", "<!-- perfdb-gate -->\n## good\n\nNothing.\n");
    assert_eq!(post(&tree).0, 0);
    assert!(posted(&tree).contains("3 fixed, 0 new, 0 unchanged."), "{}", posted(&tree));
    tree.file("answers/last", "<!-- perfdb-gate -->\n## 3 errors\n");
    assert_eq!(post(&tree).0, 0);
    assert!(!posted(&tree).contains("Since the last"), "{}", posted(&tree));
}

/// The filter that tells its own comments from others is jq's.
#[test]
fn the_action_s_own_comment_is_recognized_by_marker_and_login() {
    let text = std::fs::read_to_string(".github/actions/comment/action.yml").unwrap();
    assert!(text.contains("select(.user.login == env.LOGIN and (.body | startswith(env.MARKER)))"));
    let template = std::fs::read_to_string("charts/comment.md.j2").unwrap();
    let marker = template.lines().next().unwrap();
    assert!(text.contains(&format!("MARKER='{marker}'")), "{marker}");
    for file in ["docs/ci.md", "README.md", "docs/adopting.md"] {
        let page = std::fs::read_to_string(file).unwrap();
        assert!(!page.contains("--edit-last"), "{file}: that changes any comment of the bot");
    }
}

#[test]
fn a_report_of_another_pull_request_or_commit_is_not_posted() {
    type Change = fn(&Tree);
    let changes: [(&str, Change); 9] = [
        ("another pull request", |t| {
            t.file("answers/head", "3333333333333333333333333333333333333333");
            t.file("answers/commits", "3333333333333333333333333333333333333333");
        }),
        ("newer commits", |t| {
            t.file("answers/head", "3333333333333333333333333333333333333333");
        }),
        ("no number", |t| {
            t.file("artifact/pull-request", "17/../18");
        }),
        ("no file", |t| t.remove("artifact/comment.md")),
        ("no marker", |t| {
            t.file("artifact/comment.md", "words\n<!-- perfdb-gate -->\n");
        }),
        ("an empty comment", |t| {
            t.file("artifact/comment.md", "");
        }),
        ("too long", |t| {
            t.file(
                "artifact/comment.md",
                "<!-- perfdb-gate -->\n".to_owned() + &"x".repeat(70_000),
            );
        }),
        ("a folder", |t| {
            t.remove("artifact/comment.md");
            t.file("artifact/comment.md/x", "");
        }),
        ("a link", |t| {
            t.remove("artifact/comment.md");
            let secret = t.file("secret", "<!-- perfdb-gate -->\nsecret");
            #[cfg(unix)]
            std::os::unix::fs::symlink(secret, t.path().join("artifact/comment.md")).unwrap();
        }),
    ];
    let mut told = String::new();
    for (name, change) in changes {
        let tree = left();
        change(&tree);
        let (code, said, asked) = post(&tree);
        assert!(!asked.contains("--method") && posted(&tree).is_empty(), "{name}: {asked}");
        told += &format!("{name}: {said}(exit {code})\n");
    }
    insta::assert_snapshot!(told, @"
    another pull request: ::error title=perfdb-gate::the run is not of pull request 17
    (exit 1)
    newer commits: ::notice title=perfdb-gate::pull request 17 has newer commits, whose own run comments
    (exit 0)
    no number: ::error title=perfdb-gate::pull-request holds no number
    (exit 1)
    no file: ::error title=perfdb-gate::comment.md is not a plain file of the artifact
    (exit 1)
    no marker: ::error title=perfdb-gate::comment.md does not begin with <!-- perfdb-gate -->
    (exit 1)
    an empty comment: ::error title=perfdb-gate::comment.md does not begin with <!-- perfdb-gate -->
    (exit 1)
    too long: ::error title=perfdb-gate::comment.md has over 60,000 bytes
    (exit 1)
    a folder: ::error title=perfdb-gate::comment.md is not a plain file of the artifact
    (exit 1)
    a link: ::error title=perfdb-gate::comment.md is not a plain file of the artifact
    (exit 1)
    ");
}
