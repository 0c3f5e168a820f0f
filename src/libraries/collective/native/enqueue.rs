//! The CUDA half: the calls of all ranks in one group, each on its device's stream for collectives.
//!
//! A group is enqueued as a whole by one thread, so no rank waits for another that is not enqueued yet. If a call fails, what
//! the group did is not known: the communicators are aborted, and made again by the next collective.

use super::functions::{Comm, NcclFunctions};
use super::group::{Group, failure, is_fine};
use super::ordered;
use crate::core::element::DType;
use crate::core::error::{Error, Result};
use crate::engines::cuda::Queue;
use crate::engines::library::Code;
use crate::libraries::collective::combine::How;
use crate::libraries::collective::numbers::scalars;
use crate::libraries::collective::spec::{Kind, Layout, Operand, Part, Place, Spec};
use cudarc::driver::sys::CUstream;
use std::ffi::c_int;

/// `ncclUint8`: what is moved is moved as bytes.
const BYTES: c_int = 1;

/// Everything that the calls of one group need.
pub(super) struct Calls<'c> {
    pub(super) api: &'static NcclFunctions,
    pub(super) group: &'c Group,
    pub(super) comms: &'c [Comm],
    /// The first rank of this process: that of the first communicator.
    pub(super) first: usize,
    pub(super) streams: &'c [CUstream],
    /// The addresses of the operands: read, written.
    pub(super) operands: (&'c [u64], &'c [u64]),
    pub(super) size: usize,
}

/// Enqueues a collective over the devices of `queue`, in their order.
pub(in crate::libraries::collective) fn enqueue(
    queue: &mut Queue<'_>,
    (spec, layout): (&Spec, &Layout),
    group: &Group,
    (reads, writes): (&[u64], &[u64]),
) -> Result<()> {
    let mut streams = Vec::with_capacity(queue.devices());
    for device in 0..queue.devices() {
        streams.push(queue.on(device)?.stream());
    }
    let outcome = group.with(|api, comms| {
        let (operands, size) = ((reads, writes), spec.dtype.size());
        let calls = Calls { api, group, comms, first: spec.first, streams: &streams, operands, size };
        match spec.reduction {
            Some(_) if spec.deterministic && ordered::is_needed(spec) => ordered::enqueue(queue, spec, layout, &calls),
            Some(_) => calls.reduce(spec, layout),
            None if spec.kind == Kind::Barrier => calls.meet(queue),
            None => calls.transfer(spec, layout),
        }
    });
    if let Err(error) = &outcome
        && !matches!(error, Error::Unsupported { .. } | Error::InvalidArgument { .. })
    {
        group.fail(error);
    }
    outcome
}

/// `ncclDataType_t`.
fn code(dtype: DType) -> Result<c_int> {
    Ok(match dtype {
        DType::I8 => 0,
        DType::U8 => 1,
        DType::I32 => 2,
        DType::U32 => 3,
        DType::I64 => 4,
        DType::U64 => 5,
        DType::F16 => 6,
        DType::F32 => 7,
        DType::F64 => 8,
        DType::Bf16 => 9,
        other => return Err(Error::unsupported(format!("NCCL has no {other}"))),
    })
}

/// The parts of a reduction that are calls of their own: where each begins, and how many numbers it has.
///
/// One rank alone scales its elements by a kernel that, as it seems, cuts them into one piece for each 16 KiB, at most 32, and
/// leaves out the last ones if they do not fall into equal pieces (NCCL 2.28.9 gave a wrong average of 40 001 f32). So it
/// gets a multiple of 16 KiB, and what is less in a second call.
fn pieces(ranks: usize, count: usize, size: usize) -> Vec<(usize, usize)> {
    const PIECE: usize = 16 << 10;
    if ranks > 1 {
        return vec![(0, count)];
    }
    let even = count - count % (PIECE / size.max(1)).max(1);
    [(0, even), (even, count - even)].into_iter().filter(|(_, count)| *count > 0).collect()
}

/// `ncclRedOp_t`, for those that NCCL has by itself.
fn op_code(how: How) -> c_int {
    match how {
        How::Sum | How::PreMulSum => 0,
        How::Prod => 1,
        How::Max => 2,
        How::Min => 3,
        How::Avg => 4,
    }
}

fn checked(call: &str, code: Code) -> Result<()> {
    if is_fine(code) { Ok(()) } else { Err(failure(call, code)) }
}

/// As [`checked`], for a function that only newer versions have.
fn present(call: &str, since: &str, code: Option<Code>) -> Result<()> {
    match code {
        Some(code) => checked(call, code),
        None => Err(Error::unsupported(format!("this NCCL has no {call}; version {since} has it"))),
    }
}

impl Calls<'_> {
    /// The communicator and the stream of each rank.
    fn ranks(&self) -> impl Iterator<Item = (usize, Comm, CUstream)> {
        self.comms.iter().zip(self.streams).enumerate().map(|(rank, (comm, stream))| (rank, *comm, *stream))
    }

    pub(super) fn address(&self, place: Place) -> u64 {
        let base = match place.operand {
            Operand::Read(index) => self.operands.0.get(index),
            Operand::Written(index) => self.operands.1.get(index),
        };
        base.map_or(0, |base| base + (place.offset * self.size) as u64)
    }

    /// Makes the calls of `f` as one group.
    pub(super) fn group(&self, f: impl FnOnce() -> Result<()>) -> Result<()> {
        // SAFETY: a group has no arguments; it is ended below in any case, on the same thread.
        checked("ncclGroupStart", unsafe { self.api.group_start() })?;
        let outcome = f();
        // SAFETY: as above. The streams and operands of the calls in it live until their work is complete.
        let ended = checked("ncclGroupEnd", unsafe { self.api.group_end() });
        outcome.and(ended).and_then(|()| self.group.settle(self.comms))
    }

    fn meet(&self, queue: &mut Queue<'_>) -> Result<()> {
        let mut bytes = Vec::with_capacity(self.comms.len());
        for device in 0..self.comms.len() {
            bytes.push(queue.on(device)?.scratch(1)?);
        }
        self.group(|| {
            self.ranks().zip(&bytes).try_for_each(|((_, comm, stream), at)| {
                // SAFETY: one byte of scratch memory of the rank's device; what it holds does not matter.
                checked("ncclAllReduce", unsafe { self.api.all_reduce(*at, *at, 1, BYTES, 0, comm, stream) })
            })
        })
    }

    fn reduce(&self, spec: &Spec, layout: &Layout) -> Result<()> {
        let Some(reduction) = &spec.reduction else { return Ok(()) };
        if layout.count == 0 {
            return Ok(());
        }
        let (scalar, per_element) = scalars(spec.dtype);
        let (dtype, count) = (code(scalar)?, layout.count * per_element);
        let mut ops = vec![op_code(reduction.how); self.comms.len()];
        if reduction.how == How::PreMulSum {
            for ((op, comm), factor) in ops.iter_mut().zip(self.comms).zip(&reduction.factors) {
                // SAFETY: the factor has the bytes of one element; it is read during the call (residence: the host).
                let made = unsafe { self.api.make_scaled_sum(op, factor.as_ptr().cast(), dtype, 1, *comm) };
                present("ncclRedOpCreatePreMulSum", "2.11", made)?;
            }
        }
        let (pieces, size) = (pieces(spec.ranks, count, scalar.size()), scalar.size());
        let calls =
            pieces.iter().flat_map(|piece| self.ranks().zip(&ops).zip(&layout.ends).map(move |call| (piece, call)));
        let outcome = self.group(|| {
            let mut calls = calls;
            calls.try_for_each(|(&(start, count), (((_, comm, stream), op), ends))| {
                let at = |place: Option<Place>| place.map_or(0, |place| self.address(place) + (start * size) as u64);
                let (send, receive) = (at(ends.send), at(ends.receive));
                // SAFETY: the layout was checked against the operands, which are of the rank's device.
                let (call, code) = unsafe {
                    match spec.kind {
                        Kind::ReduceScatter => {
                            let code = self.api.reduce_scatter(send, receive, count, dtype, *op, comm, stream);
                            ("ncclReduceScatter", code)
                        }
                        Kind::Reduce { root } => {
                            let root = root as c_int;
                            ("ncclReduce", self.api.reduce(send, receive, count, dtype, *op, root, comm, stream))
                        }
                        _ => ("ncclAllReduce", self.api.all_reduce(send, receive, count, dtype, *op, comm, stream)),
                    }
                };
                checked(call, code)
            })
        });
        if reduction.how == How::PreMulSum {
            for (op, comm) in ops.iter().zip(self.comms) {
                // SAFETY: made above; the call that used it has returned.
                let _ = unsafe { self.api.destroy_op(*op, *comm) };
            }
        }
        outcome
    }

    fn transfer(&self, spec: &Spec, layout: &Layout) -> Result<()> {
        let bytes = layout.count * self.size;
        match spec.kind {
            Kind::Broadcast { .. } | Kind::AllGather if bytes == 0 => Ok(()),
            Kind::Broadcast { root } => self.group(|| {
                self.ranks().zip(&layout.ends).try_for_each(|((_, comm, stream), ends)| {
                    let receive = ends.receive.map_or(0, |place| self.address(place));
                    let send = ends.send.map_or(receive, |place| self.address(place));
                    // SAFETY: as in `reduce`.
                    let code = unsafe { self.api.broadcast(send, receive, bytes, BYTES, root as c_int, comm, stream) };
                    checked("ncclBroadcast", code)
                })
            }),
            Kind::AllGather => self.group(|| {
                self.ranks().zip(&layout.ends).try_for_each(|((_, comm, stream), ends)| {
                    let (Some(send), Some(receive)) = (ends.send, ends.receive) else { return Ok(()) };
                    let (send, receive) = (self.address(send), self.address(receive));
                    // SAFETY: as in `reduce`.
                    let code = unsafe { self.api.all_gather(send, receive, bytes, BYTES, comm, stream) };
                    checked("ncclAllGather", code)
                })
            }),
            _ => self.send_each(&spec.parts(layout)?),
        }
    }

    /// Sends parts from rank to rank, as one group.
    fn send_each(&self, parts: &[Part]) -> Result<()> {
        // In place, a rank's own part is where it belongs.
        let moves = |part: &&Part| part.send.is_none() || part.receive.is_none() || part.send != part.receive;
        self.send(parts.iter().filter(moves).map(|part| {
            let at = |place: Option<Place>| place.map(|place| self.address(place));
            let len = part.send.or(part.receive).map_or(0, |place| place.len);
            (part.transfer.from, part.transfer.to, at(part.send), at(part.receive), len * self.size)
        }))
    }

    /// Sends bytes from rank to rank, as one group: `(from, to, address there, address here, bytes)`; an end in another
    /// process has no address.
    pub(super) fn send(&self, parts: impl Iterator<Item = Sent>) -> Result<()> {
        let rank = |rank: usize| {
            let index = rank.checked_sub(self.first);
            match index.and_then(|index| Some((*self.comms.get(index)?, *self.streams.get(index)?))) {
                Some(found) => Ok(found),
                None => Err(Error::library("internal error: a rank without a communicator")),
            }
        };
        self.group(|| {
            for (from, to, send, receive, bytes) in parts.filter(|part| part.4 > 0) {
                if let Some(at) = send {
                    let (comm, stream) = rank(from)?;
                    // SAFETY: the place has so many bytes, in memory of the device of this rank.
                    let code = unsafe { self.api.send(at, bytes, BYTES, to as c_int, comm, stream) };
                    present("ncclSend", "2.7", code)?;
                }
                if let Some(at) = receive {
                    let (comm, stream) = rank(to)?;
                    // SAFETY: as above.
                    let code = unsafe { self.api.receive(at, bytes, BYTES, from as c_int, comm, stream) };
                    present("ncclRecv", "2.7", code)?;
                }
            }
            Ok(())
        })
    }
}

/// A part that is sent: from a rank to a rank, from an address to an address, so many bytes.
pub(super) type Sent = (usize, usize, Option<u64>, Option<u64>, usize);
