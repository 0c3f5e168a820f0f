//! The calls of a device.

use super::einsum::{Einsum, Expression};
use super::element::{Calls, TensorElement};
use super::known::{PlanRequest, Spec};
use super::network::Network;
use super::operands::TensorOperands;
use super::pair::Slot;
use super::path::{self, Path};
use super::plan::Plan;
use super::run::Run;
use super::settings::{Backend, Settings};
use crate::core::buffer::{AnyBuffers, AnyIn};
use crate::core::dispatch::PendingDispatch;
use crate::core::element::{DType, Element};
use crate::core::error::{Error, Result};
use crate::core::sync::Arc;
use crate::device::Device;
use crate::device::tensor::{Layout, Tensor, TensorRef};
use crate::libraries::blas::Math;
use crate::libraries::expressions::operands::Read;
use crate::libraries::tensor_routine::one_tensor;
use smallvec::SmallVec;

/// Contractions of tensors. See [the module](crate::tensor_ops).
#[derive(Clone, Debug)]
pub struct TensorOps {
    device: Device,
    pub(super) settings: Settings,
}

/// Fronts of libraries: contractions.
impl Device {
    /// Contractions of tensors.
    pub fn tensor_ops(&self) -> TensorOps {
        TensorOps { device: self.clone(), settings: Settings::default() }
    }
}

/// The error of a call.
pub(super) fn told(error: Error) -> Error {
    error.in_op("einsum", "tensor")
}

/// Operands without their types.
pub(super) fn reads<'v, T: Element>(views: &'v [TensorRef<'_, T>]) -> Result<SmallVec<[Read<'v>; 4]>> {
    let read = |view: &'v TensorRef<'_, T>| view.operand().map(|(part, layout)| (AnyIn::from(part), layout));
    views.iter().map(read).collect()
}

/// The values of operands of one type.
pub(super) fn slots(network: &Network, dtype: DType, reads: &[Read<'_>]) -> Result<Vec<Slot>> {
    let slot = |(k, (_, layout)): (usize, &Read<'_>)| {
        let (modes, layout) = network.view(k, layout)?;
        Ok(Slot { dtype, modes, layout, conjugate: false })
    };
    reads.iter().enumerate().map(slot).collect()
}

/// Submits an expression; compiled once for all types. Returns the extents of the result, too.
pub(super) fn submit(
    ops: &TensorOps,
    calls: &Calls,
    spec: Spec<'_>,
    reads: &[Read<'_>],
) -> Result<(PendingDispatch<AnyBuffers>, Vec<usize>)> {
    let plan = ops.asked(calls, spec, reads).plan(&ops.device).map_err(told)?;
    let pending = Run::new(&ops.device, calls, ops.settings.math, &plan, reads).all()?;
    Ok((pending, plan.extents.clone()))
}

/// The tensor of a result.
pub(super) fn typed<T: Element>(
    (pending, extents): (PendingDispatch<AnyBuffers>, Vec<usize>),
) -> Result<PendingDispatch<Tensor<T>>> {
    one_tensor(pending, Layout::row_major(extents)?)
}

impl Einsum {
    /// The path for operands of these extents, as a call finds it.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for operands that the expression does not fit, and when no path keeps the
    /// [memory limit](Self::memory_limit).
    pub fn search(&self, extents: &[&[usize]]) -> Result<Path> {
        path::search(&Network::new(self, extents)?, self.memory_limit, self.minimize)
    }
}

impl TensorOps {
    /// Its device.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// The same front, whose products are computed by this.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::tensor_ops::{Backend, Route};
    /// let device = windlass::Device::host()?;
    /// let (x, ops) = (device.zeros::<f32>([4, 4])?, device.tensor_ops().backend(Backend::OnePass));
    /// assert!(ops.explain("ij,jk->ik", (&x, &x))?.routes().eq([Route::Reduce]));
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn backend(mut self, backend: Backend) -> Self {
        self.settings.backend = backend;
        self
    }

    /// The same front with another precision of products of f32 and `Complex<f32>` on a GPU, as of [`Blas`](crate::Blas::math).
    /// Unless this is called, it is that of the type. cuTENSOR computes in TF32 and in the type's precision; other modes, and all
    /// of them for products of other types, go by `Blas`.
    #[must_use]
    pub fn math(mut self, math: Math) -> Self {
        self.settings.math = math;
        self
    }

    /// A call, to be looked up.
    pub(super) fn asked<'k>(&self, calls: &'k Calls, spec: Spec<'k>, reads: &'k [Read<'k>]) -> PlanRequest<'k> {
        PlanRequest { spec, calls, settings: self.settings, reads, conjugate: [false; 3], written: None }
    }

    /// The sum of products that the expression describes, as a new row-major tensor. Does not wait.
    ///
    /// The expression is a text, or an [`Einsum`] that is kept. The operands are tensors of one type.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// let device = windlass::Device::best()?;
    /// let ops = device.tensor_ops();
    /// let x = device.tensor([2, 2], [1.0f32, 2.0, 3.0, 4.0])?;
    /// let y = device.tensor([2], [10.0f32, 100.0])?;
    /// assert_eq!(device.show(&ops.einsum("ij,j", (&x, &y))?.await_result()?)?.to_string(), "[210. 430.]");
    /// assert_eq!(device.item(&ops.einsum("ii", [&x])?.await_result()?)?, 5.0); // the trace
    /// let sandwich = ops.einsum("i,ij,j->", (&y, &x, &y))?.await_result()?;
    /// assert_eq!(device.item(&sandwich)?, 45_100.0);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] that names the operand and the letter: another number of axes than letters, extents of one letter
    /// that differ and are not 1; what [`Einsum::parse`] refuses; a path that does not fit, or a memory limit that no path keeps;
    /// more than 64 letters in one step. A stale tensor, or one of another device; [`Error::OutOfMemory`].
    pub fn einsum<'a, T: TensorElement>(
        &self,
        expression: impl Expression,
        operands: impl TensorOperands<'a, T>,
    ) -> Result<PendingDispatch<Tensor<T>>> {
        let views = operands.views();
        typed(submit(self, &T::CALLS, expression.spec(), &reads(&views)?)?)
    }

    /// What [`einsum`](Self::einsum) of these operands will do: the path, the steps and what they cost. Nothing is submitted.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::tensor_ops::Route;
    /// let device = windlass::Device::host()?;
    /// let x = device.zeros::<f64>([4, 3, 2])?;
    /// let plan = device.tensor_ops().explain("abc,dbc->ad", (&x, &x))?;
    /// assert!(plan.routes().eq([Route::Gemm { batch: 1, m: 4, n: 4, k: 6 }])); // b and c are one
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// Those of [`einsum`](Self::einsum) that are seen before anything is submitted.
    pub fn explain<'a, T: TensorElement>(
        &self,
        expression: impl Expression,
        operands: impl TensorOperands<'a, T>,
    ) -> Result<Arc<Plan>> {
        let views = operands.views();
        self.asked(&T::CALLS, expression.spec(), &reads(&views)?).plan(&self.device).map_err(told)
    }
}
