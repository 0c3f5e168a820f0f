//! A case with its operands on a device.

use super::cases::{Case, Stored};
use crate::sample::Number;
use std::collections::BTreeMap;
use windlass::dnn::DnnElement;
use windlass::expressions::Overflow;
use windlass::reductions::SoftmaxElement;
use windlass::{DType, Device, Element, Result, Tensor, TensorRef, tensor::AnyTensor};

/// The elements of these cases.
pub(super) trait Real: Number + DnnElement + SoftmaxElement {}
impl<T: Number + DnnElement + SoftmaxElement> Real for T {}

pub(super) struct Node<'a> {
    pub(super) device: &'a Device,
    pub(super) case: &'a Case,
    tensors: BTreeMap<&'a str, AnyTensor>,
}

/// What a row gives: results, and gradients by the names of their operands.
#[derive(Default)]
pub(super) struct Answer {
    pub(super) outputs: Vec<AnyTensor>,
    pub(super) gradients: Vec<(&'static str, AnyTensor)>,
}

pub(super) type Made = Result<Answer>;

impl Answer {
    pub(super) fn of(y: impl Into<AnyTensor>) -> Self {
        Answer { outputs: vec![y.into()], gradients: vec![] }
    }

    pub(super) fn output(mut self, y: impl Into<AnyTensor>) -> Self {
        self.outputs.push(y.into());
        self
    }

    pub(super) fn gradient(mut self, name: &'static str, x: impl Into<AnyTensor>) -> Self {
        self.gradients.push((name, x.into()));
        self
    }
}

impl<'a> Node<'a> {
    /// `odd`: a seed of strides.
    pub(super) fn new(device: &'a Device, case: &'a Case, odd: Option<usize>) -> Self {
        let up = |(k, (name, stored)): (usize, (&'a str, &Stored))| {
            (name, odd.map_or_else(|| stored.up(device), |seed| stored.up_odd(device, seed * 7 + k * 3 + 1)))
        };
        let given = case.tensors.iter().map(|(name, stored)| (&**name, stored));
        let tensors = given.chain(case.dy.iter().map(|dy| ("dy", dy))).enumerate().map(up).collect();
        Node { device, case, tensors }
    }

    pub(super) fn given(&self, name: &str) -> Option<&AnyTensor> {
        self.tensors.get(name)
    }

    pub(super) fn typed<T: Element>(&self, name: &str) -> TensorRef<'_, T> {
        let x = self.tensors.get(name).unwrap_or_else(|| panic!("no {name}")).view();
        x.downcast().unwrap_or_else(|| panic!("{name}: {x:?}"))
    }

    pub(super) fn optional<T: Element>(&self, name: &str) -> Option<TensorRef<'_, T>> {
        self.given(name).map(|_| self.typed(name))
    }

    /// With a batch of one before it, if it has fewer axes.
    pub(super) fn batched<T: Element>(&self, name: &str, rank: usize) -> Result<TensorRef<'_, T>> {
        let x = self.typed::<T>(name);
        if x.rank() < rank { x.unsqueeze(0) } else { Ok(x) }
    }

    /// The gradient of the result, likewise.
    pub(super) fn dy<T: Element>(&self, rank: usize) -> Result<Option<TensorRef<'_, T>>> {
        self.given("dy").map(|_| self.batched("dy", rank)).transpose()
    }

    /// A tensor in another type.
    pub(super) fn cast<T: Element>(&self, name: &str) -> Result<Tensor<T>> {
        let x = self.given(name).unwrap_or_else(|| panic!("no {name}"));
        Ok(self.device.cast_any(x, T::DTYPE, Overflow::Saturate)?.downcast().unwrap())
    }

    /// The smallest difference from 1 in the type in which PyTorch computed.
    pub(super) fn epsilon(&self) -> f64 {
        if &*self.case.dtype == DType::F32.name() { f32::EPSILON.into() } else { f64::EPSILON }
    }
}
