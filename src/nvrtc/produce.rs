//! The making of one image: from disk, or by compiling.

use super::cache::{Answer, Disk, Memory};
use super::compiler::Identity;
use super::files::Files;
use super::key::{Key, material};
use super::{Arch, CompileStats, Emit, Image, ImageKind, Program, backend};
use crate::Result;
use crate::sync::{AtomicU64, Ordering};

/// Makes images and keeps them.
pub(super) struct Maker {
    pub(super) memory: Memory,
    pub(super) disk: Option<Disk>,
    memory_evicted: AtomicU64,
    compiled: AtomicU64,
    failed: AtomicU64,
    uncacheable: AtomicU64,
}

impl Maker {
    pub(super) fn new(memory: Memory, disk: Option<Disk>) -> Self {
        let zero = || AtomicU64::new(0);
        Maker { memory, disk, memory_evicted: zero(), compiled: zero(), failed: zero(), uncacheable: zero() }
    }

    /// On a helper thread, with no lock held. Without a key nothing is looked up or kept.
    pub(super) fn make(
        &self,
        program: &Program,
        identity: &Identity,
        arch: Arch,
        files: &Files,
        key: Option<&Key>,
    ) -> Result<Image> {
        let prepared = program.prepared()?;
        // Between the caller's look and this one another flight may have landed.
        if let Some(image) = key.and_then(|key| self.memory.get(key, program)) {
            return Ok(image);
        }
        let on_disk = match (key, &self.disk) {
            (Some(_), Some(disk)) => Some((disk, material(&identity.mark, program, prepared, arch, files))),
            _ => None,
        };
        let kept = on_disk.as_ref().and_then(|(disk, material)| disk.get(material));
        let image = match kept {
            Some(answer) => image(program, arch, answer),
            None => {
                let answer = match backend::compile(program, prepared, arch) {
                    Ok(answer) => answer,
                    Err(error) => {
                        self.failed.fetch_add(1, Ordering::Relaxed);
                        return Err(error);
                    }
                };
                self.compiled.fetch_add(1, Ordering::Relaxed);
                // A header that changed while the compiler read it: nobody can say under which state to keep this.
                let is_keepable = key.is_some() && (*files == Files::None || Files::of(program, prepared) == *files);
                if !is_keepable {
                    self.uncacheable.fetch_add(1, Ordering::Relaxed);
                    return Ok(image(program, arch, answer));
                }
                if let Some((disk, material)) = &on_disk {
                    disk.put(material, &answer);
                }
                image(program, arch, answer)
            }
        };
        if let Some(key) = key {
            let evicted = self.memory.put(key.clone(), program, &image);
            self.memory_evicted.fetch_add(evicted, Ordering::Relaxed);
        }
        Ok(image)
    }

    pub(super) fn fill(&self, stats: &mut CompileStats) {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        stats.memory_evicted = read(&self.memory_evicted);
        (stats.memory_images, stats.memory_bytes) = self.memory.held();
        stats.compiled = read(&self.compiled);
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

fn image(program: &Program, arch: Arch, answer: Answer) -> Image {
    let kind = match program.emits() {
        Emit::Ptx => ImageKind::Ptx,
        Emit::Cubin => ImageKind::Cubin,
        Emit::LtoIr => ImageKind::LtoIr,
    };
    Image::compiled(kind, Some(arch.to_real()), answer.bytes, answer.names, answer.log, Some(program.clone()))
}
