//! Tests of the values of formulas, on synthetic columns.

use std::borrow::Cow;

use super::*;

struct Synthetic;

impl Scope for Synthetic {
    fn rows(&self) -> usize {
        3
    }
    fn column(&self, name: &str) -> Option<Value<'_>> {
        match name {
            "m" => Some(Value::Number(Vals::Rows(Cow::Owned(vec![1.0, 2.0, f64::NAN])))),
            "kernel" => Some(Value::Text(
                Vals::Rows(Cow::Owned(vec![0, 1, NULL_CODE])),
                Cow::Owned(vec!["fa3_eager".into(), "triton".into()]),
            )),
            _ => None,
        }
    }
    fn field(&self, path: &str) -> Option<f64> {
        (path == "gpu.mem_bw").then_some(10.0)
    }
    fn lookup(&self, function: &Lookup, text: &str) -> Option<f64> {
        (*function == Lookup::Bytes && text == "triton").then_some(2.0)
    }
}

fn numbers(text: &str) -> Vec<f64> {
    let e: Expr = text.parse().unwrap();
    let v = e.numbers(&Synthetic).unwrap();
    (0..3).map(|i| v.get(i)).collect()
}

fn mask(text: &str) -> Vec<bool> {
    let e: Expr = text.parse().unwrap();
    let v = e.mask(&Synthetic).unwrap();
    (0..3).map(|i| v.get(i)).collect()
}

#[test]
fn a_plain_name_is_parsed_as_a_column() {
    for name in ["m", "latency", "num_key_value_heads", "head_dim2", "gemm_dtype"] {
        assert!(is_plain_name(name), "{name}");
    }
    let words = ALL_KEYWORDS.iter().map(|word| word.to_lowercase());
    for name in words.chain(["", "_m", "2m", "M", "a b", "a.b", "größe"].map(str::to_owned)) {
        assert!(!is_plain_name(&name), "{name}");
    }
    let node = format!("{:?}", "latency".parse::<Expr>().unwrap().node);
    assert_eq!(node, format!("{:?}", parsed("latency").unwrap()));
}

#[test]
fn the_first_true_arm_of_a_case_gives_its_value() {
    assert_eq!(
        numbers("CASE WHEN m >= 1 THEN 10 WHEN m >= 2 THEN 20 ELSE 30 END"),
        [10.0, 10.0, 30.0]
    );
    assert_eq!(
        numbers("CASE WHEN m = 2 THEN 10 WHEN m > 0 THEN 2 * m ELSE 30 END"),
        [2.0, 10.0, 30.0]
    );
    assert_eq!(numbers("CASE WHEN m = 9 THEN 1 WHEN 1 = 1 THEN 2 ELSE 3 END"), [2.0; 3]);
    assert_eq!(numbers("CASE WHEN m = 9 THEN 1 WHEN kernel = 'no' THEN 2 ELSE 3 END"), [3.0; 3]);
    assert_eq!(numbers("CASE WHEN m = 2 THEN m = 2 ELSE 3 END"), [3.0, 1.0, 3.0]);
    assert_eq!(mask("m = 9 AND kernel = 'triton'"), [false; 3]);
    assert_eq!(mask("kernel <> 'no' OR m = 1"), [true, true, false]);
}

#[test]
fn a_formula_computes_with_columns_and_system_figures() {
    assert_eq!(numbers("2 * m + gpu.mem_bw")[..2], [12.0, 14.0]);
    assert_eq!(numbers("coalesce(window_size, 7)"), [7.0; 3]);
    assert_eq!(numbers("coalesce(m, 0)"), [1.0, 2.0, 0.0]);
    assert_eq!(numbers("floor(m / 2)")[..2], [0.0, 1.0]);
    assert_eq!(numbers("3 * bytes(kernel)")[1], 6.0);
    assert!(numbers("bytes(kernel)")[0].is_nan() && numbers("flops(absent)")[1].is_nan());
    assert_eq!(numbers("greatest(1, m % 2, -m)")[..2], [1.0, 1.0]);
}

#[test]
fn a_comparison_with_null_is_false() {
    assert_eq!(mask("m >= 1"), [true, true, false]);
    assert_eq!(mask("m <> 1"), [false, true, false]);
    assert_eq!(mask("m IS NULL"), [false, false, true]);
    assert_eq!(mask("absent = 'x' OR absent LIKE '%'"), [false; 3]);
}

#[test]
fn a_formula_compares_texts_with_patterns_and_lists() {
    assert_eq!(mask("kernel LIKE '%_eager'"), [true, false, false]);
    assert_eq!(mask("kernel NOT LIKE '%_eager'"), [false, true, true]);
    assert_eq!(mask("kernel IN ('triton', 'fa3')"), [false, true, false]);
    assert_eq!(mask("m BETWEEN 2 AND 3"), [false, true, false]);
}

#[test]
fn a_case_expression_gives_texts_or_numbers() {
    let e: Expr = "CASE kernel WHEN 'triton' THEN 'mine' ELSE kernel END".parse().unwrap();
    let Value::Text(codes, dict) = e.eval(&Synthetic).unwrap() else { panic!() };
    let text = |i| (codes.get(i) != NULL_CODE).then(|| dict[codes.get(i) as usize].to_string());
    assert_eq!([text(0), text(1), text(2)], [Some("fa3_eager".into()), Some("mine".into()), None]);
    let e: Expr = "coalesce(absent, kernel, 'none')".parse().unwrap();
    let Value::Text(codes, dict) = e.eval(&Synthetic).unwrap() else { panic!() };
    let texts: Vec<&str> = (0..3).map(|i| dict[codes.get(i) as usize].as_ref()).collect();
    assert_eq!(texts, ["fa3_eager", "triton", "none"]);
    assert_eq!(numbers("CASE WHEN m = 1 THEN 5 ELSE m END")[..2], [5.0, 2.0]);
}

#[test]
fn a_substring_is_a_text_and_can_be_cast_to_a_number() {
    assert_eq!(mask("substr(kernel, 1) = kernel"), [true, true, false]);
    assert_eq!(mask("substr(kernel, 5) = 'eager'"), [true, false, false]);
    assert_eq!(mask("substr(absent, 3) IS NULL"), [true; 3]);
    assert_eq!(numbers("CAST(substr(kernel, 3, 1) AS REAL)")[0], 3.0);
    assert_eq!(numbers("CAST(m AS REAL)")[..2], [1.0, 2.0]);
    assert!(numbers("CAST(kernel AS REAL)")[1].is_nan());
}

#[test]
fn an_unsupported_expression_is_refused_and_quoted() {
    for text in [
        "SELECT 1",
        "m +",
        "sum(m)",
        "CAST(m AS TEXT)",
        "substr(kernel, m)",
        "m = 'a' || 'b'",
        "m AND )",
    ] {
        let error = text.parse::<Expr>().unwrap_err().to_string();
        assert!(error.contains(text), "{error}");
    }
}

#[test]
fn a_formula_that_is_too_long_or_too_deep_is_refused() {
    let chain = |n: usize| "m+".repeat(n) + "1";
    let refused = |text: String| {
        let why = text.parse::<Expr>().map(|_| ()).unwrap_err().to_string();
        assert!(why.len() < 5000 && why.lines().count() == 1, "{why}");
    };
    for n in [999, 100_000] {
        refused(chain(n));
    }
    refused("NOT ".repeat(100_000) + "m");
    refused("- ".repeat(900) + "m");
    // IN repeats its left side once per item, at every level of nesting.
    let nested = (0..10).fold("m".to_owned(), |e, _| format!("({e} IN (1,1,1,1,1,1,1,1,1,1))"));
    refused(nested);
    let nested = (0..20).fold("m".to_owned(), |e, _| format!("({e} BETWEEN 1 AND 2)"));
    refused(nested);
    // The longest accepted chain can be evaluated on the small stack of a thread.
    let taken: Expr = chain(99).parse().unwrap();
    assert_eq!(taken.numbers(&Synthetic).unwrap().get(0), 100.0);
}

#[test]
fn a_null_makes_a_formula_unknown_unless_the_formula_tests_for_null() {
    let known = |text: &str| {
        let e: Expr = text.parse().unwrap();
        let nulls = e.nulls(&Synthetic).unwrap();
        let is_known = |row: &usize| !nulls.iter().any(|nulls| nulls.get(*row));
        (0..3).filter(is_known).collect::<Vec<usize>>()
    };
    assert_eq!(known("m > 1 OR kernel = 'x'"), [0, 1]);
    assert_eq!(known("m > gpu.mem_bw"), [0, 1]);
    assert_eq!(known("bytes(kernel) > 1"), [1]);
    assert_eq!(known("m IS NULL OR m > 1"), [0, 1, 2]);
    assert_eq!(known("coalesce(m, gpu.power) > 1"), [0, 1, 2]);
    for unknown in
        ["absent > 1", "gpu.power > 1", "absent = 'x' OR m IS NULL", "sidecar.status = 'x'"]
    {
        assert!(known(unknown).is_empty(), "{unknown}");
    }
}
