//! Products whose second factor lies as it is read: tiles of the result stay in registers while the columns pass by once.
//!
//! An element is summed in the order of `k`, in blocks that are added in their order: its bits depend neither on its place in a tile
//! nor on how the work is shared.

use super::{Matrix, Real};
use crate::core::error::{Error, Result};
use crate::core::room;
use pulp::{Arch, Simd, WithSimd};
use std::marker::PhantomData;

/// Sums that are added to the others at once: so many rows of a tile's columns stay in the first cache for all rows of the result, and
/// long chains of sums lose more.
const BLOCK: usize = 128;
/// Vectors of columns in a tile.
const VECTORS: usize = 3;
/// What may be read behind the last column.
pub(in super::super) const SLACK: usize = 16;

/// Where each row of the second factor begins.
pub(in super::super) struct Offsets {
    all: Vec<usize>,
    last: usize,
}

impl Offsets {
    pub(in super::super) fn new(count: usize, all: impl IntoIterator<Item = usize>) -> Result<Self> {
        let mut made = room::with_capacity(count)?;
        made.extend(all.into_iter().take(count));
        let last = made.iter().copied().max().unwrap_or(0);
        Ok(Offsets { all: made, last })
    }

    /// Rows at even distances.
    pub(in super::super) fn even(count: usize, distance: usize) -> Result<Self> {
        Self::new(count, (0..count).map(|k| k * distance))
    }
}

/// What is multiplied: some rows of a matrix, and columns of another one, from an element on.
#[derive(Clone, Copy)]
pub(in super::super) struct Factors<'f, A> {
    pub(in super::super) a: (&'f [A], Matrix),
    pub(in super::super) b: (&'f [A], usize),
    pub(in super::super) offsets: &'f Offsets,
}

/// A slice into which several threads write, each its own elements.
#[derive(Clone, Copy)]
pub(in super::super) struct Shared<'s, A> {
    first: *mut A,
    len: usize,
    of: PhantomData<&'s mut [A]>,
}

// SAFETY: only `multiply_into` and `line` write; they leave it to their callers that the elements of threads differ.
unsafe impl<A: Send> Sync for Shared<'_, A> {}
// SAFETY: as above.
unsafe impl<A: Send> Send for Shared<'_, A> {}

impl<'s, A> Shared<'s, A> {
    pub(in super::super) fn new(all: &'s mut [A]) -> Self {
        Shared { first: all.as_mut_ptr(), len: all.len(), of: PhantomData }
    }

    /// Some of the elements; none if they do not lie in the slice.
    ///
    /// # Safety
    /// Nobody else uses them meanwhile.
    #[expect(clippy::mut_from_ref, reason = "that is what it is for")]
    pub(in super::super) unsafe fn line(&self, at: usize, len: usize) -> &mut [A] {
        match at.checked_add(len).is_some_and(|end| end <= self.len) {
            // SAFETY: they lie in the slice, which is borrowed mutably for the life of `self`, and belong to the caller.
            true => unsafe { std::slice::from_raw_parts_mut(self.first.add(at), len) },
            false => &mut [],
        }
    }
}

/// `C = A * B`, or `C += A * B`, for so many rows and columns of C, which begins at an element of `to`.
///
/// # Errors
/// An internal one, if the operands are too short.
///
/// # Safety
/// Nobody else uses these elements of `to` meanwhile.
pub(in super::super) unsafe fn multiply_into<A: Real>(
    [rows, columns]: [usize; 2],
    factors: Factors<'_, A>,
    to: &Shared<'_, A>,
    of_c: Matrix,
    adds: bool,
) -> Result<()> {
    let k = factors.offsets.all.len();
    if rows == 0 || columns == 0 {
        return Ok(());
    }
    let ((a, of_a), (b, first)) = (factors.a, factors.b);
    let end = columns.checked_add(SLACK - 1).and_then(|n| n.checked_add(first)?.checked_add(factors.offsets.last));
    let fit = (k == 0 || of_a.lies_in((rows, k), a.len()) && end.is_some_and(|end| end <= b.len()))
        && of_c.right == 1
        && of_c.lies_in((rows, columns), to.len);
    if !fit {
        return Err(Error::library("internal error: a tile does not fit"));
    }
    Arch::new().dispatch(Tiles { rows, columns, factors, to: *to, of_c, adds });
    Ok(())
}

/// As [`multiply_into`], to rows that nobody shares.
pub(in super::super) fn multiply<A: Real>(
    sizes: [usize; 2],
    factors: Factors<'_, A>,
    (to, line): (&mut [A], usize),
    adds: bool,
) -> Result<()> {
    // SAFETY: `to` is borrowed mutably.
    unsafe { multiply_into(sizes, factors, &Shared::new(to), Matrix::rows(0, line), adds) }
}

struct Tiles<'t, A> {
    rows: usize,
    columns: usize,
    factors: Factors<'t, A>,
    to: Shared<'t, A>,
    of_c: Matrix,
    adds: bool,
}

impl<A: Real> Tiles<'_, A> {
    const fn lanes<S: Simd>() -> usize {
        size_of::<A::Vector<S>>() / size_of::<A>()
    }

    /// The sums of a tile over a block of `k`.
    #[inline(always)]
    #[expect(clippy::indexing_slicing, clippy::needless_range_loop, reason = "indices unroll into registers")]
    fn sums<S: Simd, const M: usize, const V: usize>(
        &self,
        simd: S,
        block: usize,
        [row, column]: [usize; 2],
    ) -> [[A::Vector<S>; V]; M] {
        let ((a, of_a), (b, first)) = (self.factors.a, self.factors.b);
        let mut sums = [[A::splat(simd, A::default()); V]; M];
        let mut a = a.as_ptr().wrapping_add(of_a.first + row * of_a.down + block * BLOCK * of_a.right);
        let b = b.as_ptr().wrapping_add(first + column);
        for offset in self.factors.offsets.all.chunks(BLOCK).nth(block).unwrap_or_default() {
            let from = b.wrapping_add(*offset);
            let mut x = [A::splat(simd, A::default()); V];
            for v in 0..V {
                // SAFETY: less than a vector is read behind the last column, and so much lies in the slice (`multiply_into`).
                x[v] = unsafe { from.wrapping_add(v * Self::lanes::<S>()).cast::<A::Vector<S>>().read_unaligned() };
            }
            for r in 0..M {
                // SAFETY: the row and `k` lie in the matrix (`multiply_into`).
                let factor = A::splat(simd, unsafe { *a.wrapping_add(r * of_a.down) });
                for v in 0..V {
                    sums[r][v] = A::fma(simd, factor, x[v], sums[r][v]);
                }
            }
            a = a.wrapping_add(of_a.right);
        }
        sums
    }

    #[inline(always)]
    #[expect(clippy::indexing_slicing, clippy::needless_range_loop, reason = "indices unroll into registers")]
    fn tile<S: Simd, const M: usize, const V: usize>(&self, simd: S, block: usize, [row, column]: [usize; 2]) {
        let lanes = Self::lanes::<S>();
        let (sums, adds) = (self.sums::<S, M, V>(simd, block, [row, column]), self.adds || block > 0);
        for r in 0..M {
            let line = self.of_c.first + (row + r) * self.of_c.down + column;
            for v in 0..V {
                let (len, own) = (lanes.min(self.columns - column - v * lanes), sums[r][v]);
                // SAFETY: the caller of `multiply_into` has these elements for itself.
                let to = unsafe { self.to.line(line + v * lanes, len) };
                if to.len() < lanes {
                    A::store(simd, to, if adds { A::plus(simd, A::load(simd, to), own) } else { own });
                    continue;
                }
                let to = to.as_mut_ptr().cast::<A::Vector<S>>();
                // SAFETY: a vector lies there (above), which is not aligned.
                unsafe { to.write_unaligned(if adds { A::plus(simd, to.read_unaligned(), own) } else { own }) };
            }
        }
    }

    /// Tiles below each other.
    #[inline(always)]
    fn stack<S: Simd, const V: usize>(&self, simd: S, block: usize, column: usize) {
        // As many sums as the registers hold: AVX-512 has 32 of them.
        let many = size_of::<A::Vector<S>>() == 64;
        let mut row = 0;
        while row < self.rows {
            let left = self.rows - row;
            row += if many && left >= 8 {
                self.tile::<S, 8, V>(simd, block, [row, column]);
                8
            } else if left >= 4 {
                self.tile::<S, 4, V>(simd, block, [row, column]);
                4
            } else {
                self.tile::<S, 1, V>(simd, block, [row, column]);
                1
            };
        }
    }
}

impl<A: Real> WithSimd for Tiles<'_, A> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let vectors = self.columns.div_ceil(Self::lanes::<S>());
        let stacks = vectors.div_ceil(VECTORS);
        for block in 0..self.factors.offsets.all.len().div_ceil(BLOCK).max(1) {
            let mut done = 0;
            for stack in 0..stacks {
                // They share the columns as evenly as vectors can.
                let (some, column) = ((vectors - done).div_ceil(stacks - stack), done * Self::lanes::<S>());
                match some {
                    1 => self.stack::<S, 1>(simd, block, column),
                    2 => self.stack::<S, 2>(simd, block, column),
                    _ => self.stack::<S, VECTORS>(simd, block, column),
                }
                done += some;
            }
        }
    }
}
