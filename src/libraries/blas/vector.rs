//! Vectors: elements of a buffer at a fixed distance.

use super::matrix::check_size;
use crate::core::buffer::{DeviceBuffer, GpuRef, In};
use crate::core::dispatch::PendingDispatch;
use crate::core::element::Element;
use crate::core::error::{Error, Result};
use crate::device::tensor::Layout;
use crate::libraries::operands;

/// A vector to be read: `n` elements of a buffer, `inc` apart.
///
/// A whole buffer converts into one; `strided` makes any other. With a negative increment the vector runs backwards, as
/// in BLAS: its first element is the one at `(n - 1) * |inc|`, its last the one at 0.
///
/// ```
/// # fn main() -> Result<(), windlass::Error> {
/// let device = windlass::Device::host()?;
/// use windlass::blas::Gemv;
/// let (blas, x, row) = (device.blas(), device.buffer([1.0f64, 2.0, 3.0, 4.0])?, device.buffer([1.0, 10.0])?);
/// let y = blas.gemv(Gemv::new(1, 2), &row, x.strided(2, 2), device.uninit(1)?)?; // elements 0 and 2
/// assert_eq!(device.to_vec(&y)?, [31.0]);
/// let y = blas.gemv(Gemv::new(1, 2), &row, x.strided(2, -2), device.uninit(1)?)?; // elements 2 and 0
/// assert_eq!(device.to_vec(&y)?, [13.0]);
/// # Ok(()) }
/// ```
#[derive(Clone, Copy)]
pub struct Vector<'a, T: Element> {
    pub(super) data: In<'a, T>,
    pub(super) at: Strided,
}

/// A vector to be written: as [`Vector`], and its buffer is moved in. The elements in between do not change. The call
/// returns the whole buffer.
pub struct VectorMut<T: Element> {
    pub(super) data: DeviceBuffer<T>,
    pub(super) at: Strided,
}

mod sealed {
    pub trait ReadableVector<'a, T> {}
    pub trait WritableVector<T> {}
}

/// A vector that a call reads: a whole buffer (`&DeviceBuffer<T>`, `&GpuRef<T>`), a part of one by `slice`, or elements at a
/// distance by `strided` ([`Vector`]). Sealed.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no vector that a call can read elements of `{T}` from",
    label = "expected `&DeviceBuffer<{T}>`, `&GpuRef<{T}>`, a part of one (`x.slice(range)?`), or `x.strided(n, inc)`",
    note = "work in flight is read as `&pending`, unless it has a verdict: then `.await_result()?` gives its buffer"
)]
pub trait ReadableVector<'a, T: Element>: Into<Vector<'a, T>> + sealed::ReadableVector<'a, T> {}

/// A vector that a call writes, and gives back: a [`DeviceBuffer`] by value, or elements of one at a distance by
/// `into_strided` ([`VectorMut`]). Sealed.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no vector that a call can write elements of `{T}` to",
    label = "expected a `DeviceBuffer<{T}>` by value, or `x.into_strided(n, inc)`",
    note = "what is written is moved in and comes back from the wait",
    note = "work in flight is moved in as it is, unless it has a verdict: then `.await_result()?` gives its buffer"
)]
pub trait WritableVector<T: Element>: Into<VectorMut<T>> + sealed::WritableVector<T> {}

macro_rules! readable { ($($t:ty),*) => { $(
    impl<'a, T: Element> sealed::ReadableVector<'a, T> for $t {}
    impl<'a, T: Element> ReadableVector<'a, T> for $t {}
)* } }
readable!(&'a DeviceBuffer<T>, &'a GpuRef<T>, In<'a, T>, Vector<'a, T>, &'a PendingDispatch<DeviceBuffer<T>>);

macro_rules! writable { ($($t:ty),*) => { $(
    impl<T: Element> sealed::WritableVector<T> for $t {}
    impl<T: Element> WritableVector<T> for $t {}
)* } }
writable!(DeviceBuffer<T>, VectorMut<T>, PendingDispatch<DeviceBuffer<T>>);

/// How many elements a vector has, and how far apart they lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(super) struct Strided {
    pub(super) n: usize,
    pub(super) inc: isize,
}

impl<'a, T: Element> In<'a, T> {
    /// A vector of `n` elements, `inc` apart. That it lies inside the buffer is checked when it is used.
    pub fn strided(self, n: usize, inc: isize) -> Vector<'a, T> {
        Vector { data: self, at: Strided { n, inc } }
    }
}

impl<T: Element> DeviceBuffer<T> {
    /// A vector of `n` elements, `inc` apart, to be read. That it lies inside the buffer is checked when it is used.
    pub fn strided(&self, n: usize, inc: isize) -> Vector<'_, T> {
        self.as_in().strided(n, inc)
    }

    /// A vector of `n` elements, `inc` apart, to be written. That it lies inside the buffer is checked when it is used.
    pub fn into_strided(self, n: usize, inc: isize) -> VectorMut<T> {
        VectorMut { data: self, at: Strided { n, inc } }
    }
}

impl<T: Element> GpuRef<T> {
    /// A vector of `n` elements, `inc` apart. That it lies inside the buffer is checked when it is used.
    pub fn strided(&self, n: usize, inc: isize) -> Vector<'_, T> {
        self.as_in().strided(n, inc)
    }
}

impl<'a, T: Element> From<In<'a, T>> for Vector<'a, T> {
    fn from(data: In<'a, T>) -> Self {
        data.strided(data.len(), 1)
    }
}

impl<'a, T: Element> From<&'a DeviceBuffer<T>> for Vector<'a, T> {
    fn from(buffer: &'a DeviceBuffer<T>) -> Self {
        buffer.as_in().into()
    }
}

impl<'a, T: Element> From<&'a PendingDispatch<DeviceBuffer<T>>> for Vector<'a, T> {
    fn from(pending: &'a PendingDispatch<DeviceBuffer<T>>) -> Self {
        pending.as_in().into()
    }
}

impl<'a, T: Element> From<&'a GpuRef<T>> for Vector<'a, T> {
    fn from(shared: &'a GpuRef<T>) -> Self {
        shared.as_in().into()
    }
}

impl<T: Element> From<PendingDispatch<DeviceBuffer<T>>> for VectorMut<T> {
    fn from(pending: PendingDispatch<DeviceBuffer<T>>) -> Self {
        pending.into_output().into()
    }
}

impl<T: Element> From<DeviceBuffer<T>> for VectorMut<T> {
    fn from(buffer: DeviceBuffer<T>) -> Self {
        let n = buffer.len();
        buffer.into_strided(n, 1)
    }
}

impl Strided {
    /// The elements of tensors, of each the same number: those of one axis, or all of dense ones that have one layout.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for other tensors.
    pub(super) fn of<const N: usize>(operands: [(&'static str, &Layout); N]) -> Result<[Strided; N]> {
        let mut all = [Strided { n: 0, inc: 1 }; N];
        let [(first, of_first), ..] = operands.as_slice() else { return Ok(all) };
        for (at, (name, layout)) in all.iter_mut().zip(operands) {
            if of_first.rank() == 1 && layout.rank() == 1 {
                let operands::Vector { len, step } = operands::Vector::from_layout(name, layout)?;
                *at = Strided { n: len, inc: step };
                continue;
            }
            if layout.shape() != of_first.shape() {
                let what = format!("shape {:?}, but `{first}` has {:?}", layout.shape(), of_first.shape());
                return Err(Error::invalid(name, what));
            }
            let dense = layout.span().1 == layout.len() && layout.is_distinct();
            let alike =
                |k: usize| layout.shape().get(k) == Some(&1) || layout.strides().get(k) == of_first.strides().get(k);
            let forwards = layout.strides().iter().zip(layout.shape()).all(|(step, n)| *n <= 1 || *step > 0);
            let fits = layout.is_empty() || dense && forwards && (0..layout.rank()).all(alike);
            if !fits {
                let what =
                    "tensors of several axes must be dense, and all in one order; `contiguous` makes a copy that is";
                return Err(Error::invalid(name, format!("{layout:?}: {what}")));
            }
            *at = Strided { n: layout.len(), inc: 1 };
        }
        Ok(all)
    }

    /// The number of elements from the first to the last; `None` on overflow.
    pub(super) fn span(&self) -> Option<usize> {
        match self.n.checked_sub(1) {
            None => Some(0),
            Some(last) => last.checked_mul(self.inc.unsigned_abs())?.checked_add(1),
        }
    }

    /// Checks that the vector lies inside a buffer of `len` elements.
    pub(super) fn check(&self, name: &'static str, len: usize) -> Result<()> {
        let Strided { n, inc } = *self;
        if inc == 0 {
            return Err(Error::invalid(name, format!("an increment of 0, with {n} elements")));
        }
        check_size(name, n)?;
        match self.span() {
            Some(need) if need <= len => Ok(()),
            Some(need) => Err(Error::invalid(
                name,
                format!("{len} elements do not hold a vector of {n} with an increment of {inc}, which spans {need}"),
            )),
            None => Err(Error::invalid(name, format!("a vector of {n} with an increment of {inc} overflows"))),
        }
    }

    /// Checks that the vector lies inside a buffer of `len` elements and has the `n` elements that `what` has.
    pub(super) fn check_n(&self, name: &'static str, len: usize, n: usize, what: &str) -> Result<()> {
        if self.n != n {
            return Err(Error::invalid(name, format!("{} elements, but {what} is {n}", self.n)));
        }
        self.check(name, len)
    }

    /// Whether writing the vector writes every element of a buffer of `len`.
    pub(super) fn fills(&self, len: usize) -> bool {
        self.n == len && (self.inc.unsigned_abs() == 1 || len <= 1)
    }

    /// The same elements in the order of memory, for routines to which the order does not matter. (BLAS treats a vector that runs
    /// backwards as empty there.)
    pub(super) fn ascending(self) -> Self {
        Strided { inc: self.inc.saturating_abs(), ..self }
    }

    /// Elements, as the library counts them.
    #[cfg(feature = "cuda")]
    pub(super) fn len64(&self) -> i64 {
        self.n as i64 // checked to fit
    }

    /// The increment, as the library has it.
    #[cfg(feature = "cuda")]
    pub(super) fn inc64(&self) -> i64 {
        // The increment of a single element is not used, whatever the caller gives.
        if self.n > 1 { self.inc as i64 } else { 1 }
    }
}
