//! The element types of transforms.

use crate::core::element::Element;
use half::{bf16, f16};
use num_complex::Complex;

#[cfg(feature = "host")]
use super::convolve::HostConvolution;
#[cfg(feature = "host")]
use super::frames::HostFrames;
#[cfg(feature = "host")]
use super::geometry::Geometry;
#[cfg(feature = "host")]
use super::host::{self, Data};
#[cfg(feature = "host")]
use super::trigonometric::TrigPass;

mod sealed {
    pub trait Sealed {}
}

/// A real element type: f32, f64, f16 or bf16. A complex number of f16 or bf16 is a pair of elements. Sealed.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no real element type of transforms",
    label = "expected f32, f64, f16 or bf16",
    note = "`fft` and `ifft` take complex data; `rfft` takes real data"
)]
pub trait FftReal: Element + sealed::Sealed {
    /// The element type of complex buffers.
    type Complex: FftComplex<Real = Self>;
    /// Elements of the complex buffer for each complex number: 1, or 2 for f16 and bf16.
    #[doc(hidden)]
    const PER_COMPLEX: usize;
    #[doc(hidden)]
    #[cfg(feature = "host")]
    fn run(
        geometry: &HostGeometry<'_>,
        data: Data<'_, '_, Self, Self::Complex>,
        scale: f64,
    ) -> crate::core::error::Result<()>;
    #[doc(hidden)]
    #[cfg(feature = "host")]
    fn run_trigonometric(
        geometry: &HostGeometry<'_>,
        pass: TrigPass,
        x: &[Self],
        y: &mut [Self],
    ) -> crate::core::error::Result<()>;
    #[doc(hidden)]
    #[cfg(feature = "host")]
    fn convolve(work: &HostConvolution<'_>, x: &[Self], h: &[Self], y: &mut [Self]) -> crate::core::error::Result<()>;
    #[doc(hidden)]
    #[cfg(feature = "host")]
    fn stft(
        work: &HostFrames<'_>,
        x: &[Self],
        window: &[Self],
        y: &mut [Self::Complex],
    ) -> crate::core::error::Result<()>;
    #[doc(hidden)]
    #[cfg(feature = "host")]
    fn istft(
        work: &HostFrames<'_>,
        x: &[Self::Complex],
        window: &[Self],
        y: &mut [Self],
    ) -> crate::core::error::Result<()>;
}

/// The element of a list at `i`, or 0 beyond its end.
#[cfg(feature = "host")]
fn at<T: Copy + Default>(list: &[T], i: usize) -> T {
    list.get(i).copied().unwrap_or_default()
}

#[cfg(feature = "host")]
fn put<T>(list: &mut [T], i: usize, value: T) {
    if let Some(to) = list.get_mut(i) {
        *to = value;
    }
}

/// The sizes of a transform for the host engine. Opaque.
#[cfg(feature = "host")]
#[doc(hidden)]
pub struct HostGeometry<'g>(pub(super) &'g Geometry);

/// A complex element type: `Complex<f32>`, `Complex<f64>`, or f16 and bf16 themselves: two such elements, the real and
/// the imaginary part, are one complex number. Sealed.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no complex element type of transforms",
    label = "expected Complex<f32>, Complex<f64>, or pairs of f16 or bf16",
    note = "`rfft` takes real data"
)]
pub trait FftComplex: Element + sealed::Sealed {
    /// The element type of real buffers.
    type Real: FftReal<Complex = Self>;
    #[doc(hidden)]
    #[cfg(feature = "host")]
    fn convolve_complex(
        work: &HostConvolution<'_>,
        x: &[Self],
        h: &[Self],
        y: &mut [Self],
    ) -> crate::core::error::Result<()>;
}

macro_rules! full { ($($t:ty)*) => { $(
    impl sealed::Sealed for $t {}
    impl sealed::Sealed for Complex<$t> {}
    impl FftReal for $t {
        type Complex = Complex<$t>;
        const PER_COMPLEX: usize = 1;
        #[cfg(feature = "host")]
        fn run(geometry: &HostGeometry<'_>, data: Data<'_, '_, $t, Complex<$t>>, scale: f64) -> crate::core::error::Result<()> {
            host::run(geometry.0, data, scale)
        }
        #[cfg(feature = "host")]
        fn run_trigonometric(geometry: &HostGeometry<'_>, pass: TrigPass, x: &[$t], y: &mut [$t]) -> crate::core::error::Result<()> {
            host::trigonometric(geometry.0, pass, x, y)
        }
        #[cfg(feature = "host")]
        fn convolve(work: &HostConvolution<'_>, x: &[$t], h: &[$t], y: &mut [$t]) -> crate::core::error::Result<()> {
            host::convolve(work, |i| at(x, i), |i| at(h, i), |i, value| put(y, i, value))
        }
        #[cfg(feature = "host")]
        fn stft(work: &HostFrames<'_>, x: &[$t], window: &[$t], y: &mut [Complex<$t>]) -> crate::core::error::Result<()> {
            host::stft(work, |i| at(x, i), window, y)
        }
        #[cfg(feature = "host")]
        fn istft(work: &HostFrames<'_>, x: &[Complex<$t>], window: &[$t], y: &mut [$t]) -> crate::core::error::Result<()> {
            host::istft(work, x, window, y)
        }
    }
    impl FftComplex for Complex<$t> {
        type Real = $t;
        #[cfg(feature = "host")]
        fn convolve_complex(work: &HostConvolution<'_>, x: &[Self], h: &[Self], y: &mut [Self]) -> crate::core::error::Result<()> {
            host::convolve_complex(work, |i| at(x, i), |i| at(h, i), |i, value| put(y, i, value))
        }
    }
)* } }
full! { f32 f64 }

macro_rules! halves { ($($t:ty)*) => { $(
    impl sealed::Sealed for $t {}
    impl FftReal for $t {
        type Complex = $t;
        const PER_COMPLEX: usize = 2;
        #[cfg(feature = "host")]
        fn run(geometry: &HostGeometry<'_>, data: Data<'_, '_, $t, $t>, scale: f64) -> crate::core::error::Result<()> {
            host::run_halves(geometry.0, data, scale, <$t>::to_f32, <$t>::from_f32)
        }
        #[cfg(feature = "host")]
        fn run_trigonometric(geometry: &HostGeometry<'_>, pass: TrigPass, x: &[$t], y: &mut [$t]) -> crate::core::error::Result<()> {
            host::trigonometric_halves(geometry.0, pass, (x, y), <$t>::to_f32, <$t>::from_f32)
        }
        #[cfg(feature = "host")]
        fn convolve(work: &HostConvolution<'_>, x: &[$t], h: &[$t], y: &mut [$t]) -> crate::core::error::Result<()> {
            let round = |i, value| put(y, i, <$t>::from_f32(value));
            host::convolve(work, |i| at(x, i).to_f32(), |i| at(h, i).to_f32(), round)
        }
        #[cfg(feature = "host")]
        fn stft(work: &HostFrames<'_>, x: &[$t], window: &[$t], y: &mut [$t]) -> crate::core::error::Result<()> {
            host::stft_halves(work, x, window, y, (<$t>::to_f32, <$t>::from_f32))
        }
        #[cfg(feature = "host")]
        fn istft(work: &HostFrames<'_>, x: &[$t], window: &[$t], y: &mut [$t]) -> crate::core::error::Result<()> {
            host::istft_halves(work, x, window, y, (<$t>::to_f32, <$t>::from_f32))
        }
    }
    impl FftComplex for $t {
        type Real = $t;
        #[cfg(feature = "host")]
        fn convolve_complex(work: &HostConvolution<'_>, x: &[Self], h: &[Self], y: &mut [Self]) -> crate::core::error::Result<()> {
            let pair = |from: &[$t], i: usize| Complex::new(at(from, 2 * i).to_f32(), at(from, 2 * i + 1).to_f32());
            host::convolve_complex(work, |i| pair(x, i), |i| pair(h, i), |i, value: Complex<f32>| {
                put(y, 2 * i, <$t>::from_f32(value.re));
                put(y, 2 * i + 1, <$t>::from_f32(value.im));
            })
        }
    }
)* } }
halves! { f16 bf16 }
