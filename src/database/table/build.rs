//! Builds columns from cells or from other columns.

use serde_json::Value;

use super::Column;
use crate::base::error::Reason;

impl Column {
    /// Creates a column of integers, numbers, flags or texts from JSON cells.
    ///
    /// # Errors
    ///
    /// If the cells have several types, or a type that tables do not have.
    pub(crate) fn from_json(cells: &[&Value]) -> Result<Self, Reason> {
        let all = |is: fn(&Value) -> bool| cells.iter().all(|c| c.is_null() || is(c));
        let absent: Vec<bool> = cells.iter().map(|c| c.is_null()).collect();
        let nulls = absent.contains(&true).then_some(absent);
        if all(Value::is_i64) {
            let values = cells.iter().map(|c| c.as_i64().unwrap_or(0)).collect();
            Ok(Self::Int { values, nulls })
        } else if all(Value::is_number) {
            let values = cells.iter().map(|c| c.as_f64().unwrap_or(f64::NAN)).collect();
            Ok(Self::Float { values, nulls })
        } else if all(Value::is_boolean) {
            let values = cells.iter().map(|c| c.as_bool().unwrap_or(false)).collect();
            Ok(Self::Bool { values, nulls })
        } else if all(Value::is_string) {
            Ok(Self::texts(cells.iter().map(|c| c.as_str())))
        } else {
            Err("the cells have several types".into())
        }
    }

    /// Concatenates columns. Integers become floating-point numbers if another column has floating-point numbers and
    /// the conversion is exact.
    ///
    /// # Errors
    ///
    /// If the columns have different types, or a type that tables do not have.
    pub(crate) fn joined(parts: &[&Self]) -> Result<Self, Reason> {
        let has_fractions = parts.iter().any(|c| matches!(c, Self::Float { .. }));
        let Some(first) = parts.first() else { return Err("the table has no columns".into()) };
        let nulls: Vec<bool> =
            parts.iter().flat_map(|c| (0..c.len()).map(|row| c.is_null(row))).collect();
        let nulls = nulls.contains(&true).then_some(nulls);
        let other = || {
            let kinds: Vec<&str> = parts.iter().map(|c| c.kind_name()).collect();
            let another = kinds.iter().find(|k| **k != kinds[0]).unwrap_or(&kinds[0]);
            Reason::from(format!("{} in one part and {another} in another", kinds[0]))
        };
        match first {
            Self::Int { .. } | Self::Float { .. } if has_fractions => {
                let mut values = Vec::new();
                for part in parts {
                    values.extend(part.exact_numbers().ok_or_else(other)?);
                }
                Ok(Self::Float { values, nulls })
            }
            Self::Int { .. } => {
                let mut values = Vec::new();
                for part in parts {
                    let Self::Int { values: own, .. } = part else { return Err(other()) };
                    values.extend_from_slice(own);
                }
                Ok(Self::Int { values: values.into(), nulls })
            }
            Self::Bool { .. } => {
                let mut values = Vec::new();
                for part in parts {
                    let Self::Bool { values: own, .. } = part else { return Err(other()) };
                    values.extend(own);
                }
                Ok(Self::Bool { values, nulls })
            }
            Self::Text { .. } => {
                if !parts.iter().all(|c| matches!(c, Self::Text { .. })) {
                    return Err(other());
                }
                Ok(Self::texts(parts.iter().flat_map(|c| (0..c.len()).map(|row| c.text(row)))))
            }
            Self::Float { .. } | Self::Other(_) => Err(other()),
        }
    }

    /// Returns the cells as numbers, NaN where null; `None` if a cell is not exactly representable.
    fn exact_numbers(&self) -> Option<Vec<f64>> {
        match self {
            Self::Float { values, .. } => Some(values.clone()),
            Self::Int { values, nulls } => {
                const EXACT: u64 = 1 << 53;
                let is_null = |row: usize| nulls.as_ref().is_some_and(|nulls| nulls[row]);
                let number = |(row, value): (usize, &i64)| {
                    if is_null(row) {
                        return Some(f64::NAN);
                    }
                    (value.unsigned_abs() <= EXACT).then_some(*value as f64)
                };
                values.iter().enumerate().map(number).collect()
            }
            Self::Bool { .. } | Self::Text { .. } | Self::Other(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn cells(column: &Column) -> Vec<Value> {
        (0..column.len()).map(|row| column.json(row)).collect()
    }

    fn from(values: &[Value]) -> Column {
        Column::from_json(&values.iter().collect::<Vec<_>>()).unwrap()
    }

    #[test]
    fn cells_of_one_type_form_a_column() {
        for values in [
            vec![json!(1), json!(null), json!(3)],
            vec![json!(0.5), json!(null)],
            vec![json!(true), json!(false)],
            vec![json!("a"), json!(null), json!("a")],
        ] {
            assert_eq!(cells(&from(&values)), values);
        }
        assert!(Column::from_json(&[&json!(1), &json!("a")]).is_err());
        assert!(Column::from_json(&[&json!([1])]).is_err());
    }

    #[test]
    fn parts_of_a_column_are_joined_if_their_types_agree() {
        let (a, b) = (from(&[json!("x"), json!(null)]), from(&[json!("y"), json!("x")]));
        let joined = Column::joined(&[&a, &b]).unwrap();
        assert_eq!(cells(&joined), [json!("x"), json!(null), json!("y"), json!("x")]);
        let (whole, half) = (from(&[json!(2), json!(null)]), from(&[json!(0.5)]));
        let joined = Column::joined(&[&whole, &half]).unwrap();
        assert_eq!(cells(&joined), [json!(2), json!(null), json!(0.5)]);
        assert_eq!(joined.kind_name(), "number");
        let why = Column::joined(&[&whole, &a]).unwrap_err().to_string();
        assert_eq!(why, "int in one part and text in another");
        let huge = from(&[json!(i64::MAX)]);
        assert!(Column::joined(&[&huge, &half]).is_err(), "no number is that whole number");
    }
}
