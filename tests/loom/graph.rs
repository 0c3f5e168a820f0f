//! Dependency counting: a node starts once, when all it follows has settled, and sees what that wrote.
//!
//! [`Node`] stands for `Node` of `src/engines/host/node.rs`, whose types cannot be had without an engine. It mirrors three
//! places there: `Follower::settled`, `Runnable::dep_done`, and in `HostEngine::submit` the loop over `edges` with the
//! guard dropped at its end ([`Node::follow`]).

use crate::bounded;
use crate::subject::settle::{Settle, Waiter};
use crate::sync::{Arc, AtomicUsize, Ordering};
use loom::cell::UnsafeCell;
use loom::thread;

struct Node {
    core: Settle<&'static str, Follower>,
    /// What the node works out; its followers read it.
    data: UnsafeCell<u32>,
    starts: AtomicUsize,
}

struct Follower {
    node: Arc<Node>,
    data: bool,
    reads: Vec<Arc<Node>>,
}

impl Waiter<&'static str> for Follower {
    fn settled(self, failure: Option<&&'static str>) {
        if failure.is_some() && self.data {
            self.node.core.taint(failure.copied());
        }
        self.node.dep_done(&self.reads);
    }
    fn same(&self, _: &Self) -> bool {
        false
    }
}

impl Node {
    fn new() -> Arc<Self> {
        Arc::new(Node { core: Settle::new(), data: UnsafeCell::new(0), starts: AtomicUsize::new(0) })
    }

    fn dep_done(&self, reads: &[Arc<Node>]) {
        if self.core.dep_done() {
            self.run(reads);
        }
    }

    /// Adds up what it reads, on the thread that made it ready.
    fn run(&self, reads: &[Arc<Node>]) {
        assert_eq!(self.starts.fetch_add(1, Ordering::Relaxed), 0, "started twice");
        if self.core.is_tainted() {
            assert!(self.core.settle(Err("upstream")));
            return;
        }
        let sum: u32 = reads.iter().map(|r| r.data.with(|data| unsafe { *data })).sum();
        self.data.with_mut(|data| unsafe { *data = sum });
        assert!(self.core.settle(Ok(())));
    }

    /// Follows each of `reads` along a data edge, or only in order.
    fn follow(node: &Arc<Node>, reads: &[Arc<Node>], data: bool) {
        for dep in reads {
            node.core.add_dep();
            if !dep.core.subscribe(Follower { node: node.clone(), data, reads: reads.to_vec() }) {
                if data && dep.core.has_failed() {
                    node.core.taint(dep.core.error());
                }
                node.core.dep_done();
            }
        }
        node.dep_done(reads);
    }

    fn finish(&self, value: u32) {
        self.data.with_mut(|data| unsafe { *data = value });
        assert!(self.core.settle(Ok(())));
    }
}

/// Breaks: a `Relaxed` `dep_done` (the one that starts does not see what the other wrote); a guard that is dropped
/// before the loop (a start while it is still being linked, or two).
#[test]
fn a_node_starts_once_and_sees_what_all_it_follows_wrote() {
    bounded(4, || {
        let (a, b, c) = (Node::new(), Node::new(), Node::new());
        let threads = [(a.clone(), 1), (b.clone(), 2)].map(|(node, value)| thread::spawn(move || node.finish(value)));
        Node::follow(&c, &[a, b], true);
        for thread in threads {
            thread.join().unwrap();
        }
        assert_eq!(c.starts.load(Ordering::Relaxed), 1, "a lost wake-up");
        assert!(c.core.is_settled());
        assert_eq!(c.data.with(|data| unsafe { *data }), 3);
    });
}

/// One of two inputs fails. Breaks: `taint` after its `dep_done`; no look at `has_failed` after a refused `subscribe`.
#[test]
fn a_failure_flows_along_a_data_edge_and_is_seen_at_the_start() {
    bounded(4, || {
        let (a, b, c) = (Node::new(), Node::new(), Node::new());
        let failing = {
            let a = a.clone();
            thread::spawn(move || assert!(a.core.settle(Err("broken"))))
        };
        let fine = {
            let b = b.clone();
            thread::spawn(move || b.finish(2))
        };
        Node::follow(&c, &[a, b], true);
        failing.join().unwrap();
        fine.join().unwrap();
        assert_eq!(c.starts.load(Ordering::Relaxed), 1);
        assert_eq!(c.core.error(), Some("upstream"));
    });
}

#[test]
fn a_failure_does_not_flow_along_an_edge_of_mere_order() {
    loom::model(|| {
        let (a, c) = (Node::new(), Node::new());
        let failing = {
            let a = a.clone();
            thread::spawn(move || assert!(a.core.settle(Err("broken"))))
        };
        Node::follow(&c, &[a], false);
        failing.join().unwrap();
        assert_eq!(c.starts.load(Ordering::Relaxed), 1);
        assert!(c.core.is_settled() && !c.core.has_failed());
    });
}

/// A chain linked by two threads while its head runs on a third: each starts after the one before it.
#[test]
fn a_chain_runs_in_order_however_it_is_linked() {
    loom::model(|| {
        let (a, b, c) = (Node::new(), Node::new(), Node::new());
        let head = {
            let a = a.clone();
            thread::spawn(move || a.finish(5))
        };
        let tail = {
            let (b, c) = (b.clone(), c.clone());
            thread::spawn(move || Node::follow(&c, &[b], true))
        };
        Node::follow(&b, &[a], true);
        head.join().unwrap();
        tail.join().unwrap();
        assert_eq!(c.starts.load(Ordering::Relaxed), 1);
        assert_eq!(c.data.with(|data| unsafe { *data }), 5);
    });
}
