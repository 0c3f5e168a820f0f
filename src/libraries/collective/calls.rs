//! The collectives, as methods.

use super::combine::Combine;
use super::communicator::{Communicator, check_owners};
use super::op::{Collective, Turned};
use super::spec::{Kind, Spec, Transfer};
use super::submitting::Submitting;
use crate::core::buffer::{DeviceBuffer, In};
use crate::core::dispatch::PendingDispatch;
use crate::core::element::{DType, Element};
use crate::core::error::{Error, Rejected, Result};
use crate::device::Device;
use crate::device::dispatch::Submitted;
use crate::device::tensor::{Layout, Part, ReadableTensor, Tensor, TensorRef, Whole, WritableTensor};
use crate::libraries::operands::check_packed;
use std::convert::Infallible;
use std::marker::PhantomData;
use std::ops::Range;

/// What a collective gives back: the tensors that it has written, in the order of the ranks.
type Written<T> = Submitted<Vec<Tensor<T>>>;

impl Communicator {
    /// Each output becomes the combination of all inputs. Inputs and outputs have `n` elements. (`ncclAllReduce`)
    ///
    /// The elements of a tensor are sent in row-major order, so extents need not be the same everywhere, only their product.
    ///
    /// ```
    /// # fn main() -> windlass::Result<()> {
    /// use windlass::{Device, collective::{Combine, Communicator}};
    /// let device = Device::host()?;
    /// let comm = Communicator::new([&device])?; // one rank of this process; `join`, in a job
    /// let gradient = device.tensor([2, 3], vec![1.0f32; 6])?;
    /// let gradient = comm.all_reduce_in_place(Combine::Avg, [gradient])?.await_result()?.remove(0);
    /// assert_eq!(gradient.shape(), [2, 3]);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidArgument`]: lengths that do not fit together, named with both values; an operand that is on another
    /// device than that of its rank, or a tensor that is not in row-major order without gaps:
    /// [`Device::contiguous`](crate::Device::contiguous) makes a copy that is. [`Error::Unsupported`]: elements that cannot be combined that way. Also the errors of
    /// [`Device::dispatch_across`]. The outputs come back.
    pub fn all_reduce<'a, T: Element>(
        &self,
        combine: Combine<T>,
        inputs: impl IntoIterator<Item: ReadableTensor<'a, T>>,
        outputs: impl IntoIterator<Item: WritableTensor<T>>,
    ) -> Written<T> {
        self.submit(Kind::AllReduce, Some(combine), false, ins(inputs), outs(outputs))
    }

    /// As [`all_reduce`](Self::all_reduce), of what the tensors hold.
    ///
    /// # Errors
    /// As [`all_reduce`](Self::all_reduce).
    pub fn all_reduce_in_place<T: Element>(
        &self,
        combine: Combine<T>,
        tensors: impl IntoIterator<Item: WritableTensor<T>>,
    ) -> Written<T> {
        self.submit(Kind::AllReduce, Some(combine), true, Vec::new(), outs(tensors))
    }

    /// The output of rank `root`, the only one, becomes the combination of all inputs, which have as many elements.
    /// (`ncclReduce`)
    ///
    /// # Errors
    /// As [`all_reduce`](Self::all_reduce); no rank `root`.
    pub fn reduce<'a, T: Element>(
        &self,
        combine: Combine<T>,
        root: usize,
        inputs: impl IntoIterator<Item: ReadableTensor<'a, T>>,
        outputs: impl IntoIterator<Item: WritableTensor<T>>,
    ) -> Written<T> {
        self.submit(Kind::Reduce { root }, Some(combine), false, ins(inputs), outs(outputs))
    }

    /// As [`reduce`](Self::reduce), with the one tensor of the root for its input and the output; `inputs` are those of the
    /// other ranks.
    ///
    /// # Errors
    /// As [`reduce`](Self::reduce).
    pub fn reduce_in_place<'a, T: Element>(
        &self,
        combine: Combine<T>,
        root: usize,
        inputs: impl IntoIterator<Item: ReadableTensor<'a, T>>,
        tensors: impl IntoIterator<Item: WritableTensor<T>>,
    ) -> Written<T> {
        self.submit(Kind::Reduce { root }, Some(combine), true, ins(inputs), outs(tensors))
    }

    /// Each output, that of the root included, becomes a copy of the one input, which is on rank `root`. (`ncclBroadcast`)
    ///
    /// # Errors
    /// As [`all_reduce`](Self::all_reduce); no rank `root`.
    pub fn broadcast<'a, T: Element>(
        &self,
        root: usize,
        inputs: impl IntoIterator<Item: ReadableTensor<'a, T>>,
        outputs: impl IntoIterator<Item: WritableTensor<T>>,
    ) -> Written<T> {
        self.submit(Kind::Broadcast { root }, None, false, ins(inputs), outs(outputs))
    }

    /// As [`broadcast`](Self::broadcast), of what the tensor of the root holds.
    ///
    /// # Errors
    /// As [`broadcast`](Self::broadcast).
    pub fn broadcast_in_place<T: Element>(
        &self,
        root: usize,
        tensors: impl IntoIterator<Item: WritableTensor<T>>,
    ) -> Written<T> {
        self.submit(Kind::Broadcast { root }, None, true, Vec::new(), outs(tensors))
    }

    /// Each output becomes all inputs, one after the other: inputs of `n` elements, outputs of `ranks * n`.
    /// (`ncclAllGather`)
    ///
    /// # Errors
    /// As [`all_reduce`](Self::all_reduce).
    pub fn all_gather<'a, T: Element>(
        &self,
        inputs: impl IntoIterator<Item: ReadableTensor<'a, T>>,
        outputs: impl IntoIterator<Item: WritableTensor<T>>,
    ) -> Written<T> {
        self.submit(Kind::AllGather, None, false, ins(inputs), outs(outputs))
    }

    /// As [`all_gather`](Self::all_gather): the input of rank `r` is the part `r * n..(r + 1) * n` of its tensor.
    ///
    /// # Errors
    /// As [`all_gather`](Self::all_gather).
    pub fn all_gather_in_place<T: Element>(&self, tensors: impl IntoIterator<Item: WritableTensor<T>>) -> Written<T> {
        self.submit(Kind::AllGather, None, true, Vec::new(), outs(tensors))
    }

    /// The output of rank `r` becomes the combination of the parts `r * n..(r + 1) * n` of all inputs: inputs of `ranks * n`
    /// elements, outputs of `n`. (`ncclReduceScatter`)
    ///
    /// # Errors
    /// As [`all_reduce`](Self::all_reduce).
    pub fn reduce_scatter<'a, T: Element>(
        &self,
        combine: Combine<T>,
        inputs: impl IntoIterator<Item: ReadableTensor<'a, T>>,
        outputs: impl IntoIterator<Item: WritableTensor<T>>,
    ) -> Written<T> {
        self.submit(Kind::ReduceScatter, Some(combine), false, ins(inputs), outs(outputs))
    }

    /// As [`reduce_scatter`](Self::reduce_scatter): the result of rank `r` is the part `r * n..(r + 1) * n` of its tensor, of
    /// which the rest stays as it is.
    ///
    /// # Errors
    /// As [`reduce_scatter`](Self::reduce_scatter).
    pub fn reduce_scatter_in_place<T: Element>(
        &self,
        combine: Combine<T>,
        tensors: impl IntoIterator<Item: WritableTensor<T>>,
    ) -> Written<T> {
        self.submit(Kind::ReduceScatter, Some(combine), true, Vec::new(), outs(tensors))
    }

    /// The one output, on rank `root`, becomes all inputs, one after the other: inputs of `n` elements, an output of
    /// `ranks * n`.
    ///
    /// # Errors
    /// As [`all_reduce`](Self::all_reduce); no rank `root`.
    pub fn gather<'a, T: Element>(
        &self,
        root: usize,
        inputs: impl IntoIterator<Item: ReadableTensor<'a, T>>,
        outputs: impl IntoIterator<Item: WritableTensor<T>>,
    ) -> Written<T> {
        self.submit(Kind::Gather { root }, None, false, ins(inputs), outs(outputs))
    }

    /// As [`gather`](Self::gather): the input of the root is its part of its tensor; `inputs` are those of the other ranks.
    ///
    /// # Errors
    /// As [`gather`](Self::gather).
    pub fn gather_in_place<'a, T: Element>(
        &self,
        root: usize,
        inputs: impl IntoIterator<Item: ReadableTensor<'a, T>>,
        tensors: impl IntoIterator<Item: WritableTensor<T>>,
    ) -> Written<T> {
        self.submit(Kind::Gather { root }, None, true, ins(inputs), outs(tensors))
    }

    /// The output of rank `r` becomes the part `r * n..(r + 1) * n` of the one input, which is on rank `root`: an input of
    /// `ranks * n` elements, outputs of `n`.
    ///
    /// # Errors
    /// As [`all_reduce`](Self::all_reduce); no rank `root`.
    pub fn scatter<'a, T: Element>(
        &self,
        root: usize,
        inputs: impl IntoIterator<Item: ReadableTensor<'a, T>>,
        outputs: impl IntoIterator<Item: WritableTensor<T>>,
    ) -> Written<T> {
        self.submit(Kind::Scatter { root }, None, false, ins(inputs), outs(outputs))
    }

    /// As [`scatter`](Self::scatter): the tensor of the root, of `ranks * n` elements, stays as it is, and its own part is its
    /// output; the tensors of the other ranks have `n`.
    ///
    /// # Errors
    /// As [`scatter`](Self::scatter).
    pub fn scatter_in_place<T: Element>(
        &self,
        root: usize,
        tensors: impl IntoIterator<Item: WritableTensor<T>>,
    ) -> Written<T> {
        self.submit(Kind::Scatter { root }, None, true, Vec::new(), outs(tensors))
    }

    /// The part `r * n..(r + 1) * n` of the output of rank `s` becomes the part `s * n..(s + 1) * n` of the input of rank `r`:
    /// inputs and outputs of `ranks * n` elements. Not possible in place.
    ///
    /// # Errors
    /// As [`all_reduce`](Self::all_reduce).
    pub fn all_to_all<'a, T: Element>(
        &self,
        inputs: impl IntoIterator<Item: ReadableTensor<'a, T>>,
        outputs: impl IntoIterator<Item: WritableTensor<T>>,
    ) -> Written<T> {
        self.submit(Kind::AllToAll, None, false, ins(inputs), outs(outputs))
    }

    /// Sends tensors from rank to rank, any number at once. `inputs` and `outputs` are in the order of `transfers`: an input on
    /// the rank that sends, an output as long on the rank that receives. (`ncclSend`, `ncclRecv`)
    ///
    /// ```
    /// # fn main() -> windlass::Result<()> {
    /// use windlass::{Device, collective::{Communicator, Transfer}};
    /// let devices = [Device::host()?, Device::host()?];
    /// let comm = Communicator::new(&devices)?;
    /// let (x, y) = (devices[0].buffer([1u16, 2, 3])?, devices[1].uninit(3)?);
    /// let y = comm.exchange(&[Transfer { from: 0, to: 1 }], [&x], vec![y])?.await_result()?;
    /// assert_eq!(devices[1].to_vec(&y[0])?, [1, 2, 3]);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As [`all_reduce`](Self::all_reduce); no such rank.
    pub fn exchange<'a, T: Element>(
        &self,
        transfers: &[Transfer],
        inputs: impl IntoIterator<Item: ReadableTensor<'a, T>>,
        outputs: impl IntoIterator<Item: WritableTensor<T>>,
    ) -> Written<T> {
        self.submit(Kind::Exchange(transfers.to_vec()), None, false, ins(inputs), outs(outputs))
    }

    /// Is complete when all ranks have come to it, and so all earlier collectives of the communicator are complete.
    ///
    /// # Errors
    /// As [`Device::dispatch_across`].
    pub fn barrier(&self) -> Result<PendingDispatch<()>> {
        let pending = self.submit::<u8>(Kind::Barrier, None, false, Vec::new(), Vec::new())?;
        pending.retype(|_| Ok::<_, Error>(()))
    }

    fn submit<T: Element>(
        &self,
        kind: Kind,
        combine: Option<Combine<T>>,
        in_place: bool,
        inputs: Vec<TensorRef<'_, T>>,
        outputs: Vec<Part<T>>,
    ) -> Written<T> {
        let mut buffers = Vec::with_capacity(outputs.len());
        let mut wholes = Vec::with_capacity(outputs.len());
        let mut refused = None;
        for (index, (buffer, layout, whole)) in outputs.into_iter().map(Part::operand).enumerate() {
            refused = refused.or_else(|| check("outputs", index, &layout).err());
            buffers.push(buffer);
            wholes.push(whole);
        }
        let parts = inputs.iter().enumerate().map(|(index, input)| {
            let (part, layout) = input.operand()?;
            check("inputs", index, &layout)?;
            Ok(part)
        });
        let parts = refused.map_or_else(|| parts.collect::<Result<Vec<_>>>(), Err);
        let submitted = match parts {
            Ok(parts) => self.submit_buffers(kind, combine, in_place, parts, buffers),
            Err(error) => Err(Rejected::new(error.in_op(kind.name(), "collective"), (buffers,))),
        };
        match submitted {
            Ok(pending) => Ok(pending
                .retype(|(buffers,)| Ok::<_, Infallible>((tensors(wholes, buffers),)))
                .unwrap_or_else(|never| match never {})),
            Err(rejected) => Err(rejected.map(|(buffers,)| (tensors(wholes, buffers),))),
        }
    }

    fn submit_buffers<T: Element>(
        &self,
        kind: Kind,
        combine: Option<Combine<T>>,
        in_place: bool,
        inputs: Vec<In<'_, T>>,
        outputs: Vec<DeviceBuffer<T>>,
    ) -> Submitted<Vec<DeviceBuffer<T>>> {
        let name = kind.name();
        let refused = |error: Error, outputs| Rejected::new(error.in_op(name, "collective"), (outputs,));
        let _submitting = match Submitting::begin("a collective") {
            Ok(submitting) => submitting,
            Err(error) => return Err(refused(error, outputs)),
        };
        let reads: Vec<u64> = inputs.iter().map(|input| input.region.epoch.device).collect();
        let writes: Vec<u64> = outputs.iter().map(|output| output.region.epoch.device).collect();
        #[cfg(target_os = "linux")]
        if let Some(isolated) = &self.inner.isolated {
            let team = isolated.team();
            let devices = team.devices(); // those of the communicator may be others already
            let ranks = (devices.len(), 0..devices.len());
            let prepared = self.spec((kind, T::DTYPE, in_place), combine, ranks).and_then(|spec| {
                team.admit(0, name)?; // the operands on a device that was lost are stale
                check_owners(&spec, devices, &reads, &writes)?;
                Ok(spec)
            });
            return match prepared {
                Ok(spec) => super::isolated::submit(&team, &spec, &inputs, outputs),
                Err(error) => Err(refused(error, outputs)),
            };
        }
        // The number of ranks may change up to here, and not before it is submitted.
        let prepared = self.live().and_then(|live| {
            let (devices, first) = (self.devices(), self.first_rank());
            let ranks = (self.ranks(), first..first + devices.len());
            let spec = self.spec((kind, T::DTYPE, in_place), combine, ranks)?;
            check_owners(&spec, devices, &reads, &writes)?;
            Ok((live, spec))
        });
        let (live, spec) = match prepared {
            Ok(prepared) => prepared,
            Err(error) => return Err(refused(error, outputs)),
        };
        // SAFETY: both handles are used for submissions under the lock alone; no other operand is a part of that buffer.
        let turn = unsafe { live.turn.alias() };
        let sequence = self.next_sequence();
        let op = Collective::<T> { spec, link: live.link.clone(), sequence, begun: None, _type: PhantomData };
        match Device::dispatch_across(&self.dispatch_devices(), op, (&inputs,), (outputs, turn)) {
            Ok(pending) => {
                self.count(sequence);
                Ok(untied(pending))
            }
            Err(rejected) => Err(rejected.map(|(outputs, _)| (outputs,))),
        }
    }

    /// Of so many ranks, those of them on this process's devices.
    fn spec<T: Element>(
        &self,
        (kind, dtype, in_place): (Kind, DType, bool),
        combine: Option<Combine<T>>,
        (ranks, own): (usize, Range<usize>),
    ) -> Result<Spec> {
        let (first, locals, deterministic) = (own.start, own.len(), self.is_deterministic());
        let reduction = combine.map(|combine| combine.erased(locals)).transpose()?;
        Ok(Spec { kind, dtype, reduction, in_place, deterministic, ranks, first, locals })
    }
}

/// Without the communicator's turn.
fn untied<T: Element>(pending: PendingDispatch<Turned<T>>) -> PendingDispatch<Vec<DeviceBuffer<T>>> {
    let untied = pending.retype(|(outputs, _)| Ok::<_, Infallible>((outputs,)));
    untied.unwrap_or_else(|never| match never {})
}

fn ins<'a, T: Element>(inputs: impl IntoIterator<Item: ReadableTensor<'a, T>>) -> Vec<TensorRef<'a, T>> {
    inputs.into_iter().map(Into::into).collect()
}

fn outs<T: Element>(outputs: impl IntoIterator<Item: WritableTensor<T>>) -> Vec<Part<T>> {
    outputs.into_iter().map(Into::into).collect()
}

/// Only elements in row-major order without gaps are sent and received.
fn check(name: &'static str, index: usize, layout: &Layout) -> Result<()> {
    if layout.is_row_major() {
        return Ok(());
    }
    check_packed(format!("{name}[{index}]"), layout)
}

/// The tensors of which these buffers are windows.
fn tensors<T: Element>(wholes: Vec<Whole>, buffers: Vec<DeviceBuffer<T>>) -> Vec<Tensor<T>> {
    wholes.into_iter().zip(buffers).map(|(whole, buffer)| whole.tensor(buffer)).collect()
}
