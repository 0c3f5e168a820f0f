//! Elements at places: the inverse of taking the largest ones, and its gradient.

use crate::core::dispatch::PendingDispatch;
use crate::core::element::Element;
use crate::core::error::{Error, Rejected, Result};
use crate::core::op::Verdict;
use crate::device::tensor::{Layout, ReadableTensor, Tensor};
use crate::libraries::arrays::Combine;
use crate::libraries::dnn::Dnn;
use crate::libraries::expressions::{Symbol, constant, position};

impl Dnn {
    /// The elements of `y` at their places, and zeros elsewhere: an inverse of [`max_pool_places`](Self::max_pool_places), whose places
    /// it takes. `elements` are the extents of the result; the places count within its last axes, as many as `axes`. Of several
    /// elements for one place the last one stays.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// let device = windlass::Device::best()?;
    /// let (y, places) = (device.tensor([1, 2], [5.0f32, 7.0])?, device.tensor([1, 2], [1i64, 2])?);
    /// let x = device.dnn().max_unpool(&y, &places, &[1, 4], 1)?.await_result()?;
    /// assert_eq!(device.show(&x)?.to_string(), "[[0. 5. 7. 0.]]");
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for extents that do not fit; a stale tensor, or one of another device; [`Error::OutOfMemory`]. The
    /// wait returns [`Error::InvalidArgument`] with the first place that is out of range, as the -1 of a window without elements is
    /// not: it counts from the end.
    pub fn max_unpool<'a, 'p, T: Element>(
        &self,
        y: impl ReadableTensor<'a, T>,
        places: impl ReadableTensor<'p, i64>,
        elements: &[usize],
        axes: usize,
    ) -> Result<PendingDispatch<Tensor<T>, Verdict>> {
        let told = |error: Error| error.in_op("max_unpool", "dnn");
        let (y, places, device) = (y.into(), places.into(), &self.device);
        let outer = elements.len().checked_sub(axes).and_then(|outer| elements.get(..outer));
        let Some(outer) = outer.filter(|outer| y.rank() == elements.len() && y.shape().starts_with(outer)) else {
            let what = format!("{elements:?}, of which the last {axes} may differ from those of y, {:?}", y.shape());
            return Err(told(Error::invalid("elements", what)));
        };
        if places.shape() != y.shape() {
            let what = format!("extents {:?} where {:?} are needed", places.shape(), y.shape());
            return Err(told(Error::invalid("places", what)));
        }
        // Of as many elements as a tensor can have.
        Layout::row_major(elements).map_err(told)?;
        let plane = |all: &[usize]| all.iter().skip(outer.len()).product::<usize>();
        let rows = outer.iter().product::<usize>();
        let (from, to) = ([rows, plane(y.shape())], [rows, plane(elements)]);
        let (y, places) = (device.contiguous(&y)?.into_output(), device.contiguous(&places)?.into_output());
        let x = device.zeros::<T>(to)?;
        let (places, y) = (places.reshape(from)?, y.reshape(from)?);
        let made = device.put_along_axis(x, &places, &y, 1, Combine::Replace).map_err(Rejected::into_error)?;
        made.retype(|(x,)| {
            let (buffer, _) = x.into_parts();
            Tensor::from_buffer(buffer, elements).map(|x| (x,)).map_err(|rejected| rejected.error)
        })
    }

    /// The gradient of [`max_unpool`](Self::max_unpool) for `y`, by `dy` for its result: the elements of `dy` at the places. An element
    /// whose place another one took gets that of its place, too, as in PyTorch.
    ///
    /// # Errors
    /// As [`max_unpool`](Self::max_unpool).
    pub fn max_unpool_gradient<'d, 'p, T: Element>(
        &self,
        dy: impl ReadableTensor<'d, T>,
        places: impl ReadableTensor<'p, i64>,
        axes: usize,
    ) -> Result<PendingDispatch<Tensor<T>, Verdict>> {
        let told = |error: Error| error.in_op("max_unpool_gradient", "dnn");
        let (dy, places, device) = (dy.into(), places.into(), &self.device);
        let outer = dy.rank().checked_sub(axes).and_then(|outer| dy.shape().get(..outer));
        let Some(outer) = outer.filter(|outer| places.rank() == dy.rank() && places.shape().starts_with(outer)) else {
            let what = format!(
                "extents {:?}, of which the last {axes} may differ from those of dy, {:?}",
                places.shape(),
                dy.shape()
            );
            return Err(told(Error::invalid("places", what)));
        };
        let plane = |all: &[usize]| all.iter().skip(outer.len()).product::<usize>();
        let (rows, own, all) = (outer.iter().product::<usize>(), plane(places.shape()), plane(dy.shape()));
        let extents = places.shape().to_vec();
        let (flat, places) = (device.contiguous(&dy)?.into_output(), device.contiguous(&places)?.into_output());
        let n = i64::try_from(all).map_err(|_| told(Error::invalid("dy", "its planes are too large")))?;
        // The number in all planes; one that is out of range of its plane is so of all.
        let numbers = device.map(places.reshape([rows, own])?, |place: Symbol<i64>| {
            let place = place.lt(0i64).select(place + n, place);
            (place.lt(0i64) | place.ge(n)).select(constant(i64::MAX), place + position(0) * n)
        })?;
        let numbers = numbers.into_output();
        let made = device.take_of_planes(flat.reshape([rows * all])?, numbers.reshape(&extents)?, rows)?;
        Ok(made)
    }
}
