//! Products of two tensors that have names of their own, and the trace: expressions, made from the ranks.

use super::einsum::{Einsum, Term};
use super::element::TensorElement;
use super::front::{TensorOps, reads, submit, told, typed};
use super::known::Spec;
use super::label::Label;
use crate::core::dispatch::PendingDispatch;
use crate::core::error::{Error, Result};
use crate::device::tensor::{Layout, ReadableTensor, Tensor, TensorRef};

/// Axes with the numbers of a list.
fn numbered(numbers: impl IntoIterator<Item = usize>) -> Term {
    // The axes of two tensors are fewer than 200.
    Term { front: numbers.into_iter().map(|n| Label::Number(n as u32)).collect(), back: None }
}

/// Any axes before the last ones.
fn batch(last: &[char]) -> Term {
    Term { front: Vec::new(), back: Some(last.iter().map(|c| Label::Letter(*c)).collect()) }
}

fn vector(c: char) -> Term {
    Term { front: vec![Label::Letter(c)], back: None }
}

/// The place of an axis; a negative one counts from the end.
fn place(name: &'static str, axis: isize, extents: &[usize]) -> Result<usize> {
    let rank = extents.len();
    let place = if axis < 0 { rank.checked_sub(axis.unsigned_abs()) } else { Some(axis.unsigned_abs()) };
    let missing = || Error::invalid(name, format!("axis {axis}, but the rank is {rank}: {extents:?}"));
    place.filter(|place| *place < rank).ok_or_else(missing)
}

/// `a @ b` of these extents.
fn matmul(a: &[usize], b: &[usize]) -> Result<Einsum> {
    let (Some(columns), Some(last)) = (a.last(), b.last()) else {
        let name = if a.is_empty() { "a" } else { "b" };
        return Err(Error::invalid(name, "it has no axis: a scalar has no product of matrices, but `map` has one"));
    };
    let rows = match b {
        [.., rows, _] => rows,
        _ => last,
    };
    if columns != rows {
        let what = format!("{rows} rows of {b:?}, but a has {columns} columns: {a:?}");
        return Err(Error::invalid("b", what));
    }
    if a.len() > 1 && b.len() > 1 {
        Layout::broadcast_batches(a, b)?;
    }
    let (a, b, c) = match (a, b) {
        ([_], [_]) => (vector('j'), vector('j'), Term { front: Vec::new(), back: None }),
        ([_], _) => (vector('j'), batch(&['j', 'k']), batch(&['k'])),
        (_, [_]) => (batch(&['i', 'j']), vector('j'), batch(&['i'])),
        _ => (batch(&['i', 'j']), batch(&['j', 'k']), batch(&['i', 'k'])),
    };
    Einsum::new(vec![a, b], Some(c))
}

/// The sum over pairs of axes of tensors of these extents.
fn tensordot(a: &[usize], b: &[usize], of_a: &[isize], of_b: &[isize]) -> Result<Einsum> {
    if of_a.len() != of_b.len() {
        let what = format!("{} axes of a and {} of b: each has a partner", of_a.len(), of_b.len());
        return Err(Error::invalid("axes_b", what));
    }
    let mut partners: Vec<(usize, usize)> = Vec::with_capacity(of_a.len());
    for (one, two) in of_a.iter().zip(of_b) {
        let pair = (place("axes_a", *one, a)?, place("axes_b", *two, b)?);
        if partners.iter().any(|(one, two)| *one == pair.0 || *two == pair.1) {
            return Err(Error::invalid(
                "axes_b",
                format!("axis {one} of a with {two} of b: one of them is there twice"),
            ));
        }
        let (m, n) = (a.get(pair.0), b.get(pair.1));
        if m != n {
            let what = format!("axis {one} of a, {a:?}, and {two} of b, {b:?}, have different extents");
            return Err(Error::invalid("axes_b", what));
        }
        partners.push(pair);
    }
    let number = |axis: usize| match partners.iter().find(|(_, two)| *two == axis) {
        Some((one, _)) => *one,
        None => a.len() + axis,
    };
    let free_a = (0..a.len()).filter(|axis| !partners.iter().any(|(one, _)| one == axis));
    let free_b = (0..b.len()).filter(|axis| !partners.iter().any(|(_, two)| two == axis));
    let output = numbered(free_a.chain(free_b.map(number)));
    Einsum::new(vec![numbered(0..a.len()), numbered((0..b.len()).map(number))], Some(output))
}

/// All products, the axes of both tensors in turns, and the extents of the result.
fn kron(a: &[usize], b: &[usize]) -> Result<(Einsum, Vec<usize>)> {
    let rank = a.len().max(b.len());
    // The shorter one has ones in front, as NumPy has it.
    let (skip_a, skip_b) = (rank - a.len(), rank - b.len());
    let (mut output, mut extents) = (Vec::with_capacity(2 * rank), Vec::with_capacity(rank));
    for axis in 0..rank {
        let of = |extents: &[usize], skip: usize| axis.checked_sub(skip).and_then(|k| extents.get(k)).copied();
        let (m, n) = (of(a, skip_a), of(b, skip_b));
        output.extend(m.map(|_| 2 * axis).into_iter().chain(n.map(|_| 2 * axis + 1)));
        let n = m.unwrap_or(1).checked_mul(n.unwrap_or(1));
        extents.push(n.ok_or_else(|| Error::invalid("b", format!("{a:?} times {b:?} is too large for a tensor")))?);
    }
    let own = [numbered((skip_a..rank).map(|axis| 2 * axis)), numbered((skip_b..rank).map(|axis| 2 * axis + 1))];
    Ok((Einsum::new(own.into(), Some(numbered(output)))?, extents))
}

impl TensorOps {
    /// Submits an expression of two tensors.
    fn two<T: TensorElement>(
        &self,
        einsum: Result<Einsum>,
        a: TensorRef<'_, T>,
        b: TensorRef<'_, T>,
        extents: Option<Vec<usize>>,
    ) -> Result<PendingDispatch<Tensor<T>>> {
        let (einsum, views) = (einsum.map_err(told)?, [a, b]);
        let (pending, own) = submit(self, &T::CALLS, Spec::Whole(&einsum), &reads(&views)?)?;
        typed((pending, extents.unwrap_or(own)))
    }

    /// NumPy's `a @ b`: the product of the matrices of the last two axes. The axes before are broadcast to each other. A vector on the
    /// left is a row, one on the right a column, and the result does not have that axis.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// let device = windlass::Device::best()?;
    /// let (a, x) = (device.tensor([2, 2], [1, 2, 3, 4])?, device.tensor([2], [10, 100])?);
    /// let y = device.tensor_ops().matmul(&a, &x)?.await_result()?;
    /// assert_eq!(device.show(&y)?.to_string(), "[210 430]");
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for a tensor without axes, and when the columns of a are not as many as the rows of b; else as
    /// [`einsum`](Self::einsum).
    pub fn matmul<'a, 'b, T: TensorElement>(
        &self,
        a: impl ReadableTensor<'a, T>,
        b: impl ReadableTensor<'b, T>,
    ) -> Result<PendingDispatch<Tensor<T>>> {
        let (a, b): (TensorRef<'_, T>, TensorRef<'_, T>) = (a.into(), b.into());
        self.two(matmul(a.shape(), b.shape()), a, b, None)
    }

    /// The sum of products over pairs of axes, of which negative ones count from the end: those of the result are the other axes of
    /// a, then those of b. NumPy's `tensordot`.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// let device = windlass::Device::best()?;
    /// let (a, b) = (device.full([2, 3, 4], 1.0f64)?, device.full([4, 5, 3], 2.0f64)?);
    /// let c = device.tensor_ops().tensordot(&a, &b, &[1, 2], &[-1, 0])?.await_result()?;
    /// assert_eq!(c.shape(), [2, 5]);
    /// assert_eq!(device.item(c.slice((0, 0))?)?, 24.0);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for an axis that is not there or has two partners, and for partners of different extents; else as
    /// [`einsum`](Self::einsum).
    pub fn tensordot<'a, 'b, T: TensorElement>(
        &self,
        a: impl ReadableTensor<'a, T>,
        b: impl ReadableTensor<'b, T>,
        axes_a: &[isize],
        axes_b: &[isize],
    ) -> Result<PendingDispatch<Tensor<T>>> {
        let (a, b): (TensorRef<'_, T>, TensorRef<'_, T>) = (a.into(), b.into());
        self.two(tensordot(a.shape(), b.shape(), axes_a, axes_b), a, b, None)
    }

    /// All products of an element of a and one of b: the result has the axes of a, then those of b. NumPy's `multiply.outer`.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// let device = windlass::Device::best()?;
    /// let (a, b) = (device.tensor([2], [1, 2])?, device.tensor([3], [1, 10, 100])?);
    /// let c = device.tensor_ops().outer(&a, &b)?.await_result()?;
    /// assert_eq!(device.show(&c)?.to_string(), "[[  1  10 100]\n [  2  20 200]]");
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for more than 64 axes in all; else as [`einsum`](Self::einsum).
    pub fn outer<'a, 'b, T: TensorElement>(
        &self,
        a: impl ReadableTensor<'a, T>,
        b: impl ReadableTensor<'b, T>,
    ) -> Result<PendingDispatch<Tensor<T>>> {
        let (a, b): (TensorRef<'_, T>, TensorRef<'_, T>) = (a.into(), b.into());
        self.two(tensordot(a.shape(), b.shape(), &[], &[]), a, b, None)
    }

    /// The Kronecker product: each element of a is replaced by it times b. A tensor of fewer axes has axes of extent 1 in front.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// let device = windlass::Device::best()?;
    /// let (a, b) = (device.tensor([1, 2], [1, 10])?, device.tensor([2, 2], [1, 2, 3, 4])?);
    /// let c = device.tensor_ops().kron(&a, &b)?.await_result()?;
    /// assert_eq!(device.show(&c)?.to_string(), "[[ 1  2 10 20]\n [ 3  4 30 40]]");
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As [`outer`](Self::outer).
    pub fn kron<'a, 'b, T: TensorElement>(
        &self,
        a: impl ReadableTensor<'a, T>,
        b: impl ReadableTensor<'b, T>,
    ) -> Result<PendingDispatch<Tensor<T>>> {
        let (a, b): (TensorRef<'_, T>, TensorRef<'_, T>) = (a.into(), b.into());
        let (einsum, extents) = kron(a.shape(), b.shape()).map_err(told)?;
        self.two(Ok(einsum), a, b, Some(extents))
    }

    /// The sums of the diagonals of two axes, which the result does not have. `above` and the axes are those of
    /// [`Tensor::diagonal`].
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// let device = windlass::Device::best()?;
    /// let x = device.tensor([2, 3], [1, 2, 3, 4, 5, 6])?;
    /// let ops = device.tensor_ops();
    /// assert_eq!(device.item(&ops.trace(&x, 0, 0, 1)?.await_result()?)?, 6);
    /// assert_eq!(device.item(&ops.trace(&x, 1, 0, 1)?.await_result()?)?, 8);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::diagonal`] and [`einsum`](Self::einsum).
    pub fn trace<'a, T: TensorElement>(
        &self,
        x: impl ReadableTensor<'a, T>,
        above: isize,
        one: isize,
        other: isize,
    ) -> Result<PendingDispatch<Tensor<T>>> {
        let x: TensorRef<'_, T> = x.into();
        let views = [x.diagonal(above, one, other)?];
        let einsum = Einsum::new(vec![batch(&['i'])], Some(batch(&[]))).map_err(told)?;
        typed(submit(self, &T::CALLS, Spec::Whole(&einsum), &reads(&views)?)?)
    }
}
