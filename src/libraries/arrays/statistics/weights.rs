//! Sums of weights by bins: the number of each element's bin, and what `put` adds to it.

use super::bins::{Measured, counted, edges_between, ends, fall};
use crate::core::dispatch::PendingDispatch;
use crate::core::element::Element;
use crate::core::error::{Error, Result};
use crate::core::op::Verdict;
use crate::device::Device;
use crate::device::tensor::{ReadableTensor, Tensor, TensorRef};
use crate::libraries::arrays::select_vector;
use crate::libraries::arrays::{Combine, Ordered, SearchSide};
use crate::libraries::moves::{Place, Told};

/// The weights as a vector, if there is one for each element.
fn weights_of<T: Element, W: Element>(
    device: &Device,
    x: &TensorRef<'_, T>,
    weights: &TensorRef<'_, W>,
) -> Result<Tensor<W>> {
    if weights.shape() != x.shape() {
        let what = format!("extents {:?}, but x has {:?}", weights.shape(), x.shape());
        return Err(Error::invalid("weights", what));
    }
    select_vector(device, weights)
}

/// The sums by the numbers of bins, of which `bins` is that of what is left out.
fn sums<W: Element>(
    device: &Device,
    numbers: &Tensor<i64>,
    weights: &Tensor<W>,
    bins: usize,
) -> Result<PendingDispatch<Tensor<W>>> {
    let all = bins.checked_add(1).ok_or_else(|| Error::invalid("bins", "more than `usize` can count"))?;
    // The numbers are from 0 to `bins`.
    let sums = device.put(device.zeros::<W>([all])?, numbers, weights, 0, Combine::Add)?.never_reports().into_output();
    device.contiguous(sums.split(0, bins)?.0)
}

fn between<T: Ordered, W: Element>(
    device: &Device,
    x: &Tensor<T>,
    edges: &Tensor<T>,
    weights: &Tensor<W>,
) -> Result<PendingDispatch<Tensor<W>>> {
    let bins = edges.len() - 1;
    let (first, last) = (edges.index(0, 0)?, edges.index(0, -1)?);
    let (first, last) = (first.broadcast([x.len()])?, last.broadcast([x.len()])?);
    let begun = device.searchsorted(edges, x, SearchSide::Right)?.into_output();
    let (most, out) = (bins as i64 - 1, bins as i64);
    let numbers = device.map((x, &begun, &first, &last), |(x, begun, first, last)| {
        // The last bin has its end. A NaN is neither.
        (x.ge(first) & x.le(last)).select((begun - 1).minimum(most), out)
    })?;
    sums(device, &numbers.into_output(), weights, bins)
}

/// Weighted statistics.
impl Device {
    /// The sums of the weights of the elements in each bin: NumPy's `histogram` with given edges and weights. The bins are those of
    /// [`histogram_between`](Self::histogram_between). The weights of a bin are added one after the other, in row-major order of the
    /// elements, so the sums have the same bits each time, on both engines.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// let device = windlass::Device::best()?;
    /// let x = device.tensor([4], [0.0f32, 0.5, 1.0, 9.0])?;
    /// let (edges, weights) = (device.tensor([3], [0.0f32, 1.0, 2.0])?, device.tensor([4], [1.0f64, 0.5, 4.0, 8.0])?);
    /// let sums = device.histogram_weighted_between(&x, &edges, &weights)?.await_result()?;
    /// assert_eq!(device.show(&sums)?.to_string(), "[1.5 4. ]");
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As [`histogram_between`](Self::histogram_between); [`Error::InvalidArgument`] for weights of other extents than `x`, and of
    /// complex numbers or truth values.
    pub fn histogram_weighted_between<'a, 'e, 'w, T: Ordered, W: Element>(
        &self,
        x: impl ReadableTensor<'a, T>,
        edges: impl ReadableTensor<'e, T>,
        weights: impl ReadableTensor<'w, W>,
    ) -> Result<PendingDispatch<Tensor<W>, Verdict>> {
        let (x, edges) = (x.into(), edges.into());
        edges_between(&edges)?;
        let weights = weights_of(self, &x, &weights.into())?;
        let edges = select_vector(self, &edges)?;
        let sums = between(self, &select_vector(self, &x)?, &edges, &weights)?.into_output();
        self.copied_unless(&sums, &fall(self, &edges)?, Told::FallingEdges)
    }

    /// The sums of the weights of the elements in each of `bins` bins of the same width, and their edges: NumPy's `histogram` with
    /// weights. See [`histogram`](Self::histogram) for the bins, and
    /// [`histogram_weighted_between`](Self::histogram_weighted_between) for the sums.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// let device = windlass::Device::best()?;
    /// let (x, weights) = (device.tensor([4], [1.0f64, 2.0, 2.0, 5.0])?, device.tensor([4], [1.0f32, 0.5, 0.25, 2.0])?);
    /// let (sums, _) = device.histogram_weighted(&x, 4, None, &weights)?;
    /// assert_eq!(device.show(&sums.await_result()?)?.to_string(), "[1.   0.75 0.   2.  ]");
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As [`histogram`](Self::histogram) and [`histogram_weighted_between`](Self::histogram_weighted_between).
    pub fn histogram_weighted<'a, 'w, T: Measured, W: Element>(
        &self,
        x: impl ReadableTensor<'a, T>,
        bins: usize,
        range: Option<[f64; 2]>,
        weights: impl ReadableTensor<'w, W>,
    ) -> Result<(PendingDispatch<Tensor<W>>, Tensor<T>)> {
        let x = x.into();
        let weights = weights_of(self, &x, &weights.into())?;
        let edges = ends(self, &x, bins, range)?;
        let x = select_vector(self, &x)?;
        Ok((between(self, &x, &edges, &weights)?, edges))
    }

    /// The sums of the weights of each number from 0 to `bins - 1`: NumPy's `bincount` with weights. Larger numbers are left out. The
    /// weights of a number are added as those of [`histogram_weighted_between`](Self::histogram_weighted_between).
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// let device = windlass::Device::best()?;
    /// let (x, weights) = (device.tensor([4], [0i32, 2, 2, 7])?, device.tensor([4], [1.0f64, 0.5, 0.25, 9.0])?);
    /// assert_eq!(device.show(&device.bincount_weighted(&x, 3, &weights)?.await_result()?)?.to_string(), "[1.   0.   0.75]");
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for weights of other extents than `x`, and of complex numbers or truth values; a stale tensor,
    /// or one of another device; [`Error::OutOfMemory`]. The wait returns [`Error::InvalidArgument`] if a number is negative.
    pub fn bincount_weighted<'a, 'w, I: Place, W: Element>(
        &self,
        x: impl ReadableTensor<'a, I>,
        bins: usize,
        weights: impl ReadableTensor<'w, W>,
    ) -> Result<PendingDispatch<Tensor<W>, Verdict>> {
        let x = x.into();
        let weights = weights_of(self, &x, &weights.into())?;
        let (x, most) = (select_vector(self, &x)?, bins as i64);
        let numbers = self.map(&x, |x| {
            let x = x.cast::<i64>();
            (x.ge(0) & x.lt(most)).select(x, most)
        })?;
        let sums = sums(self, &numbers.into_output(), &weights, bins.max(1))?.into_output();
        counted(self, sums, &(&x).into(), bins)
    }
}
