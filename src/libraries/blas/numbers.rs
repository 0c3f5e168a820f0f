//! Numbers that a call takes: by value, or from the device.

use crate::core::buffer::{DeviceBuffer, GpuRef, In};
use crate::core::dispatch::PendingDispatch;
use crate::core::element::Element;
use crate::core::error::{Error, Result};
use crate::device::tensor::{Tensor, TensorRef};

/// `N` numbers of a call, one by default: values (`2.0`, or an array), or whatever is readable and has `N` elements, which are read when
/// the work runs: a tensor, a buffer, a part of one, or work in flight that has no verdict.
///
/// ```
/// # fn main() -> Result<(), windlass::Error> {
/// let device = windlass::Device::host()?;
/// let (blas, x) = (device.blas(), device.tensor([2], [3.0f32, 4.0])?);
/// let dot = blas.dot_into(&x, &x, device.uninit([1])?)?; // no wait
/// let y = blas.axpy(&dot, &x, device.zeros([2])?)?; // by the device's number
/// let y = blas.axpy(-24.0, &x, y)?; // by a value
/// assert_eq!(device.to_vec(&y)?, [3.0, 4.0]);
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct Numbers<'a, T: Element, const N: usize = 1>(Source<'a, T, N>);

#[derive(Clone)]
enum Source<'a, T: Element, const N: usize> {
    Values([T; N]),
    Device(TensorRef<'a, T>),
}

/// The values, which have no meaning if the numbers are on the device, and where they are there.
pub(super) type Parts<'a, T, const N: usize> = ([T; N], Option<In<'a, T>>);

impl<T: Element, const N: usize> Numbers<'_, T, N> {
    /// # Errors
    /// [`Error::InvalidArgument`] for a tensor that has another number of elements, or whose elements are not neighbours in order.
    pub(super) fn parts(&self, name: &'static str) -> Result<Parts<'_, T, N>> {
        match &self.0 {
            Source::Values(values) => Ok((*values, None)),
            Source::Device(at) if at.len() != N => {
                Err(Error::invalid(name, format!("{} elements on the device, but the call takes {N}", at.len())))
            }
            Source::Device(at) if !at.layout().is_row_major() => {
                Err(Error::invalid(name, format!("{:?}: numbers on the device lie one after the other", at.layout())))
            }
            Source::Device(at) => Ok(([T::default(); N], Some(at.operand()?.0))),
        }
    }
}

impl<T: Element> Numbers<'_, T> {
    /// As [`parts`](Self::parts), of one number.
    pub(in crate::libraries) fn one(&self, name: &'static str) -> Result<(T, Option<In<'_, T>>)> {
        let ([value], at) = self.parts(name)?;
        Ok((value, at))
    }
}

impl<T: Element, const N: usize> std::fmt::Debug for Numbers<'_, T, N> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.0 {
            Source::Values(values) => f.debug_list().entries(values).finish(),
            Source::Device(at) => write!(f, "of the device, {:?}", at.layout()),
        }
    }
}

/// Defines `alpha` and `beta` of a specification, whose fields of these names are [`Numbers`].
macro_rules! factors {
    ($Spec:ident<$t:ident: $bound:ident>, alpha: $alpha:ty $(, beta: $beta:ty)?) => {
        impl<'a, $t: $bound> $Spec<'a, $t> {
            /// The factor of the product: a value, or a number on the device ([`Numbers`](crate::blas::Numbers)).
            pub fn alpha(mut self, alpha: impl Into<$crate::libraries::blas::Numbers<'a, $alpha>>) -> Self {
                self.alpha = alpha.into();
                self
            }

            $(
                /// The factor of the output's previous contents: a value, or a number on the device
                /// ([`Numbers`](crate::blas::Numbers)). If it is a value and zero, they are not read.
                pub fn beta(mut self, beta: impl Into<$crate::libraries::blas::Numbers<'a, $beta>>) -> Self {
                    self.beta = beta.into();
                    self
                }
            )?
        }
    };
}
pub(crate) use factors;

impl<T: Element> From<T> for Numbers<'_, T> {
    fn from(value: T) -> Self {
        Numbers(Source::Values([value]))
    }
}

impl<T: Element, const N: usize> From<[T; N]> for Numbers<'_, T, N> {
    fn from(values: [T; N]) -> Self {
        Numbers(Source::Values(values))
    }
}

macro_rules! on_device { ($($t:ty),* $(,)?) => { $(
    impl<'a, T: Element, const N: usize> From<$t> for Numbers<'a, T, N> {
        fn from(at: $t) -> Self {
            Numbers(Source::Device(at.into()))
        }
    }
)* } }
on_device!(
    &'a Tensor<T>,
    &'a TensorRef<'_, T>,
    TensorRef<'a, T>,
    &'a DeviceBuffer<T>,
    &'a GpuRef<T>,
    In<'a, T>,
    &'a PendingDispatch<Tensor<T>>,
    &'a PendingDispatch<DeviceBuffer<T>>,
    PendingDispatch<Tensor<T>>,
    PendingDispatch<DeviceBuffer<T>>,
);
