//! The product, from the caller's side.

use super::BlasLt;
use super::beside::{Beside, Extra, Landing, WithD, WritePlaces};
use super::epilogue::{Epilogue, Kind, SecondOutput};
use super::kept::Of;
use super::op::Fused;
use super::operands::{All, OperandKind, Operands, Optional, Two};
use super::sizes::{Auxiliary, Sizes};
use super::spec::Matmul;
use super::types::{MatmulElement, MatmulTypes};
use crate::core::buffer::In;
use crate::core::element::Element;
use crate::core::error::{Error, Rejected, Result};
use crate::core::op::Bufs;
use crate::device::Device;
use crate::device::dispatch::Submitted;
use crate::device::tensor::{Layout, Part, ReadableTensor, Tensor, TensorRef, WritableTensor};
use crate::libraries::flags::Order;
use crate::libraries::operands::Vector;
use smallvec::SmallVec;

pub(super) type ScalarOf<A, B, D, C> = <<A as MatmulElement<B, D, C>>::Types as MatmulTypes>::Scalar;
pub(super) type COf<A, B, D, C> = <<A as MatmulElement<B, D, C>>::Types as MatmulTypes>::C;
/// An epilogue of such a product.
pub type EpilogueOf<'a, A, B, D, C, W> = Epilogue<'a, BiasOf<A, B, D, C>, AuxOf<A, B, D, C>, W>;
pub(super) type BiasOf<A, B, D, C> = <<A as MatmulElement<B, D, C>>::Types as MatmulTypes>::Bias;
pub(super) type AuxOf<A, B, D, C> = <<A as MatmulElement<B, D, C>>::Types as MatmulTypes>::Aux;

impl BlasLt {
    /// `D = alpha * A * B + beta * D` for the matrices of the last two axes (`cublasLtMatmul`); see [`Matmul`]. The axes before
    /// are a batch: those of A and B are broadcast to those of D. Nothing is copied.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when the shapes do not agree; when neither the rows nor the columns of an operand are
    /// contiguous, or its batch is not at even distances: [`Device::contiguous`](crate::Device::contiguous) makes a copy that
    /// is; [`Error::Unsupported`] with the library's reason for what it does not multiply; a stale or foreign buffer. `d` comes
    /// back.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::{Device, F8E4M3, Matmul, bf16};
    /// let device = Device::host()?;
    /// let a = device.tensor([2, 2], [1.0, 2.0, 3.0, 4.0].map(F8E4M3::from_f32))?;
    /// let d = device.uninit::<bf16>([2, 2])?;
    /// let d = device.blas_lt().matmul(Matmul::new().alpha(0.5), &a, a.transpose(), d)?; // A * A^T / 2
    /// assert_eq!(device.show(&d)?.to_string(), "[[ 2.5  5.5]\n [ 5.5 12.5]]");
    /// # Ok(()) }
    /// ```
    pub fn matmul<'s, 'a, 'b, A, B, D>(
        &self,
        spec: Matmul<'s, ScalarOf<A, B, D, super::Auto>>,
        a: impl ReadableTensor<'a, A>,
        b: impl ReadableTensor<'b, B>,
        d: impl WritableTensor<D>,
    ) -> Submitted<Tensor<D>>
    where
        A: MatmulElement<B, D>,
        B: Element,
        D: Element,
    {
        self.multiply::<A::Types>(&spec, &a.into(), &b.into(), d.into())
    }

    fn multiply<T: MatmulTypes>(
        &self,
        spec: &Matmul<'_, T::Scalar>,
        a: &TensorRef<'_, T::A>,
        b: &TensorRef<'_, T::B>,
        d: Part<T::D>,
    ) -> Submitted<Tensor<T::D>> {
        let made = (|| {
            let ((a, of_a), (b, of_b)) = (a.operand()?, b.operand()?);
            let sizes = Sizes::of_views([&of_a, &of_b], None, d.layout(), Order::Row)?;
            let (settings, [alpha, beta]) = spec.settings::<T>()?;
            let fresh = beta.is_none() && settings.beta == T::Scalar::default();
            Ok((Fused::<T, Two, ()>::new(sizes, settings, Kind::default(), fresh), (a, b, alpha, beta)))
        })();
        d.submit(("matmul", "blaslt"), made, |(op, reads), d| self.device.dispatch(op, reads, (d,)))
    }

    /// `D = scale_d * epilogue(alpha * scale_a * scale_b * A * B + beta * C)` (`cublasLtMatmul`); see [`Operands`] for what is
    /// read, and [`Epilogue`] for the epilogue and its additional outputs.
    ///
    /// # Errors
    /// As [`matmul`](Self::matmul), and when a bias, what was kept or a scale has another shape. `d` comes back.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::blaslt::{Epilogue, Operands};
    /// use windlass::{Device, Matmul};
    /// let device = Device::host()?;
    /// let lt = device.blas_lt();
    /// let x = device.tensor([2, 1], [3.0f32, 5.0])?; // two points of one number
    /// let w = device.tensor([2, 1], [1.0f32, -1.0])?; // two outputs of each
    /// let bias = device.tensor([2], [0.5f32, 4.0])?;
    /// // y = max(x * w^T + bias, 0)
    /// let (operands, epilogue) = (Operands::new(&x, w.transpose()), Epilogue::relu_aux_bias(&bias));
    /// let pending = lt.matmul_with(Matmul::new(), operands, epilogue, device.uninit([2, 2])?)?;
    /// let (y, mask) = pending.into_output();
    /// assert_eq!(device.show(&y)?.to_string(), "[[3.5 1. ]\n [5.5 0. ]]");
    /// // Back through the activation, and the gradient of the bias.
    /// let (gradient, one) = (device.full([2, 1], 1.0f32)?, device.full([1, 2], 1.0f32)?);
    /// let (operands, epilogue) = (Operands::new(&gradient, &one), Epilogue::drelu_bgrad(&mask));
    /// let pending = lt.matmul_with(Matmul::new(), operands, epilogue, device.uninit([2, 2])?)?;
    /// let (_, of_bias) = pending.into_output();
    /// assert_eq!(device.to_vec(&of_bias)?, [2.0, 1.0]);
    /// # Ok(()) }
    /// ```
    pub fn matmul_with<'s, 'a, A, B, D, C, W>(
        &self,
        spec: Matmul<'s, ScalarOf<A, B, D, <C as OperandKind>::Kind>>,
        operands: Operands<'a, A, B, C>,
        epilogue: EpilogueOf<'a, A, B, D, <C as OperandKind>::Kind, W>,
        d: impl WritableTensor<D>,
    ) -> WithD<W, D>
    where
        A: MatmulElement<B, D, <C as OperandKind>::Kind>,
        B: Element,
        D: Element,
        C: OperandKind + Optional<'a, COf<A, B, D, <C as OperandKind>::Kind>>,
        W: Extra<D>,
    {
        let d = d.into();
        let c = operands.c.given();
        match Call::<TypesOf<A, B, D, C>, W>::new(&spec, &operands, c, &epilogue, d.layout()) {
            Ok(call) => call.submit(&self.device, d),
            Err(error) => Err(refused(error, d)),
        }
    }
}

pub(super) type TypesOf<A, B, D, C> = <A as MatmulElement<B, D, <C as OperandKind>::Kind>>::Types;

/// The error of a call, and D.
pub(super) fn refused<D: Element>(error: Error, d: Part<D>) -> Rejected<(Tensor<D>,)> {
    Rejected::new(error.in_op("matmul", "blaslt"), (d.into_tensor(),))
}

/// A product with its operands, ready to be dispatched.
pub(super) struct Call<'x, T: MatmulTypes, W> {
    op: Fused<T, All, W>,
    a: In<'x, T::A>,
    b: In<'x, T::B>,
    c: Option<In<'x, T::C>>,
    bias: Option<In<'x, T::Bias>>,
    mask: Option<In<'x, u8>>,
    pre: Option<In<'x, T::Aux>>,
    scales: SmallVec<[In<'x, f32>; 3]>,
    factors: [Option<In<'x, T::Scalar>>; 2],
    beside: Beside,
}

/// The scales of a matrix: of each of its lines, or one of all.
fn scale<'x>(name: &'static str, scale: &'x TensorRef<'_, f32>, outer: bool) -> Result<In<'x, f32>> {
    if outer {
        Vector::from_layout(name, scale.layout())?.neighbours(name)?;
    } else if scale.len() != 1 {
        return Err(Error::invalid(name, format!("{} elements, but the product takes 1", scale.len())));
    }
    Ok(scale.operand()?.0)
}

/// What the call makes beside a D of these sizes.
fn beside(kind: Kind, sizes: &Sizes, gradient: Option<usize>, d: &Layout) -> Result<Beside> {
    let shape = match (gradient, d.shape()) {
        (Some(len), [batch @ .., _, _]) => [batch, &[len]].concat(),
        _ => vec![0],
    };
    let sums = Layout::row_major(shape)?;
    let len = match kind.second {
        SecondOutput::Nothing => 0,
        SecondOutput::Mask => sizes.aux(Auxiliary::Mask)?.len / 8,
        SecondOutput::PreActivation => sizes.aux(Auxiliary::PreActivation)?.len,
        SecondOutput::BiasGradient | SecondOutput::GradientOfA | SecondOutput::GradientOfB => sums.len(),
    };
    Ok(Beside { len, of: Of::product(sizes), sums })
}

impl<'x, T: MatmulTypes, W: Extra<T::D>> Call<'x, T, W> {
    pub(super) fn new<C>(
        spec: &'x Matmul<'_, T::Scalar>,
        operands: &'x Operands<'_, T::A, T::B, C>,
        c: Option<&'x TensorRef<'_, T::C>>,
        epilogue: &'x Epilogue<'_, T::Bias, T::Aux, W>,
        d: &Layout,
    ) -> Result<Self> {
        let Operands { a, b, scales, outer, .. } = operands;
        let Epilogue { mut kind, per_row, ref bias, mask, pre, .. } = *epilogue;
        let ((a, of_a), (b, of_b)) = (a.operand()?, b.operand()?);
        let c = c.map(TensorRef::operand).transpose()?;
        let of_c = c.as_ref().map(|(_, of_c)| of_c);
        let mut sizes = Sizes::of_views([&of_a, &of_b], of_c, d, epilogue.wanted())?;
        kind.across =
            (kind.bias || kind.second == SecondOutput::BiasGradient) && per_row == (sizes.order_d() == Order::Row);
        let len = if per_row { sizes.m } else { sizes.n };
        let bias = bias.as_ref().map(TensorRef::operand).transpose()?;
        if let Some((_, of_bias)) = &bias {
            sizes.bias_stride = Sizes::vectors("bias", of_bias, d, len)?;
        }
        let mask = mask.map(|mask| mask.operand("mask", &sizes)).transpose()?;
        let pre = pre.map(|pre| pre.operand("preactivation", &sizes)).transpose()?;
        let (settings, factors) = spec.settings::<T>()?;
        let [_, beta] = &factors;
        let fresh = c.is_some() || (beta.is_none() && settings.beta == T::Scalar::default());
        let op = Fused::new(sizes, settings, kind, fresh).scaled(scales.each_ref().map(Option::is_some), *outer);
        let beside = beside(kind, &sizes, kind.gradient_len(&sizes), d)?;
        let mut given = SmallVec::new();
        let [outer_a, outer_b] = *outer;
        for ((name, outer), at) in
            [("scale_a", outer_a), ("scale_b", outer_b), ("scale_d", false)].into_iter().zip(scales)
        {
            if let Some(at) = at {
                given.push(scale(name, at, outer)?);
            }
        }
        let (c, bias) = (c.map(|(c, _)| c), bias.map(|(bias, _)| bias));
        Ok(Call { op, a, b, c, bias, mask, pre, scales: given, factors, beside })
    }

    fn submit(self, device: &Device, d: Part<T::D>) -> WithD<W, T::D> {
        let (d, _, whole) = d.operand();
        match W::make(d, device, self.beside.len) {
            Ok(buffers) => W::submitted(self.dispatch(device, buffers), Landing { whole, beside: self.beside }),
            Err(Rejected { error, back }) => {
                let error = error.in_op("matmul", "blaslt");
                Err(Rejected { error, back: back.map(|d| (whole.tensor(d),)) })
            }
        }
    }

    /// Dispatches it into these buffers.
    pub(super) fn dispatch(&self, device: &Device, buffers: Bufs<W::Buffers>) -> Submitted<W::Buffers> {
        let Call { op, a, b, c, bias, mask, pre, scales, factors: [alpha, beta], .. } = self;
        device.dispatch(op.clone(), (*a, *b, *c, *bias, *mask, *pre, scales, *alpha, *beta), buffers)
    }

    /// Elements of the additional output of the epilogue.
    pub(super) fn len_beside(&self) -> usize {
        self.beside.len
    }

    /// Admits and checks the product as a dispatch would, and returns the places of its outputs.
    pub(super) fn check(&self, device: &Device, buffers: &Bufs<W::Buffers>) -> Result<WritePlaces> {
        let Call { op, a, b, c, bias, mask, pre, scales, factors: [alpha, beta], .. } = self;
        let ins = (*a, *b, *c, *bias, *mask, *pre, scales.as_slice(), *alpha, *beta);
        let (_, writes) = device.try_out(op, &ins, buffers)?;
        Ok(W::places(&writes))
    }

    /// The same product, to be enqueued in another way.
    #[cfg(feature = "cuda")]
    pub(super) fn select(&mut self, selection: super::selection::Selection) {
        self.op.selection = selection;
    }
}
