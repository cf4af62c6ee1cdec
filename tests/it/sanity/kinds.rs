//! The lines and tables of the comment by kind of change. All rows are synthetic.

use crate::common::{Tree, gemm};

/// Twelve sizes, each of a latency of its own.
fn sizes(factor: f64) -> Vec<(u64, f64)> {
    (0..12).map(|i| (1 << i, factor * (0.01 + 0.001 * f64::from(i)))).collect()
}

/// The path of the GEMM table of a version.
fn of(version: &str) -> String {
    format!("systems/data/h200_sxm/gemm/vllm/{version}/gemm_perf.txt")
}

/// The rows as a version measured them.
fn rows(version: &str, rows: &[(u64, f64)]) -> String {
    gemm(rows).replace("0.24.0", version)
}

/// The comment on the files on disk, with plain spaces, after `base` was committed and `change` made.
fn comment(base: &[(&str, String)], change: impl FnOnce(&Tree)) -> String {
    let tree = Tree::new();
    for (version, rows) in base {
        tree.file(&of(version), rows);
    }
    tree.commit();
    change(&tree);
    let file = tree.path().join("comment.md").display().to_string();
    let run = tree.sanity(&["--base-ref", "main", "--output-md-file", &file]);
    assert!(run.code() < 2, "{}", run.err());
    std::fs::read_to_string(file).unwrap().replace('\u{a0}', " ")
}

fn holds(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "{part} is missing:\n{text}");
    }
}

#[test]
fn an_added_version_is_compared_with_the_previous_version() {
    let base = [("0.23.0", rows("0.23.0", &sizes(9.0))), ("0.24.0", rows("0.24.0", &sizes(1.0)))];
    let text = comment(&base, |tree| {
        let mut new = sizes(0.5);
        new.push((8192, 0.5));
        tree.file(&of("0.25.0"), rows("0.25.0", &new));
    });
    holds(
        &text,
        &[
            "**Added version**: 1 table (gemm) of `h200_sxm` vllm 0.25.0; 13 rows; largest median ratio: gemm × 0.50 against 0.24.0; farthest key: gemm × 0.50 at m=",
            "Added: each key's latency / that of the nearest table, `h200_sxm vllm 0.25.0 against 0.24.0`",
            "- 1 new key of gemm: m 8192",
            "| | median of ratios,<br>medians in ms | 90 %<br>of ratios | common keys,<br>− gone + new | beyond<br>reruns |",
            "| `gemm` | × 0.50, 0.0155 → 0.00775 | 0.50 … 0.50 | 12 +1 | 12 |",
        ],
    );
}

#[test]
fn a_power_column_without_readings_does_not_prevent_the_comparison() {
    let with = |latency: f64, power: &str| {
        let [head, row] = [",latency", "bfloat16,1,128,128,"];
        let text = gemm(&[(1, latency)]).replace(head, ",power,power_limit,latency");
        text.replace(row, &format!("{row}{power},"))
    };
    for power in ["0.0,700.0", ","] {
        let text = comment(&[("0.24.0", with(0.01, power))], |tree| {
            tree.file(&of("0.24.0"), with(0.02, power));
        });
        holds(&text, &["**Measured again**: 1 table (gemm) of `h200_sxm` vllm 0.24.0"]);
    }
    let text = comment(&[("0.24.0", with(0.01, "0.0,700.0"))], |tree| {
        tree.file(&of("0.24.0"), with(0.01, "350.0,700.0"));
    });
    holds(&text, &["**Overlay**: 1 table", "350 W"]);
}

#[test]
fn keys_with_latency_zero_are_counted_separately_from_keys_with_a_ratio() {
    let zeros = |factor: f64| {
        let mut all = sizes(factor);
        all.iter_mut().take(9).for_each(|row| row.1 = 0.0);
        all
    };
    let text = comment(&[("0.24.0", gemm(&zeros(1.0)))], |tree| {
        tree.file(&of("0.24.0"), gemm(&zeros(3.0)));
    });
    holds(
        &text,
        &[
            "3 of 12 keys moved by over 5 %",
            "| `gemm` | × 3.00, 0.0200 → 0.0600 | 3.00 … 3.00 | 3 (9 are 0) | 3 |",
        ],
    );
}

#[test]
fn keys_are_lost_only_if_no_version_serves_them() {
    let (all, short) = (sizes(1.0), &sizes(1.0)[..10]);
    let base = [("0.23.0", rows("0.23.0", &all)), ("0.24.0", rows("0.24.0", short))];
    let text = comment(&base, |tree| tree.remove(&of("0.23.0")));
    holds(
        &text,
        &[
            "**Pruned**: 1 table (gemm) of `h200_sxm` vllm 0.23.0; 12 rows removed; 2 keys lost (2 of `h200_sxm` vllm gemm)",
            "Lost: keys that no query reaches any more, `h200_sxm vllm`",
            "| | lost of<br>removed keys | what answers instead |",
            "| `gemm` | 2 of 12 | nothing, 1 sweep ends earlier in 0.24.0 |",
        ],
    );
    let text = comment(&[("0.23.0", rows("0.23.0", short)), ("0.24.0", gemm(&all))], |tree| {
        tree.remove(&of("0.23.0"));
    });
    holds(&text, &["every removed key is impossible or served by another version"]);
    assert!(!text.contains("lost"), "{text}");
}

#[test]
fn the_comment_states_filled_rows_of_an_overlay_and_changed_values_of_a_rekey() {
    let power = |(number, row): (usize, &str)| match number {
        0 => format!("{row},power,power_limit\n"),
        1 => format!("{row},,700\n"),
        _ => format!("{row},{},700\n", 300 + 10 * number),
    };
    let text = comment(&[("0.24.0", gemm(&sizes(1.0)))], |tree| {
        let powered: String = gemm(&sizes(1.0)).lines().enumerate().map(power).collect();
        tree.file(&of("0.24.0"), powered);
    });
    holds(
        &text,
        &[
            "**Overlay**: 1 table (gemm) of `h200_sxm` vllm 0.24.0; power, `power_limit`; medians of power by table 370 … 370 W; 11 rows measured, 1 empty",
            "| `gemm` | 11 of 12 | 1 | 370 W (325 … 415) |",
        ],
    );
    let text = comment(&[("0.24.0", gemm(&sizes(1.0)))], |tree| {
        let other = gemm(&sizes(1.0)).replace(",128,0.", ",256,0.");
        tree.file(&of("0.24.0"), other);
    });
    holds(
        &text,
        &[
            "**Rekeyed**: 1 table (gemm) of `h200_sxm` vllm 0.24.0; k of 12 keys, the measurements stay",
            "| `h200_sxm vllm 0.24.0 (1 table)` | k 128 → 256 | 12 |",
        ],
    );
}
