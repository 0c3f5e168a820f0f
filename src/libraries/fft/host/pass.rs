//! One pass: the transforms of all lines along one axis.

use super::Real;
use super::lines::{Line, Lines, Reader, Writer, gather, scatter};
use super::threads::each_range;
use crate::core::room::{OrUnwind, filled};
use num_complex::Complex;
use realfft::{ComplexToReal, RealToComplex};
use rustfft::Fft;
use smallvec::SmallVec;

/// Elements of a block of lines: most of the block and its copy stay in the L2 cache.
const BLOCK: usize = 1 << 13;
/// The limit on the lines of a strided block is not below this.
const WIDE: usize = 16;

/// What is done to every element as it is gathered or scattered.
#[derive(Clone, Copy)]
pub(super) struct Touch<T> {
    /// Conjugate what is read.
    pub(super) conj_in: bool,
    /// Conjugate what is written.
    pub(super) conj_out: bool,
    /// Multiply what is written.
    pub(super) scale: T,
}

impl<T: Real> Touch<T> {
    pub(super) fn none() -> Self {
        Touch { conj_in: false, conj_out: false, scale: T::one() }
    }

    fn incoming(&self, x: Complex<T>) -> Complex<T> {
        if self.conj_in { x.conj() } else { x }
    }

    fn outgoing(&self, x: Complex<T>) -> Complex<T> {
        let x = if self.conj_out { x.conj() } else { x };
        x * self.scale
    }

    fn is_plain(&self) -> bool {
        !self.conj_out && self.scale == T::one()
    }
}

/// How many lines of `n` elements make a block.
fn width(n: usize, strided: bool) -> usize {
    let fits = (BLOCK / n.max(1)).max(1);
    // Long strided lines are expensive: at least 4 share their cache lines, even if the block then exceeds the cache.
    if strided { fits.clamp(4, WIDE.max(fits.min(64))) } else { fits }
}

/// Calls `f` with blocks of lines, on as many threads as are worth it. `begin` makes the working memory of a thread.
fn each_block<W>(
    lines: &Lines,
    width: usize,
    cost: usize,
    begin: &(dyn Fn() -> W + Sync),
    f: &(dyn Fn(&mut W, &[Line]) + Sync),
) {
    each_range(lines.count, width, cost, &|range| {
        let mut work = begin();
        let mut block: SmallVec<[Line; 64]> = SmallVec::new();
        let end = range.end;
        let mut at = range.start;
        lines.each(range, |line| {
            block.push(line);
            at += 1;
            if block.len() == width || at == end {
                f(&mut work, &block);
                block.clear();
            }
        });
    });
}

/// The cost of a line, to decide how many threads are worth it.
fn cost(n: usize) -> usize {
    n.saturating_mul((usize::BITS - n.leading_zeros()) as usize / 4 + 1)
}

/// Working memory of one task.
fn zeros<T: Real>(n: usize) -> Vec<Complex<T>> {
    filled(n, Complex::new(T::zero(), T::zero())).or_unwind()
}

/// As [`zeros`].
fn reals<T: Real>(n: usize) -> Vec<T> {
    filled(n, T::zero()).or_unwind()
}

/// Both sides of a pass: where lines are read, and where they are written, with the number of elements of a line there.
struct Sides<'s, I, O> {
    lines: &'s Lines,
    from: (Reader<I>, usize),
    to: (Writer<O>, usize),
}

/// The working memory of a thread: a block of what is read, one of what is written, and the rest.
type Blocks<I, O, W> = (Vec<I>, Vec<O>, W);

/// Gathers blocks of lines, transforms each block, and scatters the result. `n` is the length of a transform, which with `cost`
/// decides how the lines are divided. `begin` makes the working memory of a thread for a number of lines: a block of what is
/// read, one of what is written, and the rest. `transform` returns what is written: one of the two blocks.
///
/// # Safety
/// The lines were made for the lengths of both sides, which nothing else accesses meanwhile. No two of them write the same
/// element. If a line reads what it writes, it reads nothing that another line writes.
unsafe fn each_block_transformed<I: Copy + Default + Send + Sync, O: Copy + Send + Sync, W>(
    Sides { lines, from: (from, read), to: (to, written) }: Sides<'_, I, O>,
    (n, cost): (usize, usize),
    begin: &(dyn Fn(usize) -> Blocks<I, O, W> + Sync),
    (incoming, outgoing): (impl Fn(I) -> I + Sync, impl Fn(O) -> O + Sync),
    transform: &(dyn for<'w> Fn(&'w mut [I], &'w mut [O], &mut W) -> &'w [O] + Sync),
) {
    let strided = lines.along.from != 1 || lines.along.to != 1;
    let width = width(n, strided);
    each_block(lines, width, cost, &|| begin(width), &|(block, out, work), some| {
        let block = block.get_mut(..read * some.len()).unwrap_or_default();
        // SAFETY: lines of `lines`; in place, this thread alone reads and writes these.
        unsafe { gather(from, lines, some, read, block, I::default(), &incoming) };
        let done = transform(block, out, work);
        // SAFETY: lines of `lines`, which no other thread has.
        unsafe { scatter(to, lines, some, written, done, &outgoing) };
    });
}

/// Complex lines. Without `from` they are transformed in place in `to`.
///
/// # Safety
/// `lines` was made for the lengths of both sides, which nothing else accesses meanwhile. No two of its lines write the
/// same element. If there is no `from`, a line reads what it writes.
pub(super) unsafe fn complex<T: Real>(
    plan: &dyn Fft<T>,
    lines: &Lines,
    from: Option<Reader<Complex<T>>>,
    to: Writer<Complex<T>>,
    touch: Touch<T>,
) {
    let n = plan.len();
    if lines.are_packed(n) && !touch.conj_in {
        let scratch_len =
            if from.is_some() { plan.get_immutable_scratch_len() } else { plan.get_inplace_scratch_len() };
        let together = (BLOCK / n).max(1);
        each_range(lines.count, together, cost(n), &|range| {
            let mut scratch = zeros(scratch_len);
            for first in range.clone().step_by(together) {
                let count = together.min(range.end - first);
                // SAFETY: packed lines of `n` elements from 0 on, which lie inside (`Lines::new`); ranges are disjoint.
                let out = unsafe { to.slice(first * n, count * n) };
                match from {
                    // SAFETY: as above; what is read is another slice.
                    Some(from) => plan.process_immutable_with_scratch(
                        unsafe { from.slice(first * n, count * n) },
                        out,
                        &mut scratch,
                    ),
                    None => plan.process_with_scratch(out, &mut scratch),
                }
                if !touch.is_plain() {
                    out.iter_mut().for_each(|x| *x = touch.outgoing(*x));
                }
            }
        });
        return;
    }
    let sides = Sides { lines, from: (from.unwrap_or(to.reader()), n), to: (to, n) };
    let begin = |width| (zeros(n.saturating_mul(width)), Vec::new(), zeros(plan.get_inplace_scratch_len()));
    // SAFETY: the caller's promise.
    unsafe {
        each_block_transformed(
            sides,
            (n, cost(n)),
            &begin,
            (|x| touch.incoming(x), |x| touch.outgoing(x)),
            &|block, _, scratch| {
                plan.process_with_scratch(block, scratch);
                block
            },
        );
    }
}

/// Real lines to half spectra. In place if `from` and `to` are the same memory and each line stays in its own.
///
/// # Safety
/// `lines` was made for the lengths of both sides, which nothing else accesses meanwhile. No two of its lines write the
/// same element.
pub(super) unsafe fn forward<T: Real>(
    plan: &dyn RealToComplex<T>,
    lines: &Lines,
    from: Reader<T>,
    to: Writer<Complex<T>>,
    touch: Touch<T>,
) {
    let (n, m) = (plan.len(), plan.complex_len());
    let begin = |width| (reals(n.saturating_mul(width)), zeros(m.saturating_mul(width)), zeros(plan.get_scratch_len()));
    // SAFETY: the caller's promise.
    unsafe {
        each_block_transformed(
            Sides { lines, from: (from, n), to: (to, m) },
            (n, cost(n)),
            &begin,
            (|x| x, |x| touch.outgoing(x)),
            &|block, out, scratch| {
                for (line, out) in block.chunks_exact_mut(n).zip(out.chunks_exact_mut(m)) {
                    // Cannot fail: the lengths are the plan's own.
                    let _ = plan.process_with_scratch(line, out, scratch);
                }
                out
            },
        );
    }
}

/// Half spectra to real lines. In place as [`forward`].
///
/// # Safety
/// As [`forward`].
pub(super) unsafe fn backward<T: Real>(
    plan: &dyn ComplexToReal<T>,
    lines: &Lines,
    from: Reader<Complex<T>>,
    to: Writer<T>,
    touch: Touch<T>,
) {
    let (n, m) = (plan.len(), plan.complex_len());
    let begin = |width| (zeros(m.saturating_mul(width)), reals(n.saturating_mul(width)), zeros(plan.get_scratch_len()));
    // SAFETY: the caller's promise.
    unsafe {
        each_block_transformed(
            Sides { lines, from: (from, m), to: (to, n) },
            (n, cost(n)),
            &begin,
            (|x| touch.incoming(x), |x| x * touch.scale),
            &|block, out, scratch| {
                for (line, out) in block.chunks_exact_mut(m).zip(out.chunks_exact_mut(n)) {
                    // Imaginary parts that must be zero are taken as zero, as in cuFFT.
                    if let Some(first) = line.first_mut() {
                        first.im = T::zero();
                    }
                    if let (true, Some(last)) = (n.is_multiple_of(2), line.last_mut()) {
                        last.im = T::zero();
                    }
                    let _ = plan.process_with_scratch(line, out, scratch);
                }
                out
            },
        );
    }
}

/// Real lines to real lines. `f` transforms a line of `n` elements; `begin` makes the working memory of a thread.
///
/// # Safety
/// As [`complex`]; in place if `from` and `to` are the same memory.
pub(super) unsafe fn real<T: Real, W>(
    n: usize,
    lines: &Lines,
    from: Reader<T>,
    to: Writer<T>,
    begin: &(dyn Fn() -> W + Sync),
    f: &(dyn Fn(&mut W, &mut [T]) + Sync),
) {
    let begin = |width| (reals(n.saturating_mul(width)), Vec::new(), begin());
    // SAFETY: the caller's promise.
    unsafe {
        each_block_transformed(
            Sides { lines, from: (from, n), to: (to, n) },
            (n, 2 * cost(n)),
            &begin,
            (|x| x, |x| x),
            &|block, _, work| {
                block.chunks_exact_mut(n).for_each(|line| f(work, line));
                block
            },
        );
    }
}
