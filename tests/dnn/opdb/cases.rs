//! The cases as `make.py` has written them.

use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;
use windlass::tensor::Layout;
use windlass::{DType, Device, tensor::AnyTensor};

/// A tensor: element type, extents, place of its bytes.
#[derive(Debug, Deserialize)]
pub(super) struct Stored(String, Vec<usize>, usize);

impl Stored {
    pub(super) fn dtype(&self) -> DType {
        use DType::{Bf16, Bool, F16, F32, F64, I32, I64, U8};
        let types = [F32, F64, F16, Bf16, I32, I64, U8, Bool];
        types.into_iter().find(|dtype| dtype.name() == self.0).unwrap_or_else(|| panic!("{}", self.0))
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

    /// With axes in another order, turned around, with gaps; what lies between is poison.
    pub(super) fn up_odd(&self, device: &Device, seed: usize) -> AnyTensor {
        let (extents, size) = (self.shape(), self.dtype().size());
        let rank = extents.len();
        let mut order: Vec<usize> = (0..rank).collect();
        if rank > 0 {
            order.rotate_left(seed % rank);
        }
        let mut strides = vec![0isize; rank];
        let (mut next, mut offset) = (1 + (seed % 2) as isize, 1isize);
        for (k, axis) in order.into_iter().enumerate() {
            let n = extents[axis].max(1) as isize;
            strides[axis] = next;
            next = next * n + ((seed >> k) & 1) as isize;
            if (seed >> (k + 1)) & 3 == 3 {
                offset += (n - 1) * strides[axis];
                strides[axis] = -strides[axis];
            }
        }
        let layout = Layout::new(extents, &strides, offset as usize).unwrap();
        let poison = if self.dtype() == DType::Bool { 1 } else { 0xff };
        let mut memory = vec![poison; (next + 4) as usize * size];
        for (k, element) in self.bytes().chunks_exact(size).enumerate() {
            let (mut rest, mut at) = (k, offset);
            for (n, stride) in extents.iter().zip(&strides).rev() {
                at += (rest % n) as isize * stride;
                rest /= n;
            }
            memory[at as usize * size..][..size].copy_from_slice(element);
        }
        let flat = device.tensor_any(self.dtype(), [memory.len() / size], &memory).unwrap();
        AnyTensor::from_buffer(flat.into_parts().0, layout).unwrap()
    }
}

#[derive(Debug, Deserialize)]
pub(super) struct Case {
    pub(super) op: String,
    #[serde(rename = "type")]
    pub(super) dtype: String,
    /// Where an operation has several entries in the list.
    #[serde(default)]
    pub(super) variant: String,
    #[serde(default)]
    pub(super) settings: BTreeMap<String, Value>,
    pub(super) tensors: BTreeMap<String, Stored>,
    pub(super) outputs: Vec<Stored>,
    pub(super) dy: Option<Stored>,
    pub(super) gradients: BTreeMap<String, Stored>,
}

impl Case {
    pub(super) fn name(&self) -> String {
        let of = |(name, x): (&String, &Stored)| format!("{name} {:?}", x.shape());
        let tensors: Vec<String> = self.tensors.iter().map(of).collect();
        format!("{} {} {} of {} with {:?}", self.op, self.variant, self.dtype, tensors.join(", "), self.settings)
    }

    pub(super) fn extents(&self, name: &str) -> &[usize] {
        self.tensors.get(name).map_or(&[], Stored::shape)
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.tensors.contains_key(name)
    }

    pub(super) fn setting(&self, name: &str) -> Option<&Value> {
        self.settings.get(name).filter(|value| !value.is_null())
    }

    pub(super) fn flag(&self, name: &str, default: bool) -> bool {
        self.setting(name).map_or(default, |value| value.as_bool().unwrap())
    }

    pub(super) fn float(&self, name: &str, default: f64) -> f64 {
        self.setting(name).map_or(default, |value| value.as_f64().unwrap())
    }

    pub(super) fn text(&self, name: &str, default: &'static str) -> &str {
        self.setting(name).map_or(default, |value| value.as_str().unwrap())
    }

    /// Numbers for so many axes; one stands for all.
    pub(super) fn list(&self, name: &str, rank: usize, default: usize) -> Vec<usize> {
        let number = |value: &Value| value.as_u64().unwrap() as usize;
        match self.setting(name) {
            Some(Value::Array(all)) if all.len() == 1 => vec![number(&all[0]); rank],
            Some(Value::Array(all)) if !all.is_empty() => all.iter().map(number).collect(),
            Some(value) if value.is_u64() => vec![number(value); rank],
            _ => vec![default; rank],
        }
    }
}

#[derive(Debug, Deserialize)]
pub(super) struct Head {
    /// The release.
    pub(super) torch: String,
    pub(super) cases: usize,
}

pub(super) fn all() -> (Head, Vec<Case>) {
    let mut lines = include_str!("cases.jsonl").lines();
    let head = serde_json::from_str(lines.next().unwrap()).unwrap();
    (head, lines.map(|line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}"))).collect())
}
