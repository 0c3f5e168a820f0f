//! What expressions ask of an element type.

use crate::core::element::DType;

impl DType {
    /// Whether it is a real floating point number.
    pub(crate) const fn is_float(self) -> bool {
        matches!(self, DType::F32 | DType::F64) || self.is_narrow()
    }

    /// Whether it is a floating point number of 8 or 16 bits, which is computed in `f32`.
    pub(crate) const fn is_narrow(self) -> bool {
        matches!(self, DType::F16 | DType::Bf16 | DType::F8E4M3 | DType::F8E5M2)
    }

    /// Whether it is an integer; `Bool` is none.
    pub(crate) const fn is_integer(self) -> bool {
        self.is_signed() || matches!(self, DType::U8 | DType::U16 | DType::U32 | DType::U64)
    }

    /// Whether it is a signed integer.
    pub(crate) const fn is_signed(self) -> bool {
        matches!(self, DType::I8 | DType::I16 | DType::I32 | DType::I64)
    }
}
