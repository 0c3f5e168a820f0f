//! The order of elements: each type has a map to unsigned integers of its size, whose order is that of the sort.

use crate::core::element::DType;
use serde::{Deserialize, Serialize};

/// What the bits of an element mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(in crate::libraries::arrays) enum Numbers {
    Unsigned,
    Signed,
    /// Sign and magnitude. Magnitudes above this one are NaN.
    Float(u64),
    /// Zero, or not.
    Truth,
}

/// An element type with a direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::libraries::arrays) struct Order {
    /// Bytes of an element: 1, 2, 4 or 8.
    pub(in crate::libraries::arrays) size: usize,
    pub(in crate::libraries::arrays) numbers: Numbers,
    pub(in crate::libraries::arrays) descending: bool,
    /// The bytes of a key that can differ, from the lowest one on.
    pub(in crate::libraries::arrays) passes: usize,
}

impl Order {
    /// None of complex numbers.
    pub(in crate::libraries::arrays) fn new(dtype: DType, descending: bool) -> Option<Self> {
        let numbers = match dtype {
            DType::U8 | DType::U16 | DType::U32 | DType::U64 => Numbers::Unsigned,
            DType::I8 | DType::I16 | DType::I32 | DType::I64 => Numbers::Signed,
            DType::F8E4M3 => Numbers::Float(0x7e),
            DType::F8E5M2 => Numbers::Float(0x7c),
            DType::F16 => Numbers::Float(0x7c00),
            DType::Bf16 => Numbers::Float(0x7f80),
            DType::F32 => Numbers::Float(0x7f80_0000),
            DType::F64 => Numbers::Float(0x7ff0_0000_0000_0000),
            DType::Bool => Numbers::Truth,
            _ => return None,
        };
        Some(Order { size: dtype.size(), numbers, descending, passes: dtype.size() })
    }

    /// The sign bit.
    pub(in crate::libraries::arrays) fn sign(self) -> u64 {
        1 << (8 * self.size - 1)
    }

    /// The largest key.
    pub(in crate::libraries::arrays) fn most(self) -> u64 {
        u64::MAX >> (64 - 8 * self.size)
    }

    /// The key of an element's bits: a zero of either sign has the same one, and a NaN the largest in both directions.
    #[cfg(feature = "host")]
    #[inline(always)]
    pub(in crate::libraries::arrays) fn key(self, bits: u64) -> u64 {
        let (sign, most) = (self.sign(), self.most());
        let turn = if self.descending { most } else { 0 };
        match self.numbers {
            Numbers::Unsigned => bits ^ turn,
            Numbers::Signed => bits ^ sign ^ turn,
            Numbers::Truth => u64::from(bits != 0) ^ (turn & 1),
            Numbers::Float(infinity) => {
                let size = bits & !sign;
                let rising = match bits {
                    _ if size == 0 => sign,
                    _ if bits & sign != 0 => bits ^ most,
                    _ => bits ^ sign,
                };
                if size > infinity { most } else { rising ^ turn }
            }
        }
    }
}
