//! The epilogue of a column of sums.

use std::sync::atomic::{AtomicU32, Ordering};

use super::job::Scale;
use super::stored::Stored;
use super::work::Work;

/// The function that is applied to a value before it is stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Activation {
    /// None.
    #[default]
    None,
    /// `max(x, 0)`.
    Relu,
    /// The approximation by tanh.
    Gelu,
    /// Multiplies by the derivative of ReLU: one where the bit of the mask is set, else zero.
    ReluGradient,
    /// Multiplies by the derivative of GELU at the stored pre-activation.
    GeluGradient,
}

/// Rows processed at a time: a multiple of eight, so that each piece of a mask begins at a byte.
const PIECE: usize = 256;

/// What all columns of a matrix share. Rows and columns are those of D stored by columns: a D stored by rows is
/// transposed.
pub(super) struct Common<'x, C, W, Bias, Aux> {
    pub(super) alpha: W,
    pub(super) beta: W,
    pub(super) row_scale: Scale<'x>,
    pub(super) column_scale: Scale<'x>,
    pub(super) scale_d: f32,
    pub(super) bias: Option<(&'x [Bias], Along)>,
    pub(super) activation: Activation,
    pub(super) mask: Option<(&'x [u8], usize)>,
    pub(super) pre: Option<(&'x [Aux], usize)>,
    /// C, and the distances between its rows and between its columns. `None`: C is what D holds.
    pub(super) c: Option<(&'x [C], usize, usize)>,
    pub(super) amax: Option<&'x AtomicU32>,
}

/// Whether a bias has one element per row or per column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Along {
    Rows,
    Columns,
}

/// One column and the destinations of its results.
pub(super) struct Column<'c, D, W: Work, Aux> {
    pub(super) index: usize,
    pub(super) sums: &'c [W::Acc],
    pub(super) d: &'c mut [D],
    pub(super) mask: Option<&'c mut [u8]>,
    pub(super) pre: Option<&'c mut [Aux]>,
    /// The values of D before their scale and rounding, for a sum over columns.
    pub(super) values: Option<&'c mut [W]>,
}

impl Scale<'_> {
    fn at(&self, i: usize) -> f32 {
        match self {
            Scale::One => 1.0,
            Scale::Tensor(x) => *x,
            Scale::Vector(x) => x.get(i).copied().unwrap_or(1.0),
        }
    }
}

impl<C: Stored<W>, W: Work, Bias: Stored<W>, Aux: Stored<W>> Common<'_, C, W, Bias, Aux> {
    /// Computes the results of a column from its sums.
    pub(super) fn finish<D: Stored<W>>(&self, column: Column<'_, D, W, Aux>) {
        let Column { index: j, sums, d, mut mask, mut pre, mut values } = column;
        let mut x = [W::default(); PIECE];
        let mut y = [W::default(); PIECE];
        let column_scale = self.column_scale.at(j);
        let scaled = !matches!((&self.row_scale, &self.column_scale), (Scale::One, Scale::One));
        let mut amax = 0;
        for (piece, (sums, d)) in sums.chunks(PIECE).zip(d.chunks_mut(PIECE)).enumerate() {
            let at = piece * PIECE;
            let len = d.len().min(sums.len());
            let (Some(x), Some(y)) = (x.get_mut(..len), y.get_mut(..len)) else { continue };
            x.iter_mut().zip(sums).for_each(|(x, sum)| *x = W::from_acc(*sum));
            if scaled {
                // The scales are combined with alpha into one factor first.
                x.iter_mut().enumerate().for_each(|(i, x)| {
                    let scale = W::factor(self.row_scale.at(at + i)).mul(W::factor(column_scale));
                    *x = self.alpha.mul(scale).mul(*x);
                });
            } else if self.alpha != W::ONE {
                x.iter_mut().for_each(|x| *x = self.alpha.mul(*x));
            }
            if self.beta != W::default() {
                match self.c {
                    None => D::up(d, y),
                    Some((c, rows, columns)) => gather(c, at * rows + j * columns, rows, y),
                }
                x.iter_mut().zip(y.iter()).for_each(|(x, y)| *x = x.add(self.beta.mul(*y)));
            }
            match self.bias {
                None => {}
                Some((bias, Along::Rows)) => {
                    gather(bias, at, 1, y);
                    x.iter_mut().zip(y.iter()).for_each(|(x, y)| *x = x.add(*y));
                }
                Some((bias, Along::Columns)) => {
                    gather(bias, j, 0, y);
                    x.iter_mut().zip(y.iter()).for_each(|(x, y)| *x = x.add(*y));
                }
            }
            if let Some(pre) = pre.as_deref_mut().and_then(|p| p.get_mut(at..at + len)) {
                Aux::down(x, pre);
            }
            self.activate(j, at, x, y, mask.as_deref_mut().and_then(|m| m.get_mut(at / 8..)));
            if self.amax.is_some() {
                amax = x.iter().fold(amax, |most, x| most.max(x.size_bits()));
            }
            if let Some(values) = values.as_deref_mut().and_then(|v| v.get_mut(at..at + len)) {
                values.copy_from_slice(x);
            }
            if self.scale_d != 1.0 {
                x.iter_mut().for_each(|x| *x = x.mul(W::factor(self.scale_d)));
            }
            D::down(x, d);
        }
        if let Some(most) = self.amax {
            most.fetch_max(amax, Ordering::Relaxed);
        }
    }

    fn activate(&self, j: usize, at: usize, x: &mut [W], y: &mut [W], mask_out: Option<&mut [u8]>) {
        match self.activation {
            Activation::None => {}
            Activation::Relu => match mask_out {
                None => x.iter_mut().for_each(|x| *x = x.relu().0),
                Some(mask) => {
                    for (x, byte) in x.chunks_mut(8).zip(mask) {
                        let relu = |(bit, x): (usize, &mut W)| {
                            let (value, positive) = x.relu();
                            *x = value;
                            u8::from(positive) << bit
                        };
                        *byte = x.iter_mut().enumerate().map(relu).fold(0, |byte, bit| byte | bit);
                    }
                }
            },
            Activation::Gelu => x.iter_mut().for_each(|x| *x = x.gelu()),
            Activation::ReluGradient => {
                let Some(mask) = self.mask.and_then(|(mask, ld)| mask.get(j * (ld / 8) + at / 8..)) else { return };
                for (x, byte) in x.chunks_mut(8).zip(mask) {
                    x.iter_mut()
                        .enumerate()
                        .filter(|(bit, _)| byte >> bit & 1 == 0)
                        .for_each(|(_, x)| *x = W::default());
                }
            }
            Activation::GeluGradient => {
                let Some((pre, ld)) = self.pre else { return };
                gather(pre, j * ld + at, 1, y);
                x.iter_mut().zip(y.iter()).for_each(|(x, y)| *x = x.mul(y.dgelu()));
            }
        }
    }
}

/// Reads every `step`-th element from index `at`, as scalars.
fn gather<T: Stored<W>, W: Work>(from: &[T], at: usize, step: usize, to: &mut [W]) {
    if step == 1 {
        return T::up(from.get(at..).unwrap_or_default(), to);
    }
    for (i, to) in to.iter_mut().enumerate() {
        let one = from.get(at + i * step).copied().unwrap_or_default();
        T::up(&[one], std::slice::from_mut(to));
    }
}
