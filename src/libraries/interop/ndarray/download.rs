//! Downloads of arrays.

use crate::core::buffer::Readable;
use crate::core::dispatch::PendingDispatch;
use crate::core::element::Element;
use crate::core::error::{Error, Result};
use crate::core::op::raw::Landed;
use crate::core::op::{Output, Verdict};
use crate::device::Device;
use crate::device::copy::Form;
use crate::libraries::flags::Order;
use ndarray::{Array, ArrayRef, Dimension, IntoDimension, ShapeBuilder};

/// The shape of a downloaded array, and the order of the buffer's elements.
#[derive(Clone, Debug)]
struct Shape<D> {
    dim: D,
    order: Order,
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
        let column = shape.order == Order::Column;
        Array::from_shape_vec(shape.dim.set_f(column), landed.into_vec()?)
            .map_err(|error| Error::library(format!("internal error: a checked shape does not fit: {error}")))
    }
}

impl Device {
    /// Copies a buffer (or a range of one), whose elements are in this order, to an array of this shape on the host: a
    /// pair of sizes gives an `Array2`, a `Vec` of sizes an `ArrayD`. The array has the same order; its elements are
    /// not rearranged.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when the shape has more or fewer elements than the buffer; else as
    /// [`download`](Self::download).
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::{Device, Order, ndarray::array};
    /// let device = Device::host()?;
    /// let buffer = device.upload([1, 2, 3, 4, 5, 6])?.into_output();
    /// let by_rows = device.download_array(&buffer, (2, 3), Order::Row)?.await_result()?;
    /// assert_eq!(by_rows, array![[1, 2, 3], [4, 5, 6]]);
    /// let by_columns = device.download_array(&buffer, vec![2, 3], Order::Column)?.await_result()?;
    /// assert_eq!(by_columns, array![[1, 3, 5], [2, 4, 6]].into_dyn());
    /// # Ok(()) }
    /// ```
    pub fn download_array<'a, T: Element, D: Dimension + 'static>(
        &self,
        source: impl Readable<'a, T>,
        shape: impl IntoDimension<Dim = D>,
        order: Order,
    ) -> Result<PendingDispatch<Array<T, D>, Verdict>> {
        self.download_as(source.into(), Shape { dim: shape.into_dimension(), order })
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
    /// use windlass::{Device, Order, ndarray::{Array2, array, s}};
    /// let device = Device::host()?;
    /// let buffer = device.upload([1, 2, 3, 4])?.into_output();
    /// let mut whole = Array2::zeros((3, 3));
    /// let mut corner = whole.slice_mut(s![1.., 1..]);
    /// device.download_array(&buffer, (2, 2), Order::Row)?.await_result_into(&mut corner)?;
    /// assert_eq!(whole, array![[0, 0, 0], [0, 1, 2], [0, 3, 4]]);
    /// # Ok(()) }
    /// ```
    pub fn await_result_into(self, target: &mut ArrayRef<T, D>) -> Result<()> {
        let shaped = self.await_host()?;
        let Shape { dim, order } = &shaped.shape;
        if target.shape() != dim.slice() {
            return Err(Error::invalid(
                "target",
                format!("a shape of {:?}, but the download has {:?}", target.shape(), dim.slice()),
            ));
        }
        let elements = match order {
            Order::Row => target.as_slice_mut(),
            Order::Column => target.view_mut().reversed_axes().into_slice(),
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
