//! The operating system: the calls that only some systems have, each behind a function that every system has.
//!
//! So the crate compiles for systems that it was never run on; what they lack is said where it is asked for. Two parts
//! stay outside, since they exist on one system only: worker processes (`engines/worker`, `device/worker`, and
//! `core/segment.rs`; Linux), and the
//! guard of the compiler's destructors (`loader/destructors.rs`, Linux with the GNU linker). `.ci/run` checks that no other
//! file calls the system.
//!
//! | file | content |
//! |---|---|
//! | `files` | files of other users, private files, pipes, files that take the place of others |
//! | `shared_library` | the dynamic linker |
//! | `process` | forks, exits, privileges |
//! | `sockets` | limits of reads, waiting for several sockets |
//! | `memory` | pages that fault when they are touched |
//! | `thread` | how punctual sleeps are, the clock, large pages |

#[cfg_attr(not(any(feature = "nvrtc", feature = "dnn")), allow(dead_code, reason = "the caches on disk use it"))]
pub(crate) mod files;
pub(crate) mod memory;
pub(crate) mod process;
#[cfg(feature = "cuda")]
pub(crate) mod shared_library;
#[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "a library may be its only user"))]
pub(crate) mod sockets;
pub(crate) mod thread;
