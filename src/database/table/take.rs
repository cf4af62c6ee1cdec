//! Selects rows of a table.

use std::sync::Arc;

use super::csv::starts;
use super::{Column, Table, mix, number_bits, run_text_hash};
use crate::base::error::Reason;

impl Table {
    /// Returns the columns of some rows, in the given order.
    pub fn take(&self, rows: &[usize]) -> Vec<(String, Column)> {
        self.columns.iter().map(|(name, column)| (name.clone(), column.take(rows))).collect()
    }
}

impl Column {
    /// Returns some rows, in the given order. A column of an unsupported type only keeps its name.
    pub(crate) fn take(&self, rows: &[usize]) -> Self {
        fn some<T: Copy>(values: &[T], rows: &[usize]) -> Vec<T> {
            rows.iter().map(|row| values[*row]).collect()
        }
        let flags = |nulls: &Option<Vec<bool>>| {
            let nulls = nulls.as_ref().map(|n| some(n, rows));
            nulls.filter(|n| n.contains(&true))
        };
        match self {
            Self::Int { values, nulls } => {
                Self::Int { values: some(values, rows).into(), nulls: flags(nulls) }
            }
            Self::Float { values, nulls } => {
                Self::Float { values: some(values, rows), nulls: flags(nulls) }
            }
            Self::Bool { values, nulls } => {
                Self::Bool { values: some(values, rows), nulls: flags(nulls) }
            }
            Self::Text { codes, dict, .. } => Self::Text {
                codes: some(codes, rows),
                dict: dict.clone(),
                nulls: rows.iter().filter(|row| self.is_null(**row)).count(),
            },
            Self::Other(name) => Self::Other(name.clone()),
        }
    }

    /// Mixes each cell into the hash of its row. Rows with equal cells keep equal hashes.
    pub(crate) fn hash_into(&self, hashes: &mut [u64]) {
        const NULL: u64 = 0x6e75_6c6c;
        let names: Vec<u64> = match self {
            Self::Text { dict, .. } => dict.iter().map(|t: &Arc<str>| run_text_hash(t)).collect(),
            _ => Vec::new(),
        };
        for (row, hash) in hashes.iter_mut().enumerate() {
            let bits = match self {
                _ if self.is_null(row) => NULL,
                Self::Int { values, .. } => values[row] as u64,
                Self::Float { values, .. } => number_bits(values[row]),
                Self::Bool { values, .. } => u64::from(values[row]),
                Self::Text { codes, .. } => names[codes[row] as usize],
                Self::Other(_) => NULL,
            };
            *hash = mix(*hash, bits);
        }
    }
}

/// Returns the text of a CSV table without the rows that `keep` marks as false. All other lines are unchanged
/// byte by byte. The table must have no torn rows.
///
/// # Errors
///
/// If the text has another number of rows than `keep`.
pub fn keep_lines(bytes: &[u8], keep: &[bool]) -> Result<Vec<u8>, Reason> {
    let starts = starts(bytes)?;
    if starts.len() != keep.len() {
        return Err(format!("it has {} rows instead of {}", starts.len(), keep.len()).into());
    }
    let mut kept = bytes[..starts.first().copied().unwrap_or(bytes.len())].to_vec();
    let ends = starts.iter().skip(1).copied().chain([bytes.len()]);
    for ((start, end), _) in starts.iter().zip(ends).zip(keep).filter(|(_, keep)| **keep) {
        kept.extend_from_slice(&bytes[*start..end]);
    }
    Ok(kept)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::database::catalog::Format;

    #[test]
    fn remaining_lines_of_a_text_table_are_unchanged() {
        for (text, wanted) in [
            ("m,latency\n1,0.50\n2,0.6\n3,7e-1\n", "m,latency\n1,0.50\n3,7e-1\n"),
            ("m,latency\r\n1,0.50\r\n\r\n2,0.6\r\n3,1\r\n", "m,latency\r\n1,0.50\r\n\r\n3,1\r\n"),
            ("\u{feff}m,note\n1,\"a\nb\"\n2,\"c,d\"\n3,e\n", "\u{feff}m,note\n1,\"a\nb\"\n3,e\n"),
        ] {
            let kept = keep_lines(text.as_bytes(), &[true, false, true]).unwrap();
            assert_eq!(String::from_utf8(kept).unwrap(), wanted);
        }
        assert!(keep_lines(b"m\n1\n", &[true, true]).is_err());
    }

    #[test]
    fn selected_rows_keep_their_cells() {
        let text = "version,m,flag\na,1,True\nb,,False\na,3,True\n";
        let table = Table::decode(text.as_bytes(), Format::Csv, &|_| false).unwrap();
        let columns = table.take(&[2, 0]);
        let cells = |row: usize| columns.iter().map(|(_, c)| c.json(row)).collect::<Vec<_>>();
        assert_eq!(
            serde_json::json!([cells(0), cells(1)]),
            serde_json::json!([["a", 3, true], ["a", 1, true]])
        );
        assert!(!columns[1].1.has_nulls(), "the row that was null is not among them");
    }

    #[test]
    fn equal_cells_have_equal_hashes_for_any_codes() {
        let hashes = |text: &str| {
            let table = Table::decode(text.as_bytes(), Format::Csv, &|_| false).unwrap();
            let mut hashes = vec![0; table.rows];
            table.columns().for_each(|(_, c)| c.hash_into(&mut hashes));
            hashes
        };
        let (a, b) = (hashes("n,m\nx,1\ny,2\n"), hashes("n,m\ny,2\nx,1\n"));
        assert_eq!((a[0], a[1]), (b[1], b[0]));
        assert_ne!(a[0], a[1]);
    }
}
