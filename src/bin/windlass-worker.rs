//! The worker program of isolated devices for programs that cannot call `windlass::worker::init()` first in `main`.
//!
//! Started only by a parent process, which names it with `DeviceBuilder::worker_program` or `WINDLASS_WORKER`. It knows
//! the library's own operations; a program's own operations need that program itself as the worker. Built only with the
//! cargo feature `worker-program`.

fn main() -> std::process::ExitCode {
    windlass::worker::init();
    eprintln!("windlass-worker is started by programs that use windlass; by itself it does nothing");
    std::process::ExitCode::from(2)
}
