//! The number of rows in which a fault is planted.

use serde::Deserialize;

/// The number of rows in which a fault is planted.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(try_from = "String")]
pub enum Amount {
    /// A number of random rows.
    Rows(usize),
    /// A share of the rows, from 0 to 1.
    Share(f64),
    /// The rows of one slice: all text columns of the key are the same.
    Slice,
    /// A share of the rows of one slice, from 0 to 1.
    SliceShare(f64),
    /// The rows of one series: everything except the first axis of the sweep is the same.
    Shape,
    /// A number of consecutive rows.
    Run(usize),
    /// All rows.
    All,
}

/// The error for a text that is not an [`Amount`].
#[derive(Debug, thiserror::Error)]
#[error("'{0}' is not a number of rows: 5, 1 %, run 20, slice, 3 % of a slice, shape or all")]
pub struct BadAmount(String);

impl TryFrom<String> for Amount {
    type Error = BadAmount;

    fn try_from(text: String) -> Result<Self, BadAmount> {
        let bad = || BadAmount(text.clone());
        let rows = |number: &str| number.parse::<usize>().map_err(|_| bad());
        let share =
            |percent: &str| percent.parse::<f64>().map(|share| share / 100.0).map_err(|_| bad());
        Ok(match text.split_whitespace().collect::<Vec<_>>()[..] {
            ["all"] => Self::All,
            ["slice"] => Self::Slice,
            ["shape"] => Self::Shape,
            ["run", number] => Self::Run(rows(number)?),
            [percent, "%", "of", "a", "slice"] => Self::SliceShare(share(percent)?),
            [percent, "%"] => Self::Share(share(percent)?),
            [number] => Self::Rows(rows(number)?),
            _ => return Err(bad()),
        })
    }
}

impl std::fmt::Display for Amount {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Rows(1) => f.write_str("1 row"),
            Self::Rows(n) => write!(f, "{n} rows"),
            Self::Share(share) => write!(f, "{} % of rows", share * 100.0),
            Self::Slice => f.write_str("a slice"),
            Self::SliceShare(share) => write!(f, "{} % of a slice", share * 100.0),
            Self::Shape => f.write_str("a shape"),
            Self::Run(n) => write!(f, "{n} rows in a run"),
            Self::All => f.write_str("all rows"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Amount;

    #[test]
    fn amounts_of_rows_are_parsed_from_their_text() {
        for (text, amount) in [
            ("5", Amount::Rows(5)),
            ("1 %", Amount::Share(0.01)),
            ("run 20", Amount::Run(20)),
            ("slice", Amount::Slice),
            ("3 % of a slice", Amount::SliceShare(0.03)),
            ("shape", Amount::Shape),
            ("all", Amount::All),
        ] {
            assert_eq!(Amount::try_from(text.to_owned()).unwrap(), amount);
        }
        let bad = Amount::try_from("many".to_owned()).unwrap_err();
        assert!(bad.to_string().contains("many"));
    }
}
