//! Windows along one axis.

use crate::core::error::{Error, Result};
use serde::{Deserialize, Serialize};

/// Numbers of an axis are below this, so that sums of products of them are far from overflow.
const LIMIT: usize = 1 << 30;

/// Windows along one axis of `input` elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Axis {
    pub(super) input: usize,
    /// The number of windows.
    pub(super) output: usize,
    pub(super) window: usize,
    pub(super) stride: usize,
    pub(super) dilation: usize,
    pub(super) before: usize,
    pub(super) after: usize,
    /// Window `o` has the elements from `o * input / output` to `((o + 1) * input).div_ceil(output)`.
    pub(super) adaptive: bool,
}

/// The places of a window that are elements.
#[cfg(feature = "host")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Elements {
    pub(super) first: usize,
    pub(super) count: usize,
    /// With the places that lie in the padding.
    pub(super) places: usize,
}

impl Axis {
    /// Windows over all elements alike, whose number is not known yet.
    pub(super) const fn adaptive(input: usize) -> Self {
        Axis { input, output: 0, window: 1, stride: 1, dilation: 1, before: 0, after: 0, adaptive: true }
    }

    /// The number of elements that a window spans.
    fn span(&self) -> usize {
        self.dilation * (self.window - 1) + 1
    }

    /// With the number of windows that fit.
    pub(super) fn with_output(mut self, ceil: bool) -> Result<Self> {
        self.check_numbers()?;
        let (padded, span) = (self.input + self.before + self.after, self.span());
        let Some(free) = padded.checked_sub(span) else {
            let what = format!("it spans {span} places, but an axis has {padded} of them with its padding");
            return Err(Error::invalid("window", what));
        };
        self.output = if ceil { free.div_ceil(self.stride) } else { free / self.stride } + 1;
        if ceil && (self.output - 1) * self.stride >= self.input + self.before {
            self.output -= 1;
        }
        Ok(self)
    }

    fn check_numbers(&self) -> Result<()> {
        let numbers = [self.input, self.output, self.window, self.stride, self.dilation, self.before, self.after];
        if let Some(large) = numbers.iter().find(|n| **n >= LIMIT) {
            return Err(Error::invalid("window", format!("{large} along an axis: the numbers are below {LIMIT}")));
        }
        for (name, n) in [("window", self.window), ("stride", self.stride), ("dilation", self.dilation)] {
            if n == 0 {
                return Err(Error::invalid(name, "0 along an axis"));
            }
        }
        Ok(())
    }

    /// Admits what may have arrived from elsewhere.
    pub(super) fn check(&self) -> Result<()> {
        self.check_numbers()?;
        if self.adaptive && self.output > 0 && self.input == 0 {
            return Err(Error::invalid("x", "an axis without elements has no windows that cover it evenly"));
        }
        Ok(())
    }

    /// The largest number that the arithmetic of a kernel meets.
    #[cfg(feature = "cuda")]
    pub(super) fn largest(&self) -> u128 {
        let [input, output] = [self.input, self.output].map(|n| n as u128 + 1);
        let far = output * self.stride as u128 + self.window as u128 * self.dilation as u128;
        let even = if self.adaptive { input * output + input + output } else { 0 };
        (far + input + (self.before + self.after) as u128 + self.stride as u128).max(even)
    }

    /// The elements of window `o`.
    #[cfg(feature = "host")]
    pub(super) fn elements(&self, o: usize) -> Elements {
        if self.adaptive {
            let first = o * self.input / self.output;
            let count = ((o + 1) * self.input).div_ceil(self.output) - first;
            return Elements { first, count, places: count };
        }
        let start = o * self.stride;
        // All counted from the first place of the padding.
        let skipped = self.before.saturating_sub(start).div_ceil(self.dilation);
        let until = |end: usize| end.saturating_sub(start).div_ceil(self.dilation).min(self.window);
        let end = until(self.before + self.input);
        Elements {
            first: (start + skipped * self.dilation).saturating_sub(self.before),
            count: end.saturating_sub(skipped),
            places: until(self.before + self.input + self.after),
        }
    }

    /// The windows that may cover element `i`: the first, and the one behind the last.
    #[cfg(feature = "host")]
    pub(super) fn windows(&self, i: usize) -> (usize, usize) {
        if self.adaptive {
            let end = ((i + 1) * self.output).div_ceil(self.input.max(1));
            return (i * self.output / self.input.max(1), end);
        }
        let far = i + self.before;
        let first = far.saturating_sub(self.dilation * (self.window - 1)).div_ceil(self.stride);
        (first, (far / self.stride + 1).min(self.output))
    }

    /// Whether window `o`, one of [`windows`](Self::windows), has element `i`.
    #[cfg(feature = "host")]
    pub(super) fn has(&self, o: usize, i: usize) -> bool {
        self.adaptive || (i + self.before).saturating_sub(o * self.stride).is_multiple_of(self.dilation)
    }
}
