//! Multiplies many columns by a small triangle, or solves with it.
//!
//! As many columns of B as fill two SIMD vectors are gathered row by row. (For complex numbers, one vector holds the
//! real parts and one the imaginary parts.) So each step of a substitution is a multiply-add of whole vectors. Four
//! rows are eliminated together, which gives enough independent multiply-adds and uses each loaded row four times.

use crate::core::room::{OrUnwind, filled};
use pulp::{Arch, Simd, WithSimd};

use super::super::gemm::Native;
use super::super::simd::{Lanes, Vectors};
use super::triangle::{Action, Triangle};
use super::view::MatMut;

/// Maximum number of rows of a leaf.
pub(super) const LEAF: usize = 64;
/// Rows that are eliminated together.
const ROWS: usize = 4;
/// Vectors per row of the lanes: two of reals, or one of real parts and one of imaginary parts.
const VECTORS: usize = 2;

/// The triangle of a leaf, row by row in the order of elimination; real and imaginary parts are separate. `re` has only
/// `n` rows, and `im` has rows only for complex numbers: for a small leaf, clearing more would take longer than its
/// arithmetic.
struct Packed<R> {
    n: usize,
    re: Vec<[R; LEAF]>,
    im: Vec<[R; LEAF]>,
    /// The diagonal elements, to divide by; for complex numbers their inverses, to multiply by.
    diagonal: [[R; 2]; LEAF],
    /// What to divide by after that: 1, except where the inverse alone would overflow.
    rest: [R; LEAF],
}

/// `1 / x` as a factor and a real divisor. The divisor is a power of two if `x` is so small that its inverse overflows,
/// else 1.
pub(super) fn inverse<R: Lanes>([re, im]: [R; 2], one: R) -> ([R; 2], R) {
    let inverse = smith([re, im], one);
    let zero = R::default();
    if inverse.iter().all(|x| *x * zero == zero) {
        return (inverse, one);
    }
    // 2^-64: the inverse of the smallest number of either type, scaled by this, is finite.
    let rest = (0..64).fold(one, |x, _| x / (one + one));
    (smith([re / rest, im / rest], one), rest)
}

/// `1 / x` by Smith's method, which squares no part, so no square overflows.
fn smith<R: Lanes>([re, im]: [R; 2], one: R) -> [R; 2] {
    if re.abs() >= im.abs() {
        let ratio = im / re;
        let d = re + im * ratio;
        [one / d, -ratio / d]
    } else {
        let ratio = re / im;
        let d = re * ratio + im;
        [ratio / d, -one / d]
    }
}

/// `B = alpha * T * B` or `B = alpha * T^-1 * B` for a T of at most [`LEAF`] rows.
pub(super) fn leaf<T: Native>(action: Action, t: Triangle<'_, T>, alpha: T, b: MatMut<'_, T>) {
    let (zero, [one, _]) = (T::Real::default(), T::ONE.parts());
    let n = t.matrix.rows();
    let mut packed = Packed {
        n,
        re: filled(n, [zero; LEAF]).or_unwind(),
        im: filled(if T::WEIGHT > 1 { n } else { 0 }, [zero; LEAF]).or_unwind(),
        diagonal: [[one, zero]; LEAF],
        rest: [one; LEAF],
    };
    let place = |i: usize| if t.lower { i } else { n - 1 - i };
    let divisors = packed.diagonal.iter_mut().zip(&mut packed.rest);
    let mut imaginary = packed.im.iter_mut();
    for (i, (re, (diagonal, rest))) in packed.re.iter_mut().zip(divisors).enumerate() {
        let mut im = imaginary.next().into_iter().flatten();
        for (k, re) in re.iter_mut().enumerate().take(i + 1) {
            let x = if k == i && t.unit { T::ONE } else { t.matrix.get(place(i), place(k)) };
            let part;
            [*re, part] = x.parts();
            if let Some(im) = im.next() {
                *im = part;
            }
            if k == i {
                (*diagonal, *rest) = if T::WEIGHT > 1 && !t.unit { inverse(x.parts(), one) } else { (x.parts(), one) };
            }
        }
    }
    Arch::new().dispatch(Leaf { action, packed: &packed, lower: t.lower, alpha, b });
}

/// A leaf with its packed triangle.
struct Leaf<'a, 'b, T: Native> {
    action: Action,
    packed: &'a Packed<T::Real>,
    lower: bool,
    alpha: T,
    b: MatMut<'b, T>,
}

/// The vectors of one row.
type Row<T, S> = [<<T as Native>::Real as Vectors>::Vector<S>; VECTORS];

/// `acc += factor * x`, for reals, or for complex numbers as vectors of real and of imaginary parts.
#[inline(always)]
fn add<T: Native, S: Simd>(simd: S, acc: &mut Row<T, S>, [re, im]: [T::Real; 2], x: Row<T, S>) {
    let ([acc0, acc1], [x0, x1]) = (acc, x);
    let factor = T::Real::splat(simd, re);
    *acc0 = T::Real::fma(simd, factor, x0, *acc0);
    *acc1 = T::Real::fma(simd, factor, x1, *acc1);
    if T::WEIGHT > 1 {
        *acc0 = T::Real::fma(simd, T::Real::splat(simd, -im), x1, *acc0);
        *acc1 = T::Real::fma(simd, T::Real::splat(simd, im), x0, *acc1);
    }
}

/// Computes rows `from..from + N`. To solve, the rows before `from` must be done; to multiply, they must not be.
// Loops and indices, not iterators: code that the library's adaptors call may not be inlined, and would be compiled
// without the vector instructions of this caller.
#[inline(always)]
#[expect(clippy::indexing_slicing, reason = "r, q < N, from + N <= n <= LEAF <= the rows of x")]
#[expect(clippy::needless_range_loop, clippy::manual_memcpy, reason = "indices unroll into registers")]
fn rows<T: Native, S: Simd, const SOLVE: bool, const N: usize>(
    simd: S,
    packed: &Packed<T::Real>,
    x: &mut [Row<T, S>],
    from: usize,
) {
    let [one, _] = T::ONE.parts();
    let zero = T::Real::splat(simd, T::Real::default());
    let mut acc = [[zero; VECTORS]; N];
    if SOLVE {
        for r in 0..N {
            acc[r] = x[from + r];
        }
    }
    let factor = |row: usize, k: usize| {
        let im = if T::WEIGHT > 1 { packed.im[row][k] } else { T::Real::default() };
        let re = packed.re[row][k];
        if SOLVE { [-re, -im] } else { [re, im] }
    };
    for k in 0..from {
        let row = x[k];
        for r in 0..N {
            add::<T, S>(simd, &mut acc[r], factor(from + r, k), row);
        }
    }
    for r in 0..N {
        for q in 0..N {
            if if SOLVE { q < r } else { q <= r } {
                let row = if SOLVE { acc[q] } else { x[from + q] };
                add::<T, S>(simd, &mut acc[r], factor(from + r, from + q), row);
            }
        }
        if SOLVE {
            let [re, im] = packed.diagonal[from + r];
            if T::WEIGHT > 1 {
                let row = acc[r];
                acc[r] = [zero; VECTORS];
                add::<T, S>(simd, &mut acc[r], [re, im], row);
                let rest = packed.rest[from + r];
                if rest != one {
                    acc[r] = acc[r].map(|x| T::Real::quotient(simd, x, T::Real::splat(simd, rest)));
                }
            } else {
                let divisor = T::Real::splat(simd, re);
                acc[r] = [T::Real::quotient(simd, acc[r][0], divisor), T::Real::quotient(simd, acc[r][1], divisor)];
            }
        }
    }
    for r in 0..N {
        x[from + r] = acc[r];
    }
}

/// Computes all rows, in the order of their elimination.
#[inline(always)]
fn eliminate<T: Native, S: Simd, const SOLVE: bool>(simd: S, packed: &Packed<T::Real>, x: &mut [Row<T, S>]) {
    let n = packed.n.min(x.len());
    let whole = n / ROWS * ROWS;
    let mut done = 0;
    while done < n {
        // Solves from the first row to the last; multiplies from the last to the first.
        let many = if SOLVE { done < whole } else { done >= n - whole };
        let step = if many { ROWS } else { 1 };
        let from = if SOLVE { done } else { n - done - step };
        if many {
            rows::<T, S, SOLVE, ROWS>(simd, packed, x, from);
        } else {
            rows::<T, S, SOLVE, 1>(simd, packed, x, from);
        }
        done += step;
    }
}

/// Rows and columns of a tile, which is transposed in registers between the lanes and a column-major B.
const TILE: usize = 8;

impl<T: Native> Leaf<'_, '_, T> {
    /// Copies between the lanes, `width` reals per row, and `b`: into the lanes if `INTO`, else out of them.
    #[inline(always)]
    fn exchange<const INTO: bool>(&self, b: &mut MatMut<'_, T>, lanes: &mut [T::Real], width: usize) {
        let n = self.packed.n;
        // Imaginary parts lie half a row after the real ones.
        let half = if T::WEIGHT > 1 { width / 2 } else { width };
        if b.is_row_major() {
            let mut b = b.reborrow().t();
            for (i, row) in lanes.chunks_exact_mut(width).enumerate().take(n) {
                let place = if self.lower { i } else { n - 1 - i };
                let (Some(values), (re, im)) = (b.column_mut(place), row.split_at_mut(half)) else { return };
                self.line::<INTO>(re, im, values);
            }
            return;
        }
        let cols = b.cols();
        let (mut i, whole) = (0, cols / TILE * TILE);
        while i < n {
            let rows = TILE.min(n - i);
            let first = if self.lower { i } else { n - i - rows };
            let mut l = 0;
            while l < cols {
                if rows == TILE && l < whole {
                    self.tile::<INTO>(b, lanes, [first, l], [i, width, half]);
                    l += TILE;
                    continue;
                }
                for r in 0..rows {
                    let at = (i + if self.lower { r } else { rows - 1 - r }) * width + l;
                    let value = b.get(first + r, l);
                    self.one::<INTO>(lanes, at, half, value, |x| b.set(first + r, l, x));
                }
                l += 1;
            }
            i += rows;
        }
    }

    /// Copies the square of B that begins at (`row`, `column`); its rows in the lanes begin with row `i`.
    #[inline(always)]
    #[expect(clippy::indexing_slicing, reason = "r, c < TILE, the length of all")]
    #[expect(clippy::needless_range_loop, reason = "indices unroll into registers")]
    fn tile<const INTO: bool>(
        &self,
        b: &mut MatMut<'_, T>,
        lanes: &mut [T::Real],
        [row, column]: [usize; 2],
        [i, width, half]: [usize; 3],
    ) {
        let mut tile = [[T::default(); TILE]; TILE];
        if INTO {
            for c in 0..TILE {
                let from = b.column_mut(column + c).and_then(|x| x.get(row..)).and_then(|x| x.first_chunk::<TILE>());
                let Some(from) = from else { return };
                tile[c] = *from;
            }
        }
        for r in 0..TILE {
            let line = (i + if self.lower { r } else { TILE - 1 - r }) * width + column;
            let Some((re, im)) = lanes.get_mut(line..).and_then(|x| x.split_first_chunk_mut::<TILE>()) else { return };
            let im = im.get_mut(half - TILE..).and_then(|x| x.first_chunk_mut::<TILE>());
            if INTO {
                *re = std::array::from_fn(|c| self.scaled(tile[c][r]).parts()[0]);
                if let (Some(im), true) = (im, T::WEIGHT > 1) {
                    *im = std::array::from_fn(|c| self.scaled(tile[c][r]).parts()[1]);
                }
            } else {
                let zero = [T::Real::default(); TILE];
                let im = im.filter(|_| T::WEIGHT > 1).map_or(zero, |im| *im);
                for c in 0..TILE {
                    tile[c][r] = T::of_parts([re[c], im[c]]);
                }
            }
        }
        if !INTO {
            for c in 0..TILE {
                let to =
                    b.column_mut(column + c).and_then(|x| x.get_mut(row..)).and_then(|x| x.first_chunk_mut::<TILE>());
                if let Some(to) = to {
                    *to = tile[c];
                }
            }
        }
    }

    /// Copies one row that is contiguous in B too.
    #[inline(always)]
    fn line<const INTO: bool>(&self, re: &mut [T::Real], im: &mut [T::Real], values: &mut [T]) {
        let none = T::Real::default();
        if T::WEIGHT > 1 {
            for ((re, im), value) in re.iter_mut().zip(im).zip(values) {
                if INTO { [*re, *im] = self.scaled(*value).parts() } else { *value = T::of_parts([*re, *im]) }
            }
        } else {
            for (re, value) in re.iter_mut().zip(values) {
                if INTO { [*re, _] = self.scaled(*value).parts() } else { *value = T::of_parts([*re, none]) }
            }
        }
    }

    /// Copies one element, whose real part lies at `at` in the lanes.
    #[inline(always)]
    fn one<const INTO: bool>(&self, lanes: &mut [T::Real], at: usize, half: usize, value: T, mut set: impl FnMut(T)) {
        let [re, im] = self.scaled(value).parts();
        let mut parts = [T::Real::default(); 2];
        for (place, (part, new)) in [at, at + half].into_iter().zip(parts.iter_mut().zip([re, im])) {
            if let (Some(lane), true) = (lanes.get_mut(place), place == at || T::WEIGHT > 1) {
                if INTO { *lane = new } else { *part = *lane }
            }
        }
        if !INTO {
            set(T::of_parts(parts));
        }
    }

    #[inline(always)]
    fn scaled(&self, x: T) -> T {
        if self.alpha == T::ONE { x } else { self.alpha * x }
    }
}

impl<T: Native> WithSimd for Leaf<'_, '_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        let vector = size_of::<<T::Real as Vectors>::Vector<S>>() / size_of::<T::Real>();
        let width = VECTORS * vector;
        let mut lanes = filled(width * self.packed.n, T::Real::default()).or_unwind();
        let columns = if T::WEIGHT > 1 { vector } else { width };
        let Some(none) = MatMut::new(&mut [], 0, 0, 1) else { return };
        let mut rest = std::mem::replace(&mut self.b, none);
        while rest.cols() > 0 {
            let (mut b, later) = rest.split_cols(columns);
            self.exchange::<true>(&mut b, &mut lanes, width);
            let (x, _) = T::Real::vectors_mut::<S>(&mut lanes).0.as_chunks_mut::<VECTORS>();
            match self.action {
                Action::Solve => eliminate::<T, S, true>(simd, self.packed, x),
                Action::Multiply => eliminate::<T, S, false>(simd, self.packed, x),
            }
            self.exchange::<false>(&mut b, &mut lanes, width);
            rest = later;
        }
    }
}
