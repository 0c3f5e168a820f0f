//! Which elements an element of a new axis takes.

use crate::core::error::{Error, Result};
use crate::core::room::collected;
use crate::device::tensor::Layout;

/// To which neighbour a coordinate goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nearest {
    /// The nearer one, of two equally near the lower.
    RoundPreferFloor,
    /// The nearer one, of two equally near the upper.
    RoundPreferCeil,
    /// The lower one.
    Floor,
    /// The upper one.
    Ceil,
}

/// How an element is made of its neighbours.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Interpolation {
    /// It is one of them.
    Nearest(Nearest),
    /// Of two, by distance.
    Linear,
    /// Of four, by cubic polynomials with this number: -0.75 is usual, -0.5 is that of Catmull and Rom.
    Cubic(f64),
}

/// Where element `o` of `m` lies among `n` old ones.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Coordinates {
    /// `(o + 1/2) / scale - 1/2`.
    HalfPixel,
    /// As [`HalfPixel`](Self::HalfPixel), around the middle, if the scale does not give a whole number of elements.
    HalfPixelSymmetric,
    /// As [`HalfPixel`](Self::HalfPixel), but 0 for a single element.
    HalfPixelOrZero,
    /// The first and the last elements stay where they are.
    AlignCorners,
    /// `o / scale`.
    Asymmetric,
    /// From one place to another one, as parts of the length: elements beyond the old ones get the number that
    /// [`Resize::outside`] says. Each axis is cropped, those that keep their extent too, unless [`Resize::axes`] names some.
    Crop(f64, f64),
}

/// How [`Dnn::resize`](crate::dnn::Dnn::resize) makes new elements.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Resize {
    pub(super) interpolation: Interpolation,
    pub(super) coordinates: Coordinates,
    pub(super) exclude_outside: bool,
    pub(super) antialias: bool,
    pub(super) outside: f64,
    /// A bit for each axis that is resized; `None` for all.
    pub(super) axes: Option<u64>,
}

impl Resize {
    /// Coordinates of half pixels; beyond the ends the last elements repeat.
    pub const fn new(interpolation: Interpolation) -> Self {
        Resize {
            interpolation,
            coordinates: Coordinates::HalfPixel,
            exclude_outside: false,
            antialias: false,
            outside: 0.0,
            axes: None,
        }
    }

    /// Other coordinates.
    pub const fn coordinates(mut self, coordinates: Coordinates) -> Self {
        self.coordinates = coordinates;
        self
    }

    /// Beyond the ends nothing is taken; the other weights grow to a sum of 1.
    pub const fn exclude_outside(mut self, exclude: bool) -> Self {
        self.exclude_outside = exclude;
        self
    }

    /// Where there are fewer new elements, each is made of as many old ones as come to it.
    pub const fn antialias(mut self, antialias: bool) -> Self {
        self.antialias = antialias;
        self
    }

    /// Only these axes are resized; the others keep their extents.
    pub fn axes(mut self, axes: &[usize]) -> Self {
        let bit = |axis: &usize| 1 << (*axis).min(Layout::MAX_RANK - 1);
        self.axes = Some(axes.iter().map(bit).fold(0, |all: u64, bit: u64| all | bit));
        self
    }

    pub(super) fn has(&self, axis: usize) -> bool {
        self.axes.is_none_or(|axes| axis < Layout::MAX_RANK && axes >> axis & 1 == 1)
    }

    /// Whether the coordinates change an axis that keeps its `n` elements and has the scale 1.
    pub(super) fn crops(&self, n: usize) -> bool {
        n > 1 && matches!(self.coordinates, Coordinates::Crop(start, end) if (start, end) != (0.0, 1.0))
    }

    /// What elements beyond the old ones are, of [`Coordinates::Crop`]; 0 unless given.
    pub const fn outside(mut self, value: f64) -> Self {
        self.outside = value;
        self
    }
}

/// What the elements of a new axis take: as many for each.
pub(super) struct Taps {
    pub(super) each: usize,
    pub(super) indices: Vec<i64>,
    pub(super) weights: Vec<f64>,
    /// Whether an element lies beyond the old ones.
    pub(super) outside: Vec<bool>,
}

impl Resize {
    fn coordinate(&self, o: f64, n: f64, m: f64, scale: f64) -> f64 {
        let half = (o + 0.5) / scale - 0.5;
        // What the scale asks for, which need not be whole.
        let wanted = scale * n;
        match self.coordinates {
            Coordinates::HalfPixel => half,
            Coordinates::HalfPixelSymmetric => n / 2.0 * (1.0 - m / wanted) + half,
            Coordinates::HalfPixelOrZero => {
                if m > 1.0 {
                    half
                } else {
                    0.0
                }
            }
            Coordinates::AlignCorners if wanted == 1.0 => 0.0,
            Coordinates::AlignCorners => o * (n - 1.0) / (wanted - 1.0),
            Coordinates::Asymmetric => o / scale,
            Coordinates::Crop(start, end) if m > 1.0 => start * (n - 1.0) + o * (end - start) * (n - 1.0) / (m - 1.0),
            Coordinates::Crop(start, end) => (start + end) / 2.0 * (n - 1.0),
        }
    }

    /// The weight of a neighbour at a distance.
    fn weight(&self, distance: f64) -> f64 {
        let x = distance.abs();
        match self.interpolation {
            Interpolation::Nearest(_) => 1.0,
            Interpolation::Linear => (1.0 - x).max(0.0),
            Interpolation::Cubic(a) if x <= 1.0 => ((a + 2.0) * x - (a + 3.0)) * x * x + 1.0,
            Interpolation::Cubic(a) if x < 2.0 => ((a * x - 5.0 * a) * x + 8.0 * a) * x - 4.0 * a,
            Interpolation::Cubic(_) => 0.0,
        }
    }

    /// The elements of a new axis of `m`, of one of `n`.
    pub(super) fn taps(&self, n: usize, m: usize, scale: f64) -> Result<Taps> {
        if n == 0 && m > 0 {
            return Err(Error::invalid("x", "an axis without elements cannot be resized"));
        }
        if !(scale.is_finite() && scale > 0.0) {
            return Err(Error::invalid("scale", format!("{scale} is no positive number")));
        }
        let stretch = if self.antialias && scale < 1.0 { scale } else { 1.0 };
        let reach = match self.interpolation {
            Interpolation::Nearest(_) => 0.0,
            Interpolation::Linear => 1.0,
            Interpolation::Cubic(_) => 2.0,
        };
        let each = if reach == 0.0 { 1 } else { 2 * (reach / stretch).ceil() as usize };
        let len = m.checked_mul(each).filter(|len| *len <= isize::MAX as usize / 8);
        let len = len.ok_or_else(|| Error::invalid("extents", format!("{m} elements of {each} each")))?;
        let (mut indices, mut weights) =
            (collected(std::iter::repeat_n(0i64, len))?, collected(std::iter::repeat_n(0f64, len))?);
        let mut outside = collected(std::iter::repeat_n(false, m))?;
        let places = indices.chunks_mut(each).zip(weights.chunks_mut(each)).zip(&mut outside);
        for (o, ((indices, weights), outside)) in places.enumerate() {
            let x = self.coordinate(o as f64, n as f64, m as f64, scale);
            *outside = matches!(self.coordinates, Coordinates::Crop(..)) && !(x >= 0.0 && x <= n as f64 - 1.0);
            self.element(x, n, stretch, indices, weights);
        }
        Ok(Taps { each, indices, weights, outside })
    }

    fn element(&self, x: f64, n: usize, stretch: f64, indices: &mut [i64], weights: &mut [f64]) {
        let last = n as i64 - 1;
        let first = match self.interpolation {
            Interpolation::Nearest(Nearest::RoundPreferFloor) => (x - 0.5).ceil(),
            Interpolation::Nearest(Nearest::RoundPreferCeil) => (x + 0.5).floor(),
            Interpolation::Nearest(Nearest::Floor) => x.floor(),
            Interpolation::Nearest(Nearest::Ceil) => x.ceil(),
            _ => x.floor() - (indices.len() / 2) as f64 + 1.0,
        };
        let several = indices.len() > 1;
        for (k, (index, weight)) in indices.iter_mut().zip(weights.iter_mut()).enumerate() {
            let at = first + k as f64;
            *weight = self.weight((at - x) * stretch);
            *index = (at as i64).clamp(0, last.max(0));
            // A nearest one is always there.
            if self.exclude_outside && several && (at < 0.0 || at > last as f64) {
                *weight = 0.0;
            }
        }
        let sum: f64 = weights.iter().sum();
        if (self.exclude_outside || stretch != 1.0) && sum != 0.0 {
            weights.iter_mut().for_each(|weight| *weight /= sum);
        }
    }
}
