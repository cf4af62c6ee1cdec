//! Reads files that strangers may have written: regular files only, up to a size.

use std::fs::{File, OpenOptions};
use std::io::{Error, ErrorKind, Read, Result};
use std::path::Path;

/// The maximum size in bytes of a file that is not YAML. The public database's largest table has 1.4 MB.
const LARGEST: u64 = 128 << 20;
/// The maximal size of a YAML file in bytes; these files are written by people.
const LARGEST_YAML: u64 = 4 << 20;

/// Returns the maximum size in bytes of the file at a path. YAML files have a smaller limit than other files.
pub(crate) fn largest(path: &str) -> u64 {
    if path.ends_with(".yaml") { LARGEST_YAML } else { LARGEST }
}

/// Reads a regular file. A pipe is never waited for, and a device is never read.
///
/// # Errors
///
/// If the file cannot be read, is not a regular file or is too large.
pub fn read(path: &Path) -> Result<Vec<u8>> {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    {
        // Opening a pipe would otherwise wait for its writer.
        use std::os::unix::fs::OpenOptionsExt;
        options.custom_flags(rustix::fs::OFlags::NONBLOCK.bits().cast_signed());
    }
    read_open(&options.read(true).open(path)?, path)
}

/// Reads a regular file of UTF-8 text.
///
/// # Errors
///
/// If the file cannot be read by [`read`], or is not UTF-8 text.
pub fn read_text(path: &Path) -> Result<String> {
    String::from_utf8(read(path)?).map_err(|e| Error::new(ErrorKind::InvalidData, e))
}

/// Reads an open file from its current position to its end. The maximum size depends on the extension of `path`.
pub(crate) fn read_open(mut file: &File, path: &Path) -> Result<Vec<u8>> {
    let (most, about) = (largest(&path.to_string_lossy()), file.metadata()?);
    if !about.is_file() {
        return Err(Error::other("it is not a regular file"));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(about.len().min(most)).unwrap_or_default());
    file.by_ref().take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(Error::other(format!("it has more than {most} bytes")));
    }
    Ok(bytes)
}
