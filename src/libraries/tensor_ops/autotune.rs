//! Measures the ways of a call, and keeps the fastest.

use super::einsum::Expression;
use super::element::TensorElement;
use super::front::{TensorOps, reads, told};
use super::known::PlanRequest;
use super::operands::TensorOperands;
use super::run::Run;
use super::settings::{Backend, Settings};
use crate::core::clock::Clock;
use crate::core::error::{Error, Rejected, Result};
use crate::core::sync::Arc;
use smallvec::SmallVec;
use std::time::Duration;

/// One of the ways that [`TensorOps::autotune`] measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TunedRoute {
    /// What computes the products.
    pub backend: Backend,
    /// The median of the times of a call, with the wait for it.
    pub time: Duration,
}

/// Calls that are measured, after one that is not.
const ROUNDS: usize = 5;
/// One pass is not tried on more operations than this: it takes longer than products by far.
const FEW_OPERATIONS: u128 = 1 << 26;

impl TensorOps {
    /// Measures the ways of an expression on these operands, the fastest first. Later calls of the same expression, type and layouts by
    /// this front's [backend](Self::backend) take the fastest one, on all devices of this kind, until 256 others were called since.
    /// Waits for each call. Other work on the device at the same time distorts the times. The bits of results may be others than
    /// those of the way that was taken before.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// let device = windlass::Device::host()?;
    /// let x = device.full([3, 3, 3], 1.0f32)?;
    /// for route in device.tensor_ops().autotune("abc,cbd->ad", (&x, &x))? {
    ///     println!("{:?}: {:?}", route.backend, route.time);
    /// }
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As [`einsum`](Self::einsum). A way that the device does not have, or that fails with [`Error::Unsupported`], is left out.
    pub fn autotune<'a, T: TensorElement>(
        &self,
        expression: impl Expression,
        operands: impl TensorOperands<'a, T>,
    ) -> Result<Vec<TunedRoute>> {
        let views = operands.views();
        let reads = reads(&views)?;
        tune(self, &self.asked(&T::CALLS, expression.spec(), &reads)).map_err(told)
    }
}

fn tune(ops: &TensorOps, asked: &PlanRequest<'_>) -> Result<Vec<TunedRoute>> {
    let device = ops.device();
    let run = |plan: &Arc<super::plan::Plan>| -> Result<Duration> {
        let start = Clock::SYSTEM.start();
        let pending = Run::new(device, asked.calls, asked.settings.math, plan, asked.reads).all()?;
        pending.await_result().map_err(Rejected::into_error)?;
        Ok(start.elapsed())
    };
    let (mut measured, mut flops) = (Vec::with_capacity(3), 0);
    for backend in [Backend::Products, Backend::CuTensor, Backend::OnePass] {
        if backend == Backend::OnePass && flops > FEW_OPERATIONS {
            continue;
        }
        let by = PlanRequest { settings: Settings { backend, ..asked.settings }, written: None, ..*asked };
        let times = by.fresh(device).and_then(|plan| {
            let plan = Arc::new(plan);
            run(&plan)?;
            let times = (0..ROUNDS).map(|_| run(&plan)).collect::<Result<SmallVec<[Duration; ROUNDS]>>>()?;
            Ok((plan, times))
        });
        match times {
            Ok((plan, mut times)) => {
                flops = plan.flops();
                times.sort_unstable();
                let time = times.get(ROUNDS / 2).copied().unwrap_or(Duration::MAX);
                measured.push((TunedRoute { backend, time }, plan));
            }
            Err(Error::LibraryMissing { .. } | Error::Unsupported { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    measured.sort_by_key(|(route, _)| route.time);
    if let Some((_, plan)) = measured.first() {
        asked.keep(device, plan.clone());
    }
    Ok(measured.into_iter().map(|(route, _)| route).collect())
}
