//! Evaluates formulas, a whole column at a time.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::node::{Compare, ExprNode, Function, Math};
use super::{NULL_CODE, Scope, Vals, Value, text};

impl ExprNode {
    pub(super) fn eval<'a>(&'a self, scope: &'a dyn Scope) -> Result<Value<'a>, String> {
        let rows = scope.rows();
        Ok(match self {
            Self::Number(n) => Value::Number(Vals::One(*n)),
            Self::Text(t) => Value::Text(Vals::One(0), Cow::Owned(vec![t.clone()])),
            Self::Bool(b) => Value::Bool(Vals::One(*b)),
            Self::Null => Value::Number(Vals::One(f64::NAN)),
            Self::Column(name) => scope.column(name).unwrap_or(Value::Number(Vals::One(f64::NAN))),
            Self::Field(path) => Value::Number(scope.fields(path)),
            Self::Neg(a) => Value::Number(a.numbers(scope)?.map(|v| -v)),
            Self::Not(a) => Value::Bool(a.bools(scope)?.map(|v| !v)),
            Self::Math(op, a, b) => {
                let (a, b) = (a.numbers(scope)?, b.numbers(scope)?);
                // Each operator has its own loop, because a function called by pointer is not inlined.
                Value::Number(match op {
                    Math::Add => a.zip(&b, rows, |a, b| a + b),
                    Math::Sub => a.zip(&b, rows, |a, b| a - b),
                    Math::Mul => a.zip(&b, rows, |a, b| a * b),
                    Math::Div => a.zip(&b, rows, |a, b| a / b),
                    Math::Rem => a.zip(&b, rows, |a, b| a % b),
                })
            }
            Self::Compare(op, a, b) => {
                Value::Bool(compare(*op, a.eval(scope)?, b.eval(scope)?, rows)?)
            }
            Self::Logic { and, sides } => {
                let left = sides.0.bools(scope)?;
                // If the left side decides every row, the right side is not evaluated. Formulas are checked
                // on zero rows, and there both sides are evaluated.
                if rows > 0 && (0..rows).all(|row| left.get(row) != *and) {
                    return Ok(Value::Bool(Vals::One(!*and)));
                }
                let right = sides.1.bools(scope)?;
                Value::Bool(if *and {
                    left.zip(&right, rows, |a, b| a & b)
                } else {
                    left.zip(&right, rows, |a, b| a | b)
                })
            }
            Self::Like(a, pattern) => Value::Bool(text::like(a.eval(scope)?, pattern)?),
            Self::IsNull(a) => Value::Bool(a.eval(scope)?.nulls()),
            Self::Case(arms, otherwise) => case(arms, otherwise, scope)?,
            Self::Call(function, args) => call(*function, args, scope)?,
            Self::Cast(a) => Value::Number(text::number(a.eval(scope)?)),
            Self::Part(a, first, count) => text::part(a.eval(scope)?, *first, *count)?,
            Self::Lookup(function, a) => {
                Value::Number(text::lookup(a.eval(scope)?, |t| scope.lookup(function, t))?)
            }
        })
    }

    /// Returns for each input of the formula (column, field or lookup) one flag per row: true if the input is null in
    /// this row. Inputs of `IS NULL` and of `coalesce` are left out, since both accept nulls.
    pub(super) fn nulls(&self, scope: &dyn Scope) -> Result<Vec<Vals<'static, bool>>, String> {
        let (mut inputs, mut asked) = (BTreeMap::new(), BTreeSet::new());
        self.visit(&mut |node| match node {
            Self::IsNull(_) | Self::Call(Function::Coalesce, _) => {
                node.visit(&mut |inner| asked.extend([format!("{inner:?}")]));
            }
            Self::Column(_) | Self::Field(_) | Self::Lookup(..) => {
                inputs.extend([(format!("{node:?}"), node)]);
            }
            _ => {}
        });
        inputs.retain(|name, _| !asked.contains(name));
        inputs.values().map(|node| Ok(node.eval(scope)?.nulls())).collect()
    }

    pub(super) fn numbers<'a>(&'a self, scope: &'a dyn Scope) -> Result<Vals<'a, f64>, String> {
        match self.eval(scope)? {
            Value::Number(n) => Ok(n),
            Value::Bool(b) => Ok(b.map(f64::from)),
            Value::Text(..) => Err("this must be a number, but it is text".into()),
        }
    }

    pub(super) fn bools<'a>(&'a self, scope: &'a dyn Scope) -> Result<Vals<'a, bool>, String> {
        match self.eval(scope)? {
            Value::Bool(b) => Ok(b),
            Value::Number(n) => Ok(n.map(|n| n != 0.0 && !n.is_nan())),
            Value::Text(..) => Err("this must be true or false, but it is text".into()),
        }
    }
}

impl ExprNode {
    /// Returns true if the node's value is always a number or null, whatever its columns contain.
    fn is_number(&self) -> bool {
        match self {
            Self::Number(_) | Self::Null | Self::Field(_) | Self::Lookup(..) => true,
            Self::Neg(_) | Self::Math(..) | Self::Cast(_) => true,
            Self::Call(function, _) => !matches!(function, Function::Coalesce),
            Self::Case(arms, otherwise) => {
                arms.iter().map(|(_, then)| then).chain([&**otherwise]).all(Self::is_number)
            }
            _ => false,
        }
    }
}

fn compare(op: Compare, a: Value, b: Value, rows: usize) -> Result<Vals<'static, bool>, String> {
    let ordered = |a: f64, b: f64| op.holds(a, b);
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => Ok(a.zip(&b, rows, ordered)),
        (Value::Bool(a), Value::Bool(b)) => {
            Ok(a.zip(&b, rows, |a, b| ordered(f64::from(a), f64::from(b))))
        }
        (Value::Text(a, da), Value::Text(b, db)) if matches!(op, Compare::Eq | Compare::Ne) => {
            let same = op == Compare::Eq;
            // A comparison with a literal is made once per dictionary entry.
            if let Vals::One(code) = b
                && code != NULL_CODE
            {
                let hits: Vec<bool> =
                    da.iter().map(|t| (*t == db[code as usize]) == same).collect();
                if !hits.contains(&true) {
                    return Ok(Vals::One(false));
                }
                return Ok(a.map(|c| c != NULL_CODE && hits[c as usize]));
            }
            Ok(a.zip(&b, rows, |a, b| {
                a != NULL_CODE && b != NULL_CODE && (da[a as usize] == db[b as usize]) == same
            }))
        }
        // A column that the table lacks is null, and no comparison with null is true.
        (Value::Number(Vals::One(n)), _) | (_, Value::Number(Vals::One(n))) if n.is_nan() => {
            Ok(Vals::One(false))
        }
        _ => Err("the two sides of a comparison have different types".into()),
    }
}

fn case<'a>(
    arms: &'a [(ExprNode, ExprNode)],
    otherwise: &'a ExprNode,
    scope: &'a dyn Scope,
) -> Result<Value<'a>, String> {
    let rows = scope.rows();
    let mut whens = Vec::new();
    let mut thens = Vec::new();
    // Branches that no row takes are skipped if this cannot change the type of the result. Formulas that are
    // checked on zero rows are evaluated completely.
    let lazy =
        rows > 0 && arms.iter().map(|(_, then)| then).chain([otherwise]).all(ExprNode::is_number);
    for (when, then) in arms {
        let when = when.bools(scope)?;
        if !lazy || (0..rows).any(|row| when.get(row)) {
            thens.push(then.eval(scope)?);
            whens.push(when);
        }
    }
    if whens.is_empty() {
        return otherwise.eval(scope);
    }
    thens.push(otherwise.eval(scope)?);
    if thens.iter().any(|t| matches!(t, Value::Text(..))) {
        let texts = MergedTexts::new(&thens)
            .ok_or("CASE returns text in one branch and another type in another")?;
        return Ok(texts.rows(rows, |texts, row| texts.code(arm_of(&whens, row), row)));
    }
    if thens.iter().all(|t| matches!(t, Value::Bool(_))) {
        let get = |row: usize| match &thens[arm_of(&whens, row)] {
            Value::Bool(b) => b.get(row),
            _ => false,
        };
        return Ok(Value::Bool(Vals::Rows((0..rows).map(get).collect())));
    }
    let numbers = thens.into_iter().map(|value| match value {
        Value::Number(n) => n,
        Value::Bool(b) => b.map(f64::from),
        Value::Text(..) => Vals::One(f64::NAN),
    });
    Ok(Value::Number(Vals::Rows(case_numbers(whens, numbers, rows).into())))
}

/// Returns the index of the first arm of a CASE whose condition is true in a row. If no condition is true, returns the
/// number of arms, which is the index of ELSE.
fn arm_of(whens: &[Vals<'_, bool>], row: usize) -> usize {
    whens.iter().position(|w| w.get(row)).unwrap_or(whens.len())
}

/// Evaluates a CASE whose results are numbers. The last of `thens` is the result of ELSE.
fn case_numbers<'a>(
    whens: Vec<Vals<'a, bool>>,
    mut thens: impl DoubleEndedIterator<Item = Vals<'a, f64>> + ExactSizeIterator,
    rows: usize,
) -> Vec<f64> {
    // Arms are applied from last to first, so that the first matching arm wins.
    let mut result = match thens.next_back() {
        Some(Vals::Rows(values)) => values.into_owned(),
        Some(Vals::One(value)) => vec![value; rows],
        None => Vec::new(),
    };
    for (when, then) in whens.iter().zip(thens).rev() {
        match (when, then) {
            (Vals::One(true), Vals::One(value)) => result.fill(value),
            (Vals::One(true), Vals::Rows(values)) => result = values.into_owned(),
            (Vals::One(false), _) => {}
            (Vals::Rows(when), then) => {
                let taken = result.iter_mut().zip(when.iter()).enumerate();
                taken.filter(|(_, (_, when))| **when).for_each(|(i, (r, _))| *r = then.get(i));
            }
        }
    }
    result
}

/// Several text columns with one common dictionary (`dict`), which joins the columns' own dictionaries.
struct MergedTexts<'v> {
    dict: Vec<Arc<str>>,
    /// One item per text column: the column's dictionary code in each row, and the offset that is added to such a code
    /// to get an index into `dict`. The item is `None` if the whole column is null.
    parts: Vec<Option<(&'v Vals<'v, u32>, u32)>>,
}

impl<'v> MergedTexts<'v> {
    /// Merges values that are texts or null; `None` if a value has another type.
    fn new(values: &'v [Value<'_>]) -> Option<Self> {
        let mut merged = Self { dict: Vec::new(), parts: Vec::new() };
        for value in values {
            merged.parts.push(match value {
                Value::Text(codes, _) => Some((codes, merged.dict.len() as u32)),
                // A column that the table lacks.
                Value::Number(Vals::One(n)) if n.is_nan() => None,
                _ => return None,
            });
            if let Value::Text(_, names) = value {
                merged.dict.extend(names.iter().cloned());
            }
        }
        Some(merged)
    }

    fn code(&self, part: usize, row: usize) -> u32 {
        match self.parts[part].map(|(codes, first)| (codes.get(row), first)) {
            None | Some((NULL_CODE, _)) => NULL_CODE,
            Some((code, first)) => code + first,
        }
    }

    /// Creates a value with one text per row. `code` returns the index of a row's text in the common dictionary.
    fn rows(self, rows: usize, code: impl Fn(&Self, usize) -> u32) -> Value<'static> {
        let codes: Vec<u32> = (0..rows).map(|row| code(&self, row)).collect();
        Value::Text(Vals::Rows(codes.into()), Cow::Owned(self.dict))
    }
}

fn call<'a>(f: Function, args: &'a [ExprNode], scope: &'a dyn Scope) -> Result<Value<'a>, String> {
    let rows = scope.rows();
    if matches!(f, Function::Coalesce) {
        let values = args.iter().map(|a| a.eval(scope)).collect::<Result<Vec<_>, _>>()?;
        if values.iter().any(|v| matches!(v, Value::Text(..))) {
            return first_text(&values, rows);
        }
    }
    let mut acc = args[0].numbers(scope)?;
    for arg in &args[1..] {
        let arg = arg.numbers(scope)?;
        acc = match f {
            Function::Coalesce => acc.zip(&arg, rows, |a, b| if a.is_nan() { b } else { a }),
            Function::Greatest => acc.zip(&arg, rows, f64::max),
            Function::Least => acc.zip(&arg, rows, f64::min),
            Function::Power => acc.zip(&arg, rows, f64::powf),
            _ => acc,
        };
    }
    Ok(Value::Number(match f {
        Function::Abs => acc.map(f64::abs),
        Function::Ceil => acc.map(f64::ceil),
        Function::Floor => acc.map(f64::floor),
        Function::Log2 => acc.map(f64::log2),
        Function::Sqrt => acc.map(f64::sqrt),
        _ => acc,
    }))
}

/// Evaluates `coalesce` for texts: returns for each row the first text that is not null. A column that the table lacks
/// counts as null.
fn first_text(values: &[Value<'_>], rows: usize) -> Result<Value<'static>, String> {
    let texts =
        MergedTexts::new(values).ok_or("coalesce has arguments of text and of another type")?;
    Ok(texts.rows(rows, |texts, row| {
        let mut codes = (0..values.len()).map(|part| texts.code(part, row));
        codes.find(|code| *code != NULL_CODE).unwrap_or(NULL_CODE)
    }))
}
