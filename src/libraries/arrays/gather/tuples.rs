//! Slices whose indices along several axes are given.

use crate::core::dispatch::PendingDispatch;
use crate::core::element::{DType, Element};
use crate::core::error::{Error, Result};
use crate::core::op::Verdict;
use crate::device::Device;
use crate::device::tensor::{AnyTensorRef, Layout, ReadableTensor, Tensor, TensorRef};
use crate::libraries::arrays::untyped::{Untyped, Value, cast, select, value};
use crate::libraries::expressions::build::{Symbol, position};
use crate::libraries::expressions::formula::record;
use crate::libraries::moves::{Extents, Place, Told};

/// Columns of one formula, which takes one tensor more.
const COLUMNS: usize = 7;

/// For each tuple the number of the slice, `slots` for one of which an index is out of range. `before` are the extents of the axes
/// that are chosen, of which the first `batch` are the batch.
fn numbers(
    device: &Device,
    before: &[usize],
    indices: &AnyTensorRef<'_>,
    batch: usize,
    slots: i64,
) -> Result<Tensor<i64>> {
    let (of_batch, chosen) = before.split_at_checked(batch).unwrap_or_default();
    let mut made: Option<Tensor<i64>> = None;
    for (first, lens) in (0..).step_by(COLUMNS).zip(chosen.chunks(COLUMNS)) {
        let columns = (first..).take(lens.len()).map(|column| indices.index(-1, column));
        let mut inputs = columns.collect::<Result<Vec<_>>>()?;
        let is_last = first as usize + lens.len() == chosen.len();
        inputs.extend(made.as_ref().map(Into::into));
        let types: Vec<DType> = inputs.iter().map(AnyTensorRef::dtype).collect();
        let recorded = record(&types, |open| {
            let input = |k: usize| -> Value { Symbol::new(open.input(k)) };
            let mut number: Option<Value> = match made {
                Some(_) => Some(input(lens.len())),
                None => (0u8..).zip(of_batch).fold(None, |sum: Option<Value>, (a, n)| {
                    Some(sum.map_or(value(position(a)), |sum| sum * (*n as i64) + value(position(a))))
                }),
            };
            for (k, n) in lens.iter().enumerate() {
                let (index, n) = (cast(input(k), DType::I64), *n as i64);
                let index = select(index.lt(0), [(index + n).into(), index.into()], DType::I64);
                let fits = index.ge(0) & index.lt(n);
                let next = match number {
                    Some(number) => {
                        select(fits & number.ge(0), [(number * n + index).into(), (-1i64).into()], DType::I64)
                    }
                    None => select(fits, [index.into(), (-1i64).into()], DType::I64),
                };
                number = Some(next);
            }
            let number = number.unwrap_or_else(|| value(position(0)));
            let number = if is_last { select(number.lt(0), [slots.into(), number.into()], DType::I64) } else { number };
            vec![number.raw]
        })?;
        made = Some(Untyped { recorded, inputs }.make(device)?.into_output());
    }
    made.ok_or_else(|| Error::invalid("indices", "its last axis has no element: it names places along the first axes"))
}

/// The numbers of slices, and the extents of `x` with those of the chosen axes as one.
fn slices(
    device: &Device,
    x: &[usize],
    indices: &AnyTensorRef<'_>,
    batch: usize,
) -> Result<(Tensor<i64>, Vec<usize>, Told)> {
    let none = || Error::invalid("indices", "it has no axis: the last one names places along the first axes");
    let (depth, own) = indices.shape().split_last().ok_or_else(none)?;
    let chosen = batch.checked_add(*depth).and_then(|end| x.split_at_checked(end));
    let (before, behind) = chosen.ok_or_else(|| {
        let what =
            format!("the last axis has {depth} places behind {batch} axes of a batch, but `x` has {} axes", x.len());
        Error::invalid("indices", what)
    })?;
    if own.get(..batch).is_none_or(|own| Some(own) != before.get(..batch)) {
        let what =
            format!("shape {:?}, but `x` has {x:?}: the first {batch} axes, the batch, are equal", indices.shape());
        return Err(Error::invalid("indices", what));
    }
    let slots = before.iter().fold(1usize, |all, n| all.saturating_mul(*n));
    let numbers = numbers(device, before, indices, batch, slots as i64)?;
    let extents = [&[slots], behind].concat();
    Layout::row_major(&extents)?;
    let told = Told::Tuple(Extents::new(before.get(batch..).unwrap_or_default()));
    Ok((numbers, extents, told))
}

impl Device {
    /// Slices of `x` whose places the last axis of `indices` names, along the axes behind the first `batch`: ONNX's `GatherND`, and
    /// with `batch` 0 NumPy's `x[i, j]` with the index arrays as columns. The counterpart of [`put_nd`](Self::put_nd).
    ///
    /// The result has the extents of `indices` without the last axis, then those of the axes of `x` that are not named. The first
    /// `batch` axes of both are the same, and each index is one of its own batch. Negative indices count from the end.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// let device = windlass::Device::best()?;
    /// let x = device.tensor([2, 2], [1, 2, 3, 4])?;
    /// let places = device.tensor([3, 2], [0i64, 1, 1, -1, 0, 0])?;
    /// let chosen = device.gather_nd(&x, &places, 0)?.await_result()?;
    /// assert_eq!(device.show(&chosen)?.to_string(), "[2 4 1]");
    /// let rows = device.gather_nd(&x, &device.tensor([2, 1], [1i64, 0])?, 0)?.await_result()?;
    /// assert_eq!(device.show(&rows)?.to_string(), "[[3 4]\n [1 2]]");
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for indices without a place, with more places than `x` has axes, or another batch; a stale tensor, or
    /// one of another device; [`Error::OutOfMemory`]. The wait returns [`Error::InvalidArgument`] with the number of the first place
    /// that is out of range.
    pub fn gather_nd<'a, 'i, T: Element, I: Place>(
        &self,
        x: impl ReadableTensor<'a, T>,
        indices: impl ReadableTensor<'i, I>,
        batch: usize,
    ) -> Result<PendingDispatch<Tensor<T>, Verdict>> {
        let (x, indices): (TensorRef<'a, T>, TensorRef<'i, I>) = (x.into(), indices.into());
        let (numbers, extents, told) = slices(self, x.shape(), &(&indices).into(), batch)?;
        match x.reshape(&extents) {
            Ok(x) => self.take_told(&x, &numbers.view(), told),
            Err(_) => {
                let copy = self.contiguous(&x)?.into_output();
                self.take_told(&copy.reshape(&extents)?, &numbers.view(), told)
            }
        }
    }
}
