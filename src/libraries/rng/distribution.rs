//! The distributions as specifications: plain data, checked when a draw is submitted.

use super::host::math::{exp64, ln_factorial, ln64};
use super::layout::Kind;
use super::parameter::{Float, held, reached};
use super::spec::{BinomialPlan, FEW, Method, PoissonPlan, Spec};
use crate::core::element::Element;
use crate::core::error::{Error, Result};
use half::{bf16, f16};

mod sealed {
    use super::{Kind, Result, Spec};

    /// What a distribution means for elements of this type.
    pub trait Plan<T> {
        const OF: &'static str;
        fn spec(&self) -> Result<Spec>;
    }

    pub trait Number {
        const KIND: Kind;
        #[cfg(feature = "host")]
        fn make(draw: &mut crate::libraries::rng::host::fill::Batch<'_>, out: &mut [Self])
        where
            Self: Sized;
    }
}
pub(super) use sealed::{Number, Plan};

/// The element types of random numbers: `f16`, `bf16`, `f32`, `f64` and the integers. Sealed.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no element type of random numbers",
    label = "expected f32, f64, f16, bf16 or an integer"
)]
pub trait Random: Element + Number {}
impl<T: Element + Number> Random for T {}

/// A distribution of numbers of type `T`. Sealed.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no distribution of numbers of type `{T}`",
    label = "expected a distribution of `windlass::rng` for `{T}`: `Uniform`, `Normal`, `Poisson` and others"
)]
pub trait Distribution<T: Random>: Plan<T> + Copy + Send + Sync + 'static {}
impl<T: Random, D: Plan<T> + Copy + Send + Sync + 'static> Distribution<T> for D {}

/// The name of a distribution's op.
pub(super) const fn name<T: Random, D: Distribution<T>>() -> &'static str {
    <D as Plan<T>>::OF
}

/// A distribution as plain data, with its parameters checked.
pub(super) fn spec<T: Random, D: Distribution<T>>(of: &D) -> Result<Spec> {
    of.spec()
}

macro_rules! plans { ($(($($t:ty),*) $d:ty, $of:literal: |$this:ident| $spec:expr;)*) => { $($(
    impl Plan<$t> for $d {
        const OF: &'static str = $of;
        fn spec(&self) -> Result<Spec> {
            #[allow(dead_code, reason = "only floats have parameters in the type of the element")]
            type Of = $t;
            let $this = self;
            $spec
        }
    }
)*)* } }
plans! {
    (u32, u64) Bits, "bits": |_this| Ok(Spec::Bits);
    (f16, bf16, f32, f64) Uniform, "uniform": |this| Ok(Spec::Uniform { lower: this.ends == Ends::Lower });
    (f16, bf16, f32, f64) Normal, "normal": |this| this.plan::<Of>(false);
    (f16, bf16, f32, f64) LogNormal, "log_normal": |this| this.0.plan::<Of>(true);
    (f16, bf16, f32, f64) Exponential, "exponential": |this| this.plan::<Of>();
    (u8) Bernoulli, "bernoulli": |this| this.plan();
    (u32) Poisson, "poisson": |this| this.plan();
    (u32) Binomial, "binomial": |this| this.plan();
}

/// The generator's own bits, of `u32` or `u64`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bits;

/// Which end of the unit interval is included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ends {
    /// Above 0, and up to 1: cuRAND's convention. A logarithm of it is finite.
    #[default]
    Upper,
    /// From 0 on, and below 1: the convention of NumPy, Rust and C++.
    Lower,
}

/// Uniform numbers in the unit interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Uniform {
    ends: Ends,
}

impl Uniform {
    /// Above 0, and up to 1: cuRAND's own bits for `f32` and `f64`. Halves are multiples of 2^-11 (`f16`) or 2^-8 (`bf16`).
    pub const fn above_zero() -> Self {
        Uniform { ends: Ends::Upper }
    }

    /// From 0 on, and below 1: multiples of 2^-24 (`f32`), 2^-53 (`f64`), 2^-11 (`f16`) or 2^-8 (`bf16`).
    pub const fn below_one() -> Self {
        Uniform { ends: Ends::Lower }
    }
}

/// Normal numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Normal {
    mean: f64,
    deviation: f64,
    method: Option<Method>,
}

impl Normal {
    /// With this mean and standard deviation. The method is Box and Muller's with our own functions; for quasi-random
    /// sequences it is the inverse of the distribution function. The bits are the same on every engine.
    ///
    /// A draw is refused if its element type cannot hold ten deviations to both sides of the mean, or rounds the deviation
    /// to 0.
    pub const fn new(mean: f64, deviation: f64) -> Self {
        Normal { mean, deviation, method: None }
    }

    /// Mean 0 and standard deviation 1.
    pub const fn standard() -> Self {
        Normal::new(0.0, 1.0)
    }

    /// The same distribution, by the inverse of the distribution function: each uniform number gives one normal number,
    /// which increases with it. The bits are the same on every engine.
    pub const fn by_quantile(self) -> Self {
        Normal { method: Some(Method::Quantile), ..self }
    }

    /// The same distribution, as cuRAND's host generator makes it, with the functions of the C library: cuRAND's bits
    /// if that is glibc. For Philox, XORWOW and MRG32k3a; `Unsupported` for other generators. For a GPU the CPU makes
    /// the numbers, and they are copied.
    pub const fn curand(self) -> Self {
        Normal { method: Some(Method::Curand), ..self }
    }

    fn plan<T: Float>(&self, log: bool) -> Result<Spec> {
        /// No generator gives numbers that are farther from the mean, in deviations.
        const FARTHEST: f64 = 10.0;
        let Normal { mean, deviation, method } = *self;
        if !mean.is_finite() {
            return Err(Error::invalid("mean", format!("{mean} is not finite")));
        }
        if !deviation.is_finite() || deviation < 0.0 {
            return Err(Error::invalid("deviation", format!("{deviation} is negative or not finite")));
        }
        reached::<T>("mean", mean, mean.abs())?;
        held::<T>("deviation", deviation)?;
        reached::<T>("deviation", deviation, mean.abs() + FARTHEST * deviation)?;
        // `Draw::new` changes the method for quasi-random sequences.
        Ok(Spec::Normal { mean, deviation, log, method: method.unwrap_or(Method::BoxMuller) })
    }
}

/// Numbers whose logarithms are normal.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LogNormal(pub Normal);

impl LogNormal {
    /// With this mean and standard deviation of the logarithms.
    pub const fn new(mean: f64, deviation: f64) -> Self {
        LogNormal(Normal::new(mean, deviation))
    }
}

/// Exponentially distributed numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Exponential {
    /// The mean, the inverse of the rate.
    pub mean: f64,
}

impl Exponential {
    /// With this mean; of mean 0, all numbers are 0. A draw is refused if its element type cannot hold 40 means, or rounds
    /// the mean to 0.
    pub const fn new(mean: f64) -> Self {
        Exponential { mean }
    }

    fn plan<T: Float>(&self) -> Result<Spec> {
        /// No generator gives a greater number, in means: the least uniform number is 2^-54.
        const GREATEST: f64 = 40.0;
        let mean = self.mean;
        if !mean.is_finite() || mean < 0.0 {
            return Err(Error::invalid("mean", format!("{mean} is negative or not finite")));
        }
        held::<T>("mean", mean)?;
        reached::<T>("mean", mean, GREATEST * mean)?;
        Ok(Spec::Exponential { mean: mean.abs() })
    }
}

fn probability(p: f64) -> Result<()> {
    if (0.0..=1.0).contains(&p) {
        return Ok(());
    }
    Err(Error::invalid("p", format!("{p} is not a probability, from 0 to 1")))
}

/// 1 with probability `p`, else 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bernoulli {
    /// The probability of 1.
    pub p: f64,
}

impl Bernoulli {
    /// 1 with probability `p`, rounded down to a multiple of 2^-64.
    pub const fn new(p: f64) -> Self {
        Bernoulli { p }
    }

    fn plan(&self) -> Result<Spec> {
        probability(self.p)?;
        // Times 2^64; the conversion saturates.
        let threshold = (self.p * 18_446_744_073_709_551_616.0) as u64;
        Ok(Spec::Bernoulli { threshold, always: self.p == 1.0 })
    }
}

/// Numbers of events at a constant rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Poisson {
    /// The mean: from 0 to 2^30.
    pub lambda: f64,
}

impl Poisson {
    /// With this mean; of mean 0, all numbers are 0.
    pub const fn new(lambda: f64) -> Self {
        Poisson { lambda }
    }

    fn plan(&self) -> Result<Spec> {
        let lambda = self.lambda;
        if !(0.0..=f64::from(1u32 << 30)).contains(&lambda) {
            return Err(Error::invalid("lambda", format!("{lambda}, but it must be from 0 to 2^30")));
        }
        // Of such a mean every number is 0, too.
        let lambda = lambda.max(f64::MIN_POSITIVE);
        let b = 0.931 + 2.53 * lambda.sqrt();
        let inverse_alpha = 1.1239 + 1.1328 / (b - 3.4);
        let many = lambda >= FEW;
        Ok(Spec::Poisson(PoissonPlan {
            lambda,
            zero: exp64(-lambda),
            ln_lambda: ln64(lambda),
            a: -0.059 + 0.02483 * b,
            b,
            ln_inverse_alpha: if many { ln64(inverse_alpha) } else { 0.0 },
            v_r: if many { 0.9277 - 3.6224 / (b - 2.0) } else { 0.0 },
        }))
    }
}

/// The number of successes in independent trials.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Binomial {
    /// The number of trials.
    pub n: u32,
    /// The probability of a success.
    pub p: f64,
}

impl Binomial {
    /// `n` trials with probability `p`.
    pub const fn new(n: u32, p: f64) -> Self {
        Binomial { n, p }
    }

    fn plan(&self) -> Result<Spec> {
        probability(self.p)?;
        let (n, flipped) = (f64::from(self.n), self.p > 0.5);
        let p = if flipped { 1.0 - self.p } else { self.p };
        let q = 1.0 - p;
        let search = n * p < FEW;
        // ln(1 - p), corrected for the rounding of 1 - p.
        let ln_q = ln64(q) + ((1.0 - q) - p) / q;
        let spread = (n * p * q).sqrt();
        let b = 1.15 + 2.53 * spread;
        let mode = ((n + 1.0) * p).floor();
        let odds = p / q;
        Ok(Spec::Binomial(BinomialPlan {
            n,
            flipped,
            search,
            zero: exp64(n * ln_q),
            odds,
            a: -0.0873 + 0.0248 * b + 0.01 * p,
            b,
            c: n * p + 0.5,
            v_r: 0.92 - 4.2 / b,
            alpha: (2.83 + 5.1 / b) * spread,
            ln_odds: if search { 0.0 } else { ln64(odds) },
            mode,
            h: ln_factorial(mode) + ln_factorial(n - mode),
        }))
    }
}

#[cfg(not(feature = "host"))]
macro_rules! numbers { ($($t:ty: $kind:ident;)*) => { $(
    impl Number for $t {
        const KIND: Kind = Kind::$kind;
    }
)* } }
#[cfg(not(feature = "host"))]
numbers! {
    f16: Single; bf16: Single; f32: Single; f64: Double; u32: Word; i32: Integer; u64: Integer; i64: Integer; u8: Integer;
    i8: Integer; u16: Integer; i16: Integer;
}
