//! The numbers of element types.

use super::abi::DataType;
use crate::core::element::DType;

const fn one(code: u8, bits: u8) -> DataType {
    DataType { code, bits, lanes: 1 }
}

const PAIRS: [(DType, DataType); 17] = [
    (DType::I8, one(0, 8)),
    (DType::I16, one(0, 16)),
    (DType::I32, one(0, 32)),
    (DType::I64, one(0, 64)),
    (DType::U8, one(1, 8)),
    (DType::U16, one(1, 16)),
    (DType::U32, one(1, 32)),
    (DType::U64, one(1, 64)),
    (DType::F16, one(2, 16)),
    (DType::F32, one(2, 32)),
    (DType::F64, one(2, 64)),
    (DType::Bf16, one(4, 16)),
    (DType::C32, one(5, 64)),
    (DType::C64, one(5, 128)),
    (DType::Bool, one(6, 8)),
    (DType::F8E4M3, one(10, 8)),
    (DType::F8E5M2, one(12, 8)),
];

/// The element type; `None` if tensors have none like it.
pub(super) fn of_abi(of: DataType) -> Option<DType> {
    PAIRS.iter().find(|pair| pair.1 == of).map(|pair| pair.0)
}

pub(super) fn in_abi(dtype: DType) -> DataType {
    // Each is there: a test asks for all.
    PAIRS.iter().find(|pair| pair.0 == dtype).map_or(one(3, 8), |pair| pair.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_type_has_a_number_of_its_size() {
        for dtype in DType::ALL {
            let number = in_abi(dtype);
            assert_eq!((of_abi(number), usize::from(number.bits)), (Some(dtype), 8 * dtype.size()));
        }
    }
}
