//! The blobs of a repository.
//!
//! To inflate a table takes longer than to decode it. So what a pack holds whole, which tables nearly always are, is
//! inflated by libdeflate in less than half of zlib's time, and what several stages of a comparison read is kept.

use std::path::Path;
use std::sync::OnceLock;

use gix_hash::{Kind, ObjectId};
use gix_pack::Bundle;
use gix_pack::data::entry::Header;
use libdeflater::Decompressor;

use crate::base::kept::Kept;

/// Bytes of blobs that are kept: enough for all tables of the largest known system.
const KEPT: usize = 32 << 20;

/// How many times shorter deflate makes anything, at most: 1,032.
const MOST_FOLD: usize = 1100;

/// Blobs that the states of a comparison share.
#[derive(Default)]
pub(super) struct Blobs {
    /// The packs of the repository.
    packs: OnceLock<Vec<Bundle>>,
    /// By id; nothing is kept without this.
    kept: OnceLock<Kept<git2::Oid, [u8]>>,
}

impl Blobs {
    /// Keeps what is read from now on, as far as there is room.
    pub fn keep(&self) {
        self.kept.get_or_init(|| Kept::new(KEPT));
    }

    /// The content of a blob of the repository in `git_dir`; `read` reads what no pack holds whole.
    ///
    /// # Errors
    ///
    /// Those of `read`.
    pub fn content<E>(
        &self,
        git_dir: &Path,
        id: git2::Oid,
        read: impl FnOnce() -> Result<Vec<u8>, E>,
    ) -> Result<Vec<u8>, E> {
        let kept = self.kept.get();
        if let Some(content) = kept.and_then(|kept| kept.get(&id)) {
            return Ok(content.to_vec());
        }
        let packs = self.packs.get_or_init(|| open_packs(git_dir));
        let content = match from_packs(packs, id) {
            Some(content) => content,
            None => read()?,
        };
        if let Some(kept) = kept {
            kept.keep(id, content.len(), || content[..].into());
        }
        Ok(content)
    }
}

/// The packs of a repository's own objects. One that cannot be opened is left out: libgit2, which then looks for its
/// objects, says what is wrong with it.
fn open_packs(git_dir: &Path) -> Vec<Bundle> {
    let files = std::fs::read_dir(git_dir.join("objects/pack")).into_iter().flatten().flatten();
    let is_index = |path: &Path| path.extension().is_some_and(|extension| extension == "idx");
    let indexes = files.map(|file| file.path()).filter(|path| is_index(path));
    indexes.filter_map(|path| Bundle::at(path, Kind::Sha1).ok()).collect()
}

/// A blob that a pack holds whole. None of one that is loose, a delta, damaged or not there.
fn from_packs(packs: &[Bundle], id: git2::Oid) -> Option<Vec<u8>> {
    let id = ObjectId::try_from(id.as_bytes()).ok()?;
    packs.iter().find_map(|pack| inflated(pack, &id))
}

fn inflated(Bundle { pack, index }: &Bundle, id: &ObjectId) -> Option<Vec<u8>> {
    let offset = index.pack_offset_at_index(index.lookup(id)?);
    let entry = pack.entry(offset).ok().filter(|entry| entry.header == Header::Blob)?;
    // Where its bytes end follows from themselves alone.
    let deflated = pack.entry_slice(entry.data_offset..pack.pack_end() as u64)?;
    let size = usize::try_from(entry.decompressed_size).ok()?;
    // What a damaged pack claims is not allocated.
    let mut content = (size / MOST_FOLD <= deflated.len()).then(|| vec![0; size])?;
    let written = Decompressor::new().zlib_decompress(deflated, &mut content).ok()?;
    (written == size).then_some(content)
}
