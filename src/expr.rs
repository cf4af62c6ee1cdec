//! One-line formulas in SQL's syntax, evaluated a whole column at a time.
//!
//! Rule and table specs are data, so what they say about rows (a loader's key, a row filter, when
//! zero is right, a physical bound) is written as an expression over the table's columns, with the
//! system's fields as `gpu.mem_bw` and so on:
//!
//! ```
//! use perfdb_gate::expr::Expr;
//! let kv: Expr = "CASE WHEN num_key_value_heads = num_heads THEN 0 ELSE num_key_value_heads END"
//!     .parse()
//!     .unwrap();
//! assert_eq!(kv.columns(), ["num_heads", "num_key_value_heads"]);
//! ```
//!
//! The syntax is parsed by `sqlparser`; what is understood here is arithmetic, comparison, `AND`,
//! `OR`, `NOT`, `IN`, `BETWEEN`, `LIKE`, `IS NULL`, `CASE`, and the functions `abs`, `ceil`,
//! `coalesce`, `floor`, `greatest`, `least`, `log2`, `power`, `sqrt`. Anything else is refused when
//! the spec is read, not when a table happens to be judged.
//!
//! A null number is NaN and a null text is absent; comparing either is false, as in SQL a
//! comparison with NULL is not true. A column that a table lacks is null in every row.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::str::FromStr;
use std::sync::Arc;

use sqlparser::ast;
use sqlparser::dialect::GenericDialect;
use sqlparser::parser::Parser;

/// A parsed formula.
#[derive(Debug, Clone)]
pub struct Expr {
    text: String,
    node: Node,
}

/// Why a formula was refused, with the offending part of it.
#[derive(Debug, thiserror::Error)]
#[error("{why} in `{text}`")]
pub struct ExprError {
    text: String,
    why: String,
}

/// Where names in a formula get their values.
pub trait Scope {
    /// Number of rows of every column.
    fn rows(&self) -> usize;
    /// The column of that name, or `None` where the table lacks it.
    fn column(&self, name: &str) -> Option<Value<'_>>;
    /// A dotted name such as `gpu.mem_bw`, or `None` where the system lacks it.
    fn field(&self, path: &str) -> Option<f64>;
}

/// The value of a (sub-)expression: one for all rows, or one a row.
#[derive(Debug, Clone)]
pub enum Value<'a> {
    /// Numbers, NaN where null.
    Number(Vals<'a, f64>),
    /// Truth values.
    Bool(Vals<'a, bool>),
    /// Text: codes into a dictionary, [`NULL_CODE`] where null.
    Text(Vals<'a, u32>, Cow<'a, [Arc<str>]>),
}

/// The dictionary code of a null text.
pub const NULL_CODE: u32 = u32::MAX;

/// One value for all rows, or one a row.
#[derive(Debug, Clone)]
pub enum Vals<'a, T: Copy> {
    /// The same value in every row.
    One(T),
    /// A value a row.
    Rows(Cow<'a, [T]>),
}

impl<T: Copy> Vals<'_, T> {
    /// The value in row `i`.
    #[inline]
    pub fn get(&self, i: usize) -> T {
        match self {
            Self::One(v) => *v,
            Self::Rows(v) => v[i],
        }
    }

    fn map<U: Copy>(&self, f: impl Fn(T) -> U) -> Vals<'static, U> {
        match self {
            Self::One(v) => Vals::One(f(*v)),
            Self::Rows(v) => Vals::Rows(v.iter().map(|&v| f(v)).collect()),
        }
    }

    fn zip<U: Copy, V: Copy>(
        &self,
        other: &Vals<'_, U>,
        rows: usize,
        f: impl Fn(T, U) -> V,
    ) -> Vals<'static, V> {
        match (self, other) {
            (Self::One(a), Vals::One(b)) => Vals::One(f(*a, *b)),
            (Self::Rows(a), Vals::One(b)) => Vals::Rows(a.iter().map(|&a| f(a, *b)).collect()),
            (Self::One(a), Vals::Rows(b)) => Vals::Rows(b.iter().map(|&b| f(*a, b)).collect()),
            (Self::Rows(a), Vals::Rows(b)) => {
                Vals::Rows((0..rows).map(|i| f(a[i], b[i])).collect())
            }
        }
    }
}

#[derive(Debug, Clone)]
enum Node {
    Number(f64),
    Text(Arc<str>),
    Bool(bool),
    Null,
    Column(String),
    Field(String),
    Neg(Box<Node>),
    Not(Box<Node>),
    Math(Math, Box<Node>, Box<Node>),
    Compare(Compare, Box<Node>, Box<Node>),
    Logic { and: bool, sides: Box<(Node, Node)> },
    Like(Box<Node>, String),
    IsNull(Box<Node>),
    Case(Vec<(Node, Node)>, Box<Node>),
    Call(Function, Vec<Node>),
}

#[derive(Debug, Clone, Copy)]
enum Math {
    Add,
    Sub,
    Mul,
    Div,
    Rem,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Compare {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
}

#[derive(Debug, Clone, Copy)]
enum Function {
    Abs,
    Ceil,
    Coalesce,
    Floor,
    Greatest,
    Least,
    Log2,
    Power,
    Sqrt,
}

impl FromStr for Expr {
    type Err = ExprError;

    fn from_str(text: &str) -> Result<Self, ExprError> {
        let refuse = |why: String| ExprError {
            text: text.to_owned(),
            why,
        };
        let mut parser = Parser::new(&GenericDialect {})
            .try_with_sql(text)
            .map_err(|e| refuse(e.to_string()))?;
        let parsed = parser.parse_expr().map_err(|e| refuse(e.to_string()))?;
        let rest = parser.peek_token();
        if rest.token != sqlparser::tokenizer::Token::EOF {
            return Err(refuse(format!("unexpected `{rest}` after the expression")));
        }
        Ok(Self {
            text: text.to_owned(),
            node: lower(&parsed).map_err(refuse)?,
        })
    }
}

impl<'de> serde::Deserialize<'de> for Expr {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // A bare number or boolean is an expression too: `zero: true`.
        struct Visitor;
        impl serde::de::Visitor<'_> for Visitor {
            type Value = Expr;
            fn expecting(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
                f.write_str("an expression in SQL's syntax")
            }
            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Expr, E> {
                text.parse().map_err(E::custom)
            }
        }
        deserializer.deserialize_str(Visitor)
    }
}

impl std::fmt::Display for Expr {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text)
    }
}

impl Expr {
    /// Names of the columns it reads, sorted.
    pub fn columns(&self) -> Vec<&str> {
        let mut names = BTreeSet::new();
        self.node.visit(&mut |node| {
            if let Node::Column(name) = node {
                names.insert(name.as_str());
            }
        });
        names.into_iter().collect()
    }

    /// Dotted names of the system's fields it reads, sorted.
    pub fn fields(&self) -> Vec<&str> {
        let mut names = BTreeSet::new();
        self.node.visit(&mut |node| {
            if let Node::Field(name) = node {
                names.insert(name.as_str());
            }
        });
        names.into_iter().collect()
    }

    /// The bare column name, when that is all the formula is.
    pub fn as_column(&self) -> Option<&str> {
        match &self.node {
            Node::Column(name) => Some(name),
            _ => None,
        }
    }

    /// Evaluates over every row of `scope`.
    pub fn eval<'a>(&'a self, scope: &'a dyn Scope) -> Result<Value<'a>, ExprError> {
        self.node.eval(scope).map_err(|why| ExprError {
            text: self.text.clone(),
            why,
        })
    }

    /// Evaluates to numbers (NaN where null).
    pub fn numbers<'a>(&'a self, scope: &'a dyn Scope) -> Result<Vals<'a, f64>, ExprError> {
        self.node.numbers(scope).map_err(|why| ExprError {
            text: self.text.clone(),
            why,
        })
    }

    /// Evaluates to truth values.
    pub fn mask<'a>(&'a self, scope: &'a dyn Scope) -> Result<Vals<'a, bool>, ExprError> {
        self.node.bools(scope).map_err(|why| ExprError {
            text: self.text.clone(),
            why,
        })
    }
}

/// Turns sqlparser's syntax tree into ours, refusing what is not understood.
fn lower(e: &ast::Expr) -> Result<Node, String> {
    use ast::{BinaryOperator as B, Expr as E, UnaryOperator as U};
    let boxed = |e: &ast::Expr| lower(e).map(Box::new);
    Ok(match e {
        E::Nested(e) => lower(e)?,
        E::Identifier(name) => Node::Column(name.value.clone()),
        E::CompoundIdentifier(parts) => {
            let parts: Vec<&str> = parts.iter().map(|p| p.value.as_str()).collect();
            Node::Field(parts.join("."))
        }
        E::Value(v) => match &v.value {
            ast::Value::Number(n, _) => {
                Node::Number(n.parse().map_err(|_| format!("`{n}` is no number"))?)
            }
            ast::Value::SingleQuotedString(s) => Node::Text(s.as_str().into()),
            ast::Value::Boolean(b) => Node::Bool(*b),
            ast::Value::Null => Node::Null,
            other => return Err(format!("unsupported literal `{other}`")),
        },
        E::UnaryOp { op: U::Minus, expr } => Node::Neg(boxed(expr)?),
        E::UnaryOp { op: U::Not, expr } => Node::Not(boxed(expr)?),
        E::BinaryOp { left, op, right } => {
            let (l, r) = (boxed(left)?, boxed(right)?);
            match op {
                B::Plus => Node::Math(Math::Add, l, r),
                B::Minus => Node::Math(Math::Sub, l, r),
                B::Multiply => Node::Math(Math::Mul, l, r),
                B::Divide => Node::Math(Math::Div, l, r),
                B::Modulo => Node::Math(Math::Rem, l, r),
                B::Eq => Node::Compare(Compare::Eq, l, r),
                B::NotEq => Node::Compare(Compare::Ne, l, r),
                B::Lt => Node::Compare(Compare::Lt, l, r),
                B::LtEq => Node::Compare(Compare::Le, l, r),
                B::Gt => Node::Compare(Compare::Gt, l, r),
                B::GtEq => Node::Compare(Compare::Ge, l, r),
                B::And => Node::Logic {
                    and: true,
                    sides: Box::new((*l, *r)),
                },
                B::Or => Node::Logic {
                    and: false,
                    sides: Box::new((*l, *r)),
                },
                other => return Err(format!("unsupported operator `{other}`")),
            }
        }
        E::Between {
            expr,
            negated,
            low,
            high,
        } => {
            let low = Node::Compare(Compare::Ge, boxed(expr)?, boxed(low)?);
            let high = Node::Compare(Compare::Le, boxed(expr)?, boxed(high)?);
            negate(
                *negated,
                Node::Logic {
                    and: true,
                    sides: Box::new((low, high)),
                },
            )
        }
        E::InList {
            expr,
            list,
            negated,
        } => {
            let any = list
                .iter()
                .map(|item| Ok(Node::Compare(Compare::Eq, boxed(expr)?, boxed(item)?)))
                .reduce(|a, b| {
                    Ok::<_, String>(Node::Logic {
                        and: false,
                        sides: Box::new((a?, b?)),
                    })
                });
            negate(*negated, any.ok_or("an empty IN list")??)
        }
        E::Like {
            negated,
            expr,
            pattern,
            any: false,
            escape_char: None,
        } => match &**pattern {
            E::Value(v) => match &v.value {
                ast::Value::SingleQuotedString(p) => {
                    negate(*negated, Node::Like(boxed(expr)?, p.clone()))
                }
                other => return Err(format!("LIKE wants a text, not `{other}`")),
            },
            other => return Err(format!("LIKE wants a literal text, not `{other}`")),
        },
        E::IsNull(e) => Node::IsNull(boxed(e)?),
        E::IsNotNull(e) => Node::Not(Box::new(Node::IsNull(boxed(e)?))),
        E::Case {
            operand,
            conditions,
            else_result,
            ..
        } => {
            let mut arms = Vec::new();
            for arm in conditions {
                let when = match operand {
                    Some(o) => Node::Compare(Compare::Eq, boxed(o)?, boxed(&arm.condition)?),
                    None => lower(&arm.condition)?,
                };
                arms.push((when, lower(&arm.result)?));
            }
            let otherwise = else_result.as_ref().map_or(Ok(Node::Null), |e| lower(e))?;
            Node::Case(arms, Box::new(otherwise))
        }
        E::Floor { expr, .. } => Node::Call(Function::Floor, vec![lower(expr)?]),
        E::Ceil { expr, .. } => Node::Call(Function::Ceil, vec![lower(expr)?]),
        E::Function(call) => lower_call(call)?,
        other => return Err(format!("unsupported expression `{other}`")),
    })
}

fn negate(negated: bool, node: Node) -> Node {
    if negated {
        Node::Not(Box::new(node))
    } else {
        node
    }
}

fn lower_call(call: &ast::Function) -> Result<Node, String> {
    let name = call.name.to_string().to_lowercase();
    let (function, arity) = match name.as_str() {
        "abs" => (Function::Abs, 1..=1),
        "ceil" => (Function::Ceil, 1..=1),
        "coalesce" => (Function::Coalesce, 1..=8),
        "floor" => (Function::Floor, 1..=1),
        "greatest" => (Function::Greatest, 2..=8),
        "least" => (Function::Least, 2..=8),
        "log2" => (Function::Log2, 1..=1),
        "power" => (Function::Power, 2..=2),
        "sqrt" => (Function::Sqrt, 1..=1),
        _ => return Err(format!("unknown function `{name}`")),
    };
    let ast::FunctionArguments::List(list) = &call.args else {
        return Err(format!("`{name}` wants arguments"));
    };
    let args = list
        .args
        .iter()
        .map(|arg| match arg {
            ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(e)) => lower(e),
            other => Err(format!("unsupported argument `{other}`")),
        })
        .collect::<Result<Vec<_>, _>>()?;
    if !arity.contains(&args.len()) {
        return Err(format!("`{name}` does not take {} arguments", args.len()));
    }
    Ok(Node::Call(function, args))
}

impl Node {
    /// Calls `f` on this node and every one below it.
    fn visit<'a>(&'a self, f: &mut dyn FnMut(&'a Node)) {
        f(self);
        match self {
            Self::Neg(a) | Self::Not(a) | Self::Like(a, _) | Self::IsNull(a) => a.visit(f),
            Self::Math(_, a, b) | Self::Compare(_, a, b) => {
                a.visit(f);
                b.visit(f);
            }
            Self::Logic { sides, .. } => {
                sides.0.visit(f);
                sides.1.visit(f);
            }
            Self::Case(arms, otherwise) => {
                for (when, then) in arms {
                    when.visit(f);
                    then.visit(f);
                }
                otherwise.visit(f);
            }
            Self::Call(_, args) => args.iter().for_each(|a| a.visit(f)),
            Self::Number(_) | Self::Text(_) | Self::Bool(_) | Self::Null => {}
            Self::Column(_) | Self::Field(_) => {}
        }
    }

    fn eval<'a>(&'a self, scope: &'a dyn Scope) -> Result<Value<'a>, String> {
        let rows = scope.rows();
        Ok(match self {
            Self::Number(n) => Value::Number(Vals::One(*n)),
            Self::Text(t) => Value::Text(Vals::One(0), Cow::Owned(vec![t.clone()])),
            Self::Bool(b) => Value::Bool(Vals::One(*b)),
            Self::Null => Value::Number(Vals::One(f64::NAN)),
            Self::Column(name) => scope
                .column(name)
                .unwrap_or(Value::Number(Vals::One(f64::NAN))),
            Self::Field(path) => Value::Number(Vals::One(scope.field(path).unwrap_or(f64::NAN))),
            Self::Neg(a) => Value::Number(a.numbers(scope)?.map(|v| -v)),
            Self::Not(a) => Value::Bool(a.bools(scope)?.map(|v| !v)),
            Self::Math(op, a, b) => {
                let f: fn(f64, f64) -> f64 = match op {
                    Math::Add => |a, b| a + b,
                    Math::Sub => |a, b| a - b,
                    Math::Mul => |a, b| a * b,
                    Math::Div => |a, b| a / b,
                    Math::Rem => |a, b| a % b,
                };
                Value::Number(a.numbers(scope)?.zip(&b.numbers(scope)?, rows, f))
            }
            Self::Compare(op, a, b) => {
                Value::Bool(compare(*op, a.eval(scope)?, b.eval(scope)?, rows)?)
            }
            Self::Logic { and, sides } => {
                let f: fn(bool, bool) -> bool = if *and { |a, b| a && b } else { |a, b| a || b };
                Value::Bool(sides.0.bools(scope)?.zip(&sides.1.bools(scope)?, rows, f))
            }
            Self::Like(a, pattern) => match a.eval(scope)? {
                Value::Text(codes, dict) => {
                    let hits: Vec<bool> = dict.iter().map(|t| like(t, pattern)).collect();
                    Value::Bool(codes.map(|c| c != NULL_CODE && hits[c as usize]))
                }
                // A column that this table lacks matches nothing.
                Value::Number(Vals::One(n)) if n.is_nan() => Value::Bool(Vals::One(false)),
                _ => return Err("LIKE wants a text column".into()),
            },
            Self::IsNull(a) => Value::Bool(match a.eval(scope)? {
                Value::Number(n) => n.map(f64::is_nan),
                Value::Text(codes, _) => codes.map(|c| c == NULL_CODE),
                Value::Bool(b) => b.map(|_| false),
            }),
            Self::Case(arms, otherwise) => case(arms, otherwise, scope)?,
            Self::Call(function, args) => call(*function, args, scope)?,
        })
    }

    fn numbers<'a>(&'a self, scope: &'a dyn Scope) -> Result<Vals<'a, f64>, String> {
        match self.eval(scope)? {
            Value::Number(n) => Ok(n),
            Value::Bool(b) => Ok(b.map(f64::from)),
            Value::Text(..) => Err("a text stands where a number is needed".into()),
        }
    }

    fn bools<'a>(&'a self, scope: &'a dyn Scope) -> Result<Vals<'a, bool>, String> {
        match self.eval(scope)? {
            Value::Bool(b) => Ok(b),
            Value::Number(n) => Ok(n.map(|n| n != 0.0 && !n.is_nan())),
            Value::Text(..) => Err("a text stands where a truth value is needed".into()),
        }
    }
}

fn compare(op: Compare, a: Value, b: Value, rows: usize) -> Result<Vals<'static, bool>, String> {
    let ordered = |a: f64, b: f64| match op {
        Compare::Eq => a == b,
        Compare::Ne => a != b && !a.is_nan() && !b.is_nan(),
        Compare::Lt => a < b,
        Compare::Le => a <= b,
        Compare::Gt => a > b,
        Compare::Ge => a >= b,
    };
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => Ok(a.zip(&b, rows, ordered)),
        (Value::Bool(a), Value::Bool(b)) => {
            Ok(a.zip(&b, rows, |a, b| ordered(f64::from(a), f64::from(b))))
        }
        (Value::Text(a, da), Value::Text(b, db)) if matches!(op, Compare::Eq | Compare::Ne) => {
            let same = op == Compare::Eq;
            // Against a literal, the comparison is made once a dictionary entry.
            if let Vals::One(code) = b
                && code != NULL_CODE
            {
                let hits: Vec<bool> = da
                    .iter()
                    .map(|t| (*t == db[code as usize]) == same)
                    .collect();
                return Ok(a.map(|c| c != NULL_CODE && hits[c as usize]));
            }
            Ok(a.zip(&b, rows, |a, b| {
                a != NULL_CODE && b != NULL_CODE && (da[a as usize] == db[b as usize]) == same
            }))
        }
        // A column that this table lacks is null, and no comparison with null is true.
        (Value::Number(Vals::One(n)), _) | (_, Value::Number(Vals::One(n))) if n.is_nan() => {
            Ok(Vals::One(false))
        }
        _ => Err("unlike things are compared".into()),
    }
}

fn case<'a>(
    arms: &'a [(Node, Node)],
    otherwise: &'a Node,
    scope: &'a dyn Scope,
) -> Result<Value<'a>, String> {
    let rows = scope.rows();
    let mut whens = Vec::new();
    let mut thens = Vec::new();
    for (when, then) in arms {
        whens.push(when.bools(scope)?);
        thens.push(then.eval(scope)?);
    }
    thens.push(otherwise.eval(scope)?);
    let pick = |i: usize| whens.iter().position(|w| w.get(i)).unwrap_or(arms.len());

    if thens.iter().any(|t| matches!(t, Value::Text(..))) {
        let mut dict: Vec<Arc<str>> = Vec::new();
        let mut codes = Vec::new();
        for then in &thens {
            match then {
                Value::Text(c, d) => {
                    codes.push((c.clone(), dict.len() as u32));
                    dict.extend(d.iter().cloned());
                }
                Value::Number(Vals::One(n)) if n.is_nan() => codes.push((Vals::One(NULL_CODE), 0)),
                _ => return Err("CASE mixes text with something else".into()),
            }
        }
        let codes = (0..rows).map(|i| {
            let (c, offset) = &codes[pick(i)];
            match c.get(i) {
                NULL_CODE => NULL_CODE,
                c => c + offset,
            }
        });
        return Ok(Value::Text(Vals::Rows(codes.collect()), Cow::Owned(dict)));
    }
    if thens.iter().all(|t| matches!(t, Value::Bool(_))) {
        let get = |i: usize| match &thens[pick(i)] {
            Value::Bool(b) => b.get(i),
            _ => false,
        };
        return Ok(Value::Bool(Vals::Rows((0..rows).map(get).collect())));
    }
    let get = |i: usize| match &thens[pick(i)] {
        Value::Number(n) => n.get(i),
        Value::Bool(b) => f64::from(b.get(i)),
        Value::Text(..) => f64::NAN,
    };
    Ok(Value::Number(Vals::Rows((0..rows).map(get).collect())))
}

fn call<'a>(
    function: Function,
    args: &'a [Node],
    scope: &'a dyn Scope,
) -> Result<Value<'a>, String> {
    let rows = scope.rows();
    // The first text or column that is there; numbers and text must not mix.
    if matches!(function, Function::Coalesce)
        && let Value::Text(..) = args[0].eval(scope)?
    {
        let when = |n: &'a Node| {
            (
                Node::Not(Box::new(Node::IsNull(Box::new(n.clone())))),
                n.clone(),
            )
        };
        let (last, first) = args.split_last().ok_or("an empty coalesce")?;
        let arms: Vec<_> = first.iter().map(when).collect();
        let owned = match case(&arms, last, scope)? {
            Value::Text(Vals::Rows(c), d) => Value::Text(
                Vals::Rows(Cow::Owned(c.into_owned())),
                Cow::Owned(d.into_owned()),
            ),
            _ => return Err("coalesce mixes text with something else".into()),
        };
        return Ok(owned);
    }
    let fold: fn(f64, f64) -> f64 = match function {
        Function::Abs => return one(&args[0], scope, f64::abs),
        Function::Ceil => return one(&args[0], scope, f64::ceil),
        Function::Floor => return one(&args[0], scope, f64::floor),
        Function::Log2 => return one(&args[0], scope, f64::log2),
        Function::Sqrt => return one(&args[0], scope, f64::sqrt),
        Function::Coalesce => |a, b| if a.is_nan() { b } else { a },
        Function::Greatest => f64::max,
        Function::Least => f64::min,
        Function::Power => f64::powf,
    };
    let mut acc = args[0].numbers(scope)?;
    for arg in &args[1..] {
        acc = acc.zip(&arg.numbers(scope)?, rows, fold);
    }
    Ok(Value::Number(acc))
}

fn one<'a>(arg: &'a Node, scope: &'a dyn Scope, f: fn(f64) -> f64) -> Result<Value<'a>, String> {
    Ok(Value::Number(arg.numbers(scope)?.map(f)))
}

/// SQL's LIKE: `%` stands for any run of characters; `_` is literal here, since names are full of it.
fn like(text: &str, pattern: &str) -> bool {
    let mut parts = pattern.split('%');
    let first = parts.next().unwrap_or("");
    let Some(mut rest) = text.strip_prefix(first) else {
        return false;
    };
    let mut tail: Option<&str> = None;
    for part in parts {
        if let Some(middle) = tail.replace(part) {
            match rest.find(middle) {
                Some(at) => rest = &rest[at + middle.len()..],
                None => return false,
            }
        }
    }
    match tail {
        None => rest.is_empty(),
        Some(end) => rest.ends_with(end),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Synthetic;

    impl Scope for Synthetic {
        fn rows(&self) -> usize {
            3
        }
        fn column(&self, name: &str) -> Option<Value<'_>> {
            match name {
                "m" => Some(Value::Number(Vals::Rows(Cow::Owned(vec![
                    1.0,
                    2.0,
                    f64::NAN,
                ])))),
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
    fn arithmetic_and_fields() {
        assert_eq!(numbers("2 * m + gpu.mem_bw")[..2], [12.0, 14.0]);
        assert_eq!(numbers("coalesce(window_size, 7)"), [7.0; 3]);
        assert_eq!(numbers("coalesce(m, 0)"), [1.0, 2.0, 0.0]);
        assert_eq!(numbers("floor(m / 2)")[..2], [0.0, 1.0]);
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
        let e: Expr = "CASE kernel WHEN 'triton' THEN 'mine' ELSE kernel END"
            .parse()
            .unwrap();
        let Value::Text(codes, dict) = e.eval(&Synthetic).unwrap() else {
            panic!()
        };
        let text = |i| (codes.get(i) != NULL_CODE).then(|| dict[codes.get(i) as usize].to_string());
        assert_eq!(
            [text(0), text(1), text(2)],
            [Some("fa3_eager".into()), Some("mine".into()), None]
        );
        assert_eq!(
            numbers("CASE WHEN m = 1 THEN 5 ELSE m END")[..2],
            [5.0, 2.0]
        );
    }

    #[test]
    fn like_matches_as_sql_does() {
        for (text, pattern, want) in [
            ("abc", "abc", true),
            ("abc", "a%", true),
            ("abc", "%c", true),
            ("abc", "%b%", true),
            ("abc", "a%c%d", false),
            ("aXbXc", "a%b%c", true),
            ("ab", "ab%b", false),
        ] {
            assert_eq!(like(text, pattern), want, "{text} LIKE {pattern}");
        }
    }

    #[test]
    fn what_is_not_understood_is_refused_with_the_text() {
        for text in ["SELECT 1", "m +", "sum(m)", "m = 'a' || 'b'", "m AND )"] {
            let error = text.parse::<Expr>().unwrap_err().to_string();
            assert!(error.contains(text), "{error}");
        }
    }
}
