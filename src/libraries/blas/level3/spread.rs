//! How the matrices of a batch are stored: at even distances in one buffer, or each in a buffer of its own.
//!
//! A batched routine is written once over a [`Spread`], which defines what it reads and writes, and at which address
//! each matrix begins. The library takes addresses in both cases.

use super::super::lists::{self, numbered};
use super::super::prelude::*;
use super::batch::Operand;
#[cfg(feature = "cuda")]
use super::batch::Places;
use super::orders::matrix;
use crate::core::buffer::{Operand as Position, Span};
use crate::core::element::Element;
use crate::core::op::{Bufs, Immediate, Output};
#[cfg(feature = "host")]
use crate::core::room::{OrUnwind, collected};
use crate::device::tensor::{self, Whole};
#[cfg(feature = "host")]
use crate::numerics::level3::batch;

/// How the matrices of a batch are stored.
pub(super) trait Spread: Send + Sync + 'static {
    /// Each has a buffer of its own.
    const LISTED: bool;
    /// The matrices, as an operand.
    type Of<T: Element>: Position;
    /// The output of a routine that returns matrices.
    type Matrices<T: Element>: Immediate + Output<Writes = (Self::Of<T>,)>;
    /// The output of a routine that returns matrices and infos.
    type Inverses<T: Element>: Immediate + Output<Writes = (Self::Of<T>, i32)>;
    /// The output of a routine that returns matrices, pivots and infos.
    type Factors<T: Element>: Immediate + Output<Writes = (Self::Of<T>, i32, i32)>;

    /// Checks that there are `count` matrices, that they lie inside their buffers and, if they are written, do not
    /// overlap.
    fn check<T: Element>(of: &Operand, count: usize, at: &SpanOf<Self, T>, written: bool) -> Result<()>;

    /// Whether writing all matrices writes every element of the buffer at `index`.
    fn fills<T: Element>(of: &Operand, count: usize, at: &SpanOf<Self, T>, index: usize) -> bool;

    /// The number of buffers that hold `count` matrices.
    fn buffers(count: usize) -> usize;

    /// The address of each matrix. Not for matrices without elements, whose number is not limited.
    #[cfg(feature = "cuda")]
    fn places<T: Element>(of: &Operand, count: usize, at: &SpanOf<Self, T>) -> Places;

    /// The buffer that holds all matrices, if there is one.
    #[cfg(feature = "cuda")]
    fn whole<T: Element>(at: &SpanOf<Self, T>) -> Option<&Span<T>>;

    /// Each matrix, to be read.
    #[cfg(feature = "host")]
    fn parts<'a, T: Element + 'a>(of: &Operand, count: usize, all: SliceOf<'a, Self, T>) -> Vec<&'a [T]>;

    /// Each matrix, to be written.
    #[cfg(feature = "host")]
    fn parts_mut<'a, T: Element + 'a>(of: &Operand, count: usize, all: SliceMutOf<'a, Self, T>) -> Vec<&'a mut [T]>;
}

/// The device memory of the matrices.
pub(super) type SpanOf<L, T> = <<L as Spread>::Of<T> as Position>::Span;
/// Matrices to be read by a host half.
pub(super) type SliceOf<'a, L, T> = <<L as Spread>::Of<T> as Position>::Slice<'a>;
/// Matrices to be written by a host half.
pub(super) type SliceMutOf<'a, L, T> = <<L as Spread>::Of<T> as Position>::SliceMut<'a>;

/// At even distances in one buffer.
pub(super) struct Even;

/// Each in a buffer of its own.
pub(super) struct Listed;

impl Spread for Even {
    const LISTED: bool = false;
    type Of<T: Element> = T;
    type Matrices<T: Element> = DeviceBuffer<T>;
    type Inverses<T: Element> = (DeviceBuffer<T>, DeviceBuffer<i32>);
    type Factors<T: Element> = (DeviceBuffer<T>, DeviceBuffer<i32>, DeviceBuffer<i32>);

    fn check<T: Element>(of: &Operand, count: usize, at: &Span<T>, written: bool) -> Result<()> {
        of.check(count, at.len(), written)
    }

    fn fills<T: Element>(of: &Operand, count: usize, at: &Span<T>, _: usize) -> bool {
        of.fills(count, at.len())
    }

    fn buffers(_: usize) -> usize {
        1
    }

    #[cfg(feature = "cuda")]
    fn places<T: Element>(of: &Operand, count: usize, at: &Span<T>) -> Places {
        of.places::<T>(count, at.address())
    }

    #[cfg(feature = "cuda")]
    fn whole<T: Element>(at: &Span<T>) -> Option<&Span<T>> {
        Some(at)
    }

    #[cfg(feature = "host")]
    fn parts<'a, T: Element + 'a>(of: &Operand, count: usize, all: &'a [T]) -> Vec<&'a [T]> {
        collected(batch::parts(all, of.stride, count)).or_unwind()
    }

    #[cfg(feature = "host")]
    fn parts_mut<'a, T: Element + 'a>(of: &Operand, count: usize, all: &'a mut [T]) -> Vec<&'a mut [T]> {
        batch::parts_mut(all, of.stride, count)
    }
}

impl Spread for Listed {
    const LISTED: bool = true;
    type Of<T: Element> = List<T>;
    type Matrices<T: Element> = Vec<DeviceBuffer<T>>;
    type Inverses<T: Element> = (Vec<DeviceBuffer<T>>, DeviceBuffer<i32>);
    type Factors<T: Element> = (Vec<DeviceBuffer<T>>, DeviceBuffer<i32>, DeviceBuffer<i32>);

    fn check<T: Element>(of: &Operand, count: usize, at: &SpanOf<Self, T>, _: bool) -> Result<()> {
        check_matrix(of.name, of.rows, 0, of.ld, 0)?; // checks the leading dimension even without matrices
        if at.len() != count {
            return Err(Error::invalid(of.name, format!("{} matrices, but the batch is of {count}", at.len())));
        }
        at.iter().try_for_each(|at| check_matrix(of.name, of.rows, of.cols, of.ld, at.len()))
    }

    fn fills<T: Element>(of: &Operand, _: usize, at: &SpanOf<Self, T>, index: usize) -> bool {
        at.get(index).is_some_and(|at| of.fills(1, at.len()))
    }

    fn buffers(count: usize) -> usize {
        count
    }

    #[cfg(feature = "cuda")]
    fn places<T: Element>(_: &Operand, _: usize, at: &SpanOf<Self, T>) -> Places {
        Places::Each(at.iter().map(Span::address).collect())
    }

    #[cfg(feature = "cuda")]
    fn whole<T: Element>(_: &SpanOf<Self, T>) -> Option<&Span<T>> {
        None
    }

    #[cfg(feature = "host")]
    fn parts<'a, T: Element + 'a>(_: &Operand, _: usize, all: Vec<&'a [T]>) -> Vec<&'a [T]> {
        all
    }

    #[cfg(feature = "host")]
    fn parts_mut<'a, T: Element + 'a>(_: &Operand, _: usize, all: Vec<&'a mut [T]>) -> Vec<&'a mut [T]> {
        all
    }
}

/// A list to be read, of as many matrices as a batch has: parts of buffers, and what each of them is.
///
/// # Errors
/// As [`alike`]; [`Error::InvalidArgument`] for another number of matrices.
pub(super) fn read<'x, T: Element>(
    name: &'static str,
    all: &'x [TensorRef<'_, T>],
    count: usize,
) -> Result<(Vec<In<'x, T>>, Matrices)> {
    if all.len() != count {
        return Err(Error::invalid(name, format!("{} matrices, but the batch is of {count}", all.len())));
    }
    let of = alike(name, all.iter().map(TensorRef::layout))?;
    Ok((lists::windows(all)?, of))
}

/// What each matrix of a list is. All are alike, since the library takes one size and one leading dimension.
///
/// # Errors
/// [`Error::InvalidArgument`] for one that is no matrix, or another one than the first.
pub(super) fn alike<'x>(name: &'static str, layouts: impl IntoIterator<Item = &'x Layout>) -> Result<Matrices> {
    let mut first: Option<(Matrices, &Layout)> = None;
    for (i, layout) in layouts.into_iter().enumerate() {
        let of = matrix(name, layout).map_err(|error| numbered(error, i))?;
        match first {
            Some((first, like)) if first != of => {
                let what = format!("{layout:?}, but the first of the list is {like:?}: all take one layout");
                return Err(Error::invalid(format!("{name}[{i}]"), what));
            }
            Some(_) => {}
            None => first = Some((of, layout)),
        }
    }
    first.map_or_else(|| matrix(name, &Layout::row_major([0, 0])?), |(of, _)| Ok(of))
}

/// A list to be written: windows of buffers, and what makes the tensors of them again.
pub(super) fn windows<T: Element>(all: Vec<Part<T>>) -> (Vec<DeviceBuffer<T>>, Vec<Whole>) {
    all.into_iter().map(Part::window).unzip()
}

/// The tensors of windows.
pub(super) fn tensors<T: Element>(windows: Vec<DeviceBuffer<T>>, wholes: Vec<Whole>) -> Vec<Tensor<T>> {
    wholes.into_iter().zip(windows).map(|(whole, buffer)| whole.tensor(buffer)).collect()
}

/// The outputs of routines for lists: the matrices, and the numbers of all of them. As buffers, and as tensors.
macro_rules! beside_lists { ($(($($beside:ident),*))*) => { $(
    beside_lists!(@as List<T>, Vec<DeviceBuffer<T>>, $($beside, DeviceBuffer<$beside>),*);
    beside_lists!(@as List<tensor::Strided<T>>, Vec<Tensor<T>>, $(tensor::Strided<$beside>, Tensor<$beside>),*);
)* };
(@as $writes:ty, $list:ty, $($written:ty, $beside:ty),*) => {
    impl<T: Element> Output for ($list, $($beside),*) {
        type Writes = ($writes, $($written),*);
        type Host = ();
        fn join(all: Bufs<Self>, (): ()) -> Result<Self> {
            Ok(all)
        }
    }
    impl<T: Element> Immediate for ($list, $($beside),*) {
        fn assemble(all: Bufs<Self>) -> Self {
            all
        }
    }
} }
beside_lists! { (i32)(i32, i32) }
