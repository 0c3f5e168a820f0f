//! One generation of a device's context.

use super::life::{Life, Stand};
use super::{AnyEngine, Owner};
use crate::core::buffer::{Allocation, Meter};
use crate::core::clock::Timing;
use crate::core::error::{Error, Result, Site, Stale, Text};
use crate::core::order::Parker;
use crate::core::order::flow::Flow;
use crate::core::process;
use crate::core::sync::{Arc, AtomicU64, Mutex, Ordering};
use crate::core::trace::{AllocationInfo, Counters};
use std::sync::Weak;

/// Why an epoch ended.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cause {
    pub(crate) message: String,
    pub(crate) code: Option<(i32, Text)>,
    pub(crate) last_ops: Vec<Text>,
    /// What would help, if it differs from the general remedy of the engine.
    pub(crate) remedy: Option<&'static str>,
}

/// One generation of a device's context. Buffers hold their epoch, so admission need not ask the device.
pub(crate) struct Epoch {
    /// The device's number in this process; never reused.
    pub(crate) device: u64,
    /// `host:0`, `cuda:1`.
    pub(crate) label: Arc<str>,
    /// The number of this generation, counted from 0 for each device.
    pub(crate) generation: u64,
    pub(crate) life: Arc<Life>,
    pub(crate) engine: AnyEngine,
    pub(crate) meter: Arc<Meter>,
    pub(crate) counters: Arc<Counters>,
    pub(crate) timing: &'static Timing,
    /// Counts its operations, except those that a CUDA engine's slots count.
    pub(crate) flow: Arc<Flow>,
    /// The current generation of the device.
    pub(crate) now: Arc<AtomicU64>,
    pub(crate) owner: Weak<dyn Owner>,
    fork_generation: u32,
    cause: Mutex<Option<Cause>>,
    sleepers: Mutex<Vec<Arc<Parker>>>,
    recent: Mutex<Recent>,
}

/// The names and labels of the last operations, for the report of a fault.
#[derive(Default)]
struct Recent {
    ops: [(&'static str, Option<&'static &'static str>); 8],
    next: usize,
}

/// What an epoch is made from; the rest starts empty.
pub(crate) struct Parts {
    pub(crate) device: u64,
    pub(crate) label: Arc<str>,
    pub(crate) generation: u64,
    pub(crate) life: Arc<Life>,
    pub(crate) engine: AnyEngine,
    pub(crate) meter: Arc<Meter>,
    pub(crate) counters: Arc<Counters>,
    pub(crate) now: Arc<AtomicU64>,
    pub(crate) owner: Weak<dyn Owner>,
}

impl Epoch {
    pub(crate) fn new(parts: Parts) -> Arc<Self> {
        let Parts { device, label, generation, life, engine, meter, counters, now, owner } = parts;
        Arc::new(Epoch {
            device,
            label,
            generation,
            life,
            engine,
            meter,
            flow: counters.begin(),
            timing: counters.timing,
            counters,
            now,
            owner,
            fork_generation: process::fork_generation(),
            cause: Mutex::new(None),
            sleepers: Mutex::default(),
            recent: Mutex::default(),
        })
    }

    /// Whether it may be used. Two loads.
    pub(crate) fn alive(&self) -> bool {
        self.life.alive() && self.fork_generation == process::fork_generation()
    }

    /// Whether this is a forked child, or the process is exiting. What other threads were about to do may then never be
    /// done.
    pub(crate) fn is_left_alone(&self) -> bool {
        self.fork_generation != process::fork_generation()
    }

    /// Whether this process is a child, forked from the one in which the epoch was made.
    pub(crate) fn is_forked(&self) -> bool {
        process::forked_since(self.fork_generation)
    }

    /// Not installed in the device yet; only the thread that builds it uses it.
    pub(crate) fn is_coming(&self) -> bool {
        self.generation > self.now.load(Ordering::SeqCst)
    }

    /// Whether work in flight will no longer end by itself; it settles with the cause instead.
    pub(crate) fn dead(&self) -> bool {
        self.life.dead() || self.fork_generation != process::fork_generation()
    }

    /// Fails with the reason if this epoch is over. It is asked about the epoch of a buffer, so a generation that was
    /// replaced by another one answers [`Error::GpuRefStale`].
    #[inline]
    pub(crate) fn admit(&self) -> Result<()> {
        if self.alive() { Ok(()) } else { Err(self.refusal()) }
    }

    /// As [`admit`](Self::admit), for work that was submitted while the epoch was open: a drain does not stop it.
    #[inline]
    pub(crate) fn go_on(&self) -> Result<()> {
        if self.dead() { Err(self.refusal()) } else { Ok(()) }
    }

    #[cold]
    fn refusal(&self) -> Error {
        let stale = |reason| Error::GpuRefStale { reason, site: Site::none() };
        let error = if self.fork_generation != process::fork_generation() {
            if process::exiting() { stale(Stale::ShuttingDown) } else { Error::forked() }
        } else {
            match self.life.stand() {
                Stand::Gone => stale(Stale::DeviceGone),
                // Torn down after all handles were dropped, or replaced by another generation.
                Stand::Stale if self.owner.strong_count() == 0 => stale(Stale::DeviceGone),
                Stand::Stale => {
                    stale(Stale::Generation { made: self.generation, now: self.now.load(Ordering::Relaxed) })
                }
                Stand::Draining => {
                    Error::ContextPoisoned { cause: "the device is being rebuilt".into(), site: Site::none() }
                }
                _ => self.verdict(),
            }
        };
        error.locate(|site| {
            site.set_device(self.label.to_string(), self.generation);
        })
    }

    /// The error of work in flight when this epoch ends.
    #[cold]
    pub(crate) fn verdict(&self) -> Error {
        let cause = self.cause.lock().clone().unwrap_or_default();
        let message =
            if cause.message.is_empty() { "the device's generation ended".to_string() } else { cause.message };
        let error = if self.is_forked() {
            Error::forked()
        } else if self.life.stand() == Stand::Lost {
            let remedy = cause.remedy.unwrap_or_else(|| self.engine.remedy());
            Error::DeviceLost { cause: message, remedy: remedy.into(), site: Site::none() }
        } else {
            Error::ContextPoisoned { cause: message, site: Site::none() }
        };
        error.locate(|site| {
            if let Some((code, name)) = cause.code {
                site.set_code(code, name);
            }
            site.set_device(self.label.to_string(), self.generation).set_last_ops(cause.last_ops);
        })
    }

    /// Ends this epoch: sets the flag, then wakes every waiter that sleeps on it. True for the caller that changed the
    /// flag.
    pub(crate) fn end(&self, to: Stand, cause: impl FnOnce() -> Cause) -> bool {
        if to >= Stand::Poisoned {
            let mut known = self.cause.lock();
            if known.is_none() {
                *known = Some(cause());
            }
        }
        let first = self.life.end(to);
        for parker in std::mem::take(&mut *self.sleepers.lock()) {
            parker.wake();
        }
        first
    }

    /// A fault was seen: ends this epoch and starts the supervisor.
    pub(crate) fn fault(self: &Arc<Self>, message: impl Into<String>, code: Option<(i32, Text)>) {
        let cause = || Cause { message: message.into(), code, last_ops: self.last_ops(), remedy: None };
        if self.end(Stand::Poisoned, cause) {
            self.counters.faulted(self.cause().map(|cause| cause.message).unwrap_or_default());
            match self.owner.upgrade() {
                Some(owner) => owner.on_fault(self),
                // Only buffers and pendings are left.
                None => self.engine.latch(self.cause()),
            }
        }
    }

    /// Ends the epoch for good. `reason` and `remedy` replace those known so far; the code and the last operations
    /// stay.
    pub(crate) fn end_for_good(&self, reason: &str, remedy: Option<&'static str>) {
        {
            let mut known = self.cause.lock();
            let cause = known.get_or_insert_default();
            (cause.message, cause.remedy) = (reason.to_owned(), remedy);
        }
        self.end(Stand::Lost, Cause::default);
    }

    /// What ended it, for the device's health.
    pub(crate) fn cause(&self) -> Option<Cause> {
        self.cause.lock().clone()
    }

    /// Registers a waiter that is about to sleep. The waiter must look at the flag once more after this.
    pub(crate) fn sleep_on(&self, parker: &Arc<Parker>) {
        self.sleepers.lock().push(parker.clone());
    }

    /// Removes a waiter that no longer sleeps.
    pub(crate) fn forget(&self, parker: &Arc<Parker>) {
        self.sleepers.lock().retain(|p| !Arc::ptr_eq(p, parker));
    }

    /// Remembers an operation's name and label for the report of a fault.
    pub(crate) fn remember(&self, op: &'static str, label: Option<&'static &'static str>) {
        let mut recent = self.recent.lock();
        let at = recent.next % 8;
        if let Some(place) = recent.ops.get_mut(at) {
            *place = (op, label);
        }
        recent.next = recent.next.wrapping_add(1);
    }

    /// Memory was allocated through a handle with this label.
    pub(crate) fn allocated(&self, allocation: &Allocation, label: Option<&'static str>) {
        allocation.name(label);
        if let Some(trace) = self.counters.trace() {
            trace.allocated(&AllocationInfo { bytes: allocation.charged(), label });
        }
    }

    /// The last operations, oldest first.
    pub(crate) fn last_ops(&self) -> Vec<Text> {
        if let Some(names) = self.engine.last_ops() {
            return names;
        }
        let recent = self.recent.lock();
        let (old, new) = recent.ops.split_at(recent.next % 8);
        new.iter().chain(old).filter(|op| !op.0.is_empty()).map(|(name, label)| op_text(name, label.copied())).collect()
    }
}

/// An operation in the list of an error: `gemm`, or `gemm [layer 3]` with its label.
pub(crate) fn op_text(name: &'static str, label: Option<&'static str>) -> Text {
    label.map_or(Text::Borrowed(name), |label| format!("{name} [{label}]").into())
}

impl std::fmt::Debug for Epoch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Epoch({}, generation {}, {:?})", self.label, self.generation, self.life.stand())
    }
}
