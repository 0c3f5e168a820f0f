//! How a program is sent to a worker process, and what it is there.
//!
//! It is sent once in each generation of the device. It holds, for each step, the code of the operation, the
//! operation's own bytes, and where its operands lie among those of a replay. A replay is then one small order that
//! names the program.

use super::entry::{ALIGN, Operand};
use super::plan::{Node, Place, Plan, Shape, is_heavy};
use super::replay::Replay;
use crate::core::buffer::{Allocation, Home, InitState, Meter, Receive, Region, View, Views};
use crate::core::element::DType;
use crate::core::epoch::Epoch;
use crate::core::error::{Error, Result};
use crate::core::op::{Incoming, garbled, guarded};
use crate::core::order::AccessHistory;
use crate::core::sync::Arc;
use crate::core::trace::OpInfo;
use crate::device::worker::Modules;
use crate::engines::dispatch::Call;
use crate::engines::op::Facts;
use crate::engines::op::OpCode;
use crate::engines::tape::Step;
use crate::engines::worker::With;
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

/// A program in the form that is sent to a worker.
#[derive(Serialize, Deserialize)]
struct Crossed {
    id: u64,
    steps: Vec<CrossedStep>,
    /// For each input or operand: the code of its type, its length, and whether its previous contents are not needed.
    inputs: Vec<(u32, u64, bool)>,
    operands: Vec<(u32, u64, bool)>,
    captured: u32,
    answers: u32,
    arena: u64,
}

/// A step in the form that is sent to a worker.
#[derive(Serialize, Deserialize)]
struct CrossedStep {
    code: u64,
    op: Vec<u8>,
    shape: Vec<u32>,
    /// For each operand: the index of its base address in a replay, its offset from there, and its length, both in
    /// bytes.
    places: Vec<(u32, u64, u64)>,
    after: Vec<u32>,
    answer: Option<u32>,
}

/// A program in a worker process.
pub(crate) struct Arrived {
    pub(super) plan: Arc<Plan>,
    #[cfg(feature = "cuda")]
    pub(super) graphs: Arc<crate::engines::cuda::Graphs>,
}

/// A replay in the form that is sent to a worker: the program's number there, which of its steps run, and whether
/// graphs are asked for.
#[derive(Serialize, Deserialize)]
pub(super) struct Ordered {
    pub(super) program: u64,
    pub(super) part: (u32, u32),
    pub(super) graphs: bool,
}

/// An op that was decoded from its bytes and is now a step.
pub(super) struct ArrivedStep {
    pub(super) step: Arc<Step>,
    pub(super) facts: &'static Facts,
    pub(super) info: OpInfo,
    /// For each operand: whether it is written, and whether the op overwrites it without needing its previous contents.
    pub(super) writes: SmallVec<[(bool, bool); 4]>,
    /// For each operand: the size of an element in bytes.
    pub(super) sizes: SmallVec<[usize; 4]>,
}

/// The bytes that a step is decoded from.
pub(super) struct Packed<'a> {
    pub(super) op: &'a [u8],
    pub(super) shape: &'a [u32],
    /// For each operand: its offset from an address that is aligned for every type, and its length, both in bytes.
    pub(super) operands: &'a mut dyn ExactSizeIterator<Item = (u64, u64)>,
}

fn small(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

#[cold]
fn cut() -> Error {
    Error::library("the recorded program cannot be read")
}

impl Plan {
    /// Serializes the program for a worker.
    pub(super) fn crossing(&self, by: OpCode) -> Result<Vec<u8>> {
        let given = |all: &[Operand]| all.iter().map(|one| (one.dtype as u32, one.len as u64, one.fresh)).collect();
        let mut steps = Vec::with_capacity(self.steps.len());
        for (node, step) in self.nodes.iter().zip(&self.steps) {
            let mut crossing = None;
            guarded(&mut || {
                crossing = Some(step.crossing(by)?); // the user's own code
                Ok(())
            })?;
            let crossing = crossing.ok_or_else(cut)?;
            let places = node.places.iter().zip(&node.uses);
            steps.push(CrossedStep {
                code: crossing.code,
                op: crossing.op,
                shape: crossing.shape,
                places: places.map(|(place, one)| (small(place.base), place.offset, one.bytes)).collect(),
                after: node.after.iter().map(|&step| small(step)).collect(),
                answer: node.answer.map(small),
            });
        }
        let crossed = Crossed {
            id: self.id,
            steps,
            inputs: given(&self.inputs),
            operands: given(&self.operands),
            captured: small(self.captured),
            answers: small(self.answers),
            arena: self.arena,
        };
        postcard::to_stdvec(&crossed).map_err(garbled)
    }
}

impl Arrived {
    /// Decodes a program; `find` finds the operation of each step by its code. `gpu`: whether the device is a GPU.
    pub(crate) fn decode(
        bytes: &[u8],
        gpu: bool,
        find: &mut dyn FnMut(u64, With<'_>) -> Result<()>,
        (epoch, modules): (&Arc<Epoch>, &Modules),
    ) -> Result<Self> {
        let crossed: Crossed = postcard::from_bytes(bytes).map_err(garbled)?;
        let operand = |&(dtype, len, fresh): &(u32, u64, bool)| {
            let (dtype, len) = (DType::from_code(dtype), usize::try_from(len).ok());
            dtype.zip(len).map(|(dtype, len)| Operand { dtype, len, fresh })
        };
        let given = |all: &[(u32, u64, bool)]| all.iter().map(operand).collect::<Option<Vec<_>>>().ok_or_else(cut);
        let (mut nodes, mut steps) = (Vec::with_capacity(crossed.steps.len()), Vec::with_capacity(crossed.steps.len()));
        for (index, one) in crossed.steps.iter().enumerate() {
            let mut arrived = None;
            find(one.code, &mut |call| {
                let operands = &mut one.places.iter().map(|&(_, offset, bytes)| (offset, bytes));
                let packed = Packed { op: &one.op, shape: &one.shape, operands };
                arrived = Some(ArrivedStep::decode(call, packed, (epoch, modules))?);
                Ok(())
            })?;
            let ArrivedStep { step, facts, info, .. } = arrived.ok_or_else(cut)?;
            if one.after.iter().any(|&earlier| earlier as usize >= index) {
                return Err(cut());
            }
            let place = |&(base, offset, _): &(u32, u64, u64)| Place { base: base as usize, offset };
            nodes.push(Node {
                heavy: is_heavy(&info),
                info,
                facts,
                uses: SmallVec::new(),
                places: one.places.iter().map(place).collect(),
                after: one.after.iter().map(|&step| step as usize).collect(),
                before: SmallVec::new(),
                answer: one.answer.map(|answer| answer as usize),
                plans: 0..0,
            });
            steps.push(step);
        }
        let shape = Shape {
            id: crossed.id,
            nodes,
            inputs: given(&crossed.inputs)?,
            operands: given(&crossed.operands)?,
            captured: crossed.captured as usize,
            answers: crossed.answers as usize,
            answered: Vec::new(),
            arena: crossed.arena,
            slots: Vec::new(),
            pieces: Vec::new(),
            parallel: false,
            #[cfg(feature = "cuda")]
            prepared: false,
        };
        Ok(Arrived {
            plan: Arc::new(Plan::complete(shape, steps, gpu)?),
            #[cfg(feature = "cuda")]
            graphs: Arc::default(),
        })
    }
}

impl ArrivedStep {
    /// Decodes a step. Its operands have no real addresses until a replay places them.
    pub(super) fn decode(
        call: &mut Call<'_>,
        packed: Packed<'_>,
        (epoch, modules): (&Arc<Epoch>, &Modules),
    ) -> Result<Self> {
        const NOWHERE: u64 = 1 << 62;
        call.decode(Incoming { bytes: packed.op, lent: None, epoch, modules, at_end: &mut None })?;
        let meter = Arc::new(Meter::new(u64::MAX, u64::MAX));
        let mut next = NOWHERE;
        let region = |(offset, bytes): (u64, u64)| {
            meter.take(bytes)?;
            let (address, len) = (next + offset % ALIGN, usize::try_from(bytes).map_err(|_| cut())?);
            next = bytes
                .checked_next_multiple_of(ALIGN)
                .and_then(|bytes| next.checked_add(bytes)?.checked_add(2 * ALIGN))
                .filter(|next| next.checked_add(ALIGN).is_some()) // see `address`
                .ok_or_else(cut)?;
            let memory = Arc::new(Allocation::new(address, bytes, Home::Empty, meter.clone()));
            Ok(Region::new(memory, epoch.clone(), InitState::Valid, AccessHistory::default(), 0..len))
        };
        let regions = packed.operands.map(region).collect::<Result<Vec<_>>>()?;
        let view = |region| View::new(region, (0, region.window.len()), true);
        let views: Views<'_> = regions.iter().map(view).collect();
        let mut receive =
            Receive { views: views.iter(), shape: packed.shape.iter(), of_file: true, sizes: SmallVec::new() };
        let read_count = call.receive(&mut receive).filter(|_| receive.views.len() == 0).ok_or_else(cut)?;
        let sizes = std::mem::take(&mut receive.sizes);
        // It was checked when it was recorded, but these bytes may come from anywhere.
        call.check()?;
        let operation = call.operation()?;
        let written = |index: usize| index.checked_sub(read_count).map(|write| (true, operation.overwrites(write).all));
        let writes = (0..regions.len()).map(|index| written(index).unwrap_or_default()).collect();
        let (info, facts) = (call.info(None, None)?, call.facts());
        Ok(ArrivedStep { step: call.become_step(0, None)?, facts, info, writes, sizes })
    }
}

impl Replay {
    /// The order that this replay sends to a worker.
    pub(super) fn ordered(&self) -> Result<Ordered> {
        let program = self
            .crossed
            .as_ref()
            .ok_or_else(|| Error::library("internal error: the program was not sent to the worker"))?
            .address;
        #[cfg(feature = "cuda")]
        let graphs = self.graphs.wanted.load(crate::core::sync::Ordering::Relaxed);
        #[cfg(not(feature = "cuda"))]
        let graphs = false;
        Ok(Ordered { program, part: (small(self.part.start), small(self.part.end)), graphs })
    }

    /// The replay that an order names, in the worker.
    pub(super) fn arrived(order: &Ordered, incoming: &Incoming<'_>) -> Result<Self> {
        let arrived = incoming.loaded()?.program(order.program)?;
        #[cfg(feature = "cuda")]
        arrived.graphs.wanted.store(order.graphs, crate::core::sync::Ordering::Relaxed);
        Ok(Replay {
            part: order.part.0 as usize..order.part.1 as usize,
            #[cfg(feature = "cuda")]
            graphs: arrived.graphs.clone(),
            #[cfg(feature = "cuda")]
            reserved: crate::core::sync::Mutex::new(arrived.plan.reserve(incoming.epoch)?),
            plan: arrived.plan.clone(),
            crossed: None,
        })
    }
}
