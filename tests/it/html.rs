//! The page of a report, as text and in a browser.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::common::snapshot::redact;
use crate::common::{Tree, gemm};
use serde_json::{Value, json};

const HOSTILE: &str =
    "NVIDIA </script><script>window.hit=1</script><img src=x onerror=window.hit=1>";

/// Errors on two backends, rows that mean harm, and a finding that is waived.
fn tree() -> Tree {
    let tree = Tree::new();
    tree.gemm("gemm_perf.txt", gemm(&[(1, 0.5), (0, 0.6)]).replace("NVIDIA H200", HOSTILE));
    tree.file(
        "systems/data/h200_sxm/sglang/0.5.9/gemm_perf.txt",
        gemm(&[(0, 0.5), (0, 0.7), (0, 0.9)]).replace("VLLM,0.24.0", "SGLang,0.5.9"),
    );
    let waiver = "waivers:\n- rule: key-out-of-range\n  path: '**/vllm/**'\n  reason: r\n  \
                  evidence: e\n  approved_by: somebody\n  until: 2999-01-01\n";
    tree.file(".perfdb-gate/waivers.yaml", waiver);
    tree
}

/// The page of a validate run, and the JSON report beside it.
fn page(tree: &Tree) -> (String, Value) {
    let path = tree.path().join("report.html");
    let run = tree.validate(&["--format", "json", "--html", path.to_str().unwrap()]);
    assert_eq!((run.code(), run.err().as_str()), (1, ""));
    (std::fs::read_to_string(path).unwrap(), run.json())
}

/// The body of a page without its script and the drawings of its charts.
fn body(page: &str) -> String {
    let (_, body) = page.split_once("<body>").expect("a body");
    let (body, _) = body.split_once("<script").expect("a script");
    let mut parts = body.split("<svg ");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        out += "<svg/>";
        out += part.split_once("</svg>").expect("the end of a drawing").1;
    }
    redact(&out)
}

#[test]
fn the_html_report_loads_nothing_from_elsewhere() {
    let (page, _) = page(&tree());
    // It loads nothing; links lead to the rules' documentation alone.
    let page = page.replace("&#x2f;", "/");
    let documents = format!("<a href=\"{}/blob/", env!("CARGO_PKG_REPOSITORY"));
    // While the owner of the address is a placeholder, nothing leads there.
    assert_eq!(page.contains(&documents), !documents.contains("OWNER"));
    let rest = page.replace(&documents, "");
    assert!(!rest.contains("http:") && !rest.contains("https:") && !rest.contains("//cdn"));
    assert_eq!(page.matches("<script").count(), 1);
    assert_eq!(page.matches("<link").count(), 1, "an empty icon");
    assert!(page.contains("default-src 'none'"));
    assert!(page.len() < 100_000, "{}", page.len());
    insta::assert_snapshot!(body(&page));
}

#[test]
fn the_html_report_of_a_comparison_states_what_changed() {
    let tree = Tree::new();
    tree.gemm("gemm_perf.txt", gemm(&[(1, 0.5), (2, 0.6)]));
    tree.commit();
    tree.gemm("gemm_perf.txt", gemm(&[(1, 0.5), (2, 0.9), (4, 0.7)]));
    let path = tree.path().join("report.html");
    tree.sanity(&["--base-ref", "main", "--html", path.to_str().unwrap()]);
    let body = body(&std::fs::read_to_string(path).unwrap().replace("&#x2f;", "/"));
    let (before, rest) = body.split_once("; base ").expect("the states");
    let (states, after) = rest.split_once("; perfdb-gate").unwrap();
    let (base, head) =
        states.split_once(", head files on disk, checkout of ").expect("both states");
    assert_eq!(base, head);
    insta::assert_snapshot!(format!("{before}; [states]; perfdb-gate{after}"));
}

/// A sweep with a spike, whose finding has a curve.
fn spiked() -> Tree {
    let tree = Tree::new();
    let row = |m: u64| (m, if m == 64 { 9.0 } else { 0.5 + m as f64 / 1000.0 });
    let text: String =
        (0..12).map(|m| row(1 << m)).fold(crate::common::GEMM.to_owned(), |text, (m, ms)| {
            text + &format!("VLLM,0.24.0,NVIDIA H200,gemm,cutlass,bfloat16,{m},4096,4096,{ms}\n")
        });
    tree.gemm("gemm_perf.txt", text);
    tree
}

#[test]
fn the_html_report_on_files_has_curves_and_names_no_commit() {
    let tree = spiked();
    let path = tree.path().join("report.html");
    tree.validate(&["--html", path.to_str().unwrap()]);
    let page = std::fs::read_to_string(path).unwrap().replace("&#x2f;", "/");
    let root = tree.path().display();
    assert!(page.contains(&format!("root {root}; files on disk; perfdb-gate ")));
    assert!(
        page.contains("perfdb-gate explore --root . --system h200_sxm"),
        "no --ref outside git"
    );
    assert!(
        page.contains("<figure id=\"chart-1\"")
            && page.contains("<a href=\"#chart-1\" data-chart>")
    );
    // The drawing has the title, and nothing repeats it above.
    assert!(!page.contains("<figcaption"));
    tree.commit();
    let path = tree.path().join("committed.html");
    tree.validate(&["--ref", "main", "--html", path.to_str().unwrap()]);
    let page = std::fs::read_to_string(path).unwrap().replace("&#x2f;", "/");
    let head = page
        .split(&format!("root {root}; "))
        .nth(1)
        .unwrap()
        .split("; perfdb-gate")
        .next()
        .unwrap();
    let (id, date) = head.split_once(" (").unwrap();
    assert!(id.len() == 12 && id.bytes().all(|b| b.is_ascii_hexdigit()), "{head}");
    assert!(date.starts_with("20") && date.len() >= "2026-01-01)".len(), "{head}");
}

#[test]
#[ignore = "needs Chromium on the path"]
fn the_html_report_fits_the_width_of_a_phone() {
    let browser = chromium();
    let tree = spiked();
    let path = tree.path().join("report.html");
    tree.validate(&["--html", path.to_str().unwrap()]);
    let page = std::fs::read_to_string(path).unwrap();
    let seen = at_width(&browser, &tree, &page, 320);
    assert!(seen["width"].as_u64().unwrap() <= 320, "{seen}");
    // Opened findings show their curves.
    assert!(seen["curves"].as_u64().unwrap() >= 1, "{seen}");
}

/// Opens a page in a frame of a width, with every fold open, and returns the width that it takes.
pub fn at_width(browser: &Path, tree: &Tree, page: &str, width: u32) -> Value {
    const LOOK: &str = r##"
setTimeout(() => {
  for (const fold of document.querySelectorAll("details")) fold.open = true;
  setTimeout(() => parent.postMessage(JSON.stringify({
    width: document.documentElement.scrollWidth,
    curves: document.querySelectorAll(".story figure svg").length,
  }), "*"), 200);
}, 300);
"##;
    let nonce = page.split("<script nonce=\"").nth(1).unwrap().split('"').next().unwrap();
    let driven =
        page.replace("</body>", &format!("<script nonce=\"{nonce}\">{LOOK}</script></body>"));
    tree.file("driven.html", driven);
    let frame = format!(
        "<!doctype html><title></title><script>onmessage = (e) => document.title = e.data</script>\
         <iframe src=\"driven.html\" width={width} height=900 style=\"border: 0\"></iframe>"
    );
    let file = tree.file("frame.html", frame);
    let (document, said) = open(browser, tree.path(), &file);
    let title = document.split("<title>").nth(1).and_then(|t| t.split("</title>").next());
    serde_json::from_str(title.unwrap_or_default()).unwrap_or_else(|e| panic!("{e}: {said}"))
}

/// A browser that runs without a screen.
pub fn chromium() -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"]
        .iter()
        .find_map(|name| folders.iter().map(|f| f.join(name)).find(|p| p.is_file()))
        .expect("the page is opened in Chromium: install it, or put it on the path")
}

/// Opens a file; the document as it is then, and what the browser said.
pub fn open(browser: &Path, folder: &Path, file: &Path) -> (String, String) {
    let (out, err) = (folder.join("out"), folder.join("err"));
    let mut child = Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr"])
        .args(["--virtual-time-budget=2000", "--dump-dom"])
        .arg(format!("--user-data-dir={}", folder.join("profile").display()))
        .arg(format!("file://{}", file.display()))
        .stdout(std::fs::File::create(&out).unwrap())
        .stderr(std::fs::File::create(&err).unwrap())
        .stdin(Stdio::null())
        .spawn()
        .unwrap();
    let start = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if start.elapsed() > Duration::from_secs(120) {
            child.kill().unwrap();
            panic!("the browser does not end: {}", std::fs::read_to_string(err).unwrap());
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    let read = |path| String::from_utf8_lossy(&std::fs::read(path).unwrap()).into_owned();
    (read(out), read(err))
}

/// Does what a reader does, and leaves what it saw in the title.
const READER: &str = r##"
const form = document.getElementById("filter");
const seen = {};
const shown = () => [...document.querySelectorAll("#table > tbody:not([hidden])")];
const look = (name) => { seen[name] = shown().map((row) => `${row.dataset.rule} ${row.dataset.backend}`).sort(); };
const choose = (name, value) => {
  form.elements[name].value = value;
  form.elements[name].dispatchEvent(new Event("input", { bubbles: true }));
};
look("first");
choose("state", "waived"); look("waived");
choose("state", ""); look("all");
choose("backend", "sglang"); look("backend");
choose("backend", ""); choose("severity", "error"); choose("rule", "key-out-of-range"); look("rule");
choose("rule", ""); choose("severity", ""); choose("text", "H200 DEVICE script"); look("text");
choose("text", "");
const head = document.querySelector("th[data-sort=count]");
head.querySelector("button").click(); seen.sort = [head.getAttribute("aria-sort")];
head.querySelector("button").click(); seen.sort.push(head.getAttribute("aria-sort"));
seen.rows = shown().map((row) => Number(row.dataset.count));
seen.status = document.getElementById("status").textContent;
seen.hit = window.hit === undefined;
seen.unnamed = [...document.querySelectorAll("input, select")].filter((field) => !field.labels.length).length;
document.title = JSON.stringify(seen);
"##;

#[test]
#[ignore = "needs Chromium on the path"]
fn a_browser_opens_filters_and_sorts_the_html_report() {
    let browser = chromium();
    let tree = tree();
    let (page, report) = page(&tree);
    let nonce = page.split("<script nonce=\"").nth(1).unwrap().split('"').next().unwrap();
    let driven =
        page.replace("</body>", &format!("<script nonce=\"{nonce}\">{READER}</script></body>"));
    let file = tree.file("driven.html", driven);
    let (document, said) = open(&browser, tree.path(), &file);
    assert!(!said.contains("CONSOLE"), "{said}");
    let title = document.split("<title>").nth(1).and_then(|t| t.split("</title>").next());
    let title = title.unwrap_or_default().replace("&lt;", "<").replace("&gt;", ">");
    let seen: Value = serde_json::from_str(&title.replace("&amp;", "&"))
        .unwrap_or_else(|e| panic!("{e}: {title} {said}"));

    let findings: Vec<&Value> = report["findings"].as_array().unwrap().iter().collect();
    let names = |keep: &dyn Fn(&Value) -> bool| -> Value {
        let name = |f: &&Value| {
            let backend = f["backend"].as_str().unwrap_or_default();
            format!("{} {backend}", f["rule"].as_str().unwrap())
        };
        let mut names: Vec<String> = findings.iter().filter(|f| keep(f)).map(name).collect();
        names.sort();
        names.into()
    };
    assert_eq!(seen["first"], names(&|f| f["waived_by"].is_null()));
    assert_eq!(seen["waived"], json!(["key-out-of-range vllm"]));
    assert_eq!(seen["all"], names(&|_| true));
    assert_eq!(seen["backend"], names(&|f| f["backend"] == "sglang"));
    let errors = names(&|f| f["rule"] == "key-out-of-range" && f["severity"] == "error");
    assert_eq!(seen["rule"], errors);
    assert_eq!(seen["text"], json!(["device-mismatch vllm"]));
    assert_eq!(seen["sort"], json!(["ascending", "descending"]));
    let rows: Vec<u64> = serde_json::from_value(seen["rows"].clone()).unwrap();
    assert!(rows.is_sorted_by(|a, b| a >= b) && rows.len() > 1, "{rows:?}");
    assert!(seen["status"].as_str().unwrap().ends_with("by rows, descending"), "{seen}");
    assert_eq!((&seen["hit"], &seen["unnamed"]), (&true.into(), &0.into()));
}
