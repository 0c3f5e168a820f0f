//! A node with its operands on a device, and the calls of which rows of the table are made.

use super::cases::{Attribute, Case};
use super::value::{Formula, Value};
use windlass::tensor::Layout;
use windlass::{
    DType, Device, Element, Result, TensorRef,
    tensor::{AnyTensor, AnyTensorRef},
};

pub(super) struct Node<'a> {
    pub(super) device: &'a Device,
    pub(super) case: &'a Case,
    inputs: Vec<Option<AnyTensor>>,
}

/// What a row gives.
pub(super) type Made = Result<Vec<AnyTensor>>;

impl<'a> Node<'a> {
    pub(super) fn new(device: &'a Device, case: &'a Case) -> Self {
        let inputs = case.inputs.iter().map(|input| input.as_ref().map(|input| input.up(device))).collect();
        Node { device, case, inputs }
    }

    /// The operand of this number, if it is given.
    pub(super) fn given(&self, k: usize) -> Option<&AnyTensor> {
        self.inputs.get(k).and_then(Option::as_ref)
    }

    pub(super) fn input(&self, k: usize) -> &AnyTensor {
        self.given(k).unwrap()
    }

    /// The operand of this number, whose type the row knows.
    pub(super) fn typed<T: Element>(&self, k: usize) -> TensorRef<'_, T> {
        let x = self.input(k).view();
        x.downcast().unwrap_or_else(|| panic!("{x:?}"))
    }

    pub(super) fn inputs(&self) -> Vec<AnyTensorRef<'_>> {
        self.inputs.iter().flatten().map(AnyTensor::view).collect()
    }

    /// The integers of an operand: extents, axes.
    pub(super) fn ints(&self, k: usize) -> Option<Vec<i64>> {
        self.given(k).map(|x| self.ints_of(x))
    }

    fn ints_of(&self, x: &AnyTensor) -> Vec<i64> {
        let wide = self.device.cast_any(x, DType::I64, windlass::expressions::Overflow::Saturate).unwrap();
        bytemuck::pod_collect_to_vec(&self.device.bytes_any(&wide).unwrap())
    }

    /// The only number of an operand.
    pub(super) fn scalar(&self, k: usize) -> Option<f64> {
        let x = self.given(k)?;
        let wide = self.device.cast_any(x, DType::F64, windlass::expressions::Overflow::Saturate).unwrap();
        Some(bytemuck::pod_read_unaligned(&self.device.bytes_any(&wide).unwrap()))
    }

    pub(super) fn int(&self, name: &str, default: i64) -> i64 {
        match self.case.attributes.get(name) {
            Some(Attribute::Int(x)) => *x,
            None => default,
            other => panic!("{name}: {other:?}"),
        }
    }

    pub(super) fn list(&self, name: &str) -> Option<&[i64]> {
        match self.case.attributes.get(name)? {
            Attribute::Ints(x) => Some(x),
            other => panic!("{name}: {other:?}"),
        }
    }

    pub(super) fn float(&self, name: &str, default: f64) -> f64 {
        match self.case.attributes.get(name) {
            Some(Attribute::Float(x)) => *x,
            Some(Attribute::Int(x)) => *x as f64,
            None => default,
            other => panic!("{name}: {other:?}"),
        }
    }

    pub(super) fn text(&self, name: &str, default: &'static str) -> &str {
        match self.case.attributes.get(name) {
            Some(Attribute::Text(x)) => x,
            None => default,
            other => panic!("{name}: {other:?}"),
        }
    }

    /// A formula over operands of this node, or over what was made of them.
    pub(super) fn formula(&self, operands: &[AnyTensorRef<'_>], f: impl for<'f> Fn(&[Value<'f>]) -> Value<'f>) -> Made {
        self.several(operands, |x| vec![f(x)])
    }

    /// A formula that gives several.
    pub(super) fn several(
        &self,
        operands: &[AnyTensorRef<'_>],
        f: impl for<'f> Fn(&[Value<'f>]) -> Vec<Value<'f>>,
    ) -> Made {
        let formula = Formula::new(operands.iter().map(AnyTensorRef::dtype).collect());
        let outputs = f(&formula.inputs());
        self.device.map_any(&formula.expr(&outputs), &[], operands)
    }

    /// A formula of all operands.
    pub(super) fn all(&self, f: impl for<'f> Fn(&[Value<'f>]) -> Value<'f>) -> Made {
        self.formula(&self.inputs(), f)
    }

    /// A formula of one operand.
    pub(super) fn one(&self, f: impl for<'f> Fn(Value<'f>) -> Value<'f>) -> Made {
        self.formula(&self.inputs()[..1], |x| f(x[0]))
    }

    /// A formula of two operands.
    pub(super) fn two(&self, f: impl for<'f> Fn(Value<'f>, Value<'f>) -> Value<'f>) -> Made {
        self.formula(&self.inputs()[..2], |x| f(x[0], x[1]))
    }

    /// A new tensor of these extents by a formula of the positions.
    pub(super) fn tabulate(&self, extents: &[usize], f: impl for<'f> Fn(&'f Formula) -> Value<'f>) -> Made {
        let formula = Formula::new(vec![]);
        let expr = formula.expr(&[f(&formula)]);
        self.device.tabulate_any(extents, &expr, &[])
    }

    /// A view, as a tensor of its own.
    pub(super) fn view(&self, x: Result<AnyTensorRef<'_>>) -> Made {
        Ok(vec![self.device.contiguous_any(x?)?])
    }

    /// Integers that the host knows.
    pub(super) fn known(&self, extents: &[usize], values: &[i64]) -> Made {
        Ok(vec![self.device.tensor_any(DType::I64, extents, bytemuck::cast_slice(values))?])
    }

    /// An axis, counted from the end if negative.
    pub(super) fn axis(&self, axis: i64, rank: usize) -> usize {
        (if axis < 0 { axis + rank as i64 } else { axis }) as usize
    }

    /// A tensor with other extents.
    pub(super) fn reshaped(&self, x: AnyTensor, extents: &[usize]) -> AnyTensor {
        let (buffer, layout) = x.into_parts();
        let layout = layout.reshape(extents).unwrap();
        AnyTensor::from_buffer(buffer, layout).unwrap()
    }

    /// The extents to which the operands are broadcast.
    pub(super) fn common(&self, more: &[usize]) -> Vec<usize> {
        Layout::broadcast_extents(&[self.input(0).shape(), more]).unwrap()
    }
}
