//! Rows as CSV of hostile names.

use crate::common::{Tree, gemm};

/// Whoever prints a file of rows in a terminal sees names, and no name acts.
#[test]
fn rows_written_as_csv_have_no_control_character() {
    let tree = Tree::new();
    tree.gemm("gemm_perf.txt", gemm(&[(1, 0.5), (2, 0.6)]));
    tree.commit();
    let harm = "a\u{1b}[31m\u{202e}b\u{200b}\u{9b}";
    let text = gemm(&[(1, 0.5), (2, 0.6), (4, -0.7)]);
    let text = text.replace("cutlass,bfloat16,4,", &format!("{harm},bfloat16,4,"));
    tree.gemm(
        "gemm_perf.txt",
        text.replacen("kernel_source", &format!("kernel_source,{harm}_us"), 1)
            .replace("cutlass,", "cutlass,1,")
            .replace("\u{9b},", "\u{9b},1,"),
    );
    let at = |name: &str| tree.path().join(name).display().to_string();
    let sanity = tree.sanity(&["--base-ref", "HEAD", "--detail-dir", &at("details")]);
    let validate = tree.validate(&["--rows", &at("rows")]);
    assert_eq!((sanity.code(), validate.code()), (1, 1), "{}", validate.shown());
    let shown = "a\\u{1b}[31m\\u{202e}b\\u{200b}\\u{9b}";
    for folder in ["details", "rows"] {
        let mut all = String::new();
        for item in std::fs::read_dir(at(folder)).unwrap() {
            all += &std::fs::read_to_string(item.unwrap().path()).unwrap();
        }
        assert!(all.contains(&format!(",{shown},")), "{all}");
        assert!(all.contains(&format!("{shown}_us")), "{all}");
        assert!(all.bytes().all(|b| b == b'\n' || (b' '..=b'~').contains(&b)), "{all:?}");
    }
}
