//! Quantiles along an axis: two neighbours of the sorted elements, and what lies between them.

use super::bins::Measured;
use crate::core::dispatch::PendingDispatch;
use crate::core::error::{Error, Result};
use crate::device::Device;
use crate::device::tensor::{ReadableTensor, Tensor};
use crate::libraries::expressions::Symbol;

/// How a quantile is made of the elements beside it: the nine methods of Hyndman and Fan (Sample Quantiles in Statistical Packages,
/// 1996), and four others, under NumPy's names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Method {
    /// The element that the inverse of the distribution gives: method 1.
    InvertedCdf,
    /// As that, with the mean of two where it steps: method 2.
    AveragedInvertedCdf,
    /// The closest element, of two the one of even number: method 3.
    ClosestObservation,
    /// The inverse of the distribution with lines between its steps: method 4.
    InterpolatedInvertedCdf,
    /// Lines between the middles of the steps: method 5.
    Hazen,
    /// Method 6.
    Weibull,
    /// Lines from the smallest to the largest element: method 7.
    #[default]
    Linear,
    /// Median-unbiased for any distribution: method 8.
    MedianUnbiased,
    /// Unbiased for the normal distribution: method 9.
    NormalUnbiased,
    /// The element below.
    Lower,
    /// The element above.
    Higher,
    /// The mean of both.
    Midpoint,
    /// The nearer one; of two, the one of even number.
    Nearest,
}

impl Method {
    /// The numbers of two elements of `n`, and how much of the way from the first to the second.
    pub(super) fn place(self, n: usize, q: f64) -> (usize, usize, f64) {
        let (all, last) = (n as f64, n as f64 - 1.0);
        let lines = |alpha: f64, beta: f64| all * q + (alpha + q * (1.0 - alpha - beta)) - 1.0;
        let one = |at: f64| {
            let at = at.clamp(0.0, last) as usize;
            (at, at, 0.0)
        };
        let virtual_index = match self {
            Method::Lower => return one((last * q).floor()),
            Method::Higher => return one((last * q).ceil()),
            Method::Nearest => return one((last * q).round_ties_even()),
            Method::InvertedCdf => {
                let at = all * q - 1.0;
                return one(at.ceil());
            }
            Method::ClosestObservation => {
                let at = all * q - 1.0 - 0.5;
                let stays = at == at.floor() && at.floor().rem_euclid(2.0) == 1.0;
                return one(if stays { at.floor() } else { at.floor() + 1.0 });
            }
            Method::Midpoint => 0.5 * ((last * q).floor() + (last * q).ceil()),
            Method::AveragedInvertedCdf => all * q - 1.0,
            Method::InterpolatedInvertedCdf => lines(0.0, 1.0),
            Method::Hazen => lines(0.5, 0.5),
            Method::Weibull => lines(0.0, 0.0),
            Method::Linear => last * q,
            Method::MedianUnbiased => lines(1.0 / 3.0, 1.0 / 3.0),
            Method::NormalUnbiased => lines(3.0 / 8.0, 3.0 / 8.0),
        };
        let before = virtual_index.floor();
        let part = virtual_index - before;
        let part = match self {
            Method::AveragedInvertedCdf => {
                if part == 0.0 {
                    0.5
                } else {
                    1.0
                }
            }
            Method::Midpoint => {
                if part == 0.5 {
                    0.5
                } else {
                    0.0
                }
            }
            _ => part,
        };
        match virtual_index {
            at if at >= last => (n - 1, n - 1, part),
            at if at < 0.0 => (0, 0, part),
            _ => (before as usize, before as usize + 1, part),
        }
    }
}

/// Quantiles.
impl Device {
    /// Quantiles along an axis, for numbers from 0 to 1: NumPy's `quantile`. The result has an axis for them in front, and lacks the
    /// other one. A NaN on the axis gives NaN. Between equal elements, infinite ones too, lie equal ones; between a finite and an
    /// infinite one the infinite one; between both infinite ones NaN.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::arrays::Method;
    /// let device = windlass::Device::best()?;
    /// let x = device.tensor([2, 4], [3.0f32, 1.0, 4.0, 2.0, 0.0, 30.0, 10.0, 20.0])?;
    /// let quartiles = device.quantile(&x, &[0.25, 0.5], 1, Method::Linear)?.await_result()?;
    /// assert_eq!(device.show(&quartiles)?.to_string(), "[[ 1.75  7.5 ]\n [ 2.5  15.  ]]");
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for an axis that is not there or has no element, no number, and one that is not from 0 to 1; a stale
    /// tensor, or one of another device; [`Error::OutOfMemory`].
    #[doc(alias = "percentile")]
    pub fn quantile<'a, T: Measured>(
        &self,
        x: impl ReadableTensor<'a, T>,
        q: &[f64],
        axis: isize,
        method: Method,
    ) -> Result<PendingDispatch<Tensor<T>>> {
        let wrong = |q: &&f64| !(0.0..=1.0).contains(*q);
        if let Some(q) = q.iter().find(wrong) {
            return Err(Error::invalid("q", format!("{q} is not from 0 to 1")));
        }
        if q.is_empty() {
            return Err(Error::invalid("q", "the list is empty, but at least one is needed"));
        }
        let sorted = self.sort(x, axis)?.into_output();
        let rank = sorted.rank() as isize;
        let n = sorted.shape().get((if axis < 0 { axis + rank } else { axis }) as usize).copied().unwrap_or(0);
        if n == 0 {
            return Err(Error::invalid("x", format!("no element along axis {axis}")));
        }
        let last = sorted.index(axis, -1)?;
        let of = |q: &f64| {
            let (one, other, part) = method.place(n, *q);
            let (a, b) = (sorted.index(axis, one as isize)?, sorted.index(axis, other as isize)?);
            let quantile = self.map((&a, &b, &last), |(a, b, last)| {
                let at = |a: Symbol<T>, b: Symbol<T>| {
                    let distance = b - a;
                    let between = if part >= 0.5 { b - distance * (1.0 - part) } else { a + distance * part };
                    (distance, between)
                };
                let (distance, near) = at(a, b);
                // Two whose distance is beyond the type are halved first. Beside an infinite element lies that one, but for all
                // of the other one.
                let (sum, (_, halved)) = (a + b, at(a * 0.5, b * 0.5));
                let far = match part {
                    0.0 => a,
                    1.0 => b,
                    _ => sum.isfinite().select(halved * 2.0, sum),
                };
                let between = distance.isfinite().select(near, far);
                last.ne(last).select(last, a.eq(b).select(a, between))
            })?;
            Ok(quantile.into_output())
        };
        let all = q.iter().map(of).collect::<Result<Vec<Tensor<T>>>>()?;
        self.stack(all.iter().map(Tensor::view), 0)
    }

    /// The median along an axis, which vanishes: the mean of the two elements in the middle.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// let device = windlass::Device::best()?;
    /// let x = device.tensor([4], [9.0f32, 1.0, 4.0, 2.0])?;
    /// assert_eq!(device.item(&device.median(&x, 0)?.await_result()?)?, 3.0);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As [`quantile`](Self::quantile).
    pub fn median<'a, T: Measured>(
        &self,
        x: impl ReadableTensor<'a, T>,
        axis: isize,
    ) -> Result<PendingDispatch<Tensor<T>>> {
        let median = self.quantile(x, &[0.5], axis, Method::Linear)?.into_output();
        self.contiguous(median.index(0, 0)?)
    }
}
