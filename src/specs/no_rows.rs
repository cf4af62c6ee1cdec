//! A scope without rows, on which formulas are checked for type errors.

use std::borrow::Cow;

use crate::base::expr::{Lookup, Scope, Vals, Value};

/// A scope without rows. The function returns an empty value of a column's type, or `None` if the column does
/// not exist.
pub(super) struct NoRows<F>(pub F);

impl<F: Fn(&str) -> Option<Value<'static>>> Scope for NoRows<F> {
    fn rows(&self) -> usize {
        0
    }

    fn column(&self, name: &str) -> Option<Value<'_>> {
        self.0(name)
    }

    fn field(&self, _: &str) -> Option<f64> {
        None
    }

    fn lookup(&self, _: &Lookup, _: &str) -> Option<f64> {
        None
    }
}

/// The value of a text column without rows.
pub(super) const NO_TEXTS: Value<'static> =
    Value::Text(Vals::Rows(Cow::Borrowed(&[])), Cow::Borrowed(&[]));

/// The value of a column of numbers without rows.
pub(super) const NO_NUMBERS: Value<'static> = Value::Number(Vals::Rows(Cow::Borrowed(&[])));

/// The value of a column of flags without rows.
pub(super) const NO_FLAGS: Value<'static> = Value::Bool(Vals::Rows(Cow::Borrowed(&[])));
