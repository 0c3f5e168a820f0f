//! Every limit and every pace, in one value.

use super::{Clock, ManualClock};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

const fn us(n: u64) -> Duration {
    Duration::from_micros(n)
}

const fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

const fn s(n: u64) -> Duration {
    Duration::from_secs(n)
}

/// The clock of a device, and all its limits and paces. What the user sets (heartbeat, watchdog, restart policy) is not
/// here.
#[derive(Clone, Debug)]
pub struct Timing {
    /// The clock that measures the limits.
    pub clock: Clock,
    /// How a thread waits.
    pub waits: Waits,
    /// Between two generations of a device.
    pub recovery: Recovery,
    /// When memory is short.
    pub memory: Memory,
    /// Pinned memory of a CUDA device.
    pub staging: Staging,
    /// The background threads of a CUDA device.
    pub sweeps: Sweeps,
    /// A worker process, as its parent watches it.
    pub watch: Watch,
    /// A worker process, while it carries out orders.
    pub serving: Serving,
    /// Files that processes share.
    pub files: Files,
    /// The exit of the process.
    pub exit: Exit,
}

/// How a thread waits.
#[derive(Clone, Debug)]
pub struct Waits {
    /// Pace: how long [`Wait::Adaptive`](crate::Wait::Adaptive) spins, about one round trip of a small op. After that,
    /// the core is worth more elsewhere. 20 us.
    pub spin: Duration,
    /// Pace: how much longer it spins for work of a GPU, which wakes no waiters, as long as half of the processors are
    /// not spun on. 200 us.
    pub gpu_spin: Duration,
    /// Pace: the pause between polls of work whose end is not announced, in waits of up to some milliseconds. 40 us.
    pub shortest_pause: Duration,
    /// Pace: the longest such pause. 1 ms.
    pub longest_pause: Duration,
    /// Pace: the pause between polls whose latency matters little. 200 us.
    pub glance: Duration,
    /// Pace: how long the capture of a CUDA graph waits for other threads to leave the driver, while threads that
    /// arrive wait for the capture. After that, the capture is put off to a later replay. 1 ms.
    pub quiet: Duration,
}

/// Between two generations of a device.
#[derive(Clone, Debug)]
pub struct Recovery {
    /// Pace: how often a wait for health looks at the epoch's flag, which wakes no waiter. 1 ms.
    pub look: Duration,
    /// The shortest pause after the first attempt that failed, whatever the policy says. It doubles with each
    /// consecutive one, up to 1024 times as long. 1 ms.
    pub breather: Duration,
    /// How long a new generation waits for what the previous one holds: a worker's memory and its GPU. 5 s.
    pub parting: Duration,
    /// How long the result of a self-test may take. 30 s.
    pub self_test: Duration,
    /// How long [`Device::retrying`](crate::Device::retrying) waits for the device to be healthy again. 60 s.
    pub retrying: Duration,
}

/// When memory is short.
#[derive(Clone, Debug)]
pub struct Memory {
    /// How long an allocation that found no memory waits for work in flight to free some. 500 ms.
    pub patience: Duration,
    /// The same while other threads are about to free some: theirs comes back, but work on the device may never end.
    /// 5 s.
    pub others: Duration,
}

/// Pinned memory of a CUDA device.
#[derive(Clone, Debug)]
pub struct Staging {
    /// How long a request waits for blocks to be given back before it fails. 10 s.
    pub patience: Duration,
    /// The same while nothing is in flight and no other thread holds a block. The rest is in results that were not
    /// fetched yet, and may never be. 100 ms.
    pub idle_patience: Duration,
    /// Pace: how long a thread waits for its turn to take several blocks before it looks at the device again. 10 ms.
    pub turn: Duration,
    /// Pace: how long a download spins for its next piece. 5 ms.
    pub spin: Duration,
    /// Pace: how long a thread waits for one lock (a slot's lease, the right to recut blocks) before it tries others.
    /// 1 ms.
    pub one_wait: Duration,
}

/// The background threads of a CUDA device.
#[derive(Clone, Debug)]
pub struct Sweeps {
    /// Pace: the pause before the first sweep. Each sweep asks the driver about every busy slot, and the driver has one
    /// lock for all threads. 1 ms.
    pub first: Duration,
    /// Pace: the longest pause between two sweeps. 8 ms.
    pub longest: Duration,
    /// Pace: how long the thread sleeps when it has nothing to do and is not woken. 5 s.
    pub doze: Duration,
    /// Pace: after the device was closed, the longest pause between checks for results that are not fetched yet; the
    /// first pause is `first`. 1 s.
    pub results: Duration,
    /// How long the end of an epoch whose context is gone waits for the thread that holds a slot. 5 s.
    pub forsaken: Duration,
    /// A helper thread ends after it has had nothing to do for this long. 5 s.
    pub helper_idle: Duration,
}

/// A worker process, as its parent watches it.
#[derive(Clone, Debug)]
pub struct Watch {
    /// Pace: while work is in flight, how long finished work may stay unsettled if no thread polls for it. 2 ms.
    pub tick: Duration,
    /// Pace: the shortest sleep of the thread that watches the worker. 500 us.
    pub shortest_nap: Duration,
    /// Pace: the bounds on the time between two heartbeats of the worker; it is an eighth of the heartbeat limit that
    /// the user sets. 1 ms, 250 ms.
    pub beat: (Duration, Duration),
    /// Pace: after nothing was in flight for this long, the watching thread sleeps until its next heartbeat check.
    /// 50 ms.
    pub restless: Duration,
    /// Pace: after the device was dropped, the time between two checks whether any thread needs the work in flight.
    /// 50 ms.
    pub asking: Duration,
    /// How long a worker that closed its socket may take to exit by itself, so that its exit status is known. 50 ms.
    pub last_breath: Duration,
    /// How long the status of a killed worker is waited for before its work is settled. 500 ms.
    pub reaping: Duration,
    /// How long a worker that was told to end may take. Also how long work may go on that is of no use to any thread
    /// any more. 2 s.
    pub farewell: Duration,
    /// A poll of the driver that takes this long is a stall of the driver. 20 ms.
    pub stall: Duration,
    /// From this length on, a stall is no stall, but a driver that hangs. 10 s.
    pub longest_stall: Duration,
    /// How long a fault on one GPU may stall the others, around the time at which it is seen. 1 s.
    pub fault_stall: Duration,
    /// How long an error waits for the exit of the worker that failed to start. 2 s.
    pub failed_start: Duration,
    /// How long another thread may take, when the worker is gone, to settle what it has claimed. This delays no caller.
    /// 20 s.
    pub settling: Duration,
    /// How long reading the number of dispatches in flight waits for threads that are settling some. 20 ms.
    pub reap_all: Duration,
    /// Pace: the longest sleep on an answer's flag. 100 ms.
    pub nap: Duration,
    /// Pace: the longest spin for an answer. 200 us.
    pub longest_spin: Duration,
    /// Pace: the most that one wait contributes to the mean from which the spin is computed. 500 us.
    pub counted: Duration,
    /// Pace: how long a download spins for its next piece: longer than the link takes for one. 500 us.
    pub piece_spin: Duration,
    /// How long a sender waits for space in a ring or in shared memory. 10 s.
    pub room: Duration,
    /// How long the worker may take to answer how much memory is free. 10 s.
    pub question: Duration,
    /// The pause before a standby is replaced that was lost while it waited, or could not be started. It doubles with
    /// each consecutive one, up to 1024 times as long. 100 ms.
    pub standby_pause: Duration,
    /// How long the first use of a library is excluded from the watchdog's time at most: a driver can hang there too.
    /// 120 s.
    pub first_use: Duration,
}

/// A worker process, while it carries out orders. It uses the standard values.
#[derive(Clone, Debug)]
pub struct Serving {
    /// Pace: how long the worker spins for the next order before it sleeps, about a round trip. 30 us.
    pub spin: Duration,
    /// Pace: the same for a worker with a GPU. 100 us.
    pub gpu_spin: Duration,
    /// Pace: the longest sleep on a ring. 500 ms.
    pub nap: Duration,
    /// For how long after the first one allocations are retried, because memory of a previous worker may not be free
    /// yet. 1 s.
    pub settling: Duration,
    /// Pace: the pause between two such retries. 5 ms.
    pub settling_pause: Duration,
    /// Pace: after nothing has happened for this long, the completion poller pauses between polls. 200 us.
    pub restless: Duration,
    /// Pace: the same while bulk data arrives. The pause between two polls, which the system makes several times longer
    /// than requested, is then half of what a piece takes on the link. 2 ms.
    pub arriving: Duration,
    /// Pace: the completion poller's shortest pause. 20 us.
    pub shortest_pause: Duration,
    /// Pace: its longest pause. 1 ms.
    pub longest_pause: Duration,
    /// Pace: how long the poller spins for new work after the last work was done. 100 us.
    pub look_spin: Duration,
}

/// Files that processes share.
#[derive(Clone, Debug)]
pub struct Files {
    /// A file that has been written for longer than this was left behind by a process that ended meanwhile. A file
    /// whose time is farther ahead than this got it from a clock that was set back since. An hour.
    pub abandoned: Duration,
}

/// The exit of the process.
#[derive(Clone, Debug)]
pub struct Exit {
    /// How long an exit waits for compilers. A compilation that stops takes some 50 ms; a compiler before version 13
    /// does not stop. 10 s.
    pub compilers: Duration,
    /// How long an exit waits for threads that are inside the driver. 2 s.
    pub driver: Duration,
    /// Pace: the pause between two polls. 100 us.
    pub look: Duration,
}

static STANDARD: Timing = Timing {
    clock: Clock::SYSTEM,
    waits: Waits {
        spin: us(20),
        gpu_spin: us(200),
        shortest_pause: us(40),
        longest_pause: ms(1),
        glance: us(200),
        quiet: ms(1),
    },
    recovery: Recovery { look: ms(1), breather: ms(1), parting: s(5), self_test: s(30), retrying: s(60) },
    memory: Memory { patience: ms(500), others: s(5) },
    staging: Staging { patience: s(10), idle_patience: ms(100), turn: ms(10), spin: ms(5), one_wait: ms(1) },
    sweeps: Sweeps { first: ms(1), longest: ms(8), doze: s(5), results: s(1), forsaken: s(5), helper_idle: s(5) },
    watch: Watch {
        tick: ms(2),
        shortest_nap: us(500),
        beat: (ms(1), ms(250)),
        restless: ms(50),
        asking: ms(50),
        last_breath: ms(50),
        reaping: ms(500),
        farewell: s(2),
        stall: ms(20),
        longest_stall: s(10),
        fault_stall: s(1),
        failed_start: s(2),
        settling: s(20),
        reap_all: ms(20),
        nap: ms(100),
        longest_spin: us(200),
        counted: us(500),
        piece_spin: us(500),
        room: s(10),
        question: s(10),
        standby_pause: ms(100),
        first_use: s(120),
    },
    serving: Serving {
        spin: us(30),
        gpu_spin: us(100),
        nap: ms(500),
        settling: s(1),
        settling_pause: ms(5),
        restless: us(200),
        arriving: ms(2),
        shortest_pause: us(20),
        longest_pause: ms(1),
        look_spin: us(100),
    },
    files: Files { abandoned: s(3600) },
    exit: Exit { compilers: s(10), driver: s(2), look: us(100) },
};

/// Values made by tests, which live as long as the process. Kept here so that leak checkers do not report them.
static KEPT: Mutex<Vec<&'static Timing>> = Mutex::new(Vec::new());

impl Default for Timing {
    fn default() -> Self {
        STANDARD.clone()
    }
}

impl Timing {
    /// The standard limits, with the system's clock.
    #[inline]
    pub(crate) fn standard() -> &'static Timing {
        &STANDARD
    }

    /// The standard limits, with a clock that is advanced by hand.
    pub fn by(clock: ManualClock) -> Self {
        Timing { clock: clock.clock(), ..STANDARD.clone() }
    }

    /// Leaks it, so that it lives as long as the process.
    pub(crate) fn keep(self) -> &'static Timing {
        let kept: &'static Timing = Box::leak(Box::new(self));
        KEPT.lock().unwrap_or_else(PoisonError::into_inner).push(kept);
        kept
    }
}
