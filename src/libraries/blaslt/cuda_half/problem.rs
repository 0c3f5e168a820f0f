//! The problem in the library's terms, and the addresses that go with it.

use super::super::Order;
use super::super::beside::{Extra, Place, WritePlaces};
use super::super::epilogue::{Function, Kind, SecondOutput};
use super::super::geometry::Geometry;
use super::super::op::Fused;
use super::super::operands::{ReadPlaces, Reading};
use super::super::sizes::{Layout, Sizes};
use super::super::types::{MatmulTypes, TF32};
use super::side::{CONJUGATE, Side, matrix};
use super::zeros::ZEROS;
use crate::core::element::{DType, Element};
use crate::engines::cuda_enqueue::Enqueue;
use crate::libraries::blaslt::native::multiply;
use crate::libraries::blaslt::native::{Addresses, Problem};

/// The addresses that go with a problem.
fn addresses(kind: Kind, reads: &ReadPlaces, writes: &WritePlaces, ([a, b], scale_d): ([&Side; 2], u64)) -> Addresses {
    let address = |place: Option<Place>| place.map_or(0, |place| place.address);
    let aux = match kind.function {
        Function::ReluGradient => reads.mask,
        Function::GeluGradient => reads.pre,
        _ if matches!(kind.second, SecondOutput::Mask | SecondOutput::PreActivation) => writes.second,
        _ => None,
    };
    let gradient =
        matches!(kind.second, SecondOutput::BiasGradient | SecondOutput::GradientOfA | SecondOutput::GradientOfB);
    let d = writes.d.address;
    Addresses {
        a: a.address,
        b: b.address,
        c: reads.c.map_or(d, |place| place.address),
        d,
        bias: address(if gradient { writes.second } else { reads.bias }),
        aux: address(aux),
        scales: [a.scale, b.scale, scale_d, address(writes.amax)],
        factors: None,
    }
}

impl<T: MatmulTypes, R: Reading<T>, W: Extra<T::D>> Fused<T, R, W> {
    /// `cublasComputeType_t`.
    pub(super) fn compute(&self) -> u32 {
        let tf32 = self.settings.tf32 && matches!(<T::Scalar as Element>::DTYPE, DType::F32 | DType::C32);
        if tf32 { TF32 } else { T::CODES.compute }
    }

    /// The problem in the library's terms, except for the alignments.
    pub(super) fn problem(
        &self,
        queue: &mut Enqueue<'_, Self>,
        mut kind: Kind,
        reads: &ReadPlaces,
        writes: &WritePlaces,
        geometry: &Geometry,
        zeros: bool,
    ) -> (Problem, Addresses) {
        let Sizes { m, n, .. } = self.sizes;
        let [a, b, mut c, mut d] = geometry.layouts;
        if reads.c.is_none() {
            c = d;
        }
        let stand_in = |columns| Layout { rows: ZEROS, columns, order: Order::Column, ld: ZEROS, ..Layout::default() };
        let [type_a, type_b, type_c, type_d] = T::CODES.matrices;
        let mut scales = reads.scales.iter();
        let [scale_a, scale_b, scale_d] =
            self.scaled.map(|there| if there { scales.next().map_or(0, |place| place.address) } else { 0 });
        let ([outer_a, outer_b], [conjugate_a, conjugate_b]) = (self.outer, self.settings.conjugate);
        let (address_a, address_b) = (reads.a.address, reads.b.address);
        let side = |data_type, layout: Layout, conjugate, address, scale, outer| {
            // A conjugate is the conjugated transpose of the transpose.
            let (layout, trans) = match conjugate && T::A::DTYPE.is_complex() {
                true => (layout.transposed(), CONJUGATE),
                false => (layout, 0),
            };
            Side { data_type, layout, trans, address, scale, outer }.by_columns()
        };
        let mut a = side(type_a, a, conjugate_a, address_a, scale_a, outer_a);
        let mut b = side(type_b, b, conjugate_b, address_b, scale_b, outer_b);
        if zeros {
            (a.layout, a.trans) = (stand_in(m), 1);
            (b.layout, b.trans) = (stand_in(n), 0);
        }
        // A row-major D is computed as the column-major D of the product of the transposes, for which the library has
        // more algorithms.
        if d.order == Order::Row {
            (a, b) = (b.transposed(), a.transposed());
            (c, d) = (c.transposed(), d.transposed());
            kind.second = match kind.second {
                SecondOutput::GradientOfA => SecondOutput::GradientOfB,
                SecondOutput::GradientOfB => SecondOutput::GradientOfA,
                second => second,
            };
        }
        let of_pre = kind.function == Function::GeluGradient || kind.second == SecondOutput::PreActivation;
        let addresses = addresses(kind, reads, writes, ([&a, &b], scale_d));
        let problem = Problem {
            matrices: [
                matrix(a.data_type, a.layout),
                matrix(b.data_type, b.layout),
                matrix(type_c, c),
                matrix(type_d, d),
            ],
            trans: [a.trans, b.trans],
            batch: self.sizes.batch as u32,
            compute: self.compute(),
            scale: T::CODES.scale,
            epilogue: kind.code(),
            bias_type: (T::CODES.bias != type_d && addresses.bias != 0).then_some(T::CODES.bias),
            aux_type: (T::CODES.aux != type_d && of_pre).then_some(T::CODES.aux),
            bias_stride: geometry.bias_stride as i64,
            aux_ld: geometry.aux.ld as i64,
            aux_stride: geometry.aux.stride as i64,
            scaled: addresses.scales.map(|address| address != 0),
            outer: [a.outer, b.outer],
            factors_on_device: reads.factors.iter().any(Option::is_some),
            fast_accumulation: self.settings.fast_accumulation,
            in_place: addresses.c == addresses.d,
            alignment: [0; 6],
            workspace: multiply::lt_workspace(queue),
        };
        (problem, addresses)
    }
}
