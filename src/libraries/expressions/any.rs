//! Expressions over tensors whose element types are known only when the program runs.

use super::ir::{Expr, Node, Op, Overflow};
use super::scalar::Scalar;
use crate::core::element::DType;
use crate::core::error::{Error, Result};
use crate::device::Device;
use crate::device::tensor::{AnyTensor, AnyTensorRef, Layout};
use crate::libraries::expressions::op::Map;
use crate::libraries::tensor_routine::TensorRoutine;

/// Formulas of tensors whose types are known when the program runs.
impl Device {
    /// Computes the outputs of an expression as new row-major tensors: as [`map`](Self::map), but what the closure would have
    /// recorded is plain data. Does not wait.
    ///
    /// # Errors
    /// As [`map`](Self::map) and [`evaluate`](Self::evaluate).
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::expressions::{Formula, Symbol};
    /// let device = windlass::Device::best()?;
    /// let scaled = Formula::new(|(x, y): (Symbol<f32>, Symbol<f32>)| x * 2.0 + y)?;
    /// let (x, y) = (device.tensor([2], [1.0f32, 2.0])?, device.tensor([2, 1], [10.0f32, 20.0])?);
    /// let z = device.map_any(scaled.expr(), scaled.scalars(), &[(&x).into(), (&y).into()])?;
    /// assert_eq!(device.show_any(&z[0])?.to_string(), "[[12. 14.]\n [22. 24.]]");
    /// # Ok(()) }
    /// ```
    pub fn map_any(&self, expr: &Expr, scalars: &[Scalar], inputs: &[AnyTensorRef<'_>]) -> Result<Vec<AnyTensor>> {
        let all: Vec<&[usize]> = inputs.iter().map(AnyTensorRef::shape).collect();
        let extents =
            Layout::broadcast_extents(&all).map_err(|error| Map::refused(error.renamed(&[("operands", "inputs")])))?;
        self.made_any(expr, scalars, inputs, &extents)
    }

    /// Computes the outputs of an expression without inputs as new row-major tensors of these extents: as
    /// [`tabulate`](Self::tabulate). Does not wait.
    ///
    /// # Errors
    /// As [`map_any`](Self::map_any).
    pub fn tabulate_any(
        &self,
        extents: impl AsRef<[usize]>,
        expr: &Expr,
        scalars: &[Scalar],
    ) -> Result<Vec<AnyTensor>> {
        self.made_any(expr, scalars, &[], extents.as_ref())
    }

    /// The elements in another type, as a new row-major tensor: as [`Symbol::cast`](super::Symbol::cast), or as
    /// [`Symbol::cast_wrapping`](super::Symbol::cast_wrapping). Does not wait.
    ///
    /// # Errors
    /// A stale tensor, or one of another device; [`Error::OutOfMemory`].
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::{DType, Device, expressions::Overflow};
    /// let device = Device::best()?;
    /// let x = device.tensor([3], [1.75f32, -2.5, 300.0])?;
    /// let bytes = device.cast_any(&x, DType::U8, Overflow::Saturate)?;
    /// assert_eq!(device.show_any(&bytes)?.to_string(), "[  1   0 255]");
    /// # Ok(()) }
    /// ```
    pub fn cast_any<'a>(&self, x: impl Into<AnyTensorRef<'a>>, dtype: DType, overflow: Overflow) -> Result<AnyTensor> {
        let x = x.into();
        let nodes = vec![Node { op: Op::Input(0), dtype: x.dtype() }, Node { op: Op::Cast(overflow, 0), dtype }];
        let cast = Expr::admit(vec![x.dtype()], Vec::new(), nodes, vec![1]).map_err(Map::refused)?;
        let made = self.map_any(&cast, &[], &[x])?;
        made.into_iter().next().ok_or_else(|| Error::library("internal error: no output"))
    }

    fn made_any(
        &self,
        expr: &Expr,
        scalars: &[Scalar],
        inputs: &[AnyTensorRef<'_>],
        extents: &[usize],
    ) -> Result<Vec<AnyTensor>> {
        let layout = Layout::row_major(extents).map_err(Map::refused)?;
        let mut reads = Vec::with_capacity(inputs.len());
        for x in inputs {
            reads.push(x.broadcast(extents).and_then(|x| x.operand()).map_err(Map::refused)?);
        }
        let made: Result<Vec<_>> = expr.output_types().map(|dtype| self.uninit_any(dtype, extents)).collect();
        let writes = made?.into_iter().map(AnyTensor::into_parts).collect();
        let buffers = self.evaluate(expr, scalars, reads, writes)?.into_output();
        buffers.into_iter().map(|buffer| Ok(AnyTensor::from_buffer(buffer, layout.clone())?)).collect()
    }
}
