//! Counters of a compiler.

/// Counters of a [`Compiler`](crate::nvrtc::Compiler), from its [`stats`](crate::nvrtc::Compiler::stats) or, for the
/// compiler that a device uses, from [`Device::stats`](crate::Device::stats).
///
/// Every request for a compilation or a link ends in one of these ways: found in memory, joined to one in progress,
/// found on disk, done, or failed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CompileStats {
    /// Requests answered from memory.
    pub memory_hits: u64,
    /// Requests that memory could not answer.
    pub memory_misses: u64,
    /// Images evicted from memory.
    pub memory_evicted: u64,
    /// Images in memory now.
    pub memory_images: u64,
    /// Bytes of the images in memory, with their sources.
    pub memory_bytes: u64,
    /// Requests that waited for the same compilation that another thread had begun.
    pub joined: u64,
    /// Requests answered from disk.
    pub disk_hits: u64,
    /// Requests that the disk could not answer.
    pub disk_misses: u64,
    /// Entries on disk that were damaged, of another format, or of another request with the same hash.
    pub disk_refused: u64,
    /// Entries written.
    pub disk_stored: u64,
    /// Entries removed by this process to keep within the size limit.
    pub disk_evicted: u64,
    /// Reads and writes that failed: no space, no permission, or an image larger than the limit.
    pub disk_failures: u64,
    /// Compilations that succeeded.
    pub compiled: u64,
    /// Links that succeeded.
    pub linked: u64,
    /// Compilations and links that failed.
    pub failed: u64,
    /// Compilations that could not be cached, because the files that they read are not known.
    pub uncacheable: u64,
}
