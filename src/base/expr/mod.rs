//! Formulas of one line in SQL's syntax, evaluated a whole column at a time.
//!
//! Rule and table specs are data. What they say about rows (a loader's key, a row filter, when zero is right,
//! a physical bound) is therefore written as an expression over the table's columns, with the system's fields
//! as `gpu.mem_bw` and so on:
//!
//! ```
//! use perfdb_gate::base::expr::Expr;
//! let kv: Expr = "CASE WHEN num_key_value_heads = num_heads THEN 0 ELSE num_key_value_heads END"
//!     .parse()
//!     .unwrap();
//! assert_eq!(kv.columns(), ["num_heads", "num_key_value_heads"]);
//! ```
//!
//! The syntax is parsed by `sqlparser`. Supported are arithmetic, comparison, `AND`, `OR`, `NOT`, `IN`,
//! `BETWEEN`, `LIKE`, `IS NULL`, `CASE`, the functions `abs`, `ceil`, `coalesce`, `floor`, `greatest`,
//! `least`, `log2`, `power`, `sqrt`, `CAST(… AS REAL)`, `substr(text, first)` and `substr(text, first, count)`, and the
//! lookups `bytes`, `flops`, `pinned`. Anything else is refused when the spec is read, not when a table is judged.
//!
//! In LIKE, `_` is literal, since names are full of it. A null number is NaN, and a null text is absent. A
//! comparison with null is false, where SQL has NULL. A column that a table lacks is null in every row.

mod eval;
mod node;
mod parse;
mod text;
mod value;
mod yaml;

use std::collections::BTreeSet;
use std::str::FromStr;

use sqlparser::dialect::GenericDialect;
use sqlparser::keywords::ALL_KEYWORDS;
use sqlparser::parser::Parser;

use self::node::ExprNode;
pub use self::value::{Lookup, NULL_CODE, Scope, Vals, Value, WholeNumbers};

/// The maximal length of a formula in bytes; the longest known formula has 300.
const LONGEST: usize = 2000;

/// A parsed formula.
#[derive(Debug, Clone)]
pub struct Expr {
    text: String,
    node: ExprNode,
}

/// The reason why a formula was refused, with the formula's text.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{why} in `{text}`")]
pub struct ExprError {
    text: String,
    why: String,
}

impl FromStr for Expr {
    type Err = ExprError;

    fn from_str(text: &str) -> Result<Self, ExprError> {
        if text.len() > LONGEST {
            let shown = text.chars().take(60).collect::<String>() + "…";
            let why = format!("{} bytes (a formula has at most {LONGEST})", text.len());
            return Err(ExprError { text: shown, why });
        }
        let text = text.to_owned();
        if is_plain_name(&text) {
            return Ok(Self { node: ExprNode::Column(text.clone()), text });
        }
        match parsed(&text) {
            Ok(node) => Ok(Self { text, node }),
            Err(why) => Err(ExprError { text, why }),
        }
    }
}

/// Parses a formula with sqlparser.
fn parsed(text: &str) -> Result<ExprNode, String> {
    let parser = Parser::new(&GenericDialect {}).try_with_sql(text);
    let mut parser = parser.map_err(|e| e.to_string())?;
    let parsed = parser.parse_expr().map_err(|e| e.to_string())?;
    let rest = parser.peek_token();
    if rest.token != sqlparser::tokenizer::Token::EOF {
        return Err(format!("unexpected `{rest}` after the expression"));
    }
    parse::node(&parsed)
}

/// Returns true if a formula is only a column's name, which most are. Such formulas skip the parser, since
/// every start of the program waits for it. Keywords of SQL are left to the parser.
fn is_plain_name(text: &str) -> bool {
    let mut bytes = text.bytes();
    bytes.next().is_some_and(|b| b.is_ascii_lowercase())
        && bytes.all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
        && ALL_KEYWORDS.binary_search(&text.to_ascii_uppercase().as_str()).is_err()
}

impl std::fmt::Display for Expr {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text)
    }
}

impl Expr {
    /// Returns the names of the columns that the formula reads, sorted.
    pub fn columns(&self) -> Vec<&str> {
        self.names(|node| if let ExprNode::Column(name) = node { Some(name) } else { None })
    }

    /// Returns the dotted names of the system's fields that the formula reads, sorted.
    pub(crate) fn fields(&self) -> Vec<&str> {
        self.names(|node| if let ExprNode::Field(name) = node { Some(name) } else { None })
    }

    fn names(&self, name: fn(&ExprNode) -> Option<&String>) -> Vec<&str> {
        let mut names = BTreeSet::new();
        self.node.visit(&mut |node| names.extend(name(node).map(String::as_str)));
        names.into_iter().collect()
    }

    /// Returns true if the formula looks up FLOP/s rates of the system.
    pub(crate) fn reads_rates(&self) -> bool {
        let mut reads = false;
        self.node.visit(&mut |node| reads |= matches!(node, ExprNode::Lookup(Lookup::Flops, _)));
        reads
    }

    /// Returns the formula's lookups whose argument is a bare column, each with the column's name.
    pub(crate) fn lookups(&self) -> Vec<(&Lookup, &str)> {
        let mut found = Vec::new();
        self.node.visit(&mut |node| {
            if let ExprNode::Lookup(lookup, inner) = node
                && let ExprNode::Column(column) = &**inner
                && !found.contains(&(lookup, column.as_str()))
            {
                found.push((lookup, column.as_str()));
            }
        });
        found
    }

    /// Returns the conditions that the formula joins by AND; the formula itself if it joins none.
    pub(crate) fn conditions(&self) -> Vec<Self> {
        let mut conditions = Vec::new();
        self.node.conditions(&mut |node| {
            conditions.push(Self { text: self.text.clone(), node: node.clone() });
        });
        conditions
    }

    /// Returns the column's name if the formula is a bare column.
    pub(crate) fn as_column(&self) -> Option<&str> {
        match &self.node {
            ExprNode::Column(name) => Some(name),
            _ => None,
        }
    }

    /// Evaluates the formula for every row of `scope`.
    pub fn eval<'a>(&'a self, scope: &'a dyn Scope) -> Result<Value<'a>, ExprError> {
        self.node.eval(scope).map_err(|why| ExprError { text: self.text.clone(), why })
    }

    /// Evaluates the formula to numbers, with NaN for null.
    pub fn numbers<'a>(&'a self, scope: &'a dyn Scope) -> Result<Vals<'a, f64>, ExprError> {
        self.node.numbers(scope).map_err(|why| ExprError { text: self.text.clone(), why })
    }

    /// Evaluates the formula to truth values.
    pub fn mask<'a>(&'a self, scope: &'a dyn Scope) -> Result<Vals<'a, bool>, ExprError> {
        self.node.bools(scope).map_err(|why| ExprError { text: self.text.clone(), why })
    }
}

#[cfg(test)]
mod tests {
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
    fn a_plain_name_is_what_the_parser_makes_of_it() {
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
    fn the_first_arm_that_holds_has_its_way() {
        assert_eq!(
            numbers("CASE WHEN m >= 1 THEN 10 WHEN m >= 2 THEN 20 ELSE 30 END"),
            [10.0, 10.0, 30.0]
        );
        assert_eq!(
            numbers("CASE WHEN m = 2 THEN 10 WHEN m > 0 THEN 2 * m ELSE 30 END"),
            [2.0, 10.0, 30.0]
        );
        assert_eq!(numbers("CASE WHEN m = 9 THEN 1 WHEN 1 = 1 THEN 2 ELSE 3 END"), [2.0; 3]);
        assert_eq!(
            numbers("CASE WHEN m = 9 THEN 1 WHEN kernel = 'no' THEN 2 ELSE 3 END"),
            [3.0; 3]
        );
        assert_eq!(numbers("CASE WHEN m = 2 THEN m = 2 ELSE 3 END"), [3.0, 1.0, 3.0]);
        assert_eq!(mask("m = 9 AND kernel = 'triton'"), [false; 3]);
        assert_eq!(mask("kernel <> 'no' OR m = 1"), [true, true, false]);
    }

    #[test]
    fn arithmetic_and_fields() {
        assert_eq!(numbers("2 * m + gpu.mem_bw")[..2], [12.0, 14.0]);
        assert_eq!(numbers("coalesce(window_size, 7)"), [7.0; 3]);
        assert_eq!(numbers("coalesce(m, 0)"), [1.0, 2.0, 0.0]);
        assert_eq!(numbers("floor(m / 2)")[..2], [0.0, 1.0]);
        assert_eq!(numbers("3 * bytes(kernel)")[1], 6.0);
        assert!(numbers("bytes(kernel)")[0].is_nan() && numbers("flops(absent)")[1].is_nan());
        assert_eq!(numbers("greatest(1, m % 2, -m)")[..2], [1.0, 1.0]);
    }

    #[test]
    fn null_compares_as_false() {
        assert_eq!(mask("m >= 1"), [true, true, false]);
        assert_eq!(mask("m <> 1"), [false, true, false]);
        assert_eq!(mask("m IS NULL"), [false, false, true]);
        assert_eq!(mask("absent = 'x' OR absent LIKE '%'"), [false; 3]);
    }

    #[test]
    fn text_predicates() {
        assert_eq!(mask("kernel LIKE '%_eager'"), [true, false, false]);
        assert_eq!(mask("kernel NOT LIKE '%_eager'"), [false, true, true]);
        assert_eq!(mask("kernel IN ('triton', 'fa3')"), [false, true, false]);
        assert_eq!(mask("m BETWEEN 2 AND 3"), [false, true, false]);
    }

    #[test]
    fn case_picks_text_and_numbers() {
        let e: Expr = "CASE kernel WHEN 'triton' THEN 'mine' ELSE kernel END".parse().unwrap();
        let Value::Text(codes, dict) = e.eval(&Synthetic).unwrap() else { panic!() };
        let text = |i| (codes.get(i) != NULL_CODE).then(|| dict[codes.get(i) as usize].to_string());
        assert_eq!(
            [text(0), text(1), text(2)],
            [Some("fa3_eager".into()), Some("mine".into()), None]
        );
        let e: Expr = "coalesce(absent, kernel, 'none')".parse().unwrap();
        let Value::Text(codes, dict) = e.eval(&Synthetic).unwrap() else { panic!() };
        let texts: Vec<&str> = (0..3).map(|i| dict[codes.get(i) as usize].as_ref()).collect();
        assert_eq!(texts, ["fa3_eager", "triton", "none"]);
        assert_eq!(numbers("CASE WHEN m = 1 THEN 5 ELSE m END")[..2], [5.0, 2.0]);
    }

    #[test]
    fn a_part_of_a_text_is_a_text_and_can_be_a_number() {
        assert_eq!(mask("substr(kernel, 1) = kernel"), [true, true, false]);
        assert_eq!(mask("substr(kernel, 5) = 'eager'"), [true, false, false]);
        assert_eq!(mask("substr(absent, 3) IS NULL"), [true; 3]);
        assert_eq!(numbers("CAST(substr(kernel, 3, 1) AS REAL)")[0], 3.0);
        assert_eq!(numbers("CAST(m AS REAL)")[..2], [1.0, 2.0]);
        assert!(numbers("CAST(kernel AS REAL)")[1].is_nan());
    }

    #[test]
    fn what_is_not_understood_is_refused_with_the_text() {
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
    fn a_formula_that_no_stack_or_memory_holds_is_refused() {
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
}
