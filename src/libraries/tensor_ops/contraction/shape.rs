//! What a contraction is, but for its memory and factors.

use super::super::pair::Slot;
use crate::core::element::DType;
use crate::core::error::{Error, Result};
use crate::core::sync::Arc;
use crate::device::tensor::Layout;
use crate::libraries::blas::Math;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// One tensor of a contraction.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(in super::super) struct Side {
    /// The mode of each axis; none is there twice.
    pub(in super::super) modes: Vec<u32>,
    pub(in super::super) layout: Layout,
    pub(in super::super) conjugate: bool,
}

/// `C = alpha * op(A) * op(B) + beta * C`, summed over the modes of A and B that C does not have.
#[derive(Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(in super::super) struct Shape {
    pub(in super::super) dtype: DType,
    pub(in super::super) math: Math,
    /// A, B and C.
    pub(in super::super) sides: [Side; 3],
}

/// Whether cuTENSOR has contractions of this type in this mode. It has other modes of f32 and `Complex<f32>`, but replaces those that
/// a GPU does not offer by others without a word (2.6), so none of them is asked for.
pub(in super::super) fn has(dtype: DType, math: Math) -> bool {
    match dtype {
        DType::F32 | DType::C32 => matches!(math, Math::Default | Math::Pedantic | Math::Tf32),
        DType::F64 | DType::C64 | DType::F16 | DType::Bf16 => true,
        _ => false,
    }
}

impl Shape {
    pub(in super::super) fn new(dtype: DType, math: Math, [a, b, c]: [&Slot; 3]) -> Self {
        let side = |slot: &Slot| Side {
            // There are fewer modes than axes of all operands.
            modes: slot.modes.iter().map(|mode| *mode as u32).collect(),
            layout: slot.layout.clone(),
            conjugate: slot.conjugate,
        };
        // TF32 is a mode of single precision.
        let math = if matches!(dtype, DType::F32 | DType::C32) && math == Math::Tf32 { math } else { Math::Default };
        Shape { dtype, math, sides: [side(a), side(b), side(c)] }
    }

    /// Whether the library takes a tensor of these strides: it has no negative ones, and none of 0.
    pub(in super::super) fn takes(layout: &Layout) -> bool {
        layout.strides().iter().all(|stride| *stride > 0) && !layout.is_empty()
    }

    /// Of what is written.
    pub(in super::super) fn made(&self) -> &Layout {
        let [_, _, c] = &self.sides;
        &c.layout
    }

    /// Whether this is a contraction, wherever it comes from.
    pub(super) fn check(&self) -> Result<()> {
        let [a, b, c] = &self.sides;
        if !has(self.dtype, self.math) {
            return Err(Error::unsupported(format!("a contraction of {} in the mode {:?}", self.dtype, self.math)));
        }
        let mut extents = std::collections::HashMap::new();
        for (name, side) in [("a", a), ("b", b), ("c", c)] {
            let refused = |what: String| Err(Error::invalid(name, what));
            if side.modes.len() != side.layout.rank() {
                return refused(format!("{} modes for {} axes", side.modes.len(), side.layout.rank()));
            }
            if !Shape::takes(&side.layout) {
                return refused(format!("{:?}: a contraction has elements, and strides above 0", side.layout));
            }
            for (k, (mode, n)) in side.modes.iter().zip(side.layout.shape()).enumerate() {
                if side.modes.iter().take(k).any(|other| other == mode) {
                    return refused(format!("mode {mode} is there twice"));
                }
                if *extents.entry(*mode).or_insert(*n) != *n {
                    return refused(format!("mode {mode} is {n} here, and something else before"));
                }
            }
        }
        let others = [(a, [b, c]), (b, [a, c]), (c, [a, b])];
        for (side, others) in others {
            let lone = side.modes.iter().find(|mode| !others.iter().any(|other| other.modes.contains(mode)));
            if let Some(mode) = lone {
                return Err(Error::invalid("modes", format!("{mode} is in one tensor alone")));
            }
        }
        c.layout.check_distinct("c")
    }

    /// Products of elements.
    pub(super) fn products(&self) -> u64 {
        let [a, b, _] = &self.sides;
        let more = b.modes.iter().zip(b.layout.shape()).filter(|(mode, _)| !a.modes.contains(mode));
        more.fold(a.layout.len() as u64, |all, (_, n)| all.saturating_mul(*n as u64))
    }
}

/// A shared shape crosses as the shape.
pub(super) fn serialize<S: Serializer>(shape: &Arc<Shape>, serializer: S) -> Result<S::Ok, S::Error> {
    Shape::serialize(shape, serializer)
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Arc<Shape>, D::Error> {
    Shape::deserialize(deserializer).map(Arc::new)
}
