//! Elements whose index along one axis is given.

use crate::core::dispatch::PendingDispatch;
use crate::core::element::{DType, Element};
use crate::core::error::{Error, Result};
use crate::core::op::Verdict;
use crate::device::Device;
use crate::device::tensor::{AnyTensorRef, Layout, ReadableTensor, Tensor, TensorRef};
use crate::libraries::arrays::select_flat;
use crate::libraries::arrays::untyped::{Untyped, Value, cast, select, value};
use crate::libraries::expressions::build::position;
use crate::libraries::moves::join::place;
use crate::libraries::moves::{Place, Told};

/// For each index the number of the element in row-major order, the number of all elements for one that is out of range; and how many
/// elements there are along the axis.
fn numbers(device: &Device, x: &[usize], indices: &AnyTensorRef<'_>, axis: usize) -> Result<(Tensor<i64>, usize)> {
    let own = indices.shape();
    let differ = || {
        let what = format!("shape {own:?}, but `x` has {x:?}: beside axis {axis} they are equal, or one of them is 1");
        Error::invalid("indices", what)
    };
    if own.len() != x.len() {
        return Err(differ());
    }
    let layout = Layout::row_major(x)?;
    let (mut extents, mut strides) = (own.to_vec(), Vec::with_capacity(x.len()));
    for (k, ((extent, n), stride)) in extents.iter_mut().zip(x).zip(layout.strides()).enumerate() {
        match (*extent, *n) {
            _ if k == axis => {}
            (1, n) => *extent = n,
            (extent, n) if extent != n && n != 1 => return Err(differ()),
            _ => {}
        }
        strides.push(if *n == 1 { 0 } else { *stride as i64 });
    }
    let n = x.get(axis).copied().unwrap_or(0);
    let (count, all, own_stride) = (n as i64, layout.len() as i64, strides.get(axis).copied().unwrap_or(0));
    let formula = Untyped::new([&indices.broadcast(extents)?], |[index]| {
        let index = cast(index, DType::I64);
        let index = select(index.lt(0), [(index + count).into(), index.into()], DType::I64);
        let others = (0u8..).zip(&strides).filter(|(a, stride)| usize::from(*a) != axis && **stride != 0);
        let at = others.fold(index * own_stride, |sum: Value, (a, stride)| sum + value(position(a)) * *stride);
        select(index.ge(0) & index.lt(count), [at.into(), all.into()], DType::I64)
    })?;
    Ok((formula.make(device)?.into_output(), n))
}

impl Device {
    /// The elements of `x` whose index along an axis is given, and whose other indices are those of the place in the result: NumPy's
    /// `take_along_axis`, PyTorch's `gather`, ONNX's `GatherElements`. The counterpart of [`put_along_axis`](Self::put_along_axis).
    ///
    /// `indices` has as many axes as `x`. The result has its extent on the axis; on the others both have the same extent, or one of
    /// them is 1 and is repeated. Negative indices count from the end.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// let device = windlass::Device::best()?;
    /// let x = device.tensor([2, 3], [5, 3, 4, 9, 7, 8])?;
    /// let order = device.argsort(&x, 1)?.into_output();
    /// let sorted = device.take_along_axis(&x, &order, 1)?.await_result()?;
    /// assert_eq!(device.show(&sorted)?.to_string(), "[[3 4 5]\n [7 8 9]]");
    /// # Ok(()) }
    /// ```
    ///
    /// # Costs
    /// Writes a number for each index before it reads the elements; an `x` that does not lie in row-major order is copied.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for an axis that is not there, and other extents of `indices`; a stale tensor, or one of another
    /// device; [`Error::OutOfMemory`]. The wait returns [`Error::InvalidArgument`] with the place of the first index that is out of
    /// range.
    #[doc(alias = "gather")]
    pub fn take_along_axis<'a, 'i, T: Element, I: Place>(
        &self,
        x: impl ReadableTensor<'a, T>,
        indices: impl ReadableTensor<'i, I>,
        axis: isize,
    ) -> Result<PendingDispatch<Tensor<T>, Verdict>> {
        let (x, indices): (TensorRef<'a, T>, TensorRef<'i, I>) = (x.into(), indices.into());
        let axis = place(axis, x.rank())?;
        let (numbers, len) = numbers(self, x.shape(), &(&indices).into(), axis)?;
        self.take_told(&select_flat(self, &x)?, &numbers.view(), Told::Along { axis, len })
    }
}
