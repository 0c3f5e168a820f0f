//! Contractions into a tensor that is there.

use super::einsum::{Einsum, Expression};
use super::element::{TensorElement, factor};
use super::front::{TensorOps, reads};
use super::known::{PlanRequest, Spec, Written, owned};
use super::run::{Factors, Run};
use crate::core::buffer::{AnyBuffer, AnyBuffers, DeviceBuffer};
use crate::core::error::{Error, Rejected, Result};
use crate::device::dispatch::Submitted;
use crate::device::tensor::{Part, ReadableTensor, Tensor, TensorRef, WritableTensor};
use crate::libraries::expressions::Scalar;

/// `C = alpha * op(A) * op(B) + beta * C`, where the product is a contraction by an expression of two operands, or
/// `D = alpha * op(A) * op(B) * op(C) + beta * D` by one of three.
///
/// Unless set, `alpha` is 1, `beta` 0, and nothing is conjugated.
#[derive(Clone, Debug, PartialEq)]
#[must_use]
pub struct Contract<T: TensorElement> {
    pub(super) einsum: Einsum,
    alpha: T::Scalar,
    beta: T::Scalar,
    conjugate: [bool; 3],
}

impl<T: TensorElement> Contract<T> {
    /// The plain contraction.
    ///
    /// # Errors
    /// What [`Einsum::parse`] refuses; [`Error::InvalidArgument`] for another number of operands than two or three.
    pub fn new(expression: impl Expression) -> Result<Self> {
        let einsum = owned(&expression).map_err(|error| error.in_op("contract", "tensor"))?;
        if !(2..=3).contains(&einsum.operands()) {
            let what = format!("`{einsum}` has {} operands, not two or three", einsum.operands());
            return Err(Error::invalid("expression", what).in_op("contract", "tensor"));
        }
        Ok(Contract { einsum, alpha: T::ONE, beta: T::Scalar::default(), conjugate: [false; 3] })
    }

    /// The factor of the product.
    pub fn alpha(mut self, alpha: T::Scalar) -> Self {
        self.alpha = alpha;
        self
    }

    /// The factor of what was in the tensor that is written. If it is 0, that is not read.
    pub fn beta(mut self, beta: T::Scalar) -> Self {
        self.beta = beta;
        self
    }

    /// The complex conjugate of A is taken; of a real A nothing.
    pub fn conj_a(mut self) -> Self {
        self.conjugate[0] = true;
        self
    }

    /// The complex conjugate of B is taken; of a real B nothing.
    pub fn conj_b(mut self) -> Self {
        self.conjugate[1] = true;
        self
    }

    /// The complex conjugate of the third operand is taken, if there is one.
    pub fn conj_c(mut self) -> Self {
        self.conjugate[2] = true;
        self
    }
}

/// The error of a call.
fn told(error: Error) -> Error {
    error.in_op("contract", "tensor")
}

impl TensorOps {
    fn contract_into<T: TensorElement>(
        &self,
        spec: &Contract<T>,
        views: &[TensorRef<'_, T>],
        target: Part<T>,
        name: &'static str,
    ) -> Submitted<Tensor<T>> {
        let refused = |error: Error, tensor: Tensor<T>| Err(Rejected::new(told(error), (tensor,)));
        let reads = match reads(views) {
            Ok(reads) => reads,
            Err(error) => return refused(error, target.into_tensor()),
        };
        if spec.einsum.operands() != views.len() {
            let what =
                format!("`{}` has {} operands, but {} are given", spec.einsum, spec.einsum.operands(), views.len());
            return refused(Error::invalid("expression", what), target.into_tensor());
        }
        let (buffer, layout, whole) = target.operand();
        let asked = PlanRequest {
            spec: Spec::Whole(&spec.einsum),
            calls: &T::CALLS,
            settings: self.settings,
            reads: &reads,
            conjugate: spec.conjugate,
            written: Some(Written { name, layout: &layout, is_read: spec.beta != T::Scalar::default() }),
        };
        let plan = match asked.plan(self.device()) {
            Ok(plan) => plan,
            Err(error) => return refused(error, whole.tensor(buffer)),
        };
        let pair = [spec.alpha, spec.beta];
        let factors = Factors { bytes: pair.map(factor), scalars: pair.map(Scalar::new) };
        let run = Run::new(self.device(), &T::CALLS, self.settings.math, &plan, &reads);
        let back = |any: AnyBuffers| any.downcast::<DeviceBuffer<T>>();
        let submitted = match run.into(&factors, AnyBuffer::from(buffer)) {
            Ok(pending) => pending.retype(back).map_err(|any| Error::from(any).into()),
            Err(Rejected { error, back: buffers }) => {
                Err(Rejected { error, back: buffers.and_then(|any| back(any).ok()) })
            }
        };
        whole.submitted(submitted)
    }

    /// `C = alpha * op(A) * op(B) + beta * C` ([`Contract`]), in place: C may be a [`part`](Tensor::part) of a tensor, of any strides.
    /// Does not wait.
    ///
    /// Halves are computed in `f32` and rounded once.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::tensor_ops::Contract;
    /// let device = windlass::Device::best()?;
    /// let (a, b) = (device.tensor([2, 2], [1.0f32, 2.0, 3.0, 4.0])?, device.tensor([2], [1.0f32, 10.0])?);
    /// let c = device.full([2], 100.0f32)?;
    /// let spec = Contract::new("ij,i->j")?.alpha(2.0).beta(0.5);
    /// let c = device.tensor_ops().contract(&spec, &a, &b, c)?.await_result()?;
    /// assert_eq!(device.show(&c)?.to_string(), "[112. 134.]");
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As [`einsum`](Self::einsum); [`Error::InvalidArgument`] when C has other extents than the result, or different indices of it
    /// lie at one place. C comes back.
    pub fn contract<'a, 'b, T: TensorElement>(
        &self,
        spec: &Contract<T>,
        a: impl ReadableTensor<'a, T>,
        b: impl ReadableTensor<'b, T>,
        c: impl WritableTensor<T>,
    ) -> Submitted<Tensor<T>> {
        let (a, b): (TensorRef<'_, T>, TensorRef<'_, T>) = (a.into(), b.into());
        self.contract_into(spec, &[a, b], c.into(), "c")
    }

    /// `D = alpha * op(A) * op(B) * op(C) + beta * D` ([`Contract`]), in place, by the pair of operands that takes the fewest
    /// operations first. Does not wait.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::tensor_ops::Contract;
    /// let device = windlass::Device::best()?;
    /// let (a, x) = (device.tensor([2, 2], [1.0f32, 2.0, 3.0, 4.0])?, device.tensor([2], [1.0f32, 10.0])?);
    /// let form = Contract::new("i,ij,j->")?.alpha(0.5);
    /// let d = device.tensor_ops().contract3(&form, &x, &a, &x, device.uninit([])?)?.await_result()?;
    /// assert_eq!(device.item(&d)?, 225.5);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As [`contract`](Self::contract). D comes back.
    pub fn contract3<'a, 'b, 'c, T: TensorElement>(
        &self,
        spec: &Contract<T>,
        a: impl ReadableTensor<'a, T>,
        b: impl ReadableTensor<'b, T>,
        c: impl ReadableTensor<'c, T>,
        d: impl WritableTensor<T>,
    ) -> Submitted<Tensor<T>> {
        let (a, b, c): (TensorRef<'_, T>, TensorRef<'_, T>, TensorRef<'_, T>) = (a.into(), b.into(), c.into());
        self.contract_into(spec, &[a, b, c], d.into(), "d")
    }
}
