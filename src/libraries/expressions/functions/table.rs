//! All functions by name.

use super::real::Real;
use super::{activation, arc, circular, error, exponential, hyperbolic, inverse_hyperbolic, logarithm, power, root};

/// A function of one number.
pub(super) trait Unary {
    /// Whether [`Unary::call`] leaves large numbers to [`Unary::far`]; which of them, [`is_far`](super::reduction::is_far) says.
    const FAR: bool = false;
    fn call<N: Real>(x: N) -> N;
    fn far<N: Real>(x: N) -> N {
        x
    }
}

/// A function of two numbers.
pub(super) trait Binary {
    fn call<N: Real>(x: N, y: N) -> N;
}

/// Calls a macro with every function of one number: type, name, path, and the form for large numbers.
macro_rules! unary_functions {
    ($call:ident) => {
        $call! {
            Exp exponential::exp; Exp2 exponential::exp2; Expm1 exponential::expm1;
            Log logarithm::log; Log2 logarithm::log2; Log10 logarithm::log10; Log1p logarithm::log1p;
            Rsqrt root::rsqrt; Cbrt root::cbrt;
            Sin circular::sin, circular::sin_far; Cos circular::cos, circular::cos_far;
            Tan circular::tan, circular::tan_far;
            Asin arc::asin; Acos arc::acos; Atan arc::atan;
            Sinh hyperbolic::sinh; Cosh hyperbolic::cosh; Tanh hyperbolic::tanh;
            Asinh inverse_hyperbolic::asinh; Acosh inverse_hyperbolic::acosh;
            Atanh inverse_hyperbolic::atanh;
            Erf error::erf; Erfc error::erfc;
            Sigmoid activation::sigmoid; Silu activation::silu; Gelu activation::gelu;
            GeluTanh activation::gelu_tanh; Softplus activation::softplus;
        }
    };
}
pub(super) use unary_functions;

/// Calls a macro with every function of two numbers.
macro_rules! binary_functions {
    ($call:ident) => {
        $call! {
            Pow power::pow; Hypot root::hypot; Atan2 arc::atan2;
        }
    };
}
pub(super) use binary_functions;

macro_rules! unary_types {
    ($($type:ident $call:path $(, $far:path)?;)*) => { $(
        pub(super) struct $type;
        impl Unary for $type {
            #[inline(always)]
            fn call<N: Real>(x: N) -> N {
                $call(x)
            }
            $(
                const FAR: bool = true;
                #[inline(always)]
                fn far<N: Real>(x: N) -> N {
                    $far(x)
                }
            )?
        }
    )* };
}
unary_functions!(unary_types);

macro_rules! binary_types {
    ($($type:ident $call:path;)*) => { $(
        pub(super) struct $type;
        impl Binary for $type {
            #[inline(always)]
            fn call<N: Real>(x: N, y: N) -> N {
                $call(x, y)
            }
        }
    )* };
}
binary_functions!(binary_types);
