//! Whether a formula says the same of every row by other fields.

use super::node::Node;
use super::{Expr, Lookup, Scope, Value};

/// What fields come to, by their dotted names.
pub type Fields<'a> = &'a dyn Fn(&str) -> Option<f64>;

/// Fields without rows.
struct FieldsAlone<'a>(Fields<'a>);

impl Scope for FieldsAlone<'_> {
    fn rows(&self) -> usize {
        1
    }

    fn column(&self, _: &str) -> Option<Value<'_>> {
        None
    }

    fn field(&self, path: &str) -> Option<f64> {
        (self.0)(path)
    }

    fn lookup(&self, _: &Lookup, _: &str) -> Option<f64> {
        None
    }
}

impl Expr {
    /// Whether it has the same value by the fields `before` and `after`, whatever its columns hold. What it asks
    /// of fields alone is evaluated; a field that differs and is held against a column makes it another formula.
    pub fn is_alike(&self, before: Fields<'_>, after: Fields<'_>) -> bool {
        self.node.is_alike(&FieldsAlone(before), &FieldsAlone(after))
    }
}

impl Node {
    fn is_alike(&self, before: &FieldsAlone<'_>, after: &FieldsAlone<'_>) -> bool {
        if self.reads_fields_alone() {
            return match (self.eval(before), self.eval(after)) {
                (Ok(before), Ok(after)) => is_same(&before, &after),
                _ => false,
            };
        }
        match self {
            Self::Lookup(Lookup::Flops, _) => return false,
            Self::Logic { and, sides } => {
                // What is never true, or always, settles what it is combined with.
                let settles = |side: &Self| {
                    let settled = |fields| side.bools(fields).is_ok_and(|b| b.get(0) != *and);
                    side.reads_fields_alone() && settled(before) && settled(after)
                };
                if settles(&sides.0) || settles(&sides.1) {
                    return true;
                }
            }
            _ => {}
        }
        self.parts().into_iter().all(|part| part.is_alike(before, after))
    }

    /// Whether it is a value of fields and constants, without rows.
    fn reads_fields_alone(&self) -> bool {
        let mut reads_rows = false;
        self.visit(&mut |node| reads_rows |= matches!(node, Self::Column(_) | Self::Lookup(..)));
        !reads_rows
    }
}

/// Whether two values of one row are the same; nulls are.
fn is_same(a: &Value<'_>, b: &Value<'_>) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => {
            let (a, b) = (a.get(0), b.get(0));
            a == b || (a.is_nan() && b.is_nan())
        }
        (Value::Bool(a), Value::Bool(b)) => a.get(0) == b.get(0),
        (Value::Text(a, of_a), Value::Text(b, of_b)) => {
            of_a.get(a.get(0) as usize) == of_b.get(b.get(0) as usize)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Synthetic: a machine whose memory grows from 80 to 90, beside one of 141.
    fn is_alike(formula: &str) -> bool {
        let formula: Expr = formula.parse().unwrap();
        let of_memory = |memory: f64| {
            move |path: &str| match path {
                "gpu.memory" => Some(memory),
                "nearest.gpu.memory" => Some(141.0),
                _ => None,
            }
        };
        formula.is_alike(&of_memory(80.0), &of_memory(90.0))
    }

    #[test]
    fn what_fields_alone_decide_as_before_is_alike() {
        assert!(is_alike("gpu.memory < nearest.gpu.memory AND NOT larger_served"));
        assert!(is_alike("m * n > nearest.gpu.memory"));
        assert!(is_alike("gpu.unknown < 89 AND dtype LIKE 'fp8%'"));
        assert!(is_alike("CASE WHEN gpu.memory > 50 THEN m ELSE n END > bytes(dtype)"));
        assert!(is_alike("gpu.memory < 10 AND m > gpu.memory"), "never true");
        assert!(is_alike("gpu.memory > 10 OR m > gpu.memory"), "always true");
    }

    #[test]
    fn what_a_field_decides_otherwise_or_of_rows_is_not() {
        assert!(!is_alike("gpu.memory < 85 AND NOT larger_served"));
        assert!(!is_alike("m * n > gpu.memory"));
        assert!(!is_alike("CASE WHEN gpu.memory > 85 THEN m ELSE n END > 1"));
        assert!(!is_alike("gpu.memory > 10 AND m > gpu.memory"));
        assert!(!is_alike("m / flops(dtype) > 1"), "rates may follow from any field");
    }
}
