//! Edges at equal distances, or nearly so: the bin of a value is found by one multiplication, and corrected by comparing with the edges
//! themselves, which alone say where a bin ends.

use crate::core::element::DType;
use crate::libraries::arrays::sort::order::Bits;

/// Edges whose numbers a multiplication finds, or those beside them.
pub(super) struct Even {
    edges: Vec<f64>,
    first: f64,
    last: f64,
    scale: f64,
}

/// The value of an `f32` or `f64`.
#[inline(always)]
pub(super) fn value<T: Bits>(bits: T) -> f64 {
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
        let (first, last) = (edges.first().copied()?, edges.last().copied()?);
        let scale = (edges.len() - 1) as f64 / (last - first);
        let even = Even { edges, first, last, scale };
        let near = |(number, edge): (usize, &f64)| even.guess(*edge).abs_diff(number) <= 1;
        let is_even = scale.is_finite() && scale > 0.0 && even.edges.iter().enumerate().all(near);
        is_even.then_some(even)
    }

    #[inline(always)]
    fn guess(&self, x: f64) -> usize {
        ((x - self.first) * self.scale) as usize
    }

    /// The bin of a value; a number beyond all bins for one that lies in none.
    #[inline(always)]
    pub(super) fn bin(&self, x: f64) -> usize {
        let bins = self.edges.len() - 1;
        let edge = |number: usize| self.edges.get(number).copied().unwrap_or(f64::NAN);
        let mut bin = self.guess(x).min(bins - 1);
        while bin > 0 && x < edge(bin) {
            bin -= 1;
        }
        while bin + 1 < bins && x >= edge(bin + 1) {
            bin += 1;
        }
        if x >= self.first && x <= self.last { bin } else { bins }
    }
}
