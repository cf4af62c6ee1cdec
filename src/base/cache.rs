//! Results of earlier runs in a folder, by what they were computed from.
//!
//! An [`Origin`] names everything that a result depends on, this program included, and its digest names the
//! file of the result. So a result is never stale: what would make it another has another name. Runs may
//! share a folder, since a file appears whole; one that is damaged is as good as none.
//!
//! Whoever can write to the folder decides what runs find: it is trusted as this program is.

use std::fs::File;
use std::io::{BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, SystemTime};

use serde::Serialize;
use serde::de::DeserializeOwned;
use sha2::{Digest, Sha256};
use tracing::debug;

use super::digest::hex;
use super::error::{Error, Result};
use super::files::{can_create_in, stage, sweep};

/// Bytes that a folder holds, at most, when a run has ended.
const MOST_BYTES: u64 = 4 << 30;

/// A result that was used within this time counts as just used.
const RECENT: Duration = Duration::from_secs(24 * 3600);

/// A folder of results.
#[derive(Debug)]
pub struct Cache {
    folder: PathBuf,
    hits: AtomicUsize,
    written: AtomicUsize,
}

/// What a result is computed from.
#[derive(Clone)]
pub struct Origin(Sha256);

impl Origin {
    /// This program; none where its file cannot be read.
    pub fn of_program() -> Option<Self> {
        Some(Self(program()?.clone()))
    }

    /// Adds a part. Parts do not run into each other.
    pub fn add(&mut self, part: impl AsRef<[u8]>) {
        let part = part.as_ref();
        self.0.update((part.len() as u64).to_le_bytes());
        self.0.update(part);
    }

    /// This with one more part.
    pub fn with(&self, part: impl AsRef<[u8]>) -> Self {
        let mut own = self.clone();
        own.add(part);
        own
    }

    /// A digest that no other origin has, in hexadecimal.
    pub fn digest(&self) -> String {
        hex(&self.0.clone().finalize())
    }
}

/// The digest of this program, so that no other version's results are used: not even those of a build
/// with the same number.
fn program() -> Option<&'static Sha256> {
    static PROGRAM: OnceLock<Option<Sha256>> = OnceLock::new();
    let digest = || {
        // A program that was replaced while it runs is still at this path on Linux.
        let running = File::open("/proc/self/exe");
        let file = running.or_else(|_| File::open(std::env::current_exe()?)).ok()?;
        let mut hash = Sha256::new();
        std::io::copy(&mut BufReader::with_capacity(1 << 18, file), &mut hash).ok()?;
        Some(hash)
    };
    PROGRAM.get_or_init(digest).as_ref()
}

impl Cache {
    /// Opens a folder, which is made where it is not there.
    ///
    /// # Errors
    ///
    /// When it cannot be made or written to.
    pub fn open(folder: &Path) -> Result<Self> {
        let failed = |e: std::io::Error| {
            Error::new(
                format!("cannot use {} as a cache: {}", folder.display(), e.kind()),
                "--cache takes a folder, which is created if it does not exist",
            )
        };
        std::fs::create_dir_all(folder).map_err(failed)?;
        sweep(folder);
        can_create_in(folder).map_err(failed)?;
        // It is needed when the files are listed.
        std::thread::spawn(program);
        Ok(Self { folder: folder.to_owned(), hits: 0.into(), written: 0.into() })
    }

    /// Two levels, as no folder should hold a hundred thousand files.
    fn place(&self, origin: &Origin) -> PathBuf {
        let name = origin.digest();
        self.folder.join(&name[..2]).join(&name[2..])
    }

    /// The result of an origin, where the folder holds it undamaged.
    pub fn get<T: DeserializeOwned>(&self, origin: &Origin) -> Option<T> {
        let place = self.place(origin);
        let mut file = File::open(&place).ok()?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).ok()?;
        let (sum, content) = bytes.split_first_chunk::<4>()?;
        let whole = crc32fast::hash(content) == u32::from_le_bytes(*sum);
        let result = whole.then(|| rmp_serde::from_slice(content).ok()).flatten();
        if result.is_none() {
            debug!(?place, "damaged, so it is computed again");
            return None;
        }
        self.hits.fetch_add(1, Ordering::Relaxed);
        touch(&place, &file);
        result
    }

    /// Keeps a result. One that cannot be written is computed again by the next run.
    pub fn put<T: Serialize>(&self, origin: &Origin, result: &T) {
        let place = self.place(origin);
        match self.try_put(&place, result) {
            Ok(()) => drop(self.written.fetch_add(1, Ordering::Relaxed)),
            Err(why) => debug!(?place, %why, "not kept"),
        }
    }

    fn try_put<T: Serialize>(&self, place: &Path, result: &T) -> std::io::Result<()> {
        let mut bytes = vec![0; 4];
        rmp_serde::encode::write(&mut bytes, result).map_err(std::io::Error::other)?;
        let sum = crc32fast::hash(&bytes[4..]).to_le_bytes();
        bytes[..4].copy_from_slice(&sum);
        place.parent().map_or(Ok(()), std::fs::create_dir_all)?;
        let (mut file, _removed) = stage(&self.folder)?;
        // It is not forced to the disk: what a crash leaves of it has another sum.
        file.write_all(&bytes)?;
        file.persist(place).map(drop).map_err(|e| e.error)
    }

    /// Removes the results that were not used for longest, where there are too many.
    pub fn finish(&self) {
        let (hits, written) =
            (self.hits.load(Ordering::Relaxed), self.written.load(Ordering::Relaxed));
        debug!(hits, written, folder = ?self.folder, "cached");
        if written > 0 {
            trim(&self.folder, MOST_BYTES);
        }
    }
}

/// Marks a file as used.
fn touch(place: &Path, file: &File) {
    let now = SystemTime::now();
    let last = file.metadata().and_then(|m| m.modified()).unwrap_or(now);
    if now.duration_since(last).is_ok_and(|since| since > RECENT) {
        // Where the folder is read-only, what is used longest ago is not known.
        drop(File::options().append(true).open(place).and_then(|file| file.set_modified(now)));
    }
}

/// Removes the oldest results of a folder until it holds `most` bytes.
fn trim(folder: &Path, most: u64) {
    let walk = walkdir::WalkDir::new(folder).min_depth(2).max_depth(2).into_iter();
    let mut files: Vec<(SystemTime, u64, PathBuf)> = Vec::new();
    for item in walk.filter_map(std::result::Result::ok) {
        let Ok(about) = item.metadata() else { continue };
        if about.is_file() {
            let used = about.modified().unwrap_or(SystemTime::UNIX_EPOCH);
            files.push((used, about.len(), item.into_path()));
        }
    }
    let mut bytes: u64 = files.iter().map(|(_, size, _)| size).sum();
    files.sort_unstable();
    for (_, size, path) in files {
        if bytes <= most {
            break;
        }
        // Another run may have been faster.
        drop(std::fs::remove_file(path));
        bytes -= size;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn origin(part: &str) -> Origin {
        Origin(Sha256::new()).with(part)
    }

    #[test]
    fn what_is_kept_is_found_until_it_is_damaged() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::open(folder.path()).unwrap();
        let result = vec![(1.5, "a".to_owned()), (f64::NAN, String::new())];
        let a = origin("a");
        assert!(cache.get::<Vec<(f64, String)>>(&a).is_none());
        cache.put(&a, &result);
        let found: Vec<(f64, String)> = cache.get(&a).unwrap();
        assert_eq!(found[0], result[0]);
        assert!(found[1].0.is_nan());
        assert!(cache.get::<String>(&a).is_none(), "it is of another kind");
        let place = cache.place(&a);
        let mut bytes = std::fs::read(&place).unwrap();
        for cut in [0, 3, bytes.len() - 1] {
            std::fs::write(&place, &bytes[..cut]).unwrap();
            assert!(cache.get::<Vec<(f64, String)>>(&a).is_none(), "{cut} bytes of it");
        }
        bytes[6] ^= 1;
        std::fs::write(&place, bytes).unwrap();
        assert!(cache.get::<Vec<(f64, String)>>(&a).is_none());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left over");
    }

    #[test]
    fn parts_do_not_run_into_each_other() {
        let origin = Origin(Sha256::new());
        assert_ne!(origin.with("ab").with("c").digest(), origin.with("a").with("bc").digest());
        assert_ne!(origin.with("").digest(), origin.digest());
    }

    #[test]
    fn the_results_used_last_stay() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::open(folder.path()).unwrap();
        let now = SystemTime::now();
        for (age, part) in [(3, "a"), (1, "b"), (2, "c")] {
            cache.put(&origin(part), &vec![0_u8; 100]);
            let file = File::options().append(true).open(cache.place(&origin(part))).unwrap();
            file.set_modified(now - age * 2 * RECENT).unwrap();
        }
        // Using one makes it the newest.
        assert!(cache.get::<Vec<u8>>(&origin("a")).is_some());
        let one = std::fs::metadata(cache.place(&origin("a"))).unwrap().len();
        trim(folder.path(), 2 * one);
        let is_there = |part: &str| cache.get::<Vec<u8>>(&origin(part)).is_some();
        assert_eq!(["a", "b", "c"].map(is_there), [true, true, false]);
    }
}
