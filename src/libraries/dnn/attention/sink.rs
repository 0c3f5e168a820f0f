//! The gradient of the sink.

use super::call::any;
use super::rows::four;
use super::spec::Attention;
use crate::core::dispatch::PendingDispatch;
use crate::core::element::DType;
use crate::core::error::{Error, Result};
use crate::device::tensor::{AnyTensorRef, ReadableTensor, Tensor};
use crate::libraries::dnn::formulas::{cast, either, formula};
use crate::libraries::dnn::{Dnn, DnnElement};
use crate::libraries::expressions::constant;
use crate::libraries::expressions::formula::Recorded;
use crate::libraries::expressions::operands::Read;
use crate::libraries::reductions::ReductionKind;
use crate::libraries::reductions::front::{Call, submit};

/// Of the result, its gradient, the logarithms of the sums and the sink: the weight of the sink times the slope, negative. A query that
/// sees no key has no result, whatever its sum is.
fn slope(dtype: DType, sums: DType) -> Result<Recorded> {
    formula(&[dtype, dtype, sums, dtype], |inputs| {
        let [o, dy, sum, sink] = inputs else { return Vec::new() };
        let [o, dy, sink] = [o, dy, sink].map(|x| cast(*x, sums));
        let weight = (sink - *sum).exp();
        vec![either(sum.eq(f64::NEG_INFINITY), constant(0.0), -(weight * o * dy), sums)]
    })
}

/// The extents of the operands, which are checked.
fn extents(o: &AnyTensorRef<'_>, dy: &AnyTensorRef<'_>, sums: &AnyTensorRef<'_>) -> Result<[usize; 4]> {
    let [batch, heads, queries, width] = four("o", o.shape())?;
    for (name, view, wanted) in
        [("dy", dy, &[batch, heads, queries, width][..]), ("log_sums", sums, &[batch, heads, queries])]
    {
        if view.shape() != wanted {
            return Err(Error::invalid(name, format!("extents {:?} where {wanted:?} are needed", view.shape())));
        }
    }
    Ok([batch, heads, queries, width])
}

impl Dnn {
    /// The gradient of [`Attention::sink`], with an element for each head: `o` and `log_sums` are what
    /// [`attend_training`](Self::attend_training) has given, `dy` is the gradient of `o`. A reduction of ours: the same bits each time, on
    /// both engines.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::dnn::Attention;
    /// let device = windlass::Device::host()?;
    /// let (x, sink) = (device.tensor([1, 1, 1, 1], [1.0f32])?, device.tensor([1], [1.0f32])?);
    /// let spec = Attention::new().sink(&sink);
    /// let (o, sums) = device.dnn().attend_training(&spec, &x, &x, &x)?.await_result()?;
    /// let slope = device.dnn().attend_sink_gradient(&spec, &o, &x, &sums)?.await_result()?;
    /// assert_eq!([device.item(&o)?, device.item(&slope)?], [0.5, -0.25]);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for settings without a sink, and for extents that do not fit; a stale tensor, or one of another device;
    /// [`Error::OutOfMemory`].
    pub fn attend_sink_gradient<'a, T: DnnElement>(
        &self,
        spec: &Attention<'_, T>,
        o: impl ReadableTensor<'a, T>,
        dy: impl ReadableTensor<'a, T>,
        log_sums: impl ReadableTensor<'a, T::Sum>,
    ) -> Result<PendingDispatch<Tensor<T>>> {
        let (o, dy, sums) = (o.into(), dy.into(), log_sums.into());
        let reads = sink_reads(spec.sink.as_ref().map(any), [any(&o), any(&dy), any(&sums)])
            .map_err(|error| error.in_op("attend_sink_gradient", "dnn"))?;
        let (own, wide) = (T::DTYPE, <T::Sum as crate::core::element::Element>::DTYPE);
        let finish = formula(&[wide], |sum| sum.iter().map(|sum| cast(*sum, own)).collect());
        let call = Call {
            kind: ReductionKind::Sum,
            less: 0,
            axes: &[0, 2, 3],
            formula: slope(own, wide),
            finish: Some(finish),
        };
        submit(&self.device, call, Ok(reads.into_iter().collect()))
    }
}

/// All operands, with the extents of the result.
fn sink_reads<'a>(sink: Option<AnyTensorRef<'a>>, [o, dy, sums]: [AnyTensorRef<'a>; 3]) -> Result<Vec<Read<'a>>> {
    let sink = sink.ok_or_else(|| Error::invalid("spec", "it has no sink; `Attention::sink` sets one"))?;
    let all = extents(&o, &dy, &sums)?;
    if sink.shape() != [all[1]] {
        return Err(Error::invalid("sink", format!("extents {:?} where {:?} are needed", sink.shape(), [all[1]])));
    }
    let sums = sums.unsqueeze(-1)?.broadcast(all)?;
    let sink = sink.unsqueeze(-1)?.unsqueeze(-1)?.unsqueeze(0)?.broadcast(all)?;
    [o, dy, sums, sink].iter().map(AnyTensorRef::operand).collect()
}
