//! SHA-256 as text: what sidecars, LFS pointers and fingerprints state.

use sha2::{Digest, Sha256};

/// The SHA-256 of `bytes`, in lower-case hex.
pub(crate) fn sha256(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// Bytes in lower-case hex.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}
