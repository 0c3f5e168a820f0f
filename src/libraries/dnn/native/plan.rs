//! A plan that is kept, and its execution.
//!
//! A plan of cuDNN may be executed by one thread at a time, so it has a lock, which is held while it enqueues its kernels. It
//! serves all slots: each passes its own handle, addresses and workspace. Under the same lock are the last packs of addresses: a
//! program executes a plan on few different operands, and making a pack costs about a microsecond.

use super::super::plans::Store;
use super::descriptor::{Descriptor, Refused};
use super::functions::RawDescriptor;
use super::graph::Graph;
use super::handle::{Cudnn, Functions};
use super::recipes::{Made, Planned, made};
use super::target::Target;
use crate::core::buffer::AnySpan;
use crate::core::error::Result;
use crate::core::sync::{Arc, Mutex};
use crate::engines::cuda::{Native, PlanBuilder, Queue};
use crate::engines::library::Object;
use crate::engines::op::Built;
use smallvec::SmallVec;

const VARIANT_PACK: i32 = 16;

/// Packs that a plan keeps: for its operands in turn, as two that are read and written alternately.
const PACKS: usize = 4;

/// Addresses, and the descriptor of them.
struct Pack {
    operands: SmallVec<[(i64, u64); 6]>,
    area: u64,
    descriptor: Descriptor,
}

/// The last packs, and which of them is replaced next.
#[derive(Default)]
struct Packs {
    all: SmallVec<[Pack; PACKS]>,
    oldest: usize,
}

impl Packs {
    /// The pack of these addresses.
    fn of(&mut self, api: &'static Functions, operands: &[(i64, u64)], area: u64) -> Result<RawDescriptor, Refused> {
        if let Some(known) = self.all.iter().find(|pack| pack.area == area && pack.operands[..] == *operands) {
            return Ok(known.descriptor.raw());
        }
        let numbers: SmallVec<[i64; 8]> = operands.iter().map(|(number, _)| *number).collect();
        let addresses: SmallVec<[u64; 8]> = operands.iter().map(|(_, address)| *address).collect();
        let descriptor = Descriptor::new(api, VARIANT_PACK)?
            .ints(1000, &numbers)?
            .pointers(1001, &addresses)?
            .pointers(1003, &[area])?
            .finalized()?;
        let raw = descriptor.raw();
        let made = Pack { operands: operands.into(), area, descriptor };
        match self.all.get_mut(self.oldest) {
            Some(place) => *place = made,
            None => self.all.push(made),
        }
        self.oldest = (self.oldest + 1) % PACKS;
        Ok(raw)
    }
}

/// A plan.
pub(in super::super) struct Plan {
    api: &'static Functions,
    /// Dropped before the plan, which is destroyed late and the packs with it.
    packs: Arc<Mutex<Packs>>,
    raw: Object<Native<RawDescriptor>>,
    workspace: usize,
}

/// An estimate of the device memory of a plan's kernels.
const CODE_BYTES: u64 = 1 << 20;

impl Plan {
    /// Makes a plan, or restores one.
    pub(super) fn build(builder: &PlanBuilder<'_>, wanted: &impl Planned) -> Result<Built<Plan>> {
        let api = builder.api::<Cudnn>()?;
        let free = builder.core()?.free_memory();
        let made = Target::of(api, builder.core()?.context.device)
            .and_then(|target| Ok((made(api, &target, (wanted, free), Store::shared())?, target)));
        let (Made { chosen, graph, .. }, target) = made.map_err(|refused| refused.error(builder))?;
        let workspace = chosen.workspace();
        let packs = Arc::new(Mutex::new(Packs::default()));
        let late = packs.clone();
        // SAFETY: made above; the epoch destroys it once, when nothing uses it. What it was made of goes after it.
        let destroy = move |raw: Native<RawDescriptor>| unsafe {
            let code = api.descriptor_destroy(raw.0);
            drop((graph, target, late));
            code
        };
        let raw = builder.object(chosen.plan.into_raw(), destroy)?;
        Ok(Built { plan: Plan { api, packs, raw, workspace }, bytes: CODE_BYTES })
    }

    /// Enqueues it. `operands`: the numbers of the graph's operands, and their addresses.
    ///
    /// # Safety
    /// The addresses are those of tensors as the graph describes them, which this dispatch may access.
    pub(super) unsafe fn execute(&self, queue: &mut Queue<'_>, operands: &[(i64, u64)]) -> Result<()> {
        let area = queue.workspace(self.workspace)?;
        // SAFETY: the caller's promise; the workspace has the bytes of the plan.
        unsafe { self.execute_in(queue, operands, area) }
    }

    /// Bytes of its workspace.
    pub(super) fn workspace(&self) -> usize {
        self.workspace
    }

    /// As [`execute`](Self::execute), in memory of the caller.
    ///
    /// # Safety
    /// As there; `area` has the bytes of its workspace.
    pub(super) unsafe fn execute_in(&self, queue: &mut Queue<'_>, operands: &[(i64, u64)], area: u64) -> Result<()> {
        let (api, handle) = queue.library::<Cudnn>()?;
        let handle = handle.0;
        let mut packs = self.packs.lock();
        let done = packs.of(self.api, operands, area).and_then(|pack| {
            // SAFETY: the handle is this slot's, whose lease is held; the plan is alive and locked, and so is the pack; the caller
            // vouches for the addresses, and the workspace has the bytes that the plan needs.
            let code = unsafe { api.execute(handle, self.raw.0, pack) };
            code.ok().map_err(|code| Refused::new(api, "cudnnBackendExecute", code))
        });
        drop(packs);
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
