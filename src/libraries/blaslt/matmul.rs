//! The product, from the caller's side.

use super::epilogue::{Epilogue, Extra, Kind, WritePlaces};
use super::op::Fused;
use super::operands::{All, OperandKind, Operands, Optional, Two};
use super::types::{MatmulElement, MatmulTypes};
use super::{BlasLt, Matmul};
use crate::core::buffer::{DeviceBuffer, In, Readable};
use crate::core::element::Element;
use crate::core::error::Result;
use crate::core::op::Bufs;
use crate::device::Device;
use crate::device::dispatch::Submitted;
use smallvec::SmallVec;

pub(super) type ScalarOf<A, B, D, C> = <<A as MatmulElement<B, D, C>>::Types as MatmulTypes>::Scalar;
pub(super) type COf<A, B, D, C> = <<A as MatmulElement<B, D, C>>::Types as MatmulTypes>::C;
/// An epilogue of such a product.
pub type EpilogueOf<'a, A, B, D, C, W> = Epilogue<'a, BiasOf<A, B, D, C>, AuxOf<A, B, D, C>, W>;
pub(super) type BiasOf<A, B, D, C> = <<A as MatmulElement<B, D, C>>::Types as MatmulTypes>::Bias;
pub(super) type AuxOf<A, B, D, C> = <<A as MatmulElement<B, D, C>>::Types as MatmulTypes>::Aux;

impl BlasLt {
    /// `D = alpha * op(A) * op(B) + beta * D` (`cublasLtMatmul`); see [`Matmul`].
    ///
    /// # Errors
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) when a leading dimension or a distance is too small or a
    /// matrix does not lie inside its buffer; [`Error::Unsupported`](crate::Error::Unsupported) with the library's
    /// reason for what it does not multiply; a stale or foreign buffer. `d` comes back.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::{Device, F8E4M3, Matmul, Transpose, bf16};
    /// let device = Device::host()?;
    /// let a = device.upload([1.0, 2.0, 3.0, 4.0].map(F8E4M3::from_f32))?.into_output(); // columns (1, 2) and (3, 4)
    /// let d = device.uninit::<bf16>(4)?;
    /// let spec = Matmul::new(2, 2, 2).trans_a(Transpose::Yes).alpha(0.5);
    /// let d = device.blas_lt().matmul(spec, &a, &a, d)?.await_result()?; // A^T * A / 2
    /// assert_eq!(device.download(&d)?.await_result()?, [2.5, 5.5, 5.5, 12.5].map(bf16::from_f32));
    /// # Ok(()) }
    /// ```
    pub fn matmul<'a, A, B, D>(
        &self,
        spec: Matmul<ScalarOf<A, B, D, super::Auto>>,
        a: impl Readable<'a, A>,
        b: impl Readable<'a, B>,
        d: DeviceBuffer<D>,
    ) -> Submitted<DeviceBuffer<D>>
    where
        A: MatmulElement<B, D>,
        B: Element,
        D: Element,
    {
        let op = Fused::<A::Types, Two, ()>::new(spec, Kind::default(), [false; 3], [false; 2]);
        self.device.dispatch(op, (a.into(), b.into()), (d,))
    }

    /// `D = scale_d * epilogue(alpha * scale_a * scale_b * op(A) * op(B) + beta * C)` (`cublasLtMatmul`); see
    /// [`Operands`] for what is read, and [`Epilogue`] for the epilogue and its additional outputs.
    ///
    /// # Errors
    /// As [`matmul`](Self::matmul), and when a bias, an auxiliary matrix or a scale has a wrong length. All buffers
    /// that were moved in come back.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::blaslt::{Epilogue, Operands};
    /// use windlass::{Device, Matmul};
    /// let device = Device::host()?;
    /// let w = device.upload([1.0f32, -1.0])?.into_output(); // 2 x 1
    /// let x = device.upload([3.0f32, 5.0])?.into_output(); // 1 x 2
    /// let bias = device.upload([0.5f32, 4.0])?.into_output();
    /// let spec = Matmul::new(2, 2, 1);
    /// let epilogue = Epilogue::relu_aux_bias(device.zeros(spec.mask_len()?)?, &bias);
    /// let pending = device.blas_lt().matmul_with(spec, Operands::new(&w, &x), epilogue, device.zeros(4)?)?;
    /// let (h, mask) = pending.await_result()?; // h = max(w * x + bias, 0)
    /// assert_eq!(device.download(&h)?.await_result()?, [3.5, 1.0, 5.5, 0.0]);
    /// let mask = device.download(&mask)?.await_result()?;
    /// assert_eq!([mask[0] & 3, mask[16] & 3], [0b11, 0b01]); // columns 128 bits apart
    /// # Ok(()) }
    /// ```
    pub fn matmul_with<'a, A, B, D, C, S, W>(
        &self,
        spec: Matmul<ScalarOf<A, B, D, <C as OperandKind>::Kind>>,
        operands: Operands<'a, A, B, C, S>,
        epilogue: EpilogueOf<'a, A, B, D, <C as OperandKind>::Kind, W>,
        d: DeviceBuffer<D>,
    ) -> Submitted<W::Output>
    where
        A: MatmulElement<B, D, <C as OperandKind>::Kind>,
        B: Element,
        D: Element,
        C: OperandKind + Optional<'a, COf<A, B, D, <C as OperandKind>::Kind>>,
        S: Optional<'a, ScalarOf<A, B, D, <C as OperandKind>::Kind>>,
        W: Extra<D>,
    {
        let (call, bufs) = Call::<'a, <A as MatmulElement<B, D, <C as OperandKind>::Kind>>::Types, W>::new(
            spec, operands, epilogue, d,
        );
        call.dispatch(&self.device, bufs)
    }
}

/// A product with its operands, ready to be dispatched.
pub(super) struct Call<'a, T: MatmulTypes, W> {
    op: Fused<T, All, W>,
    a: In<'a, T::A>,
    b: In<'a, T::B>,
    c: Option<In<'a, T::C>>,
    bias: Option<In<'a, T::Bias>>,
    mask: Option<In<'a, u8>>,
    pre: Option<In<'a, T::Aux>>,
    scales: SmallVec<[In<'a, f32>; 3]>,
    factors: SmallVec<[In<'a, T::Scalar>; 2]>,
}

impl<'a, T: MatmulTypes, W: Extra<T::D>> Call<'a, T, W> {
    pub(super) fn new<C, S>(
        spec: Matmul<T::Scalar>,
        operands: Operands<'a, T::A, T::B, C, S>,
        epilogue: Epilogue<'a, T::Bias, T::Aux, W>,
        d: DeviceBuffer<T::D>,
    ) -> (Self, Bufs<W::Output>)
    where
        C: Optional<'a, T::C>,
        S: Optional<'a, T::Scalar>,
    {
        let Operands { a, b, c, factors, scales, outer } = operands;
        let Epilogue { kind, bias, mask, pre, second } = epilogue;
        let c = c.given();
        let factors: SmallVec<[_; 2]> = factors.into_iter().filter_map(Optional::given).collect();
        let op = Fused::new(spec, kind, scales.map(|s| s.is_some()), outer);
        let op = op.reading(c.is_some(), !factors.is_empty());
        let scales = scales.into_iter().flatten().collect();
        (Call { op, a, b, c, bias, mask, pre, scales, factors }, second.bufs(d))
    }

    pub(super) fn dispatch(&self, device: &Device, bufs: Bufs<W::Output>) -> Submitted<W::Output> {
        let Call { op, a, b, c, bias, mask, pre, scales, factors } = self;
        device.dispatch(op.clone(), (*a, *b, *c, *bias, *mask, *pre, scales, factors), bufs)
    }

    /// Admits and checks the product as a dispatch would, and returns the places of its outputs.
    pub(super) fn check(&self, device: &Device, bufs: &Bufs<W::Output>) -> Result<WritePlaces> {
        let Call { op, a, b, c, bias, mask, pre, scales, factors } = self;
        let ins = (*a, *b, *c, *bias, *mask, *pre, scales.as_slice(), factors.as_slice());
        let (_, writes) = device.try_out(op, &ins, bufs)?;
        Ok(W::places(&writes))
    }

    /// The same product, to be enqueued in another way.
    #[cfg(feature = "cuda")]
    pub(super) fn by(&self, selection: super::selection::Selection) -> Self {
        Call {
            op: Fused { selection, ..self.op.clone() },
            scales: self.scales.clone(),
            factors: self.factors.clone(),
            ..*self
        }
    }
}
