//! Sums that are written in addition to D, computed in two levels.

use super::super::parallel::{Parts, each_part};
use super::matrix::Factor;
use super::stored::Stored;
use super::work::Work;

/// A sum in two levels, so that its error does not grow with the number of terms at the lengths that occur here.
#[derive(Clone, Copy, Default)]
pub(super) struct Sum<W> {
    near: W,
    far: W,
    count: u8,
}

impl<W: Work> Sum<W> {
    pub(super) fn push(&mut self, x: W) {
        self.near = self.near.add(x);
        self.count = self.count.wrapping_add(1);
        if self.count == 0 {
            self.far = self.far.add(self.near);
            self.near = W::default();
        }
    }

    pub(super) fn value(self) -> W {
        self.far.add(self.near)
    }
}

/// The sums over `k` of each row of op(A), or of each column of op(B). `along`: the terms of one sum lie `ld` apart.
pub(super) fn sums_of<X: Stored<W> + Clone, W: Work, Bias: Stored<W>>(
    x: &Factor<'_, X>,
    along: bool,
    k: usize,
    to: &mut [Bias],
) {
    let (step, apart) = if along { (1, x.ld) } else { (x.ld, 1) };
    each_part(to, Parts::with_size(1).least(64), &|i, to| {
        let (mut sum, mut terms, mut wide) = (Sum::default(), [X::default(); 64], [W::default(); 64]);
        for first in (0..k).step_by(64) {
            let count = 64.min(k - first);
            for (p, term) in terms.iter_mut().enumerate().take(count) {
                *term = x.data.get(i * step + (first + p) * apart).copied().unwrap_or_default();
            }
            X::up(&terms, &mut wide);
            wide.iter().take(count).for_each(|x| sum.push(*x));
        }
        Bias::down(&[sum.value()], to);
    });
}
