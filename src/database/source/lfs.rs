//! git-LFS: pointer files, and objects in the repository's own store.

use std::path::Path;

use super::read::{ReadError, guard_size};
use crate::base::digest::sha256;
use crate::base::read::read;

/// The contents of an LFS pointer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pointer {
    /// The SHA-256 of the object, in hex.
    pub oid: String,
    /// The size of the object in bytes.
    pub size: u64,
}

/// The message for a git-LFS pointer that was read instead of the file itself.
pub const NOT_FETCHED: &str = "it is a git-LFS pointer: `git lfs pull` fetches the file";

/// The maximal length of a pointer in bytes, by the git-lfs specification.
const LONGEST: usize = 1024;

/// Parses `bytes` as an LFS pointer; `None` if they are something else.
///
/// The format is that of the git-lfs specification: a version line, then keys in alphabetical order,
/// including `oid sha256:…` and `size …`.
pub fn pointer(bytes: &[u8]) -> Option<Pointer> {
    if bytes.len() > LONGEST || !bytes.starts_with(b"version https://git-lfs.github.com/spec/") {
        return None;
    }
    let text = std::str::from_utf8(bytes).ok()?;
    let value = |key: &str| text.lines().find_map(|l| l.strip_prefix(key));
    let oid = value("oid sha256:").unwrap_or_default().trim();
    let size = value("size ").and_then(|s| s.trim().parse().ok()).unwrap_or(0);
    Some(Pointer { oid: oid.to_owned(), size })
}

/// Reads the object of `pointer` from the store in the git directory; `None` if it is not there. `name` is
/// the path of the pointer file.
///
/// # Errors
///
/// If the object does not match the pointer or is too large.
pub(super) fn resolve(
    git_dir: &Path,
    pointer: &Pointer,
    name: &str,
) -> Result<Option<Vec<u8>>, ReadError> {
    let oid = &pointer.oid;
    if oid.len() != 64 || !oid.bytes().all(|b| b.is_ascii_hexdigit()) {
        return Ok(None);
    }
    let path = git_dir.join("lfs/objects").join(&oid[..2]).join(&oid[2..4]).join(oid);
    let Ok(about) = std::fs::metadata(&path) else { return Ok(None) };
    guard_size(name, about.len())?;
    let Ok(bytes) = read(&path) else { return Ok(None) };
    let found = sha256(&bytes);
    if bytes.len() as u64 != pointer.size || !found.eq_ignore_ascii_case(oid) {
        return Err(ReadError::DamagedLfs);
    }
    Ok(Some(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_git_lfs_pointer_is_read_as_a_pointer() {
        let text = b"version https://git-lfs.github.com/spec/v1\noid sha256:abc\nsize 12\n";
        assert_eq!(pointer(text), Some(Pointer { oid: "abc".into(), size: 12 }));
        assert_eq!(pointer(b"PAR1"), None);
        assert_eq!(pointer(&[b'v'; 2000]), None);
    }
}
