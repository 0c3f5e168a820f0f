//! The largest element and the sum of exponentials of a row that is read again: first the largest of all, then the sum of the
//! exponentials of the distances from it. Where a row is read once (`recipe.rs`) each element may change
//! both, which takes an exponential more for each element and each join.
//!
//! Both engines do so for the rows of `rows/shape.rs`; the bits of other rows are those of one pass.

use super::kind::ReductionKind;
use super::recipe::wide;
use super::shape::Shape;
use crate::core::element::DType;
use crate::core::error::{Error, Result};
use crate::core::sync::Arc;
use crate::libraries::expressions::build::recording::typed;
use crate::libraries::expressions::build::{Open, Symbol};
use crate::libraries::expressions::formula::{Kept, record};
use crate::libraries::expressions::ir::{Op, Overflow};

/// Whether a reduction goes this way.
pub(super) fn is_it(kind: ReductionKind) -> bool {
    kind == ReductionKind::Exponentials
}

/// In what elements of this type are computed.
pub(super) fn own(dtype: DType) -> DType {
    wide(dtype)
}

/// An input in the type in which it is computed.
fn input(open: &Open, k: usize, dtype: DType) -> Symbol<f64> {
    let raw = open.input(k);
    let own = own(dtype);
    if dtype == own {
        return Symbol::new(raw);
    }
    Symbol::new(typed("cast", raw, own, |x| Op::Cast(Overflow::Saturate, x)))
}

/// The element, as it is computed.
#[cfg(feature = "host")]
fn element(dtype: DType) -> Result<Arc<Kept>> {
    Ok(record(&[dtype], |open| vec![input(open, 0, dtype).raw])?.kept)
}

/// Of an element and the largest one, the exponential of their distance.
#[cfg(any(feature = "host", feature = "cuda"))]
pub(super) fn distance(dtype: DType) -> Result<Arc<Kept>> {
    let own = own(dtype);
    Ok(record(&[dtype, own], |open| vec![(input(open, 0, dtype) - input(open, 1, own)).exp().raw])?.kept)
}

/// Of two elements the larger one; one that is not a number does not count.
#[cfg(feature = "cuda")]
pub(super) fn larger(own: DType) -> Result<Arc<Kept>> {
    Ok(record(&[own; 2], |open| vec![input(open, 0, own).max(input(open, 1, own)).raw])?.kept)
}

/// That such a reduction is of the elements of one operand, which is all that rows have.
pub(super) fn check(shape: &Shape) -> Result<()> {
    let expr = &shape.formula.0.expr;
    match is_it(shape.kind) && (expr.nodes().len() != 1 || shape.inputs.len() != 1) {
        true => Err(Error::invalid("formula", "the largest element and the sum of exponentials of a formula")),
        false => Ok(()),
    }
}

/// The two reductions of a shape: to the largest elements, and of these and the elements to the sums.
#[cfg(feature = "host")]
pub(super) fn two(shape: &Shape) -> Result<[Arc<Shape>; 2]> {
    let dtype = shape.element_type()?;
    let mut inputs = shape.inputs.clone();
    let largest = shape.of_kind(ReductionKind::Max, element(dtype)?, inputs.clone());
    inputs.push(shape.output.broadcast(shape.shape())?);
    Ok([largest, shape.of_kind(ReductionKind::Sum, distance(dtype)?, inputs)].map(Arc::new))
}

#[cfg(feature = "host")]
pub(super) use host::{finish, reduce};

#[cfg(feature = "host")]
mod host {
    use super::super::host::run;
    use super::super::op::Reduce;
    use super::own;
    use crate::core::element::DType;
    use crate::core::error::{Error, Result};
    use crate::core::room;
    use crate::device::tensor::Layout;
    use crate::libraries::expressions::op::Map;
    use num_complex::Complex;

    /// Writes the results of a reduction, which lie one after the other.
    ///
    /// # Safety
    /// As [`run`].
    pub(in super::super) unsafe fn reduce(rows: &Reduce, input: *const u8, output: *mut u8) -> Result<()> {
        match own(rows.shape.element_type()?) {
            // SAFETY: the caller's promise.
            DType::F64 => unsafe { reduce_of::<f64>(rows, input, output) },
            // SAFETY: the caller's promise.
            _ => unsafe { reduce_of::<f32>(rows, input, output) },
        }
    }

    unsafe fn reduce_of<W: Copy + Default>(rows: &Reduce, input: *const u8, output: *mut u8) -> Result<()> {
        let ([largest, sum], len) = (rows.shape.exponentials()?, rows.shape.output.len());
        let of = |shape: &crate::core::sync::Arc<super::Shape>| Reduce {
            shape: shape.clone(),
            less: 0,
            scalars: Vec::new(),
            finish_scalars: Vec::new(),
        };
        let (mut most, mut sums) = (room::filled(len, W::default())?, room::filled(len, W::default())?);
        // SAFETY: the caller's promise for the input; the others are vectors of as many numbers as there are results.
        unsafe {
            run(&of(largest), &[input], most.as_mut_ptr().cast())?;
            run(&of(sum), &[input, most.as_ptr().cast()], sums.as_mut_ptr().cast())?;
        }
        // SAFETY: as many pairs as results.
        unsafe { finish(rows, &most, &sums, output) }
    }

    /// Writes the results of these pairs, or what is computed of them.
    ///
    /// # Safety
    /// The output has a result for each pair.
    pub(in super::super) unsafe fn finish<W: Copy + Default>(
        rows: &Reduce,
        most: &[W],
        sums: &[W],
        output: *mut u8,
    ) -> Result<()> {
        let len = most.len();
        let mut pairs = room::filled(len, Complex::<W>::default())?;
        pairs.iter_mut().zip(most.iter().zip(sums)).for_each(|(to, (re, im))| *to = Complex::new(*re, *im));
        let layout = Layout::row_major([len])?;
        let Some(finish) = rows.shape.finish.clone() else {
            // SAFETY: the output has a pair for each result.
            unsafe { std::ptr::copy_nonoverlapping(pairs.as_ptr().cast(), output, len * size_of::<Complex<W>>()) };
            return Ok(());
        };
        let all = std::slice::from_ref(&layout);
        let shape = finish.0.shape(all, all, false);
        let map = Map::new(finish, rows.finish_scalars.clone(), shape);
        if rows.shape.result_type().size() != size_of::<Complex<W>>() {
            return Err(Error::library("internal error: unchecked results"));
        }
        // SAFETY: a vector of pairs, and the output, which has as many.
        unsafe { map.compute(&[pairs.as_ptr().cast()], &[output]) }
    }
}
