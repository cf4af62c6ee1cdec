//! SHA-256 digests as text, as sidecars, LFS pointers and fingerprints contain them.

use sha2::{Digest, Sha256};

/// Returns the SHA-256 of `bytes` in lower-case hex.
pub fn sha256(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// Formats bytes in lower-case hex.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}
