//! Carries out an order to run an operation.

use super::server::{Server, Task};
use crate::core::buffer::{Receive, Views};
use crate::core::dispatch::Options;
use crate::core::error::{Error, Result};
use crate::core::op::raw::RemoteTarget;
use crate::core::op::wire::Incoming;
use crate::core::order::Then;
use crate::core::sync::Arc;
use crate::device::dispatch::mark_overwritten;
use crate::engines::dispatch::{Call, Submission};
use crate::engines::worker::shared::Relay;

/// Carries out an operation: submits it to the worker's own device.
pub(crate) fn carry_out(call: &mut Call<'_>, server: &Server, task: Task<'_>) -> Result<()> {
    let mut at_end = None;
    let outcome = submit(call, server, task, &mut at_end);
    if outcome.is_err() {
        at_end.into_iter().for_each(|at_end| at_end());
    }
    outcome
}

fn submit(call: &mut Call<'_>, server: &Server, task: Task<'_>, at_end: &mut Option<Then>) -> Result<()> {
    let epoch = server.device.epoch();
    let lent = task.lent.clone();
    let modules = &server.modules;
    call.decode(Incoming { bytes: task.bytes, lent: task.lent, epoch: &epoch, modules, at_end })?;
    let regions = task.operands;
    let mut views: Views<'_> = regions.iter().map(|operand| operand.view()).collect();
    let mut receive =
        Receive { views: views.iter(), shape: task.shape.iter(), of_file: false, sizes: smallvec::SmallVec::new() };
    let read_count = call.receive(&mut receive).filter(|_| receive.views.len() == 0);
    let incomplete = || Error::library("an order's operands differ from those of its operation");
    let read_count = read_count.ok_or_else(incomplete)?;
    mark_overwritten(call, &mut views, read_count);
    let reply = task.reply;
    let options = Options { timed: task.timed, seat: task.seat, ..Options::default() };
    let facts = call.facts();
    let mut submission = Submission::new(&mut *call, facts, &epoch, &options, (&views, read_count));
    submission.relay = Some(Relay { reply: reply.clone(), fault: task.fault });
    server.device.submit_here(&mut submission)?;
    let work = call.take_ongoing().ok_or_else(|| Error::library("internal error: the operation was not submitted"))?;
    let (answered, at_end) = (Arc::clone(&work), at_end.take());
    server.when_settled(
        (call.facts().name, work),
        reply.clone(),
        Box::new(move || {
            reply.left(answered.to_remote(RemoteTarget { lent }), answered.device_time());
            at_end.into_iter().for_each(|at_end| at_end());
        }),
    );
    Ok(())
}
