//! Starts a worker and does the handshake with it.

use super::process::Process;
use crate::core::clock::{Clock, Timing, Until};
use crate::core::device_info::DeviceInfo;
use crate::core::error::{Error, Result};
use crate::core::segment::Segment;
use crate::core::sync::Arc;
use crate::engines::config::WorkerSettings;
use crate::engines::op::OpCode;
use crate::engines::worker::shared::layout;
use crate::engines::worker::shared::message;
use crate::engines::worker::shared::{DeviceOrder, Hello, MAGIC, Message, PROTOCOL};
use crate::engines::worker::shared::{inherited, program};
use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// A worker with its device open.
pub(crate) struct Started {
    pub(crate) process: Process,
    pub(crate) socket: UnixStream,
    pub(crate) control: Segment,
    pub(crate) bulk: Segment,
    pub(crate) bell: Arc<OwnedFd>,
    pub(crate) code: OpCode,
    pub(crate) info: DeviceInfo,
    pub(crate) limit: u64,
    pub(crate) label: String,
}

/// The program to start as the worker.
struct Program {
    path: PathBuf,
    /// It is this same executable.
    same: bool,
}

const HELP: &str = "call `windlass::worker::init()` first in `main`, or name the program `windlass-worker` with \
                    `DeviceBuilder::worker_program` or the environment variable WINDLASS_WORKER";

fn missing(tried: Vec<String>) -> Error {
    Error::LibraryMissing { library: "the worker program".into(), tried, help: HELP.into() }
}

/// `set`: by the device's builder. `named`: by the environment, which is ignored if the process is `privileged`.
fn choose(set: Option<&Path>, named: Option<OsString>, privileged: bool) -> Result<Program> {
    if let Some(path) = set {
        return Ok(Program { path: path.into(), same: false });
    }
    let named = named.filter(|path| !path.is_empty());
    let ignored = privileged && named.is_some();
    if let Some(path) = named.filter(|_| !privileged) {
        return Ok(Program { path: path.into(), same: false });
    }
    if program::is_prepared() {
        // The file that this process runs, even if its path names another file by now.
        return Ok(Program { path: "/proc/self/exe".into(), same: true });
    }
    Err(missing(vec![
        "this executable: `windlass::worker::init()` was not called in it".into(),
        if ignored {
            "WINDLASS_WORKER: ignored, because this process runs with elevated privileges".into()
        } else {
            "WINDLASS_WORKER: not set".into()
        },
    ]))
}

/// Starts a worker and waits until its device is open.
pub(crate) fn start(settings: &WorkerSettings, device: DeviceOrder, timing: &Timing) -> Result<Started> {
    let program = choose(settings.program.as_deref(), std::env::var_os("WINDLASS_WORKER"), program::is_privileged())?;
    let failed =
        |what: &str, e: std::io::Error| Error::library(format!("the worker could not be started: {what}: {e}"));
    let same = if program.same { Some(program::identity()?) } else { None };
    let bulk_bytes = bulk_bytes(device.staging_limit, file_limit())?;
    let (control, control_file) = Segment::create("windlass-control", layout::CONTROL)?;
    let (bulk, bulk_file) = Segment::create("windlass-bulk", bulk_bytes)?;
    let bell = rustix::event::eventfd(0, rustix::event::EventfdFlags::CLOEXEC | rustix::event::EventfdFlags::NONBLOCK)
        .map_err(|e| failed("eventfd", e.into()))?;
    let (mut socket, theirs) = UnixStream::pair().map_err(|e| failed("socketpair", e))?;
    let name = program::name_of(&theirs)?;
    let inherited = inherited::list();
    let uuid = device.uuid;
    let mut process = spawn(&program.path, name, theirs)?;
    let hello = Hello {
        magic: MAGIC,
        protocol: PROTOCOL,
        version: env!("CARGO_PKG_VERSION").into(),
        same,
        parent: std::process::id(),
        namespace: program::namespace(),
        inherited,
        control: layout::CONTROL as u64,
        bulk: bulk_bytes as u64,
        oom_score: settings.oom_score,
        device,
    };
    let greeted = greet(&mut socket, &hello, &[control_file, bulk_file], settings.patience);
    let greeted = greeted.and_then(|greeted| match uuid {
        // Checked before anything is built on it.
        Some(_) if greeted.0.uuid != uuid => Err(Some(other_gpu(uuid, &greeted.0))),
        _ => Ok(greeted),
    });
    match greeted {
        Ok((info, limit, label)) => {
            let code = if program.same { OpCode::Offset } else { OpCode::Name };
            Ok(Started { process, socket, control, bulk, bell: Arc::new(bell), code, info, limit, label })
        }
        Err(error) => {
            drop(socket);
            process.kill();
            let ended = process.wait(timing.watch.failed_start, timing);
            let how = ended.map_or_else(|| "killed, but not reaped yet".into(), |ended| ended.to_string());
            if ended.is_none() {
                // A kill can hang in the kernel, so a thread waits for the end: no zombie stays.
                let _ = std::thread::Builder::new().name("windlass reaper".into()).spawn(move || process.wait_long());
            }
            Err(error.unwrap_or_else(|| {
                Error::library(format!("`{}` ended before it opened a device ({how}); {HELP}", program.path.display()))
            }))
        }
    }
}

/// The size of the bulk segment: the staging limit (which reserves only addresses), or less if the system allows only
/// smaller files.
fn bulk_bytes(staging_limit: u64, file_limit: u64) -> Result<usize> {
    const MOST: u64 = if usize::BITS < 64 { 1 << 29 } else { 1 << 40 };
    const LEAST: u64 = 1 << 20;
    let control = layout::CONTROL as u64;
    if file_limit < LEAST.max(control) {
        return Err(Error::unsupported(format!(
            "RLIMIT_FSIZE (`ulimit -f`) is {file_limit} bytes, and also limits the memory shared with a worker: \
             at least {} bytes are needed, and as many as `staging_limit` to use all of it",
            LEAST.max(control)
        )));
    }
    Ok(staging_limit.clamp(LEAST, MOST).next_multiple_of(4096).min(file_limit / 4096 * 4096) as usize)
}

/// The size that a file of this process may have: the system ends a process that makes a larger one.
fn file_limit() -> u64 {
    rustix::process::getrlimit(rustix::process::Resource::Fsize).current.unwrap_or(u64::MAX)
}

fn spawn(path: &Path, name: OsString, socket: UnixStream) -> Result<Process> {
    // The worker's standard input is its end of the socket. Nothing else is inherited on purpose (see `inherited.rs`),
    // so the process can be started without a fork that copies all page tables. It gets a process group of its own, so
    // that an interrupt at the terminal reaches only the parent, which decides what to do.
    let mut command = Command::new(path);
    command.env(program::VARIABLE, name).stdin(Stdio::from(OwnedFd::from(socket))).process_group(0);
    if path == Path::new("/proc/self/exe") {
        command.arg0("windlass-worker");
    }
    match command.spawn() {
        Ok(child) => Ok(Process::new(&child)),
        Err(e) if is_want(&e) => {
            Err(Error::library(format!("the worker could not be started: {}: {e}", path.display())))
        }
        Err(e) => Err(missing(vec![format!("{}: {e}", path.display())])),
    }
}

/// The system lacks resources for another process now: the error says nothing about the program.
fn is_want(e: &std::io::Error) -> bool {
    matches!(e.raw_os_error(), Some(libc::EAGAIN | libc::ENOMEM | libc::EMFILE | libc::ENFILE))
}

type Greeted = (DeviceInfo, u64, String);

/// Sends the hello and waits for the answer. The error `None`: the program ended, or sent what no worker sends.
fn greet(
    socket: &mut UnixStream,
    hello: &Hello,
    files: &[OwnedFd; 2],
    patience: Duration,
) -> Result<Greeted, Option<Error>> {
    // The socket's timeouts use the kernel's clock, so this does too.
    let (start, end) = (Clock::SYSTEM.start(), Clock::SYSTEM.after(patience));
    let _ = socket.set_write_timeout(Some(patience));
    let late = || {
        let error = Error::Timeout { waited: patience, site: crate::core::error::Site::none() };
        error.in_op("the start of a worker that opens its device (`worker_patience`)", "worker")
    };
    let answer = message::send(socket, hello)
        .and_then(|()| message::send_files(socket, files))
        .and_then(|()| message::receive::<Message>(&mut Until { socket, end }));
    let _ = socket.set_write_timeout(None);
    match answer {
        Ok(Some(Message::Ready { magic: MAGIC, protocol: PROTOCOL, version, info, limit, label })) => {
            if version == env!("CARGO_PKG_VERSION") {
                Ok((info, limit, label))
            } else {
                Err(Some(other_version(&version, PROTOCOL)))
            }
        }
        Ok(Some(Message::Ready { version, protocol, .. })) => Err(Some(other_version(&version, protocol))),
        Ok(Some(Message::Refused(error))) => Err(Some(error)),
        Ok(Some(_) | None) => Err(None),
        Err(_) if start.elapsed() >= patience => Err(Some(late())),
        Err(_) => Err(None),
    }
}

/// The worker opened another GPU than it was told to.
fn other_gpu(uuid: Option<[u8; 16]>, info: &DeviceInfo) -> Error {
    let was = DeviceInfo { uuid, ..info.clone() }.uuid_text();
    Error::library(format!("the new worker opened GPU {:?} instead of {was:?}", info.uuid_text()))
}

/// The worker program is of another version.
pub(crate) fn other_version(version: &str, protocol: u32) -> Error {
    Error::unsupported(format!(
        "the worker program was built from windlass {version} (protocol {protocol}), but this program from {} \
         (protocol {PROTOCOL}): build both from the same version",
        env!("CARGO_PKG_VERSION")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hello(version: &str) -> Hello {
        let device = DeviceOrder {
            ordinal: None,
            uuid: None,
            label: None,
            threads: Some(1),
            slots: 1,
            memory_limit: None,
            staging_limit: 1 << 20,
            test: false,
            beat: 100,
        };
        Hello {
            magic: MAGIC,
            protocol: PROTOCOL,
            version: version.into(),
            same: None,
            parent: std::process::id(),
            namespace: None,
            inherited: Vec::new(),
            control: 4096,
            bulk: 4096,
            oom_score: 0,
            device,
        }
    }

    fn files() -> [OwnedFd; 2] {
        [(); 2].map(|()| Segment::create("windlass-test", 4096).unwrap().1)
    }

    /// The parent's result for a program that answers with these messages.
    fn greeted(answers: Vec<Message>) -> Result<Greeted, Option<Error>> {
        let (mut ours, mut theirs) = UnixStream::pair().unwrap();
        let other = std::thread::spawn(move || {
            let hello = message::receive::<Hello>(&mut theirs).unwrap();
            message::receive_files(&theirs).unwrap();
            answers.iter().for_each(|answer| message::send(&mut theirs, answer).unwrap());
            hello.is_some()
        });
        let greeted = greet(&mut ours, &hello("1.2.3"), &files(), Duration::from_secs(60));
        assert!(other.join().unwrap());
        greeted
    }

    fn info() -> DeviceInfo {
        DeviceInfo {
            kind: crate::core::device_info::DeviceKind::Host,
            name: "a processor".into(),
            compute_capability: None,
            total_memory: 1 << 30,
            uuid: None,
            pci: None,
            processors: 1,
            driver_version: None,
            passed_over: Vec::new(),
            shared_by_mps: false,
        }
    }

    fn ready(version: &str, protocol: u32) -> Message {
        let info = info();
        let (version, label) = (version.into(), "host:0".into());
        Message::Ready { magic: MAGIC, protocol, version, info, limit: 7, label }
    }

    #[test]
    fn a_worker_of_another_version_is_refused() {
        let ours = env!("CARGO_PKG_VERSION");
        assert_eq!(greeted(vec![ready(ours, PROTOCOL)]).unwrap().1, 7);
        for (version, protocol) in [("99.0.0", PROTOCOL), (ours, PROTOCOL + 1)] {
            let error = greeted(vec![ready(version, protocol)]).unwrap_err().unwrap();
            assert!(matches!(error, Error::Unsupported { .. }) && error.to_string().contains(version), "{error}");
        }
        let refusal = Error::invalid("slots", "0");
        assert_eq!(greeted(vec![Message::Refused(refusal.clone())]).unwrap_err(), Some(refusal));
        assert!(greeted(vec![]).unwrap_err().is_none(), "it ended");
    }

    #[test]
    fn want_of_room_for_a_process_is_no_missing_program() {
        let error = |code| is_want(&std::io::Error::from_raw_os_error(code));
        assert!([libc::EAGAIN, libc::ENOMEM, libc::EMFILE, libc::ENFILE].into_iter().all(error));
        assert!(![libc::ENOENT, libc::EACCES, libc::ENOEXEC, libc::EISDIR].into_iter().any(error));
    }

    #[test]
    fn a_program_named_by_the_environment_is_not_run_with_rights_that_its_user_has_not() {
        let named = || Some(OsString::from("/somewhere/worker"));
        assert_eq!(choose(None, named(), false).unwrap().path, Path::new("/somewhere/worker"));
        let Err(Error::LibraryMissing { tried, .. }) = choose(None, named(), true) else { panic!("it is run") };
        assert!(tried.iter().any(|tried| tried.contains("ignored")), "{tried:?}");
        let mine = Path::new("/mine");
        assert_eq!(choose(Some(mine), named(), true).unwrap().path, mine);
    }

    #[test]
    fn the_bulk_segment_is_as_large_as_the_staging_limit_in_whole_pages() {
        let cases = [(0, 1 << 20), ((1 << 20) + 1, (1 << 20) + 4096), (1 << 28, 1 << 28)];
        assert!(cases.into_iter().all(|(limit, bytes)| bulk_bytes(limit, u64::MAX) == Ok(bytes)));
        assert!(bulk_bytes(u64::MAX, u64::MAX).unwrap() >= 1 << 29);
        assert_eq!(bulk_bytes(1 << 32, (1 << 28) + 5), Ok(1 << 28));
        let error = bulk_bytes(1 << 32, 70_000).unwrap_err().to_string();
        assert!(error.contains("70000") && error.contains("RLIMIT_FSIZE"), "{error}");
    }

    #[test]
    fn a_worker_that_does_not_answer_is_told_by_what_it_was_to_do() {
        let (mut ours, theirs) = UnixStream::pair().unwrap();
        let error = greet(&mut ours, &hello("1.2.3"), &files(), Duration::from_millis(50)).map(drop);
        let error = error.unwrap_err().unwrap();
        assert!(matches!(error, Error::Timeout { .. }) && error.to_string().contains("worker_patience"), "{error}");
        drop(theirs);
    }

    /// A profiler's signals interrupt a wait again and again; its limit is the same.
    #[test]
    fn signals_do_not_put_off_the_end_of_the_patience() {
        extern "C" fn nothing(_: libc::c_int) {}
        // SAFETY: the handler does nothing; this is the only user of the signal in this program.
        unsafe { libc::signal(libc::SIGURG, nothing as extern "C" fn(libc::c_int) as libc::sighandler_t) };
        let (mut ours, _theirs) = UnixStream::pair().unwrap();
        // SAFETY: no arguments.
        let thread = unsafe { libc::pthread_self() } as usize;
        let (answered, is_answered) = std::sync::mpsc::channel::<()>();
        let signals = std::thread::spawn(move || {
            (0..2_000).all(|_| {
                // SAFETY: the thread waits for this one below.
                unsafe { libc::pthread_kill(thread as libc::pthread_t, libc::SIGURG) };
                is_answered.recv_timeout(Duration::from_millis(5)).is_err()
            })
        });
        let error = greet(&mut ours, &hello("1.2.3"), &files(), Duration::from_millis(100)).unwrap_err().unwrap();
        let _ = answered.send(());
        assert!(matches!(error, Error::Timeout { .. }), "{error}");
        assert!(!signals.join().unwrap(), "the signals ended before the wait");
    }
}
