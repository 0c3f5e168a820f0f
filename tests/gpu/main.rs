//! What only a real GPU can show. Without one (`WINDLASS_TEST_DEVICE=cuda:0`) each test says that it was skipped.
#![cfg(all(feature = "host", feature = "blas", target_os = "linux"))]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/faulty.rs"]
mod faulty;

mod context_reset;
mod device_fault;
mod isolated_faults;
