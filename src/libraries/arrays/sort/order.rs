//! The order of elements: each type has a map to unsigned integers of its size, whose order is that of the sort.

use crate::core::element::DType;
use serde::{Deserialize, Serialize};
#[cfg(feature = "host")]
use std::ops::{BitAnd, BitOr, BitXor, Not};

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
        match self.size {
            1 => self.key_of(bits as u8).widen(),
            2 => self.key_of(bits as u16).widen(),
            4 => self.key_of(bits as u32).widen(),
            _ => self.key_of(bits),
        }
    }

    /// The same for bits of the size of the elements.
    #[cfg(feature = "host")]
    #[inline(always)]
    pub(in crate::libraries::arrays) fn key_of<T: Bits>(self, bits: T) -> T {
        let turn = if self.descending { T::ALL } else { T::NONE };
        match self.numbers {
            Numbers::Unsigned => bits ^ turn,
            Numbers::Signed => bits ^ T::SIGN ^ turn,
            Numbers::Truth => T::narrow((bits != T::NONE).into()) ^ (turn & T::narrow(1)),
            Numbers::Float(infinity) => {
                let size = bits & !T::SIGN;
                let flip = if bits & T::SIGN != T::NONE { T::ALL } else { T::SIGN };
                let rising = if size == T::NONE { T::SIGN } else { bits ^ flip };
                if size > T::narrow(infinity) { T::ALL } else { rising ^ turn }
            }
        }
    }
}

/// The bits of an element.
#[cfg(feature = "host")]
pub(in crate::libraries::arrays) trait Bits:
    Copy
    + Ord
    + Send
    + Sync
    + Default
    + BitAnd<Output = Self>
    + BitOr<Output = Self>
    + BitXor<Output = Self>
    + Not<Output = Self>
{
    const NONE: Self;
    const ALL: Self;
    const SIGN: Self;
    fn widen(self) -> u64;
    fn narrow(bits: u64) -> Self;
}

#[cfg(feature = "host")]
macro_rules! bits { ($($t:ty)*) => { $(
    impl Bits for $t {
        const NONE: Self = 0;
        const ALL: Self = !0;
        const SIGN: Self = 1 << (<$t>::BITS - 1);
        #[inline(always)]
        fn widen(self) -> u64 {
            self.into()
        }
        #[inline(always)]
        fn narrow(bits: u64) -> Self {
            bits as $t
        }
    }
)* } }
#[cfg(feature = "host")]
bits!(u8 u16 u32 u64);

/// Has the loop compiled for each meaning of the bits, so that it does not ask for it at each element.
#[cfg(feature = "host")]
macro_rules! for_order {
    ($order:ident => $body:expr) => {{
        use $crate::libraries::arrays::sort::order::{Numbers, Order};
        match $order.numbers {
            Numbers::Unsigned => {
                let $order = Order { numbers: Numbers::Unsigned, ..$order };
                $body
            }
            Numbers::Signed => {
                let $order = Order { numbers: Numbers::Signed, ..$order };
                $body
            }
            Numbers::Truth => {
                let $order = Order { numbers: Numbers::Truth, ..$order };
                $body
            }
            Numbers::Float(infinity) => {
                let $order = Order { numbers: Numbers::Float(infinity), ..$order };
                $body
            }
        }
    }};
}
#[cfg(feature = "host")]
pub(in crate::libraries::arrays) use for_order;
