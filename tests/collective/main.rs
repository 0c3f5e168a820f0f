//! Collectives: on host devices of one process, on the GPUs of this machine, and between processes.
//!
//! The operands are made so that each result is exact in any order of the ranks (`operands.rs`), so every type is compared bit
//! for bit. `WINDLASS_TEST_DEVICE=cuda:0` runs the same on all GPUs that the process sees.
#![cfg(all(feature = "host", feature = "collective"))]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]
#![allow(clippy::result_large_err, reason = "what a submission answers, passed on by closures")]

mod checks;
mod faults;
mod hostile;
mod hosts;
#[cfg(target_os = "linux")]
mod isolated;
mod killed;
mod kills;
mod local;
mod middle;
mod model;
#[cfg(unix)]
mod network;
mod operands;
mod placement;
mod programs;
mod ptx;
mod rebuilt;
mod remote;
mod sealed;
#[path = "../common/shift.rs"]
#[allow(dead_code, unreachable_pub, reason = "a part of it")]
mod shift;
#[cfg(all(feature = "cuda", target_os = "linux"))]
#[path = "../standin/driver/mod.rs"]
mod standin;
#[cfg(all(feature = "cuda", target_os = "linux"))]
mod standin_nccl;
mod tensors;
mod timing;

use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;
use windlass::{Device, HostPool};

/// SplitMix64: short, and the same everywhere.
pub(crate) struct Rng(u64);

impl Rng {
    pub(crate) fn new(seed: u64) -> Self {
        Rng(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }

    /// A number below `n`.
    pub(crate) fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }
}

pub(crate) const LONG: Duration = Duration::from_secs(60);

/// After so long a test that does not come to its end has failed.
pub(crate) const END: Duration = Duration::from_secs(240);

/// Runs `f` in so many threads. One that waits for ever is left behind, so that the test fails rather than hangs.
#[track_caller]
pub(crate) fn side_by_side<R: Send + 'static>(
    threads: usize,
    f: impl Fn(usize) -> R + Send + Sync + 'static,
) -> Vec<R> {
    let (f, (alive, ended)) = (Arc::new(f), channel::<()>());
    let start = |index| {
        let (f, alive) = (f.clone(), alive.clone());
        std::thread::spawn(move || {
            let _alive = alive;
            f(index)
        })
    };
    let threads: Vec<_> = (0..threads).map(start).collect();
    drop(alive);
    let all = ended.recv_timeout(END);
    assert_eq!(all, Err(RecvTimeoutError::Disconnected), "a thread of the test does not come to its end");
    threads.into_iter().map(|thread| thread.join().unwrap()).collect()
}

pub(crate) fn host(threads: usize) -> Device {
    Device::builder().host().host_pool(HostPool::Threads(threads)).open().unwrap()
}

pub(crate) fn hosts(ranks: usize) -> Vec<Device> {
    (0..ranks).map(|rank| host(1 + rank % 2)).collect()
}

/// The GPUs under test: none, unless `WINDLASS_TEST_DEVICE` asks for them.
pub(crate) fn gpus() -> Vec<Device> {
    let wanted = std::env::var("WINDLASS_TEST_DEVICE").is_ok_and(|name| name.starts_with("cuda"));
    if !wanted {
        return Vec::new();
    }
    (0..16).map_while(open_gpu).collect()
}

#[cfg(feature = "cuda")]
pub(crate) fn open_gpu(ordinal: usize) -> Option<Device> {
    match Device::cuda(ordinal) {
        Ok(device) => Some(device),
        Err(error) => {
            println!("cuda:{ordinal}: {error}");
            None
        }
    }
}

#[cfg(not(feature = "cuda"))]
pub(crate) fn open_gpu(_: usize) -> Option<Device> {
    None
}
