//! The types that device memory holds.

use crate::core::fp8::{F8E4M3, F8E5M2};
use crate::core::truth::Bool;
use bytemuck::Pod;
use half::{bf16, f16};
use num_complex::Complex;
use serde::{Deserialize, Serialize};

/// Names an element type at run time: in traces, errors and kernel arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub enum DType {
    /// 32-bit IEEE 754 floating point.
    F32,
    /// 64-bit IEEE 754 floating point.
    F64,
    /// 16-bit IEEE 754 floating point.
    F16,
    /// bfloat16: the upper half of an `f32`.
    Bf16,
    /// Complex number of two `f32`.
    C32,
    /// Complex number of two `f64`.
    C64,
    /// Signed 8-bit integer.
    I8,
    /// Unsigned 8-bit integer.
    U8,
    /// Signed 16-bit integer.
    I16,
    /// Unsigned 16-bit integer.
    U16,
    /// Signed 32-bit integer.
    I32,
    /// Unsigned 32-bit integer.
    U32,
    /// Signed 64-bit integer.
    I64,
    /// Unsigned 64-bit integer.
    U64,
    /// 8-bit floating point, 4 bits of exponent: [`F8E4M3`].
    F8E4M3,
    /// 8-bit floating point, 5 bits of exponent: [`F8E5M2`].
    F8E5M2,
    /// Truth value of one byte: [`Bool`].
    Bool,
}

impl DType {
    /// A type with elements of this many bytes, for data that is only copied.
    pub(crate) fn of_size(bytes: usize) -> Self {
        match bytes {
            2 => DType::U16,
            4 => DType::U32,
            8 => DType::U64,
            16 => DType::C64,
            _ => DType::U8,
        }
    }

    /// Bytes of one element.
    pub const fn size(self) -> usize {
        match self {
            DType::I8 | DType::U8 | DType::F8E4M3 | DType::F8E5M2 | DType::Bool => 1,
            DType::F16 | DType::Bf16 | DType::I16 | DType::U16 => 2,
            DType::F32 | DType::I32 | DType::U32 => 4,
            DType::F64 | DType::C32 | DType::I64 | DType::U64 => 8,
            DType::C64 => 16,
        }
    }

    /// All of them.
    pub(crate) const ALL: [DType; 17] = [
        DType::F32,
        DType::F64,
        DType::F16,
        DType::Bf16,
        DType::C32,
        DType::C64,
        DType::I8,
        DType::U8,
        DType::I16,
        DType::U16,
        DType::I32,
        DType::U32,
        DType::I64,
        DType::U64,
        DType::F8E4M3,
        DType::F8E5M2,
        DType::Bool,
    ];

    /// The type that is `code` as an integer (`dtype as u32`), for data from another process.
    pub(crate) fn from_code(code: u32) -> Option<Self> {
        Self::ALL.into_iter().find(|dtype| *dtype as u32 == code)
    }

    /// Whether it is a complex number.
    pub const fn is_complex(self) -> bool {
        matches!(self, DType::C32 | DType::C64)
    }

    /// The name as Rust and this crate's docs write it.
    pub const fn name(self) -> &'static str {
        match self {
            DType::F32 => "f32",
            DType::F64 => "f64",
            DType::F16 => "f16",
            DType::Bf16 => "bf16",
            DType::C32 => "c32",
            DType::C64 => "c64",
            DType::I8 => "i8",
            DType::U8 => "u8",
            DType::I16 => "i16",
            DType::U16 => "u16",
            DType::I32 => "i32",
            DType::U32 => "u32",
            DType::I64 => "i64",
            DType::U64 => "u64",
            DType::F8E4M3 => "f8e4m3",
            DType::F8E5M2 => "f8e5m2",
            DType::Bool => "bool",
        }
    }

    /// The type of the parts of a complex number; of others the type itself.
    pub(crate) const fn part(self) -> DType {
        match self {
            DType::C32 => DType::F32,
            DType::C64 => DType::F64,
            other => other,
        }
    }
}

impl std::fmt::Display for DType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

mod sealed {
    /// Only the types below can be stored on a device: every bit pattern of them is a valid value.
    pub trait Sealed {}
}

/// A type that device memory can hold.
///
/// Sealed: the engines, the worker and the kernels know exactly the types of [`DType`]. Every bit pattern is a
/// valid value ([`Pod`]), so reading what a device wrote is sound.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no element type of device memory",
    label = "expected f32, f64, f16, bf16, Complex<f32>, Complex<f64>, F8E4M3, F8E5M2, Bool, or an integer of 8 to 64 bits",
    note = "a `bool` is stored as a `windlass::Bool` (`Bool::from`), a `usize` as a `u64`, nested vectors as one (`.concat()`)",
    note = "of a struct of your own, store each field in a buffer, or its bytes as `u8` (`bytemuck::cast_slice`)",
    note = "work in flight counts as its buffer, unless it has a verdict: then `.await_result()?` gives the buffer"
)]
pub trait Element:
    Pod + Default + PartialEq + Send + Sync + std::fmt::Debug + Serialize + for<'de> Deserialize<'de> + sealed::Sealed
{
    /// This type's name at run time.
    const DTYPE: DType;
}

macro_rules! elements {
    ($($t:ty => $d:ident),* $(,)?) => { $(
        impl sealed::Sealed for $t {}
        impl Element for $t { const DTYPE: DType = DType::$d; }
    )* };
}

/// Calls a function that is generic over the element type for each of them.
#[cfg(all(feature = "every-operation", target_os = "linux"))]
macro_rules! each_element { ($f:ident($($arg:expr),*)) => {
    $crate::core::element::each_element!(@ $f($($arg),*) f32, f64, half::f16, half::bf16, num_complex::Complex<f32>,
        num_complex::Complex<f64>, i8, u8, i16, u16, i32, u32, i64, u64, $crate::core::fp8::F8E4M3, $crate::core::fp8::F8E5M2, $crate::core::truth::Bool)
}; (@ $f:ident($arg:expr) $($t:ty),*) => { $($f::<$t>($arg);)* } }
#[cfg(all(feature = "every-operation", target_os = "linux"))]
pub(crate) use each_element;

elements!(
    f32 => F32, f64 => F64, f16 => F16, bf16 => Bf16, Complex<f32> => C32, Complex<f64> => C64,
    i8 => I8, u8 => U8, i16 => I16, u16 => U16, i32 => I32, u32 => U32, i64 => I64, u64 => U64,
    F8E4M3 => F8E4M3, F8E5M2 => F8E5M2, Bool => Bool,
);

/// The letter that linear algebra libraries use for a type.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Letter {
    /// f32.
    S,
    /// f64.
    D,
    /// `Complex<f32>`.
    C,
    /// `Complex<f64>`.
    Z,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_those_of_the_rust_types() {
        fn check<T: Element>() {
            assert_eq!(T::DTYPE.size(), size_of::<T>(), "{}", T::DTYPE);
            assert_eq!(DType::from_code(T::DTYPE as u32), Some(T::DTYPE));
        }
        check::<f32>();
        check::<f64>();
        check::<f16>();
        check::<bf16>();
        check::<Complex<f32>>();
        check::<Complex<f64>>();
        check::<i8>();
        check::<u8>();
        check::<i16>();
        check::<u16>();
        check::<i32>();
        check::<u32>();
        check::<i64>();
        check::<u64>();
        check::<F8E4M3>();
        check::<F8E5M2>();
        check::<Bool>();
    }
}
