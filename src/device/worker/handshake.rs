//! The start of a worker: the handshake, the start of its heart, and the opening of its device.

use super::attributes;
use super::heart;
use super::registry::registry;
use crate::core::error::{Error, Result};
use crate::core::segment::Segment;
use crate::core::sync::{Arc, Mutex};
use crate::device::supervisor::RestartPolicy;
use crate::device::{Device, DeviceBuilder};
use crate::engines::worker::child::Handlers;
use crate::engines::worker::parent::other_version;
use crate::engines::worker::shared::Answers;
use crate::engines::worker::shared::layout;
use crate::engines::worker::shared::message;
use crate::engines::worker::shared::{DeviceOrder, Hello, MAGIC, Message, PROTOCOL};
use crate::engines::worker::shared::{Outlet, REFUSED};
use crate::engines::worker::shared::{inherited, program};
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// What a worker has after the handshake.
pub(crate) struct Admitted {
    pub(crate) device: Device,
    pub(crate) outlet: Arc<Outlet>,
    pub(crate) control: Arc<Segment>,
    pub(crate) bulk: Arc<Segment>,
    pub(crate) handlers: Handlers,
}

/// Does the handshake and opens the device. The error is the exit status.
pub(crate) fn begin() -> Result<Admitted, i32> {
    attributes::unblock_signals();
    let mut socket = take_socket().map_err(|_| REFUSED)?;
    let Ok(Some(hello)) = message::receive::<Hello>(&mut socket) else { return Err(REFUSED) };
    let patient = heart::Patient::default();
    let opened = accept(&hello, &socket).and_then(|(control, bulk, handlers)| {
        inherited::close(&hello.inherited);
        attributes::raise_oom_score(hello.oom_score)?;
        let (watched, control) = (socket.try_clone(), Arc::new(control));
        let beat = Duration::from_millis(hello.device.beat.max(1));
        let visible = hello.namespace.is_some() && hello.namespace == program::namespace();
        let parent = visible.then_some(hello.parent);
        watched.and_then(|socket| heart::start(socket, control.clone(), beat, parent, patient.clone())).map_err(
            |e| Error::library(format!("the thread that watches the parent process could not be started: {e}")),
        )?;
        let device = open(&hello.device)?;
        if hello.device.test {
            crate::device::supervisor::self_test(&device)?;
            crate::device::supervisor::work(&device)?;
        }
        Ok((control, Arc::new(bulk), handlers, device))
    });
    let (control, bulk, handlers, device) = match opened {
        Ok(opened) => opened,
        Err(error) => {
            let _ = message::send(&mut socket, &Message::Refused(error));
            return Err(REFUSED);
        }
    };
    let ready = Message::Ready {
        magic: MAGIC,
        protocol: PROTOCOL,
        version: env!("CARGO_PKG_VERSION").into(),
        info: (*device.info()).clone(),
        limit: device.epoch().meter.limit(),
        label: device.name().to_string(),
    };
    let answers = Answers::new(control.clone(), layout::ANSWERS);
    let outlet = Arc::new(Outlet { answers, socket: Mutex::new(socket), longest: message::LONGEST });
    outlet.say(&ready).map_err(|_| REFUSED)?;
    let _ = patient.set((device.clone(), outlet.clone()));
    Ok(Admitted { device, outlet, control, bulk, handlers })
}

/// Tells the parent why there will be no worker.
pub(crate) fn refuse(error: Error) {
    let Ok(mut socket) = take_socket() else { return };
    // First read all that the parent sends: if the socket closes while the parent writes, it does not get the reason.
    if let Ok(Some(_)) = message::receive::<Hello>(&mut socket) {
        let _ = message::receive_files(&socket);
        let _ = message::send(&mut socket, &Message::Refused(error));
    }
}

/// Moves the socket away from standard input, where an operation might read it.
fn take_socket() -> std::io::Result<UnixStream> {
    let socket = rustix::io::fcntl_dupfd_cloexec(std::io::stdin(), 3)?;
    if let Ok(null) = std::fs::File::open("/dev/null") {
        rustix::stdio::dup2_stdin(null)?;
    }
    Ok(socket.into())
}

pub(crate) fn accept(hello: &Hello, socket: &UnixStream) -> Result<(Segment, Segment, Handlers)> {
    let files = message::receive_files(socket);
    if hello.magic != MAGIC || hello.protocol != PROTOCOL || hello.version != env!("CARGO_PKG_VERSION") {
        return Err(other_version(env!("CARGO_PKG_VERSION"), PROTOCOL));
    }
    let [control, bulk] = files?;
    let handlers = match hello.same {
        Some(theirs) if theirs == program::identity()? => Handlers::Same,
        Some(_) => {
            return Err(Error::unsupported("the worker runs another executable file than the program that started it"));
        }
        None => {
            if !cfg!(feature = "worker-program") {
                return Err(Error::unsupported(
                    "the worker is another program than the one that started it, and knows no operations: use the \
                     program `windlass-worker` (cargo feature `worker-program`)",
                ));
            }
            registry(Device::builder().libraries()).handlers()
        }
    };
    if hello.control != layout::CONTROL as u64 {
        return Err(Error::unsupported("the worker and its parent process use different layouts of the shared memory"));
    }
    let bulk = Segment::map(bulk, usize::try_from(hello.bulk).unwrap_or(usize::MAX))?;
    Ok((Segment::map(control, layout::CONTROL)?, bulk, handlers))
}

/// Opens the device. A fault ends this process, so the device is never rebuilt in it.
fn open(order: &DeviceOrder) -> Result<Device> {
    let mut builder: DeviceBuilder = Device::builder()
        .slots(order.slots)
        .staging_limit(order.staging_limit)
        .restart_policy(RestartPolicy::never())
        .labelled(order.label.clone());
    if let Some(limit) = order.memory_limit {
        builder = builder.memory_limit(limit);
    }
    #[cfg(feature = "host")]
    {
        builder = builder.host_pool(match order.threads {
            None => crate::engines::host::HostPool::Inline,
            Some(0) => crate::engines::host::HostPool::Cores,
            Some(n) => crate::engines::host::HostPool::Threads(n),
        });
    }
    let Some(ordinal) = order.ordinal else { return builder.host().open() };
    builder.cuda(ordinal_of(order.uuid, ordinal)?).open()
}

/// Ordinals change when a GPU drops out; its UUID does not. The driver is asked for the UUIDs, and only the one GPU is
/// opened.
fn ordinal_of(uuid: Option<[u8; 16]>, ordinal: usize) -> Result<usize> {
    #[cfg(feature = "cuda")]
    if let Some(uuid) = uuid {
        let count = Device::cuda_count();
        let mut ordinals = std::iter::once(ordinal).chain((0..count).filter(|n| *n != ordinal));
        return ordinals
            .find(|n| crate::engines::cuda::uuid_of(*n) == Some(uuid))
            .ok_or_else(|| Error::library(format!("the lost GPU is not among the {count} GPUs of this machine")));
    }
    let _ = uuid;
    Ok(ordinal)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::OwnedFd;

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

    #[test]
    fn a_worker_refuses_a_parent_of_another_version() {
        let (one, two) = UnixStream::pair().unwrap();
        message::send_files(&one, &files()).unwrap();
        let error = accept(&hello("99.0.0"), &two).map(drop).unwrap_err();
        assert!(matches!(error, Error::Unsupported { .. }), "{error}");
    }

    #[test]
    fn a_worker_that_runs_another_file_is_refused() {
        let (one, two) = UnixStream::pair().unwrap();
        message::send_files(&one, &files()).unwrap();
        let hello = Hello { same: Some((1, 2)), ..hello(env!("CARGO_PKG_VERSION")) };
        let error = accept(&hello, &two).map(drop).unwrap_err();
        assert!(error.to_string().contains("another executable file"), "{error}");
    }

    /// This test program did not call `init`.
    #[test]
    fn without_a_worker_program_the_error_names_both_ways_to_have_one() {
        if std::env::var_os("WINDLASS_WORKER").is_some() {
            return;
        }
        let error = Device::builder().host().isolated().open().unwrap_err();
        let Error::LibraryMissing { tried, help, .. } = &error else { panic!("{error}") };
        assert_eq!(tried.len(), 2);
        assert!(["worker::init", "worker_program", "WINDLASS_WORKER"].iter().all(|way| help.contains(way)), "{error}");
    }
}
