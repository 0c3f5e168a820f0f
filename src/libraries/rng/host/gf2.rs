//! Linear maps of bits, over GF(2).

use crate::core::room::{OrUnwind, collected};

/// A linear map of 160 bits to 160 bits.
#[derive(Clone)]
pub(super) struct Matrix {
    /// The images of the 16 values of each group of four bits.
    nibbles: Vec<[[u32; 5]; 16]>,
}

fn add(x: [u32; 5], y: [u32; 5]) -> [u32; 5] {
    let mut sum = x;
    sum.iter_mut().zip(y).for_each(|(x, y)| *x ^= y);
    sum
}

impl Matrix {
    /// The matrix of a linear function.
    pub(super) fn from_fn(f: impl Fn([u32; 5]) -> [u32; 5]) -> Self {
        let unit = |bit: usize| {
            let mut v = [0; 5];
            v.iter_mut().enumerate().for_each(|(i, v)| *v = if bit / 32 == i { 1 << (bit % 32) } else { 0 });
            v
        };
        let columns: Vec<_> = collected((0..160).map(|bit| f(unit(bit)))).or_unwind();
        let nibbles = columns.chunks(4).map(|four| {
            let mut images = [[0; 5]; 16];
            for (value, image) in images.iter_mut().enumerate() {
                let set = four.iter().enumerate().filter(|(bit, _)| value >> bit & 1 == 1);
                *image = set.fold([0; 5], |sum, (_, column)| add(sum, *column));
            }
            images
        });
        let nibbles = collected(nibbles).or_unwind();
        Matrix { nibbles }
    }

    /// The image of `v`.
    pub(super) fn apply(&self, v: [u32; 5]) -> [u32; 5] {
        let values = v.iter().flat_map(|word| (0..8).map(move |i| (word >> (4 * i) & 15) as usize));
        self.nibbles
            .iter()
            .zip(values)
            .fold([0; 5], |sum, (images, value)| add(sum, *images.get(value).unwrap_or(&[0; 5])))
    }

    /// The map applied twice.
    pub(super) fn squared(&self) -> Self {
        Matrix::from_fn(|v| self.apply(self.apply(v)))
    }
}
