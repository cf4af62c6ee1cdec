//! The file formats of tables, by file name.

/// The file format of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Apache Parquet.
    Parquet,
    /// Comma-separated text, the collectors' staging format.
    Csv,
}

/// Returns true if a table's ending is spelt in a way that the loader does not accept: `.Parquet`,
/// `_perf.TXT`.
pub(crate) fn is_misspelt(path: &str) -> bool {
    format_of(path).is_none() && format_of(&path.to_ascii_lowercase()).is_some()
}

/// Returns the table format of a file name, or `None` if the name is not a table's.
pub(super) fn format_of(path: &str) -> Option<Format> {
    let name = path.rsplit('/').next().unwrap_or(path);
    if name.ends_with(".parquet") {
        Some(Format::Parquet)
    } else if name.ends_with("_perf.txt") || name.ends_with("_perf.csv") {
        Some(Format::Csv)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_tables_are_tables() {
        assert_eq!(format_of("a/gemm_perf.parquet"), Some(Format::Parquet));
        assert_eq!(format_of("a/gemm_perf.txt"), Some(Format::Csv));
        assert_eq!(format_of("a/INCOMPLETE.txt"), None);
    }
}
