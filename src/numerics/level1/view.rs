//! Increments: which element of a slice is element `i` of a vector.

/// Element `i` of the vector lies at `start + i * step`.
#[derive(Clone, Copy)]
pub(crate) struct View {
    start: usize,
    step: isize,
}

impl View {
    /// The vector of `n > 0` elements with the BLAS increment `inc`; `None` if a slice of `len` elements is too short
    /// for it.
    pub(crate) fn new(n: usize, inc: isize, len: usize) -> Option<Self> {
        let last = n.checked_sub(1)?.checked_mul(inc.unsigned_abs())?;
        let start = if inc < 0 { last } else { 0 };
        (last < len).then_some(Self { start, step: inc })
    }

    /// Where element `i < n` lies.
    pub(crate) fn at(self, i: usize) -> usize {
        // `new` checked that every element is in range, so nothing wraps here.
        self.start.wrapping_add_signed((i as isize).wrapping_mul(self.step))
    }

    /// The same elements from the last to the first.
    pub(crate) fn reversed(self, n: usize) -> Self {
        Self { start: self.at(n.saturating_sub(1)), step: self.step.wrapping_neg() }
    }

    pub(crate) fn step(self) -> isize {
        self.step
    }

    /// The elements `from..to` as a slice; `None` if they are not adjacent and in order.
    pub(crate) fn contiguous<T>(self, x: &[T], from: usize, to: usize) -> Option<&[T]> {
        // One element is contiguous whatever its increment.
        if self.step == 1 || to - from == 1 { x.get(self.at(from)..)?.get(..to - from) } else { None }
    }

    /// Copies the elements from `from` on to `out`.
    pub(crate) fn gather<T: Copy>(self, x: &[T], from: usize, out: &mut [T]) {
        let mut at = self.at(from);
        for out in out {
            if let Some(x) = x.get(at) {
                *out = *x;
            }
            at = at.wrapping_add_signed(self.step);
        }
    }

    /// Copies `values` to the elements from `from` on.
    pub(crate) fn scatter<T: Copy>(self, x: &mut [T], from: usize, values: &[T]) {
        let mut at = self.at(from);
        for value in values {
            if let Some(x) = x.get_mut(at) {
                *x = *value;
            }
            at = at.wrapping_add_signed(self.step);
        }
    }
}
