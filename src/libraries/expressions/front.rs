//! The calls of a device.

use super::ahead::Ahead;
use super::build::{Outputs, Symbol, Symbols, sealed};
use super::formula::{Formula, InPlace, Kept, Recorded, Shared, record, record_update};
use super::ir::Expr;
use super::op::Map;
use super::operands::{Inputs, Read, Targets};
use super::scalar::Scalar;
use crate::core::buffer::{AnyBuffer, AnyBuffers, AnyIn, AnyIns};
use crate::core::dispatch::PendingDispatch;
use crate::core::element::Element;
use crate::core::error::{Error, Rejected, Result};
use crate::core::sync::Arc;
use crate::device::Device;
use crate::device::dispatch::Submitted;
use crate::device::tensor::{IntoShape, Layout, Tensor};
use crate::libraries::tensor_routine::TensorRoutine;
use smallvec::SmallVec;

/// The extents to which all operands are broadcast.
fn common(inputs: &[Read<'_>]) -> Result<Vec<usize>> {
    let all: SmallVec<[&[usize]; 8]> = inputs.iter().map(|(_, layout)| layout.shape()).collect();
    Layout::broadcast_extents(&all).map_err(|error| error.renamed(&[("operands", "inputs")]))
}

/// Submits what was recorded; compiled once for all types.
pub(in crate::libraries) fn submit(
    device: &Device,
    Recorded { kept, scalars }: Recorded,
    reads: &[Read<'_>],
    (buffers, outputs): (AnyBuffers, Vec<Layout>),
    in_place: bool,
) -> Result<PendingDispatch<AnyBuffers>, Rejected<AnyBuffers>> {
    let extents = outputs.first().map(Layout::shape).unwrap_or_default();
    let mut inputs: SmallVec<[Layout; 4]> = SmallVec::new();
    for (k, (_, layout)) in reads.iter().enumerate() {
        match layout.broadcast(extents) {
            Ok(layout) => inputs.push(layout),
            Err(Error::InvalidArgument { reason, .. }) => {
                return Err(Rejected::new(Map::refused(Error::invalid(format!("input {k}"), reason)), buffers));
            }
            Err(other) => return Err(Rejected::new(Map::refused(other), buffers)),
        }
    }
    let ins: AnyIns<'_> = reads.iter().map(|(read, _)| *read).collect();
    let shape = kept.shape(&outputs, &inputs, in_place);
    device.dispatch(Map::new(Shared(kept), scalars, shape), ins, buffers)
}

/// Submits, with the tensors in the place of their buffers.
pub(super) fn write<T: Targets>(
    device: &Device,
    recorded: Result<Recorded>,
    reads: Result<&[Read<'_>]>,
    targets: T,
    in_place: bool,
) -> Submitted<T::Tensors> {
    let (buffers, layouts, wholes) = targets.operands();
    let back = move |buffers: AnyBuffers| T::back(wholes, buffers);
    let submitted = match recorded.and_then(|recorded| Ok((recorded, reads?))) {
        Ok((recorded, reads)) => submit(device, recorded, reads, (buffers, layouts), in_place),
        Err(error) => Err(Rejected::new(Map::refused(error), buffers)),
    };
    match submitted {
        Ok(pending) => pending.retype(back).map_err(|any| Error::from(any).into()),
        Err(Rejected { error, back: buffers }) => {
            Err(Rejected { error, back: buffers.and_then(|any| back(any).ok()) }.into())
        }
    }
}

/// Makes the outputs.
fn make<O: Outputs>(
    device: &Device,
    recorded: Result<Recorded>,
    reads: Result<SmallVec<[Read<'_>; 8]>>,
    extents: Option<&[usize]>,
) -> Result<PendingDispatch<O::Tensors>> {
    let recorded = recorded.map_err(Map::refused)?;
    let reads = reads.map_err(Map::refused)?;
    let extents = match extents {
        Some(extents) => extents.to_vec(),
        None => common(&reads).map_err(Map::refused)?,
    };
    made::<O>(device, recorded, &reads, &extents)
}

fn made<O: Outputs>(
    device: &Device,
    recorded: Recorded,
    reads: &[Read<'_>],
    extents: &[usize],
) -> Result<PendingDispatch<O::Tensors>> {
    let layout = Layout::row_major(extents).map_err(Map::refused)?;
    let buffers = O::uninit(device, &layout)?;
    let layouts = buffers.iter().map(|_| layout.clone()).collect();
    let submitted = submit(device, recorded, reads, (buffers, layouts), false);
    let pending = submitted.map_err(Rejected::into_error)?;
    pending.retype(|buffers| O::tie(buffers, &layout)).map_err(|any: AnyBuffers| Error::from(any))
}

/// Writes outputs of these buffers, all of this layout.
#[cfg(feature = "dnn")]
pub(in crate::libraries) fn made_any(
    device: &Device,
    recorded: Recorded,
    reads: &[Read<'_>],
    buffers: AnyBuffers,
    layout: &Layout,
) -> Result<PendingDispatch<AnyBuffers>> {
    let layouts = buffers.iter().map(|_| layout.clone()).collect();
    submit(device, recorded, reads, (buffers, layouts), false).map_err(Rejected::into_error)
}

/// Makes the only output.
pub(in crate::libraries) fn make_one<T: Element>(
    device: &Device,
    recorded: Recorded,
    reads: &[Read<'_>],
    extents: &[usize],
) -> Result<PendingDispatch<Tensor<T>>> {
    made::<Symbol<T>>(device, recorded, reads, extents)
}

/// Formulas.
impl Device {
    /// Computes new row-major tensors, element by element: the closure runs once, on symbols of the inputs' types, and
    /// what it does with them becomes one kernel. The inputs are broadcast to each other, and may have any strides.
    ///
    /// A closure of one input takes its symbol, of several a tuple. It returns a symbol or a tuple of up to four.
    ///
    /// On a GPU the first use of a formula compiles it: some milliseconds, in which the driver holds up the launches of all
    /// threads. [`prepare`](Self::prepare) does that ahead. Later uses find the kernel, also with other values of the numbers
    /// in the closure.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// let device = windlass::Device::best()?;
    /// let x = device.tensor([2, 3], [1.0f32, -2.0, 3.0, -4.0, 5.0, -6.0])?;
    /// let scale = device.tensor([3], [1.0f32, 10.0, 100.0])?;
    /// let y = device.map((&x, &scale), |(x, s)| (x * s + 1.0).max(0.0))?.into_output();
    /// let (sign, big) = device.map(&y, |y| (y.sign(), y.gt(100.0)))?.await_result()?;
    /// assert_eq!(device.show(&y)?.to_string(), "[[  2.   0. 301.]\n [  0.  51.   0.]]");
    /// assert_eq!(device.show(&sign)?.to_string(), "[[1. 0. 1.]\n [0. 1. 0.]]");
    /// assert_eq!(device.show(&big)?.to_string(), "[[False False  True]\n [False False False]]");
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] that names the operation in the closure that has no meaning, and inputs that are not
    /// broadcast to each other; a stale tensor, or one of another device; [`Error::OutOfMemory`] for the outputs.
    pub fn map<I: Inputs, O: Outputs>(
        &self,
        inputs: I,
        f: impl FnOnce(I::Symbols) -> O,
    ) -> Result<PendingDispatch<O::Tensors>> {
        let recorded = closure::<I::Symbols, O>(f);
        inputs.with(|reads| make::<O>(self, recorded, reads, None))
    }

    /// As [`map`](Self::map), into tensors or [`part`](crate::Tensor::part)s of some, which may have any strides. The inputs
    /// are broadcast to the first one's extents.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// let device = windlass::Device::best()?;
    /// let (x, y) = (device.tensor([2], [1.0f32, 2.0])?, device.zeros::<f32>([2, 2])?);
    /// let column = y.part(|all| all.index(1, 0))?;
    /// let y = device.map_into(&x, column, |x| x.sqrt() + 0.5)?.await_result()?;
    /// assert_eq!(device.item(y.slice((0, 0))?)?, 1.5);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As [`map`](Self::map); [`Error::InvalidArgument`] that names the output and the axis: extents that differ, elements that
    /// lie at one place, memory that another operand has. The targets come back.
    pub fn map_into<I: Inputs, T: Targets>(
        &self,
        inputs: I,
        targets: T,
        f: impl FnOnce(I::Symbols) -> T::Symbols,
    ) -> Submitted<T::Tensors>
    where
        T::Symbols: Outputs,
    {
        let recorded = closure::<I::Symbols, T::Symbols>(f);
        inputs.with(|reads| match reads {
            Ok(reads) => write(self, recorded, Ok(&reads), targets, false),
            Err(error) => write(self, recorded, Err(error), targets, false),
        })
    }

    /// Updates tensors, or [`part`](crate::Tensor::part)s of some, in place: each element is read and written at its own place.
    /// The closure takes the symbols of what is updated and those of the inputs, and returns the new values.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// let device = windlass::Device::best()?;
    /// let (w, v) = (device.full([2], 1.0f32)?, device.zeros::<f32>([2])?);
    /// let g = device.tensor([2], [0.5f32, -1.0])?;
    /// let rate = 0.5f32; // another rate is no other kernel
    /// let (w, v) = device
    ///     .update((w, v), &g, |(w, v), g| {
    ///         let v = 0.9 * v + g;
    ///         (w - v * rate, v)
    ///     })?
    ///     .await_result()?;
    /// assert_eq!(device.show(&w)?.to_string(), "[0.75 1.5 ]");
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As [`map_into`](Self::map_into).
    pub fn update<T: Targets, I: Inputs>(
        &self,
        targets: T,
        inputs: I,
        f: impl FnOnce(T::Symbols, I::Symbols) -> T::Symbols,
    ) -> Submitted<T::Tensors>
    where
        T::Symbols: Outputs,
    {
        let recorded = record_update::<T::Symbols, I::Symbols>(f);
        inputs.with(|reads| match reads {
            Ok(reads) => write(self, recorded, Ok(&reads), targets, true),
            Err(error) => write(self, recorded, Err(error), targets, true),
        })
    }

    /// As [`map`](Self::map), by a [`Formula`] that was kept: nothing is recorded again.
    ///
    /// # Errors
    /// As [`map`](Self::map).
    pub fn apply<I: Inputs, O: Outputs>(
        &self,
        formula: &Formula<I::Symbols, O>,
        inputs: I,
    ) -> Result<PendingDispatch<O::Tensors>> {
        inputs.with(|reads| make::<O>(self, Ok(again(&formula.kept, &formula.scalars)), reads, None))
    }

    /// As [`map_into`](Self::map_into), by a [`Formula`] that was kept.
    ///
    /// # Errors
    /// As [`map_into`](Self::map_into).
    pub fn apply_into<I: Inputs, T: Targets>(
        &self,
        formula: &Formula<I::Symbols, T::Symbols>,
        inputs: I,
        targets: T,
    ) -> Submitted<T::Tensors> {
        let recorded = Ok(again(&formula.kept, &formula.scalars));
        inputs.with(|reads| match reads {
            Ok(reads) => write(self, recorded, Ok(&reads), targets, false),
            Err(error) => write(self, recorded, Err(error), targets, false),
        })
    }

    /// As [`update`](Self::update), by a [`Formula`] that was kept.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::expressions::{Formula, Symbol};
    /// let device = windlass::Device::best()?;
    /// let descend = Formula::in_place(|w: Symbol<f32>, g: Symbol<f32>| w - 0.5 * g)?;
    /// let (w, g) = (device.tensor([2], [1.0f32, 2.0])?, device.tensor([2], [2.0f32, 4.0])?);
    /// let w = device.apply_update(&descend, w, &g)?.into_output();
    /// let slower = descend.with_scalars([0.25f64])?;
    /// let w = device.apply_update(&slower, w, &g)?.await_result()?;
    /// assert_eq!(device.show(&w)?.to_string(), "[-0.5 -1. ]");
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As [`map_into`](Self::map_into).
    pub fn apply_update<T: Targets, I: Inputs>(
        &self,
        formula: &Formula<InPlace<T::Symbols, I::Symbols>, T::Symbols>,
        targets: T,
        inputs: I,
    ) -> Submitted<T::Tensors> {
        let recorded = Ok(again(&formula.kept, &formula.scalars));
        inputs.with(|reads| match reads {
            Ok(reads) => write(self, recorded, Ok(&reads), targets, true),
            Err(error) => write(self, recorded, Err(error), targets, true),
        })
    }

    /// Makes what [`apply`](Self::apply) of a formula needs for inputs of these layouts ahead of its first use: on a GPU the
    /// kernel, which is good for all layouts of the same class and for all values of the numbers. The wait ends when it is made;
    /// meanwhile the driver may hold up the launches of all threads.
    ///
    /// # Errors
    /// As [`apply`](Self::apply).
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::expressions::{Formula, Symbol};
    /// let device = windlass::Device::best()?;
    /// let formula = Formula::new(|x: Symbol<f32>| 1.0 / (1.0 + (-x).exp()))?;
    /// let x = device.zeros::<f32>([100])?;
    /// device.prepare(&formula, &x)?.await_result()?;
    /// # Ok(()) }
    /// ```
    pub fn prepare<I: Inputs, O: Outputs>(
        &self,
        formula: &Formula<I::Symbols, O>,
        inputs: I,
    ) -> Result<PendingDispatch<()>> {
        let layouts = |reads: Result<SmallVec<[Read<'_>; 8]>>| -> Result<Ahead> {
            let reads = reads?;
            let extents = common(&reads)?;
            let output = Layout::row_major(&extents)?;
            let inputs: Result<Vec<Layout>> = reads.iter().map(|(_, layout)| layout.broadcast(&extents)).collect();
            let outputs: Vec<Layout> = formula.kept.expr.outputs().iter().map(|_| output.clone()).collect();
            let Recorded { kept, scalars } = again(&formula.kept, &formula.scalars);
            let shape = kept.shape(&outputs, &inputs?, false);
            Ok(Ahead(Map::new(Shared(kept), scalars, shape)))
        };
        let ahead = inputs.with(layouts).map_err(Map::refused)?;
        self.dispatch(ahead, (), ())
    }

    /// New row-major tensors of these extents whose elements are given by their place: see
    /// [`position`](crate::expressions::position).
    ///
    /// # Errors
    /// As [`map`](Self::map).
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::expressions::position;
    /// let device = windlass::Device::best()?;
    /// let iota = device.tabulate([4], || position(0).cast::<f64>() * 0.5)?.await_result()?;
    /// assert_eq!(device.show(&iota)?.to_string(), "[0.  0.5 1.  1.5]");
    /// # Ok(()) }
    /// ```
    pub fn tabulate<O: Outputs>(
        &self,
        shape: impl IntoShape,
        f: impl FnOnce() -> O,
    ) -> Result<PendingDispatch<O::Tensors>> {
        make::<O>(self, closure::<(), O>(|()| f()), Ok(SmallVec::new()), Some(shape.axes().as_ref()))
    }

    /// Computes an expression that is plain data, over operands whose types are known at run time. Each operand comes with its
    /// layout in the buffer or the part of one; all layouts have the same extents.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] that names the operand: another number of operands or scalars than the expression has, other
    /// types, extents that differ, a layout that reaches beyond its operand, outputs that overlap; else as
    /// [`map_into`](Self::map_into). The buffers come back.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::expressions::{Formula, Symbol};
    /// use windlass::tensor::Layout;
    /// let device = windlass::Device::best()?;
    /// let root = Formula::new(|x: Symbol<f32>| x.sqrt())?;
    /// let (x, all) = (device.upload(vec![4.0f32, 9.0])?.into_output(), Layout::row_major([2])?);
    /// let out = vec![(device.uninit::<f32>(2)?.into_buffer().into(), all.clone())];
    /// let pending = device.evaluate(root.expr(), root.scalars(), vec![((&x).into(), all)], out)?;
    /// let (out,) = pending.await_result()?.downcast::<windlass::DeviceBuffer<f32>>()?;
    /// assert_eq!(device.download(&out)?.await_result()?, [2.0, 3.0]);
    /// # Ok(()) }
    /// ```
    pub fn evaluate(
        &self,
        expr: &Expr,
        scalars: &[Scalar],
        inputs: Vec<(AnyIn<'_>, Layout)>,
        outputs: Vec<(AnyBuffer, Layout)>,
    ) -> Submitted<AnyBuffers> {
        let (ins, inputs): (AnyIns<'_>, Vec<Layout>) = inputs.into_iter().unzip();
        let (buffers, outputs): (Vec<AnyBuffer>, Vec<Layout>) = outputs.into_iter().unzip();
        let kept = Kept::for_expr(expr.clone());
        let shape = kept.shape(&outputs, &inputs, false);
        let map = Map::new(Shared(kept), scalars.to_vec(), shape);
        self.dispatch(map, ins, buffers.into_iter().collect())
    }
}

/// Records a closure on symbols.
fn closure<I: Symbols, O: Outputs>(f: impl FnOnce(I) -> O) -> Result<Recorded> {
    record(I::DTYPES, |open| sealed::Symbols::raws(f(I::inputs(open, 0))))
}

fn again(kept: &Arc<Kept>, scalars: &[Scalar]) -> Recorded {
    Recorded { kept: kept.clone(), scalars: scalars.to_vec() }
}
