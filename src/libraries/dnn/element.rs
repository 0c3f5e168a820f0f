//! The elements of networks.

use crate::core::element::Element;
use half::{bf16, f16};

/// An element of which convolutions are made: a floating point number of 16 bits or more. Sealed.
pub trait DnnElement: Element + sealed::DnnElement {
    /// The type of sums over such elements: f64 for f64, else f32.
    type Sum: DnnElement;
}

mod sealed {
    pub trait DnnElement {}
}

macro_rules! elements { ($($t:ty: $sum:ty),*) => { $(
    impl sealed::DnnElement for $t {}
    impl DnnElement for $t {
        type Sum = $sum;
    }
)* } }
elements!(f16: f32, bf16: f32, f32: f32, f64: f64);
