//! Ranges of numbers.

use super::distribution::Plan;
use super::spec::Spec;
use crate::core::error::{Error, Result};
use half::{bf16, f16};
use std::ops::{Bound, RangeBounds};

/// Uniform numbers in a range: integers (without bias), `Between::new(1..=6)`, or floats from the beginning of the
/// range on and below its end, `Between::new(-1.0..1.0)`. A beginning that the range excludes
/// (`(Bound::Excluded(1), Bound::Included(3))`) is never drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Between<T> {
    low: Bound<T>,
    high: Bound<T>,
}

impl<T: Copy> Between<T> {
    /// The numbers of a range. Without a beginning, it begins with the least value of the type; without an end, a range
    /// of integers ends with the greatest. Empty ranges, and ranges of floats that are not finite, have no end or
    /// include it, are refused when numbers are drawn.
    pub fn new(range: impl RangeBounds<T>) -> Self
    where
        T: Limits,
    {
        let low = match range.start_bound().cloned() {
            Bound::Unbounded => Bound::Included(T::LEAST),
            low => low,
        };
        Between { low, high: range.end_bound().cloned() }
    }
}

/// The least value of an element type of [`Between`].
pub trait Limits: Sized {
    #[doc(hidden)]
    const LEAST: Self;
}

fn empty<T: std::fmt::Debug>(low: Bound<T>, high: Bound<T>) -> Error {
    let range = match (low, high) {
        (Bound::Included(low), Bound::Included(high)) => format!("{low:?}..={high:?}"),
        (Bound::Included(low), Bound::Excluded(high)) => format!("{low:?}..{high:?}"),
        bounds => format!("{bounds:?}"),
    };
    Error::invalid("range", format!("{range} is empty"))
}

macro_rules! ranges { ($($t:ty),*) => { $(
    impl Limits for $t {
        const LEAST: Self = <$t>::MIN;
    }

    impl Plan<$t> for Between<$t> {
        const OF: &'static str = "integers";
        fn spec(&self) -> Result<Spec> {
            let low = match self.low {
                Bound::Included(low) => Some(low),
                Bound::Excluded(low) => low.checked_add(1),
                Bound::Unbounded => Some(<$t>::MIN),
            };
            let last = match self.high {
                Bound::Included(high) => Some(high),
                Bound::Excluded(high) => high.checked_sub(1),
                Bound::Unbounded => Some(<$t>::MAX),
            };
            let Some((low, last)) = low.zip(last).filter(|(low, last)| low <= last) else {
                return Err(empty(self.low, self.high));
            };
            // A span of 2^64 wraps to 0.
            let span = (last as u64).wrapping_sub(low as u64).wrapping_add(1);
            Ok(Spec::Integers { start: low as u64, span })
        }
    }
)* } }
ranges! { u8, i8, u16, i16, u32, i32, u64, i64 }

/// The greatest number of the type below a finite `x`.
macro_rules! below {
    ($t:ty, $x:expr) => {{
        let bits = $x.to_bits();
        let sign = !(!0 >> 1);
        <$t>::from_bits(if bits & !sign == 0 {
            sign | 1
        } else if bits & sign == 0 {
            bits - 1
        } else {
            bits + 1
        })
    }};
}

macro_rules! float_ranges { ($($t:ty: $least:expr;)*) => { $(
    impl Limits for $t {
        const LEAST: Self = $least;
    }

    impl Plan<$t> for Between<$t> {
        const OF: &'static str = "between";
        fn spec(&self) -> Result<Spec> {
            let (begin, included) = match self.low {
                Bound::Included(low) => (low, true),
                Bound::Excluded(low) => (low, false),
                Bound::Unbounded => (<$t as Limits>::LEAST, true),
            };
            let Bound::Excluded(end) = self.high else {
                return Err(Error::invalid("range", "a range of floats needs an exclusive end (`a..b`)"));
            };
            let (begin_value, high) = (f64::from(begin), f64::from(end));
            // The width, in the type in which the numbers are computed.
            let narrow =
                if size_of::<$t>() == 8 { high - begin_value } else { f64::from(high as f32 - begin_value as f32) };
            if !narrow.is_finite() {
                return Err(Error::invalid("range", format!("the width from {begin_value} to {high} is not finite")));
            }
            // The least number above `x` is the negative of the greatest below `-x`.
            let low = if included { begin_value } else { -f64::from(below!($t, -begin)) };
            if low >= high {
                return Err(empty(self.low, self.high));
            }
            Ok(Spec::Between { low, high, last: f64::from(below!($t, end)) })
        }
    }
)* } }
float_ranges! { f16: f16::MIN; bf16: bf16::MIN; f32: f32::MIN; f64: f64::MIN; }
