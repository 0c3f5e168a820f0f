//! The calls of a device.

use super::super::{Dnn, DnnElement};
use super::gradient::RecurBackward;
use super::net::{Net, RecurrentProblem};
use super::op::Recur;
use super::spec::Recurrent;
use super::training::RecurrentTraining;
use crate::core::buffer::{AnyBuffers, AnyIns, DeviceBuffer};
use crate::core::device_info::DeviceKind;
use crate::core::dispatch::PendingDispatch;
use crate::core::element::Element;
use crate::core::error::{Error, Rejected, Result};
use crate::device::Device;
use crate::device::tensor::{AnyTensorRef, ReadableTensor, Tensor, TensorRef};
use crate::libraries::dnn::maybe_copied::MaybeCopied;
use crate::libraries::tensor_routine::{Operand, TensorRoutine};

/// What a recurrent net reads besides its parameters: sequences, their lengths, and the states before the first step.
///
/// ```
/// # fn main() -> Result<(), windlass::Error> {
/// use windlass::dnn::Sequences;
/// let device = windlass::Device::host()?;
/// let x = device.zeros::<f32>([5, 2, 3])?;
/// let ragged = Sequences::new(&x).lengths(&[5, 2]);
/// # let _ = ragged;
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
pub struct Sequences<'a, T: Element> {
    x: TensorRef<'a, T>,
    lengths: Option<Vec<usize>>,
    states: Option<TensorRef<'a, T>>,
    cells: Option<TensorRef<'a, T>>,
}

impl<'a, T: Element> Sequences<'a, T> {
    /// Sequences that are all as long as the tensor: its axes are steps, sequences, elements. Other orders are views
    /// ([`Tensor::permute`]), which are copied before.
    pub fn new(x: impl ReadableTensor<'a, T>) -> Self {
        Sequences { x: x.into(), lengths: None, states: None, cells: None }
    }

    /// How many steps each sequence has, in any order, 0 included. What lies behind them is not read. The states there are zeros; the
    /// last state of a sequence is that of its own last step, and of none its initial one.
    #[must_use]
    pub fn lengths(mut self, lengths: &[usize]) -> Self {
        self.lengths = Some(lengths.to_vec());
        self
    }

    /// The states before the first step: layers (forward before backward), sequences, elements. Without them zeros.
    #[must_use]
    pub fn states(mut self, states: impl ReadableTensor<'a, T>) -> Self {
        self.states = Some(states.into());
        self
    }

    /// The cells of an LSTM before the first step, likewise.
    #[must_use]
    pub fn cells(mut self, cells: impl ReadableTensor<'a, T>) -> Self {
        self.cells = Some(cells.into());
        self
    }
}

fn any<'a, T: Element>(view: &'a TensorRef<'_, T>) -> AnyTensorRef<'a> {
    view.into()
}

/// What is called, without its types.
struct Call<'a> {
    net: Net,
    x: AnyTensorRef<'a>,
    parameters: AnyTensorRef<'a>,
    lengths: Option<&'a [usize]>,
    initial: [Option<AnyTensorRef<'a>>; 2],
}

fn wants(name: &'static str, view: &AnyTensorRef<'_>, extents: &[usize]) -> Result<()> {
    if view.shape() == extents {
        return Ok(());
    }
    Err(Error::invalid(name, format!("extents {:?} where {extents:?} are needed", view.shape())))
}

impl<'a> Call<'a> {
    fn new<T: DnnElement>(net: &Recurrent, sequences: &'a Sequences<'_, T>, parameters: &'a TensorRef<'_, T>) -> Self {
        Call {
            net: Net::new(net, T::DTYPE),
            x: any(&sequences.x),
            parameters: any(parameters),
            lengths: sequences.lengths.as_deref(),
            initial: [sequences.states.as_ref().map(any), sequences.cells.as_ref().map(any)],
        }
    }

    /// The sizes.
    fn problem(&self) -> Result<RecurrentProblem> {
        self.net.check()?;
        let [time, batch, input] = <[usize; 3]>::try_from(self.x.shape()).map_err(|_| {
            Error::invalid("x", format!("extents {:?}; steps, sequences and elements are needed", self.x.shape()))
        })?;
        if input != self.net.input {
            return Err(Error::invalid(
                "x",
                format!("{input} elements of a step, but the net takes {}", self.net.input),
            ));
        }
        let length = |n: &usize| {
            let what = || format!("{n}, but the tensors have {time} steps");
            i32::try_from(*n).map_err(|_| Error::invalid("lengths", what()))
        };
        let lengths = self.lengths.map(|all| all.iter().map(length).collect::<Result<Vec<i32>>>()).transpose()?;
        // Sequences that are all as long as the tensor need no lengths.
        let lengths = lengths.filter(|all| all.len() != batch || all.iter().any(|n| usize::try_from(*n) != Ok(time)));
        let initial = [self.initial[0].is_some(), self.initial[1].is_some()];
        let problem = RecurrentProblem { net: self.net.clone(), time, batch, lengths, initial, reserve: 0 };
        problem.check()?;
        wants("parameters", &self.parameters, &[problem.parameters()])?;
        let extents = [("h0", problem.extents_of_h()), ("c0", problem.extents_of_c())];
        for ((name, extents), view) in extents.iter().zip(&self.initial) {
            view.as_ref().map_or(Ok(()), |view| wants(name, view, extents))?;
        }
        Ok(problem)
    }

    fn reads(&self, device: &Device) -> Result<Vec<MaybeCopied<'a>>> {
        let all = [&self.x, &self.parameters].into_iter().chain(self.initial.iter().flatten());
        all.map(|view| MaybeCopied::contiguous(device, view)).collect()
    }
}

fn buffers(device: &Device, wanted: &[Operand<'_>]) -> Result<AnyBuffers> {
    let mut all = AnyBuffers::default();
    for operand in wanted {
        all.push(device.uninit_any(operand.dtype, [operand.len()])?.into_parts().0);
    }
    Ok(all)
}

/// Submits the forward pass.
fn forward(device: &Device, call: &Call<'_>, trains: bool) -> Result<(PendingDispatch<AnyBuffers>, RecurrentProblem)> {
    let mut problem = call.problem()?;
    let is_host = device.kind() == DeviceKind::Host;
    if trains {
        let too_large = || Error::invalid("x", format!("extents {:?} are too large for a training", call.x.shape()));
        problem.reserve = problem.reserve(is_host).ok_or_else(too_large)?.max(1);
    }
    let reads = call.reads(device)?;
    let writes = buffers(device, &problem.forward().writes)?;
    let ins: AnyIns<'_> = reads.iter().map(MaybeCopied::part).collect();
    let pending = device.dispatch(Recur(problem.clone()), ins, writes).map_err(Rejected::into_error)?;
    Ok((pending, problem))
}

/// The states of all steps, the last states, and the last cells.
type Recurred<T> = (Tensor<T>, Tensor<T>, Tensor<T>);
/// Of the input, the parameters, the initial states and the initial cells.
type Gradients<T> = (Tensor<T>, Tensor<T>, Tensor<T>, Tensor<T>);

/// The tensors of the next buffers.
fn tensors<T: Element, const N: usize>(
    buffers: &mut impl Iterator<Item = crate::core::buffer::AnyBuffer>,
    extents: [&[usize]; N],
) -> Result<[Tensor<T>; N]> {
    let lost = || Error::library("internal error: a recurrent net without its results");
    let mut all = Vec::with_capacity(N);
    for extents in extents {
        let buffer: DeviceBuffer<T> = buffers.next().and_then(|any| any.downcast().ok()).ok_or_else(lost)?;
        all.push(Tensor::from_buffer(buffer, extents).map_err(|rejected| rejected.error)?);
    }
    <[Tensor<T>; N]>::try_from(all).map_err(|_| lost())
}

impl Dnn {
    /// Computes a recurrent net over sequences: the states of the last layer at all steps (steps, sequences, elements of both
    /// directions), the last states of all layers (layers with forward before backward, sequences, elements), and likewise the last
    /// cells, which have no layers unless the net is an LSTM. Does not wait.
    ///
    /// `parameters` is one vector; [`Recurrent::parameter`] tells where each of them lies. f16 and bf16 are summed in f32; a GPU rounds
    /// the states to the type of the operands after each step, the CPU does so too. On a GPU cuDNN computes it, or cuBLAS and kernels of
    /// our own if cuDNN has no such cell ([`RecurrentCell::GruResetFirst`](crate::dnn::RecurrentCell::GruResetFirst),
    /// [`Recurrent::peepholes`]): products of halves then take tensor cores, with factors of the 10 bits of TF32. The call cannot be part
    /// of a recorded graph.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::dnn::{Recurrent, RecurrentBias, RecurrentCell, Sequences};
    /// let device = windlass::Device::host()?;
    /// // h' = max(0, 2 x + h)
    /// let net = Recurrent::new(RecurrentCell::Relu, 1, 1).bias(RecurrentBias::None);
    /// let parameters = device.tensor([2], [2.0f32, 1.0])?;
    /// let x = device.tensor([3, 1, 1], [1.0f32, 2.0, -9.0])?;
    /// let (y, h, _) = device.dnn().recur(&net, &Sequences::new(&x), &parameters)?.await_result()?;
    /// assert_eq!(device.download(&y)?.await_result()?, [2.0, 6.0, 0.0]);
    /// assert_eq!(h.shape(), [1, 1, 1]);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] that names the argument: sizes of the net, extents that do not fit it, lengths beyond the steps; a stale
    /// tensor, or one of another device. At the wait [`Error::LibraryMissing`] without cuDNN, or without cuBLAS for a cell that cuDNN does
    /// not have; [`Error::Unsupported`] with cuDNN's reason; [`Error::OutOfMemory`].
    pub fn recur<'w, T: DnnElement>(
        &self,
        net: &Recurrent,
        sequences: &Sequences<'_, T>,
        parameters: impl ReadableTensor<'w, T>,
    ) -> Result<PendingDispatch<Recurred<T>>> {
        let parameters = parameters.into();
        let submitted = forward(&self.device, &Call::new(net, sequences, &parameters), false);
        let (pending, problem) = submitted.map_err(Recur::refused)?;
        let extents = [problem.extents_of_y(), problem.extents_of_h(), problem.extents_of_c()];
        pending.retype(|all: AnyBuffers| -> Result<_> {
            let [y, h, c] = tensors(&mut all.into_iter(), extents.each_ref().map(|e| &e[..]))?;
            Ok((y, h, c))
        })
    }

    /// As [`recur`](Self::recur), and what [`recur_gradients`](Self::recur_gradients) needs of it.
    ///
    /// # Errors
    /// As there.
    pub fn recur_training<'w, T: DnnElement>(
        &self,
        net: &Recurrent,
        sequences: &Sequences<'_, T>,
        parameters: impl ReadableTensor<'w, T>,
    ) -> Result<(PendingDispatch<Recurred<T>>, RecurrentTraining<T>)> {
        let parameters = parameters.into();
        let submitted = forward(&self.device, &Call::new(net, sequences, &parameters), true);
        let (pending, problem) = submitted.map_err(Recur::refused)?;
        let extents = [problem.extents_of_y(), problem.extents_of_h(), problem.extents_of_c()];
        let mut kept = None;
        let pending = pending.retype(|all: AnyBuffers| -> Result<_> {
            let mut all = all.into_iter();
            let [y, h, c] = tensors(&mut all, extents.each_ref().map(|e| &e[..]))?;
            kept = all.next().and_then(|any| any.downcast::<T::Sum>().ok());
            Ok((y, h, c))
        })?;
        let lost = || Error::library("internal error: a training without its reserve");
        Ok((pending, RecurrentTraining { problem, reserve: kept.ok_or_else(lost)? }))
    }

    /// The gradients of the input, the parameters, the initial states and the initial cells (the last with no layers unless the net is an
    /// LSTM), of those of the states at all steps `dy`, of the last states and of the last cells. `sequences` and `parameters` are those
    /// of the [`recur_training`](Self::recur_training) that gave `y` and `training`; this uses the latter up. Of the steps behind the end
    /// of a sequence nothing is read, and their gradients are zeros.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::dnn::{Recurrent, RecurrentBias, RecurrentCell, Sequences};
    /// let device = windlass::Device::host()?;
    /// let net = Recurrent::new(RecurrentCell::Relu, 1, 1).bias(RecurrentBias::None);
    /// let parameters = device.tensor([2], [2.0f32, 1.0])?;
    /// let (x, dy) = (device.tensor([2, 1, 1], [1.0f32, 2.0])?, device.tensor([2, 1, 1], [0.0f32, 1.0])?);
    /// let (sequences, dnn) = (Sequences::new(&x), device.dnn());
    /// let (states, training) = dnn.recur_training(&net, &sequences, &parameters)?;
    /// let (y, ..) = states.into_output();
    /// let gradients = dnn.recur_gradients(&net, &sequences, &parameters, &y, &dy, [None, None], training)?;
    /// let (dx, dparameters, ..) = gradients.await_result()?;
    /// assert_eq!(device.download(&dx)?.await_result()?, [2.0, 2.0]);
    /// // y[1] = 2 x[1] + 2 x[0]: by W 3, by R the state 2.
    /// assert_eq!(device.download(&dparameters)?.await_result()?, [3.0, 2.0]);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As [`recur`](Self::recur); [`Error::InvalidArgument`] for a `training` of another net or of other sizes.
    #[expect(clippy::too_many_arguments, reason = "what the forward pass has read and written, and gradients")]
    pub fn recur_gradients<'a, T: DnnElement>(
        &self,
        net: &Recurrent,
        sequences: &Sequences<'_, T>,
        parameters: impl ReadableTensor<'a, T>,
        y: impl ReadableTensor<'a, T>,
        dy: impl ReadableTensor<'a, T>,
        last: [Option<TensorRef<'a, T>>; 2],
        training: RecurrentTraining<T>,
    ) -> Result<PendingDispatch<Gradients<T>>> {
        let (parameters, y, dy) = (parameters.into(), y.into(), dy.into());
        let call = Call::new(net, sequences, &parameters);
        let last = last.each_ref().map(|one| one.as_ref().map(any));
        let RecurrentTraining { problem, reserve } = training;
        let extents = [problem.extents_of_x(), problem.extents_of_h(), problem.extents_of_c()];
        let count = [problem.parameters()];
        let submitted = backward(&self.device, &call, [any(&y), any(&dy)], &last, (problem, reserve.into()));
        submitted.map_err(RecurBackward::refused)?.retype(|all: AnyBuffers| -> Result<_> {
            let [x, h, c] = &extents;
            let mut all = all.into_iter().skip(1);
            let [dx, dw, dh, dc] = tensors(&mut all, [x, &count, h, c])?;
            Ok((dx, dw, dh, dc))
        })
    }
}

/// Submits the backward pass.
fn backward(
    device: &Device,
    call: &Call<'_>,
    [y, dy]: [AnyTensorRef<'_>; 2],
    last: &[Option<AnyTensorRef<'_>>; 2],
    (kept, reserve): (RecurrentProblem, crate::core::buffer::AnyBuffer),
) -> Result<PendingDispatch<AnyBuffers>> {
    let problem = RecurrentProblem { reserve: kept.reserve, ..call.problem()? };
    if problem != kept {
        let what = "it is of another net, of other sizes, or of other lengths; take that of the same `recur_training`";
        return Err(Error::invalid("training", what));
    }
    wants("y", &y, &problem.extents_of_y())?;
    wants("dy", &dy, &problem.extents_of_y())?;
    let extents = [("dh", problem.extents_of_h()), ("dc", problem.extents_of_c())];
    for ((name, extents), view) in extents.iter().zip(last) {
        view.as_ref().map_or(Ok(()), |view| wants(name, view, extents))?;
    }
    if last[1].is_some() && !problem.net.is_lstm() {
        return Err(Error::invalid("dc", format!("a {:?} has no cells; only an LSTM has", problem.net.cell)));
    }
    let mut reads = call.reads(device)?;
    for view in [&y, &dy].into_iter().chain(last.iter().flatten()) {
        reads.push(MaybeCopied::contiguous(device, view)?);
    }
    let given = [last[0].is_some(), last[1].is_some()];
    let mut writes: AnyBuffers = [reserve].into_iter().collect();
    for buffer in buffers(device, problem.backward(given).writes.get(1..).unwrap_or_default())? {
        writes.push(buffer);
    }
    let ins: AnyIns<'_> = reads.iter().map(MaybeCopied::part).collect();
    device.dispatch(RecurBackward { problem, given }, ins, writes).map_err(Rejected::into_error)
}
