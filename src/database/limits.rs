//! Limits of tables, above those of all known tables. They bound the memory and time that damaged or malicious files
//! can take.

/// The maximum number of columns of a table. The widest known table has fewer than 100.
pub(super) const MOST_COLUMNS: usize = 4096;

/// The maximum number of cells of a table. The largest known table has 3.3 million. The number is checked before a file
/// is decoded, since even a tiny file can declare a huge table.
pub(super) const MOST_CELLS: usize = 12_000_000;

/// The maximum size of all pages of a Parquet file after decompression, in bytes. The largest table of the public
/// database has 2.4 MB.
pub(super) const MOST_BYTES: usize = 128 << 20;

/// The maximum size of a Parquet file's footer in bytes, so that the decoded footer takes at most about 256 MB of
/// memory. The footer of a table with 100 columns has about 20 kB.
pub(super) const MOST_FOOTER: usize = 2 << 20;

/// The maximum length of a text cell in bytes. Longer texts are not names, and would be too long for a report.
pub(super) const LONGEST_TEXT: usize = 1 << 16;

/// The maximum length of a column's name in bytes.
pub(super) const LONGEST_NAME: usize = 1024;

/// The maximum length of a line in bytes. A file with a longer line is not a text table.
pub(super) const LONGEST_LINE: usize = 1 << 20;

/// The maximum size of a JSON document in bytes. A parsed document takes up to a hundred times as much memory.
pub(super) const LARGEST_DOCUMENT: usize = 8 << 20;

/// The maximum size in bytes of decoded files in memory. It limits each of two totals:
/// - the files from which one table is assembled;
/// - the files of a database that contain rows of several tables (24 MB in the largest known database).
pub(super) const MOST_HELD: usize = 256 << 20;

/// The maximum number of tables with the same name in a database, since such tables are compared with each other. It is
/// also the maximum number of tables whose rows are in one file. The public database has up to 39 tables of one name.
pub(super) const MOST_TABLES: usize = 1024;
