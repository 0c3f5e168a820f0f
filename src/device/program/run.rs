//! A replay on the CPU.
//!
//! Steps run in the order in which they were recorded, on one thread of the device's pool. If at least two steps that
//! do not depend on each other are heavy enough, steps run in parallel: each starts when the last step that it follows
//! is done, on any free thread of the pool. A step that is not heavy runs on the thread that made it ready.

use super::plan::{Node, Plan};
use crate::core::error::{Error, Result};
use crate::core::op::guarded;
use crate::core::sync::{AtomicBool, AtomicUsize, Mutex, Ordering};
use crate::engines::tape::step::Cell;
use smallvec::SmallVec;
use std::ops::Range;

/// One replay in progress.
struct Run<'r> {
    plan: &'r Plan,
    /// For each step, the number of steps that it follows and that are not done yet. Empty if steps run one after
    /// another.
    left: Vec<AtomicUsize>,
    failed: AtomicBool,
    /// The failure of the earliest failed step, with that step's number.
    failure: Mutex<Option<(usize, Error)>>,
    cells: Mutex<Vec<u8>>,
}

impl Plan {
    /// Runs the steps of `part`. Returns the answers that all of them left.
    ///
    /// # Safety
    /// The operands of the steps lie in live memory of this process, at least as long as recorded. Meanwhile no other
    /// code writes this memory, and no other code reads what the steps write.
    pub(super) unsafe fn run(&self, part: &Range<usize>) -> Result<Vec<u8>> {
        let whole = part.len() == self.nodes.len();
        let beside = whole && self.parallel && rayon::current_num_threads() > 1;
        let left = match beside {
            true => self.nodes.iter().map(|node| AtomicUsize::new(node.after.len())).collect(),
            false => Vec::new(),
        };
        let run = Run {
            plan: self,
            left,
            failed: AtomicBool::new(false),
            failure: Mutex::new(None),
            cells: Mutex::new(vec![0; self.answers * size_of::<Cell>()]),
        };
        if beside {
            rayon::scope(|scope| run.begin(scope));
        } else {
            for index in part.clone() {
                run.step(index);
                if run.failed.load(Ordering::Relaxed) {
                    break;
                }
            }
        }
        match run.failure.into_inner() {
            Some((_, error)) => Err(error),
            None => Ok(run.cells.into_inner()),
        }
    }
}

/// Steps that are ready to run.
type Ready = SmallVec<[usize; 8]>;

impl<'r> Run<'r> {
    /// Starts the steps that follow no other step.
    fn begin<'s>(&'s self, scope: &rayon::Scope<'s>) {
        let mut ready = Ready::new();
        for (index, node) in self.plan.nodes.iter().enumerate().filter(|(_, node)| node.after.is_empty()) {
            self.add(scope, &mut ready, index, node);
        }
        self.go(scope, ready);
    }

    fn add<'s>(&'s self, scope: &rayon::Scope<'s>, ready: &mut Ready, index: usize, node: &Node) {
        if node.heavy && !ready.is_empty() {
            scope.spawn(move |scope| self.go(scope, SmallVec::from_iter([index])));
        } else {
            ready.push(index);
        }
    }

    /// Runs steps that are ready, and those that become ready through them.
    fn go<'s>(&'s self, scope: &rayon::Scope<'s>, mut ready: Ready) {
        while let Some(index) = ready.pop() {
            if self.failed.load(Ordering::Relaxed) {
                return;
            }
            self.step(index);
            for &next in self.plan.nodes.get(index).map(|node| &node.before[..]).unwrap_or_default() {
                // The thread that makes the last decrement sees the writes of all steps before it.
                let last = self.left.get(next).is_some_and(|left| left.fetch_sub(1, Ordering::AcqRel) == 1);
                if let Some(node) = self.plan.nodes.get(next).filter(|_| last) {
                    self.add(scope, &mut ready, next, node);
                }
            }
        }
    }

    fn step(&self, index: usize) {
        let (Some(node), Some(step)) = (self.plan.nodes.get(index), self.plan.steps.get(index)) else { return };
        let mut cell = None;
        let outcome = guarded(&mut || {
            // SAFETY: the caller of `run` vouches for the memory. Within this replay no step runs in parallel with one
            // that it follows or that follows it, so no other step writes what this one uses, or uses what it writes.
            cell = Some(unsafe { step.host() }?);
            Ok(())
        });
        match (outcome, cell, node.answer) {
            (Ok(()), Some(cell), Some(answer)) => {
                let at = answer * size_of::<Cell>();
                if let Some(place) = self.cells.lock().get_mut(at..at + size_of::<Cell>()) {
                    place.copy_from_slice(&cell);
                }
            }
            (Ok(()), ..) => {}
            (Err(error), ..) => {
                let error = error.in_op(node.info.op, node.info.library);
                let mut failure = self.failure.lock();
                if failure.as_ref().is_none_or(|(earlier, _)| index < *earlier) {
                    *failure = Some((index, error));
                }
                self.failed.store(true, Ordering::Relaxed);
            }
        }
    }
}
