//! The exponential of a matrix.

use super::{SolverElement, Structure, element};
use crate::core::element::Element;
use crate::core::error::{Error, Result};
use crate::device::Device;
use crate::device::tensor::{ReadableTensor, Tensor, TensorRef};
use crate::libraries::blas::{BlasElement, GemmElement};

/// A diagonal rational approximation of exp: the coefficients of the numerator by rising powers, and the largest norm for which its
/// backward error is below the unit roundoff.
struct Pade {
    coefficients: &'static [f64],
    largest: f64,
}

/// Degree 7, for f32; degree 13, for f64 (Higham, The scaling and squaring method for the matrix exponential revisited, 2005).
const SINGLE: Pade = Pade {
    coefficients: &[17_297_280.0, 8_648_640.0, 1_995_840.0, 277_200.0, 25_200.0, 1_512.0, 56.0, 1.0],
    largest: 3.925_724_783_138_66,
};
const DOUBLE: Pade = Pade {
    coefficients: &[
        64_764_752_532_480_000.0,
        32_382_376_266_240_000.0,
        7_771_770_303_897_600.0,
        1_187_353_796_428_800.0,
        129_060_195_264_000.0,
        10_559_470_521_600.0,
        670_442_572_800.0,
        33_522_128_640.0,
        1_323_241_920.0,
        40_840_800.0,
        960_960.0,
        16_380.0,
        182.0,
        1.0,
    ],
    largest: 5.371_920_351_148_152,
};

/// Exponentials of matrices.
impl Device {
    /// The exponential of each matrix of the last two axes, as a new row-major tensor: SciPy's `expm`.
    ///
    /// Scaled by a power of two until the largest sum of a column's magnitudes is below a bound, approximated by a ratio of two
    /// polynomials (Higham 2005), and squared as often. The relative error, in norm, is a small multiple of the machine precision and of
    /// the condition of the exponential at A; a matrix of large norm whose powers are much smaller loses digits to the scaling. The
    /// call waits for the norms of A and for one solution.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for a tensor that is no square matrix, and no batch of them; for a matrix that holds a NaN or an
    /// infinity; else as [`matmul`](Self::matmul) and [`solve`](Self::solve). An exponential that overflows holds infinities and NaN.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// let device = windlass::Device::host()?;
    /// let turn = device.tensor([2, 2], [0.0, -1.0, 1.0, 0.0])?;
    /// let (sin, cos) = 1f64.sin_cos();
    /// let want = device.tensor([2, 2], [cos, -sin, sin, cos])?;
    /// assert!(device.allclose(&device.expm(&turn)?, &want, 0.0, 1e-15)?);
    /// # Ok(()) }
    /// ```
    pub fn expm<'a, T: SolverElement>(&self, a: impl ReadableTensor<'a, T>) -> Result<Tensor<T>> {
        exponential(self, &a.into()).map_err(|error| error.in_op("expm", "solver"))
    }
}

fn exponential<T: SolverElement>(device: &Device, a: &TensorRef<'_, T>) -> Result<Tensor<T>> {
    crate::libraries::blas::check_square(a.shape())?;
    if a.is_empty() {
        return Ok(device.contiguous(a)?.into_output());
    }
    let pade = if size_of::<T::Real>() == 4 { &SINGLE } else { &DOUBLE };
    let Some((&n, batch)) = a.shape().split_last().and_then(|(n, rest)| Some((n, rest.split_last()?.1))) else {
        return Err(Error::library("internal error: a square matrix without axes"));
    };
    let shape = a.shape();
    // One axis of matrices.
    let a = device.contiguous(a)?.into_output();
    let a = a.reshape([batch.iter().product(), n, n])?;
    let norms = T::largest_columns(device, &a)?;
    if let Some(at) = norms.iter().position(|norm| !norm.is_finite()) {
        return Err(Error::invalid("a", format!("matrix {at} holds a NaN or an infinity, or overflows")));
    }
    // How often each is halved: 2^halvings is at least the norm over the bound.
    let halvings = |norm: f64| (norm / pade.largest).log2().ceil().max(0.0) as i32;
    let halvings: Vec<i32> = norms.into_iter().map(halvings).collect();
    // Those that are squared most come first, so that the ones that are not done are always the first ones.
    let mut order: Vec<i64> = (0..halvings.len() as i64).collect();
    order.sort_by_key(|i| std::cmp::Reverse(halvings.get(*i as usize).copied()));
    let is_sorted = order.is_sorted();
    let of = |i: &i64| halvings.get(*i as usize).copied().unwrap_or(0);
    let order_on = |numbers: Vec<i64>| device.tensor([numbers.len()], numbers);
    let a =
        if is_sorted { device.contiguous(&a)?.into_output() } else { taken(device, &a, &order_on(order.clone())?)? };
    let mut scaled = a;
    for (i, number) in order.iter().enumerate().filter(|(_, number)| of(number) > 0) {
        let factor = scalar::<T>((-f64::from(of(number))).exp2());
        let part = scaled.part(|all| all.index(0, i as isize))?;
        scaled = device.blas().scal(factor, part)?.into_output();
    }
    let mut x = ratio(device, &scaled, pade.coefficients)?;
    let most = order.first().map_or(0, of);
    for done in 0..most {
        let left = order.iter().take_while(|number| of(number) > done).count();
        if left == order.len() {
            x = device.matmul(&x, &x)?.into_output();
        } else {
            let first = x.slice(..left as isize)?;
            let squares = device.matmul(&first, &first)?;
            let part = x.part(|all| all.slice(..left as isize))?;
            x = device.copy(&squares, part)?.into_output();
        }
    }
    if !is_sorted {
        let mut back = vec![0; order.len()];
        for (i, number) in order.iter().enumerate() {
            if let Some(place) = back.get_mut(*number as usize) {
                *place = i as i64;
            }
        }
        x = taken(device, &x.view(), &order_on(back)?)?;
    }
    Ok(x.into_shape(shape)?)
}

fn taken<T: Element>(device: &Device, x: &TensorRef<'_, T>, numbers: &Tensor<i64>) -> Result<Tensor<T>> {
    Ok(device.take(x, numbers, 0)?.await_result()?)
}

/// The numerator over the denominator at A: with the odd powers in U and the even ones in V, (V - U)^-1 (V + U).
fn ratio<T: SolverElement>(device: &Device, a: &Tensor<T>, coefficients: &[f64]) -> Result<Tensor<T>> {
    let second = device.matmul(a, a)?.into_output();
    let fourth = device.matmul(&second, &second)?.into_output();
    let sixth = device.matmul(&fourth, &second)?.into_output();
    let powers = [&second, &fourth, &sixth];
    // Every second coefficient from `first` on: those up to the sixth power, and the sixth power times those above.
    let half = |first: usize| {
        let of_half: Vec<f64> = coefficients.iter().skip(first).step_by(2).copied().collect();
        let low = polynomial(device, of_half.get(..4).unwrap_or(&of_half), &powers)?;
        match of_half.get(4..) {
            Some(above) if !above.is_empty() => {
                let above: Vec<f64> = std::iter::once(0.0).chain(above.iter().copied()).collect();
                let above = device.matmul(&sixth, &polynomial(device, &above, &powers)?)?;
                Ok::<_, Error>(device.blas().axpy(<T as GemmElement>::ONE, &above, low)?.into_output())
            }
            _ => Ok(low),
        }
    };
    let (even, odd) = (half(0)?, device.matmul(a, &half(1)?)?);
    let above = device.blas().axpy(<T as GemmElement>::ONE, &odd, device.duplicate(&even)?)?;
    let below = device.blas().axpy(scalar::<T>(-1.0), &odd, even)?;
    let solved = device.solver().solve(Structure::General, below.into_output(), above.into_output())?.await_result()?;
    Ok(device.contiguous(&solved.x)?.into_output())
}

fn scalar<T: SolverElement>(x: f64) -> T {
    <T as BlasElement>::from_real(element::real::<T::Real>(x))
}

/// The first coefficient times the identity, and each other one times its power.
fn polynomial<T: SolverElement>(device: &Device, coefficients: &[f64], powers: &[&Tensor<T>; 3]) -> Result<Tensor<T>> {
    let [second, ..] = powers;
    let mut all = device.identities(second.shape(), scalar::<T>(coefficients.first().copied().unwrap_or(0.0)))?;
    for (coefficient, power) in coefficients.iter().skip(1).zip(powers) {
        all = device.blas().axpy(scalar::<T>(*coefficient), *power, all)?.into_output();
    }
    Ok(all)
}
