//! Determinants from factors: the diagonal is copied to the host, and multiplied there.

use super::prelude::*;
use super::{Cholesky, Lu};
use crate::core::dispatch::PendingDispatch;
use crate::core::element::DType;
use crate::core::op::Verdict;
use crate::core::room::collected;
use num_complex::Complex;

/// A determinant as its phase and the logarithm of its modulus, which do not overflow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Determinant {
    /// A number of modulus one, or zero: for real matrices 1, -1 or 0.
    pub sign: Complex<f64>,
    /// The logarithm of the modulus; minus infinity for a determinant of zero.
    pub log_abs: f64,
    /// The determinant itself, with a power of two that keeps it in range.
    product: Scaled,
}

impl Determinant {
    fn new(product: Scaled) -> Self {
        let Scaled { mantissa, exponent } = product;
        let size = mantissa.re.hypot(mantissa.im);
        if size == 0.0 {
            return Determinant { sign: Complex::default(), log_abs: f64::NEG_INFINITY, product };
        }
        let sign = if size.is_finite() { mantissa / size } else { Complex::new(f64::NAN, 0.0) };
        Determinant { sign, log_abs: size.ln() + exponent as f64 * std::f64::consts::LN_2, product }
    }

    /// The determinant itself, which may overflow or underflow where its logarithm does not. It is a product of the
    /// factors, not a power of e: it has their accuracy.
    pub fn value(&self) -> Complex<f64> {
        self.product.value()
    }
}

/// `mantissa * 2^exponent`.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Scaled {
    mantissa: Complex<f64>,
    exponent: i64,
}

impl Scaled {
    const ONE: Scaled = Scaled { mantissa: Complex { re: 1.0, im: 0.0 }, exponent: 0 };

    /// The same number, with the larger part of its mantissa between 1/2 and 2.
    fn normal(self) -> Self {
        let (mut x, mut exponent) = (self.mantissa, self.exponent);
        // A subnormal number takes a second step.
        for _ in 0..2 {
            let most = x.re.abs().max(x.im.abs());
            if most == 0.0 || !most.is_finite() {
                break;
            }
            let step = ((most.to_bits() >> 52) as i32 - 1023).clamp(-1000, 1000);
            x *= f64::powi(2.0, -step);
            exponent += i64::from(step);
        }
        Scaled { mantissa: x, exponent }
    }

    fn times(self, other: Self) -> Self {
        let (one, other) = (self.normal(), other.normal());
        Scaled { mantissa: one.mantissa * other.mantissa, exponent: one.exponent + other.exponent }
    }

    fn value(self) -> Complex<f64> {
        let Scaled { mantissa, exponent } = self.normal();
        // Beyond this, everything is zero or infinite. All steps but the last are exact.
        let mut rest = exponent.clamp(-2200, 2200) as i32;
        let mut value = mantissa;
        while rest != 0 {
            let step = rest.clamp(-1000, 1000);
            value *= f64::powi(2.0, step);
            rest -= step;
        }
        value
    }
}

/// Determinants in flight.
#[must_use = "dropping it discards the result"]
#[derive(Debug)]
pub struct PendingDeterminants<T: SolverElement> {
    order: usize,
    count: usize,
    /// 2 for Cholesky factors, since their product is squared; else 1.
    power: i32,
    diagonal: PendingDispatch<Vec<T>, Verdict>,
    pivots: Option<PendingDispatch<Vec<i64>, Verdict>>,
}

impl<T: SolverElement> PendingDeterminants<T> {
    /// Whether the answer has arrived.
    pub fn is_ready(&self) -> bool {
        self.diagonal.is_ready() && self.pivots.as_ref().is_none_or(PendingDispatch::is_ready)
    }

    /// Waits, and returns the determinant of each matrix.
    ///
    /// # Errors
    /// The device's own error; [`Error::Upstream`] if the factorization failed.
    pub fn await_result(self) -> Result<Vec<Determinant>> {
        let (n, diagonal) = (self.order, wide(&self.diagonal.await_result()?)?);
        let pivots = self.pivots.map(PendingDispatch::await_result).transpose()?;
        let one = |i: usize| {
            let diagonal = diagonal.iter().skip(i * n).take(n);
            let mut product = Scaled::ONE;
            for x in diagonal {
                product = product.times(Scaled { mantissa: *x, exponent: 0 });
            }
            for (at, pivot) in pivots.iter().flatten().skip(i * n).take(n).enumerate() {
                if *pivot != at as i64 + 1 {
                    product.mantissa = -product.mantissa;
                }
            }
            if self.power == 2 {
                product = product.times(product);
            }
            Determinant::new(product)
        };
        collected((0..self.count).map(one))
    }
}

/// The numbers in f64.
fn wide<T: SolverElement>(x: &[T]) -> Result<Vec<Complex<f64>>> {
    fn as_of<T: SolverElement, U: SolverElement>(x: &[T], f: impl Fn(U) -> Complex<f64>) -> Result<Vec<Complex<f64>>> {
        collected(bytemuck::cast_slice::<T, U>(x).iter().map(|x| f(*x)))
    }
    match T::DTYPE {
        DType::F32 => as_of(x, |x: f32| Complex::new(f64::from(x), 0.0)),
        DType::C32 => as_of(x, |x: Complex<f32>| Complex::new(f64::from(x.re), f64::from(x.im))),
        DType::F64 => as_of(x, |x: f64| Complex::new(x, 0.0)),
        _ => as_of(x, |x: Complex<f64>| x),
    }
}

/// The determinants from LU factors.
pub(super) fn of_lu<T: SolverElement>(solver: &Solver, lu: &Lu<T>) -> Result<PendingDeterminants<T>> {
    let (a, diagonal) = diagonal(solver, lu.factors())?;
    let pivots = Some(solver.device.download(lu.pivots())?);
    Ok(PendingDeterminants { order: a.rows, count: a.count, power: 1, diagonal, pivots })
}

/// The determinants from Cholesky factors.
pub(super) fn of_cholesky<T: SolverElement>(solver: &Solver, l: &Cholesky<T>) -> Result<PendingDeterminants<T>> {
    let (a, diagonal) = diagonal(solver, l.factor())?;
    Ok(PendingDeterminants { order: a.rows, count: a.count, power: 2, diagonal, pivots: None })
}

type Diagonals<T> = PendingDispatch<Vec<T>, Verdict>;

fn diagonal<T: SolverElement>(solver: &Solver, factors: &Tensor<T>) -> Result<(Matrix, Diagonals<T>)> {
    let (a, _) = matrices_of("a", factors)?;
    a.check_square("a")?;
    let to = solver.device.contiguous(factors.diagonal(0, -2, -1)?)?.into_output();
    Ok((a, solver.device.download(&to)?))
}
