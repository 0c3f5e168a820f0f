//! One compilation under way, and everybody who waits for it.
//!
//! Whoever asks first for a key is its leader and sends the work to a helper thread; who asks before it is done waits
//! for the same answer. A failure is an answer like any other, a panic too. Nobody waits with a lock held, and helpers
//! wait for nobody, so no circle can form.

use super::Image;
use super::key::Key;
use crate::clock::Deadline;
use crate::engine::process;
use crate::error::Site;
use crate::sync::{Arc, Condvar, Mutex};
use crate::{Error, Result};
use std::collections::{HashMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// A compilation under way.
pub(super) struct Flight {
    answer: Mutex<Option<Result<Image>>>,
    landed: Condvar,
    /// In a forked child nobody works on it, and the lock may be held by a thread that is not there.
    fork_generation: u32,
}

impl Default for Flight {
    fn default() -> Self {
        Flight { answer: Mutex::default(), landed: Condvar::default(), fork_generation: process::fork_generation() }
    }
}

impl Flight {
    pub(super) fn is_done(&self) -> bool {
        process::forked_since(self.fork_generation) || self.answer.lock().is_some()
    }

    /// Waits; `None` when the time ran out first.
    pub(super) fn wait(&self, until: Option<Deadline>) -> Option<Result<Image>> {
        if process::forked_since(self.fork_generation) {
            return Some(Err(Error::DeviceLost {
                cause: "this process was forked from the one that compiles".into(),
                remedy: "fork while nothing compiles, or start another program after the fork".into(),
                site: Site::none(),
            }));
        }
        let mut answer = self.answer.lock();
        while answer.is_none() {
            match until {
                None => self.landed.wait(&mut answer),
                Some(until) => {
                    if self.landed.wait_until(&mut answer, until.wake_at()).timed_out() && until.is_over() {
                        break;
                    }
                }
            }
        }
        answer.clone()
    }

    fn land(&self, answer: Result<Image>) {
        *self.answer.lock() = Some(answer);
        self.landed.notify_all();
    }
}

/// The compilations under way, by what they compile.
#[derive(Default)]
pub(super) struct Flights {
    /// With the fork generation: a forked child has none of its parent's helpers, and waits for none of its flights.
    under_way: Mutex<(u32, HashMap<Key, Arc<Flight>>)>,
}

impl Flights {
    /// The flight for `key`; true when the caller is to see that it lands, by [`Flights::fly`].
    pub(super) fn join(&self, key: &Key) -> (Arc<Flight>, bool) {
        let mut guard = self.under_way.lock();
        let (fork_generation, under_way) = &mut *guard;
        if *fork_generation != process::fork_generation() {
            *fork_generation = process::fork_generation();
            under_way.clear();
        }
        match under_way.get(key) {
            Some(flight) => (flight.clone(), false),
            None => {
                let flight = Arc::<Flight>::default();
                under_way.insert(key.clone(), flight.clone());
                (flight, true)
            }
        }
    }

    /// Lands `flight` with what `work` answers, whatever becomes of it. With a key, the flight is found by others until
    /// then.
    pub(super) fn fly(&self, flight: &Flight, key: Option<&Key>, work: impl FnOnce() -> Result<Image>) {
        let answer = catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
            let text = panic.downcast_ref::<&str>().map(|s| (*s).to_owned());
            let message = text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default();
            Err(Error::Panicked { message, site: Site::none() }.in_op("compile", "nvrtc"))
        });
        // The answer is in the cache by now: who comes later finds it there.
        if let Some(key) = key {
            self.under_way.lock().1.remove(key);
        }
        flight.land(answer);
    }
}

/// Work for a helper thread.
type Job = Box<dyn FnOnce() + Send>;

/// The helper threads of this process.
struct Helpers {
    fork_generation: u32,
    jobs: VecDeque<Job>,
    threads: usize,
    idle: usize,
    work: Arc<Condvar>,
}

static HELPERS: Mutex<Option<Helpers>> = Mutex::new(None);

/// Enough for the deepest templates, which overflow the stack of a usual pool's thread. Only what is used is real.
const STACK: usize = 64 << 20;

/// Runs `job` on a helper thread: at most one a core. They stay, asleep: a thread that ends takes down what the library
/// keeps for each thread, which must not meet the exit of the process.
pub(super) fn help(job: Job) {
    let most = std::thread::available_parallelism().map_or(1, usize::from);
    let start = {
        let mut guard = HELPERS.lock();
        // Those of another process are not here, and their jobs hold what was shared before the fork: left alone.
        if guard.as_ref().is_none_or(|helpers| helpers.fork_generation != process::fork_generation()) {
            let (fork_generation, jobs, work) = (process::fork_generation(), VecDeque::new(), Arc::default());
            std::mem::forget(guard.replace(Helpers { fork_generation, jobs, threads: 0, idle: 0, work }));
        }
        let Some(helpers) = guard.as_mut() else { return };
        helpers.jobs.push_back(job);
        let start = helpers.idle < helpers.jobs.len() && helpers.threads < most;
        helpers.threads += usize::from(start);
        helpers.work.notify_one();
        start
    };
    if start {
        let spawned = std::thread::Builder::new().name("windlass-nvrtc".into()).stack_size(STACK).spawn(stay);
        if spawned.is_err() {
            // No thread to be had: this one will do.
            let jobs = HELPERS.lock().as_mut().map(|helpers| {
                helpers.threads = helpers.threads.saturating_sub(1);
                std::mem::take(&mut helpers.jobs)
            });
            jobs.into_iter().flatten().for_each(|job| job());
        }
    }
}

/// A helper's life.
fn stay() {
    loop {
        let job = {
            let mut guard = HELPERS.lock();
            loop {
                let Some(helpers) = guard.as_mut() else { return };
                match helpers.jobs.pop_front() {
                    Some(job) => break job,
                    None => {
                        helpers.idle += 1;
                        let work = helpers.work.clone();
                        work.wait(&mut guard);
                        if let Some(helpers) = guard.as_mut() {
                            helpers.idle = helpers.idle.saturating_sub(1);
                        }
                    }
                }
            }
        };
        let _ = catch_unwind(AssertUnwindSafe(job));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Clock;
    use crate::sync::{AtomicUsize, Ordering};
    use std::sync::Barrier;
    use std::time::Duration;

    fn image() -> Image {
        Image::ptx(".version 8.0\n.target sm_80\n").unwrap()
    }

    #[test]
    fn who_asks_while_it_is_under_way_waits_for_the_same_answer() {
        let (flights, runs) = (Arc::new(Flights::default()), Arc::new(AtomicUsize::new(0)));
        let (start, key) = (Arc::new(Barrier::new(8)), Key::test(1));
        let threads: Vec<_> = (0..8)
            .map(|_| {
                let (flights, runs, start, key) = (flights.clone(), runs.clone(), start.clone(), key.clone());
                std::thread::spawn(move || {
                    let (flight, leads) = flights.join(&key);
                    start.wait(); // all have joined before the leader begins
                    if leads {
                        flights.fly(&flight, Some(&key), || {
                            runs.fetch_add(1, Ordering::SeqCst);
                            Ok(image())
                        });
                    }
                    flight.wait(None).unwrap().unwrap()
                })
            })
            .collect();
        let images: Vec<_> = threads.into_iter().map(|t| t.join().unwrap()).collect();
        assert_eq!(runs.load(Ordering::SeqCst), 1);
        assert!(images.iter().all(|i| i.is_same(&images[0])));
        assert!(flights.join(&key).1, "the flight is over: the next one leads anew");
    }

    #[test]
    fn failures_and_panics_reach_all_who_wait() {
        let flights = Flights::default();
        let (flight, leads) = flights.join(&Key::test(1));
        let (other, follows) = flights.join(&Key::test(1));
        assert!(leads && !follows && !other.is_done());
        assert_eq!(other.wait(Clock::SYSTEM.after(Duration::from_millis(1))).map(|_| ()), None);
        flights.fly(&flight, Some(&Key::test(1)), || Err(Error::invalid("source", "bad")));
        assert!(matches!(other.wait(None), Some(Err(Error::InvalidArgument { .. }))));
        let (flight, _) = flights.join(&Key::test(1));
        let (other, _) = flights.join(&Key::test(1));
        flights.fly(&flight, Some(&Key::test(1)), || panic!("a wall"));
        match other.wait(None) {
            Some(Err(Error::Panicked { message, .. })) => assert_eq!(message, "a wall"),
            answer => panic!("{answer:?}"),
        }
    }

    #[test]
    fn a_flight_of_another_process_is_lost_and_not_waited_for() {
        let flight = Flight { fork_generation: process::fork_generation() + 1, ..Flight::default() };
        // As it may be in a child: held by a thread that is not there.
        let held = flight.answer.lock();
        assert!(flight.is_done());
        match flight.wait(None) {
            Some(Err(Error::DeviceLost { remedy, .. })) => assert!(remedy.contains("fork")),
            answer => panic!("{answer:?}"),
        }
        drop(held);
        let own = Flight::default();
        assert!(!own.is_done() && own.wait(Clock::SYSTEM.after(Duration::ZERO)).is_none());
    }

    #[test]
    fn helpers_do_every_job_and_survive_a_panic() {
        let (send, receive) = std::sync::mpsc::channel();
        for i in 0..50 {
            let send = send.clone();
            help(Box::new(move || {
                if i % 7 == 0 {
                    panic!("job {i}");
                }
                send.send(i).unwrap();
            }));
        }
        drop(send);
        assert_eq!(receive.iter().count(), 42);
    }
}
