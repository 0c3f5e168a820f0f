//! The host half: up the levels for the totals of chunks, and down again for the results, each level on all threads.
//!
//! Elements are accumulated in one of four types. What an element is, and what becomes of a result, are functions by the element
//! type; how two are joined is one by the kind.

use super::levels::{CHUNK, Level, levels};
use super::op::Scan;
use crate::core::element::DType;
use crate::core::error::{Error, Result};
use crate::core::fp8::{F8E4M3, F8E5M2};
use crate::core::room;
use crate::core::truth::Bool;
use crate::libraries::reductions::ReductionKind;
use half::{bf16, f16};
use rayon::prelude::*;

impl Fold {
    /// Two of them as one.
    pub(in crate::libraries) fn join<A: Accumulator>(self, own: A, value: A) -> A {
        match self {
            Fold::Add => own.add(value),
            Fold::Mul => own.mul(value),
            Fold::Min => own.min(value),
            Fold::Max => own.max(value),
        }
    }
}

/// The elements of a chunk, as they are accumulated.
type Chunk<A> = [A; CHUNK];

/// How results come of elements.
#[derive(Clone, Copy)]
pub(in crate::libraries) enum Fold {
    Add,
    Mul,
    Min,
    Max,
}

impl Fold {
    /// Truth values are 0 and 1.
    pub(in crate::libraries) fn for_kind(kind: ReductionKind) -> Self {
        match kind {
            ReductionKind::Prod => Fold::Mul,
            ReductionKind::Min | ReductionKind::All => Fold::Min,
            ReductionKind::Max | ReductionKind::Any => Fold::Max,
            _ => Fold::Add,
        }
    }
}

/// A type in which elements are accumulated.
pub(in crate::libraries) trait Accumulator: Copy + Send + Sync {
    const ZERO: Self;
    const ONE: Self;
    /// What changes no sum.
    const NOTHING: Self;

    fn add(self, other: Self) -> Self;
    fn mul(self, other: Self) -> Self;
    fn min(self, other: Self) -> Self;
    fn max(self, other: Self) -> Self;
    /// The smallest and the largest number of an element type.
    fn limits(dtype: DType) -> [Self; 2];
}

macro_rules! integers { ($($t:ty),*) => { $(
    impl Accumulator for $t {
        const ZERO: Self = 0;
        const ONE: Self = 1;
        const NOTHING: Self = 0;

        fn add(self, other: Self) -> Self {
            self.wrapping_add(other)
        }
        fn mul(self, other: Self) -> Self {
            self.wrapping_mul(other)
        }
        fn min(self, other: Self) -> Self {
            Ord::min(self, other)
        }
        fn max(self, other: Self) -> Self {
            Ord::max(self, other)
        }
        fn limits(dtype: DType) -> [Self; 2] {
            let spare = 64 - 8 * dtype.size() as u32;
            [<$t>::MIN >> spare, <$t>::MAX >> spare]
        }
    }
)* } }
integers!(i64, u64);

macro_rules! floats { ($($t:ty),*) => { $(
    impl Accumulator for $t {
        const ZERO: Self = 0.0;
        const ONE: Self = 1.0;
        const NOTHING: Self = -0.0;

        fn add(self, other: Self) -> Self {
            self + other
        }
        fn mul(self, other: Self) -> Self {
            self * other
        }
        fn min(self, other: Self) -> Self {
            // Of equal numbers only zeros differ, in the sign.
            match self == other {
                true => Self::from_bits(self.to_bits() | other.to_bits()),
                false if self.is_nan() || other.is_nan() => Self::NAN,
                false => if self < other { self } else { other },
            }
        }
        fn max(self, other: Self) -> Self {
            match self == other {
                true => Self::from_bits(self.to_bits() & other.to_bits()),
                false if self.is_nan() || other.is_nan() => Self::NAN,
                false => if self > other { self } else { other },
            }
        }
        fn limits(_: DType) -> [Self; 2] {
            [Self::NEG_INFINITY, Self::INFINITY]
        }
    }
)* } }
floats!(f32, f64);

/// An element, from and to what is accumulated.
pub(in crate::libraries) trait Stored<A>: Copy {
    fn open(self) -> A;
    fn close(value: A) -> Self;
}

macro_rules! stored { ($($t:ty, $a:ty: $open:expr, $close:expr;)*) => { $(
    impl Stored<$a> for $t {
        fn open(self) -> $a {
            $open(self)
        }
        fn close(value: $a) -> Self {
            $close(value)
        }
    }
)* } }
macro_rules! numbers { ($($a:ty: $($t:ty)*;)*) => { $( stored! { $($t, $a: |x: $t| <$a>::from(x), |x: $a| x as $t;)* } )* } }
numbers! {
    i64: i8 i16 i32 i64;
    u64: u8 u16 u32 u64;
}

/// The one pattern of a computed NaN.
fn single(x: f32) -> f32 {
    if x.is_nan() { f32::from_bits(0x7fff_ffff) } else { x }
}

fn double(x: f64) -> f64 {
    if x.is_nan() { f64::from_bits(0x7fff_ffff_ffff_ffff) } else { x }
}

stored! {
    Bool, i64: |x: Bool| (x.0 != 0).into(), |x: i64| Bool((x != 0).into());
    Bool, u64: |x: Bool| (x.0 != 0).into(), |x: u64| Bool((x != 0).into());
    f16, f32: |x: f16| x.to_f32(), |x: f32| f16::from_f32(single(x));
    bf16, f32: |x: bf16| x.to_f32(), |x: f32| bf16::from_f32(single(x));
    F8E4M3, f32: |x: F8E4M3| x.to_f32(), |x: f32| F8E4M3::from_f32(single(x));
    F8E5M2, f32: |x: F8E5M2| x.to_f32(), |x: f32| F8E5M2::from_f32(single(x));
    f32, f32: |x: f32| x, single;
    f64, f64: |x: f64| x, double;
}

/// Reads elements at equal distances.
type Load<A> = unsafe fn(*const u8, isize, usize, &mut Chunk<A>);
/// Writes as many.
type Store<A> = unsafe fn(*mut u8, isize, usize, &Chunk<A>);

/// # Safety
/// There are `n` elements of this type at this distance.
unsafe fn load<A, T: Stored<A>>(from: *const u8, stride: isize, n: usize, to: &mut Chunk<A>) {
    for (i, value) in (0..).zip(to.iter_mut().take(n)) {
        // SAFETY: the caller's promise.
        *value = unsafe { *from.cast::<T>().offset(i * stride) }.open();
    }
}

/// Whether elements are other than zero.
///
/// # Safety
/// As [`load`].
unsafe fn load_truth<T: Copy + PartialEq + Default>(from: *const u8, stride: isize, n: usize, to: &mut Chunk<u64>) {
    for (i, value) in (0..).zip(to.iter_mut().take(n)) {
        // SAFETY: the caller's promise.
        *value = (unsafe { *from.cast::<T>().offset(i * stride) } != T::default()).into();
    }
}

/// # Safety
/// As [`load`]; nothing else uses the elements.
unsafe fn store<A: Copy, T: Stored<A>>(to: *mut u8, stride: isize, n: usize, from: &Chunk<A>) {
    for (i, value) in (0..).zip(from.iter().take(n)) {
        // SAFETY: the caller's promise.
        unsafe { *to.cast::<T>().offset(i * stride) = T::close(*value) };
    }
}

/// The chunk's total, from a value on.
fn total<A: Accumulator>(fold: Fold, from: A, chunk: &[A]) -> A {
    let all = chunk.iter().copied();
    match fold {
        Fold::Add => all.fold(from, A::add),
        Fold::Mul => all.fold(from, A::mul),
        Fold::Min => all.fold(from, A::min),
        Fold::Max => all.fold(from, A::max),
    }
}

fn scanned<A: Accumulator>(mut own: A, chunk: &mut [A], exclusive: bool, join: impl Fn(A, A) -> A) {
    for value in chunk {
        let next = join(own, *value);
        *value = if exclusive { own } else { next };
        own = next;
    }
}

/// The chunk's scan, from a value on.
fn scan_chunk<A: Accumulator>(fold: Fold, from: A, chunk: &mut [A], exclusive: bool) {
    match fold {
        Fold::Add => scanned(from, chunk, exclusive, A::add),
        Fold::Mul => scanned(from, chunk, exclusive, A::mul),
        Fold::Min => scanned(from, chunk, exclusive, A::min),
        Fold::Max => scanned(from, chunk, exclusive, A::max),
    }
}

/// A pointer that threads share.
#[derive(Clone, Copy)]
struct Shared<T>(*mut T);

// SAFETY: each thread uses it for the elements of its own tasks only.
unsafe impl<T> Sync for Shared<T> {}
// SAFETY: as above.
unsafe impl<T> Send for Shared<T> {}

impl<T> Shared<T> {
    /// All of it, so that a closure has the wrapper.
    fn get(self) -> *mut T {
        self.0
    }
}

/// The offsets of a task in the target, in what is read, of its total, and the number of its first element.
fn offsets(level: &Level, task: usize) -> [isize; 4] {
    [0, 1, 2, 3].map(|k| {
        let Some(layout) = level.loops.get(k) else { return 0 };
        let mut offset = layout.offset() as isize;
        let mut rest = task;
        for (n, stride) in layout.extents().iter().zip(layout.strides()).rev() {
            offset += (rest % n) as isize * stride;
            rest /= n;
        }
        offset
    })
}

/// Tasks below which a second thread costs more than it gains.
const FEW: usize = 1 << 10;

fn each(tasks: usize, run: impl Fn(usize) + Send + Sync) {
    if tasks <= FEW {
        (0..tasks).for_each(run);
    } else {
        (0..tasks).into_par_iter().with_min_len(FEW).for_each(run);
    }
}

/// What an element type adds to the work.
struct Ends<A> {
    load: Load<A>,
    store: Store<A>,
    sizes: [usize; 2],
    /// What a scan begins with, and what a chunk's total begins with.
    begin: [A; 2],
}

/// # Safety
/// As [`run`].
unsafe fn walk<A: Accumulator>(scan: &Scan, ends: &Ends<A>, x: *const u8, output: *mut u8) -> Result<()> {
    let (levels, fold) = (levels(scan)?, Fold::for_kind(scan.kind));
    let Some((first, inner)) = levels.split_first() else { return Ok(()) };
    let [begin, identity] = ends.begin;
    let bases = (Shared(x.cast_mut()), Shared(output));
    // A chunk of elements.
    let read = |at: isize, n: usize, chunk: &mut Chunk<A>| {
        let from = bases.0.get().cast_const().wrapping_offset(at * ends.sizes[0] as isize);
        // SAFETY: the chunk lies inside the operand (the caller's promise).
        unsafe { (ends.load)(from, first.strides[1], n, chunk) };
    };
    let count = |level: &Level, begins: isize| level.len.saturating_sub(begins as usize).min(CHUNK);
    let mut totals: Vec<Vec<A>> = room::with_capacity(inner.len())?;
    for k in 0..inner.len() {
        let Some(level) = levels.get(k) else { break };
        let mut own = room::filled(level.tasks(), identity)?;
        let to = Shared(own.as_mut_ptr());
        let before = totals.last();
        each(level.tasks(), |task| {
            let [_, at, number, begins] = offsets(level, task);
            let n = count(level, begins);
            let mut chunk = [identity; CHUNK];
            let values = match before {
                None => {
                    read(at, n, &mut chunk);
                    chunk.get(..n)
                }
                Some(values) => values.get(at as usize..at as usize + n),
            };
            let total = total(fold, identity, values.unwrap_or_default());
            // SAFETY: each task has a total of its own, of as many as there are.
            unsafe { to.get().offset(number).write(total) };
        });
        totals.push(own);
    }
    for k in (1..levels.len()).rev() {
        let Some(level) = levels.get(k) else { break };
        let (lower, upper) = totals.split_at_mut(k);
        let Some(own) = lower.last_mut() else { break };
        let (len, to, before) = (own.len(), Shared(own.as_mut_ptr()), upper.first());
        each(level.tasks(), |task| {
            let [_, at, number, begins] = offsets(level, task);
            let n = count(level, begins).min(len.saturating_sub(at as usize));
            let from = before.map_or(begin, |before| before.get(number as usize).copied().unwrap_or(begin));
            // SAFETY: inside the vector, and this task's alone.
            let chunk = unsafe { std::slice::from_raw_parts_mut(to.get().offset(at), n) };
            scan_chunk(fold, from, chunk, true);
        });
    }
    let before = totals.first();
    each(first.tasks(), |task| {
        let [to, at, number, begins] = offsets(first, task);
        let n = count(first, begins);
        let from = before.map_or(begin, |before| before.get(number as usize).copied().unwrap_or(begin));
        let mut chunk = [identity; CHUNK];
        read(at, n, &mut chunk);
        scan_chunk(fold, from, chunk.get_mut(..n).unwrap_or_default(), scan.exclusive);
        let target = bases.1.get().wrapping_offset(to * ends.sizes[1] as isize);
        // SAFETY: the chunk lies inside the operand, and is this task's alone (the caller's promise).
        unsafe { (ends.store)(target, first.strides[0], n, &chunk) };
    });
    Ok(())
}

/// What a scan begins with, and what a total does.
fn begin<A: Accumulator>(scan: &Scan) -> [A; 2] {
    let [smallest, largest] = A::limits(scan.dtype);
    match scan.kind {
        ReductionKind::Prod | ReductionKind::All => [A::ONE; 2],
        ReductionKind::Any => [A::ZERO; 2],
        ReductionKind::Min => [largest; 2],
        ReductionKind::Max => [smallest; 2],
        _ => [if scan.exclusive { A::ZERO } else { A::NOTHING }, A::NOTHING],
    }
}

/// # Safety
/// The layouts of the operation, which was checked, lie inside the operands, which are aligned for their types; the elements of
/// the output are distinct and nothing else uses them.
pub(super) unsafe fn run(scan: &Scan, x: *const u8, output: *mut u8) -> Result<()> {
    // Parts of complex numbers are scanned as numbers.
    let [dtype, result] = [scan.dtype, scan.result_type()].map(DType::part);
    let sizes = [dtype.size(), result.size()];
    /// Runs with the functions of an element type.
    macro_rules! types { ($a:ty: $($name:ident $t:ty => $r:ty),*) => { match dtype {
        $( DType::$name if result == <$r as crate::core::element::Element>::DTYPE => {
            let ends = Ends::<$a> { load: load::<$a, $t>, store: store::<$a, $r>, sizes, begin: begin(scan) };
            // SAFETY: the caller's promise.
            return unsafe { walk(scan, &ends, x, output) };
        } )*
        _ => {}
    } } }
    if matches!(scan.kind, ReductionKind::All | ReductionKind::Any) {
        let load: Load<u64> = match dtype {
            DType::Bool => load::<u64, Bool>,
            DType::F16 => load_truth::<f16>,
            DType::Bf16 => load_truth::<bf16>,
            DType::F8E4M3 => load_truth::<F8E4M3>,
            DType::F8E5M2 => load_truth::<F8E5M2>,
            DType::F32 => load_truth::<f32>,
            DType::F64 => load_truth::<f64>,
            // Of integers the bits say it.
            other => match other.size() {
                1 => load_truth::<u8>,
                2 => load_truth::<u16>,
                4 => load_truth::<u32>,
                _ => load_truth::<u64>,
            },
        };
        let ends = Ends { load, store: store::<u64, Bool>, sizes, begin: begin(scan) };
        // SAFETY: the caller's promise.
        return unsafe { walk(scan, &ends, x, output) };
    }
    types!(f32: F32 f32 => f32, F16 f16 => f16, Bf16 bf16 => bf16, F8E4M3 F8E4M3 => F8E4M3, F8E5M2 F8E5M2 => F8E5M2);
    types!(f64: F64 f64 => f64);
    types!(i64: I8 i8 => i8, I16 i16 => i16, I32 i32 => i32);
    types!(i64: Bool Bool => i64, I8 i8 => i64, I16 i16 => i64, I32 i32 => i64, I64 i64 => i64);
    types!(u64: U8 u8 => u8, U16 u16 => u16, U32 u32 => u32);
    types!(u64: U8 u8 => u64, U16 u16 => u64, U32 u32 => u64, U64 u64 => u64);
    Err(Error::library("internal error: a scan of a type that was not checked"))
}
