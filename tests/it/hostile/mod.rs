//! Names and cells that mean harm, wherever a pull request can put them, in every output: none of them
//! may act in a terminal, a CI log, a browser, a comment or a document.

mod inert;
mod rows;

use std::path::Path;

use crate::common::{GEMM, H200, Tree, all_formats, gemm, report_formats, run};
use inert::{assert_all, assert_inert, assert_json, assert_markdown, assert_page, assert_svg};

/// Ends a line, a script, a comment, a cell, a string and a command; colours, reorders, hides, mentions,
/// links, expands. A name on disk can hold all but `/` and NUL.
const HARM: &str = "::error::pwn\r\n::add-mask::a\n##[error]pwn %0A::error::x,@you `|<img src=x onerror=alert(1)><!-- -->--> \
                    [a](http:b) {{7*7}} ${{ x }} &amp;\"'\\]]>\u{202e}\u{2066}\u{9b}31m\x1b[31m\x7f\u{e0041}\u{feff}";

/// A cell, quoted.
fn cell(text: &str) -> String {
    format!("\"{}\"", text.replace('"', "\"\""))
}

/// A string that YAML and JSON read alike.
fn quoted(text: &str) -> String {
    let text = serde_json::to_string(text).unwrap();
    let escape = |c: char| match c {
        '\u{7f}'..='\u{ffff}' => format!("\\u{:04x}", u32::from(c)),
        c => c.to_string(),
    };
    text.chars().map(escape).collect()
}

/// Rows with harm in every name, a header with harm, errors and a curve.
fn table() -> String {
    let header = GEMM.replace("latency", &format!("{},latency", cell(HARM)));
    let rows: String = (0..30u64)
        .map(|i| {
            let harm = cell(&(HARM.to_owned() + "</script>"));
            let m = if i == 0 { 0 } else { 16 * i };
            format!(
                "{harm},{harm},{harm},{harm},{harm},{harm},{m},128,128,{harm},{}\n",
                0.01 * (i + 1) as f64
            )
        })
        .collect();
    header + &rows
}

/// A tree in which everything that a pull request can name means harm.
fn hostile(tree: &Tree) {
    let data = "systems/data/h200_sxm";
    let short = &HARM[..60];
    tree.file(&format!("{data}/gemm/vllm/{HARM}/gemm_perf.txt"), table());
    tree.file(&format!("{data}/gemm/{HARM}/0.24.0/gemm_perf.txt"), table());
    tree.file(&format!("{data}/gemm/vllm/0.24.0/{short}_perf.txt"), table());
    tree.file(&format!("{data}/gemm/vllm/0.24.0/gemm_perf.txt"), table());
    tree.file(&format!("{data}/gemm/vllm/0.25.0/{short}.parquet"), format!("PAR1{HARM}"));
    tree.file(&format!("{data}/gemm/vllm/0.25.0/deep/er/{short}.parquet"), "x");
    let oid = "version https://git-lfs.github.com/spec/v1\noid sha256:";
    tree.file(
        &format!("{data}/gemm/vllm/0.25.0/gemm_perf.parquet"),
        format!("{oid}{HARM}\nsize 12\n"),
    );
    #[cfg(unix)]
    std::os::unix::fs::symlink(HARM, tree.path().join(data).join("gemm/vllm/0.25.0/link_perf.txt"))
        .unwrap();
    let harm = quoted(HARM);
    let meta = format!(
        "schema_version: 1\nruntime: {{framework: {harm}, version: {harm}}}\ntables:\n  {harm}: {{status: complete, {harm}: {harm}}}\n"
    );
    tree.file(&format!("{data}/gemm/vllm/0.24.0/collection_meta.yaml"), meta);
    let reuse = format!(
        "schema_version: 1\nreuse:\n- {{table: {harm}, from_version: {harm}, reason: {harm}, approved_by: {harm}}}\n"
    );
    tree.file(&format!("{data}/gemm/vllm/0.24.0/reuse.yaml"), reuse);
    tree.file(&format!("{data}/gemm/vllm/{HARM}/collection_meta.yaml"), format!("{harm}: [{HARM}"));
    let machine = H200
        .replace("../data/h200_sxm", "data/zx")
        .replace("power: 700", &format!("power: {harm}"));
    tree.file(&format!("systems/{short}.yaml"), machine);
    tree.file(&format!("systems/data/{HARM}/gemm/vllm/0.24.0/gemm_perf.txt"), table());
}

fn waivers(tree: &Tree) {
    let harm = quoted(HARM);
    let waiver = |until: &str, rule: &str| {
        format!(
            "- {{rule: {rule}, path: '**', reason: {harm}, evidence: {harm}, approved_by: {harm}, until: {until}}}\n"
        )
    };
    let unused = format!(
        "- {{rule: duplicate-key, path: {}, reason: r, evidence: e, approved_by: a, until: 2999-01-01}}\n",
        quoted("::error::@you`<b>\u{202e}")
    );
    let all =
        waiver("2999-01-01", "key-out-of-range") + &waiver("2001-01-01", "torn-row") + &unused;
    tree.file(".perfdb-gate/waivers.yaml", format!("waivers:\n{all}"));
}

#[test]
fn hostile_names_are_escaped_in_every_report_format() {
    let tree = Tree::new();
    hostile(&tree);
    waivers(&tree);
    let page = tree.path().join("page.html");
    for format in &report_formats() {
        let report = tree.validate(&["--format", format, "--html", page.to_str().unwrap()]);
        assert_eq!((report.code(), report.err().as_str()), (1, ""), "{format}");
        assert_all(format, &report);
    }
    assert_page(&std::fs::read_to_string(&page).unwrap());
    let json = tree.validate(&["--format", "json"]).json();
    let rules: std::collections::BTreeSet<&str> =
        json["findings"].as_array().unwrap().iter().map(|f| f["rule"].as_str().unwrap()).collect();
    // Each of these tells something that the tree names.
    for rule in [
        "device-mismatch",
        "framework-mismatch",
        "header-mismatch",
        "key-out-of-range",
        "lfs-pointer",
        "reuse-invalid",
        "sidecar-contradiction",
        "sidecar-invalid",
        "system-invalid",
        "table-misplaced",
        "table-unreadable",
        "version-mismatch",
        "waiver-expired",
        "waiver-unused",
    ] {
        assert!(rules.contains(rule), "{rule} of {rules:?}");
    }
}

#[test]
fn hostile_names_are_escaped_in_every_output_of_a_comparison() {
    let tree = Tree::new();
    let data = "systems/data/h200_sxm/gemm/vllm/0.24.0";
    tree.file(
        &format!("{data}/gemm_perf.txt"),
        table().replace("0.01", "0.011").replace("0.2", "0.21"),
    );
    tree.commit();
    hostile(&tree);
    tree.commit();
    let at = |name: &str| tree.path().join("out").join(name).display().to_string();
    std::fs::create_dir(tree.path().join("out")).unwrap();
    for format in all_formats(|_| true) {
        let root = tree.path().display().to_string();
        let report = run(&[
            "sanity",
            "--root",
            &root,
            "--base-ref",
            "HEAD~1",
            "--head-ref",
            "HEAD",
            "--format",
            &format,
            "--output-md-file",
            &at("comment.md"),
            "--html",
            &at("page.html"),
            "--output-dir",
            &at("charts"),
            "--detail-dir",
            &at("rows"),
        ]);
        assert_eq!((report.code(), report.err().as_str()), (1, ""), "{format}");
        assert_all(&format, &report);
    }
    let read = |name: &str| std::fs::read_to_string(at(name)).unwrap();
    assert_markdown(&read("comment.md"), "comment");
    assert_page(&read("page.html"));
    let mut charts = 0;
    for (folder, is_chart) in [("charts", true), ("rows", false)] {
        for item in std::fs::read_dir(at(folder)).unwrap() {
            let path = item.unwrap().path();
            assert!(plain(path.file_name().map(Path::new).unwrap()), "{path:?}");
            if is_chart && path.extension().is_some_and(|e| e == "svg") {
                assert_svg(&std::fs::read_to_string(&path).unwrap());
                charts += 1;
            }
        }
    }
    assert!(charts > 0);
}

#[test]
fn hostile_names_are_escaped_by_commands_that_list_tables() {
    let tree = Tree::new();
    hostile(&tree);
    let root = tree.path().display().to_string();
    for format in ["human", "markdown", "json"] {
        let args = ["status", "--root", &root, "--system", "h200_sxm", "--format", format];
        let status = run(&args);
        assert_eq!((status.code(), status.err().as_str()), (0, ""), "{format}");
        match format {
            "human" => assert_inert(&status.out(), format),
            "json" => drop(assert_json(&status.out(), format)),
            _ => assert_markdown(&status.out(), format),
        }
    }
    for repair in ["dedupe", "convert"] {
        let told = run(&[repair, "--root", &root]);
        assert_eq!((told.code(), told.err().as_str()), (1, ""), "{repair}");
        assert_inert(&told.out(), repair);
        insta::assert_snapshot!(repair, told.shown());
    }
}

#[test]
fn hostile_names_in_traces_are_escaped_in_every_report_format() {
    let tree = Tree::new();
    let harm = quoted(HARM);
    let card = format!(
        "version: {harm}\nhf_url: {harm}\nworkload:\n  model: {{phase: {harm}, moe: {harm}, model_family: {harm}, {harm}: {harm}}}\nModel-executor: {{framework: {{name: {harm}}}}}\nmetric_source: {{traces: [{harm}]}}\n"
    );
    tree.file(&format!("traces/{HARM}/workload_card.yaml"), card);
    tree.file(&format!("traces/{HARM}/E1_{HARM}.yaml"), format!("model: {{name: {harm}}}\n"));
    let row = format!("experiment,tp,{0}\n{0},{0},{0}\n", cell(HARM));
    tree.file(&format!("traces/{HARM}/experiment_metrics.csv"), row);
    tree.file("traces/timing_stats_0.json", format!("{{{harm}: {harm}}}"));
    tree.file("traces/benchmark_data.json", format!("[{HARM}"));
    let traces = tree.path().join("traces").display().to_string();
    let page = tree.path().join("page.html");
    for format in &report_formats() {
        let html = page.to_str().unwrap();
        let report = run(&["validate", "--traces", &traces, "--format", format, "--html", html]);
        assert_eq!((report.code(), report.err().as_str()), (1, ""), "{format}");
        assert_all(format, &report);
    }
    assert_page(&std::fs::read_to_string(&page).unwrap());
}

/// A name that needs no quoting anywhere.
fn plain(name: &Path) -> bool {
    let name = name.to_str().unwrap();
    name.chars().all(|c| c.is_ascii_alphanumeric() || "._-+".contains(c))
}

#[test]
fn hostile_names_are_escaped_in_error_messages() {
    let tree = Tree::new();
    tree.gemm("gemm_perf.txt", gemm(&[(1, 0.5)]));
    tree.file(".perfdb-gate/rules/tables/x.yaml", format!("family: {}\n\x1b[31m", quoted(HARM)));
    let failed = tree.validate(&[]);
    assert_eq!(failed.code(), 2);
    assert_inert(&failed.err(), "stderr");
    tree.remove(".perfdb-gate/rules/tables/x.yaml");
    tree.file(&format!("systems/data/h200_sxm/vllm/{HARM}/gemm_perf.txt"), gemm(&[(1, 0.5)]));
    let nowhere = tree.path().join("nowhere").join(HARM).display().to_string();
    for args in
        [["--version", "nosuch"], ["--ref", HARM], ["--system", HARM], ["--output", &nowhere]]
    {
        let failed = tree.validate(&args);
        assert_eq!(failed.code(), 2, "{}", args[0]);
        assert_inert(&failed.err(), args[0]);
    }
}

/// What a pull request says of the rules that judge it.
#[test]
fn rules_added_by_a_pull_request_do_not_judge_it() {
    let tree = Tree::new();
    tree.gemm("gemm_perf.txt", gemm(&[(1, 0.5)]));
    tree.commit();
    let rule = std::fs::read_to_string("rules/key-out-of-range.yaml").unwrap();
    let tame = rule.replace("may_be_zero:\n", "may_be_zero:\n      - m\n");
    assert_ne!(rule, tame);
    tree.gemm("gemm_perf.txt", gemm(&[(1, 0.5), (0, 0.6)]));
    tree.file(".perfdb-gate/rules/key-out-of-range.yaml", tame);
    tree.commit();
    let root = tree.path().display().to_string();
    let told = |args: &[&str]| {
        let mut all = args.to_vec();
        all.extend(["--root", &root, "--format", "json"]);
        let report = run(&all);
        (report.code(), report.findings().iter().any(|f| f.starts_with("key-out-of-range error")))
    };
    assert_eq!(told(&["sanity", "--base-ref", "HEAD~1"]), (1, true));
    assert_eq!(told(&["sanity", "--base-ref", "HEAD~1", "--head-ref", "HEAD"]), (1, true));
    assert_eq!(told(&["validate", "--since", "HEAD~1"]), (1, true));
    assert_eq!(told(&["validate", "--since", "HEAD~1", "--ref", "HEAD"]), (1, true));
    // A maintainer's own run goes by what the repository says.
    assert_eq!(told(&["validate"]), (0, false));
    assert_eq!(told(&["validate", "--ref", "HEAD"]), (0, false));
    // Rules that a pull request breaks do not keep it from being judged.
    tree.file(".perfdb-gate/rules/key-out-of-range.yaml", "id: {");
    tree.file(".perfdb-gate/waivers.yaml", "waivers: [{");
    tree.file(".perfdb-gate/baseline.json", "[");
    assert_eq!(told(&["sanity", "--base-ref", "HEAD~1"]), (1, true));
    assert_eq!(told(&["validate", "--since", "HEAD~1"]), (1, true));
}

#[test]
fn changed_rows_in_csv_have_no_spreadsheet_formula() {
    let tree = Tree::new();
    tree.gemm("gemm_perf.txt", gemm(&[(1, 0.5), (2, 0.6)]));
    tree.commit();
    let harm = "\"=HYPERLINK(\"\"http:b\"\",\"\"x\"\")\"";
    let text = gemm(&[(1, 0.5), (2, 0.6), (4, -0.7), (8, 0.8)]);
    let text = text.replace("cutlass,bfloat16,4,", &format!("{harm},@SUM(A1),-4,"));
    tree.gemm("gemm_perf.txt", text.replace("cutlass,bfloat16,8,", "\t=1,+bf16,8,"));
    tree.gemm("moe_perf.txt", gemm(&[(1, 0.5)]).replacen("op_name", "=1+1", 1));
    let folder = tree.path().join("rows");
    let run = tree.sanity(&["--base-ref", "HEAD", "--detail-dir", &folder.display().to_string()]);
    assert!(run.code() < 2, "{}", run.err());
    let mut all: Vec<String> = Vec::new();
    for table in ["gemm", "moe"] {
        let path = folder.join(format!("h200_sxm__vllm__0.24.0__{table}_perf.txt.csv"));
        let mut reader = csv::ReaderBuilder::new().has_headers(false).from_path(path).unwrap();
        for record in reader.records() {
            all.extend(record.unwrap().iter().map(str::to_owned));
        }
    }
    let acts = |c: &&String| c.starts_with(['=', '+', '-', '@', '\t']) && c.parse::<f64>().is_err();
    assert_eq!(all.iter().filter(acts).collect::<Vec<_>>(), [] as [&String; 0]);
    for cell in ["'=HYPERLINK(\"http:b\",\"x\")", "'@SUM(A1)", "'+bf16", "'=1+1", "-4", "-0.7"] {
        assert!(all.iter().any(|c| c == cell), "{cell}: {all:?}");
    }
}
