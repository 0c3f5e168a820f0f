//! One loop for each operation and lane.
//!
//! A [`Kernel`] treats chunks of [`CHUNK`] elements: the inner loop has a fixed length, so that the compiler makes whole
//! vectors of it and no remainder. An operand that is the same for all elements is a single chunk that is read again.
//! `arithmetic.rs` and `convert.rs` define the operations, `half.rs` uses the instructions for `f16`, `table.rs` finds the
//! loop of an instruction. Each loop is compiled twice: in vectors, and for processors without them element by element,
//! which costs the compiler next to nothing. Those of functions (`functions/loops.rs`) are compiled for AVX-512, too. [`Level::detect`]
//! chooses at run time.

mod arithmetic;
mod convert;
mod half;
mod table;

pub(in crate::libraries) use arithmetic::Canonical;
pub(super) use table::{copy, find, find_then_canon};

/// The number of elements that one step of a loop treats.
///
/// With 64 the compiler makes loops of vectors; with 32 it unrolls the loops before it sees the vectors, which costs a
/// factor of 3 in speed and 5 in the time to compile.
pub(in crate::libraries) const CHUNK: usize = 64;

/// Elements that one step treats.
type Chunk<T> = [T; CHUNK];

/// The operands of a kernel.
#[derive(Clone, Copy)]
pub(in crate::libraries) struct Args {
    pub(in crate::libraries) dst: *mut u8,
    pub(in crate::libraries) src: [*const u8; 3],
    /// Bytes from one chunk of an operand to the next: 0 if it is the same for all elements.
    pub(in crate::libraries) advance: [usize; 3],
    pub(in crate::libraries) chunks: usize,
}

/// A loop over chunks.
///
/// # Safety
/// The operands have their lane's alignment; each has `chunks` chunks, or one if it does not advance; `dst` has
/// `chunks` chunks of the result's lane, which no operand overlaps. The CPU has the instruction set.
pub(in crate::libraries) type Kernel = unsafe fn(&Args);

/// An instruction set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::libraries) enum Level {
    /// Element by element.
    Scalar,
    /// Vectors: on x86 AVX2, FMA and F16C, elsewhere what the target always has.
    Vectors,
    /// These, and on x86 AVX-512, of which the loops of functions make use; the others wait for memory.
    Wide,
}

impl Level {
    /// The best one that this CPU has.
    pub(in crate::libraries) fn detect() -> Self {
        // For tests of the loops that this CPU does not need.
        static MOST: std::sync::OnceLock<Level> = std::sync::OnceLock::new();
        let is_set = |name: &str| std::env::var_os(name).is_some();
        let most = *MOST.get_or_init(|| match (is_set("WINDLASS_TEST_SCALAR"), is_set("WINDLASS_TEST_NARROW")) {
            (true, _) => Level::Scalar,
            (_, true) => Level::Vectors,
            _ => Level::Wide,
        });
        Self::of_cpu().min(most)
    }

    #[cfg(target_arch = "x86_64")]
    fn of_cpu() -> Self {
        use std::arch::is_x86_feature_detected as has;
        if !(has!("avx2") && has!("fma") && has!("f16c")) {
            return Level::Scalar;
        }
        let is_wide = has!("avx512f") && has!("avx512bw") && has!("avx512dq") && has!("avx512vl");
        if is_wide { Level::Wide } else { Level::Vectors }
    }

    #[cfg(not(target_arch = "x86_64"))]
    fn of_cpu() -> Self {
        Level::Vectors
    }
}

/// An operation on one, two or three values. `T` is the lane that a table is asked for.
pub(crate) trait Map1<T> {
    type R;
    fn map(a: T) -> Self::R;
}
pub(crate) trait Map2<T> {
    type R;
    fn map(a: T, b: T) -> Self::R;
}
pub(crate) trait Map3<T> {
    /// The first operand.
    type A;
    fn map(a: Self::A, b: T, c: T) -> T;
}

/// Operand `k` of a chunk.
///
/// # Safety
/// As [`Kernel`].
#[inline(always)]
pub(in crate::libraries) unsafe fn chunk<'a, T>(args: &Args, k: usize, at: usize) -> &'a [T; CHUNK] {
    let src = args.src.get(k).copied().unwrap_or(std::ptr::null());
    let advance = args.advance.get(k).copied().unwrap_or(0);
    // SAFETY: the caller of the kernel guarantees that the chunk is there.
    unsafe { &*src.add(at * advance).cast() }
}

/// The result of a chunk.
///
/// # Safety
/// As [`Kernel`].
#[inline(always)]
pub(in crate::libraries) unsafe fn result<'a, T>(args: &Args, at: usize) -> &'a mut [T; CHUNK] {
    // SAFETY: the caller of the kernel guarantees that the chunk is there and that nothing else uses it.
    unsafe { &mut *args.dst.add(at * CHUNK * size_of::<T>()).cast() }
}

/// The value, in a way that keeps the compiler from making vectors of a loop.
#[inline(always)]
fn alone<T: Copy>(x: &T) -> T {
    // SAFETY: a reference.
    unsafe { std::ptr::read_volatile(x) }
}

/// The loops of an operation on so many values: `$select` finds the one of a level.
macro_rules! loops { ($select:ident $vectors:ident $scalar:ident $trait:ident [$($bound:tt)*] |$args:ident, $at:ident, $alone:ident| $chunk:expr) => {
    /// # Safety
    /// As [`Kernel`].
    #[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,fma,f16c"))]
    unsafe fn $vectors<O: $trait<T>, T: Copy>($args: &Args) where $($bound)* {
        macro_rules! $alone { ($x:expr) => { *$x } }
        for $at in 0..$args.chunks {
            $chunk
        }
    }

    /// # Safety
    /// As [`Kernel`].
    #[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
    unsafe fn $scalar<O: $trait<T>, T: Copy>($args: &Args) where $($bound)* {
        macro_rules! $alone { ($x:expr) => { alone($x) } }
        for $at in 0..$args.chunks {
            $chunk
        }
    }

    pub(crate) fn $select<O: $trait<T>, T: Copy>(level: Level) -> Kernel where $($bound)* {
        match level {
            Level::Vectors | Level::Wide => $vectors::<O, T>,
            Level::Scalar => $scalar::<O, T>,
        }
    }
} }

loops!(one vectors1 scalar1 Map1 [] |args, at, value| {
    // SAFETY: the contract of `Kernel`.
    let (dst, a): (&mut Chunk<O::R>, &Chunk<T>) = unsafe { (result(args, at), chunk(args, 0, at)) };
    for (dst, a) in dst.iter_mut().zip(a) {
        *dst = O::map(value!(a));
    }
});
loops!(two vectors2 scalar2 Map2 [] |args, at, value| {
    // SAFETY: the contract of `Kernel`.
    let (dst, a, b): (&mut Chunk<O::R>, &Chunk<T>, &Chunk<T>) =
        unsafe { (result(args, at), chunk(args, 0, at), chunk(args, 1, at)) };
    for ((dst, a), b) in dst.iter_mut().zip(a).zip(b) {
        *dst = O::map(value!(a), *b);
    }
});
loops!(three vectors3 scalar3 Map3 [O::A: Copy] |args, at, value| {
    // SAFETY: the contract of `Kernel`.
    let (dst, a): (&mut Chunk<T>, &Chunk<O::A>) = unsafe { (result(args, at), chunk(args, 0, at)) };
    // SAFETY: as above.
    let (b, c): (&Chunk<T>, &Chunk<T>) = unsafe { (chunk(args, 1, at), chunk(args, 2, at)) };
    for (((dst, a), b), c) in dst.iter_mut().zip(a).zip(b).zip(c) {
        *dst = O::map(value!(a), *b, *c);
    }
});

/// The loop of an operation that only vectors need.
pub(super) fn three_in_vectors<O: Map3<T>, T: Copy>(_: Level) -> Kernel
where
    O::A: Copy,
{
    vectors3::<O, T>
}

/// The loop of an operation that vectors have no instruction for: element by element, whatever the level.
pub(super) fn one_alone<O: Map1<T>, T: Copy>(_: Level) -> Kernel {
    scalar1::<O, T>
}

/// As [`one_alone`].
pub(super) fn two_alone<O: Map2<T>, T: Copy>(_: Level) -> Kernel {
    scalar2::<O, T>
}
