//! The element types of transforms.

use crate::{Complex, Element, bf16, f16};

#[cfg(feature = "host")]
use super::geometry::Geometry;
#[cfg(feature = "host")]
use super::host::{self, Data};
#[cfg(feature = "host")]
use super::trigonometric::TrigPass;

mod sealed {
    pub trait Sealed {}
}

/// A real element type: f32, f64, and with pairs of themselves as complex numbers f16 and bf16. Sealed.
pub trait FftReal: Element + sealed::Sealed {
    /// The element type of complex buffers.
    type Complex: FftComplex<Real = Self>;
    /// The numbers of an element as a complex number: 1, or 2 for half of a pair.
    #[doc(hidden)]
    const PER_COMPLEX: usize;
    #[doc(hidden)]
    #[cfg(feature = "host")]
    fn run(geometry: &HostGeometry<'_>, data: Data<'_, '_, Self, Self::Complex>, scale: f64) -> crate::Result<()>;
    #[doc(hidden)]
    #[cfg(feature = "host")]
    fn run_trigonometric(geometry: &HostGeometry<'_>, pass: TrigPass, x: &[Self], y: &mut [Self]) -> crate::Result<()>;
}

/// The sizes of a transform on the host. Opaque.
#[cfg(feature = "host")]
#[doc(hidden)]
pub struct HostGeometry<'g>(pub(super) &'g Geometry);

/// A complex element type: `Complex<f32>`, `Complex<f64>`; for halves f16 and bf16 themselves, of which two, the real and
/// the imaginary part, are one complex number. Sealed.
pub trait FftComplex: Element + sealed::Sealed {
    /// The element type of real buffers.
    type Real: FftReal<Complex = Self>;
}

macro_rules! full { ($($t:ty)*) => { $(
    impl sealed::Sealed for $t {}
    impl sealed::Sealed for Complex<$t> {}
    impl FftReal for $t {
        type Complex = Complex<$t>;
        const PER_COMPLEX: usize = 1;
        #[cfg(feature = "host")]
        fn run(geometry: &HostGeometry<'_>, data: Data<'_, '_, $t, Complex<$t>>, scale: f64) -> crate::Result<()> {
            host::run(geometry.0, data, scale)
        }
        #[cfg(feature = "host")]
        fn run_trigonometric(geometry: &HostGeometry<'_>, pass: TrigPass, x: &[$t], y: &mut [$t]) -> crate::Result<()> {
            host::trigonometric(geometry.0, pass, x, y)
        }
    }
    impl FftComplex for Complex<$t> {
        type Real = $t;
    }
)* } }
full! { f32 f64 }

macro_rules! halves { ($($t:ty)*) => { $(
    impl sealed::Sealed for $t {}
    impl FftReal for $t {
        type Complex = $t;
        const PER_COMPLEX: usize = 2;
        #[cfg(feature = "host")]
        fn run(geometry: &HostGeometry<'_>, data: Data<'_, '_, $t, $t>, scale: f64) -> crate::Result<()> {
            host::run_halves(geometry.0, data, scale, <$t>::to_f32, <$t>::from_f32)
        }
        #[cfg(feature = "host")]
        fn run_trigonometric(geometry: &HostGeometry<'_>, pass: TrigPass, x: &[$t], y: &mut [$t]) -> crate::Result<()> {
            host::trigonometric_halves(geometry.0, pass, (x, y), <$t>::to_f32, <$t>::from_f32)
        }
    }
    impl FftComplex for $t {
        type Real = $t;
    }
)* } }
halves! { f16 bf16 }
