//! The numbers that elements are, for what prints and compares them.

use crate::core::element::{DType, Element};
use crate::core::fp8::{F8E4M3, F8E5M2};
use half::{bf16, f16};
use num_complex::Complex;

/// A number of any element type.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Number {
    Integer(i128),
    Real(f64),
    Complex(f64, f64),
}

impl Number {
    /// The real and the imaginary part, in `f64`.
    pub(super) fn parts(self) -> (f64, f64) {
        match self {
            Number::Integer(x) => (x as f64, 0.0),
            Number::Real(x) => (x, 0.0),
            Number::Complex(re, im) => (re, im),
        }
    }
}

/// Exactly the number that an element of this type is, of its bytes.
pub(super) fn of_bytes(dtype: DType, bytes: &[u8]) -> Number {
    /// The type's size is that of the bytes.
    fn read<T: Element>(bytes: &[u8]) -> T {
        bytemuck::try_pod_read_unaligned(bytes).unwrap_or_default()
    }
    match dtype {
        DType::F32 => Number::Real(read::<f32>(bytes).into()),
        DType::F64 => Number::Real(read(bytes)),
        DType::F16 => Number::Real(read::<f16>(bytes).into()),
        DType::Bf16 => Number::Real(read::<bf16>(bytes).into()),
        DType::F8E4M3 => Number::Real(read::<F8E4M3>(bytes).to_f32().into()),
        DType::F8E5M2 => Number::Real(read::<F8E5M2>(bytes).to_f32().into()),
        DType::C32 => {
            let Complex { re, im } = read::<Complex<f32>>(bytes);
            Number::Complex(re.into(), im.into())
        }
        DType::C64 => {
            let Complex { re, im } = read::<Complex<f64>>(bytes);
            Number::Complex(re, im)
        }
        DType::I8 => Number::Integer(read::<i8>(bytes).into()),
        DType::U8 => Number::Integer(read::<u8>(bytes).into()),
        DType::I16 => Number::Integer(read::<i16>(bytes).into()),
        DType::U16 => Number::Integer(read::<u16>(bytes).into()),
        DType::I32 => Number::Integer(read::<i32>(bytes).into()),
        DType::U32 => Number::Integer(read::<u32>(bytes).into()),
        DType::I64 => Number::Integer(read::<i64>(bytes).into()),
        DType::U64 => Number::Integer(read::<u64>(bytes).into()),
        DType::Bool => Number::Integer((read::<u8>(bytes) != 0).into()),
    }
}
