//! Converts sqlparser's syntax tree into [`ExprNode`]s and refuses everything unsupported.

use std::cell::Cell;

use sqlparser::ast;

use super::node::{Compare, ExprNode, Function, Math};
use super::{Lookup, SIDECAR};

/// The maximum number of nodes of a formula; the largest known formula has 60. The limit protects the stack from long
/// chains of operators. It also bounds nested IN, BETWEEN and CASE, which are expanded to several copies of their
/// operand.
const MOST_NODES: usize = 200;

/// Converts sqlparser's syntax tree into an [`ExprNode`], or returns the reason why it is not supported.
pub(super) fn node(e: &ast::Expr) -> Result<ExprNode, String> {
    lower(e, &Cell::new(MOST_NODES))
}

fn lower(e: &ast::Expr, left: &Cell<usize>) -> Result<ExprNode, String> {
    use ast::{Expr as E, UnaryOperator as U};
    let boxed = |e: &ast::Expr| lower(e, left).map(Box::new);
    left.set(left.get().checked_sub(1).ok_or_else(|| format!("more than {MOST_NODES} parts"))?);
    Ok(match e {
        E::Nested(e) => lower(e, left)?,
        E::Identifier(name) => ExprNode::Column(name.value.clone()),
        E::CompoundIdentifier(parts) => {
            let parts: Vec<&str> = parts.iter().map(|p| p.value.as_str()).collect();
            let name = parts.join(".");
            // Figures are numbers; a sidecar has texts, too, as columns do.
            if parts[0] == SIDECAR { ExprNode::Column(name) } else { ExprNode::Field(name) }
        }
        E::Value(v) => match &v.value {
            ast::Value::Number(n, _) => {
                ExprNode::Number(n.parse().map_err(|_| format!("`{n}` is not a number"))?)
            }
            ast::Value::SingleQuotedString(s) => ExprNode::Text(s.as_str().into()),
            ast::Value::Boolean(b) => ExprNode::Bool(*b),
            ast::Value::Null => ExprNode::Null,
            other => return Err(format!("unsupported literal `{other}`")),
        },
        E::UnaryOp { op: U::Minus, expr } => ExprNode::Neg(boxed(expr)?),
        E::UnaryOp { op: U::Not, expr } => ExprNode::Not(boxed(expr)?),
        E::BinaryOp { left: l, op, right: r } => infix(op, boxed(l)?, boxed(r)?)?,
        E::Between { expr, negated, low, high } => {
            let low = ExprNode::Compare(Compare::Ge, boxed(expr)?, boxed(low)?);
            let high = ExprNode::Compare(Compare::Le, boxed(expr)?, boxed(high)?);
            negate(*negated, ExprNode::Logic { and: true, sides: Box::new((low, high)) })
        }
        E::InList { expr, list, negated } => {
            let any = list
                .iter()
                .map(|item| Ok(ExprNode::Compare(Compare::Eq, boxed(expr)?, boxed(item)?)))
                .reduce(|a, b| {
                    Ok::<_, String>(ExprNode::Logic { and: false, sides: Box::new((a?, b?)) })
                });
            negate(*negated, any.ok_or("an empty IN list")??)
        }
        E::Like { negated, expr, pattern, any: false, escape_char: None } => match &**pattern {
            E::Value(v) => match &v.value {
                ast::Value::SingleQuotedString(p) => {
                    negate(*negated, ExprNode::Like(boxed(expr)?, p.clone()))
                }
                other => return Err(format!("LIKE needs a text, not `{other}`")),
            },
            other => return Err(format!("LIKE needs a literal text, not `{other}`")),
        },
        E::IsNull(e) => ExprNode::IsNull(boxed(e)?),
        E::IsNotNull(e) => ExprNode::Not(Box::new(ExprNode::IsNull(boxed(e)?))),
        E::Case { operand, conditions, else_result, .. } => {
            let mut arms = Vec::new();
            for arm in conditions {
                let when = match operand {
                    Some(o) => ExprNode::Compare(Compare::Eq, boxed(o)?, boxed(&arm.condition)?),
                    None => lower(&arm.condition, left)?,
                };
                arms.push((when, lower(&arm.result, left)?));
            }
            let otherwise = else_result.as_ref().map_or(Ok(ExprNode::Null), |e| lower(e, left))?;
            ExprNode::Case(arms, Box::new(otherwise))
        }
        E::Floor { expr, .. } => ExprNode::Call(Function::Floor, vec![lower(expr, left)?]),
        E::Ceil { expr, .. } => ExprNode::Call(Function::Ceil, vec![lower(expr, left)?]),
        E::Function(call) => lower_call(call, left)?,
        E::Cast { expr, data_type: ast::DataType::Real, .. } => ExprNode::Cast(boxed(expr)?),
        E::Substring { expr, substring_from: Some(from), substring_for, .. } => {
            let first = whole(from)?.checked_sub(1).ok_or("the first character has number 1")?;
            let count = substring_for.as_deref().map_or(Ok(usize::MAX), whole)?;
            ExprNode::Part(boxed(expr)?, first, count)
        }
        other => return Err(format!("unsupported expression `{other}`")),
    })
}

/// Reads a literal whole number.
fn whole(e: &ast::Expr) -> Result<usize, String> {
    let number = e.to_string().parse();
    number.map_err(|_| format!("substr needs a whole number, not `{e}`"))
}

fn infix(op: &ast::BinaryOperator, l: Box<ExprNode>, r: Box<ExprNode>) -> Result<ExprNode, String> {
    use ast::BinaryOperator as B;
    Ok(match op {
        B::Plus => ExprNode::Math(Math::Add, l, r),
        B::Minus => ExprNode::Math(Math::Sub, l, r),
        B::Multiply => ExprNode::Math(Math::Mul, l, r),
        B::Divide => ExprNode::Math(Math::Div, l, r),
        B::Modulo => ExprNode::Math(Math::Rem, l, r),
        B::Eq => ExprNode::Compare(Compare::Eq, l, r),
        B::NotEq => ExprNode::Compare(Compare::Ne, l, r),
        B::Lt => ExprNode::Compare(Compare::Lt, l, r),
        B::LtEq => ExprNode::Compare(Compare::Le, l, r),
        B::Gt => ExprNode::Compare(Compare::Gt, l, r),
        B::GtEq => ExprNode::Compare(Compare::Ge, l, r),
        B::And => ExprNode::Logic { and: true, sides: Box::new((*l, *r)) },
        B::Or => ExprNode::Logic { and: false, sides: Box::new((*l, *r)) },
        other => return Err(format!("unsupported operator `{other}`")),
    })
}

fn negate(negated: bool, node: ExprNode) -> ExprNode {
    if negated { ExprNode::Not(Box::new(node)) } else { node }
}

fn lower_call(call: &ast::Function, left: &Cell<usize>) -> Result<ExprNode, String> {
    let name = call.name.to_string().to_lowercase();
    if matches!(name.as_str(), "bytes" | "flops" | "pinned") {
        return lookup(&name, args(&name, call, left)?);
    }
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
    let args = args(&name, call, left)?;
    if !arity.contains(&args.len()) {
        return Err(format!("`{name}` does not take {} arguments", args.len()));
    }
    Ok(ExprNode::Call(function, args))
}

fn lookup(name: &str, args: Vec<ExprNode>) -> Result<ExprNode, String> {
    let count = args.len();
    let mut args = args.into_iter();
    let (lookup, text) = match (name, args.next(), args.next(), args.next()) {
        ("bytes", Some(text), None, None) => (Lookup::Bytes, text),
        ("flops", Some(text), None, None) => (Lookup::Flops, text),
        ("pinned", Some(ExprNode::Text(list)), Some(text), None) => (Lookup::Pin(list), text),
        ("pinned", Some(_), Some(_), None) => {
            return Err(format!(
                "the first argument of `{name}` must be the name of a list, as a text"
            ));
        }
        _ => return Err(format!("`{name}` does not take {count} arguments")),
    };
    Ok(ExprNode::Lookup(lookup, Box::new(text)))
}

fn args(name: &str, call: &ast::Function, left: &Cell<usize>) -> Result<Vec<ExprNode>, String> {
    let ast::FunctionArguments::List(list) = &call.args else {
        return Err(format!("`{name}` needs arguments"));
    };
    list.args
        .iter()
        .map(|arg| match arg {
            ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(e)) => lower(e, left),
            other => Err(format!("unsupported argument `{other}`")),
        })
        .collect()
}
