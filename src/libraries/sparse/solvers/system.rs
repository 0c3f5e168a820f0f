//! The system that an iteration solves: a scaled copy of the right-hand side, and the scales of A and the preconditioner.
//!
//! Inner products are sums of squares, which overflow or underflow although the numbers themselves do not. So the
//! methods solve `(f A) y = s b` with powers of two `f` and `s`, where the norm of `s b` is near 1, and `f A` is of
//! moderate size. Powers of two change no digit. A is not copied: SpMV multiplies by `f`. A preconditioner whose
//! results would be too large or too small is scaled in the same way; a method computes the same with any multiple of
//! it.

use super::super::element::{SolveElement, SparseIndex};
use super::super::formats::SparseMatrix;
use super::super::operands::{check_vector, vector};
use super::super::{Sparse, Spmv};
use super::iteration::Unsolved;
use super::precondition::Preconditioner;
use crate::core::buffer::{DeviceBuffer, In, Readable};
use crate::core::error::{Error, Result};
use crate::device::tensor::{Part, TensorRef, Whole};

/// The right-hand side, the unknowns, and what makes a tensor of them again.
pub(super) type Unknowns<'b, T> = (In<'b, T>, DeviceBuffer<T>, Whole);

/// The vectors of a system, whose elements must be neighbours.
pub(super) fn unknowns<'b, T: SolveElement>(
    b: &'b TensorRef<'_, T>,
    x: Part<T>,
) -> Result<Unknowns<'b, T>, Unsolved<T>> {
    match vector("b", b).and_then(|b| check_vector("x", &x).map(|()| b)) {
        Ok(b) => {
            let (x, _, whole) = x.operand();
            Ok((b, x, whole))
        }
        Err(error) => Err(Unsolved::Failed { error, x: Some(x.into_tensor()) }),
    }
}

/// A scaled system, and the operations of which the methods consist.
pub(super) struct System<'s, T: SolveElement, I: SparseIndex, A: SparseMatrix<T, I>> {
    pub(super) sparse: &'s Sparse,
    a: &'s A,
    m: &'s Preconditioner<T, I>,
    /// The right-hand side as it was given.
    given: In<'s, T>,
    /// A scaled copy of it, if it needs one.
    scaled: Option<DeviceBuffer<T>>,
    /// Its norm.
    pub(super) norm: f64,
    /// The exponents of the factors of A, of b, and of the preconditioner.
    of_a: i32,
    of_b: i32,
    of_m: i32,
}

/// A norm that may be outside the range of the type: `value * 2^exponent`.
#[derive(Clone, Copy, Debug)]
struct Norm {
    value: f64,
    exponent: i32,
}

impl Norm {
    /// The exponent of the power of two below it; 0 if it is zero or not finite.
    fn magnitude(self) -> i32 {
        if self.value == 0.0 || !self.value.is_finite() {
            return 0;
        }
        // The value is the norm of normal numbers of at most 64 bits, so its logarithm is exact to far below 1.
        (self.value.log2().floor() as i32).saturating_add(self.exponent)
    }
}

/// `2^exponent` of a type, for an exponent within its range.
fn power<T: SolveElement>(exponent: i32) -> T {
    T::from_parts(2f64.powi(exponent), 0.0)
}

impl Sparse {
    /// `2^exponent * x`, in as many steps as the range of the type needs.
    pub(super) fn shift<T: SolveElement>(&self, mut x: DeviceBuffer<T>, mut exponent: i32) -> Result<DeviceBuffer<T>> {
        while exponent != 0 {
            let step = exponent.clamp(-T::RANGE, T::RANGE);
            x = self.device.blas().scal(power::<T>(step), x)?.into_buffer();
            exponent -= step;
        }
        Ok(x)
    }

    /// The Euclidean norm, also where the norm or the squares of the elements are outside the range of the type.
    /// cuBLAS' is exact only where squares are normal numbers.
    fn norm<'x, T: SolveElement>(&self, x: impl Readable<'x, T>) -> Result<Norm> {
        let x = x.into();
        let value = T::norm_of(self.device.blas().nrm2(x)?.await_result()?);
        let exponent = if value.is_infinite() {
            -(T::RANGE / 2)
        } else if value < 2f64.powi(-(T::RANGE / 3)) {
            T::RANGE * 2 / 3
        } else {
            return Ok(Norm { value, exponent: 0 });
        };
        let moved = self.shift(self.device.duplicated(x)?, exponent)?;
        let value = T::norm_of(self.device.blas().nrm2(&moved)?.await_result()?);
        Ok(Norm { value, exponent: -exponent })
    }
}

impl<'s, T: SolveElement, I: SparseIndex, A: SparseMatrix<T, I>> System<'s, T, I, A> {
    /// Checks the sizes, measures the input, and chooses the scales.
    pub(super) fn new(
        sparse: &'s Sparse,
        (a, m): (&'s A, &'s Preconditioner<T, I>),
        b: In<'s, T>,
        x: &DeviceBuffer<T>,
    ) -> Result<Self> {
        let (rows, cols) = (a.rows(), a.cols());
        if rows != cols {
            return Err(Error::invalid("a", format!("{rows} x {cols} is not square")));
        }
        for (name, len) in [("b", b.len()), ("x", x.len())] {
            if len != rows {
                return Err(Error::invalid(name, format!("{len} elements, but the matrix has {rows} rows")));
            }
        }
        // Numbers of moderate size need no scale: the square of a residual that is small by the epsilon is normal.
        let moderate = T::RANGE / 8;
        let scale = |norm: Norm| {
            let magnitude = norm.magnitude();
            if magnitude.abs() <= moderate { 0 } else { -magnitude }
        };
        let measured = sparse.norm(b)?;
        let of_b = scale(measured);
        let norm = Norm { exponent: measured.exponent + of_b, ..measured };
        let norm = norm.value * 2f64.powi(norm.exponent);
        let copy = || sparse.shift(sparse.device.duplicated(b)?, of_b);
        let scaled = if of_b == 0 { None } else { Some(copy()?) };
        let of_a = if a.nnz() == 0 { 0 } else { scale(sparse.norm(a.stored().values)?).clamp(-T::RANGE, T::RANGE) };
        let mut system = System { sparse, a, m, given: b, scaled, norm, of_a, of_b, of_m: 0 };
        if norm > 0.0 && norm.is_finite() && !matches!(m, Preconditioner::Identity) {
            let copy = sparse.device.duplicated(system.b())?;
            system.of_m = scale(sparse.norm(&m.apply(sparse, &copy)?)?);
        }
        Ok(system)
    }

    /// The scaled right-hand side.
    pub(super) fn b(&self) -> In<'_, T> {
        self.scaled.as_ref().map_or(self.given, DeviceBuffer::as_in)
    }

    /// Whether the unknowns of the scaled system are others.
    pub(super) fn moves(&self) -> bool {
        self.of_a != self.of_b
    }

    /// The unknowns of the scaled system for these.
    pub(super) fn enter(&self, x: DeviceBuffer<T>) -> Result<DeviceBuffer<T>> {
        self.sparse.shift(x, self.of_b - self.of_a)
    }

    /// The unknowns for those of the scaled system.
    pub(super) fn leave(&self, x: DeviceBuffer<T>) -> Result<DeviceBuffer<T>> {
        self.sparse.shift(x, self.of_a - self.of_b)
    }

    /// `r = b - A * x`.
    pub(super) fn residual(&self, x: &DeviceBuffer<T>) -> Result<DeviceBuffer<T>> {
        let r = self.sparse.device.duplicated(self.b())?;
        let spec = Spmv::new().alpha(-power::<T>(self.of_a)).beta(T::ONE);
        Ok(self.sparse.spmv(spec, self.a, x, r)?.into_buffer())
    }

    /// The norm of the residual of this x, divided by the norm of the right-hand side. NaN if x is not finite, also
    /// where no entry of A meets what is not.
    pub(super) fn true_residual(&self, x: &DeviceBuffer<T>) -> Result<f64> {
        if !self.sparse.norm(x)?.value.is_finite() {
            return Ok(f64::NAN);
        }
        let norm = self.sparse.norm(&self.residual(x)?)?;
        Ok(norm.value * 2f64.powi(norm.exponent) / self.norm)
    }

    /// `A * x`.
    pub(super) fn product(&self, x: &DeviceBuffer<T>) -> Result<DeviceBuffer<T>> {
        let spec = Spmv::new().alpha(power::<T>(self.of_a));
        Ok(self.sparse.spmv(spec, self.a, x, self.sparse.device.unwritten(x.len())?)?.into_buffer())
    }

    /// `z = M^-1 * r`.
    pub(super) fn apply(&self, r: &DeviceBuffer<T>) -> Result<DeviceBuffer<T>> {
        self.sparse.shift(self.m.apply(self.sparse, r)?, self.of_m)
    }
}
