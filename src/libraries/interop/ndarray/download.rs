//! Downloads of arrays.

use crate::core::dispatch::PendingDispatch;
use crate::core::element::Element;
use crate::core::error::{Error, Result};
use crate::core::op::raw::Landed;
use crate::core::op::{Output, Verdict};
use crate::device::Device;
use crate::device::copy::Form;
use crate::device::tensor::ReadableTensor;
use ndarray::{Array, ArrayRef, Dimension, IntoDimension, IxDyn, ShapeBuilder};

/// The shape of a downloaded array, and whether the first axis of the elements is the fastest.
#[derive(Clone, Debug)]
struct Shape<D> {
    dim: D,
    by_columns: bool,
}

/// Downloaded host data, with the shape that it will have.
pub struct Shaped<T, D> {
    landed: Landed<T>,
    shape: Shape<D>,
}

impl<T: Element, D: Dimension + 'static> Form<T> for Shape<D> {
    type Output = Array<T, D>;

    fn check(&self, len: usize) -> Result<()> {
        let shape = self.dim.slice();
        // The other axes are checked even if one is empty: the array's strides must fit the address space.
        let full = shape.iter().filter(|n| **n > 0).try_fold(1usize, |all, n| all.checked_mul(*n));
        let empty = shape.contains(&0);
        match full.filter(|n| isize::try_from(*n).is_ok()).map(|n| if empty { 0 } else { n }) {
            Some(need) if need == len => Ok(()),
            Some(need) => {
                Err(Error::invalid("shape", format!("{shape:?} is {need} elements, but the buffer holds {len}")))
            }
            None => {
                Err(Error::invalid("shape", format!("{shape:?} is more than an array can be; the buffer holds {len}")))
            }
        }
    }

    fn host(&self, landed: Landed<T>) -> Shaped<T, D> {
        Shaped { landed, shape: self.clone() }
    }
}

impl<T: Element, D: Dimension> Output for Array<T, D> {
    type Writes = ();
    type Host = Shaped<T, D>;
    const EAGER: crate::core::op::Internal = crate::core::op::Internal::YES;

    fn join((): (), Shaped { landed, shape }: Shaped<T, D>) -> Result<Self> {
        Array::from_shape_vec(shape.dim.set_f(shape.by_columns), landed.into_vec()?)
            .map_err(|error| Error::library(format!("internal error: a checked shape does not fit: {error}")))
    }
}

/// Results on the host: arrays of `ndarray`.
impl Device {
    /// The elements of a tensor or a view, as an array on the host: waits. `D` is the dimension: `Ix2`, or `IxDyn` for any.
    ///
    /// # Errors
    /// As [`download_array`](Self::download_array).
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::{Device, ndarray::{Array2, array}};
    /// let (device, a) = (Device::host()?, array![[1.0f32, 2.0, 3.0], [4.0, 5.0, 6.0]]);
    /// let x = device.tensor_of(a.t())?;
    /// assert_eq!((x.shape(), x.layout().strides()), (&[3, 2][..], &[1, 3][..])); // nothing was moved
    /// let back: Array2<f32> = device.to_array(x.flip(0)?)?;
    /// assert_eq!(back, array![[3.0, 6.0], [2.0, 5.0], [1.0, 4.0]]);
    /// # Ok(()) }
    /// ```
    pub fn to_array<'a, T: Element, D: Dimension + 'static>(
        &self,
        x: impl ReadableTensor<'a, T>,
    ) -> Result<Array<T, D>> {
        self.download_array(x)?.await_result()
    }

    /// As [`to_array`](Self::to_array), without a wait. Column-major elements come back in that order; others in row-major order.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when the tensor has another number of axes than `D`; else as [`download`](Self::download).
    pub fn download_array<'a, T: Element, D: Dimension + 'static>(
        &self,
        x: impl ReadableTensor<'a, T>,
    ) -> Result<PendingDispatch<Array<T, D>, Verdict>> {
        let x = x.into();
        let dim = D::from_dimension(&IxDyn(x.shape()).into_dimension()).ok_or_else(|| {
            let axes = D::NDIM.map_or("others".to_owned(), |n| n.to_string());
            Error::invalid("x", format!("{:?} has {} axes, but the array {axes}", x.shape(), x.rank()))
        })?;
        let by_columns = !x.layout().is_row_major() && x.layout().is_column_major();
        let shape = Shape { dim, by_columns };
        if by_columns || x.layout().is_row_major() {
            return self.download_as(x.operand()?.0, None, shape);
        }
        let dense = self.contiguous(&x)?.into_output();
        self.download_as(dense.buffer().as_in(), None, shape)
    }
}

impl<T: Element, D: Dimension, V> PendingDispatch<Array<T, D>, V> {
    /// Waits and fills an array, or a view of one, instead of making a new one. The target may have any layout; a
    /// second copy is avoided only if it has the order of the download, without gaps. Nothing is written unless the
    /// shapes agree.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when the shapes differ; else as [`await_result`](Self::await_result).
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::{Device, ndarray::{Array2, array, s}};
    /// let device = Device::host()?;
    /// let x = device.tensor_of([[1, 2], [3, 4]])?;
    /// let mut whole = Array2::zeros((3, 3));
    /// let mut corner = whole.slice_mut(s![1.., 1..]);
    /// device.download_array(&x)?.await_result_into(&mut corner)?;
    /// assert_eq!(whole, array![[0, 0, 0], [0, 1, 2], [0, 3, 4]]);
    /// # Ok(()) }
    /// ```
    pub fn await_result_into(self, target: &mut ArrayRef<T, D>) -> Result<()> {
        let shaped = self.await_host()?;
        let Shape { dim, by_columns } = &shaped.shape;
        if target.shape() != dim.slice() {
            return Err(Error::invalid(
                "target",
                format!("a shape of {:?}, but the download has {:?}", target.shape(), dim.slice()),
            ));
        }
        let elements = match by_columns {
            false => target.as_slice_mut(),
            true => target.view_mut().reversed_axes().into_slice(),
        };
        match elements {
            Some(elements) => shaped.landed.copy_into(elements),
            None => {
                target.assign(&Array::join((), shaped)?);
                Ok(())
            }
        }
    }
}
