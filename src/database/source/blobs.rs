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

/// How many times shorter deflate makes bytes, at most: 1,032.
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

    /// The content of a blob of the repository in `git_dir`, which is kept where it `is_kept`; `read` reads what no pack
    /// holds whole.
    ///
    /// # Errors
    ///
    /// Those of `read`.
    pub fn content<E>(
        &self,
        git_dir: &Path,
        id: git2::Oid,
        is_kept: bool,
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
        if let Some(kept) = kept.filter(|_| is_kept) {
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

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::base::random::Random;

    /// Synthetic: a repository with blobs in a pack, of which one differs a little from another.
    struct Packed {
        folder: tempfile::TempDir,
        blobs: Vec<(git2::Oid, Vec<u8>)>,
    }

    impl Packed {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let repo = git2::Repository::init_bare(folder.path()).unwrap();
            let mut random = Random::new(1);
            let noise: Vec<u8> = (0..50_000).map(|_| random.below(256) as u8).collect();
            let like = [&noise[..], b"one more row"].concat();
            let contents = [noise, like, vec![7; 1 << 18], Vec::new()];
            let mut pack = repo.packbuilder().unwrap();
            let blob = |content: Vec<u8>| (repo.blob(&content).unwrap(), content);
            let blobs: Vec<(git2::Oid, Vec<u8>)> = contents.into_iter().map(blob).collect();
            for (id, _) in &blobs {
                pack.insert_object(*id, None).unwrap();
            }
            pack.write(&folder.path().join("objects/pack"), 0).unwrap();
            Self { folder, blobs }
        }

        /// The blobs that a pack holds whole, by their place.
        fn whole(&self) -> Vec<usize> {
            let blobs = Blobs::default();
            let of = |(id, content): &(git2::Oid, Vec<u8>)| {
                let read = blobs.content(self.folder.path(), *id, true, || Err(()));
                read.inspect(|read| assert_eq!(read, content)).is_ok()
            };
            (0..self.blobs.len()).filter(|place| of(&self.blobs[*place])).collect()
        }

        /// The file of the pack with an ending.
        fn file(&self, ending: &str) -> PathBuf {
            let files = std::fs::read_dir(self.folder.path().join("objects/pack")).unwrap();
            let mut packs = files.map(|file| file.unwrap().path());
            packs.find(|path| path.extension().is_some_and(|e| e == ending)).unwrap()
        }
    }

    #[test]
    fn what_a_pack_holds_whole_is_read_from_it() {
        let packed = Packed::new();
        // One of two that are alike is kept as what it differs by.
        let whole = packed.whole();
        assert_eq!(whole.len(), 3, "{whole:?}");
        assert!(whole.contains(&2) && whole.contains(&3));
    }

    #[test]
    fn what_is_damaged_is_left_to_libgit2() {
        let packed = Packed::new();
        let (path, whole) = (packed.file("pack"), packed.whole());
        let bytes = std::fs::read(&path).unwrap();
        let mut random = Random::new(2);
        let mut left = 0;
        for _ in 0..100 {
            let mut damaged = bytes.clone();
            let at = 12 + random.below(bytes.len() - 12);
            damaged[at] ^= 1 << random.below(8);
            std::fs::remove_file(&path).unwrap();
            std::fs::write(&path, damaged).unwrap();
            left += usize::from(packed.whole() != whole);
        }
        assert!(left > 75, "{left}");
        std::fs::remove_file(&path).unwrap();
        std::fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
        assert_ne!(packed.whole(), whole);
    }

    #[test]
    fn a_damaged_index_leads_to_nothing_else() {
        let packed = Packed::new();
        let path = packed.file("idx");
        let bytes = std::fs::read(&path).unwrap();
        let mut random = Random::new(3);
        let replace = |content: &[u8]| {
            std::fs::remove_file(&path).unwrap();
            std::fs::write(&path, content).unwrap();
            packed.whole().len()
        };
        let mut less = 0;
        for _ in 0..400 {
            let mut damaged = bytes.clone();
            damaged[random.below(bytes.len())] ^= 1 << random.below(8);
            less += usize::from(replace(&damaged) < 3);
        }
        assert!(less > 300, "{less}");
        assert_eq!(replace(&bytes[..bytes.len() / 2]), 0);
    }

    #[test]
    fn what_was_read_is_kept_once_that_is_asked_for() {
        let (blobs, id) = (Blobs::default(), git2::Oid::from_bytes(&[3; 20]).unwrap());
        let nowhere = Path::new("no such folder");
        let read = |found: Result<Vec<u8>, ()>| blobs.content(nowhere, id, true, || found);
        assert_eq!((read(Ok(vec![1])), read(Err(()))), (Ok(vec![1]), Err(())));
        blobs.keep();
        assert_eq!((read(Ok(vec![2])), read(Err(()))), (Ok(vec![2]), Ok(vec![2])));
    }
}
