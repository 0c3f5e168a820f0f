//! Fourier transforms: cuFFT on a GPU; on the CPU the crates `rustfft` and `realfft` under our own driver.
//!
//! ```
//! # fn main() -> Result<(), windlass::Error> {
//! use windlass::{Complex, Device, FftSpec};
//! let device = Device::host()?;
//! let x = device.tensor([2, 4], [1.0f32, 0.0, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0])?;
//! let spectra = device.fft().rfft(&x, &[-1])?; // of each row
//! assert_eq!(device.to_vec(spectra.index(0, 1)?)?, [Complex::new(2.0, 0.0); 3]);
//! let x = device.fft().c2r(&FftSpec::new().axes([-1]), &spectra, x)?.await_result()?; // into memory that is there
//! assert_eq!(device.to_vec(&x)?, [1.0, 0.0, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0]);
//! # Ok(()) }
//! ```
//!
//! # Conventions
//! - **Definition.** `y[k] = sum over j of x[j] exp(-2 pi i j k / n)`; the [inverse](Direction::Inverse) has the other
//!   sign. Several axes are transformed one after the other.
//! - **Normalisation** is SciPy's and [backward](Normalization::Backward) by default: an inverse undoes a forward transform.
//!   cuFFT and FFTW do not normalise; that is [`Normalization::None`].
//! - **Half spectra.** The spectrum of `n` real numbers has `n / 2 + 1` points that are not redundant along the last
//!   transformed axis. A transform back needs the size of the real array. The imaginary parts of the first point and,
//!   for an even `n`, of the last are not read.
//! - **Tensors.** Calls take tensors and give tensors; a buffer is a tensor of one axis. Axes are named by their number, a negative
//!   one counts from the end, and an empty list is all of them; the axes that are not transformed are a batch. Strides may be
//!   any but negative ones, and what is read may be broadcast or overlap itself. Cosine and sine transforms, convolutions and
//!   short-time transforms take tensors in row-major order without gaps. What a call cannot read it refuses; it copies nothing.
//! - **Any size.** Lengths with prime factors up to 13 or so are fastest; a large prime (Bluestein's method) costs
//!   several times as much, and no length is refused. [`next_fast_len`] finds a good length to pad to.
//! - **Halves.** A complex number of `f16` or `bf16` is two elements, real and imaginary part: complex tensors of halves have a
//!   last axis of two, which no axis that is named counts. The CPU computes in f32 and rounds once.
//! - **Plans.** A GPU makes one plan for each combination of sizes, layouts and types, for all threads, and keeps those
//!   used last: up to 256 with those of the other libraries, as long as their tables take no more than 1 GiB (an
//!   estimate, since the library does not report it; the newest stays however large it is). Making one takes 1 to 200
//!   ms, and blocks the launches of all threads meanwhile; [`Fft::prepare`] makes them ahead. `plan_hits`,
//!   `plan_misses`, `plans` and `plan_bytes` of [`Device::stats`](crate::Device::stats) count them. The CPU keeps 64
//!   plans of each type, up to 256 MiB.
//! - **Inputs are kept.** [`c2r`](Fft::c2r) never writes its input; [`c2r_destroying`](Fft::c2r_destroying) may, which
//!   saves memory.

// The files of this folder.
// | file | content |
// |---|---|
// | `spec` | the specification of a transform |
// | `layouts`, `problem`, `dims` | with the layouts of its tensors: the transform as its op holds it |
// | `geometry` | its geometry, checked: axes and loops with sizes and strides on both sides |
// | `element`, `form` | element types; the buffers of a transform: out of place, in place, destroying |
// | `op` | the transform as an op |
// | `transforms`, `simple` | the front: into memory of the caller; SciPy's names with a new tensor |
// | `trigonometric` | cosine and sine transforms |
// | `convolve`, `frames` | convolution and correlation; short-time transforms |
// | `shift`, `frequencies` | exchange of the halves of arrays; the frequencies of a spectrum's points, good lengths |
// | `prepare` | plans made ahead |
// | `host` | the CPU's arithmetic |
// | `native` | cuFFT, its plans, and kernels of our own around it |

mod convolve;
mod convolve_sizes;
mod dims;
mod element;
mod form;
mod frames;
mod frequencies;
mod geometry;
#[cfg(feature = "host")]
mod host;
mod layouts;
mod memo;
#[cfg(feature = "cuda")]
pub(crate) mod native;
mod op;
mod prepare;
mod problem;
mod shift;
mod simple;
mod spec;
mod transforms;
mod trigonometric;

pub use convolve::{Convolve, Mode};
pub use element::{FftComplex, FftReal};
pub use frames::{Edges, Stft, Window, window};
pub use frequencies::{fftfreq, next_fast_len, rfftfreq};
pub use spec::{Direction, FftSpec, Kind, Normalization};
#[doc(hidden)]
pub use trigonometric::TrigPass;
pub use trigonometric::{RealTransform, Trig};

use crate::device::Device;

/// The front of the Fourier transforms of one device: `device.fft()`. Holds no native state.
#[derive(Clone, Debug)]
pub struct Fft {
    device: Device,
}

impl Fft {
    /// Its device.
    pub const fn device(&self) -> &Device {
        &self.device
    }
}

/// Fronts of libraries: transforms.
impl Device {
    /// Fourier transforms (cuFFT).
    pub fn fft(&self) -> Fft {
        Fft { device: self.clone() }
    }
}

/// Registers the operations of this folder in the registry of a worker program.
#[cfg(all(feature = "every-operation", target_os = "linux"))]
pub(crate) fn register(registry: &mut crate::engines::worker::Registry) {
    fn real<R: FftReal>(registry: &mut crate::engines::worker::Registry) {
        use form::{C2c, C2cInPlace, C2r, C2rDestroying, C2rInPlace, R2c, R2cInPlace};
        use op::Transform;
        registry.add::<Transform<C2c<R::Complex>>>();
        registry.add::<Transform<C2cInPlace<R::Complex>>>();
        registry.add::<Transform<R2c<R>>>();
        registry.add::<Transform<R2cInPlace<R>>>();
        registry.add::<Transform<C2r<R>>>();
        registry.add::<Transform<C2rInPlace<R>>>();
        registry.add::<Transform<C2rDestroying<R>>>();
        registry.add::<prepare::Ahead<R>>();
        registry.add::<trigonometric::Trigonometric<R>>();
        registry.add::<convolve::Convolution<convolve::Reals<R>>>();
        registry.add::<convolve::Convolution<convolve::Complexes<R::Complex>>>();
        registry.add::<frames::Apart<R>>();
        registry.add::<frames::Together<R>>();
    }
    fn shifts<T: crate::core::element::Element>(registry: &mut crate::engines::worker::Registry) {
        registry.add::<shift::Shift<T>>();
    }
    real::<f32>(registry);
    real::<f64>(registry);
    real::<half::f16>(registry);
    real::<half::bf16>(registry);
    crate::core::element::each_element!(shifts(registry));
}
