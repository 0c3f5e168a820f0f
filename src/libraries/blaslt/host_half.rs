//! The product on the CPU: the host engine's job, built from the op and its operands.

use super::Order;
use super::epilogue::{Extra, Function, SecondOutput, WriteSlices};
use super::op::{Fused, Geometry};
use super::operands::{ReadSlices, Reading};
use super::spec::Layout;
use super::types::MatmulTypes;
use crate::core::error::{Error, Result};
use crate::libraries::flags::Transpose;
use crate::numerics::Trans;
use crate::numerics::matmul::{Activation, Grad, Job, Matrix, Scale};

impl<T: MatmulTypes, R: Reading<T>, W: Extra<T::D>> Fused<T, R, W> {
    /// The host half.
    pub(super) fn run(&self, reads: ReadSlices<'_, T>, writes: WriteSlices<'_, T::D>) -> Result<()> {
        let Geometry { layouts: [a, b, c, d], aux, bias_stride } = *self.geometry()?;
        let [trans_a, trans_b] = self.spec.trans.map(|trans| match trans {
            Transpose::No => Trans::No,
            Transpose::Yes => Trans::Yes,
            Transpose::Conjugate => Trans::Conj,
        });
        fn matrix<X>(data: X, trans: Trans, layout: Layout) -> Matrix<X> {
            let Layout { order, ld, stride, .. } = layout;
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
        let mut factors = reads.factors.iter().filter_map(|factor| factor.first().copied());
        let (alpha, beta) =
            (factors.next().unwrap_or(self.spec.alpha_of::<T>()), factors.next().unwrap_or(self.spec.beta));
        let (mut mask_out, mut pre_out, mut grad) = (None, None, None);
        let misaligned = |_| Error::library("internal error: an operand is not aligned to its type");
        if let Some(bytes) = writes.second {
            if self.writes_gaps(&aux) {
                bytes.fill(0);
            }
            match self.kind.second {
                SecondOutput::Nothing => {}
                SecondOutput::Mask => mask_out = Some(bytes),
                SecondOutput::PreActivation => pre_out = Some(bytemuck::try_cast_slice_mut(bytes).map_err(misaligned)?),
                SecondOutput::RowGradient | SecondOutput::GradientOfA | SecondOutput::GradientOfB => {
                    let which = match self.kind.second {
                        SecondOutput::GradientOfA => Grad::OfA,
                        SecondOutput::GradientOfB => Grad::OfB,
                        _ => Grad::Rows,
                    };
                    grad = Some((which, bytemuck::try_cast_slice_mut(bytes).map_err(misaligned)?, bias_stride));
                }
            }
        }
        T::run(Job {
            m: self.spec.m,
            n: self.spec.n,
            k: self.spec.k,
            batch: self.spec.batch,
            a: matrix(reads.a, trans_a, a),
            b: matrix(reads.b, trans_b, b),
            c: reads.c.map(|data| matrix(data, Trans::No, c)),
            d: matrix(writes.d, Trans::No, d),
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
