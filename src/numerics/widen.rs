//! Products of types narrower than f32: panels of A and B are widened to f32 and multiplied; results are stored once.
//!
//! C is cut into blocks and `k` into slices, so the scratch memory is bounded for every shape:
//! `BLOCK * BLOCK + 2 * BLOCK * depth` f32, at most 24 MiB at a depth of 512 and 32 MiB at 1024. With `Slices::Summed`,
//! a block of C stays in f32 for the whole of `k` and is rounded to its own type once, at the end. Adding slices to an
//! f16 C would round at every slice (as `gemm`'s own f16 product does).

use crate::core::fp8::{F8E4M3, F8E5M2};
use crate::core::harsh;
use crate::core::room::{OrUnwind, zeroed};
use std::cell::Cell;

use half::slice::HalfFloatSliceExt;
use half::{bf16, f16};

use super::gemm::{HostGemm, each_column, multiply};
use super::parallel::{Parts, each_pair, each_part};
use super::simd::{Kernel, run};
use super::spec::{GemmSpec, Trans};

/// A type whose values are all exactly representable in f32.
pub(crate) trait Widen: Copy + Default + Send + Sync {
    /// Converts `src` to `dst`, up to the shorter length.
    fn widen(src: &[Self], dst: &mut [f32]);
}

/// A type to which an f32 can be rounded: to nearest, ties to even.
pub(crate) trait Narrow: Widen {
    /// Converts `src` to `dst`, up to the shorter length.
    fn narrow(src: &[f32], dst: &mut [Self]);
}

impl Widen for f16 {
    fn widen(src: &[Self], dst: &mut [f32]) {
        let len = src.len().min(dst.len());
        if let (Some(src), Some(dst)) = (src.get(..len), dst.get_mut(..len)) {
            src.convert_to_f32_slice(dst);
        }
    }
}

impl Narrow for f16 {
    fn narrow(src: &[f32], dst: &mut [Self]) {
        let len = src.len().min(dst.len());
        if let (Some(src), Some(dst)) = (src.get(..len), dst.get_mut(..len)) {
            dst.convert_from_f32_slice(src);
        }
    }
}

/// A conversion of every element of a slice.
struct Each<'a, X, Y, F>(&'a [X], &'a mut [Y], F);

impl<X: Copy, Y, F: Fn(X) -> Y> Kernel for Each<'_, X, Y, F> {
    type Output = ();

    #[inline(always)]
    fn body(self) {
        let Self(src, dst, convert) = self;
        src.iter().zip(dst).for_each(|(x, y)| *y = convert(*x));
    }
}

// `half` converts f16 with the machine's own instructions, but bf16 one element at a time. The compiler vectorizes
// these loops.
impl Widen for bf16 {
    fn widen(src: &[Self], dst: &mut [f32]) {
        run(Each(src, dst, |x: Self| f32::from_bits(u32::from(x.to_bits()) << 16)));
    }
}

impl Narrow for bf16 {
    fn narrow(src: &[f32], dst: &mut [Self]) {
        run(Each(src, dst, |x: f32| {
            let bits = x.to_bits();
            // Adds half a unit of the part that is kept, less one if that part is even: ties go to even.
            let rounded = bits.wrapping_add(0x7fff + ((bits >> 16) & 1)) >> 16;
            // A NaN must stay a NaN: rounding or truncation could make it an infinity. So its quiet bit is set.
            let nan = (bits >> 16) | 0x40;
            Self::from_bits(if x.is_nan() { nan } else { rounded } as u16)
        }));
    }
}

macro_rules! eight {
    ($($t:ty),*) => {$(
        impl Widen for $t {
            fn widen(src: &[Self], dst: &mut [f32]) {
                run(Each(src, dst, |x: Self| x.to_f32()));
            }
        }

        /// Saturates: a value larger than the largest finite value becomes that value.
        impl Narrow for $t {
            fn narrow(src: &[f32], dst: &mut [Self]) {
                run(Each(src, dst, Self::from_f32));
            }
        }
    )*};
}
eight!(F8E4M3, F8E5M2);

impl Widen for i8 {
    fn widen(src: &[Self], dst: &mut [f32]) {
        run(Each(src, dst, f32::from));
    }
}

impl Widen for f32 {
    fn widen(src: &[Self], dst: &mut [f32]) {
        run(Each(src, dst, |x| x));
    }
}

impl Narrow for f32 {
    fn narrow(src: &[f32], dst: &mut [Self]) {
        f32::widen(src, dst);
    }
}

macro_rules! half {
    ($($half:ty),*) => {$(
        impl HostGemm for $half {
            type Scalar = f32;
            type Out = $half;

            fn gemm(spec: &GemmSpec<f32>, a: &[Self], b: &[Self], c: &mut [Self]) {
                gemm_widened(spec, a, b, c);
            }
        }
    )*};
}
half!(f16, bf16);

/// `C = round(alpha * op(A) * op(B) + beta * C)`, everything inside the brackets in f32.
///
/// The types of the factors and of C are independent: `cublasGemmEx` is mostly used with halves and an f32 result.
pub(crate) fn gemm_widened<I: Widen, J: Widen, O: Narrow>(spec: &GemmSpec<f32>, a: &[I], b: &[J], c: &mut [O]) {
    if spec.k == 0 || spec.alpha == 0.0 {
        if spec.c_fits(c.len()) {
            each_column(spec.m, spec.ldc, spec.n, c, |_, column| store(&mut [], spec, column));
        }
        return;
    }
    blocks(spec, a, b, c, Slices::Summed { depth: 512 }, |_, sums, column| store(sums, spec, column));
}

/// Stores a column: `round(alpha * sums + beta * column)`. Missing sums count as zero.
fn store<O: Narrow>(sums: &mut [f32], spec: &GemmSpec<f32>, column: &mut [O]) {
    const PIECE: usize = 64;
    let mut none = [0.0; PIECE];
    let mut old = [0.0; PIECE];
    let mut sums = sums.chunks_mut(PIECE);
    for out in column.chunks_mut(PIECE) {
        let sums = sums.next().unwrap_or_else(|| {
            none.fill(0.0);
            &mut none
        });
        if spec.alpha != 1.0 {
            sums.iter_mut().for_each(|x| *x *= spec.alpha);
        }
        if spec.beta != 0.0 {
            O::widen(out, &mut old);
            sums.iter_mut().zip(&old).for_each(|(x, y)| *x += spec.beta * y);
        }
        O::narrow(sums, out);
    }
}

/// How the slices of `k` are combined.
#[derive(Clone, Copy)]
pub(super) enum Slices {
    /// They are summed in f32, and `store` gets the complete sum.
    Summed { depth: usize },
    /// `store` gets each slice separately.
    Apart { depth: usize },
}

/// Rows and columns of C in one block.
const BLOCK: usize = 2048;
/// Scratch of up to this many f32 is on the stack.
const ON_STACK: usize = 768;
/// Scratch of up to this many f32 (4 MiB) is kept by its thread for reuse: allocating it would cost as much as such a
/// product.
const KEEP: usize = 1 << 20;

/// Multiplies block by block, unscaled. Calls `store(first, sums, column)` for every column of every block: whether
/// this is the first call for this column, its f32 sums, and the column of C.
pub(super) fn blocks<S, I, J, O, F>(spec: &GemmSpec<S>, a: &[I], b: &[J], c: &mut [O], slices: Slices, store: F)
where
    I: Widen,
    J: Widen,
    O: Copy + Send,
    F: Fn(bool, &mut [f32], &mut [O]) + Sync,
{
    let fits = spec.c_fits(c.len()) && spec.ab_fit(a.len(), b.len());
    if !fits || spec.m == 0 || spec.n == 0 || spec.k == 0 {
        return;
    }
    let (Slices::Summed { depth } | Slices::Apart { depth }) = slices;
    let (mb, nb, kb) = (spec.m.min(BLOCK), spec.n.min(BLOCK), spec.k.min(depth));

    let starts = |extent: usize, step: usize| (0..extent).step_by(step);
    let of_block = |j, i| starts(spec.k, kb).map(move |p| (j, i, p));
    let of_columns = |j| starts(spec.m, mb).flat_map(move |i| of_block(j, i));
    with_scratch(mb * kb + kb * nb + mb * nb, |scratch| {
        let (a_wide, rest) = scratch.split_at_mut(mb * kb);
        let (b_wide, sums) = rest.split_at_mut(kb * nb);
        for (j, i, p) in starts(spec.n, nb).flat_map(of_columns) {
            let (m, n, k) = (mb.min(spec.m - i), nb.min(spec.n - j), kb.min(spec.k - p));
            let lda = widen_block(a, spec.lda, spec.op_a, (i, p), (m, k), a_wide);
            let ldb = widen_block(b, spec.ldb, spec.op_b, (p, j), (k, n), b_wide);
            let apart = matches!(slices, Slices::Apart { .. });
            let beta = if apart || p == 0 { 0.0 } else { 1.0 };
            let (op_a, op_b) = (spec.op_a, spec.op_b);
            let product = GemmSpec { m, n, k, op_a, lda, op_b, ldb, ldc: m, alpha: 1.0, beta };
            multiply(&product, a_wide, b_wide, sums);
            let last = p + k == spec.k;
            if let (true, Some(c)) = (apart || last, c.get_mut(i + j * spec.ldc..)) {
                store_block((m, n), sums, c, spec.ldc, |sums, column| store(p == 0, sums, column));
            }
        }
    });
}

thread_local! {
    /// Scratch of this thread's last product, for the next one.
    static SCRATCH: Cell<Vec<f32>> = const { Cell::new(Vec::new()) };
}

/// Calls `f` with `len` f32 of unspecified value.
///
/// A product inside `f` may wait in rayon, and rayon may run another product on this thread meanwhile. So the scratch
/// is taken out of the thread-local while it is in use, and the other product allocates its own.
fn with_scratch(len: usize, f: impl FnOnce(&mut [f32])) {
    if len <= ON_STACK {
        let mut scratch = [0.0; ON_STACK];
        return scratch.get_mut(..len).map(f).unwrap_or_default();
    }
    let mut scratch = SCRATCH.try_with(Cell::take).unwrap_or_default();
    if scratch.len() < len {
        // The system provides new memory already zeroed. Growing the old vector would write all of it.
        scratch = zeroed(len).or_unwind();
    }
    harsh::spoil_values(&mut scratch);
    scratch.get_mut(..len).map(f).unwrap_or_default();
    if scratch.len() <= KEEP {
        // Fails only while the thread exits; then the scratch is freed here.
        let _ = SCRATCH.try_with(|kept| kept.set(scratch));
    }
}

/// Calls `store` with each column of an `m` x `n` block.
fn store_block<O, F>((m, n): (usize, usize), sums: &mut [f32], c: &mut [O], ldc: usize, store: F)
where
    O: Send,
    F: Fn(&mut [f32], &mut [O]) + Sync,
{
    let column = |_: usize, sums: &mut [f32], c: &mut [O]| {
        if let Some(c) = c.get_mut(..m) {
            store(sums, c);
        }
    };
    if m * n < PARALLEL {
        sums.chunks_mut(m).zip(c.chunks_mut(ldc)).take(n).for_each(|(sums, c)| column(0, sums, c));
    } else {
        each_pair(sums, c, (Parts::with_size(m).take(n).least(PARALLEL / 4 / m), ldc), &column);
    }
}

/// From this many elements, a copy is split among threads.
const PARALLEL: usize = 1 << 17;

/// Widens the part of `op(X)` that begins at `at` and has `shape`, in its stored order (not transposed). Returns the
/// leading dimension of the widened part.
fn widen_block<T: Widen>(
    x: &[T],
    ld: usize,
    op: Trans,
    at: (usize, usize),
    shape: (usize, usize),
    wide: &mut [f32],
) -> usize {
    let (row, column, rows, columns) = match op {
        Trans::No => (at.0, at.1, shape.0, shape.1),
        Trans::Yes | Trans::Conj => (at.1, at.0, shape.1, shape.0),
    };
    let Some(x) = x.get(row + column * ld..) else {
        return rows;
    };
    if rows == ld || columns == 1 {
        let Some(wide) = wide.get_mut(..rows * columns) else {
            return rows;
        };
        if wide.len() < PARALLEL {
            T::widen(x, wide);
        } else {
            const PIECE: usize = PARALLEL / 8;
            each_part(wide, Parts::with_size(PIECE), &|i, wide| T::widen(x.get(i * PIECE..).unwrap_or_default(), wide));
        }
    } else if rows * columns < PARALLEL {
        x.chunks(ld).zip(wide.chunks_mut(rows)).take(columns).for_each(|(x, wide)| T::widen(x, wide));
    } else {
        let parts = Parts::with_size(rows).take(columns).least(PARALLEL / 8 / rows);
        each_part(wide, parts, &|j, wide| T::widen(x.get(j * ld..).unwrap_or_default(), wide));
    }
    rows
}
