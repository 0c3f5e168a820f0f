//! The worker: carries out orders, each as a dispatch on a device of its own.
//!
//! There are four kinds of threads. One thread for each lane reads its orders and submits them, one after the other.
//! The device's own threads run them, and answer when they end. The heart watches the socket and beats. The main thread
//! starts the lanes. A GPU does not notify when work is done, so there another thread polls (`completion_poller.rs`).

use super::Modules;
use super::answer::answer;
use super::carry_out::carry_out;
use super::completion_poller::CompletionPoller;
use super::handshake::{self, Admitted};
use super::memory::Memory;
use super::server::{Server, Task};
use crate::core::arena::Lent;
use crate::core::clock::{self, Clock, Timing};
use crate::core::error::{Error, Result};
use crate::core::intern;
use crate::core::op::raw::RemoteResult;
use crate::core::op::wire;
#[cfg(feature = "cuda")]
use crate::core::order::Completion;
use crate::core::sync::{Arc, Ordering};
use crate::engines::worker::child::run as run_op;
use crate::engines::worker::shared::LANES;
use crate::engines::worker::shared::Ring;
use crate::engines::worker::shared::follows;
use crate::engines::worker::shared::order;
use crate::engines::worker::shared::{Alloc, Free, GARBLED, Opened, Place, Reply, Run};
use crate::engines::worker::shared::{first_use, layout};
use rustix::thread::futex;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;

/// Serves until the parent ends. Returns the exit status.
pub(crate) fn serve() -> i32 {
    let Admitted { device, outlet, control, bulk, handlers } = match handshake::begin() {
        Ok(admitted) => admitted,
        Err(status) => return status,
    };
    let server = Server {
        device,
        outlet,
        control,
        bulk,
        modules: Modules::default(),
        handlers,
        completion_poller: CompletionPoller::default(),
        memory: Memory::default(),
        posts: Default::default(),
        began: OnceLock::new(),
    };
    Arc::new(server).open_lanes()
}

impl Server {
    /// Starts a thread for each lane when the client first uses it.
    fn open_lanes(self: &Arc<Self>) -> ! {
        let opened = self.control.half(layout::OPENED);
        let mut open = 0u32;
        loop {
            let wanted = opened.load(Ordering::Acquire);
            for lane in (0..LANES).filter(|lane| (wanted & !open) >> lane & 1 == 1) {
                let server = self.clone();
                let thread = std::thread::Builder::new().name(format!("windlass lane {lane}"));
                let work = move || {
                    let _whole = server.outlet.whole();
                    server.work(lane);
                };
                if let Err(error) = thread.spawn(work) {
                    self.outlet.fault(format!("the thread for lane {lane} could not be started: {error}"), None);
                }
            }
            open |= wanted;
            let _ = futex::wait(opened, futex::Flags::empty(), wanted, None);
        }
    }

    /// Carries out the orders of one lane, one after the other.
    fn work(&self, lane: usize) {
        let ring = Ring::new(self.control.clone(), layout::orders(lane), layout::ORDERS_CAPACITY);
        let serving = &Timing::standard().serving;
        let spin = if self.is_gpu() { serving.gpu_spin } else { serving.spin };
        let mut frame = Vec::new();
        let mut number = 0;
        first_use::belongs_to(lane, &self.control);
        loop {
            match ring.pop(&mut frame) {
                Ok(true) => {}
                Ok(false) => {
                    let start = Clock::SYSTEM.start();
                    if ring.wait(spin, serving.nap) && start.elapsed() > spin {
                        self.completion_poller.rouse();
                    }
                    continue;
                }
                Err(error) => self.garbled(error),
            }
            number += 1;
            let carried = match order::open(&frame) {
                Some(order) => {
                    order.after().for_each(|(lane, number)| self.follow(lane, number));
                    self.carry_out(order)
                }
                None => Err(Error::library("an order has no header")),
            };
            if let Err(error) = carried {
                self.garbled(error);
            }
            first_use::end(&self.control, lane);
            // Also if it failed: an order that follows it sees that in its operands.
            if let Some(post) = self.posts.get(lane) {
                post.raise(self.control.word(layout::carried(lane)), number);
            }
        }
    }

    /// Waits until an order of another lane was carried out. This cannot deadlock: nothing is held here, and an order
    /// follows earlier ones only. Of all orders that are not carried out, the one that was written first waits for
    /// nothing.
    fn follow(&self, lane: usize, number: u64) {
        let Some(post) = self.posts.get(lane) else {
            self.garbled(Error::library("an order names a lane that does not exist"))
        };
        let carried = self.control.word(layout::carried(lane));
        let (start, serving) = (Clock::SYSTEM.start(), &Timing::standard().serving);
        while carried.load(Ordering::Acquire) < number {
            if start.elapsed() > serving.spin {
                return post.wait(carried, number);
            }
            std::thread::yield_now();
        }
    }

    /// The client's orders are invalid, and nothing that follows can be trusted: ends the process.
    fn garbled(&self, error: Error) -> ! {
        self.outlet.end(format!("the worker received an invalid order: {error}"), None, GARBLED)
    }

    /// An error here means that the order itself is invalid. The error of an operation is sent as its answer.
    fn carry_out(&self, order: Opened<'_>) -> Result<()> {
        let (place, body, memory) = (order.place, order.body, &self.memory);
        match order.kind {
            order::ALLOC => {
                let Alloc { id, len, size, lead, reserve, label, freeing } =
                    postcard::from_bytes(body).map_err(wire::garbled)?;
                let len = usize::try_from(len).unwrap_or(usize::MAX);
                let bytes = match reserve {
                    Some(bytes) => usize::try_from(bytes).ok(),
                    None => len.checked_mul(size as usize),
                };
                let label = label.map(|label| *intern::name(&label));
                let region = bytes.ok_or_else(|| Error::invalid("len", "the size in bytes overflows"));
                memory.add(
                    id,
                    bytes.unwrap_or_default(),
                    region.and_then(|bytes| {
                        self.allocate((bytes, len, lead as usize), reserve.is_some(), label, &freeing)
                    }),
                );
            }
            order::FREE => {
                let Free { id } = postcard::from_bytes(body).map_err(wire::garbled)?;
                memory.remove(id);
                self.modules.remove(id);
            }
            order::RUN => {
                let cut = || Error::library("an order is truncated");
                let (block, body) = wire::open(body).ok_or_else(cut)?;
                let (run, bytes) =
                    postcard::take_from_bytes::<Run<Vec<Place>, Vec<u32>>>(body).map_err(wire::garbled)?;
                let reply = Reply { outlet: self.outlet.clone(), place };
                // The code that reads and checks an operation is its author's, and may panic.
                let lent = self.lent(block)?.map(|lent| lent.telling(Arc::new(reply.clone())));
                let outcome = catch_unwind(AssertUnwindSafe(|| self.run(&run, bytes, lent.clone(), reply.clone())));
                if let Err(error) = outcome.unwrap_or_else(|panic| Err(Error::panicked(&*panic))) {
                    // The client has long taken the operation as submitted: what it was to write must not pass as
                    // valid.
                    memory.fail(run.places.get(run.read_count as usize..).unwrap_or_default(), &error);
                    #[cfg(feature = "cuda")]
                    if lent.is_some_and(|lent| lent.is_touched()) {
                        self.await_in_flight(&run.places);
                    }
                    reply.fail(error);
                }
            }
            order::ASK => {
                let reply = Reply { outlet: self.outlet.clone(), place };
                reply.left(answer(self, memory, body).map(RemoteResult::Bulk), None);
            }
            order::MEMORY => {
                let reply = Reply { outlet: self.outlet.clone(), place };
                match self.device.memory() {
                    Ok(memory) => {
                        let pool = memory.pool.unwrap_or_default();
                        reply.words([
                            memory.free,
                            pool.reserved,
                            pool.reserved_peak,
                            pool.used,
                            pool.used_peak,
                            pool.threshold,
                            pool.trims,
                            0,
                        ]);
                    }
                    Err(error) => reply.fail(error),
                }
            }
            other => return Err(Error::library(format!("an order has the unknown kind {other}"))),
        }
        Ok(())
    }

    /// Just after a worker was lost, some memory of a GPU may not be free yet: it is freed when that worker is reaped.
    /// And frees that the client sent before this order may not be carried out yet in other lanes.
    fn allocate(
        &self,
        wanted: (usize, usize, usize),
        growing: bool,
        label: Option<&'static str>,
        freeing: &[u64],
    ) -> Result<Arc<crate::core::buffer::Region>> {
        let began = self.began.get_or_init(|| Clock::SYSTEM.start());
        let serving = &Timing::standard().serving;
        let mut freeing = freeing.iter().map(|word| follows::unpack(*word));
        loop {
            let made = match growing {
                true => self.device.growing_region(wanted.0, label),
                false => self.device.region(wanted, label),
            };
            match made {
                Err(Error::OutOfMemory { .. }) if freeing.len() > 0 => {
                    freeing.by_ref().take(1).for_each(|(lane, number)| self.follow(lane, number));
                }
                Err(Error::OutOfMemory { .. }) if self.is_gpu() && began.elapsed() < serving.settling => {
                    clock::pause(serving.settling_pause);
                }
                answer => return answer,
            }
        }
    }

    /// An operation failed half-way: a GPU may still use the shared memory that the answer gives back. Waits for what
    /// its operands have in flight, which includes the part of it that was enqueued. Does not wait for the device,
    /// because other lanes go on adding work to it.
    #[cfg(feature = "cuda")]
    fn await_in_flight(&self, places: &[Place]) {
        let mut backoff = crate::core::dispatch::Backoff::new(&Timing::standard().waits);
        let tracks = self.memory.in_flight(places);
        let epoch = self.device.epoch();
        let is_over =
            |end: &Completion| epoch.engine.as_cuda().map_or(end.is_past(), |engine| engine.core.streams.poll(end));
        while !tracks.iter().all(|track| track.all().all(is_over)) {
            backoff.pause(None);
        }
    }

    /// The shared memory that an order names.
    fn lent(&self, block: Option<(u64, u64)>) -> Result<Option<Lent>> {
        let outside = || Error::library("an offset lies outside of the shared memory");
        block.map(|block| Lent::new(&self.bulk, block).ok_or_else(outside)).transpose()
    }

    fn run(&self, run: &Run<Vec<Place>, Vec<u32>>, bytes: &[u8], lent: Option<Lent>, reply: Reply) -> Result<()> {
        let facts = self.handlers.find(run.code)?;
        let operands = run.places.iter().map(|place| self.memory.operand(place)).collect::<Result<Vec<_>>>()?;
        let Run { timed, seat, fault, shape, .. } = run;
        let (timed, seat, fault) = (*timed, *seat, *fault);
        let mut task = Some(Task { bytes, lent, operands: &operands, shape, timed, seat, fault, reply });
        run_op(facts, &mut |call| match task.take() {
            Some(task) => carry_out(call, self, task),
            None => Err(Error::library("an order was already carried out")),
        })
    }
}
