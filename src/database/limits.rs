//! Limits of tables, above those of all known tables. They bound the memory and time that damaged or malicious files
//! can take.

/// The maximal number of columns of a table; the widest known table has under 100.
pub(super) const MOST_COLUMNS: usize = 4096;

/// The maximal number of cells of a table; the largest known table has 3.3 million. Files that claim more are
/// refused before decoding, since a few bytes can claim any number.
pub(super) const MOST_CELLS: usize = 12_000_000;

/// The maximal size of all decompressed pages of a file in bytes. The public database's largest table has 2.4
/// MB.
pub(super) const MOST_BYTES: usize = 128 << 20;

/// The maximal size of a Parquet footer in bytes. Texts count with their length, and each list element as eight bytes.
/// A decoded element takes up to a kilobyte of memory, so a footer takes at most a quarter of a gigabyte. The footer of
/// a table with 100 columns has about 20 kB.
pub(super) const MOST_FOOTER: usize = 2 << 20;

/// The maximal length of a text cell in bytes. A longer text is not a name and would be reported in full.
pub(super) const LONGEST_TEXT: usize = 1 << 16;

/// The maximal length of a column's name in bytes.
pub(super) const LONGEST_NAME: usize = 1024;

/// The maximal length of a line in bytes; a file with a longer line is not a text table.
pub(super) const LONGEST_LINE: usize = 1 << 20;

/// The maximal size of a JSON document in bytes. The parsed document takes up to a hundred times as much memory.
pub(super) const LARGEST_DOCUMENT: usize = 8 << 20;

/// The maximal total size in bytes of decoded files that are in memory together: the files of one table, or all files
/// that contain rows of several tables. The largest known database has 24 MB of such files.
pub(super) const MOST_HELD: usize = 256 << 20;

/// The maximal number of tables of one name, since each is compared with the others. Also the maximal number of tables
/// with rows in one file. The public database has up to 39 tables of one name.
pub(super) const MOST_TABLES: usize = 1024;
