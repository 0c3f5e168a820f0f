//! The op: one for all collectives and types. What it does is decided by its [`Spec`]; its type is that of the operands alone.

use super::host;
use super::memory::Memory;
use super::spec::{Layout, Spec};
use crate::core::buffer::List;
use crate::core::element::Element;
use crate::core::error::{Error, Result};
use crate::core::op::{Bufs, Cost, Immediate, Internal, OpKind, OperandNames, Output, Spans};
#[cfg(target_os = "linux")]
use crate::core::op::{Incoming, Wire};
use crate::core::room;
use crate::core::sync::{Arc, AtomicBool, Ordering};
use crate::engines::cuda_enqueue::Enqueue;
use crate::engines::op::{Op, Slices, SlicesMut, WritesOf};
use std::marker::PhantomData;

/// What a collective writes: a buffer of each rank that receives something, and the communicator's turn, which orders its
/// collectives.
pub(crate) struct Turned<T: Element>(PhantomData<T>);

impl<T: Element> Output for Turned<T> {
    type Writes = (List<T>, u8);
    type Host = ();
    fn join(_: Bufs<Self>, (): ()) -> Result<Self> {
        Ok(Turned(PhantomData))
    }
}

impl<T: Element> Immediate for Turned<T> {
    fn assemble(_: Bufs<Self>) -> Self {
        Turned(PhantomData)
    }
}

/// How the ranks reach each other, besides the memory that they share.
#[derive(Clone)]
pub(super) enum Link {
    /// They are host devices of this process.
    Memory,
    /// They are host devices of several processes.
    Mesh(Arc<super::mesh::Mesh>),
    /// They are GPUs of this process.
    #[cfg(feature = "cuda")]
    Nccl(Arc<super::native::Group>),
    /// They are GPUs of several processes, which agree on each collective by the mesh.
    #[cfg(feature = "cuda")]
    Joined(Arc<super::native::Group>, Arc<super::mesh::Mesh>),
    /// They are isolated devices of this process; their workers know this epoch by its number.
    #[cfg(target_os = "linux")]
    Worker(u64),
}

impl Link {
    /// The connections to other processes.
    #[cfg(target_os = "linux")]
    pub(super) fn mesh(&self) -> Option<&Arc<super::mesh::Mesh>> {
        match self {
            Link::Mesh(mesh) => Some(mesh),
            #[cfg(feature = "cuda")]
            Link::Joined(_, mesh) => Some(mesh),
            #[cfg(feature = "cuda")]
            Link::Nccl(_) => None,
            Link::Memory | Link::Worker(_) => None,
        }
    }
}

pub(super) struct Collective<T> {
    pub(super) spec: Spec,
    pub(super) link: Link,
    /// Its number, for ranks in several processes.
    pub(super) sequence: u64,
    /// In a worker: set when it begins.
    pub(super) begun: Option<Arc<AtomicBool>>,
    pub(super) _type: PhantomData<T>,
}

impl<T: Element> Op for Collective<T> {
    const NAME: &'static str = "collective";
    const OPERANDS: OperandNames = (&["inputs"], &["outputs", "turn"]);
    const LIBRARY: &'static str = "collective";
    // Between processes its CUDA half waits for the others, on a helper (all collectives are enqueued by one).
    const KIND: OpKind = OpKind::Blocking;
    const POOLED: Internal = Internal::YES;
    const ACROSS_DEVICES: bool = true;
    type Reads = (List<T>,);
    type Output = Turned<T>;
    type Raw = ();

    fn check(&self, (reads,): &Spans<Self::Reads>, (writes, _): &Spans<WritesOf<Self>>) -> Result<()> {
        let lens = |spans: &[crate::core::buffer::Span<T>]| spans.iter().map(|span| span.len()).collect::<Vec<_>>();
        self.layout(&lens(reads), &lens(writes)).map(drop)
    }

    #[cfg(target_os = "linux")]
    fn operand_name(&self, index: usize, read_count: usize) -> Option<String> {
        // Of an isolated device: the caller has named the operands of all ranks.
        let isolated = self.begun.is_some() || matches!(self.link, Link::Worker(_));
        isolated.then(|| self.spec.name_among_all(index, read_count)).flatten()
    }

    fn overwrites_each(&self, (writes, _): &Spans<WritesOf<Self>>, index: usize) -> bool {
        index >= writes.len() || self.spec.overwrites(index)
    }

    fn cost(&self) -> Cost {
        Cost::default()
    }

    fn subject(&self) -> Option<&'static &'static str> {
        Some(crate::core::intern::name(self.spec.kind.name()))
    }

    fn host(&self, (reads,): Slices<'_, Self>, (writes, _): SlicesMut<'_, Self>) -> Result<()> {
        self.begin();
        let reads: Vec<&[u8]> = reads.into_iter().map(bytemuck::cast_slice).collect();
        let writes: Vec<&mut [u8]> = writes.into_iter().map(bytemuck::cast_slice_mut).collect();
        self.on_host(reads, writes)
    }

    fn cuda(&self, queue: &mut Enqueue<'_, Self>) -> Result<()> {
        self.begin();
        #[cfg(feature = "cuda")]
        {
            let ((reads,), (writes, _)) = (queue.reads(), queue.writes());
            let spans = |spans: &[crate::core::buffer::Span<T>]| -> (Vec<usize>, Vec<u64>) {
                spans.iter().map(|span| (span.len(), span.address())).unzip()
            };
            let ((read_lens, reads), (write_lens, writes)) = (spans(reads), spans(writes));
            let layout = self.layout(&read_lens, &write_lens)?;
            let (collective, operands) = ((&self.spec, &layout), (&reads[..], &writes[..]));
            match &self.link {
                Link::Nccl(group) => super::native::enqueue(queue, collective, group, operands),
                Link::Joined(group, mesh) => {
                    let outcome = super::native::run(queue, collective, (group, mesh, self.sequence), operands);
                    outcome.map_err(|error| error.in_op(self.spec.kind.name(), "collective"))
                }
                _ => Err(Error::library("internal error: a collective of GPUs without NCCL")),
            }
        }
        #[cfg(not(feature = "cuda"))]
        {
            let _ = queue;
            Err(Error::unsupported("this build has no CUDA engine"))
        }
    }

    fn capturable(&self) -> Result<(), &'static str> {
        Err("a collective belongs to several devices")
    }

    fn finish(&self, (): ()) -> Result<()> {
        Ok(())
    }

    #[cfg(target_os = "linux")]
    fn wire() -> Option<Wire<Self>> {
        let decode = |incoming: Incoming<'_>| {
            let (spec, link, sequence, begun) = super::isolated::decode(incoming, T::DTYPE)?;
            Ok(Collective { spec, link, sequence, begun: Some(begun), _type: PhantomData })
        };
        Some(Wire { encode: |op, out| super::isolated::encode(&op.spec, &op.link, op.sequence, out), decode })
    }
}

impl<T> Collective<T> {
    fn begin(&self) {
        self.begun.iter().for_each(|begun| begun.store(true, Ordering::SeqCst));
    }

    fn layout(&self, reads: &[usize], writes: &[usize]) -> Result<Layout> {
        self.spec.layout(reads, writes).map_err(|error| error.in_op(self.spec.kind.name(), "collective"))
    }

    fn on_host(&self, reads: Vec<&[u8]>, writes: Vec<&mut [u8]>) -> Result<()> {
        let size = self.spec.dtype.size();
        let taken = room::collected(reads.iter().map(|bytes| bytes.len() / size)).and_then(|read_lens| {
            let write_lens = room::collected(writes.iter().map(|bytes| bytes.len() / size))?;
            Ok((self.layout(&read_lens, &write_lens)?, Memory::new(reads, writes, size)?))
        });
        let (layout, memory) = match (taken, &self.link) {
            (Ok(taken), _) => taken,
            (Err(error), Link::Mesh(mesh)) => return super::mesh::refuse(mesh, &self.spec, self.sequence, error),
            (Err(error), _) => return Err(error),
        };
        let outcome = match &self.link {
            Link::Memory => host::run(&self.spec, &layout, &memory),
            Link::Mesh(mesh) => super::mesh::run(mesh, (&self.spec, &layout), &memory, self.sequence),
            #[cfg(any(feature = "cuda", target_os = "linux"))]
            _ => Err(Error::library("internal error: ranks on host devices that are none of this process")),
        };
        outcome.map_err(|error| error.in_op(self.spec.kind.name(), "collective"))
    }
}
