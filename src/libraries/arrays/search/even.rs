//! Edges at equal distances, or nearly so: the bin of a value is found by one multiplication, and corrected by comparing with the edges
//! themselves, which alone say where a bin ends.

use crate::core::element::DType;
use crate::libraries::arrays::sort::order::Bits;

/// Values that are looked at together.
pub(super) const STEP: usize = 64;

/// Edges whose numbers a multiplication finds, or the ones below.
pub(super) struct Even {
    /// The last one is infinity, so that its own bin is the last.
    edges: Vec<f64>,
    first: f64,
    last: f64,
    scale: f64,
}

/// The value of an `f32` or `f64`.
#[inline(always)]
fn value<T: Bits>(bits: T) -> f64 {
    let bits = bits.widen();
    if size_of::<T>() == 4 { f32::from_bits(bits as u32).into() } else { f64::from_bits(bits) }
}

impl Even {
    /// Of edges that rise.
    pub(super) fn new<T: Bits>(dtype: DType, edges: impl Iterator<Item = T>) -> Option<Self> {
        if !matches!(dtype, DType::F32 | DType::F64) {
            return None;
        }
        let edges: Vec<f64> = edges.map(value).collect();
        i32::try_from(edges.len()).ok()?;
        let (first, last) = (edges.first().copied()?, edges.last().copied()?);
        let scale = (edges.len() - 1) as f64 / (last - first);
        let mut even = Even { edges, first, last, scale };
        // What is guessed rises with the value. So that of a value is the number of its bin, of the one before or of the one behind.
        let near = |(number, edge): (usize, &f64)| {
            let guess = even.guess(*edge);
            guess == number || guess + 1 == number
        };
        let is_even = scale.is_finite() && scale > 0.0 && even.edges.iter().enumerate().all(near);
        even.edges.last_mut().into_iter().for_each(|last| *last = f64::INFINITY);
        is_even.then_some(even)
    }

    /// The number of the last bin, if there is one, and less where the product is.
    #[inline(always)]
    fn guess(&self, x: f64) -> usize {
        let most = self.edges.len().saturating_sub(2) as f64;
        // NaN becomes 0.
        let near = ((x - self.first) * self.scale).max(0.0).min(most);
        // SAFETY: between 0 and the number of the last bin.
        unsafe { near.to_int_unchecked::<i32>() as usize }
    }

    /// The bins of values; a number beyond all bins for one that lies in none.
    #[inline(always)]
    pub(super) fn bins<T: Bits>(&self, values: &[T; STEP]) -> [u32; STEP] {
        let none = (self.edges.len() - 1) as u32;
        let mut bins = [0; STEP];
        for (bin, x) in bins.iter_mut().zip(values) {
            let x = value(*x);
            let guess = self.guess(x);
            // SAFETY: a guess is the number of a bin, which has an edge on either side.
            let (low, high) = unsafe { (*self.edges.get_unchecked(guess), *self.edges.get_unchecked(guess + 1)) };
            let near = (guess as u32 + u32::from(x >= high)).wrapping_sub(u32::from(x < low));
            *bin = if (x >= self.first) & (x <= self.last) { near } else { none };
        }
        bins
    }
}
