//! The worker program of isolated devices for programs that cannot call `windlass::worker::init()` first in `main`.
//!
//! Started by a parent only, which names it by `DeviceBuilder::worker_program` or `WINDLASS_WORKER`. It knows the
//! library's own operations; operations of a program's own need that program itself as the worker. Built with the cargo
//! feature `worker-program` only.

fn main() -> std::process::ExitCode {
    windlass::worker::init();
    eprintln!("windlass-worker is started by programs that use windlass; by itself it does nothing");
    std::process::ExitCode::from(2)
}
