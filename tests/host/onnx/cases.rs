//! The cases as `make.py` has written them.

use serde::Deserialize;
use std::collections::HashMap;
use windlass::{DType, Device, tensor::AnyTensor};

/// A tensor: element type, extents, place of its bytes.
#[derive(Debug, Deserialize)]
pub(super) struct Stored(String, Vec<usize>, usize);

impl Stored {
    pub(super) fn dtype(&self) -> DType {
        named(&self.0)
    }

    pub(super) fn shape(&self) -> &[usize] {
        &self.1
    }

    pub(super) fn bytes(&self) -> &'static [u8] {
        static ALL: &[u8] = include_bytes!("cases.bin");
        &ALL[self.2..][..self.1.iter().product::<usize>() * self.dtype().size()]
    }

    pub(super) fn up(&self, device: &Device) -> AnyTensor {
        device.tensor_any(self.dtype(), self.shape(), self.bytes()).unwrap()
    }
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum Attribute {
    Int(i64),
    Float(f64),
    Text(String),
    Ints(Vec<i64>),
    Tensor {
        tensor: Stored,
    },
    #[expect(dead_code, reason = "no row takes lists of others yet; shown by a message")]
    Other(serde_json::Value),
}

#[derive(Debug, Deserialize)]
pub(super) struct Case {
    pub(super) name: String,
    pub(super) op: String,
    /// The first type that this crate does not have.
    pub(super) lacks: Option<String>,
    /// Bytes of a case that is not stored.
    pub(super) large: Option<usize>,
    #[serde(default)]
    pub(super) inputs: Vec<Option<Stored>>,
    #[serde(default)]
    pub(super) outputs: Vec<Stored>,
    /// Which outputs are there, if some in the middle are not.
    #[serde(default)]
    pub(super) wanted: Vec<bool>,
    #[serde(default)]
    pub(super) attributes: HashMap<String, Attribute>,
}

#[derive(Deserialize)]
pub(super) struct Head {
    /// The release.
    pub(super) onnx: String,
    /// How many cases spell out another one as a graph.
    pub(super) expanded: usize,
}

pub(super) fn all() -> (Head, Vec<Case>) {
    let mut lines = include_str!("cases.jsonl").lines();
    let head = serde_json::from_str(lines.next().unwrap()).unwrap();
    (head, lines.map(|line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}"))).collect())
}

fn named(name: &str) -> DType {
    use DType::{Bf16, Bool, C32, C64, F8E4M3, F8E5M2, F16, F32, F64, I8, I16, I32, I64, U8, U16, U32, U64};
    let types = [F32, F64, F16, Bf16, C32, C64, I8, U8, I16, U16, I32, U32, I64, U64, F8E4M3, F8E5M2, Bool];
    types.into_iter().find(|dtype| dtype.name() == name).unwrap_or_else(|| panic!("{name}"))
}

/// The type that ONNX gives this number (`TensorProto.DataType`).
pub(super) fn numbered(number: i64) -> DType {
    match number {
        1 => DType::F32,
        2 => DType::U8,
        3 => DType::I8,
        4 => DType::U16,
        5 => DType::I16,
        6 => DType::I32,
        7 => DType::I64,
        9 => DType::Bool,
        10 => DType::F16,
        11 => DType::F64,
        12 => DType::U32,
        13 => DType::U64,
        14 => DType::C32,
        15 => DType::C64,
        16 => DType::Bf16,
        17 => DType::F8E4M3,
        19 => DType::F8E5M2,
        other => panic!("type {other}"),
    }
}
