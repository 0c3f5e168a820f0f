//! Several outputs of one dispatch, each as a pending of its own.

use super::{Ongoing, PendingDispatch, Subscribed, Task, TaskHold, Wait};
use crate::core::buffer::DeviceBuffer;
use crate::core::clock::{Deadline, Timing};
use crate::core::element::Element;
use crate::core::error::{Error, Result};
use crate::core::op::raw::Landing;
#[cfg(target_os = "linux")]
use crate::core::op::raw::{RemoteResult, RemoteTarget};
use crate::core::op::{AnyOp, Bufs, Made, Output};
use crate::core::order::{Parker, Then};
use crate::core::sync::{Arc, Mutex};
use std::time::Duration;

/// A dispatch that several pendings hold. Its result is taken once, and told to each of them.
struct Joint {
    task: Task<()>,
    told: Mutex<Option<Result<()>>>,
}

impl Drop for Joint {
    fn drop(&mut self) {
        if self.told.get_mut().is_none() {
            self.task.hold.abandon();
        }
    }
}

impl Ongoing for Joint {
    fn is_settled(&self) -> bool {
        self.task.hold.is_settled()
    }
    fn wait(&self, how: Wait, until: Option<Deadline>) -> bool {
        self.task.hold.wait(how, until)
    }
    fn waits_for_hook(&self) -> bool {
        self.task.hold.waits_for_hook()
    }
    fn timing(&self) -> &'static Timing {
        self.task.hold.timing()
    }
    fn failed(&self, error: Error) -> Error {
        self.task.hold.failed(error)
    }
    fn answer(&self, _: &mut Landing, _: &mut Made) -> Result<AnyOp<'_>> {
        self.told.lock().get_or_insert_with(|| self.task.take()).clone()?;
        self.op().ok_or_else(|| Error::library("the operation was not enqueued"))
    }
    fn op(&self) -> Option<AnyOp<'_>> {
        self.task.hold.op()
    }
    #[cfg(target_os = "linux")]
    fn to_remote(&self, to: RemoteTarget) -> Result<RemoteResult> {
        self.task.hold.to_remote(to)
    }
    /// Only when none of the pendings is left.
    fn abandon(&self) {}
    fn recorded(&self) -> Option<(u64, usize)> {
        self.task.hold.recorded()
    }
    fn device_time(&self) -> Option<Duration> {
        self.task.hold.device_time()
    }
    fn subscribe(&self, parker: &Arc<Parker>) -> Subscribed {
        self.task.hold.subscribe(parker)
    }
    fn unsubscribe(&self, parker: &Arc<Parker>) {
        self.task.hold.unsubscribe(parker);
    }
    fn tell(&self, then: Then) -> Option<Then> {
        self.task.hold.tell(then)
    }
    #[cfg(target_os = "linux")]
    fn place(&self) -> Option<(usize, u64)> {
        self.task.hold.place()
    }
    #[cfg(target_os = "linux")]
    fn arrived(&self) -> u64 {
        self.task.hold.arrived()
    }
    #[cfg(target_os = "linux")]
    fn may_run(&self) -> bool {
        self.task.hold.may_run()
    }
}

/// What makes a pending of each output. Without a task there is nothing left to wait for.
pub(crate) struct Each {
    joint: Option<Arc<Joint>>,
    how: (Wait, bool),
}

impl Each {
    pub(super) fn new(task: Option<Task<()>>, how: (Wait, bool)) -> Self {
        Each { joint: task.map(|task| Arc::new(Joint { task, told: Mutex::new(None) })), how }
    }

    /// The pending of an output with these buffers.
    pub(crate) fn of<O: Output<Host = ()>>(&self, buffers: Bufs<O>) -> PendingDispatch<O> {
        let joint = self.joint.clone();
        let task = joint.map(|joint| Task { hold: TaskHold::Shared(joint), conclude: |_, _, _| Ok(()) });
        PendingDispatch::over(task, buffers, self.how)
    }
}

macro_rules! tuples { ($(($($t:ident $k:tt),*))*) => { $(
    impl<$($t: Element),*> PendingDispatch<($(DeviceBuffer<$t>,)*)> {
        /// A pending of each output, of one dispatch: they are ready together, and each may be waited for, read or moved on by
        /// itself.
        pub fn each(self) -> ($(PendingDispatch<DeviceBuffer<$t>>,)*) {
            let (buffers, each) = self.into_each();
            ($(each.of((buffers.$k,)),)*)
        }
    }
)* } }
tuples! { (A 0, B 1)(A 0, B 1, C 2)(A 0, B 1, C 2, D 3) }
