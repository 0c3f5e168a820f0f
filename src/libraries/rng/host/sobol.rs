//! Sobol's sequence with the direction numbers of Joe and Kuo (2008).
//!
//! `sobol.bin` packs their table `new-joe-kuo-6.21201` for dimensions 2 to 20000, bit by bit with the lowest first.
//! Each dimension has the inner coefficients of its primitive polynomial, then its initial numbers `m_2, m_3, ..`
//! without their last bit, which is 1 (and `m_1` is 1). Degrees ascend, and [`DEGREES`] counts them. Copyright (c) 2008
//! Stephen Joe and Frances Y. Kuo, under a BSD-style licence.

use super::cursor::Cursor;

static TABLE: &[u8] = include_bytes!("sobol.bin");
/// How many dimensions have a polynomial of degree 1, 2, ...
const DEGREES: [usize; 18] = [1, 1, 2, 2, 6, 6, 18, 16, 48, 60, 176, 144, 630, 756, 1800, 2048, 7710, 6575];

/// `count` bits of the table from bit `at` on, 32 at most.
fn bits(at: usize, count: usize) -> u64 {
    let bytes = TABLE.get(at / 8..).unwrap_or_default();
    let word = bytes.iter().take(5).rev().fold(0u64, |word, byte| word << 8 | u64::from(*byte));
    (word >> (at % 8)) & ((1 << count) - 1)
}

/// The direction numbers of a dimension, from 0 on, as fractions of 64 bits.
pub(crate) fn directions(dimension: usize) -> [u64; 64] {
    let mut v = [0u64; 64];
    let Some(mut index) = dimension.checked_sub(1) else {
        v.iter_mut().enumerate().for_each(|(k, v)| *v = 1 << (63 - k));
        return v;
    };
    let mut at = 0;
    for (count, degree) in DEGREES.iter().zip(1usize..) {
        // Inner coefficients, and 1 + 2 + ... bits of the initial numbers.
        let size = degree - 1 + degree * (degree - 1) / 2;
        if index >= *count {
            index -= count;
            at += size * count;
            continue;
        }
        at += size * index;
        let inner = bits(at, degree - 1);
        at += degree - 1;
        for k in 0..64 {
            let word = if k < degree {
                let m = bits(at, k) << 1 | 1;
                at += k;
                m << (63 - k)
            } else {
                let back = |by: usize| v.get(k.wrapping_sub(by)).copied().unwrap_or(0);
                let mut word = back(degree) ^ back(degree) >> degree;
                for i in 1..degree {
                    // The coefficient of x^(degree - i).
                    if inner >> (degree - 1 - i) & 1 == 1 {
                        word ^= back(i);
                    }
                }
                word
            };
            v.get_mut(k).into_iter().for_each(|v| *v = word);
        }
        return v;
    }
    v
}

/// Point `index` of the sequence: the Gray code of the index selects the directions.
fn at(v: &[u64; 64], index: u64) -> u64 {
    let gray = index ^ index >> 1;
    v.iter().enumerate().fold(0, |x, (k, v)| if gray >> k & 1 == 1 { x ^ v } else { x })
}

/// Points of a run: each is the first point of the run XORed with a constant, the same in every run.
const RUN: u64 = 64;

/// One dimension from some point on: words of 32 bits, or the two halves of 64, the low one first.
pub(crate) struct Sobol {
    directions: [u64; 64],
    /// The constants that turn the first point of a run into each of its points.
    run: [u64; RUN as usize],
    /// The index of the next point.
    index: u64,
}

impl Sobol {
    pub(crate) fn new(directions: [u64; 64], index: u64) -> Self {
        let mut run = [0; RUN as usize];
        let mut x = 0;
        for (to, i) in run.iter_mut().zip(1u64..) {
            *to = x;
            x ^= directions.get(i.trailing_zeros() as usize).copied().unwrap_or(0);
        }
        Sobol { directions, run, index }
    }
}

impl Cursor for Sobol {
    fn next(&mut self, words: &mut [&mut [u32]]) {
        let visits = words.first().map_or(0, |w| w.len());
        let mut done = 0;
        while done < visits {
            let inside = (self.index % RUN) as usize;
            let begin = at(&self.directions, self.index - inside as u64);
            let count = (RUN as usize - inside).min(visits - done);
            let run = self.run.get(inside..inside + count).unwrap_or_default();
            match words {
                [x] => {
                    let x = x.get_mut(done..done + count).unwrap_or_default();
                    x.iter_mut().zip(run).for_each(|(x, by)| *x = ((begin ^ by) >> 32) as u32);
                }
                [low, high] => {
                    let low = low.get_mut(done..done + count).unwrap_or_default();
                    let high = high.get_mut(done..done + count).unwrap_or_default();
                    for ((low, high), by) in low.iter_mut().zip(high).zip(run) {
                        (*low, *high) = ((begin ^ by) as u32, ((begin ^ by) >> 32) as u32);
                    }
                }
                _ => return,
            }
            done += count;
            self.index = self.index.wrapping_add(count as u64);
        }
    }
}
