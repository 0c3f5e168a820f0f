//! A collective of GPUs in several processes: the mesh lets all of them come to it, then NCCL does it, while the mesh watches.
//!
//! NCCL itself would neither notice that the ranks do not fit together, nor that one of them has died: its kernels wait for
//! ever. So before anything is enqueued all processes agree on the collective, as ranks on host devices do; and the thread
//! that has enqueued it waits for its end, or for a loss. Then the communicator is aborted, which ends its kernels, and the
//! dispatch fails, so that nobody reads what they were to write.

use super::enqueue::enqueue;
use super::group::Group;
use crate::core::clock::{self, Clock};
use crate::core::error::{Error, Result, Site};
use crate::core::sync::Arc;
use crate::engines::cuda::Queue;
use crate::libraries::collective::mesh::{Brought, Mesh, Received, in_turn};
use crate::libraries::collective::spec::{Kind, Layout, Spec};
use std::time::Duration;

/// How long the waiting thread spins: most collectives of few bytes end in that time.
const SPIN: Duration = Duration::from_micros(100);
/// How often it looks afterwards.
const PACE: Duration = Duration::from_micros(50);

/// Carries out the collective with this number.
pub(in crate::libraries::collective) fn run(
    queue: &mut Queue<'_>,
    (spec, layout): (&Spec, &Layout),
    (group, mesh, sequence): (&Group, &Arc<Mesh>, u64),
    operands: (&[u64], &[u64]),
) -> Result<()> {
    let brought = Brought { sequence, small: &[], received: &mut Received::default(), refusal: None };
    in_turn(mesh, (spec, layout), brought, &mut |running, _| {
        match spec.kind {
            // All have come, and what came before is complete.
            Kind::Barrier => return Ok(()),
            Kind::Exchange(_) => running.agree_on_lengths(layout)?,
            _ => {}
        }
        let outcome = enqueue(queue, (spec, layout), group, operands).and_then(|()| complete(queue, group, mesh));
        match outcome {
            // The same in all processes, and nothing was enqueued.
            Err(error @ Error::Unsupported { .. }) => Err(error),
            Err(error) => {
                mesh.resign(&format!("a collective failed in one process: {error}"));
                let lost = mesh.lost(sequence, spec.kind.name());
                group.fail(&lost);
                Err(lost)
            }
            Ok(()) => Ok(()),
        }
    })
}

/// Waits until the work is complete, or cannot be.
fn complete(queue: &mut Queue<'_>, group: &Group, mesh: &Mesh) -> Result<()> {
    let began = Clock::SYSTEM.start();
    let mut device = 0;
    loop {
        while device < queue.devices() && queue.on(device)?.is_complete()? {
            device += 1;
        }
        if device == queue.devices() {
            // It may have been ended by an abort.
            return group.reported().map_or(Ok(()), Err);
        }
        if mesh.is_lost() {
            return Err(mesh.lost(0, "collective"));
        }
        if began.elapsed() < SPIN {
            std::hint::spin_loop();
            continue;
        }
        if let Some(error) = group.reported() {
            return Err(error);
        }
        // The processes have agreed on the collective, but not on what NCCL makes of it.
        if began.elapsed() >= mesh.patience() {
            return Err(Error::Timeout { waited: mesh.patience(), site: Site::none() });
        }
        clock::pause(PACE);
    }
}
