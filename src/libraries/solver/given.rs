//! What calls are given: matrices that they copy, or use up.

use super::matrix::Matrix;
use super::{Solver, SolverElement};
use crate::core::buffer::{DeviceBuffer, GpuRef, In};
use crate::core::dispatch::PendingDispatch;
use crate::core::element::Element;
use crate::core::error::{Error, Result};
use crate::core::op::Output;
use crate::device::Device;
use crate::device::dispatch::Submitted;
use crate::device::tensor::{AxisSlice, Layout, Strided, Tensor, TensorRef};
use crate::libraries::operands::Matrices;

mod sealed {
    pub trait GivenTensor<'a, T> {}
}

/// Matrices that a call overwrites: copied, or used up.
#[derive(Debug)]
#[non_exhaustive]
pub enum Given<'a, T: Element> {
    /// By reference: the call makes a copy with contiguous columns, in one kernel, which transposes on the way.
    Copied(TensorRef<'a, T>),
    /// By value: the call works in place if the columns are contiguous and the matrices at even distances. Else it makes a copy, too.
    Used(Tensor<T>),
}

/// A tensor that a call needs for itself. By reference (`&Tensor<T>`, a [`TensorRef`], a buffer, work in flight that has nothing
/// to report) it is copied; by value (a [`Tensor`], a buffer, such work) it is used up. A buffer counts as a vector. Sealed.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no tensor of `{T}` that a factorization can be made of",
    label = "expected `&Tensor<{T}>` or a `TensorRef<{T}>`, which are copied, or a `Tensor<{T}>`, which is used up",
    note = "work in flight that has a verdict has no tensor before the wait: `.await_result()?` gives it",
    note = "a buffer becomes matrices by `buffer.with_layout(Layout::columns(m, n))?`"
)]
pub trait GivenTensor<'a, T: Element>: Into<Given<'a, T>> + sealed::GivenTensor<'a, T> {}

impl<'a, T: Element> sealed::GivenTensor<'a, T> for Given<'a, T> {}
impl<'a, T: Element> GivenTensor<'a, T> for Given<'a, T> {}

macro_rules! given { ($how:ident: $($t:ty),*) => { $(
    impl<'a, T: Element> From<$t> for Given<'a, T> {
        fn from(x: $t) -> Self {
            Given::$how(x.into())
        }
    }
    impl<'a, T: Element> sealed::GivenTensor<'a, T> for $t {}
    impl<'a, T: Element> GivenTensor<'a, T> for $t {}
)* } }
given!(Copied: &'a Tensor<T>, TensorRef<'a, T>, &'a TensorRef<'_, T>, &'a DeviceBuffer<T>, In<'a, T>, &'a GpuRef<T>,
    &'a PendingDispatch<Tensor<T>>, &'a PendingDispatch<DeviceBuffer<T>>);
given!(Used: Tensor<T>, DeviceBuffer<T>, PendingDispatch<Tensor<T>>, PendingDispatch<DeviceBuffer<T>>);

impl<T: Element> Given<'_, T> {
    pub(super) fn layout(&self) -> &Layout {
        match self {
            Given::Copied(x) => x.layout(),
            Given::Used(x) => x.layout(),
        }
    }

    pub(super) fn view(&self) -> TensorRef<'_, T> {
        match self {
            Given::Copied(x) => x.view(),
            Given::Used(x) => x.view(),
        }
    }

    /// What comes back with a refusal: of what is only borrowed, a tensor without elements.
    pub(super) fn back(self, device: &Device) -> Result<Tensor<T>> {
        match self {
            Given::Copied(_) => device.uninit([0]),
            Given::Used(x) => Ok(x),
        }
    }
}

/// A tensor of one axis as a matrix of one column.
pub(super) fn as_matrices(layout: &Layout) -> Result<Layout> {
    if layout.rank() == 1 { layout.unsqueeze(-1) } else { Ok(layout.clone()) }
}

/// The axes of the batch, the rows and the columns.
pub(super) fn sizes<'l>(name: &'static str, layout: &'l Layout) -> Result<(&'l [usize], Matrix)> {
    let [batch @ .., rows, cols] = layout.shape() else {
        let what = "less than two axes; `with_layout(Layout::columns(m, n))` makes matrices of a buffer";
        return Err(Error::invalid(name, format!("{layout:?} has {what}")));
    };
    // No overflow: the layout has counted its elements.
    let of = Matrix::new(*rows, *cols).batch(batch.iter().product());
    of.check_shape(name)?;
    Ok((batch, of))
}

impl Matrix {
    /// Where the matrices of a layout lie, behind its first element.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] with less than two axes, and when the columns are not contiguous or the batch is not at even
    /// distances.
    pub(super) fn of(name: &'static str, layout: &Layout) -> Result<Self> {
        let all = Matrices::from_layout(name, layout)?;
        let matrix = Matrix::new(all.rows, all.cols).ld(all.columns(name)?);
        let matrix = if all.count == 1 { matrix } else { matrix.batch(all.count).stride(all.stride) };
        matrix.check_shape(name)?;
        Ok(matrix)
    }
}

/// The part of the buffer in which a tensor lies, and its layout there.
fn part_of<T: Element>(x: &Tensor<T>) -> Result<(In<'_, T>, Layout)> {
    let (first, len) = x.layout().span();
    Ok((x.buffer().slice(first..first + len)?, x.layout().moved_down(first)))
}

/// The matrices of a tensor that is read.
pub(super) fn matrices_of<'x, T: Element>(name: &'static str, x: &'x Tensor<T>) -> Result<(Matrix, In<'x, T>)> {
    let (part, layout) = part_of(x)?;
    Ok((Matrix::of(name, &layout)?, part))
}

/// The elements of a tensor that is read, which lie one after the other.
pub(super) fn elements_of<'x, T: Element>(name: &'static str, x: &'x Tensor<T>) -> Result<In<'x, T>> {
    let (part, layout) = part_of(x)?;
    if layout.is_row_major() {
        return Ok(part);
    }
    Err(Error::invalid(name, format!("{layout:?} has gaps; `contiguous` makes a copy that has none")))
}

/// The first `n` elements along an axis, in the same memory.
pub(super) fn head<T: Element>(x: Tensor<T>, axis: isize, n: usize) -> Result<Tensor<T>> {
    let (head, _) = x.layout().split(axis, n)?;
    Ok(x.with_layout(head)?)
}

/// What was refused of two operands, with both as they were given.
type BothRefused<'a, 'b, T> = (Error, Given<'a, T>, Given<'b, T>);

/// A and B, to be overwritten, where their matrices lie, and what else was made.
type BothTaken<T, M> = (Tensor<T>, Tensor<T>, (Matrix, Matrix, M));

/// What was refused, or failed before the submission, with what was given.
pub(super) type Refused<'a, T> = (Error, Given<'a, T>);

impl Solver {
    /// A new tensor of `each` for each matrix of a batch.
    pub(super) fn new_tensor<T: Element>(&self, batch: &[usize], each: &[usize]) -> Result<Tensor<T>> {
        self.device.uninit([batch, each].concat())
    }

    /// New column-major matrices, one after the other.
    pub(super) fn new_matrices<T: Element>(&self, batch: &[usize], rows: usize, cols: usize) -> Result<Tensor<T>> {
        columns(self.new_tensor(batch, &[cols, rows])?)
    }

    /// The matrices of A, to be overwritten, after `make` has made what else is needed of their sizes.
    pub(super) fn taken<'a, T: SolverElement, M>(
        &self,
        a: Given<'a, T>,
        make: impl FnOnce(&[usize], &Matrix) -> Result<M>,
    ) -> Result<(Matrix, Tensor<T>, M), Refused<'a, T>> {
        match sizes("a", a.layout()).and_then(|(batch, of)| make(batch, &of)) {
            Ok(made) => {
                let wanted = a.layout().shape().to_vec();
                let (of_a, a) = self.fitted("a", a, &wanted, None)?;
                Ok((of_a, a, made))
            }
            Err(error) => Err((error, a)),
        }
    }

    /// The matrices of B, to be overwritten: one for each matrix of A, whose extents are `of_a`, with `rows` rows. A single axis is
    /// a column for each of them. With `room` they lie in as many rows, of which those that are added are zero.
    pub(super) fn beside<'a, T: SolverElement>(
        &self,
        name: &'static str,
        b: Given<'a, T>,
        (of_a, rows): (&[usize], usize),
        room: Option<usize>,
    ) -> Result<(Matrix, Tensor<T>), Refused<'a, T>> {
        let wanted = as_matrices(b.layout()).and_then(|layout| {
            let (_, of) = sizes(name, &layout)?;
            let (batch, wanted) = (of_a.get(..of_a.len().saturating_sub(2)).unwrap_or_default(), [rows, of.cols]);
            let wanted = [batch, &wanted].concat();
            match layout.broadcast(&wanted) {
                Ok(all) if of.rows == rows => sizes(name, &all).map(|_| wanted),
                _ => Err(Error::invalid(
                    name,
                    format!("{:?}, but a is {of_a:?}: {rows} rows go with it", b.layout().shape()),
                )),
            }
        });
        match wanted {
            Ok(wanted) => self.fitted(name, b, &wanted, room),
            Err(error) => Err((error, b)),
        }
    }

    /// The matrices of A and B, both to be overwritten, as [`taken`](Self::taken) and [`beside`](Self::beside). B has as many rows
    /// as A, and room for as many as A has columns.
    pub(super) fn taken_with<'a, 'b, T: SolverElement, M>(
        &self,
        a: Given<'a, T>,
        b: Given<'b, T>,
        make: impl FnOnce(&[usize], &Matrix) -> Result<M>,
    ) -> Result<BothTaken<T, M>, BothRefused<'a, 'b, T>> {
        let extents = a.layout().shape().to_vec();
        let made = sizes("a", a.layout()).and_then(|(batch, of)| Ok((of, make(batch, &of)?)));
        let (of, made) = match made {
            Ok(made) => made,
            Err(error) => return Err((error, a, b)),
        };
        let room = Some(of.cols).filter(|cols| *cols > of.rows);
        let (of_b, b) = match self.beside("b", b, (&extents, of.rows), room) {
            Ok(b) => b,
            Err((error, b)) => return Err((error, a, b)),
        };
        match self.fitted("a", a, &extents, None) {
            Ok((of_a, a)) => Ok((a, b, (of_a, of_b, made))),
            Err((error, a)) => Err((error, a, Given::Used(b))),
        }
    }

    /// Submits what is done with factors to a B that has as many rows as they have; or refuses it, and B comes back.
    pub(super) fn with_factors<'b, T: SolverElement, F, O, V>(
        &self,
        op: &'static str,
        parts: Result<F>,
        b: Given<'b, T>,
        factors: &Tensor<T>,
        submit: impl FnOnce(F, Matrix, Tensor<T>) -> Submitted<O, V>,
    ) -> Submitted<O, V>
    where
        O: Output<Writes = (Strided<T>,)>,
    {
        let made = match (parts, sizes("a", factors.layout())) {
            (Ok(parts), Ok((_, of))) => self.beside("b", b, (factors.shape(), of.rows), None).map(|made| (parts, made)),
            (Err(error), _) | (_, Err(error)) => Err((error, b)),
        };
        match made {
            Ok((parts, (of_b, b))) => submit(parts, of_b, b),
            Err((error, b)) => Err(self.refuse(op, error, |d| Ok((b.back(d)?,)))),
        }
    }

    /// What is given, if it has these extents and may be overwritten; else a copy.
    fn fitted<'a, T: SolverElement>(
        &self,
        name: &'static str,
        given: Given<'a, T>,
        wanted: &[usize],
        room: Option<usize>,
    ) -> Result<(Matrix, Tensor<T>), Refused<'a, T>> {
        let given = match given {
            Given::Used(x) if room.is_none() && x.layout().is_distinct() => {
                let matrices = as_matrices(x.layout()).ok().filter(|layout| layout.shape() == wanted);
                match matrices.map(|layout| Matrix::of(name, &layout)) {
                    Some(Ok(of)) => return Ok((of, x)),
                    _ => Given::Used(x),
                }
            }
            other => other,
        };
        match self.copied(name, &given.view(), wanted, room) {
            Ok(copy) => Ok(copy),
            Err(error) => Err((error, given)),
        }
    }

    fn copied<T: SolverElement>(
        &self,
        name: &'static str,
        x: &TensorRef<'_, T>,
        wanted: &[usize],
        room: Option<usize>,
    ) -> Result<(Matrix, Tensor<T>)> {
        let all = if x.rank() == 1 { x.unsqueeze(-1)? } else { x.view() };
        let all = all.broadcast(wanted)?;
        let copy = match (room, wanted) {
            (Some(room), [batch @ .., rows, cols]) => {
                let zeros = columns(self.device.zeros([batch, &[*cols, room]].concat())?)?;
                let part = zeros.part(|all| all.slice((AxisSlice::Rest, ..*rows, ..)))?;
                self.device.assign(part, &all)?.into_output()
            }
            _ => self.device.contiguous_columns(&all)?.into_output(),
        };
        let of = Matrix::of(name, copy.layout())?;
        if x.rank() > 1 {
            return Ok((of, copy));
        }
        let vectors = copy.layout().squeeze_axis(-1)?;
        Ok((of, copy.with_layout(vectors)?))
    }
}

/// Rows as columns.
fn columns<T: Element>(x: Tensor<T>) -> Result<Tensor<T>> {
    let layout = x.layout().swap_axes(-1, -2)?;
    Ok(x.with_layout(layout)?)
}
