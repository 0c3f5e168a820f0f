//! Normal numbers, and other distributions that are made from uniform numbers.

use super::math::{exp32, exp64, ln32, ln64, quantile, turn32, turn64};
use crate::numerics::isa::Loop;

/// How a standard normal number is transformed.
#[derive(Clone, Copy)]
pub(super) struct Scale<F> {
    pub(super) mean: F,
    pub(super) deviation: F,
    /// Take the exponential of the result.
    pub(super) log: bool,
}

macro_rules! normals { ($($f:ty: $polar:ident, $quantiles:ident, $exponential:ident, $between:ident,
    $ln:ident, $turn:ident, $exp:ident;)*) => { $(
    /// Pairs of normal numbers from pairs of uniform ones (Box and Muller 1958), the sine first.
    pub(super) struct $polar<'a> {
        pub(super) u: &'a [$f],
        pub(super) t: &'a [$f],
        pub(super) scale: Scale<$f>,
        pub(super) out: &'a mut [$f],
    }

    impl Loop for $polar<'_> {
        type Output = ();
        #[inline(always)]
        fn body(self) {
            let Scale { mean, deviation, log } = self.scale;
            let (pairs, _) = self.out.as_chunks_mut::<2>();
            for ((out, u), t) in pairs.iter_mut().zip(self.u).zip(self.t) {
                let r = (-2.0 * $ln(*u)).sqrt();
                let (sin, cos) = $turn(*t);
                *out = [deviation * (r * sin) + mean, deviation * (r * cos) + mean];
            }
            if log {
                self.out.iter_mut().for_each(|x| *x = $exp(*x));
            }
        }
    }

    /// Normal numbers by the inverse of their distribution function.
    pub(super) struct $quantiles<'a> {
        pub(super) u: &'a [f64],
        pub(super) scale: Scale<$f>,
        pub(super) out: &'a mut [$f],
    }

    impl Loop for $quantiles<'_> {
        type Output = ();
        #[inline(always)]
        fn body(self) {
            let Scale { mean, deviation, log } = self.scale;
            for (out, u) in self.out.iter_mut().zip(self.u) {
                let x = deviation * (quantile(*u) as $f) + mean;
                *out = if log { $exp(x) } else { x };
            }
        }
    }

    /// Exponentially distributed numbers, in place.
    pub(super) struct $exponential<'a> {
        pub(super) scale: $f,
        pub(super) out: &'a mut [$f],
    }

    impl Loop for $exponential<'_> {
        type Output = ();
        #[inline(always)]
        fn body(self) {
            let scale = self.scale;
            // Not `-ln`, which would give -0 for 1.
            self.out.iter_mut().for_each(|x| *x = scale * (0.0 - $ln(*x)));
        }
    }

    /// Numbers from `low` on and below `high`, in place.
    pub(super) struct $between<'a> {
        pub(super) low: $f,
        pub(super) span: $f,
        /// The greatest number below `high`.
        pub(super) last: $f,
        pub(super) out: &'a mut [$f],
    }

    impl Loop for $between<'_> {
        type Output = ();
        #[inline(always)]
        fn body(self) {
            let $between { low, span, last, out } = self;
            out.iter_mut().for_each(|x| {
                let y = span * *x + low;
                *x = if y > last { last } else { y };
            });
        }
    }
)* } }
normals! {
    f32: Polar32, Quantiles32, Exponential32, Between32, ln32, turn32, exp32;
    f64: Polar64, Quantiles64, Exponential64, Between64, ln64, turn64, exp64;
}
