//! `src/engines/host/runners.rs`: whatever is pushed is run, and nobody stays hired.

use crate::bounded;
use crate::subject::runners::{Ready, Runners};
use crate::sync::{Arc, AtomicUsize, Ordering};
use loom::thread;

/// The weakest thing that is still a queue: each item comes out once, and a push or a pop orders nothing else. (The
/// real one gives more; the protocol must not need it.)
struct Weak {
    pushed: AtomicUsize,
    popped: AtomicUsize,
}

impl Ready for Weak {
    type Item = ();
    fn pop(&self) -> Option<()> {
        let pushed = self.pushed.load(Ordering::Relaxed);
        let next = |n| (n < pushed).then_some(n + 1);
        self.popped.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next).ok().map(drop)
    }
    fn is_empty(&self) -> bool {
        self.popped.load(Ordering::Relaxed) >= self.pushed.load(Ordering::Relaxed)
    }
}

struct Engine {
    ready: Weak,
    runners: Runners,
    /// Not loom's: bookkeeping of the model, no part of the protocol.
    ran: std::sync::atomic::AtomicUsize,
    /// How many of the items, the first to run, make another ready.
    parents: usize,
}

impl Engine {
    fn new(max: usize, parents: usize) -> Arc<Self> {
        let ready = Weak { pushed: AtomicUsize::new(0), popped: AtomicUsize::new(0) };
        Arc::new(Engine { ready, runners: Runners::new(max), ran: Default::default(), parents })
    }

    /// `HostEngine::start` of `src/engines/host/queue.rs`. The hired runner is the caller itself; a pool thread would come later,
    /// which another schedule of the same threads covers.
    fn start(&self) {
        self.ready.pushed.fetch_add(1, Ordering::Relaxed);
        if self.runners.hire() {
            self.runners.drain(&self.ready, |()| {
                if self.ran.fetch_add(1, Ordering::Relaxed) < self.parents {
                    self.start();
                }
            });
        }
    }

    /// `HostEngine::run_here`: what is pushed is run by the caller, who goes then, or by somebody else.
    fn run_here(&self) {
        if self.runners.hire() {
            self.ran.fetch_add(1, Ordering::Relaxed);
            let run = |()| {
                let _ = self.ran.fetch_add(1, Ordering::Relaxed);
            };
            self.runners.leave(&self.ready, || self.runners.drain(&self.ready, run));
        } else {
            self.start();
        }
    }
}

/// Threads that push so many each; the first is the model's own.
fn pushers(max: usize, parents: usize, mine: usize, others: &'static [usize]) {
    // Two threads in more detail than three.
    bounded(4 - others.len(), move || {
        let engine = Engine::new(max, parents);
        let push = |engine: Arc<Engine>, count| (0..count).for_each(|_| engine.start());
        let threads: Vec<_> = others
            .iter()
            .map(|&count| {
                let engine = engine.clone();
                thread::spawn(move || push(engine, count))
            })
            .collect();
        push(engine.clone(), mine);
        threads.into_iter().for_each(|t| t.join().unwrap());
        let pushed = mine + others.iter().sum::<usize>() + parents;
        assert_eq!(engine.ran.load(Ordering::Relaxed), pushed, "something was forgotten");
        assert_eq!(engine.runners.busy(), 0);
    });
}

/// Breaks: no look after the resignation; the look before it; a hire that only looks when all are busy; a `Relaxed`
/// hire or resignation.
#[test]
fn a_push_that_finds_the_only_runner_leaving_is_not_forgotten() {
    pushers(1, 0, 1, &[1]);
}

#[test]
fn two_pushes_that_find_the_only_runner_leaving_are_not_forgotten() {
    pushers(1, 0, 1, &[2]);
}

#[test]
fn three_pushers_and_one_runner() {
    pushers(1, 0, 1, &[1, 1]);
}

#[test]
fn three_pushers_and_two_runners() {
    pushers(2, 0, 1, &[1, 1]);
}

/// An op that makes another ready pushes from inside a runner.
#[test]
fn a_push_from_inside_a_runner_is_run() {
    pushers(1, 1, 1, &[1]);
}

/// Breaks: a runner that leaves without a last look, or looks before it resigns.
#[test]
fn a_push_that_finds_the_only_runner_at_one_thing_is_not_forgotten() {
    bounded(4, || {
        let engine = Engine::new(1, 0);
        let theirs = engine.clone();
        let other = thread::spawn(move || theirs.start());
        engine.run_here();
        other.join().unwrap();
        assert_eq!((engine.ran.load(Ordering::Relaxed), engine.runners.busy()), (2, 0));
    });
}
