//! What windows there are.

use super::axis::Axis;
use crate::core::error::{Error, Result};

/// Windows over the last axes of a tensor: one to three of them. All axes before these are alike, such as the batch and the
/// channels.
///
/// The windows of an axis begin at `-before`, and are `stride` apart. There are
/// `(n + before + after - (dilation * (window - 1) + 1)) / stride + 1` of them, rounded down. Strides are the extents of the window
/// unless they are given; one number given for a setting counts for all axes.
///
/// ```
/// # fn main() -> Result<(), windlass::Error> {
/// use windlass::dnn::Pool;
/// let device = windlass::Device::best()?;
/// let x = device.tensor([1, 1, 2, 4], [1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0])?;
/// let pool = Pool::new([2, 2]).stride([1]);
/// let y = device.dnn().average_pool(&x, &pool)?.await_result()?;
/// assert_eq!(device.show(y.reshape([3])?)?.to_string(), "[3.5 4.5 5.5]");
/// # Ok(()) }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pool {
    window: Vec<usize>,
    stride: Option<Vec<usize>>,
    dilation: Vec<usize>,
    before: Vec<usize>,
    after: Vec<usize>,
    ceil: bool,
    counts_padding: bool,
    adaptive: bool,
}

impl Pool {
    /// Windows of these extents: of the last axis, the last two, or the last three.
    pub fn new(window: impl Into<Vec<usize>>) -> Self {
        Pool {
            window: window.into(),
            stride: None,
            dilation: vec![1],
            before: vec![0],
            after: vec![0],
            ceil: false,
            counts_padding: false,
            adaptive: false,
        }
    }

    /// So many windows along each axis that cover it evenly: window `o` of `m` has the elements of an axis of `n` from
    /// `o * n / m`, rounded down, to `(o + 1) * n / m`, rounded up. One window of an axis is a *global* one. The other settings
    /// do not matter.
    pub fn adaptive(windows: impl Into<Vec<usize>>) -> Self {
        Pool { adaptive: true, ..Self::new(windows) }
    }

    /// The distances between neighbouring windows.
    pub fn stride(mut self, stride: impl Into<Vec<usize>>) -> Self {
        self.stride = Some(stride.into());
        self
    }

    /// The distances between the elements of a window; 1 unless given.
    pub fn dilation(mut self, dilation: impl Into<Vec<usize>>) -> Self {
        self.dilation = dilation.into();
        self
    }

    /// So many places without elements on both sides of each axis.
    pub fn padding(self, padding: impl Into<Vec<usize>>) -> Self {
        let both = padding.into();
        self.padding_between(both.clone(), both)
    }

    /// So many places without elements before the first element of each axis, and behind the last one.
    pub fn padding_between(mut self, before: impl Into<Vec<usize>>, after: impl Into<Vec<usize>>) -> Self {
        (self.before, self.after) = (before.into(), after.into());
        self
    }

    /// Rounds the number of windows up: the last one may reach beyond the padding, but begins before its end.
    pub fn ceil(mut self, ceil: bool) -> Self {
        self.ceil = ceil;
        self
    }

    /// Whether places of the padding count for a mean; not unless it is set.
    pub fn count_padding(mut self, counts: bool) -> Self {
        self.counts_padding = counts;
        self
    }

    /// Whether places of the padding count.
    pub(super) fn counts_padding(&self) -> bool {
        self.counts_padding
    }

    /// The axes of windows over the last axes of these extents.
    pub(super) fn axes(&self, extents: &[usize]) -> Result<Vec<Axis>> {
        let rank = self.window.len();
        let last = last(extents, rank)?;
        if self.adaptive {
            let of = |(input, output): (&usize, &usize)| Axis { output: *output, ..Axis::adaptive(*input) };
            return Ok(last.iter().zip(&self.window).map(of).collect());
        }
        let one = |name: &'static str, list: &[usize], axis: usize| match list {
            [one] => Ok(*one),
            many if many.len() == rank => Ok(many.get(axis).copied().unwrap_or(1)),
            other => Err(Error::invalid(name, format!("{} numbers for windows of {rank} axes", other.len()))),
        };
        let of = |(axis, input): (usize, &usize)| {
            let stride = self.stride.as_ref().unwrap_or(&self.window);
            Axis {
                input: *input,
                output: 0,
                window: one("window", &self.window, axis)?,
                stride: one("stride", stride, axis)?,
                dilation: one("dilation", &self.dilation, axis)?,
                before: one("padding", &self.before, axis)?,
                after: one("padding", &self.after, axis)?,
                adaptive: false,
            }
            .with_output(self.ceil)
        };
        last.iter().enumerate().map(of).collect()
    }
}

/// The last axes.
fn last(extents: &[usize], rank: usize) -> Result<&[usize]> {
    if !(1..=3).contains(&rank) {
        return Err(Error::invalid("window", format!("{rank} axes, but windows have one to three")));
    }
    let first = extents.len().checked_sub(rank);
    first
        .and_then(|first| extents.get(first..))
        .ok_or_else(|| Error::invalid("x", format!("{} axes: {extents:?}, but the windows have {rank}", extents.len())))
}
