//! Questions to a worker about code and libraries that are loaded there. The client needs the answer before it can go
//! on.
//!
//! A question is an order like any other, carried out in the order of its lane. Its answer comes through the socket, as
//! a long one does. **The caller waits** for loading and looking things up, never for work on the device.
//!
//! A module is named by a number, as memory is, and is kept among the worker's allocations as one of no bytes. A launch
//! reads it, and an access to one of the module's variables writes it, so they are ordered as on any buffer. When the
//! client's last handle of it is dropped, the order that frees it unloads the module.

use super::engine::{WorkerEngine, home_of, next_address};
use super::flights::Flight;
use super::link::Link;
use crate::core::arena::Block;
use crate::core::buffer::{Allocation, Region, View};
use crate::core::clock::Clock;
use crate::core::dispatch::Backoff;
use crate::core::epoch::Epoch;
use crate::core::error::{Error, Result};
use crate::core::order::LaneOrder;
use crate::core::sync::{Arc, AtomicU8, AtomicU32, Mutex, Ordering};
use crate::engines::worker::shared::Follows;
use crate::engines::worker::shared::order;
use crate::engines::worker::shared::{DONE, SPILLED};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// What a client asks. `id` is the module's number, `kernel` the kernel's number in it.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Question {
    /// Loads the image in the shared memory, under this number. Answer: `()`.
    Load { id: u64, is_text: bool },
    /// Makes a program from the bytes in the shared memory, under this number. Answer: `()`.
    Program { id: u64 },
    /// Finds a kernel. Answer: [`Found`](crate::launch::Found), or `None`.
    Kernel { id: u64, name: String, with_parameters: bool },
    /// Finds a variable. Answer: its address and its size in bytes, or `None`.
    Variable { id: u64, name: String },
    /// Active blocks per multiprocessor. Answer: `u32`.
    ActiveBlocks { id: u64, kernel: u32, threads: u32, shared: u32 },
    /// The block size with the best occupancy. Answer: `u32`.
    BestBlock { id: u64, kernel: u32, shared: u32 },
    /// The device's limits for launches. Answer: [`DeviceLimits`](crate::launch::DeviceLimits).
    Limits,
    /// The version of a library in the worker. Answer: [`Version`](crate::loader::Version), if the library tells one.
    #[cfg(feature = "cuda")]
    Version(crate::engines::loader::Library),
    /// A question that only the named library understands. Answer: bytes in its own format.
    Library { name: String, question: Vec<u8> },
    /// Gives the reserve of addresses memory up to there. Answer: `()`.
    Grow { id: u64, to: u64 },
    /// Takes the memory from there on away, behind what is in flight on it. Answer: `()`.
    Shrink { id: u64, to: u64 },
    /// Creates what a library needs for each stream slot. Answer: `()`.
    Warm { library: String },
}

/// A question as it is sent.
#[derive(Serialize, Deserialize)]
pub(crate) struct Ask {
    pub(crate) what: Question,
    /// The shared memory that belongs to it: offset and length.
    pub(crate) block: Option<(u64, u64)>,
}

const PENDING: u8 = 0;
const CLAIMED: u8 = 1;
const SETTLED: u8 = 2;

/// A question in flight. **Race "used again"** (`untyped_dispatch.rs`): its place is read only under a claim. A
/// thread reuses the place only after it has seen the question settled, and then no claim succeeds any more.
struct Asked {
    link: Arc<Link>,
    epoch: Arc<Epoch>,
    place: AtomicU32,
    state: AtomicU8,
    answer: Mutex<Option<Result<Vec<u8>>>>,
    /// The worker reads it until it answers.
    block: Mutex<Option<Block>>,
}

impl Asked {
    /// Takes the answer, if it is there. True once it was taken.
    fn look(&self) -> bool {
        if self.state.compare_exchange(PENDING, CLAIMED, Ordering::AcqRel, Ordering::Acquire).is_err() {
            return self.state.load(Ordering::Acquire) == SETTLED;
        }
        let place = self.place.load(Ordering::Relaxed);
        let answer = match self.link.answers.state(place).load(Ordering::Acquire) {
            // The flag may be set before the monitor has read the answer from the socket.
            SPILLED => self.link.spill(place).or_else(|| self.link.ending.is_over().then(|| Err(self.epoch.verdict()))),
            flag if flag < DONE && !self.epoch.dead() => None,
            _ => Some(Err(self.epoch.verdict())),
        };
        let Some(answer) = answer else {
            self.state.store(PENDING, Ordering::Release);
            return false;
        };
        *self.answer.lock() = Some(answer);
        drop(self.block.lock().take());
        self.link.concluded();
        self.state.store(SETTLED, Ordering::Release);
        true
    }
}

impl Flight for Asked {
    fn place(&self) -> &AtomicU32 {
        &self.place
    }

    fn retire(&self) -> bool {
        self.look()
    }

    fn name(&self) -> &'static str {
        "ask"
    }
}

impl WorkerEngine {
    /// Asks a question and waits for the answer.
    pub(crate) fn ask<A: DeserializeOwned>(&self, epoch: &Arc<Epoch>, what: Question) -> Result<A> {
        self.ask_with(epoch, what, None, &Follows::default())?.1
    }

    /// Makes a reserve of addresses in the worker grow, or shrink, to `to` bytes: behind the orders that the region follows.
    pub(crate) fn resize(&self, epoch: &Arc<Epoch>, region: &Arc<Region>, to: u64, grows: bool) -> Result<()> {
        let id = region.allocation.address;
        let what = if grows { Question::Grow { id, to } } else { Question::Shrink { id, to } };
        let view = View::new(region, (region.window.start, region.window.len()), true);
        self.ask_with(epoch, what, None, &Follows::gather(&[view], 0))?.1
    }

    /// Loads an image in the worker. The module stays loaded as long as the allocation lives.
    pub(crate) fn load_module(&self, epoch: &Arc<Epoch>, image: &[u8], is_text: bool) -> Result<Arc<Allocation>> {
        self.load(epoch, image, |id| Question::Load { id, is_text })
    }

    /// Makes a program in the worker. It stays there as long as the allocation lives.
    pub(crate) fn load_program(&self, epoch: &Arc<Epoch>, program: &[u8]) -> Result<Arc<Allocation>> {
        self.load(epoch, program, |id| Question::Program { id })
    }

    fn load(&self, epoch: &Arc<Epoch>, data: &[u8], what: impl FnOnce(u64) -> Question) -> Result<Arc<Allocation>> {
        let block = self.stage(epoch, data)?;
        let id = next_address(0)?;
        let (sent, answer) = self.ask_with::<()>(epoch, what(id), Some(block), &Follows::default())?;
        // Made before the answer is checked: dropping it unloads what was loaded.
        let module = Arc::new(Allocation::uncounted(id, home_of(&self.link, &sent)));
        answer.map(|()| module)
    }

    /// Asks, and returns the order of the question and the answer. Most follow no other order: everything that they name was
    /// answered before.
    fn ask_with<A: DeserializeOwned>(
        &self,
        epoch: &Arc<Epoch>,
        what: Question,
        block: Option<Block>,
        follows: &Follows,
    ) -> Result<(LaneOrder, Result<A>)> {
        epoch.admit()?;
        let place = block.as_ref().map(Block::place);
        let body = postcard::to_stdvec(&Ask { what, block: place }).map_err(crate::core::op::garbled)?;
        let asked = Arc::new(Asked {
            link: self.link.clone(),
            epoch: epoch.clone(),
            place: AtomicU32::new(0),
            state: AtomicU8::new(PENDING),
            answer: Mutex::default(),
            block: Mutex::new(block),
        });
        let flight: Arc<dyn Flight> = asked.clone();
        let sent = self.link.send(epoch, order::ASK, &flight, follows, &body)?;
        let waits = &epoch.timing.waits;
        let (start, mut backoff) = (Clock::SYSTEM.start(), Backoff::new(waits));
        while !asked.look() {
            if start.elapsed() < waits.spin { std::hint::spin_loop() } else { backoff.pause(None) }
        }
        let answer = asked.answer.lock().take();
        let answer = answer.unwrap_or_else(|| Err(Error::library("the worker did not answer a request")));
        let answer = answer.map_err(|error| {
            error.locate(|site| {
                site.move_to(epoch.label.to_string(), epoch.generation);
            })
        });
        Ok((sent, answer.and_then(|bytes| postcard::from_bytes(&bytes).map_err(crate::core::op::garbled))))
    }
}
