//! One value of any element type, as plain data.

use crate::core::element::{DType, Element};
use crate::core::error::{Error, Result};
use crate::core::fp8::{F8E4M3, F8E5M2};
use crate::core::truth::Bool;
use half::{bf16, f16};
use num_complex::Complex;
use serde::{Deserialize, Serialize};

/// One value of a type known at run time: a parameter's value, or a constant.
///
/// A scalar of a type of 8 or 16 bits is kept as `f32` and is not rounded: it takes part in the arithmetic, which is that of `f32`.
/// So `0.999` stays what it is beside a `bf16`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Scalar {
    dtype: DType,
    /// The bits of the real part, zero-extended, and of the imaginary part.
    words: [u64; 2],
}

impl Scalar {
    /// A value of its own type.
    pub fn new<T: Element>(value: T) -> Self {
        let mut bytes = [0u8; 16];
        let size = T::DTYPE.part().size();
        for (part, source) in bytes.chunks_exact_mut(8).zip(bytemuck::bytes_of(&value).chunks_exact(size)) {
            part.iter_mut().zip(source).for_each(|(to, from)| *to = *from);
        }
        let [re, im]: [u64; 2] = bytemuck::cast(bytes);
        match T::DTYPE {
            DType::F16 => Self::half(DType::F16, f16::from_bits(re as u16).to_f32()),
            DType::Bf16 => Self::half(DType::Bf16, bf16::from_bits(re as u16).to_f32()),
            DType::F8E4M3 => Self::half(DType::F8E4M3, F8E4M3::from_bits(re as u8).to_f32()),
            DType::F8E5M2 => Self::half(DType::F8E5M2, F8E5M2::from_bits(re as u8).to_f32()),
            DType::Bool => Self::from_bits(DType::Bool, [(re != 0).into(), 0]),
            dtype => Self::from_bits(dtype, [re, im]),
        }
    }

    pub(crate) fn half(dtype: DType, value: f32) -> Self {
        Self::from_bits(dtype, [value.to_bits().into(), 0])
    }

    pub(crate) fn from_bits(dtype: DType, words: [u64; 2]) -> Self {
        Scalar { dtype, words }
    }

    /// A value of these bits, as [`words`](Self::words) gives them.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for bits that exceed the type.
    pub fn from_words(dtype: DType, words: [u64; 2]) -> Result<Self> {
        let scalar = Self::from_bits(dtype, words);
        if scalar.is_well_formed() {
            return Ok(scalar);
        }
        Err(Error::invalid("words", format!("{words:#x?} exceed {dtype}")))
    }

    /// The bits of the real and of the imaginary part; a half's are those of an `f32`, a `Bool` is 0 or 1.
    pub fn words(self) -> [u64; 2] {
        self.words
    }

    /// The type.
    pub fn dtype(self) -> DType {
        self.dtype
    }

    /// Whether the words are what [`Scalar::new`] could have made.
    pub(crate) fn is_well_formed(self) -> bool {
        let [re, im] = self.words;
        let bits = match self.dtype {
            DType::Bool => 1,
            dtype if dtype.is_narrow() => 32,
            dtype => 8 * dtype.part().size() as u32,
        };
        let fits = |word: u64| bits == 64 || word >> bits == 0;
        fits(re) && if self.dtype.is_complex() { fits(im) } else { im == 0 }
    }

    /// The value in `dtype`, as a number in source code takes the type of what it meets.
    ///
    /// A real number takes any floating point or complex type and is rounded once; an integer takes any type that holds
    /// it; a truth value remains one.
    pub(crate) fn adopt(self, dtype: DType) -> Option<Self> {
        let [re, im] = self.words;
        let real = |x: f64| match dtype {
            dtype if dtype.is_narrow() => Some(Self::half(dtype, x as f32)),
            DType::F32 => Some(Scalar::new(x as f32)),
            DType::F64 => Some(Scalar::new(x)),
            DType::C32 => Some(Scalar::new(Complex::new(x as f32, 0.0))),
            DType::C64 => Some(Scalar::new(Complex::new(x, 0.0))),
            _ => None,
        };
        match self.dtype {
            same if same == dtype => Some(self),
            own if own.is_narrow() || own == DType::F32 => real(f32::from_bits(re as u32).into()),
            DType::F64 => real(f64::from_bits(re)),
            DType::C32 | DType::C64 => {
                let part = |word: u64| match self.dtype {
                    DType::C32 => f64::from(f32::from_bits(word as u32)),
                    _ => f64::from_bits(word),
                };
                match dtype {
                    DType::C32 => Some(Scalar::new(Complex::new(part(re) as f32, part(im) as f32))),
                    DType::C64 => Some(Scalar::new(Complex::new(part(re), part(im)))),
                    _ => None,
                }
            }
            DType::Bool => None,
            _ => {
                let value = self.integer();
                let bounded = |lowest: i128, highest: i128, value: i128| (lowest..=highest).contains(&value);
                match dtype {
                    DType::I8 => i8::try_from(value).ok().map(Scalar::new),
                    DType::I16 => i16::try_from(value).ok().map(Scalar::new),
                    DType::I32 => i32::try_from(value).ok().map(Scalar::new),
                    DType::I64 => i64::try_from(value).ok().map(Scalar::new),
                    DType::U8 => u8::try_from(value).ok().map(Scalar::new),
                    DType::U16 => u16::try_from(value).ok().map(Scalar::new),
                    DType::U32 => u32::try_from(value).ok().map(Scalar::new),
                    DType::U64 => u64::try_from(value).ok().map(Scalar::new),
                    // Below these bounds the conversion is exact.
                    DType::F64 | DType::C64 if bounded(-(1 << 53), 1 << 53, value) => real(value as f64),
                    DType::F64 | DType::C64 => None,
                    _ if bounded(-(1 << 24), 1 << 24, value) => real(value as f64),
                    _ => None,
                }
            }
        }
    }

    /// The value of an integer.
    pub(in crate::libraries) fn integer(self) -> i128 {
        let word = self.words.first().copied().unwrap_or_default();
        match self.dtype {
            DType::I8 => (word as i8).into(),
            DType::I16 => (word as i16).into(),
            DType::I32 => (word as i32).into(),
            DType::I64 => (word as i64).into(),
            _ => word.into(),
        }
    }
}

impl std::fmt::Debug for Scalar {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [re, im] = self.words;
        match self.dtype {
            DType::Bool => write!(f, "{}", re != 0),
            dtype if dtype.is_narrow() || dtype == DType::F32 => write!(f, "{:?}", f32::from_bits(re as u32)),
            DType::F64 => write!(f, "{:?}", f64::from_bits(re)),
            DType::C32 => write!(f, "({:?}, {:?})", f32::from_bits(re as u32), f32::from_bits(im as u32)),
            DType::C64 => write!(f, "({:?}, {:?})", f64::from_bits(re), f64::from_bits(im)),
            _ => write!(f, "{}", self.integer()),
        }
    }
}

macro_rules! from { ($($t:ty),*) => { $(
    impl From<$t> for Scalar {
        fn from(value: $t) -> Self {
            Scalar::new(value)
        }
    }
)* } }
impl From<bool> for Scalar {
    fn from(value: bool) -> Self {
        Scalar::new(Bool::from(value))
    }
}
from!(Bool, F8E4M3, F8E5M2, i8, i16, i32, i64, u8, u16, u32, u64, f16, bf16, f32, f64, Complex<f32>, Complex<f64>);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_takes_the_type_it_meets_if_that_holds_it() {
        assert_eq!(Scalar::new(0.1f64).adopt(DType::F32), Some(Scalar::new(0.1f32)));
        assert_eq!(Scalar::new(0.999f64).adopt(DType::Bf16).unwrap().words()[0], u64::from(0.999f32.to_bits()));
        assert_eq!(Scalar::new(-1i32).adopt(DType::I8), Some(Scalar::new(-1i8)));
        assert_eq!(Scalar::new(-1i32).adopt(DType::U8), None);
        assert_eq!(Scalar::new(300i32).adopt(DType::U8), None);
        assert_eq!(Scalar::new(1i32).adopt(DType::F32), Some(Scalar::new(1f32)));
        assert_eq!(Scalar::new((1i64 << 53) + 1).adopt(DType::F64), None);
        assert_eq!(Scalar::new(1.5f32).adopt(DType::I32), None);
        assert_eq!(Scalar::from(true).adopt(DType::F32), None);
        assert_eq!(Scalar::new(2.0f64).adopt(DType::C32), Some(Scalar::new(Complex::new(2f32, 0.0))));
    }

    #[test]
    fn words_hold_the_bits_of_each_part() {
        assert_eq!(Scalar::new(-1i16).words(), [0xffff, 0]);
        assert_eq!(Scalar::new(Complex::new(1f32, -2.0)).words(), [0x3f80_0000, 0xc000_0000]);
        assert_eq!(Scalar::new(Bool(9)).words(), [1, 0]);
        assert!(!Scalar::from_bits(DType::U8, [256, 0]).is_well_formed());
        assert_eq!(format!("{:?} {:?}", Scalar::new(-3i8), Scalar::new(0.5f32)), "-3 0.5");
    }
}
