//! The page to look into a table, as text and in a browser.

use std::path::Path;

use base64::Engine;
use serde_json::{Value, json};

use crate::common::{Run, Tree, run};
use crate::html::{at_width, chromium, open};

/// Names that mean harm where they are read as markup.
const HOSTILE: &str = "fp8</script><script>window.hit=1</script><img src=x onerror=window.hit=1>";

/// Synthetic rows of a sweep: `latency` by dtype, n and m.
fn sweep(dtypes: &[&str], latency: impl Fn(&str, u64, u64) -> f64) -> String {
    let mut text = crate::common::GEMM.to_owned();
    for dtype in dtypes {
        for n in [128, 256, 512] {
            for m in (0..8).map(|m| 1u64 << m) {
                let ms = latency(dtype, n, m);
                text += &format!("VLLM,0.24.0,NVIDIA H200,gemm,cutlass,{dtype},{m},{n},128,{ms}\n");
            }
        }
    }
    text
}

fn smooth(n: u64, m: u64) -> f64 {
    (n * 128 + m * n) as f64 * 1e-6
}

/// One row far off its neighbours, a row that is there twice, and a peer of another backend.
fn tree() -> Tree {
    let tree = Tree::new();
    let spiked = |dtype: &str, n: u64, m: u64| {
        let factor = if (dtype, n, m) == ("bfloat16", 256, 8) { 6.0 } else { 1.0 };
        smooth(n, m) * factor
    };
    let rows = sweep(&["bfloat16", HOSTILE], spiked)
        + "VLLM,0.24.0,NVIDIA H200,gemm,cutlass,bfloat16,4,128,128,0.5\n";
    tree.gemm("gemm_perf.txt", rows);
    let peer = sweep(&["bfloat16"], |_, n, m| 2.0 * smooth(n, m));
    tree.file(
        "systems/data/h200_sxm/sglang/0.5.9/gemm_perf.txt",
        peer.replace("VLLM,0.24.0", "SGLang,0.5.9"),
    );
    tree
}

fn explore(tree: &Tree, args: &[&str]) -> Run {
    let root = tree.path().display().to_string();
    let mut all = vec!["explore", "--root", &root, "--system", "h200_sxm", "--table", "gemm"];
    all.extend(args);
    run(&all)
}

/// The page of a tree, and the data that its script reads.
fn page(tree: &Tree, args: &[&str]) -> (String, Value) {
    let path = tree.path().join("page.html");
    let mut all = vec!["--output", path.to_str().unwrap(), "--backend", "vllm"];
    all.extend(args);
    let run = explore(tree, &all);
    assert_eq!((run.code(), run.err().as_str()), (0, ""));
    let page = std::fs::read_to_string(path).unwrap();
    let data = page.split("id=\"data\">").nth(1).and_then(|rest| rest.split("</script>").next());
    let data = serde_json::from_str(data.unwrap()).unwrap();
    (page, data)
}

fn decoded(text: &Value) -> Vec<u8> {
    base64::engine::general_purpose::STANDARD.decode(text.as_str().unwrap()).unwrap()
}

/// Single-precision numbers.
fn singles(text: &Value) -> Vec<f32> {
    decoded(text).as_chunks::<4>().0.iter().map(|b| f32::from_le_bytes(*b)).collect()
}

fn numbers(text: &Value) -> Vec<u32> {
    decoded(text).as_chunks::<4>().0.iter().map(|b| u32::from_le_bytes(*b)).collect()
}

#[test]
fn a_filter_on_a_column_that_no_table_has_is_refused() {
    let tree = tree();
    for (filter, said) in [
        ("zz = 3", "known: "),
        ("gemm_dtyp = 'bfloat16'", "did you mean gemm_dtype?"),
        ("m = 8 OR zz > 1", "known: "),
        ("gpu.no_such_figure > 1", "known: "),
    ] {
        let page = tree.path().join("none.html");
        let run = explore(&tree, &["--where", filter, "--output", page.to_str().unwrap()]);
        assert_eq!(run.code(), 2, "{filter}: {}", run.shown());
        let name = filter.split(' ').find(|w| !["m", "=", "8", "OR"].contains(w)).unwrap();
        assert!(run.err().contains(&format!("--where uses {name}")), "{}", run.err());
        assert!(run.err().contains(said), "{}", run.err());
        assert!(!page.exists());
    }
    // A column of a peer, and what every table has.
    for filter in ["m = 8", "system = 'h200_sxm'", "place_backend = 'sglang'"] {
        page(&tree, &["--where", filter]);
    }
}

#[test]
fn a_filter_value_that_no_row_has_is_refused_with_the_existing_values() {
    let tree = tree();
    for (filter, why, known) in [
        ("gemm_dtype = 'fp9'", "because of gemm_dtype", "gemm_dtype is bfloat16, fp8"),
        ("m = 8 AND n = 7", "because of n", "n is 128, 256, 512"),
        ("m = 8 AND m = 16", "because of m", "m is 1, 2, 4, 8, 16, 32, 64, 128"),
    ] {
        let page = tree.path().join("none.html");
        let run = explore(&tree, &["--where", filter, "--output", page.to_str().unwrap()]);
        assert_eq!(run.code(), 2, "{filter}: {}", run.shown());
        assert!(run.err().contains(&format!("--where is true for no row, {why}")), "{}", run.err());
        assert!(run.err().contains(known), "{}", run.err());
        assert!(!page.exists());
    }
}

#[test]
fn the_explore_page_names_its_root_and_states() {
    let tree = tree();
    tree.commit();
    let (page, _) = page(&tree, &["--base-ref", "main"]);
    let page = page.replace("&#x2f;", "/");
    let root = tree.path().display();
    assert!(page.contains(&format!("root {root}; base ")) && page.contains("head files on disk"));
    assert!(page.contains(&format!("perfdb-gate {}</p>", env!("CARGO_PKG_VERSION"))));
}

#[test]
fn the_explore_page_loads_nothing_from_elsewhere() {
    let (page, _) = page(&tree(), &[]);
    // The only addresses are names: that of SVG and that of the library in its own head.
    let known = ["http://www.w3.org/2000/svg", "https://github.com/leeoniya/uPlot"];
    let rest = known.iter().fold(page.clone(), |page, name| page.replace(name, ""));
    assert!(!rest.contains("http:") && !rest.contains("https:") && !rest.contains("//cdn"));
    assert!(page.contains("default-src 'none'") && page.contains("Permission is hereby granted"));
    assert_eq!(page.matches("<script").count(), 2, "the data and the script");
    assert_eq!(page.matches("</script>").count(), 2);
    assert!(!page.contains("<img"));
    assert!(page.len() < 120_000, "{}", page.len());
}

#[test]
fn the_explore_page_has_rows_with_peers_bounds_and_findings() {
    let (_, data) = page(&tree(), &[]);
    let side = |n: usize| (data["sides"][n]["name"].clone(), data["sides"][n]["rows"].clone());
    assert_eq!(side(0), (json!("vllm 0.24.0"), json!(49)));
    assert_eq!(side(1), (json!("sglang 0.5.9"), json!(24)));
    let names: Vec<&str> =
        data["parts"].as_array().unwrap().iter().map(|p| p["name"].as_str().unwrap()).collect();
    assert_eq!(names.last(), Some(&"m"), "{names:?}");
    let (latency, bound) = (singles(&data["latency"]), singles(&data["bound"]));
    assert_eq!((latency.len(), bound.len()), (73, 73));
    assert!(bound.iter().any(|b| *b > 0.0) && latency.iter().all(|l| *l > 0.0));
    assert_eq!(decoded(&data["uses"]).iter().filter(|u| **u == 1).count(), 1, "a copy");
    let ring = data["rings"].as_array().unwrap().iter().find(|r| r["rule"] == "latency-spike");
    let ring = ring.unwrap_or_else(|| panic!("{:#}", data["rings"]));
    assert_eq!(numbers(&ring["rows"]), [11], "the row's number in the table");
    let at = numbers(&ring["at"])[0] as usize;
    assert!((latency[at] - 6.0 * smooth(256, 8) as f32).abs() < 1e-6);
    assert_eq!(data["sides"].as_array().unwrap().len(), 2);
}

#[test]
fn the_base_is_drawn_together_with_the_head() {
    let tree = tree();
    tree.commit();
    let later =
        sweep(&["bfloat16"], |_, n, m| if n == 512 { 3.0 * smooth(n, m) } else { smooth(n, m) });
    tree.gemm("gemm_perf.txt", later);
    let (page, data) = page(&tree, &["--base-ref", "main", "--peers", "0"]);
    let kinds: Vec<&Value> =
        data["sides"].as_array().unwrap().iter().map(|side| &side["kind"]).collect();
    assert_eq!(kinds, ["head", "base"]);
    assert!(page.contains("the state before") && page.contains("(--peers draws more)"));
    // What was removed is there too, and what changed most opens the page.
    assert_eq!(data["sides"][1]["rows"], 49);
    assert!(data["first"].is_number());
}

#[test]
fn a_filter_keeps_only_the_matching_rows() {
    let (page, data) = page(&tree(), &["--where", "n = 256 AND gemm_dtype = 'bfloat16'"]);
    assert_eq!((&data["sides"][0]["rows"], &data["sides"][1]["rows"]), (&json!(8), &json!(8)));
    assert!(page.contains("all 1 series"));
}

#[test]
fn invalid_options_of_explore_are_an_error_of_one_line() {
    let tree = tree();
    for (args, why) in [
        (&["--where", "n ="][..], "--where is not a formula"),
        (&["--where", "gemm_dtype + 1 > 2"], "cannot draw"),
        (&["--version", "9"], "no version matches '9'"),
        (&["--table", "moe"], "cannot be used multiple times"),
    ] {
        let run = explore(&tree, args);
        assert_eq!(run.code(), 2, "{args:?}");
        assert!(run.err().contains(why), "{args:?}: {}", run.err());
    }
    tree.file("systems/data/h200_sxm/trtllm/1.0.0/gemm_perf.parquet", "no parquet");
    let run = explore(&tree, &["--backend", "trtllm", "--output", "-"]);
    assert!(run.code() == 2 && run.err().contains("trtllm/1.0.0"), "{}", run.err());
    // As a peer, what cannot be read is left out, and the page says so.
    let run = explore(&tree, &["--backend", "vllm", "--output", "-"]);
    assert!(run.code() == 0 && run.out().contains("A peer cannot be drawn"), "{}", run.err());
}

#[test]
fn the_page_of_a_large_table_omits_whole_series() {
    let tree = Tree::new();
    let mut text = crate::common::GEMM.to_owned();
    for n in 0..16_000u64 {
        for m in [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048] {
            let (n, k) = (64 + n, 128);
            text += &format!(
                "VLLM,0.24.0,NVIDIA H200,gemm,cutlass,bfloat16,{m},{n},{k},{}\n",
                smooth(n, m)
            );
        }
    }
    tree.gemm("gemm_perf.txt", text);
    let (page, data) = page(&tree, &[]);
    assert!(page.len() <= 3_000_000 && page.len() > 1_000_000, "{}", page.len());
    let rows = data["sides"][0]["rows"].as_u64().unwrap();
    assert!(rows.is_multiple_of(12) && rows < 192_000, "{rows}");
    let told = format!("{} of 16,000 series", thousands(rows / 12));
    assert!(page.contains(&told), "{told}");
}

fn thousands(n: u64) -> String {
    if n >= 1000 { format!("{},{:03}", n / 1000, n % 1000) } else { n.to_string() }
}

/// The start of a script that uses the controls of a page, which ends with `}, 300);`.
const CONTROLS: &str = r##"
setTimeout(() => {
  const seen = {};
  const get = (id) => document.getElementById(id);
  const form = get("controls");
  const choose = (name, value) => {
    form.elements[name].value = value;
    form.elements[name].dispatchEvent(new Event("input", { bubbles: true }));
  };
  const option = (name, text) => [...form.elements[name].options].find((o) => o.textContent === text).value;
"##;

/// Chooses, and opens the address of what it chose, then one with a value that does not exist.
const ADDRESSES: &str = r##"
  const series = () => [...document.querySelectorAll("#series li")].map((li) => li.textContent);
  const n = parts.findIndex((part) => part.name === "n");
  choose(`part${n}`, option(`part${n}`, "256"));
  choose("measure", option("measure", "times sglang 0.5.9"));
  get("chart").dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight", bubbles: true }));
  seen.ratio = get("readout").textContent;
  seen.address = location.hash;
  seen.series = series();
  get("again").click();
  seen.again = location.hash;
  const later = (hash, then) => { location.hash = hash; setTimeout(then, 100); };
  later(seen.address, () => {
    seen.same = [series(), form.elements.measure.selectedOptions[0].textContent, get("wrong").textContent];
    later("#n=257&show=time&zz=1", () => {
      seen.wrong = get("wrong").textContent;
      later("#finding-none", () => {
        seen.finding = get("wrong").textContent;
        document.querySelector("button[data-finding][aria-label*=latency-spike]").click();
        setTimeout(() => {
          seen.stays = [get("readout").textContent, location.hash.startsWith("#finding-")];
          document.title = JSON.stringify(seen);
        }, 100);
      });
    });
  });
}, 300);
"##;

#[test]
#[ignore = "needs Chromium on the path"]
fn the_address_of_the_page_keeps_its_state_and_unknown_values_are_named() {
    let tree = tree();
    let (page, _) = page(&tree, &[]);
    let browser = chromium();
    let seen = read(&browser, &tree, &page, ADDRESSES);
    let said = |name: &str| seen[name].as_str().unwrap_or_default();
    // The peer of the synthetic tree takes twice as long.
    assert!(said("ratio").contains("0.5 × sglang 0.5.9"), "{seen:#}");
    assert!(
        said("address").contains("n=256") && said("address").contains("show=sglang"),
        "{seen:#}"
    );
    assert_eq!(seen["again"], "#along=m");
    assert_eq!(seen["same"], json!([seen["series"], "times sglang 0.5.9", ""]));
    assert_eq!(said("wrong"), "The address names what this page does not have: n 257, zz 1.");
    assert_eq!(said("finding"), "The address names a finding that this page does not have.");
    assert!(seen["stays"][0].as_str().unwrap().contains("latency-spike"), "{seen:#}");
    assert_eq!(seen["stays"][1], true);
    let phone = at_width(&browser, &tree, &page, 320);
    assert!(phone["width"].as_u64().unwrap() <= 320, "{phone}");
}

/// Does what a reader does, and leaves what it saw in the title.
const READER: &str = r##"
  const key = (name) => get("chart").dispatchEvent(new KeyboardEvent("keydown", { key: name, bubbles: true }));
  const part = (name) => `part${[...form.elements.axis.form.querySelectorAll("select[name^=part]")].find((s) => s.closest("label").textContent.startsWith(name)).name.slice(4)}`;
  choose(part("gemm_dtype"), option(part("gemm_dtype"), "bfloat16"));
  seen.canvas = document.querySelectorAll("#chart canvas").length;
  seen.series = [...document.querySelectorAll("#series li")].map((li) => li.textContent);
  key("ArrowRight"); seen.first = get("readout").textContent;
  key("ArrowRight"); seen.second = get("readout").textContent;
  key("Escape"); seen.left = get("readout").textContent;
  choose(part("n"), option(part("n"), "256"));
  seen.one = [...document.querySelectorAll("#series li")].map((li) => li.textContent);
  choose("axis", option("axis", "n")); seen.along = get("status").textContent;
  document.querySelector("button[data-finding][aria-label*=latency-spike]").click(); seen.found = get("readout").textContent;
  get("values").open = true;
  setTimeout(() => {
    seen.values = document.querySelectorAll("#values tbody tr").length;
    seen.hit = window.hit === undefined;
    seen.unnamed = [...document.querySelectorAll("input, select")].filter((field) => !field.labels.length).length;
    document.title = JSON.stringify(seen);
  }, 100);
}, 300);
"##;

/// What a reader saw in a page.
fn read(browser: &Path, tree: &Tree, page: &str, reader: &str) -> Value {
    let nonce = page.split("<script nonce=\"").nth(1).unwrap().split('"').next().unwrap();
    let driven = page.replace(
        "</body>",
        &format!("<script nonce=\"{nonce}\">{CONTROLS}{reader}</script></body>"),
    );
    let file = tree.file("driven.html", driven);
    let (document, said) = open(browser, tree.path(), &file);
    assert!(!said.contains("CONSOLE"), "{said}");
    let title = document.split("<title>").nth(1).and_then(|t| t.split("</title>").next());
    let title = title.unwrap_or_default().replace("&lt;", "<").replace("&gt;", ">");
    serde_json::from_str(&title.replace("&amp;", "&"))
        .unwrap_or_else(|e| panic!("{e}: {title} {said}"))
}

#[test]
#[ignore = "needs Chromium on the path"]
fn a_browser_draws_the_explore_page_and_the_keyboard_reads_points() {
    let tree = tree();
    let (page, _) = page(&tree, &[]);
    let seen = read(&chromium(), &tree, &page, READER);
    assert_eq!(seen["canvas"], 1);
    let series: Vec<&str> =
        seen["series"].as_array().unwrap().iter().map(|s| s.as_str().unwrap()).collect();
    assert_eq!(series.len(), 3, "{series:?}");
    assert!(series[0].contains("ringed"), "{series:?}");
    let said = |name: &str| seen[name].as_str().unwrap_or_default();
    assert!(said("first").contains("m 1 →") && said("second").contains("m 2 →"), "{seen:#}");
    assert_eq!(said("left"), "");
    assert_eq!(seen["one"].as_array().unwrap().len(), 1);
    assert!(said("along").contains("series"), "{seen:#}");
    assert!(said("found").contains("row 11: latency-spike"), "{seen:#}");
    assert!(seen["values"].as_u64().unwrap() > 10, "{seen:#}");
    assert_eq!((&seen["hit"], &seen["unnamed"]), (&json!(true), &json!(0)));
}
