//! The beginning of a worker: it shakes hands, opens its device, and begins to watch its parent.

use super::answers::Answers;
use super::handler::{Handlers, Registry};
use super::launch::other_version;
use super::message::{self, DeviceOrder, Hello, MAGIC, Message, PROTOCOL};
use super::reply::{DONE_WELL, Outlet, REFUSED};
use super::segment::Segment;
use super::{layout, program};
use crate::device::{Device, DeviceBuilder};
use crate::supervisor::RestartPolicy;
use crate::sync::{Arc, Mutex, Ordering};
use crate::{Error, Result};
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// What a worker has once it was admitted.
pub(super) struct Admitted {
    pub(super) device: Device,
    pub(super) outlet: Arc<Outlet>,
    pub(super) control: Arc<Segment>,
    pub(super) bulk: Arc<Segment>,
    pub(super) handlers: Handlers,
}

/// Shakes hands and opens the device.
pub(super) fn begin() -> Result<Admitted, i32> {
    let mut socket = take_socket().map_err(|_| REFUSED)?;
    let Ok(Some(hello)) = message::receive::<Hello>(&mut socket) else { return Err(REFUSED) };
    let opened = accept(&hello, &socket).and_then(|(control, bulk, handlers)| {
        let device = open(&hello.device)?;
        if hello.device.test {
            crate::supervisor::self_test(&device)?;
            crate::supervisor::product(&device)?;
        }
        Ok((Arc::new(control), Arc::new(bulk), handlers, device))
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
        info: device.info().clone(),
        limit: device.inner().meter.limit(),
        label: device.name().into(),
    };
    let beat = Duration::from_millis(hello.device.beat.max(1));
    let watched = socket.try_clone().map_err(|_| REFUSED)?;
    let answers = Answers::new(control.clone(), layout::ANSWERS);
    let outlet = Arc::new(Outlet { answers, socket: Mutex::new(socket), longest: message::LONGEST });
    watch(watched, control.clone(), beat, device.clone(), outlet.clone()).map_err(|_| REFUSED)?;
    outlet.say(&ready).map_err(|_| REFUSED)?;
    Ok(Admitted { device, outlet, control, bulk, handlers })
}

/// The socket moves away from standard input, where an operation might read it.
fn take_socket() -> std::io::Result<UnixStream> {
    let socket = rustix::io::fcntl_dupfd_cloexec(std::io::stdin(), 3)?;
    if let Ok(null) = std::fs::File::open("/dev/null") {
        rustix::stdio::dup2_stdin(null)?;
    }
    Ok(socket.into())
}

pub(super) fn accept(hello: &Hello, socket: &UnixStream) -> Result<(Segment, Segment, Handlers)> {
    let files = message::receive_files(socket);
    if hello.magic != MAGIC || hello.protocol != PROTOCOL || hello.version != env!("CARGO_PKG_VERSION") {
        return Err(other_version(env!("CARGO_PKG_VERSION"), PROTOCOL));
    }
    let [control, bulk] = files?;
    let handlers = match hello.same {
        Some(theirs) if theirs == program::identity()? => Handlers::Same,
        Some(_) => return Err(Error::unsupported("the worker runs another file than the program that started it")),
        None => {
            if !cfg!(feature = "worker-program") {
                return Err(Error::unsupported(
                    "the worker is another program than the one that started it, and knows no operations: only \
                     `windlass-worker` does (cargo feature `worker-program`)",
                ));
            }
            Registry::library().handlers()
        }
    };
    if hello.control != layout::CONTROL as u64 {
        return Err(Error::unsupported("the worker's memory is laid out in another way than its parent's"));
    }
    let bulk = Segment::map(bulk, usize::try_from(hello.bulk).unwrap_or(usize::MAX))?;
    Ok((Segment::map(control, layout::CONTROL)?, bulk, handlers))
}

/// The device itself: what faults here, ends this process, so nothing is rebuilt in it.
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
            None => crate::HostPool::Inline,
            Some(0) => crate::HostPool::Cores,
            Some(n) => crate::HostPool::Threads(n),
        });
    }
    let Some(ordinal) = order.ordinal else { return builder.host().open() };
    let Some(uuid) = order.uuid else { return builder.cuda(ordinal).open() };
    // Ordinals shift when a GPU drops out; its UUID does not.
    let count = Device::cuda_count();
    let mut ordinals = std::iter::once(ordinal).chain((0..count).filter(|n| *n != ordinal));
    let mut failed = None;
    ordinals
        .find_map(|n| match builder.clone().cuda(n).open() {
            Ok(device) if device.info().uuid == Some(uuid) => Some(device),
            Ok(_) => None,
            Err(error) => {
                failed.get_or_insert(error);
                None
            }
        })
        .ok_or_else(|| {
            failed.unwrap_or_else(|| Error::library(format!("none of {count} GPUs is the one that was lost")))
        })
}

/// Lets the heart beat, and ends the process when the parent has ended. The descriptor's other end closes when the parent
/// ends, also by a kill; should a forked child of it hold it open, the parent's number changes.
fn watch(
    socket: UnixStream,
    control: Arc<Segment>,
    beat: Duration,
    device: Device,
    outlet: Arc<Outlet>,
) -> std::io::Result<()> {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let parent = rustix::process::getppid();
    let timeout = Timespec::try_from(beat).ok();
    std::thread::Builder::new().name("windlass heart".into()).spawn(move || {
        loop {
            let mut fds = [PollFd::new(&socket, PollFlags::IN)];
            // Nothing is ever said after the handshake: what can be read is the end.
            let ended = poll(&mut fds, timeout.as_ref()).is_ok_and(|n| n > 0);
            if ended || rustix::process::getppid() != parent {
                program::exit(DONE_WELL);
            }
            control.word(layout::BEAT).fetch_add(1, Ordering::Relaxed);
            let epoch = device.epoch();
            if epoch.dead() {
                let cause = epoch.cause().unwrap_or_default();
                outlet.fault(cause.message, cause.code.map(|(code, name)| (code, name.into_owned())));
            }
        }
    })?;
    Ok(())
}
