//! Short-time Fourier transforms: from a signal to the spectra of its frames, and back.

use super::spec::{Direction, FftSpec, Normalization};
use super::{Fft, FftReal};
use crate::core::buffer::{DeviceBuffer, Readable};
use crate::core::error::{Error, Result};
use crate::core::op::{Cost, OperandNames, Spans, Wire};
use crate::device::dispatch::Submitted;
use crate::engines::cuda_enqueue::Enqueue;
#[cfg(feature = "cuda")]
use crate::engines::op::Prepare;
use crate::engines::op::{HostOf, Op, Slices, SlicesMut};
use serde::{Deserialize, Serialize};
use std::marker::PhantomData;

/// The values that frames have beyond the ends of a signal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Edges {
    /// None: every frame lies inside, and the first begins with the signal.
    Inside,
    /// Zeros: frames are centred, the first on the first element.
    #[default]
    Zeros,
    /// The signal mirrored at its first and last element; centred as well.
    Mirrored,
}

/// A short-time Fourier transform of real signals. Plain data.
///
/// Its spectra are rows: one for each frame, of [`bins`](Self::bins) complex numbers.
///
/// ```
/// # fn main() -> Result<(), windlass::Error> {
/// use windlass::fft::Stft;
/// let spec = Stft::new(48_000, 1024).hop(256); // a second of sound
/// assert_eq!((spec.frames()?, spec.bins()), (188, 513));
/// # Ok(()) }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[must_use]
pub struct Stft {
    len: usize,
    n: usize,
    hop: usize,
    batch: usize,
    edges: Edges,
    norm: Normalization,
}

impl Stft {
    /// Frames of `n` elements of a signal of `len`. Each begins `n / 4` elements after the one before. The frames are
    /// centred, with zeros beyond the ends.
    pub fn new(len: usize, n: usize) -> Self {
        Stft { len, n, hop: (n / 4).max(1), batch: 1, edges: Edges::Zeros, norm: Normalization::Backward }
    }

    /// The distance between the beginnings of frames, in elements.
    pub fn hop(self, hop: usize) -> Self {
        Stft { hop, ..self }
    }

    /// The values of frames beyond the ends.
    pub fn edges(self, edges: Edges) -> Self {
        Stft { edges, ..self }
    }

    /// A batch of signals, one after another.
    pub fn batch(self, batch: usize) -> Self {
        Stft { batch, ..self }
    }

    /// Which transform has the factor `1 / n`.
    pub fn norm(self, norm: Normalization) -> Self {
        Stft { norm, ..self }
    }

    /// Points of a spectrum: `n / 2 + 1`.
    pub fn bins(&self) -> usize {
        self.n / 2 + 1
    }

    /// How many frames a signal has.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for invalid sizes.
    pub fn frames(&self) -> Result<usize> {
        Ok(self.sizes()?.frames)
    }

    /// How many complex numbers all spectra have.
    ///
    /// # Errors
    /// As [`frames`](Self::frames).
    pub fn spectra_len(&self) -> Result<usize> {
        Ok(self.sizes()?.spectra)
    }

    pub(super) fn sizes(&self) -> Result<FrameSizes> {
        let Stft { len, n, hop, batch, edges, .. } = *self;
        for (name, size) in [("len", len), ("n", n), ("hop", hop)] {
            if size == 0 {
                return Err(Error::invalid(name, "0, but it must be at least 1"));
            }
        }
        let before = if edges == Edges::Inside { 0 } else { n / 2 };
        if edges == Edges::Inside && len < n {
            return Err(Error::invalid("n", format!("a frame of {n} samples is longer than the signal of {len}")));
        }
        if edges == Edges::Mirrored && before >= len {
            let what =
                format!("half a frame of {n} samples must be shorter than the signal of {len}, to mirror its ends");
            return Err(Error::invalid("n", what));
        }
        let overflow = || Error::invalid("len", "the number of elements overflows");
        let reach = len.checked_add(2 * before).ok_or_else(overflow)?;
        let frames = (reach - n) / hop + 1;
        let lines = frames.checked_mul(batch).ok_or_else(overflow)?;
        let whole = |count: usize, each: usize| {
            count.checked_mul(each).filter(|all| isize::try_from(*all).is_ok()).ok_or_else(overflow)
        };
        whole(lines, n)?;
        Ok(FrameSizes {
            len,
            n,
            hop,
            before,
            frames,
            lines,
            arrays: batch,
            signals: whole(batch, len)?,
            spectra: whole(lines, self.bins())?,
            mirrored: edges == Edges::Mirrored,
        })
    }

    /// The transform of all frames, forward or inverse.
    pub(super) fn transform(&self, sizes: &FrameSizes, inverse: bool) -> FftSpec {
        let spec = if inverse { FftSpec::c2r([self.n]) } else { FftSpec::r2c([self.n]) };
        spec.batch(sizes.lines)
    }

    pub(super) fn factor(&self, inverse: bool) -> f64 {
        let direction = if inverse { Direction::Inverse } else { Direction::Forward };
        self.norm.factor(direction, self.n as f64)
    }
}

/// Frames with all their sizes, checked.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct FrameSizes {
    pub(super) len: usize,
    pub(super) n: usize,
    pub(super) hop: usize,
    /// How far before a signal its first frame begins.
    pub(super) before: usize,
    /// Frames of a signal; `lines`: of all signals.
    pub(super) frames: usize,
    pub(super) lines: usize,
    pub(super) arrays: usize,
    /// Elements of all signals; `spectra`: complex numbers of all spectra.
    pub(super) signals: usize,
    pub(super) spectra: usize,
    pub(super) mirrored: bool,
}

/// The work of the host engine. Opaque.
#[doc(hidden)]
#[cfg(feature = "host")]
pub struct HostFrames<'s> {
    pub(super) spec: &'s Stft,
    pub(super) sizes: FrameSizes,
}

/// A window function, by its usual name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Window {
    /// All ones.
    Rectangular,
    /// `sin(pi j / n)^2`.
    Hann,
    /// `0.54 - 0.46 cos(2 pi j / n)`.
    Hamming,
    /// `0.42 - 0.5 cos(2 pi j / n) + 0.08 cos(4 pi j / n)`.
    Blackman,
}

/// The `n` weights of a periodic window (element `n` would be the first again; SciPy's `sym=False`).
///
/// # Errors
/// [`Error::OutOfMemory`].
///
/// ```
/// # fn main() -> Result<(), windlass::Error> {
/// assert!((windlass::fft::window(windlass::fft::Window::Hann, 4)?[1] - 0.5).abs() < 1e-15);
/// # Ok(()) }
/// ```
pub fn window(window: Window, n: usize) -> Result<Vec<f64>> {
    let weight = |j: usize| {
        let angle = std::f64::consts::TAU * j as f64 / n as f64;
        match window {
            Window::Rectangular => 1.0,
            Window::Hann => (angle / 2.0).sin().powi(2),
            Window::Hamming => 0.54 - 0.46 * angle.cos(),
            // 0.42 - 0.5 cos(angle) + 0.08 cos(2 angle), without its cancellation: exactly 0 at the beginning.
            Window::Blackman => {
                let s = (angle / 2.0).sin().powi(2);
                s * (0.36 + 0.64 * s)
            }
        }
    };
    crate::core::room::collected((0..n).map(weight))
}

/// The op of [`Fft::stft`]: from a signal to spectra.
#[derive(serde::Serialize, serde::Deserialize)]
#[serde(bound = "")]
pub(super) struct Apart<R> {
    pub(super) spec: Stft,
    _type: PhantomData<fn() -> R>,
}

/// The op of [`Fft::istft`]: from spectra to a signal.
#[derive(serde::Serialize, serde::Deserialize)]
#[serde(bound = "")]
pub(super) struct Together<R> {
    pub(super) spec: Stft,
    _type: PhantomData<fn() -> R>,
}

/// Checks that the buffers have the sizes of the specification.
fn check<R: FftReal>(
    spec: &Stft,
    (signal, s): (&'static str, usize),
    window: usize,
    (spectra, c): (&'static str, usize),
) -> Result<()> {
    let sizes = spec.sizes()?;
    if s != sizes.signals {
        return Err(Error::invalid(signal, format!("{s} elements, but the signals have {}", sizes.signals)));
    }
    if window != sizes.n {
        return Err(Error::invalid("window", format!("{window} elements, but a frame has {}", sizes.n)));
    }
    if sizes.spectra.checked_mul(R::PER_COMPLEX) != Some(c) {
        let each = if R::PER_COMPLEX == 2 { ", of two elements each" } else { "" };
        return Err(Error::invalid(
            spectra,
            format!("{c} elements, but the spectra have {} points{each}", sizes.spectra),
        ));
    }
    Ok(())
}

fn cost<R: FftReal>(spec: &Stft) -> Cost {
    let Ok(sizes) = spec.sizes() else { return Cost::default() };
    let (n, lines) = (sizes.n as f64, sizes.lines as f64);
    let numbers = sizes.signals.saturating_add(sizes.n).saturating_add(sizes.spectra.saturating_mul(2));
    let bytes = numbers.saturating_mul(size_of::<R>()) as u64;
    Cost { flops: (lines * n * (2.5 * n.log2() + 1.0)) as u64, bytes }
}

macro_rules! halves_of_engines {
    () => {
        #[cfg(not(feature = "host"))]
        fn host(&self, _: Slices<'_, Self>, _: SlicesMut<'_, Self>) -> Result<()> {
            Err(Error::unsupported("this build has no host engine (feature `host`)"))
        }

        #[cfg(feature = "cuda")]
        fn prepare(
            &self,
            _: &Spans<Self::Reads>,
            _: &Spans<crate::engines::op::WritesOf<Self>>,
            plans: &mut Prepare<'_>,
        ) {
            self.plans(plans);
        }

        #[cfg(feature = "cuda")]
        fn cuda(&self, queue: &mut Enqueue<'_, Self>) -> Result<()> {
            self.enqueue(queue)
        }

        #[cfg(not(feature = "cuda"))]
        fn cuda(&self, _: &mut Enqueue<'_, Self>) -> Result<()> {
            Err(Error::unsupported("this build has no CUDA engine (feature `cuda`)"))
        }

        fn wire() -> Option<Wire<Self>> {
            Wire::plain()
        }

        fn finish(&self, (): ()) -> Result<HostOf<Self>> {
            Ok(())
        }
    };
}

impl<R: FftReal> Op for Apart<R> {
    const NAME: &'static str = "stft";
    const OPERANDS: OperandNames = (&["x", "window"], &["y"]);
    const LIBRARY: &'static str = "fft";
    const PREPARED: bool = true;
    type Reads = (R, R);
    type Output = DeviceBuffer<R::Complex>;
    type Raw = ();

    fn check(&self, (x, window): &Spans<(R, R)>, (y,): &Spans<(R::Complex,)>) -> Result<()> {
        check::<R>(&self.spec, ("x", x.len()), window.len(), ("y", y.len()))
    }

    fn overwrites(&self, _: &Spans<(R::Complex,)>) -> bool {
        true // if the length differs, `check` fails after this
    }

    fn cost(&self) -> Cost {
        cost::<R>(&self.spec)
    }

    #[cfg(feature = "host")]
    fn host(&self, (x, window): Slices<'_, Self>, (y,): SlicesMut<'_, Self>) -> Result<()> {
        R::stft(&HostFrames { spec: &self.spec, sizes: self.spec.sizes()? }, x, window, y)
    }

    halves_of_engines!();
}

impl<R: FftReal> Op for Together<R> {
    const NAME: &'static str = "istft";
    const OPERANDS: OperandNames = (&["x", "window"], &["y"]);
    const LIBRARY: &'static str = "fft";
    const PREPARED: bool = true;
    type Reads = (R::Complex, R);
    type Output = DeviceBuffer<R>;
    type Raw = ();

    fn check(&self, (x, window): &Spans<(R::Complex, R)>, (y,): &Spans<(R,)>) -> Result<()> {
        check::<R>(&self.spec, ("y", y.len()), window.len(), ("x", x.len()))
    }

    fn overwrites(&self, _: &Spans<(R,)>) -> bool {
        true // if the length differs, `check` fails after this
    }

    fn cost(&self) -> Cost {
        cost::<R>(&self.spec)
    }

    #[cfg(feature = "host")]
    fn host(&self, (x, window): Slices<'_, Self>, (y,): SlicesMut<'_, Self>) -> Result<()> {
        R::istft(&HostFrames { spec: &self.spec, sizes: self.spec.sizes()? }, x, window, y)
    }

    halves_of_engines!();
}

impl Fft {
    /// `y` = the half spectra of the frames of `x`, each multiplied with the window: a row of [`Stft::bins`] numbers
    /// for each frame. PyTorch's `stft`, whose spectra are columns.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for sizes that are invalid or do not fit the buffers; a stale or foreign buffer. `y`
    /// comes back. [`Error::OutOfMemory`], at the wait: the workspace holds all frames.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::fft::{Stft, Window, window};
    /// let device = windlass::Device::host()?;
    /// let spec = Stft::new(100, 16);
    /// let weights = device.upload(window(Window::Hann, 16)?)?.into_output();
    /// let x = device.upload((0..100).map(|j| f64::from(j % 7)).collect::<Vec<_>>())?.into_output();
    /// let spectra = device.fft().stft(&spec, &x, &weights, device.uninit(spec.spectra_len()?)?)?.into_output();
    /// let back = device.fft().istft(&spec, &spectra, &weights, device.uninit(100)?)?.await_result()?;
    /// assert!((device.download(&back)?.await_result()?[50] - 1.0).abs() < 1e-14);
    /// # Ok(()) }
    /// ```
    pub fn stft<'a, R: FftReal>(
        &self,
        spec: &Stft,
        x: impl Readable<'a, R>,
        window: impl Readable<'a, R>,
        y: DeviceBuffer<R::Complex>,
    ) -> Submitted<DeviceBuffer<R::Complex>> {
        self.device.dispatch(Apart::<R> { spec: *spec, _type: PhantomData }, (x.into(), window.into()), (y,))
    }

    /// `y` = the signal whose [`stft`](Self::stft) with this window comes closest to `x`. Each element is `sum(frame *
    /// window) / sum(window^2)` over the frames that cover it, transformed back; it is zero if these weights are all
    /// zero or only rounding errors (`sum(window^2)` is at most the square of 16 epsilons of the largest weight), as at
    /// the ends of a signal with [`Edges::Inside`].
    ///
    /// # Errors
    /// As [`stft`](Self::stft).
    pub fn istft<'a, R: FftReal>(
        &self,
        spec: &Stft,
        x: impl Readable<'a, R::Complex>,
        window: impl Readable<'a, R>,
        y: DeviceBuffer<R>,
    ) -> Submitted<DeviceBuffer<R>> {
        self.device.dispatch(Together::<R> { spec: *spec, _type: PhantomData }, (x.into(), window.into()), (y,))
    }
}
