//! Produces one image: from the disk cache, or with the compiler or linker.

use super::job::{Job, Request};
use super::key::Key;
use super::memory::Memory;
use super::{CompileStats, Image};
use crate::core::error::Result;
use crate::core::sync::{AtomicU64, Ordering};
use crate::libraries::disk_cache::{Answer, Disk};

/// Produces images and caches them.
pub(super) struct Maker {
    pub(super) memory: Memory,
    pub(super) disk: Option<Disk>,
    memory_hits: AtomicU64,
    memory_evicted: AtomicU64,
    compiled: AtomicU64,
    linked: AtomicU64,
    failed: AtomicU64,
    uncacheable: AtomicU64,
}

fn count(counter: &AtomicU64, by: u64) {
    counter.fetch_add(by, Ordering::Relaxed);
}

impl Maker {
    pub(super) fn new(memory: Memory, disk: Option<Disk>) -> Self {
        let zero = || AtomicU64::new(0);
        Maker {
            memory,
            disk,
            memory_hits: zero(),
            memory_evicted: zero(),
            compiled: zero(),
            linked: zero(),
            failed: zero(),
            uncacheable: zero(),
        }
    }

    /// Looks in the memory cache.
    pub(super) fn in_memory(&self, key: &Key, request: &Request) -> Option<Image> {
        let image = self.memory.get(key, request)?;
        count(&self.memory_hits, 1);
        Some(image)
    }

    /// Runs on a helper thread, without a lock. Without a key the caches are not used.
    pub(super) fn make(&self, job: &Job, key: Option<&Key>) -> Result<Image> {
        let Some(key) = key else {
            let answer = self.work(job)?;
            count(&self.uncacheable, 1);
            return Ok(job.image(answer));
        };
        // Another compilation may have finished since the caller looked.
        if let Some(image) = self.in_memory(key, &job.request) {
            return Ok(image);
        }
        let on_disk = match &self.disk {
            Some(disk) => Some((disk, job.material()?)),
            None => None,
        };
        let image = match on_disk.as_ref().and_then(|(disk, material)| disk.get(material, |answer| job.takes(answer))) {
            Some(answer) => job.image(answer),
            None => {
                let answer = self.work(job)?;
                if !job.is_as_it_was() {
                    count(&self.uncacheable, 1);
                    return Ok(job.image(answer));
                }
                if let Some((disk, material)) = &on_disk {
                    disk.put(material, &answer);
                }
                job.image(answer)
            }
        };
        count(&self.memory_evicted, self.memory.put(key.clone(), &job.request, &image));
        Ok(image)
    }

    fn work(&self, job: &Job) -> Result<Answer> {
        let answer = job.run().inspect_err(|_| count(&self.failed, 1))?;
        let done = match job.request {
            Request::Compile(_) => &self.compiled,
            Request::Link(_) => &self.linked,
        };
        count(done, 1);
        Ok(answer)
    }

    pub(super) fn fill(&self, stats: &mut CompileStats) {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        stats.memory_hits = read(&self.memory_hits);
        stats.memory_evicted = read(&self.memory_evicted);
        (stats.memory_images, stats.memory_bytes) = self.memory.held();
        stats.compiled = read(&self.compiled);
        stats.linked = read(&self.linked);
        stats.failed = read(&self.failed);
        stats.uncacheable = read(&self.uncacheable);
        if let Some(disk) = &self.disk {
            stats.disk_hits = read(&disk.hits);
            stats.disk_misses = read(&disk.misses);
            stats.disk_refused = read(&disk.refused);
            stats.disk_stored = read(&disk.stored);
            stats.disk_evicted = read(&disk.evicted);
            stats.disk_failures = read(&disk.failures);
        }
    }
}
