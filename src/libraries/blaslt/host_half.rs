//! The product on the CPU: the host engine's job, built from the op and its operands.

use super::Order;
use super::beside::{Extra, WriteSlices};
use super::epilogue::{Function, SecondOutput};
use super::geometry::Geometry;
use super::op::Fused;
use super::operands::{ReadSlices, Reading};
use super::sizes::Layout;
use super::types::MatmulTypes;
use crate::core::error::{Error, Result};
use crate::numerics::Trans;
use crate::numerics::matmul::{Activation, Grad, Job, Matrix, Scale};

impl<T: MatmulTypes, R: Reading<T>, W: Extra<T::D>> Fused<T, R, W> {
    /// The host half.
    pub(super) fn run(&self, reads: ReadSlices<'_, T>, writes: WriteSlices<'_, T::D>) -> Result<()> {
        let Geometry { layouts: [a, b, c, d], aux, bias_stride } = *self.geometry()?;
        let [conjugate_a, conjugate_b] = self.settings.conjugate;
        #[inline(always)]
        fn matrix<X>(data: X, conjugate: bool, layout: Layout) -> Matrix<X> {
            // A conjugate is the conjugated transpose of the transpose.
            let layout = if conjugate { layout.transposed() } else { layout };
            let Layout { order, ld, stride, .. } = layout;
            let trans = if conjugate { Trans::Conj } else { Trans::No };
            Matrix { data, trans, by_rows: order == Order::Row, ld, stride }
        }
        let mut scales = reads.scales.iter();
        let mut next = |there: bool, outer: bool| match (there, outer) {
            (false, _) => Scale::One,
            (true, true) => Scale::Vector(scales.next().copied().unwrap_or_default()),
            (true, false) => Scale::Tensor(scales.next().and_then(|s| s.first()).copied().unwrap_or(1.0)),
        };
        let ([there_a, there_b, there_d], [outer_a, outer_b]) = (self.scaled, self.outer);
        let (scale_a, scale_b) = (next(there_a, outer_a), next(there_b, outer_b));
        let scale_d = if let Scale::Tensor(scale) = next(there_d, false) { scale } else { 1.0 };
        let [alpha, beta] = reads.factors;
        let alpha = alpha.and_then(|at| at.first()).copied().unwrap_or(self.settings.alpha);
        let beta = beta.and_then(|at| at.first()).copied().unwrap_or(self.settings.beta);
        let (mut mask_out, mut pre_out, mut grad) = (None, None, None);
        let misaligned = |_| Error::library("internal error: an operand is not aligned to its type");
        if let Some(bytes) = writes.second {
            match self.kind.second {
                SecondOutput::Nothing => {}
                SecondOutput::Mask => mask_out = Some(bytes),
                SecondOutput::PreActivation => pre_out = Some(bytemuck::try_cast_slice_mut(bytes).map_err(misaligned)?),
                SecondOutput::BiasGradient | SecondOutput::GradientOfA | SecondOutput::GradientOfB => {
                    let which = match self.kind.second {
                        SecondOutput::GradientOfA => Grad::OfA,
                        SecondOutput::GradientOfB => Grad::OfB,
                        _ => Grad::OfBias,
                    };
                    grad = Some((which, bytemuck::try_cast_slice_mut(bytes).map_err(misaligned)?, bias_stride));
                }
            }
        }
        T::run(Job {
            m: self.sizes.m,
            n: self.sizes.n,
            k: self.sizes.k,
            batch: self.sizes.batch,
            a: matrix(reads.a, conjugate_a, a),
            b: matrix(reads.b, conjugate_b, b),
            c: reads.c.map(|data| matrix(data, false, c)),
            d: matrix(writes.d, false, d),
            alpha,
            beta,
            scale_a,
            scale_b,
            scale_d,
            activation: match self.kind.function {
                Function::None => Activation::None,
                Function::Relu => Activation::Relu,
                Function::Gelu => Activation::Gelu,
                Function::ReluGradient => Activation::ReluGradient,
                Function::GeluGradient => Activation::GeluGradient,
            },
            bias: reads.bias.map(|bias| (bias, bias_stride)),
            across: self.kind.across,
            aux: (aux.ld, aux.stride),
            mask_in: reads.mask,
            pre_in: reads.pre,
            mask_out,
            pre_out,
            grad,
            amax: writes.amax.and_then(|amax| amax.first_mut()),
        });
        Ok(())
    }
}
