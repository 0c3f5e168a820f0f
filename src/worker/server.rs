//! The worker: carries out orders, one after the other, each as a dispatch on a device of its own.
//!
//! Three kinds of threads: this one reads orders and submits; the device's own run them, and answer where they end; one
//! watches the socket and lets the heart beat. A GPU tells nobody that work is done, so there a fourth looks.

use super::answers::DONE;
use super::handler::Handlers;
use super::lookers::Lookers;
use super::memory::{Memory, Operand};
use super::message::Message;
use super::modules::{self, Modules};
use super::order::{self, Alloc, Free, Place, Run, Suffer};
use super::reply::{GARBLED, Outlet};
use super::ring::Ring;
use super::segment::Segment;
use super::welcome::{self, Admitted};
use super::{Lent, layout, program, wire};
use crate::device::Device;
use crate::dispatch::Then;
use crate::dispatch::raw::Left;
use crate::sync::Arc;
use crate::{Error, Result};
use std::time::{Duration, Instant};

pub(super) use super::reply::Reply;
#[cfg(test)]
pub(super) use super::welcome::accept;

/// How long the worker looks for the next order before it sleeps: about a round trip.
const SPIN: Duration = Duration::from_micros(30);

/// How long after the first order memory may not be back yet that a worker before this one held.
const SETTLING: Duration = Duration::from_secs(1);

/// How long a GPU may take to finish what it has.
const CALM: Duration = Duration::from_secs(10);

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

/// Serves until the parent ends. Gives the exit status.
pub(super) fn serve() -> i32 {
    let Admitted { device, outlet, control, bulk, handlers } = match welcome::begin() {
        Ok(admitted) => admitted,
        Err(status) => return status,
    };
    let ring = Ring::new(control, layout::ORDERS, layout::ORDERS_CAPACITY);
    let (modules, began) = (Modules::default(), std::sync::OnceLock::new());
    Server { device, outlet, bulk, modules, handlers, lookers: Lookers::default(), began }.work(&ring)
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
