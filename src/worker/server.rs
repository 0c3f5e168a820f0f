//! The worker: carries out orders, one after the other, each as a dispatch on a device of its own.
//!
//! Three kinds of threads: this one reads orders and submits; the device's own run them, and answer where they end; one
//! watches the socket and lets the heart beat. A GPU tells nobody that work is done, so there a fourth looks.

use super::answers::{Answers, DONE, SPILLED};
use super::handler::{Handlers, Registry};
use super::launch::other_version;
use super::memory::{Memory, Operand};
use super::message::{self, DeviceOrder, Hello, MAGIC, Message, PROTOCOL};
use super::modules::{self, Modules};
use super::order::{self, Alloc, Free, Place, Run, Suffer};
use super::ring::Ring;
use super::segment::Segment;
use super::{Lent, layout, program, wire};
use crate::device::{Device, DeviceBuilder};
use crate::dispatch::Then;
use crate::dispatch::raw::Left;
use crate::supervisor::RestartPolicy;
use crate::sync::{Arc, Mutex, Ordering};
use crate::{Error, Result};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

/// How long the worker looks for the next order before it sleeps: about a round trip.
const SPIN: Duration = Duration::from_micros(30);

/// How long after the first order memory may not be back yet that a worker before this one held.
const SETTLING: Duration = Duration::from_secs(1);

/// How long a GPU may take to finish what it has.
const CALM: Duration = Duration::from_secs(10);

/// Exit statuses, for whoever reads a process list.
const DONE_WELL: i32 = 0;
const REFUSED: i32 = 3;
const FAULT: i32 = 4;
const GARBLED: i32 = 5;

/// What answers go through.
struct Outlet {
    answers: Answers,
    socket: Mutex<UnixStream>,
}

/// The serving process.
pub(super) struct Server {
    pub(super) device: Device,
    outlet: Arc<Outlet>,
    pub(super) bulk: Arc<Segment>,
    pub(super) modules: Modules,
    handlers: Handlers,
    lookers: Lookers,
    /// When the first memory was asked for.
    began: std::sync::OnceLock<Instant>,
}

/// An operation on its way into the device.
pub(super) struct Task<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) lent: Option<Lent>,
    pub(super) operands: &'a [Operand],
    pub(super) shape: &'a [u32],
    pub(super) timed: bool,
    pub(super) suffer: Option<Suffer>,
    pub(super) reply: Reply,
}

/// Where one order's answer goes.
#[derive(Clone)]
pub(super) struct Reply {
    outlet: Arc<Outlet>,
    place: u32,
}

impl Reply {
    /// The work begins.
    pub(super) fn start(&self) {
        self.outlet.answers.start(self.place);
    }

    /// The device's context failed: tells the parent and ends the process.
    pub(super) fn poison(&self, message: &str) -> ! {
        self.outlet.fault(message.to_string(), None)
    }

    /// The work is done.
    pub(super) fn left(&self, left: Result<Left>, time: Option<Duration>) {
        match left {
            Ok(Left::Slot(bytes)) => self.outlet.answers.answer(self.place, DONE, &bytes, time),
            Ok(Left::Bulk(bytes)) => self.spill(Ok(bytes)),
            Err(error) => self.fail(error),
        }
    }

    /// It failed.
    fn fail(&self, error: Error) {
        if error.is_poisoning() {
            let code = error.site().and_then(|s| Some((s.code()?, s.code_name().unwrap_or_default().to_string())));
            let message = match error {
                Error::ContextPoisoned { cause, .. } | Error::DeviceLost { cause, .. } => cause,
                other => other.to_string(),
            };
            self.outlet.fault(message, code);
        }
        self.spill(Err(error));
    }

    fn spill(&self, answer: std::result::Result<Vec<u8>, Error>) {
        self.outlet.say(&Message::Spill { place: self.place, answer });
        self.outlet.answers.answer(self.place, SPILLED, &[0; 64], None);
    }
}

impl Outlet {
    /// A parent that does not listen is gone.
    fn say(&self, message: &Message) {
        if message::send(&mut *self.socket.lock(), message).is_err() {
            program::exit(DONE_WELL);
        }
    }

    fn fault(&self, message: String, code: Option<(i32, String)>) -> ! {
        self.say(&Message::Fault { message, code });
        program::exit(FAULT)
    }
}

/// Serves until the parent ends. Gives the exit status.
pub(super) fn serve() -> i32 {
    match begin() {
        Ok((mut server, ring)) => server.work(&ring),
        Err(status) => status,
    }
}

/// Shakes hands and opens the device.
fn begin() -> Result<(Server, Ring), i32> {
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
    let outlet =
        Arc::new(Outlet { answers: Answers::new(control.clone(), layout::ANSWERS), socket: Mutex::new(socket) });
    watch(watched, control.clone(), beat, device.clone(), outlet.clone()).map_err(|_| REFUSED)?;
    outlet.say(&ready);
    let ring = Ring::new(control, layout::ORDERS, layout::ORDERS_CAPACITY);
    Ok((
        Server {
            device,
            outlet,
            bulk,
            modules: Modules::default(),
            handlers,
            lookers: Lookers::default(),
            began: std::sync::OnceLock::new(),
        },
        ring,
    ))
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

impl Server {
    fn work(&mut self, ring: &Ring) -> i32 {
        let mut memory = Memory::default();
        let mut frame = Vec::new();
        loop {
            match ring.pop(&mut frame) {
                Ok(true) => {}
                Ok(false) => {
                    ring.wait(SPIN, Duration::from_millis(500));
                    continue;
                }
                Err(error) => self.garbled(error),
            }
            if let Err(error) = self.carry_out(&mut memory, &frame) {
                self.garbled(error);
            }
        }
    }

    /// Nothing that follows can be trusted.
    fn garbled(&self, error: Error) -> ! {
        self.outlet.say(&Message::Fault { message: format!("the worker was given {error}"), code: None });
        program::exit(GARBLED)
    }

    /// An error here means that the orders themselves are wrong; what fails in an operation is its answer.
    fn carry_out(&self, memory: &mut Memory, frame: &[u8]) -> Result<()> {
        let (kind, place, body) = order::open(frame).ok_or_else(|| Error::library("an order without a head"))?;
        match kind {
            order::ALLOC => {
                let Alloc { id, len, size } = postcard::from_bytes(body).map_err(wire::garbled)?;
                let len = usize::try_from(len).unwrap_or(usize::MAX);
                let bytes = len.checked_mul(size as usize);
                let region = bytes.ok_or_else(|| Error::invalid("len", "it overflows"));
                memory.add(id, region.and_then(|bytes| self.allocate(bytes, len)));
            }
            order::FREE => {
                let Free { id } = postcard::from_bytes(body).map_err(wire::garbled)?;
                memory.remove(id);
                self.modules.remove(id);
            }
            order::RUN => {
                let (run, bytes) =
                    postcard::take_from_bytes::<Run<Vec<Place>, Vec<u32>>>(body).map_err(wire::garbled)?;
                let reply = Reply { outlet: self.outlet.clone(), place };
                if let Err(error) = self.run(memory, &run, bytes, reply.clone()) {
                    // The client has long been told that it is under way: what it was to write must not pass for it.
                    memory.fail(run.places.get(run.read_count as usize..).unwrap_or_default());
                    if run.block.is_some() && self.is_gpu() {
                        self.calm();
                    }
                    reply.fail(error);
                }
            }
            order::ASK => {
                let reply = Reply { outlet: self.outlet.clone(), place };
                reply.left(modules::answer(self, memory, body).map(Left::Bulk), None);
            }
            order::MEMORY => {
                let mut bytes = [0; 64];
                if let (Ok(memory), Some(word)) = (self.device.memory(), bytes.first_chunk_mut::<8>()) {
                    *word = memory.free.to_ne_bytes();
                }
                self.outlet.answers.answer(place, DONE, &bytes, None);
            }
            other => return Err(Error::library(format!("an order of kind {other}"))),
        }
        Ok(())
    }

    /// In place of a worker that was lost, some memory of a GPU may not be back yet: it comes when that one is reaped.
    fn allocate(&self, bytes: usize, len: usize) -> Result<Arc<crate::buffer::Region>> {
        let began = self.began.get_or_init(Instant::now);
        loop {
            match self.device.region(bytes, len) {
                Err(Error::OutOfMemory { .. }) if self.is_gpu() && began.elapsed() < SETTLING => {
                    std::thread::sleep(Duration::from_millis(5));
                }
                answer => return answer,
            }
        }
    }

    /// An operation failed half-way: a GPU may still be at the shared memory that the answer gives back.
    fn calm(&self) {
        if self.device.synchronize(CALM).is_err() {
            self.outlet.fault("a copy that failed half-way did not come to an end".into(), None);
        }
    }

    fn is_gpu(&self) -> bool {
        self.device.kind() == crate::DeviceKind::Cuda
    }

    fn run(&self, memory: &mut Memory, run: &Run<Vec<Place>, Vec<u32>>, bytes: &[u8], reply: Reply) -> Result<()> {
        let handler = self.handlers.find(run.code)?;
        let lent = match run.block {
            None => None,
            Some(block) => {
                Some(Lent::new(&self.bulk, block).ok_or_else(|| Error::library("shared memory that lies outside"))?)
            }
        };
        let operands = run.places.iter().map(|place| memory.operand(place)).collect::<Result<Vec<_>>>()?;
        let Run { timed, suffer, shape, .. } = run;
        let task = Task { bytes, lent, operands: &operands, shape, timed: *timed, suffer: *suffer, reply };
        (handler.run)(self, task)
    }

    /// Calls `then` when the work is settled.
    pub(super) fn when_settled<H: 'static>(&self, work: Arc<dyn crate::dispatch::Task<H>>, then: Then) {
        if let Some(then) = work.tell(then) {
            self.lookers.add(Box::new(move || work.is_settled()), then);
        }
    }
}

/// Work of an engine that tells nobody when it settles.
#[derive(Default)]
struct Lookers(std::sync::OnceLock<Option<std::sync::mpsc::Sender<(Look, Then)>>>);

type Look = Box<dyn Fn() -> bool + Send>;

impl Lookers {
    fn add(&self, look: Look, then: Then) {
        let sender = self.0.get_or_init(|| {
            let (sender, receiver) = std::sync::mpsc::channel::<(Look, Then)>();
            let run = move || look_around(&receiver);
            std::thread::Builder::new().name("windlass looker".into()).spawn(run).ok().map(|_| sender)
        });
        match sender {
            Some(sender) => {
                let _ = sender.send((look, then));
            }
            // No thread: in order, then.
            None => {
                while !look() {
                    std::thread::yield_now();
                }
                then();
            }
        }
    }
}

/// Looks at everything in flight, over and over; sleeps when there is nothing.
fn look_around(receiver: &std::sync::mpsc::Receiver<(Look, Then)>) {
    let mut flying: Vec<(Look, Then)> = Vec::new();
    let mut quiet = std::time::Instant::now();
    loop {
        if flying.is_empty() {
            match receiver.recv() {
                Ok(new) => flying.push(new),
                Err(_) => return,
            }
            quiet = std::time::Instant::now();
        }
        flying.extend(receiver.try_iter());
        let mut at = 0;
        while let Some((look, _)) = flying.get(at) {
            if look() {
                let (_, then) = flying.remove(at);
                then();
                quiet = std::time::Instant::now();
            } else {
                at += 1;
            }
        }
        if quiet.elapsed() > Duration::from_micros(200) {
            std::thread::sleep(Duration::from_micros(20));
        }
    }
}
