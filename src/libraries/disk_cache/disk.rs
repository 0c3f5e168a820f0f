//! Images and plans on disk, shared by any number of processes.
//!
//! An entry is written to a file with a name of its own, which is then renamed into place. So a reader sees a whole
//! entry or none; of two writers the later one wins, with the same contents. No file is locked. Each use of an entry
//! updates its modification time. When the folder exceeds its limit, the least recently used entries are removed. A
//! process counts the bytes that it writes, and measures the folder from time to time, so the limit can be exceeded by
//! what other processes wrote in between.
//!
//! Nothing here makes a compilation or a plan fail: a folder that cannot be read or written acts as an empty cache.

use super::entry::{self, Answer, Refused};
use crate::core::clock::Timing;
use crate::core::sync::{AtomicU64, Ordering};
use crate::system::files as system;
use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// The file extension of an entry.
const ENTRY: &str = "wlk";
/// The file extension of an entry that is being written.
const TEMPORARY: &str = "tmp";
/// The extension of a folder that was found in the place of an entry and was renamed.
const ASIDE: &str = "aside";
/// The folder is measured again after this number of entries.
const COUNT_EVERY: u64 = 16;

/// A folder of entries.
pub(in crate::libraries) struct Disk {
    folder: PathBuf,
    limit: u64,
    timing: &'static Timing,
    /// Bytes in the folder, as far as this process knows.
    bytes: AtomicU64,
    puts: AtomicU64,
    pub(in crate::libraries) hits: AtomicU64,
    pub(in crate::libraries) misses: AtomicU64,
    pub(in crate::libraries) refused: AtomicU64,
    pub(in crate::libraries) stored: AtomicU64,
    pub(in crate::libraries) evicted: AtomicU64,
    pub(in crate::libraries) failures: AtomicU64,
}

fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

impl Disk {
    /// Uses the folder `name` of `folder`, with at most `limit` bytes. Does not access it yet.
    pub(in crate::libraries) fn new(folder: &Path, name: &str, limit: u64) -> Self {
        Disk::by(folder, name, limit, Timing::standard())
    }

    fn by(folder: &Path, name: &str, limit: u64, timing: &'static Timing) -> Self {
        let zero = || AtomicU64::new(0);
        Disk {
            folder: folder.join(name),
            limit,
            timing,
            bytes: zero(),
            puts: zero(),
            hits: zero(),
            misses: zero(),
            refused: zero(),
            stored: zero(),
            evicted: zero(),
            failures: zero(),
        }
    }

    /// The folder of the entries.
    pub(in crate::libraries) fn folder(&self) -> &Path {
        &self.folder
    }

    fn path(&self, material: &[u8]) -> PathBuf {
        self.folder.join(format!("{}.{ENTRY}", blake3::hash(material).to_hex()))
    }

    /// The answer for `material`, if there is one that is undamaged and that `takes` accepts.
    pub(in crate::libraries) fn get(&self, material: &[u8], takes: impl Fn(&Answer) -> bool) -> Option<Answer> {
        match self.look(material) {
            Ok(Ok(answer)) if takes(&answer) => {
                count(&self.hits);
                return Some(answer);
            }
            Ok(Ok(_) | Err(Refused::Damaged | Refused::Foreign)) => count(&self.refused),
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(_) => count(&self.failures),
        }
        count(&self.misses);
        None
    }

    fn look(&self, material: &[u8]) -> io::Result<Result<Answer, Refused>> {
        let mut options = File::options();
        options.read(true);
        // Without this flag, opening a pipe would block.
        system::do_not_block(&mut options);
        let mut file = options.open(self.path(material))?;
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            return Ok(Err(Refused::Damaged));
        }
        // Checks the file too: the folder may have belonged to another user when the file was opened.
        trusted(&std::fs::metadata(&self.folder)?)?;
        trusted(&metadata)?;
        let length = metadata.len();
        if length > self.limit {
            return Ok(Err(Refused::Damaged));
        }
        let mut contents = Vec::with_capacity(usize::try_from(length).unwrap_or(0).saturating_add(1));
        file.read_to_end(&mut contents)?;
        let answer = entry::read(&contents, material);
        if answer.is_ok() {
            // This fails in a read-only folder; the entry then keeps its age.
            let _ = file.set_modified(self.timing.clock.today());
        }
        Ok(answer)
    }

    /// Keeps an answer.
    pub(in crate::libraries) fn put(&self, material: &[u8], answer: &Answer) {
        let contents = entry::write(material, answer);
        let length = contents.len() as u64;
        if length > self.limit || self.store(&self.path(material), &contents).is_err() {
            count(&self.failures);
            return;
        }
        count(&self.stored);
        let known = self.bytes.fetch_add(length, Ordering::Relaxed).saturating_add(length);
        if self.puts.fetch_add(1, Ordering::Relaxed).is_multiple_of(COUNT_EVERY) || known > self.limit {
            // If this process cannot list the folder, another process enforces the limit.
            let _ = self.bound();
        }
    }

    /// Removes what is kept for `material`. If another process has removed it, or the folder cannot be written, nothing happens.
    pub(in crate::libraries) fn remove(&self, material: &[u8]) {
        let _ = std::fs::remove_file(self.path(material));
    }

    fn store(&self, path: &Path, contents: &[u8]) -> io::Result<()> {
        make_folder(&self.folder)?;
        trusted(&std::fs::metadata(&self.folder)?)?;
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let now = self.timing.clock.today();
        let age = now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_nanos();
        // The name contains the time too: process numbers repeat, in another container even at once.
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let temporary = self.folder.join(format!("{}-{number}-{age}.{TEMPORARY}", std::process::id()));
        let replace = || match std::fs::rename(&temporary, path) {
            // A file cannot replace a folder: an empty folder is removed, any other is renamed.
            Err(_) if path.is_dir() => {
                std::fs::remove_dir(path).or_else(|_| std::fs::rename(path, temporary.with_extension(ASIDE)))?;
                std::fs::rename(&temporary, path)
            }
            answer => answer,
        };
        let written = write_new(&temporary, contents, now).and_then(|()| replace());
        if written.is_err() {
            let _ = std::fs::remove_file(&temporary);
        }
        written
    }

    /// Measures the folder, and removes the least recently used entries until it is within its limit again.
    fn bound(&self) -> io::Result<()> {
        let (mut entries, mut total, now) = (Vec::new(), 0u64, self.timing.clock.today());
        let abandoned = self.timing.files.abandoned;
        for item in std::fs::read_dir(&self.folder)? {
            let Ok(item) = item else { continue };
            let Ok(metadata) = item.metadata() else { continue };
            let path = item.path();
            let used = metadata.modified().map_or(SystemTime::UNIX_EPOCH, |used| believed(used, now, abandoned));
            match path.extension().and_then(|e| e.to_str()) {
                Some(ENTRY) => {
                    total = total.saturating_add(metadata.len());
                    entries.push((used, metadata.len(), path));
                }
                Some(TEMPORARY) if now.duration_since(used).is_ok_and(|age| age > abandoned) => {
                    let _ = std::fs::remove_file(&path);
                }
                _ => {}
            }
        }
        if total > self.limit {
            // Frees an eighth more than necessary, so that the next entries fit.
            let enough = self.limit - self.limit / 8;
            entries.sort();
            for (_, length, path) in entries {
                if total <= enough {
                    break;
                }
                match std::fs::remove_file(&path) {
                    Ok(()) => count(&self.evicted),
                    // Another process has removed it first.
                    Err(error) if error.kind() == ErrorKind::NotFound => {}
                    Err(_) => continue,
                }
                total = total.saturating_sub(length);
            }
        }
        self.bytes.store(total, Ordering::Relaxed);
        Ok(())
    }
}

/// The last use of a file, from its modification time. Other processes write while `now` passes. A time further in the
/// future comes from a clock that was set back since; such a file counts as the oldest.
fn believed(used: SystemTime, now: SystemTime, abandoned: Duration) -> SystemTime {
    let ahead = used.duration_since(now).unwrap_or_default();
    if ahead > abandoned { SystemTime::UNIX_EPOCH } else { used }
}

fn write_new(path: &Path, contents: &[u8], now: SystemTime) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    system::private_file(&mut options);
    let mut file = options.open(path)?;
    file.write_all(contents)?;
    // Uses the same clock as for later uses: that of the kernel is coarser.
    let _ = file.set_modified(now);
    Ok(())
}

/// Accessible only to its owner, because its contents are run on the device.
fn make_folder(folder: &Path) -> io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    system::private_folder(&mut builder);
    builder.create(folder)
}

/// Refuses files that other users made or can write: they may contain anything, and their code is run.
fn trusted(found: &Metadata) -> io::Result<()> {
    system::only_ours(found)
}

#[cfg(test)]
#[cfg(feature = "nvrtc")]
#[path = "disk_tests.rs"]
mod tests;
