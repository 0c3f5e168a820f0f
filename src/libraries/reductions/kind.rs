//! The kinds of reductions, and the types of their results.

use crate::core::element::{DType, Element};
use crate::core::fp8::{F8E4M3, F8E5M2};
use crate::core::truth::Bool;
use half::{bf16, f16};
use num_complex::Complex;
use serde::{Deserialize, Serialize};

/// What becomes of the elements: plain data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub enum ReductionKind {
    /// See [`Sum`].
    Sum,
    /// See [`Prod`].
    Prod,
    /// See [`Mean`].
    Mean,
    /// See [`Var`].
    Var,
    /// See [`Std`].
    Std,
    /// See [`Min`].
    Min,
    /// See [`Max`].
    Max,
    /// See [`ArgMin`].
    ArgMin,
    /// See [`ArgMax`].
    ArgMax,
    /// See [`AllTrue`].
    All,
    /// See [`AnyTrue`].
    Any,
    /// See [`CountNonzero`].
    Count,
    /// See [`Norm1`].
    Norm1,
    /// See [`Norm2`].
    Norm2,
    /// See [`NormInf`].
    NormInf,
    /// See [`LogSumExp`].
    LogSumExp,
    /// The largest element and the sum of the exponentials of the distances from it, as a complex number.
    #[doc(hidden)]
    Exponentials,
    /// Mean and variance, as a complex number.
    #[doc(hidden)]
    Moments,
}

impl ReductionKind {
    /// All of them.
    pub const ALL: [ReductionKind; 16] = [
        ReductionKind::Sum,
        ReductionKind::Prod,
        ReductionKind::Mean,
        ReductionKind::Var,
        ReductionKind::Std,
        ReductionKind::Min,
        ReductionKind::Max,
        ReductionKind::ArgMin,
        ReductionKind::ArgMax,
        ReductionKind::All,
        ReductionKind::Any,
        ReductionKind::Count,
        ReductionKind::Norm1,
        ReductionKind::Norm2,
        ReductionKind::NormInf,
        ReductionKind::LogSumExp,
    ];

    /// The name that errors and traces give it.
    pub const fn name(self) -> &'static str {
        match self {
            ReductionKind::Sum => "sum",
            ReductionKind::Prod => "prod",
            ReductionKind::Mean => "mean",
            ReductionKind::Var => "var",
            ReductionKind::Std => "std",
            ReductionKind::Min => "min",
            ReductionKind::Max => "max",
            ReductionKind::ArgMin => "argmin",
            ReductionKind::ArgMax => "argmax",
            ReductionKind::All => "all",
            ReductionKind::Any => "any",
            ReductionKind::Count => "count",
            ReductionKind::Norm1 => "norm1",
            ReductionKind::Norm2 => "norm2",
            ReductionKind::NormInf => "norm_inf",
            ReductionKind::LogSumExp => "logsumexp",
            ReductionKind::Exponentials => "softmax",
            ReductionKind::Moments => "moments",
        }
    }

    /// Whether elements of this type have it; else what helps.
    pub(super) fn check(self, dtype: DType) -> Result<(), String> {
        let (name, real) = (self.name(), dtype.is_float() || dtype.is_integer());
        let fits = match self {
            ReductionKind::Sum
            | ReductionKind::Mean
            | ReductionKind::All
            | ReductionKind::Any
            | ReductionKind::Count => true,
            ReductionKind::Prod
            | ReductionKind::Var
            | ReductionKind::Std
            | ReductionKind::LogSumExp
            | ReductionKind::Exponentials
            | ReductionKind::Moments => !dtype.is_complex(),
            ReductionKind::Min | ReductionKind::Max | ReductionKind::ArgMin | ReductionKind::ArgMax => real,
            ReductionKind::Norm1 | ReductionKind::Norm2 | ReductionKind::NormInf => {
                dtype.is_float() || dtype.is_complex()
            }
        };
        if fits { Ok(()) } else { Err(format!("{name} of {dtype} has no meaning: cast it, or take its magnitude")) }
    }

    /// Whether it has a value without elements.
    pub(super) fn needs_elements(self) -> bool {
        matches!(self, ReductionKind::Min | ReductionKind::Max | ReductionKind::ArgMin | ReductionKind::ArgMax)
    }

    /// The type of the result for elements of a type.
    pub fn result(self, dtype: DType) -> DType {
        match self {
            ReductionKind::Sum | ReductionKind::Prod => sum_type(dtype),
            ReductionKind::Mean | ReductionKind::Var | ReductionKind::Std | ReductionKind::LogSumExp => {
                mean_type(dtype)
            }
            ReductionKind::Min | ReductionKind::Max => dtype,
            ReductionKind::ArgMin | ReductionKind::ArgMax | ReductionKind::Count => DType::I64,
            ReductionKind::All | ReductionKind::Any => DType::Bool,
            ReductionKind::Norm1 | ReductionKind::Norm2 | ReductionKind::NormInf => dtype.part(),
            ReductionKind::Exponentials | ReductionKind::Moments
                if super::recipe::wide(mean_type(dtype)) == DType::F32 =>
            {
                DType::C32
            }
            ReductionKind::Exponentials | ReductionKind::Moments => DType::C64,
        }
    }
}

fn sum_type(dtype: DType) -> DType {
    match dtype {
        DType::Bool => DType::I64,
        signed if signed.is_signed() => DType::I64,
        integer if integer.is_integer() => DType::U64,
        other => other,
    }
}

fn mean_type(dtype: DType) -> DType {
    if dtype.is_integer() || dtype == DType::Bool { DType::F64 } else { dtype }
}

/// A kind of reductions for elements of type `T`. Sealed.
#[diagnostic::on_unimplemented(
    message = "elements of `{T}` have no reduction `{Self}`",
    note = "cast the elements in the formula, as in `|x| x.cast::<f32>()`, or take `abs` of complex numbers"
)]
pub trait Reduction<T>: sealed::Reduction {
    /// The type of the result.
    type Output: Element;
}

mod sealed {
    pub trait Reduction: Copy {
        fn kind(self) -> super::ReductionKind;
        /// What is taken from the number of elements before it divides.
        fn less(self) -> u64 {
            0
        }
    }
}

macro_rules! kinds { ($($(#[$meta:meta])* $name:ident $kind:ident;)*) => { $(
    $(#[$meta])*
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct $name;
    impl sealed::Reduction for $name {
        fn kind(self) -> ReductionKind {
            ReductionKind::$kind
        }
    }
)* } }

kinds! {
    /// The sum: `i64` of signed integers and `Bool`, `u64` of unsigned ones, which wraps. Without elements it is 0.
    Sum Sum;
    /// The product, of the same types. Without elements it is 1.
    Prod Prod;
    /// The arithmetic mean: `f64` of integers. Without elements it is NaN.
    Mean Mean;
    /// The smallest element; NaN if one is. -0 is below +0. Without elements it is an error.
    Min Min;
    /// The largest element; NaN if one is. Without elements it is an error.
    Max Max;
    /// The number of the smallest element in the order of the reduced axes, of equal ones the first; of the first NaN if there
    /// is one. Without elements it is an error.
    ArgMin ArgMin;
    /// The number of the largest element; see [`ArgMin`].
    ArgMax ArgMax;
    /// Whether no element is zero.
    AllTrue All;
    /// Whether an element is not zero.
    AnyTrue Any;
    /// The number of elements that are not zero, as `i64`.
    CountNonzero Count;
    /// The sum of the magnitudes.
    Norm1 Norm1;
    /// The root of the sum of the squared magnitudes. It neither overflows nor vanishes where the result is representable.
    Norm2 Norm2;
    /// The largest magnitude; NaN if one is. Without elements it is 0.
    NormInf NormInf;
    /// log(sum(exp(x))), without overflow. Without elements it is minus infinity.
    LogSumExp LogSumExp;
}

macro_rules! spreads { ($($(#[$meta:meta])* $name:ident $kind:ident;)*) => { $(
    $(#[$meta])*
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct $name {
        /// The degrees of freedom that the mean has taken: NumPy's `ddof`. 0 is the population's, 1 the sample's.
        pub ddof: u32,
    }
    impl sealed::Reduction for $name {
        fn kind(self) -> ReductionKind {
            ReductionKind::$kind
        }
        fn less(self) -> u64 {
            self.ddof.into()
        }
    }
)* } }

spreads! {
    /// The mean squared distance from the mean: the sum of squares divided by the number of elements less `ddof`.
    ///
    /// One pass: each chain of the tree carries number, mean and sum of squares by Welford's update; they are joined by the
    /// formula of Chan, Golub and LeVeque.
    Var Var;
    /// The root of [`Var`].
    Std Std;
}

macro_rules! outputs { ($([$($kind:ident)*] $([$($t:ty),*] => $output:ty),*;)*) => { $( outputs!(@ [$($kind)*] $([$($t),*] => $output),*); )* };
    (@ $kinds:tt $($types:tt => $output:ty),*) => { $( outputs!(@@ $kinds $types $output); )* };
    (@@ [$($kind:ident)*] $types:tt $output:ty) => { $( outputs!(@@@ $kind $types $output); )* };
    (@@@ $kind:ident [$($t:ty),*] $output:ty) => { $( impl Reduction<$t> for $kind { type Output = $output; } )* };
}
macro_rules! itself { ($($kinds:tt [$($t:ty),*];)*) => { $( outputs! { $kinds $([$t] => $t),*; } )* } }

itself! {
    [Sum Prod Mean Var Std LogSumExp Min Max Norm1 Norm2 NormInf] [f16, bf16, F8E4M3, F8E5M2, f32, f64];
    [Min Max] [i8, i16, i32, i64, u8, u16, u32, u64];
    [Sum Mean] [Complex<f32>, Complex<f64>];
}
outputs! {
    [Sum Prod] [Bool, i8, i16, i32, i64] => i64, [u8, u16, u32, u64] => u64;
    [Mean Var Std LogSumExp] [Bool, i8, i16, i32, i64, u8, u16, u32, u64] => f64;
    [ArgMin ArgMax] [i8, i16, i32, i64, u8, u16, u32, u64, f16, bf16, F8E4M3, F8E5M2, f32, f64] => i64;
    [Norm1 Norm2 NormInf] [Complex<f32>] => f32, [Complex<f64>] => f64;
    [CountNonzero] [Bool, i8, i16, i32, i64, u8, u16, u32, u64, f16, bf16, F8E4M3, F8E5M2, f32, f64, Complex<f32>,
        Complex<f64>] => i64;
    [AllTrue AnyTrue] [Bool, i8, i16, i32, i64, u8, u16, u32, u64, f16, bf16, F8E4M3, F8E5M2, f32, f64, Complex<f32>,
        Complex<f64>] => Bool;
}
