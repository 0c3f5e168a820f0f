//! Distances between the vectors of two lists: of few elements by a formula that is reduced, of many by a product.

use crate::core::dispatch::PendingDispatch;
use crate::core::element::{DType, Element};
use crate::core::error::{Error, Result};
use crate::device::Device;
use crate::device::tensor::{AnyTensor, AnyTensorRef, ReadableTensor, Tensor, TensorRef};
use crate::libraries::arrays::untyped::{Untyped, cast, downcast, quotient, recorded, wide};
use crate::libraries::blas::GemmElement;
use crate::libraries::reductions::{Bits, Reduction, ReductionKind, Var};

/// A distance between two vectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Distance {
    /// The root of the sum of squared differences.
    Euclidean,
    /// The sum of squared differences.
    Squared,
    /// One less the cosine of the angle. NaN where a vector is zero.
    Cosine,
}

/// Up to so many elements of a vector a formula is reduced.
const FEW: usize = 64;

/// Vectors as the formulas take them.
struct Lists<'a> {
    /// `[.., m, 1, d]`
    x: AnyTensorRef<'a>,
    /// `[.., 1, n, d]`
    y: AnyTensorRef<'a>,
    /// The last axis.
    last: Bits,
    own: DType,
}

impl<'a> Lists<'a> {
    fn new(x: &AnyTensorRef<'a>, y: &AnyTensorRef<'a>) -> Result<Self> {
        let ([.., _, d], [.., _, e]) = (x.shape(), y.shape()) else {
            let name = if x.rank() < 2 { "x" } else { "y" };
            return Err(Error::invalid(
                name,
                "a list of vectors has two axes at least: `unsqueeze(0)` makes one of a vector",
            ));
        };
        if d != e {
            let what = format!(
                "vectors of {e} elements, but those of `x` have {d}: shapes {:?} and {:?}",
                x.shape(),
                y.shape()
            );
            return Err(Error::invalid("y", what));
        }
        let own = wide(quotient(x.dtype()));
        let rank = x.rank().max(y.rank()) + 1;
        Ok(Lists { x: x.unsqueeze(-2)?, y: y.unsqueeze(-3)?, last: Bits(1 << (rank - 1), false), own })
    }

    /// The sums of the squares of each vector of one of the lists.
    fn squares(&self, device: &Device, x: &AnyTensorRef<'a>) -> Result<AnyTensor> {
        let squares = Untyped::new([x], |[x]| {
            let x = cast(x, self.own);
            x * x
        })?;
        squares.reduce_any(device, ReductionKind::Sum, Bits(1 << (x.rank() - 1), false))
    }

    fn differences(&self) -> Result<Untyped<'a>> {
        Untyped::new([&self.x, &self.y], |[x, y]| {
            let distance = cast(x, self.own) - cast(y, self.own);
            distance * distance
        })
    }

    fn products(&self) -> Result<Untyped<'a>> {
        Untyped::new([&self.x, &self.y], |[x, y]| cast(x, self.own) * cast(y, self.own))
    }
}

/// The distances, of the products of all vectors and the sums of their squares.
fn combined<'a>(distance: Distance, [product, x, y]: [&'a AnyTensor; 3], dtype: DType) -> Result<Untyped<'a>> {
    Untyped::new([&product.view(), &x.view(), &y.view()], |[product, x, y]| {
        let distance = match distance {
            Distance::Cosine => 1.0 - (product / (x.sqrt() * y.sqrt())).clamp(-1.0, 1.0),
            _ => (x + y - product * 2.0).maximum(0.0),
        };
        cast(distance, dtype)
    })
}

/// The elements as those of a product.
fn factor<R: Element>(device: &Device, x: &AnyTensorRef<'_>) -> Result<Tensor<R>> {
    downcast(Untyped::new([x], |[x]| cast(x, R::DTYPE))?.any(device)?)
}

fn distances<R: GemmElement<Out = R>>(
    device: &Device,
    [x, y]: [&AnyTensorRef<'_>; 2],
    distance: Distance,
) -> Result<PendingDispatch<Tensor<R>>> {
    let lists = Lists::new(x, y)?;
    // The products of halves are rounded before they are subtracted.
    let is_short = x.shape().last().is_none_or(|d| *d <= FEW) || R::DTYPE.is_narrow();
    if is_short && distance != Distance::Cosine {
        let is_rooted = distance == Distance::Euclidean;
        let sums = lists.differences()?;
        let finish = recorded([lists.own], |[sum]| cast(if is_rooted { sum.sqrt() } else { sum }, R::DTYPE))?;
        return sums.reduce(device, ReductionKind::Sum, &lists.last, Some(finish));
    }
    let product: AnyTensor = if is_short {
        lists.products()?.reduce_any(device, ReductionKind::Sum, Bits(lists.last.0, false))?
    } else {
        let (x, y) = (factor::<R>(device, x)?, factor::<R>(device, y)?);
        device.matmul(&x, &y.swap_axes(-2, -1)?)?.into_output().into()
    };
    let (of_x, of_y) = (lists.squares(device, &lists.x)?, lists.squares(device, &lists.y)?);
    let combined = combined(distance, [&product, &of_x, &of_y], R::DTYPE)?;
    if distance != Distance::Euclidean {
        return combined.make(device);
    }
    let squares = combined.any(device)?;
    Untyped::new([&squares.view()], |[squares]| squares.sqrt())?.make(device)
}

impl Device {
    /// The distances of all vectors of `x`, of shape `[.., m, d]`, to all of `y`, of shape `[.., n, d]`, as `[.., m, n]`: SciPy's
    /// `cdist`. The axes before are broadcast. Integers give `f64`, all other types their own one.
    ///
    /// Up to 64 elements a vector, and of halves, the differences of elements are squared and added, with the same bits on both engines.
    /// Beyond that the squared distance is `x.x + y.y - 2 x.y`, and the last term a product of matrices: its bits are those of the
    /// engine's products, and its error is some roundings of `x.x + y.y`, not of the distance, so that vectors much closer to each
    /// other than to zero lose digits. Subtract a common mean first, which changes no distance. The cosine takes a product
    /// beyond 64 elements too, where it loses nothing.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::arrays::Distance;
    /// let device = windlass::Device::best()?;
    /// let x = device.tensor([2, 2], [0.0f32, 0.0, 3.0, 0.0])?;
    /// let y = device.tensor([1, 2], [0.0f32, 4.0])?;
    /// let distances = device.cdist(&x, &y, Distance::Euclidean)?.await_result()?;
    /// assert_eq!(device.show(&distances)?.to_string(), "[[4.]\n [5.]]");
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for fewer than two axes, vectors of different lengths, and batches that are not broadcast to each
    /// other; a stale tensor, or one of another device; [`Error::OutOfMemory`].
    pub fn cdist<'a, 'b, T: Element>(
        &self,
        x: impl ReadableTensor<'a, T>,
        y: impl ReadableTensor<'b, T>,
        distance: Distance,
    ) -> Result<PendingDispatch<Tensor<<Var as Reduction<T>>::Output>>>
    where
        Var: Reduction<T>,
        <Var as Reduction<T>>::Output: GemmElement<Out = <Var as Reduction<T>>::Output>,
    {
        let (x, y): (TensorRef<'a, T>, TensorRef<'b, T>) = (x.into(), y.into());
        distances(self, [&(&x).into(), &(&y).into()], distance)
    }
}
