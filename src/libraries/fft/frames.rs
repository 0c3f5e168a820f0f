//! Short-time Fourier transforms: from a signal to the spectra of its frames, and back.

use super::layouts::numbers;
use super::problem::Problem;
use super::spec::{Direction, Normalization};
use super::{Fft, FftReal};
use crate::core::buffer::DeviceBuffer;
use crate::core::error::{Error, Rejected, Result};
use crate::core::op::{Cost, OperandNames, Spans, Wire};
use crate::device::dispatch::Submitted;
use crate::device::tensor::{Layout, Part, ReadableTensor, Tensor, TensorRef, WritableTensor};
use crate::engines::cuda_enqueue::Enqueue;
use crate::engines::op::{HostOf, Op, Slices, SlicesMut};
#[cfg(feature = "cuda")]
use crate::engines::op::{Prepare, WritesOf};
use crate::libraries::operands::check_packed;
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

/// A short-time Fourier transform of real signals: what the tensors do not say. Plain data.
///
/// The last axis of a tensor of signals is a signal. Its spectra are two axes in the place of this one: a row for each frame, of
/// [`bins`](Self::bins) complex numbers.
///
/// ```
/// # fn main() -> Result<(), windlass::Error> {
/// use windlass::fft::Stft;
/// let spec = Stft::new(1024).hop(256);
/// assert_eq!((spec.frames(48_000)?, spec.bins()), (188, 513)); // of a second of sound
/// # Ok(()) }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[must_use]
pub struct Stft {
    n: usize,
    hop: usize,
    edges: Edges,
    norm: Normalization,
}

impl Stft {
    /// Frames of `n` elements. Each begins `n / 4` elements after the one before. The frames are
    /// centred, with zeros beyond the ends.
    pub fn new(n: usize) -> Self {
        Stft { n, hop: (n / 4).max(1), edges: Edges::Zeros, norm: Normalization::Backward }
    }

    /// The distance between the beginnings of frames, in elements.
    pub fn hop(self, hop: usize) -> Self {
        Stft { hop, ..self }
    }

    /// The values of frames beyond the ends.
    pub fn edges(self, edges: Edges) -> Self {
        Stft { edges, ..self }
    }

    /// Which transform has the factor `1 / n`.
    pub fn norm(self, norm: Normalization) -> Self {
        Stft { norm, ..self }
    }

    /// Points of a spectrum: `n / 2 + 1`.
    pub fn bins(&self) -> usize {
        self.n / 2 + 1
    }

    /// How many frames a signal of `len` elements has.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for invalid sizes.
    pub fn frames(&self, len: usize) -> Result<usize> {
        Ok(Signals { spec: *self, len, batch: 1 }.sizes()?.frames)
    }

    /// The signals of a tensor whose last axis is one, and whose spectra are these. Each has no gaps.
    fn signals<R: FftReal>(
        self,
        (signal, of_signal): (&'static str, &Layout),
        window: &Layout,
        (spectra, of_spectra): (&'static str, Layout),
    ) -> Result<Signals> {
        for (name, layout) in [(signal, of_signal), ("window", window), (spectra, &of_spectra)] {
            check_packed(name, layout)?;
        }
        let of_spectra = numbers(spectra, of_spectra, R::PER_COMPLEX)?;
        let Some((len, batch)) = of_signal.shape().split_last() else {
            return Err(Error::invalid(signal, "no axis: the last axis is a signal"));
        };
        let all = batch.iter().try_fold(1usize, |all, n| all.checked_mul(*n));
        let all = all.ok_or_else(|| Error::invalid(signal, "the number of elements overflows"))?;
        let signals = Signals { spec: self, len: *len, batch: all };
        let sizes = signals.sizes()?;
        if window.shape() != [sizes.n] {
            let what = format!("{:?}, but a frame has {} elements", window.shape(), sizes.n);
            return Err(Error::invalid("window", what));
        }
        if of_spectra.shape() != [batch, &[sizes.frames, self.bins()]].concat() {
            let (found, given) = (of_spectra.shape(), of_signal.shape());
            let what =
                format!("{found:?}, but each signal of {given:?} has {} spectra of {}", sizes.frames, self.bins());
            return Err(Error::invalid(spectra, what));
        }
        Ok(signals)
    }
}

/// Signals of one length, one after another, as the ops have them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) struct Signals {
    spec: Stft,
    len: usize,
    batch: usize,
}

impl Signals {
    pub(super) fn sizes(&self) -> Result<FrameSizes> {
        let Signals { spec: Stft { n, hop, edges, .. }, len, batch } = *self;
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
            spectra: whole(lines, self.spec.bins())?,
            mirrored: edges == Edges::Mirrored,
        })
    }

    /// The transform of all frames, forward or inverse.
    pub(super) fn transform(&self, sizes: &FrameSizes, inverse: bool) -> Problem {
        let spec = if inverse { Problem::c2r([sizes.n]) } else { Problem::r2c([sizes.n]) };
        spec.batch(sizes.lines)
    }

    pub(super) fn factor(&self, inverse: bool) -> f64 {
        let direction = if inverse { Direction::Inverse } else { Direction::Forward };
        self.spec.norm.factor(direction, self.spec.n as f64)
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
    pub(super) spec: &'s Signals,
    pub(super) sizes: FrameSizes,
}

/// A window function, by its usual name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
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
    pub(super) spec: Signals,
    _type: PhantomData<fn() -> R>,
}

/// The op of [`Fft::istft`]: from spectra to a signal.
#[derive(serde::Serialize, serde::Deserialize)]
#[serde(bound = "")]
pub(super) struct Together<R> {
    pub(super) spec: Signals,
    _type: PhantomData<fn() -> R>,
}

/// Checks that the buffers have the sizes of the specification.
fn check<R: FftReal>(
    spec: &Signals,
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

fn cost<R: FftReal>(spec: &Signals) -> Cost {
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
        fn prepare(&self, _: &Spans<Self::Reads>, _: &Spans<WritesOf<Self>>, plans: &mut Prepare<'_>) {
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
    /// `y` = the half spectra of the frames of `x`, each multiplied with the window: for a signal along the last axis of `x` a row
    /// of [`Stft::bins`] numbers for each frame. PyTorch's `stft`, whose spectra are columns.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for sizes that are invalid or do not match, and for a tensor that is not in row-major order
    /// without gaps: [`Device::contiguous`](crate::Device::contiguous) makes a copy that is; a stale or foreign tensor. `y`
    /// comes back. [`Error::OutOfMemory`], at the wait: the workspace holds all frames.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::fft::{Stft, Window, window};
    /// let device = windlass::Device::host()?;
    /// let spec = Stft::new(16);
    /// let weights = device.buffer(window(Window::Hann, 16)?)?;
    /// let x = device.buffer((0..100).map(|j| f64::from(j % 7)).collect::<Vec<_>>())?;
    /// let y = device.uninit([spec.frames(100)?, spec.bins()])?;
    /// let spectra = device.fft().stft(&spec, &x, &weights, y)?;
    /// let back = device.fft().istft(&spec, &spectra, &weights, device.uninit(100)?)?.await_result()?;
    /// assert!((device.to_vec(&back)?[50] - 1.0).abs() < 1e-14);
    /// # Ok(()) }
    /// ```
    pub fn stft<'a, 'b, R: FftReal>(
        &self,
        spec: &Stft,
        x: impl ReadableTensor<'a, R>,
        window: impl ReadableTensor<'b, R>,
        y: impl WritableTensor<R::Complex>,
    ) -> Submitted<Tensor<R::Complex>> {
        self.apart::<R>(spec, &x.into(), &window.into(), y.into())
    }

    /// `y` = the signal whose [`stft`](Self::stft) with this window comes closest to `x`. Each element is `sum(frame *
    /// window) / sum(window^2)` over the frames that cover it, transformed back; it is zero if these weights are all
    /// zero or only rounding errors (`sum(window^2)` is at most the square of 16 epsilons of the largest weight), as at
    /// the ends of a signal with [`Edges::Inside`].
    ///
    /// # Errors
    /// As [`stft`](Self::stft).
    pub fn istft<'a, 'b, R: FftReal>(
        &self,
        spec: &Stft,
        x: impl ReadableTensor<'a, R::Complex>,
        window: impl ReadableTensor<'b, R>,
        y: impl WritableTensor<R>,
    ) -> Submitted<Tensor<R>> {
        self.together::<R>(spec, &x.into(), &window.into(), y.into())
    }

    fn apart<R: FftReal>(
        &self,
        spec: &Stft,
        x: &TensorRef<'_, R>,
        window: &TensorRef<'_, R>,
        y: Part<R::Complex>,
    ) -> Submitted<Tensor<R::Complex>> {
        let (y, of_y, whole) = y.operand();
        let made = x.operand().and_then(|(x, of_x)| {
            let (window, of_window) = window.operand()?;
            Ok((x, window, spec.signals::<R>(("x", &of_x), &of_window, ("y", of_y))?))
        });
        match made {
            Ok((x, window, spec)) => {
                whole.submitted(self.device.dispatch(Apart::<R> { spec, _type: PhantomData }, (x, window), (y,)))
            }
            Err(error) => Err(Rejected::new(error.in_op("stft", "fft"), (whole.tensor(y),))),
        }
    }

    fn together<R: FftReal>(
        &self,
        spec: &Stft,
        x: &TensorRef<'_, R::Complex>,
        window: &TensorRef<'_, R>,
        y: Part<R>,
    ) -> Submitted<Tensor<R>> {
        let (y, of_y, whole) = y.operand();
        let made = x.operand().and_then(|(x, of_x)| {
            let (window, of_window) = window.operand()?;
            Ok((x, window, spec.signals::<R>(("y", &of_y), &of_window, ("x", of_x))?))
        });
        match made {
            Ok((x, window, spec)) => {
                whole.submitted(self.device.dispatch(Together::<R> { spec, _type: PhantomData }, (x, window), (y,)))
            }
            Err(error) => Err(Rejected::new(error.in_op("istft", "fft"), (whole.tensor(y),))),
        }
    }
}
