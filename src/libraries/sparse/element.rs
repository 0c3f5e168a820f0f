//! The element types of values and of indices.

use crate::core::element::{Element, Letter};
use crate::libraries::blas::VectorElement;
use half::{bf16, f16};
use num_complex::Complex;
use std::fmt::Debug;
use std::ops::{Add, Mul, Neg, Sub};

/// A type in which sums are accumulated: f32, f64, or a complex number of either.
#[doc(hidden)]
pub trait Number:
    Element
    + Copy
    + Default
    + PartialEq
    + Debug
    + Send
    + Sync
    + 'static
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Neg<Output = Self>
{
    /// One.
    const ONE: Self;
    /// The conjugate; a real number itself.
    fn conj(self) -> Self;
    /// The quotient. An intermediate result overflows only where the quotient itself is close to overflow.
    fn over(self, divisor: Self) -> Self;
    /// The absolute value.
    fn magnitude(self) -> f64;
    /// The real part.
    fn re(self) -> f64;
    /// The square root of a real number that is not negative.
    fn real_root(self) -> Self;
    /// The conjugate if `conj` is set.
    fn conj_if(self, conj: bool) -> Self {
        if conj { self.conj() } else { self }
    }
}

macro_rules! numbers { ($($real:ty),*) => { $(
    impl Number for $real {
        const ONE: Self = 1.0;
        fn conj(self) -> Self {
            self
        }
        fn over(self, divisor: Self) -> Self {
            self / divisor
        }
        fn magnitude(self) -> f64 {
            f64::from(self.abs())
        }
        fn re(self) -> f64 {
            f64::from(self)
        }
        fn real_root(self) -> Self {
            self.sqrt()
        }
    }
    impl Number for Complex<$real> {
        const ONE: Self = Complex { re: 1.0, im: 0.0 };
        fn conj(self) -> Self {
            Complex::conj(&self)
        }
        fn over(self, divisor: Self) -> Self {
            // Smith's method: divides the smaller part of the divisor by the larger one first.
            let (Complex { re: a, im: b }, Complex { re: c, im: d }) = (self, divisor);
            if d == 0.0 {
                Complex::new(a / c, b / c)
            } else if c.abs() >= d.abs() {
                let (ratio, whole) = (d / c, c + d * (d / c));
                Complex::new((a + b * ratio) / whole, (b - a * ratio) / whole)
            } else {
                let (ratio, whole) = (c / d, c * (c / d) + d);
                Complex::new((a * ratio + b) / whole, (b * ratio - a) / whole)
            }
        }
        fn magnitude(self) -> f64 {
            f64::from(self.re).hypot(f64::from(self.im))
        }
        fn re(self) -> f64 {
            f64::from(self.re)
        }
        fn real_root(self) -> Self {
            Complex::new(self.re.sqrt(), 0.0)
        }
    }
)* } }
numbers!(f32, f64);

/// An element type of sparse matrices: f32, f64, `Complex` of both, and the half types f16 and bf16, whose scalars and
/// sums are f32. Sealed, as [`Element`] is.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no element type of sparse matrices",
    label = "expected f32, f64, Complex<f32>, Complex<f64>, f16 or bf16"
)]
pub trait SparseElement: Element {
    /// The type of `alpha` and `beta`.
    type Scalar: Element + Number;
    #[doc(hidden)]
    const CODES: Codes;
    /// Converts to the type of the sums.
    #[doc(hidden)]
    fn widen(self) -> Self::Scalar;
    /// Rounds from the type of the sums.
    #[doc(hidden)]
    fn narrow(sum: Self::Scalar) -> Self;
    /// A number read from a file, as its real and imaginary parts. A real type uses the first only.
    #[doc(hidden)]
    fn from_parts(re: f64, im: f64) -> Self;
    /// Real and imaginary part.
    #[doc(hidden)]
    fn parts(self) -> (f64, f64);
}

/// The codes of an element type in cuSPARSE.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct Codes {
    /// `cudaDataType` of the entries.
    pub element: u32,
    /// `cudaDataType` of the computation, and of the scalars.
    pub compute: u32,
}

macro_rules! full { ($($t:ty, $code:literal, |$re:ident, $im:ident| $make:expr, |$x:ident| $parts:expr;)*) => { $(
    impl SparseElement for $t {
        type Scalar = $t;
        const CODES: Codes = Codes { element: $code, compute: $code };
        fn widen(self) -> $t {
            self
        }
        fn narrow(sum: $t) -> $t {
            sum
        }
        fn from_parts($re: f64, $im: f64) -> Self {
            $make
        }
        fn parts(self) -> (f64, f64) {
            let $x = self;
            $parts
        }
    }
)* } }
// cudaDataType: R_32F 0, R_64F 1, R_16F 2, C_32F 4, C_64F 5, R_16BF 14.
full! {
    f32, 0, |re, _im| re as f32, |x| (x.into(), 0.0);
    f64, 1, |re, _im| re, |x| (x, 0.0);
    Complex<f32>, 4, |re, im| Complex::new(re as f32, im as f32), |x| (x.re.into(), x.im.into());
    Complex<f64>, 5, |re, im| Complex::new(re, im), |x| (x.re, x.im);
}

/// Rounds to the neighbour in f32 whose last bit is odd, unless f32 has the number. A second rounding to nearest, to a
/// type of fewer bits, then gives what a single one would.
fn to_odd(x: f64) -> f32 {
    let near = x as f32;
    if f64::from(near) == x || !x.is_finite() {
        return near;
    }
    // The neighbour towards zero: the bits of a number order its magnitude.
    let below = if f64::from(near).abs() > x.abs() { near.to_bits() - 1 } else { near.to_bits() };
    f32::from_bits(below | 1)
}

macro_rules! halves { ($($t:ty, $code:literal;)*) => { $(
    impl SparseElement for $t {
        type Scalar = f32;
        const CODES: Codes = Codes { element: $code, compute: 0 };
        fn widen(self) -> f32 {
            self.to_f32()
        }
        fn narrow(sum: f32) -> $t {
            <$t>::from_f32(sum)
        }
        fn from_parts(re: f64, _: f64) -> Self {
            <$t>::from_f32(to_odd(re))
        }
        fn parts(self) -> (f64, f64) {
            (self.into(), 0.0)
        }
    }
)* } }
halves! { f16, 2; bf16, 14; }

/// An element type that all operations accept: f32, f64, `Complex` of both. The half types lack the operations that
/// divide: triangular and tridiagonal systems, factorizations, solvers.
pub trait SolveElement: SparseElement<Scalar = Self> + Number + VectorElement<Scalar = Self> {
    /// The type of a norm.
    type Real: Element;
    #[doc(hidden)]
    const LETTER: Letter;
    /// The distance of 1 to the next larger number.
    #[doc(hidden)]
    const EPSILON: f64;
    /// The powers of two from `-RANGE` to `RANGE` are normal numbers.
    #[doc(hidden)]
    const RANGE: i32;
    #[doc(hidden)]
    fn norm_of(norm: Self::Norm) -> f64;
}

macro_rules! solves { ($($t:ty, $real:ty, $letter:ident, $range:literal;)*) => { $(
    impl SolveElement for $t {
        type Real = $real;
        const LETTER: Letter = Letter::$letter;
        const EPSILON: f64 = <$real>::EPSILON as f64;
        const RANGE: i32 = $range;
        fn norm_of(norm: $real) -> f64 {
            f64::from(norm)
        }
    }
)* } }
solves! {
    f32, f32, S, 126;
    f64, f64, D, 1022;
    Complex<f32>, f32, C, 126;
    Complex<f64>, f64, Z, 1022;
}

/// A type that indices and offsets may have: i32 or i64. Sealed, as [`Element`] is.
#[diagnostic::on_unimplemented(message = "`{Self}` is no type of indices and offsets", label = "expected i32 or i64")]
pub trait SparseIndex: Element + Ord {
    /// The largest number of entries, rows or columns.
    #[doc(hidden)]
    const LARGEST: usize;
    /// `cusparseIndexType_t`.
    #[doc(hidden)]
    const CODE: u32;
    /// The index as a position. A negative one becomes one that is past every end.
    #[doc(hidden)]
    fn place(self) -> usize;
    /// The index of a position that was checked to fit.
    #[doc(hidden)]
    fn from_place(place: usize) -> Self;
}

macro_rules! indices { ($($t:ty, $code:literal;)*) => { $(
    impl SparseIndex for $t {
        const LARGEST: usize = <$t>::MAX as usize;
        const CODE: u32 = $code;
        #[inline]
        fn place(self) -> usize {
            match size_of::<usize>() < size_of::<Self>() {
                true => usize::try_from(self).unwrap_or(usize::MAX),
                // The sign becomes the highest bits: no instruction is needed to look at it.
                false => self as usize,
            }
        }
        #[inline]
        fn from_place(place: usize) -> Self {
            <$t>::try_from(place).unwrap_or(<$t>::MAX)
        }
    }
)* } }
indices! { i32, 2; i64, 3; }
