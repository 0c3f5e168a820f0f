//! Pooling by norms: powers, sums over windows, roots.

use super::front::one;
use super::op::Pooling;
use super::op::{Divide, Pass};
use super::spec::Pool;
use crate::core::dispatch::PendingDispatch;
use crate::core::element::{DType, Element};
use crate::core::error::{Error, Result};
use crate::device::Device;
use crate::device::tensor::{ReadableTensor, Tensor, TensorRef};
use crate::libraries::dnn::Dnn;
use crate::libraries::dnn::formulas::{Value, cast, either, formula};
use crate::libraries::expressions::constant;
use crate::libraries::expressions::formula::Recorded;
use crate::libraries::expressions::front::make_one;
use crate::libraries::expressions::operands::Read;
use crate::libraries::reductions::front::{Call, submit as reduce};
use crate::libraries::reductions::{Keep, ReductionKind, SoftmaxElement};
use crate::libraries::tensor_routine::TensorRoutine;

fn check(p: f64) -> Result<()> {
    if p.is_finite() && p >= 1.0 {
        return Ok(());
    }
    Err(Pooling::refused(Error::invalid("p", format!("{p}: the exponent of a norm is a number from 1 on"))))
}

/// `x^p` of what is not negative.
fn power(x: Value, p: f64) -> Value {
    match p {
        0.0 => either(x.lt(x), x, constant(1.0), x.raw.dtype().unwrap_or(DType::F32)),
        1.0 => x,
        2.0 => x * x,
        0.5 => x.sqrt(),
        p => x.pow(p),
    }
}

/// Numbers in between are f64, where the powers of all others fit for exponents up to this.
const MOST_EXPONENT: f64 = 6.0;
const WIDE: DType = DType::F64;

/// The largest magnitude of each plane, by which elements are divided before their powers are taken, where those would not fit.
fn largest<T: SoftmaxElement>(
    device: &Device,
    (read, layout): Read<'_>,
    p: f64,
    pool: &Pool,
) -> Result<Option<Tensor<f64>>> {
    if (T::DTYPE != WIDE && p <= MOST_EXPONENT) || p == 1.0 || layout.is_empty() {
        return Ok(None);
    }
    let (rank, axes) = (layout.rank(), pool.axes(layout.shape()).map_err(Pooling::refused)?.len());
    let reduced = Keep((rank - axes..rank).map(|axis| axis as i32).collect::<Vec<_>>());
    let element = formula(&[T::DTYPE], |x| x.iter().map(|x| cast(*x, WIDE).abs()).collect());
    let call = Call { kind: ReductionKind::Max, less: 0, axes: &reduced, formula: element, finish: None };
    reduce(device, call, Ok([(read, layout)].into_iter().collect())).map(|made| Some(made.into_output()))
}

/// The operands of a formula, and the last one of them for the planes.
fn with<'r>(mut reads: Vec<Read<'r>>, largest: Option<&Read<'r>>, extents: &[usize]) -> Result<Vec<Read<'r>>> {
    if let Some((read, layout)) = largest {
        reads.push((*read, layout.broadcast(extents)?));
    }
    Ok(reads)
}

/// The scale of a plane: its largest magnitude, or 1 for one that nothing is divided by.
fn scale(largest: Option<&Value>) -> Value {
    let one = Value::new(crate::libraries::expressions::build::recording::leaf(1f64.into()));
    largest.map_or(one, |largest| {
        either(largest.gt(constant(0.0)) & largest.lt(constant(f64::INFINITY)), *largest, constant(1.0), WIDE)
    })
}

/// A formula of operands of these types, and of the scale of their plane.
fn scaled(types: &[DType], has_scale: bool, f: impl FnOnce(&[Value], Value) -> Option<Value>) -> Result<Recorded> {
    let mut all = types.to_vec();
    all.extend(has_scale.then_some(WIDE));
    let made = formula(&all, |inputs| {
        let (own, more) = inputs.split_at_checked(types.len()).unwrap_or_default();
        f(own, scale(more.first())).into_iter().collect()
    });
    made.map_err(Pooling::refused)
}

impl Dnn {
    /// The p-norm of each window of [`Pool`]: `(sum |x|^p)^(1/p)`. Three dispatches, or four.
    ///
    /// Numbers in between are `f64`. For elements of `f64`, and for `p` above 6, elements are divided by the largest one of their plane (of the
    /// axes of the windows) before: so nothing overflows, and only what is less than `2^(-1000/p)` of that may count as 0.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::dnn::Pool;
    /// let device = windlass::Device::best()?;
    /// let x = device.tensor([1, 4], [3.0f32, -4.0, 0.0, 2.0])?;
    /// let y = device.dnn().lp_pool(&x, 2.0, &Pool::new([2]))?.await_result()?;
    /// assert_eq!(device.show(&y)?.to_string(), "[[5. 2.]]");
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As [`max_pool`](Self::max_pool); [`Error::InvalidArgument`] for an exponent below 1.
    pub fn lp_pool<'a, T: SoftmaxElement>(
        &self,
        x: impl ReadableTensor<'a, T>,
        p: f64,
        pool: &Pool,
    ) -> Result<PendingDispatch<Tensor<T>>> {
        check(p)?;
        let x = x.into();
        let (read, layout) = x.operand()?;
        let (extents, x) = (layout.shape().to_vec(), (read.into(), layout));
        let largest = largest::<T>(&self.device, x.clone(), p, pool)?;
        let view = largest.as_ref().map(Tensor::view);
        let planes = view.as_ref().map(reading).transpose()?;
        let powers = scaled(&[T::DTYPE], planes.is_some(), |x, scale| {
            x.first().map(|x| power(cast(*x, WIDE).abs() / scale, p))
        })?;
        let reads = with(vec![x], planes.as_ref(), &extents)?;
        let powers: Tensor<f64> = make_one(&self.device, powers, &reads, &extents)?.into_output();
        let pass = Pass::Sum(Divide::Never);
        let sums: Tensor<f64> = one(&self.device, pass, pool, &extents, vec![reading(&powers.view())?])?.into_output();
        let roots = scaled(&[WIDE], planes.is_some(), |sum, scale| {
            sum.first().map(|sum| cast(power(*sum, 1.0 / p) * scale, T::DTYPE))
        })?;
        let of_sums = sums.view();
        let reads = with(vec![reading(&of_sums)?], planes.as_ref(), sums.shape())?;
        make_one(&self.device, roots, &reads, sums.shape())
    }

    /// The gradient of [`lp_pool`](Self::lp_pool) for `x`, by its result `y` and `dy` for that. Where `y` is 0 it is 0.
    ///
    /// # Errors
    /// As [`lp_pool`](Self::lp_pool).
    pub fn lp_pool_gradient<'a, 'y, 'd, T: SoftmaxElement>(
        &self,
        x: impl ReadableTensor<'a, T>,
        y: impl ReadableTensor<'y, T>,
        dy: impl ReadableTensor<'d, T>,
        p: f64,
        pool: &Pool,
    ) -> Result<PendingDispatch<Tensor<T>>> {
        check(p)?;
        let (x, y, dy) = (x.into(), y.into(), dy.into());
        let ((x, x_layout), (y, y_layout), (dy, dy_layout)) = (x.operand()?, y.operand()?, dy.operand()?);
        let (extents, windows) = (x_layout.shape().to_vec(), y_layout.shape().to_vec());
        let x = (x.into(), x_layout);
        let largest = largest::<T>(&self.device, x.clone(), p, pool)?;
        let view = largest.as_ref().map(Tensor::view);
        let planes = view.as_ref().map(reading).transpose()?;
        let shares = scaled(&[T::DTYPE; 2], planes.is_some(), |inputs, scale| {
            let [y, dy] = inputs else { return None };
            let (power, dy) = (power(cast(*y, WIDE) / scale, p - 1.0), cast(*dy, WIDE));
            // A power of 0 is that of 0, or of what counts as 0.
            Some(either(power.gt(constant(0.0)) & y.ne(constant(0.0)), dy / power, constant(0.0), WIDE))
        })?;
        let reads = with(vec![(y.into(), y_layout), (dy.into(), dy_layout)], planes.as_ref(), &windows)?;
        let shares: Tensor<f64> = make_one(&self.device, shares, &reads, &windows)?.into_output();
        let pass = Pass::SumBack(Divide::Never);
        let sums: Tensor<f64> = one(&self.device, pass, pool, &extents, vec![reading(&shares.view())?])?.into_output();
        let own = scaled(&[T::DTYPE, WIDE], planes.is_some(), |inputs, scale| {
            let [x, sum] = inputs else { return None };
            let x = cast(*x, WIDE);
            let above = either(x.gt(constant(0.0)), constant(1.0), x, WIDE);
            let sign = either(x.lt(constant(0.0)), constant(-1.0), above, WIDE);
            Some(cast(*sum * power(x.abs() / scale, p - 1.0) * sign, T::DTYPE))
        })?;
        let of_sums = sums.view();
        let reads = with(vec![x, reading(&of_sums)?], planes.as_ref(), &extents)?;
        make_one(&self.device, own, &reads, &extents)
    }
}

fn reading<'v, T: Element>(view: &'v TensorRef<'_, T>) -> Result<Read<'v>> {
    let (read, layout) = view.operand()?;
    Ok((read.into(), layout))
}
