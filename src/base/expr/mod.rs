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
//! In LIKE, `_` is literal, since names are full of it. A null number is NaN, and a null text is absent. A comparison
//! with null is false, where SQL has NULL. A column that a table lacks is null in every row. Where a scope has a
//! sidecar, `sidecar.…` reads its fields.

mod eval;
mod node;
mod parse;
#[cfg(test)]
mod tests;
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

/// The name that a formula writes before a field of the sidecar: `sidecar.status`.
pub(crate) const SIDECAR: &str = "sidecar";

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

    /// Returns for each value that the formula reads in which rows it is null: its columns, fields and lookups, except
    /// those about which it asks by `IS NULL` or `coalesce`.
    pub(crate) fn nulls(&self, scope: &dyn Scope) -> Result<Vec<Vals<'static, bool>>, ExprError> {
        self.node.nulls(scope).map_err(|why| ExprError { text: self.text.clone(), why })
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
