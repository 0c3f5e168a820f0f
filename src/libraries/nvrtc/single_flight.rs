//! Compilations in progress, and the threads that wait for them.
//!
//! The first request for a key is the leader and sends the work to a helper thread. Later requests for the same key
//! wait for the same answer while it runs. An error or a panic is an answer too. No thread waits while it holds a lock,
//! and helper threads wait for no other thread, so there is no deadlock.

use super::Image;
use super::key::Key;
use crate::core::clock::Deadline;
use crate::core::error::{Error, Result, Site};
use crate::core::process;
use crate::core::sync::{Arc, Condvar, Mutex};
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// A compilation in progress.
pub(super) struct Compilation {
    answer: Mutex<Option<Result<Image>>>,
    finished: Condvar,
    /// In a forked child no thread works on it, and the lock may be held by a thread that the child does not have.
    fork_generation: u32,
}

impl Default for Compilation {
    fn default() -> Self {
        Compilation {
            answer: Mutex::default(),
            finished: Condvar::default(),
            fork_generation: process::fork_generation(),
        }
    }
}

impl Compilation {
    pub(super) fn is_done(&self) -> bool {
        process::forked_since(self.fork_generation) || self.answer.lock().is_some()
    }

    /// Waits for the answer; `None` on a timeout.
    pub(super) fn wait(&self, until: Option<Deadline>) -> Option<Result<Image>> {
        if process::forked_since(self.fork_generation) {
            return Some(Err(Error::DeviceLost {
                cause: "this process was forked while another thread compiled".into(),
                remedy: "fork while no compilation runs, or call exec after the fork".into(),
                site: Site::none(),
            }));
        }
        let mut answer = self.answer.lock();
        while answer.is_none() {
            match until {
                None => self.finished.wait(&mut answer),
                Some(until) => {
                    if self.finished.wait_until(&mut answer, until.wake_at()).timed_out() && until.is_over() {
                        break;
                    }
                }
            }
        }
        answer.clone()
    }

    fn finish(&self, answer: Result<Image>) {
        *self.answer.lock() = Some(answer);
        self.finished.notify_all();
    }
}

/// The compilations in progress, by their key.
#[derive(Default)]
pub(super) struct SingleFlight {
    /// With the fork generation: a forked child has no helpers of its parent, and does not wait for its compilations.
    under_way: Mutex<(u32, HashMap<Key, Arc<Compilation>>)>,
}

impl SingleFlight {
    /// The compilation for `key`; true if the caller is the leader and must complete it with [`SingleFlight::run`].
    pub(super) fn join(&self, key: &Key) -> (Arc<Compilation>, bool) {
        let mut guard = self.under_way.lock();
        let (fork_generation, under_way) = &mut *guard;
        if *fork_generation != process::fork_generation() {
            *fork_generation = process::fork_generation();
            under_way.clear();
        }
        match under_way.get(key) {
            Some(compilation) => (compilation.clone(), false),
            None => {
                let compilation = Arc::<Compilation>::default();
                under_way.insert(key.clone(), compilation.clone());
                (compilation, true)
            }
        }
    }

    /// Completes `compilation` with the result of `work`, in every case. If it has a key, other requests find the
    /// compilation until then.
    pub(super) fn run(&self, compilation: &Compilation, key: Option<&Key>, work: impl FnOnce() -> Result<Image>) {
        let answer = catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
            let text = panic.downcast_ref::<&str>().map(|s| (*s).to_owned());
            let message = text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default();
            Err(Error::Panicked { message, site: Site::none() }.in_op("compile", "nvrtc"))
        });
        // The answer is in the cache now, where later requests find it.
        if let Some(key) = key {
            self.under_way.lock().1.remove(key);
        }
        compilation.finish(answer);
    }
}

/// The helper threads of this process, and the fork generation in which they were started.
static HELPERS: Mutex<Option<(u32, rayon::ThreadPool)>> = Mutex::new(None);

/// Enough for the deepest templates, which overflow the stack of an ordinary pool's thread. Only touched pages use
/// memory.
const STACK: usize = 64 << 20;

/// Runs `job` on a helper thread. There is one for each core, and they run until the process ends: a thread that ends
/// destroys the library's thread-local state, which must not happen during the exit of the process.
pub(super) fn help(job: impl FnOnce() + Send + 'static) {
    let job = move || drop(catch_unwind(AssertUnwindSafe(job)));
    let mut helpers = HELPERS.lock();
    // A forked child does not have its parent's threads, and what they share may be locked: that pool is not used.
    if helpers.as_ref().is_none_or(|(made_in, _)| process::forked_since(*made_in)) {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .stack_size(STACK)
            .thread_name(|_| "windlass-nvrtc".into())
            .build();
        let before = std::mem::replace(&mut *helpers, pool.ok().map(|pool| (process::fork_generation(), pool)));
        std::mem::forget(before);
    }
    match &*helpers {
        Some((_, pool)) => pool.spawn(job),
        None => {
            // If no threads can be started, this thread does the work.
            drop(helpers);
            job();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::clock::Clock;
    use crate::core::sync::{AtomicUsize, Ordering};
    use std::sync::Barrier;
    use std::time::Duration;

    fn image() -> Image {
        Image::ptx(".version 8.0\n.target sm_80\n").unwrap()
    }

    #[test]
    fn who_asks_while_it_is_under_way_waits_for_the_same_answer() {
        let (compilations, runs) = (Arc::new(SingleFlight::default()), Arc::new(AtomicUsize::new(0)));
        let (start, key) = (Arc::new(Barrier::new(8)), Key::test(1));
        let threads: Vec<_> = (0..8)
            .map(|_| {
                let (compilations, runs, start, key) = (compilations.clone(), runs.clone(), start.clone(), key.clone());
                std::thread::spawn(move || {
                    let (compilation, leads) = compilations.join(&key);
                    start.wait(); // all have joined before the leader begins
                    if leads {
                        compilations.run(&compilation, Some(&key), || {
                            runs.fetch_add(1, Ordering::SeqCst);
                            Ok(image())
                        });
                    }
                    compilation.wait(None).unwrap().unwrap()
                })
            })
            .collect();
        let images: Vec<_> = threads.into_iter().map(|t| t.join().unwrap()).collect();
        assert_eq!(runs.load(Ordering::SeqCst), 1);
        assert!(images.iter().all(|i| i.is_same(&images[0])));
        assert!(compilations.join(&key).1, "the compilation is over: the next one leads anew");
    }

    #[test]
    fn failures_and_panics_reach_all_who_wait() {
        let compilations = SingleFlight::default();
        let (compilation, leads) = compilations.join(&Key::test(1));
        let (other, follows) = compilations.join(&Key::test(1));
        assert!(leads && !follows && !other.is_done());
        assert_eq!(other.wait(Clock::SYSTEM.after(Duration::from_millis(1))).map(|_| ()), None);
        compilations.run(&compilation, Some(&Key::test(1)), || Err(Error::invalid("source", "bad")));
        assert!(matches!(other.wait(None), Some(Err(Error::InvalidArgument { .. }))));
        let (compilation, _) = compilations.join(&Key::test(1));
        let (other, _) = compilations.join(&Key::test(1));
        compilations.run(&compilation, Some(&Key::test(1)), || panic!("a wall"));
        match other.wait(None) {
            Some(Err(Error::Panicked { message, .. })) => assert_eq!(message, "a wall"),
            answer => panic!("{answer:?}"),
        }
    }

    #[test]
    fn a_flight_of_another_process_is_lost_and_not_waited_for() {
        let compilation = Compilation { fork_generation: process::fork_generation() + 1, ..Compilation::default() };
        // As can happen in a forked child: held by a thread that does not exist there.
        let held = compilation.answer.lock();
        assert!(compilation.is_done());
        match compilation.wait(None) {
            Some(Err(Error::DeviceLost { remedy, .. })) => assert!(remedy.contains("fork")),
            answer => panic!("{answer:?}"),
        }
        drop(held);
        let own = Compilation::default();
        assert!(!own.is_done() && own.wait(Clock::SYSTEM.after(Duration::ZERO)).is_none());
    }

    #[test]
    fn helpers_do_every_job_and_survive_a_panic() {
        let (send, receive) = std::sync::mpsc::channel();
        for i in 0..50 {
            let send = send.clone();
            help(move || {
                if i % 7 == 0 {
                    panic!("job {i}");
                }
                send.send(i).unwrap();
            });
        }
        drop(send);
        assert_eq!(receive.iter().count(), 42);
    }
}
