//! The host half: up the levels for the totals of chunks, and down again for the results, each level on all threads.
//!
//! Elements are accumulated in one of four types. What an element is, and what becomes of a result, are functions by the element
//! type; how two are joined is one by the kind (`chunks.rs`). Where lines lie side by side, `columns.rs` takes the elements of many of
//! them at once.

mod chunks;
mod columns;
mod numbers;
mod tile;

pub(in crate::libraries) use numbers::{Accumulator, Fold, Stored};

use super::levels::{CHUNK, Level, levels};
use super::op::Scan;
use crate::core::element::DType;
use crate::core::error::{Error, Result};
use crate::core::fp8::{F8E4M3, F8E5M2};
use crate::core::room;
use crate::core::truth::Bool;
use crate::device::tensor::Layout;
use crate::libraries::reductions::ReductionKind;
use crate::numerics::parallel;
use chunks::{join_rows, scan_chunk, scan_rows, total};
use columns::Columns;
use half::{bf16, f16};
use std::ops::Range;
use tile::{TILE, Tile, is_along, segments, turn};

/// The elements of a chunk, as they are accumulated.
type Chunk<A> = [A; CHUNK];

/// Reads elements at equal distances.
type Load<A> = unsafe fn(*const u8, isize, &mut [A]);
/// Writes as many.
type Store<A> = unsafe fn(*mut u8, isize, &[A]);

/// # Safety
/// There are as many elements of this type at this distance.
unsafe fn load<A, T: Stored<A>>(from: *const u8, stride: isize, to: &mut [A]) {
    if stride == 1 {
        // SAFETY: the caller's promise.
        let from = unsafe { std::slice::from_raw_parts(from.cast::<T>(), to.len()) };
        return to.iter_mut().zip(from).for_each(|(value, x)| *value = x.open());
    }
    for (i, value) in (0..).zip(to) {
        // SAFETY: the caller's promise.
        *value = unsafe { *from.cast::<T>().offset(i * stride) }.open();
    }
}

/// Whether elements are other than zero.
///
/// # Safety
/// As [`load`].
unsafe fn load_truth<T: Copy + PartialEq + Default>(from: *const u8, stride: isize, to: &mut [u64]) {
    for (i, value) in (0..).zip(to) {
        // SAFETY: the caller's promise.
        *value = (unsafe { *from.cast::<T>().offset(i * stride) } != T::default()).into();
    }
}

/// # Safety
/// As [`load`]; nothing else uses the elements.
unsafe fn store<A: Copy, T: Stored<A>>(to: *mut u8, stride: isize, from: &[A]) {
    if stride == 1 {
        // SAFETY: the caller's promise.
        let to = unsafe { std::slice::from_raw_parts_mut(to.cast::<T>(), from.len()) };
        return to.iter_mut().zip(from).for_each(|(x, value)| *x = T::close(*value));
    }
    for (i, value) in (0..).zip(from) {
        // SAFETY: the caller's promise.
        unsafe { *to.cast::<T>().offset(i * stride) = T::close(*value) };
    }
}

/// # Safety
/// As [`store`].
unsafe fn store_again<A: Copy, T: Stored<A>>(to: *mut u8, stride: isize, from: &[A]) {
    for (i, value) in (0..).zip(from) {
        // SAFETY: the caller's promise.
        unsafe { *to.cast::<T>().offset(i * stride) = T::again(*value) };
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
type Offsets = [isize; 4];

fn of_loops(level: &Level, of: impl Fn(&Layout) -> isize) -> Offsets {
    [0, 1, 2, 3].map(|k| level.loops.get(k).map_or(0, &of))
}

fn offsets(level: &Level, task: usize) -> Offsets {
    let mut offsets = of_loops(level, |layout| layout.offset() as isize);
    let mut rest = task;
    let shape = level.loops.first().map(Layout::shape).unwrap_or_default();
    for (axis, n) in shape.iter().enumerate().rev() {
        let place = (rest % n) as isize;
        rest /= n;
        for (offset, layout) in offsets.iter_mut().zip(&level.loops) {
            *offset += place * layout.strides().get(axis).copied().unwrap_or_default();
        }
    }
    offsets
}

/// Tasks below which a second thread costs more than it gains.
const FEW: usize = 1 << 10;

fn each(tasks: usize, few: usize, run: &(dyn Fn(usize) + Sync)) {
    if tasks <= few {
        (0..tasks).for_each(run);
    } else {
        parallel::each_number(tasks, few, run);
    }
}

/// Calls `run` with the tasks of a level, so many at a time.
fn by_tiles(level: &Level, most: usize, run: &(dyn Fn(Range<usize>) + Sync)) {
    let tasks = level.tasks();
    each(tasks.div_ceil(most), FEW / most, &|tile| run(tile * most..tasks.min((tile + 1) * most)));
}

/// The elements of a chunk.
fn count(level: &Level, begins: isize) -> usize {
    level.len.saturating_sub(begins as usize).min(CHUNK)
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
    // The elements of a tile, each chunk in a lane, and how many chunks and elements of a chunk there are. What a chunk lacks changes
    // nothing.
    let read = |tasks: Range<usize>, lanes: &mut Tile<A>| -> [usize; 2] {
        let mut chunks = [[identity; CHUNK]; TILE];
        let mut used = [tasks.len(), 0];
        segments(first, tasks, &mut |places, [_, at, ..], n| {
            let from = bases.0.get().cast_const().wrapping_offset(at * ends.sizes[0] as isize);
            let values = chunks.as_flattened_mut().get_mut(places.start * CHUNK..places.start * CHUNK + n);
            // SAFETY: these elements of a line lie inside the operand (the caller's promise).
            unsafe { (ends.load)(from, first.strides[1], values.unwrap_or_default()) };
            used[1] = used[1].max(n.min(CHUNK));
        });
        turn(&chunks, lanes, used);
        used
    };
    // The scan of a tile, from what lanes begin with.
    let finish = |tasks: Range<usize>, lanes: &mut Tile<A>, used: [usize; 2], from: &mut Chunk<A>| {
        scan_rows(fold, from, lanes.get_mut(..used[1]).unwrap_or_default(), scan.exclusive);
        let mut chunks = [[identity; CHUNK]; TILE];
        turn(lanes, &mut chunks, [used[1], used[0]]);
        segments(first, tasks, &mut |places, [to, ..], n| {
            let target = bases.1.get().wrapping_offset(to * ends.sizes[1] as isize);
            let values = chunks.as_flattened().get(places.start * CHUNK..places.start * CHUNK + n);
            // SAFETY: the elements lie inside the operand, and are this task's alone (the caller's promise).
            unsafe { (ends.store)(target, first.strides[0], values.unwrap_or_default()) };
        });
    };
    let columns = Columns::of(first);
    let chunks = first.len.div_ceil(CHUNK);
    if columns.is_none() && chunks <= TILE && (chunks == 1 || is_along(first)) {
        // A tile has whole lines.
        by_tiles(first, TILE / chunks * chunks, &|tasks| {
            let mut lanes = [[identity; CHUNK]; TILE];
            let used = read(tasks.clone(), &mut lanes);
            let mut from = [begin; CHUNK];
            if chunks > 1 {
                from = [identity; CHUNK];
                join_rows(fold, &mut from, lanes.get(..used[1]).unwrap_or_default());
                from.chunks_exact_mut(chunks).for_each(|line| scan_chunk(fold, begin, line, true));
            }
            finish(tasks, &mut lanes, used, &mut from);
        });
        return Ok(());
    }
    let mut totals: Vec<Vec<A>> = room::with_capacity(inner.len())?;
    for k in 0..inner.len() {
        let Some(level) = levels.get(k) else { break };
        let mut own = room::filled(level.tasks(), identity)?;
        let to = Shared(own.as_mut_ptr());
        if let (0, Some(columns)) = (k, &columns) {
            // SAFETY: the caller's promise; there is a total for each chunk.
            unsafe { columns.totals((first, ends), fold, x, &mut own) };
            totals.push(own);
            continue;
        }
        let Some(before) = totals.last() else {
            by_tiles(level, TILE, &|tasks| {
                let (mut lanes, mut own) = ([[identity; CHUNK]; TILE], [identity; CHUNK]);
                let [_, rows] = read(tasks.clone(), &mut lanes);
                join_rows(fold, &mut own, lanes.get(..rows).unwrap_or_default());
                segments(level, tasks, &mut |places, [_, _, number, _], _| {
                    for (total, number) in own.get(places).into_iter().flatten().zip(number..) {
                        // SAFETY: each task has a total of its own, of as many as there are; those of a line lie side by side.
                        unsafe { to.get().offset(number).write(*total) };
                    }
                });
            });
            totals.push(own);
            continue;
        };
        each(level.tasks(), FEW, &|task| {
            let [_, at, number, begins] = offsets(level, task);
            let values = before.get(at as usize..at as usize + count(level, begins));
            let total = total(fold, identity, values.unwrap_or_default());
            // SAFETY: as above.
            unsafe { to.get().offset(number).write(total) };
        });
        totals.push(own);
    }
    for k in (1..levels.len()).rev() {
        let Some(level) = levels.get(k) else { break };
        let (lower, upper) = totals.split_at_mut(k);
        let Some(own) = lower.last_mut() else { break };
        let (len, to, before) = (own.len(), Shared(own.as_mut_ptr()), upper.first());
        each(level.tasks(), FEW, &|task| {
            let [_, at, number, begins] = offsets(level, task);
            let n = count(level, begins).min(len.saturating_sub(at as usize));
            let from = before.map_or(begin, |before| before.get(number as usize).copied().unwrap_or(begin));
            // SAFETY: inside the vector, and this task's alone.
            let chunk = unsafe { std::slice::from_raw_parts_mut(to.get().offset(at), n) };
            scan_chunk(fold, from, chunk, true);
        });
    }
    let before = totals.first();
    if let Some(columns) = &columns {
        let before = before.map(Vec::as_slice);
        // SAFETY: the caller's promise.
        unsafe { columns.scan((first, ends), (fold, scan.exclusive), x, output, before) };
        return Ok(());
    }
    by_tiles(first, TILE, &|tasks| {
        let (mut lanes, mut from) = ([[identity; CHUNK]; TILE], [begin; CHUNK]);
        let used = read(tasks.clone(), &mut lanes);
        segments(first, tasks.clone(), &mut |places, [_, _, number, _], _| {
            for (from, number) in from.get_mut(places).into_iter().flatten().zip(number as usize..) {
                *from = before.and_then(|before| before.get(number)).copied().unwrap_or(begin);
            }
        });
        finish(tasks, &mut lanes, used, &mut from);
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
    if dtype == DType::F8E5M2 && matches!(scan.kind, ReductionKind::Min | ReductionKind::Max) {
        let store = store_again::<f32, F8E5M2>;
        let ends = Ends::<f32> { load: load::<f32, F8E5M2>, store, sizes, begin: begin(scan) };
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
