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

/// The clock of a device, and how long it is patient with what. What the user sets (heartbeat, watchdog, restart policy) is
/// not here.
#[derive(Clone, Debug)]
pub struct Timing {
    /// What limits are measured by.
    pub clock: Clock,
    /// How a thread waits.
    pub waits: Waits,
    /// Between two lives of a device.
    pub recovery: Recovery,
    /// Where memory is short.
    pub memory: Memory,
    /// Pinned memory of a CUDA device.
    pub staging: Staging,
    /// What threads of a CUDA device do when nobody calls.
    pub sweeps: Sweeps,
    /// A worker process, as its parent watches it.
    pub watch: Watch,
    /// A worker process at its own work.
    pub serving: Serving,
    /// Files that processes share.
    pub files: Files,
    /// The end of the process.
    pub exit: Exit,
}

/// How a thread waits.
#[derive(Clone, Debug)]
pub struct Waits {
    /// Pace: how long [`Wait::Adaptive`](crate::Wait::Adaptive) spins, about one round trip of a small op. Beyond it the core
    /// is worth more elsewhere. 20 us.
    pub spin: Duration,
    /// Pace: how long it goes on spinning for work of a GPU, where nobody wakes it, as long as half of the processors are not
    /// spun on. 200 us.
    pub gpu_spin: Duration,
    /// Pace: the pause between looks at work that nobody announces, up to some milliseconds. 40 us.
    pub shortest_pause: Duration,
    /// Pace: the longest one. 1 ms.
    pub longest_pause: Duration,
    /// Pace: the pause between looks where nobody is held up by it. 200 us.
    pub glance: Duration,
    /// Pace: how long the capture of a CUDA graph waits for other threads to come out of the driver, while those that come
    /// wait for it; then it is put off to the next replay. 1 ms.
    pub quiet: Duration,
}

/// Between two lives of a device.
#[derive(Clone, Debug)]
pub struct Recovery {
    /// Pace: how often a wait for health looks at the epoch's flag, which wakes nobody. 1 ms.
    pub look: Duration,
    /// The shortest pause after the first attempt that failed, whatever the policy says; it doubles with each in a row, up
    /// to 1024 times as long. 1 ms.
    pub breather: Duration,
    /// How long a new life waits for what the one before holds: a worker's memory and its GPU. 5 s.
    pub parting: Duration,
    /// How long the answer of a self-test may take. 30 s.
    pub self_test: Duration,
    /// How long [`Device::retrying`](crate::Device::retrying) waits for the device to be healthy again. 60 s.
    pub retrying: Duration,
}

/// Where memory is short.
#[derive(Clone, Debug)]
pub struct Memory {
    /// How long an allocation that found no memory waits for work in flight to give some back. 500 ms.
    pub patience: Duration,
    /// The same for what other threads have in hand, which comes back, unlike what the device has. 5 s.
    pub others: Duration,
}

/// Pinned memory of a CUDA device.
#[derive(Clone, Debug)]
pub struct Staging {
    /// How long a request waits for blocks to come back before it says that there are none. 10 s.
    pub patience: Duration,
    /// The same while nothing is in flight and nobody has any in hand: what is left lies in results that nobody has
    /// fetched, which may never come. 100 ms.
    pub idle_patience: Duration,
    /// Pace: how long one waits for its turn to take several blocks before it looks at the device again. 10 ms.
    pub turn: Duration,
    /// Pace: how long is spun for a piece of a download. 5 ms.
    pub spin: Duration,
    /// Pace: how long one waits for a lock (a slot's lease, the turn to recut) before it tries the others. 1 ms.
    pub one_wait: Duration,
}

/// What threads of a CUDA device do when nobody calls.
#[derive(Clone, Debug)]
pub struct Sweeps {
    /// Pace: the pause before the first sweep. Each asks the driver about every busy slot, and the driver has one lock for all
    /// threads. 1 ms.
    pub first: Duration,
    /// Pace: the longest pause between two sweeps. 8 ms.
    pub longest: Duration,
    /// Pace: how long the thread sleeps when it has nothing to do and nobody wakes it. 5 s.
    pub doze: Duration,
    /// Pace: the longest pause between looks at results that nobody fetches; the first is a sweep's. 1 s.
    pub results: Duration,
    /// How long the end of an epoch whose context is gone waits for who holds a slot. 5 s.
    pub forsaken: Duration,
    /// A helper thread that has had nothing to do for so long ends. 5 s.
    pub helper_idle: Duration,
}

/// A worker process, as its parent watches it.
#[derive(Clone, Debug)]
pub struct Watch {
    /// Pace: while work is in flight, how long what has finished may go unnoticed by those who do not ask. 2 ms.
    pub tick: Duration,
    /// Pace: its shortest nap. 500 us.
    pub shortest_nap: Duration,
    /// Pace: the bounds on the time between two beats of the heart, which is an eighth of the heartbeat that the user allows.
    /// 1 ms, 250 ms.
    pub beat: (Duration, Duration),
    /// Pace: with nothing to do for this long, the watch sleeps until the next look at the heart. 50 ms.
    pub restless: Duration,
    /// Pace: between two looks whether anybody waits for what is in flight. 50 ms.
    pub asking: Duration,
    /// How long what closed its socket may take to end by itself, and so to tell how. 50 ms.
    pub last_breath: Duration,
    /// How long the settling of its work waits for the status of a worker that ended. 500 ms.
    pub reaping: Duration,
    /// How long a worker that was told to end may take, and so may what nobody is served by any more. 2 s.
    pub farewell: Duration,
    /// How long an error waits for the end of the worker that it is about. 2 s.
    pub failed_start: Duration,
    /// How long another thread may take to settle what it has claimed, when the worker is gone. Nobody waits for this. 20 s.
    pub settling: Duration,
    /// How long a look at the count of dispatches waits for threads that settle some. 20 ms.
    pub reap_all: Duration,
    /// Pace: the longest sleep on an answer's flag. 100 ms.
    pub nap: Duration,
    /// Pace: the longest spin for an answer. 200 us.
    pub longest_spin: Duration,
    /// Pace: what a wait counts for at most in the mean that the spin goes by. 500 us.
    pub counted: Duration,
    /// Pace: how long is spun for a piece of a download: longer than the link takes for one. 500 us.
    pub piece_spin: Duration,
    /// How long a sender waits where there is no room in a ring or in shared memory. 10 s.
    pub room: Duration,
    /// How long the answer to how much memory is free may take. 10 s.
    pub question: Duration,
    /// The pause before a standby is replaced that was lost while it waited, or could not be started; it doubles with each
    /// in a row, up to 1024 times as long. 100 ms.
    pub standby_pause: Duration,
    /// The longest that the first use of a library is left out of the watchdog's time: a driver can hang there too. 120 s.
    pub first_use: Duration,
}

/// A worker process at its own work. It has the standard values.
#[derive(Clone, Debug)]
pub struct Serving {
    /// Pace: how long the worker looks for the next order before it sleeps, about a round trip. 30 us.
    pub spin: Duration,
    /// Pace: the same where a GPU is on the way. 100 us.
    pub gpu_spin: Duration,
    /// Pace: the longest sleep on a ring. 500 ms.
    pub nap: Duration,
    /// How long after the first order memory may not be back yet that a worker before this one held. 1 s.
    pub settling: Duration,
    /// Pace: the pause between two tries to have it. 5 ms.
    pub settling_pause: Duration,
    /// Pace: with nothing to see for this long, a looker looks every now and then only. 200 us.
    pub restless: Duration,
    /// Pace: the same while something large arrives: the sleep between two looks, which the system makes several times as long
    /// as it is meant, is half of what a piece takes on the link. 2 ms.
    pub arriving: Duration,
    /// Pace: the shortest pause of a looker that has seen nothing for a while. 20 us.
    pub shortest_pause: Duration,
    /// Pace: the longest one. 1 ms.
    pub longest_pause: Duration,
    /// Pace: how long there is looked for more after the last work was done. 100 us.
    pub look_spin: Duration,
}

/// Files that processes share.
#[derive(Clone, Debug)]
pub struct Files {
    /// A file that is being written for longer was left behind by a process that ended meanwhile; and one whose time is
    /// farther ahead has it from a clock that was set back since. An hour.
    pub abandoned: Duration,
}

/// The end of the process.
#[derive(Clone, Debug)]
pub struct Exit {
    /// How long an exit waits for compilers. What stops is out in some 50 ms; a compiler older than 13 does not stop. 10 s.
    pub compilers: Duration,
    /// How long an exit waits for threads that are inside the driver. 2 s.
    pub driver: Duration,
    /// Pace: the pause between two looks. 100 us.
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

/// Those that tests have made, which live as long as the process; here, so that none counts as lost memory.
static KEPT: Mutex<Vec<&'static Timing>> = Mutex::new(Vec::new());

impl Default for Timing {
    fn default() -> Self {
        STANDARD.clone()
    }
}

impl Timing {
    /// The standard limits by the system's clock.
    #[inline]
    pub(crate) fn standard() -> &'static Timing {
        &STANDARD
    }

    /// The standard limits by a clock that is advanced by hand.
    pub fn by(clock: ManualClock) -> Self {
        Timing { clock: clock.clock(), ..STANDARD.clone() }
    }

    /// Keeps it for good.
    pub(crate) fn keep(self) -> &'static Timing {
        let kept: &'static Timing = Box::leak(Box::new(self));
        KEPT.lock().unwrap_or_else(PoisonError::into_inner).push(kept);
        kept
    }
}
