//! Draws by weights, with parameters that are tensors, and random orders of the slices of a tensor: composed of draws, formulas
//! and gathers, so the bits are the same on every engine.

use crate::core::dispatch::PendingDispatch;
use crate::core::element::Element;
use crate::core::error::{Error, Result};
use crate::device::tensor::{Layout, ReadableTensor, Tensor, TensorRef};
use crate::libraries::expressions::{Symbol, constant, scalar};
use crate::libraries::rng::{Distribution, Exponential, Normal, Random, Rng, Uniform};

fn wrong(what: impl Into<String>) -> Error {
    Error::invalid("weights", what).in_op("choice", "rng")
}

/// The weights on the host, checked, and how many are above zero.
fn checked(rng: &Rng, weights: &TensorRef<'_, f64>) -> Result<(Vec<f64>, usize)> {
    if weights.rank() != 1 {
        return Err(wrong(format!("extents {:?} are no vector", weights.shape())));
    }
    if u32::try_from(weights.len()).is_err() {
        return Err(wrong(format!("{}, but a u32 counts less than 2^32", weights.len())));
    }
    let all = rng.device().download(weights)?.await_result()?;
    if let Some((i, w)) = all.iter().enumerate().find(|(_, w)| !(w.is_finite() && **w >= 0.0)) {
        return Err(wrong(format!("element {i} is {w}: negative or not finite")));
    }
    if !all.iter().sum::<f64>().is_finite() {
        return Err(wrong("their sum overflows: scale them"));
    }
    match all.iter().filter(|w| **w > 0.0).count() {
        0 => Err(wrong(format!("all {} are zero", all.len()))),
        some => Ok((all, some)),
    }
}

/// Weights of a sum below this are multiplied by [`UP`], so that a uniform number times their sum is no coarse multiple of the
/// smallest number. Powers of two change no draw.
const SMALL: f64 = f64::from_bits((1023 - 500) << 52);
const UP: f64 = f64::from_bits((1023 + 600) << 52);

/// The order of `t / w` as that of integers: the quotient may be beyond the range of `f64`.
fn rank(t: f64, w: f64) -> i64 {
    const BIAS: i64 = 1023;
    let (normal, moved) = if w < f64::MIN_POSITIVE { (w * UP, 600) } else { (w, 0) };
    let exponent = (normal.to_bits() >> 52) as i64 - BIAS - moved;
    let significand = f64::from_bits(normal.to_bits() << 12 >> 12 | (BIAS as u64) << 52);
    // The difference moves the exponent of the quotient, which is normal: times are 0, or between 2^-60 and 2^10.
    if t > 0.0 { (t / significand).to_bits() as i64 - ((exponent + BIAS) << 52) } else { i64::MIN }
}

/// The sums up to each element.
fn sums<'w>(weights: impl Iterator<Item = &'w f64>) -> Vec<f64> {
    let mut sum = 0.0;
    let add = |w: &f64| {
        sum += w;
        sum
    };
    weights.map(add).collect()
}

impl Rng {
    /// `count` indices of `weights`, with replacement: each is drawn with a probability proportional to its weight, by the search
    /// of a uniform number in the sums. Waits for the weights, which are added on the CPU.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when the weights are no vector, one is negative, infinite or NaN, all are zero, or their sum
    /// overflows; the failure of what makes them; else as [`draw`](Self::draw).
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// let device = windlass::Device::host()?;
    /// let weights = device.tensor([4], [0.0, 2.0, 0.0, 1.0])?;
    /// let drawn = device.rng(1).weighted_choice(&weights, 1000)?;
    /// let drawn = device.download(&drawn)?.await_result()?;
    /// assert!(drawn.iter().all(|i| [1, 3].contains(i)));
    /// assert!(device.rng(1).weighted_choice(&device.tensor([2], [1.0, -1.0])?, 10).is_err());
    /// # Ok(()) }
    /// ```
    pub fn weighted_choice<'a>(&mut self, weights: impl ReadableTensor<'a, f64>, count: usize) -> Result<Tensor<u32>> {
        let (mut weights, _) = checked(self, &weights.into())?;
        if weights.iter().sum::<f64>() < SMALL {
            weights.iter_mut().for_each(|w| *w *= UP);
        }
        let sums = sums(weights.iter());
        let total = sums.last().copied().unwrap_or_default();
        let last = total.next_down();
        let device = self.device().clone();
        let sums = device.tensor([sums.len()], sums)?;
        let u: Tensor<f64> = self.draw(Uniform::below_one(), [count])?.into_output();
        let place = device.map(&u, |u| (u * scalar(total)).min(scalar(last)))?.into_output();
        // The number of sums up to the place: it lies among the `left` from `low` on. The place is below the last sum.
        let (mut low, mut left) = (device.zeros::<u32>([count])?, weights.len());
        while left > 1 {
            let half = (left / 2) as u32;
            let probe = device.map(&low, |low| low + scalar(half - 1))?.into_output();
            // Inside, as said above.
            let sum = device.take(&sums, &probe, 0)?.never_reports().into_output();
            let step = |(low, sum, place): (Symbol<u32>, Symbol<f64>, Symbol<f64>)| {
                sum.le(place).select(low + scalar(half), low)
            };
            low = device.map((&low, &sum, &place), step)?.into_output();
            left -= left / 2;
        }
        Ok(low)
    }

    /// `count` different indices of `weights`, one after the other, each with a probability proportional to its weight among
    /// those that are left (Efraimidis and Spirakis 2006): the smallest of exponential numbers of these rates. Waits: the numbers
    /// are sorted on the CPU. An index of weight zero is never drawn.
    ///
    /// # Errors
    /// As [`weighted_choice`](Self::weighted_choice); [`Error::InvalidArgument`] for a `count` above the number of weights that
    /// are not zero.
    pub fn weighted_sample<'a>(&mut self, weights: impl ReadableTensor<'a, f64>, count: usize) -> Result<Tensor<u32>> {
        let (weights, some) = checked(self, &weights.into())?;
        if count > some {
            let what = format!("{count} different indices, but {some} weights are above zero");
            return Err(Error::invalid("count", what).in_op("choice", "rng"));
        }
        let times = self.draw::<f64>(Exponential::new(1.0), [weights.len()])?.await_result()?;
        let times = self.device().to_vec(&times)?;
        let each = (0u32..).zip(&weights).zip(times);
        let mut each: Vec<(i64, u32)> =
            each.filter(|((_, w), _)| **w > 0.0).map(|((i, w), t)| (rank(t, *w), i)).collect();
        if count < each.len() {
            each.select_nth_unstable(count);
            each.truncate(count);
        }
        each.sort_unstable();
        self.device().tensor([count], each.into_iter().map(|one| one.1).collect::<Vec<_>>())
    }

    /// How often each of the outcomes occurs in `trials` trials, `count` times: extents `[count, outcomes]`. The probabilities are
    /// proportional to `weights`. One binomial draw for each outcome but the last, of the trials that are left. Philox only.
    ///
    /// # Errors
    /// As [`weighted_choice`](Self::weighted_choice), and [`Error::Unsupported`] for another generator.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// let device = windlass::Device::host()?;
    /// let rolls = device.rng(1).multinomial(60, &device.tensor([6], [1.0; 6])?, 100)?;
    /// assert_eq!(rolls.shape(), [100, 6]);
    /// let rolls = device.download(&rolls)?.await_result()?;
    /// assert!(rolls.chunks(6).all(|of_60| of_60.iter().sum::<u32>() == 60));
    /// # Ok(()) }
    /// ```
    pub fn multinomial<'a>(
        &mut self,
        trials: u32,
        weights: impl ReadableTensor<'a, f64>,
        count: usize,
    ) -> Result<Tensor<u32>> {
        let (weights, _) = checked(self, &weights.into())?;
        let device = self.device().clone();
        // Of each outcome and those after it.
        let rest = sums(weights.iter().rev());
        let mut left = device.full([count], trials)?;
        let mut columns = Vec::new();
        for (j, (w, rest)) in weights.iter().zip(rest.iter().rev()).enumerate() {
            if j + 1 == weights.len() {
                break;
            }
            let p = if *rest > 0.0 { (w / rest).min(1.0) } else { 0.0 };
            // From 0 to 1.
            let drawn = self.binomial_each(&left, &device.tensor([1], [p])?)?.never_reports().into_output();
            left = device.map((&left, &drawn), |(left, drawn)| left - drawn)?.into_output();
            columns.push(drawn);
        }
        columns.push(left);
        Ok(device.stack(&columns, 1)?.into_output())
    }

    /// The slices of a tensor along an axis in a random order: those of a [`permutation`](Self::permutation).
    ///
    /// # Errors
    /// As [`take`](crate::Device::take) and [`permutation`](Self::permutation).
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// let device = windlass::Device::host()?;
    /// let x = device.tensor([2, 3], [1, 2, 3, 4, 5, 6])?;
    /// let y = device.rng(1).shuffled(&x, 1)?.into_output();
    /// let y = device.download(&y)?.await_result()?;
    /// assert!((0..3).all(|j| y[j + 3] == y[j] + 3)); // whole columns
    /// # Ok(()) }
    /// ```
    pub fn shuffled<'a, T: Element>(
        &mut self,
        x: impl ReadableTensor<'a, T>,
        axis: isize,
    ) -> Result<PendingDispatch<Tensor<T>>> {
        let x = x.into();
        let place = if axis < 0 { axis.checked_add_unsigned(x.rank()) } else { Some(axis) };
        let n = place.and_then(|place| x.shape().get(usize::try_from(place).ok()?));
        let what = || Error::invalid("axis", format!("{axis}, but the rank is {}", x.rank())).in_op("shuffled", "rng");
        let order = self.permutation(*n.ok_or_else(what)?)?.into_output();
        let device = self.device();
        // Each place of the axis, once.
        device.take(&x, &order, axis).map(PendingDispatch::never_reports)
    }

    /// Normal numbers, each with a mean and a standard deviation of its own: the two are broadcast to each other. They are the
    /// numbers of [`normal`](Self::normal), times the deviation, plus the mean. NaN where a deviation is negative or one of the two
    /// is NaN.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for tensors that are not broadcast to each other; else as [`draw`](Self::draw).
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// let device = windlass::Device::host()?;
    /// let (mean, deviation) = (device.tensor([2, 1], [0.0f32, 100.0])?, device.tensor([3], [0.0f32, 1.0, -1.0])?);
    /// let x = device.rng(1).normal_each(&mean, &deviation)?.await_result()?;
    /// assert_eq!((x.shape(), device.item(x.slice((1, 0))?)?), (&[2, 3][..], 100.0));
    /// assert!(device.item(x.slice((0, 2))?)?.is_nan());
    /// # Ok(()) }
    /// ```
    pub fn normal_each<'a, 'b, T: Random>(
        &mut self,
        mean: impl ReadableTensor<'a, T>,
        deviation: impl ReadableTensor<'b, T>,
    ) -> Result<PendingDispatch<Tensor<T>>>
    where
        Normal: Distribution<T>,
    {
        let (mean, deviation) = (mean.into(), deviation.into());
        let extents = Layout::broadcast_both(["mean", "deviation"], [mean.shape(), deviation.shape()])?;
        let drawn = self.draw(Normal::standard(), extents)?.into_output();
        self.device().map((&drawn, &mean, &deviation), |(z, mean, deviation)| {
            deviation.ge(constant(0.0)).select(z * deviation + mean, constant(f64::NAN))
        })
    }

    /// Exponentially distributed numbers, each with a mean of its own: those of [`exponential`](Self::exponential) of mean 1, times
    /// the mean. NaN where that is negative or NaN.
    ///
    /// # Errors
    /// As [`draw`](Self::draw).
    pub fn exponential_each<'a, T: Random>(
        &mut self,
        mean: impl ReadableTensor<'a, T>,
    ) -> Result<PendingDispatch<Tensor<T>>>
    where
        Exponential: Distribution<T>,
    {
        let mean = mean.into();
        let drawn = self.draw(Exponential::new(1.0), mean.shape())?.into_output();
        self.device().map((&drawn, &mean), |(x, mean)| mean.ge(constant(0.0)).select(x * mean, constant(f64::NAN)))
    }
}
