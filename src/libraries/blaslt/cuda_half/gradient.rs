//! The sum of a factor over the terms of the product, as a separate product: the factor times a vector of ones.
//!
//! The library's epilogue for this sum requires that the terms of the factor are not contiguous: A not transposed, B
//! transposed. It refuses the other layouts (cuBLASLt 13.1 on an H200, A transposed and B not, in every type that has
//! the epilogue). The product of the factor with ones has the same terms, added in the same type and rounded once, and
//! no such requirement.

use super::super::Order;
use super::super::beside::{Extra, WritePlaces};
use super::super::epilogue::{Kind, SecondOutput};
use super::super::geometry::Geometry;
use super::super::op::Fused;
use super::super::operands::{ReadPlaces, Reading};
use super::super::sizes::Layout;
use super::super::types::MatmulTypes;
use super::side::{Side, matrix};
use crate::core::element::{DType, Element};
use crate::core::error::Result;
use crate::engines::cuda_enqueue::Enqueue;
use crate::libraries::blaslt::native::multiply;
use crate::libraries::blaslt::native::{Addresses, Factor, Problem, Which};

/// The factor times ones.
pub(super) struct Ones {
    at: u64,
    terms: usize,
    one: [u8; 8],
    size: usize,
    problem: Problem,
    addresses: Addresses,
    asked: bool,
}

/// The number one in this type.
fn one(dtype: DType) -> Result<[u8; 8]> {
    let mut bytes = [0; 8];
    let bits: u64 = match dtype {
        DType::F32 => 0x3f80_0000,
        DType::F64 => 0x3ff0_0000_0000_0000,
        DType::F16 => 0x3c00,
        DType::Bf16 => 0x3f80,
        other => return Err(crate::core::error::Error::unsupported(format!("a gradient of a factor of {other}"))),
    };
    bytes.copy_from_slice(&bits.to_le_bytes());
    Ok(bytes)
}

impl<T: MatmulTypes, R: Reading<T>, W: Extra<T::D>> Fused<T, R, W> {
    /// Whether the terms that the epilogue sums are contiguous, which the library refuses.
    pub(super) fn sums_along_memory(&self, geometry: &Geometry) -> bool {
        let [a, b, ..] = geometry.layouts;
        match self.kind.second {
            SecondOutput::GradientOfA => a.order == Order::Row,
            SecondOutput::GradientOfB => b.order == Order::Column,
            _ => false,
        }
    }

    /// Prepares the gradient as a product. Fails if the library does not support it.
    pub(super) fn gradient(
        &self,
        queue: &mut Enqueue<'_, Self>,
        reads: &ReadPlaces,
        writes: &WritePlaces,
        geometry: &Geometry,
    ) -> Result<Ones> {
        let [a, b, ..] = geometry.layouts;
        let of_a = self.kind.second == SecondOutput::GradientOfA;
        let (layout, address) = if of_a { (a, reads.a.address) } else { (b, reads.b.address) };
        let [type_a, type_b, ..] = T::CODES.matrices;
        let (data_type, dtype) = if of_a { (type_a, T::A::DTYPE) } else { (type_b, T::B::DTYPE) };
        let factor = Side { data_type, layout, trans: 0, address, scale: 0, outer: false }.by_columns();
        let factor = if of_a { factor } else { factor.transposed() };
        let (terms, len, (one, size)) =
            (self.sizes.k, self.kind.gradient_len(&self.sizes).unwrap_or(0), (one(dtype)?, dtype.size()));
        let overflow =
            || crate::core::error::Error::invalid("k", format!("the size of a vector of {terms} ones overflows"));
        let at = queue.scratch(terms.checked_mul(size).ok_or_else(overflow)?)?;
        let vector = |rows, stride| Layout { rows, columns: 1, order: Order::Column, ld: rows, stride, len: rows };
        let sums = matrix(T::CODES.bias, vector(len, geometry.bias_stride));
        let d = writes.second.map_or(0, |place| place.address);
        let addresses = Addresses { a: factor.address, b: at, c: d, d, ..Addresses::default() };
        let problem = Problem {
            matrices: [matrix(data_type, factor.layout), matrix(data_type, vector(terms, 0)), sums, sums],
            trans: [factor.trans, 0],
            batch: self.sizes.batch as u32,
            compute: T::CODES.compute,
            scale: T::CODES.scale,
            epilogue: Kind::default().code(),
            bias_type: None,
            aux_type: None,
            bias_stride: 0,
            aux_ld: 0,
            aux_stride: 0,
            scaled: [false; 4],
            outer: [false; 2],
            factors_on_device: false,
            fast_accumulation: false,
            in_place: true,
            alignment: addresses.alignment(),
            workspace: multiply::lt_workspace(queue),
        };
        let asked = multiply::lt_find(queue, &problem, &addresses, false)?;
        Ok(Ones { at, terms, one, size, problem, addresses, asked })
    }

    /// Enqueues the gradient.
    pub(super) fn sum(&self, queue: &mut Enqueue<'_, Self>, ones: &Ones) -> Result<()> {
        let Ones { at, terms, one, size, problem, addresses, asked } = ones;
        // SAFETY: all of scratch of this length.
        unsafe { queue.fill(*at, *terms, one.get(..*size).unwrap_or_default()) }?;
        let factors = [Factor::from_scalar(&T::ONE), Factor::from_scalar(&T::Scalar::default())];
        // SAFETY: the factor and the gradients lie in operands, whose lengths were checked with these layouts, the ones in
        // scratch that was made for them.
        unsafe { multiply::lt_matmul(queue, problem, addresses, &factors, Which::Known { asked: *asked }) }
    }
}
