//! A plan that is kept, and its execution.
//!
//! A plan of cuDNN may be executed by one thread at a time, so it has a lock, which is held while it enqueues its kernels. It
//! serves all slots: each passes its own handle, addresses and workspace.

use super::super::plans::Store;
use super::descriptor::{Descriptor, Refused};
use super::functions::RawDescriptor;
use super::graph::Graph;
use super::handle::{Cudnn, Functions};
use super::recipes::{Made, Planned, made};
use super::target::Target;
use crate::core::buffer::AnySpan;
use crate::core::error::Result;
use crate::core::sync::Mutex;
use crate::engines::cuda::{Native, PlanBuilder, Queue};
use crate::engines::library::Object;
use crate::engines::op::Built;
use smallvec::SmallVec;

const VARIANT_PACK: i32 = 16;

/// A plan.
pub(in super::super) struct Plan {
    api: &'static Functions,
    raw: Object<Native<RawDescriptor>>,
    workspace: usize,
    lock: Mutex<()>,
}

/// An estimate of the device memory of a plan's kernels.
const CODE_BYTES: u64 = 1 << 20;

impl Plan {
    /// Makes a plan, or restores one.
    pub(super) fn build(builder: &PlanBuilder<'_>, wanted: &impl Planned) -> Result<Built<Plan>> {
        let api = builder.api::<Cudnn>()?;
        let free = builder.core.free_memory();
        let made = Target::of(api, builder.core.context.device)
            .and_then(|target| Ok((made(api, &target, (wanted, free), Store::shared())?, target)));
        let (Made { chosen, graph, .. }, target) = made.map_err(|refused| refused.error(builder))?;
        let workspace = chosen.workspace();
        // SAFETY: made above; the epoch destroys it once, when nothing uses it. What it was made of goes after it.
        let destroy = move |raw: Native<RawDescriptor>| unsafe {
            let code = api.descriptor_destroy(raw.0);
            drop((graph, target));
            code
        };
        let raw = builder.object(chosen.plan.into_raw(), destroy);
        Ok(Built { plan: Plan { api, raw, workspace, lock: Mutex::new(()) }, bytes: CODE_BYTES })
    }

    /// Enqueues it. `operands`: the numbers of the graph's operands, and their addresses.
    ///
    /// # Safety
    /// The addresses are those of tensors as the graph describes them, which this dispatch may access.
    pub(super) unsafe fn execute(&self, queue: &mut Queue<'_>, operands: &[(i64, u64)]) -> Result<()> {
        let area = queue.workspace(self.workspace)?;
        let numbers: SmallVec<[i64; 8]> = operands.iter().map(|(number, _)| *number).collect();
        let addresses: SmallVec<[u64; 8]> = operands.iter().map(|(_, address)| *address).collect();
        let (api, handle) = queue.library::<Cudnn>()?;
        let handle = handle.0;
        let pack = Descriptor::new(self.api, VARIANT_PACK).and_then(|pack| {
            pack.ints(1000, &numbers)?.pointers(1001, &addresses)?.pointers(1003, &[area])?.finalized()
        });
        let done = pack.and_then(|pack| {
            let _one = self.lock.lock();
            // SAFETY: the handle is this slot's, whose lease is held; the plan is alive and locked; the caller vouches for the
            // addresses, and the workspace has the bytes that the plan needs.
            let code = unsafe { api.execute(handle, self.raw.0, pack.raw()) };
            code.ok().map_err(|code| Refused::new(api, "cudnnBackendExecute", code))
        });
        done.map_err(|refused| queue.failure::<Cudnn>(&refused.text(), refused.code))
    }
}

/// The address of an operand that is read, or of a copy that is aligned as the library needs.
pub(super) fn aligned(queue: &mut Queue<'_>, span: &AnySpan) -> Result<u64> {
    if span.address().is_multiple_of(Graph::ALIGNMENT as u64) {
        return Ok(span.address());
    }
    let to = queue.scratch(span.bytes())?;
    // SAFETY: the operand, and scratch memory of as many bytes.
    unsafe { queue.copy(to, span.address(), span.bytes()) }?;
    Ok(to)
}

/// Where an operand is written: its own address, or scratch memory that is aligned as the library needs.
pub(super) fn target(queue: &mut Queue<'_>, span: &AnySpan) -> Result<u64> {
    match span.address().is_multiple_of(Graph::ALIGNMENT as u64) {
        true => Ok(span.address()),
        false => queue.scratch(span.bytes()),
    }
}

/// Brings what was written to the operand.
///
/// # Safety
/// `written` is what [`target`] has given for this operand.
pub(super) unsafe fn settle(queue: &mut Queue<'_>, span: &AnySpan, written: u64) -> Result<()> {
    if written == span.address() {
        return Ok(());
    }
    // SAFETY: scratch memory of as many bytes as the operand has.
    unsafe { queue.copy(span.address(), written, span.bytes()) }
}
