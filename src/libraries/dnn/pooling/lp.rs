//! Pooling by norms: powers, sums over windows, roots.

use super::front::{one, told};
use super::op::{Divide, Pass};
use super::spec::Pool;
use crate::core::dispatch::PendingDispatch;
use crate::core::element::Element;
use crate::core::error::{Error, Result};
use crate::device::tensor::{ReadableTensor, Tensor};
use crate::libraries::dnn::Dnn;
use crate::libraries::dnn::formulas::{Value, cast, either, formula};
use crate::libraries::expressions::constant;
use crate::libraries::expressions::front::make_one;
use crate::libraries::reductions::SoftmaxElement;

fn check(p: f64) -> Result<()> {
    if p.is_finite() && p >= 1.0 {
        return Ok(());
    }
    Err(told(Error::invalid("p", format!("{p}: the exponent of a norm is a number from 1 on"))))
}

/// `x^p` of what is not negative.
fn power(x: Value, p: f64) -> Value {
    match p {
        0.0 => either(x.lt(x), x, constant(1.0), x.raw.dtype().unwrap_or(crate::core::element::DType::F32)),
        1.0 => x,
        2.0 => x * x,
        0.5 => x.sqrt(),
        p => x.pow(p),
    }
}

impl Dnn {
    /// The p-norm of each window of [`Pool`]: `(sum |x|^p)^(1/p)`. Three dispatches.
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
        let extents = layout.extents().to_vec();
        let powers = formula(&[T::DTYPE], |x| x.iter().map(|x| power(cast(*x, T::Wide::DTYPE).abs(), p)).collect());
        let reads = [(read.into(), layout)];
        let powers: Tensor<T::Wide> = make_one(&self.device, powers.map_err(told)?, &reads, &extents)?.into_output();
        let view = powers.view();
        let (read, layout) = view.operand()?;
        let pass = Pass::Sum(Divide::Never);
        let sums: Tensor<T::Wide> = one(&self.device, pass, pool, &extents, vec![(read.into(), layout)])?.into_output();
        let roots = formula(&[T::Wide::DTYPE], |x| x.iter().map(|x| cast(power(*x, 1.0 / p), T::DTYPE)).collect());
        let view = sums.view();
        let (read, layout) = view.operand()?;
        make_one(&self.device, roots.map_err(told)?, &[(read.into(), layout)], sums.extents())
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
        let (extents, windows) = (x_layout.extents().to_vec(), y_layout.extents().to_vec());
        let wide = T::Wide::DTYPE;
        let shares = formula(&[T::DTYPE; 2], |inputs| match inputs {
            [y, dy] => {
                let (y, dy) = (cast(*y, wide), cast(*dy, wide));
                vec![either(y.gt(constant(0.0)), dy / power(y, p - 1.0), constant(0.0), wide)]
            }
            _ => Vec::new(),
        });
        let reads = [(y.into(), y_layout), (dy.into(), dy_layout)];
        let shares: Tensor<T::Wide> = make_one(&self.device, shares.map_err(told)?, &reads, &windows)?.into_output();
        let view = shares.view();
        let (read, layout) = view.operand()?;
        let pass = Pass::SumBack(Divide::Never);
        let sums: Tensor<T::Wide> = one(&self.device, pass, pool, &extents, vec![(read.into(), layout)])?.into_output();
        let own = formula(&[T::DTYPE, wide], |inputs| match inputs {
            [x, sum] => {
                let x = cast(*x, wide);
                let sign = either(
                    x.lt(constant(0.0)),
                    constant(-1.0),
                    either(x.gt(constant(0.0)), constant(1.0), x, wide),
                    wide,
                );
                vec![cast(*sum * power(x.abs(), p - 1.0) * sign, T::DTYPE)]
            }
            _ => Vec::new(),
        });
        let view = sums.view();
        let (sum, sum_layout) = view.operand()?;
        let reads = [(x.into(), x_layout), (sum.into(), sum_layout)];
        make_one(&self.device, own.map_err(told)?, &reads, &extents)
    }
}
