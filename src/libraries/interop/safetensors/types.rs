//! The names that the format has for element types.

use crate::core::element::DType;
use ::safetensors::Dtype;

const PAIRS: [(DType, Dtype); 16] = [
    (DType::F32, Dtype::F32),
    (DType::F64, Dtype::F64),
    (DType::F16, Dtype::F16),
    (DType::Bf16, Dtype::BF16),
    // The format counts both parts.
    (DType::C32, Dtype::C64),
    (DType::I8, Dtype::I8),
    (DType::U8, Dtype::U8),
    (DType::I16, Dtype::I16),
    (DType::U16, Dtype::U16),
    (DType::I32, Dtype::I32),
    (DType::U32, Dtype::U32),
    (DType::I64, Dtype::I64),
    (DType::U64, Dtype::U64),
    (DType::F8E4M3, Dtype::F8_E4M3),
    (DType::F8E5M2, Dtype::F8_E5M2),
    (DType::Bool, Dtype::BOOL),
];

/// The type of a tensor; `None` if tensors have none like it.
pub(super) fn of_file(file: Dtype) -> Option<DType> {
    PAIRS.iter().find(|pair| pair.1 == file).map(|pair| pair.0)
}

/// The type of the format; `None` if it has none like it.
pub(super) fn in_file(dtype: DType) -> Option<Dtype> {
    PAIRS.iter().find(|pair| pair.0 == dtype).map(|pair| pair.1)
}
