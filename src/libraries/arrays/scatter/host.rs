//! The host half: the runs of equal numbers, one after the other; each run's elements in their order.

use super::op::Put;
use crate::core::element::DType;
use crate::core::error::{Error, Result};
use crate::libraries::reductions::ReductionKind;
use crate::libraries::reductions::scans::host::{Accumulator, Fold, Stored};
use crate::numerics::parallel;
use half::{bf16, f16};
use std::sync::atomic::{AtomicU64, Ordering};

/// What is read and written.
struct Operands<'o, T> {
    keys: &'o [i64],
    places: &'o [i64],
    updates: *const T,
    target: *mut T,
}

// SAFETY: what is read is written by nobody, and each slice of the target belongs to one run, which one thread treats.
unsafe impl<T> Sync for Operands<'_, T> {}

/// Numbers that a thread treats at least.
const PIECE: usize = 1 << 12;

/// Calls for each run of equal numbers in range; returns 0, or the complement of the first place that is out of range.
fn runs<T>(put: &Put, operands: &Operands<'_, T>, run: impl Fn(usize, &[i64]) + Sync) -> u64 {
    let Operands { keys, places, .. } = operands;
    let piece = |first: usize| {
        let is_begin = |k: usize| k == 0 || keys.get(k) != keys.get(k - 1);
        let end = keys.len().min(first + PIECE);
        let (mut k, mut bad) = (first, 0u64);
        while k < end && !is_begin(k) {
            k += 1;
        }
        while k < end {
            let next = (k + 1..keys.len()).find(|k| is_begin(*k)).unwrap_or(keys.len());
            let own = places.get(k..next).unwrap_or_default();
            match keys.get(k).and_then(|key| usize::try_from(*key).ok()).filter(|key| *key < put.slots) {
                Some(key) => run(key, own),
                None => bad = own.iter().map(|place| !(*place as u64)).fold(bad, Ord::max),
            }
            k = next;
        }
        bad
    };
    let pieces = keys.len().div_ceil(PIECE);
    let bad = AtomicU64::new(0);
    parallel::each_number(pieces, 1, &|number| {
        bad.fetch_max(piece(number * PIECE), Ordering::Relaxed);
    });
    bad.into_inner()
}

/// Where a slice's element is.
fn at(put: &Put, slice: usize, column: usize) -> usize {
    slice * put.width + column
}

fn replace<T: Copy>(put: &Put, operands: &Operands<'_, T>) -> u64 {
    runs(put, operands, |slice, places| {
        let Some(last) = places.last().and_then(|last| usize::try_from(*last).ok()).filter(|last| *last < put.count)
        else {
            return;
        };
        // SAFETY: the slice and the place are below their numbers (above); the run is this thread's.
        unsafe {
            let from = operands.updates.add(at(put, last, 0));
            std::ptr::copy_nonoverlapping(from, operands.target.add(at(put, slice, 0)), put.width);
        }
    })
}

fn join<A: Accumulator, T: Stored<A>>(put: &Put, kind: ReductionKind, operands: &Operands<'_, T>) -> u64 {
    let fold = Fold::for_kind(kind);
    runs(put, operands, |slice, places| {
        for column in 0..put.width {
            // SAFETY: the slice is below the number of slices; the run is this thread's.
            let to = unsafe { &mut *operands.target.add(at(put, slice, column)) };
            let known =
                places.iter().filter_map(|place| usize::try_from(*place).ok()).filter(|place| *place < put.count);
            let own = known.fold(to.open(), |own, place| {
                // SAFETY: the place is below the number of elements.
                fold.join(own, unsafe { *operands.updates.add(at(put, place, column)) }.open())
            });
            *to = match fold {
                Fold::Min | Fold::Max => T::again(own),
                Fold::Add | Fold::Mul => T::close(own),
            };
        }
    })
}

/// Puts the elements.
///
/// # Safety
/// The operands have as many elements as the operation says, and nothing else uses the target.
pub(super) unsafe fn put(put: &Put, keys: &[i64], places: &[i64], updates: *const u8, target: *mut u8) -> Result<u64> {
    macro_rules! operands {
        () => {
            &Operands { keys, places, updates: updates.cast(), target: target.cast() }
        };
    }
    let Some(kind) = put.combine.kind() else {
        return Ok(match put.dtype.size() {
            1 => replace::<u8>(put, operands!()),
            2 => replace::<u16>(put, operands!()),
            4 => replace::<u32>(put, operands!()),
            8 => replace::<u64>(put, operands!()),
            _ => replace::<[u64; 2]>(put, operands!()),
        });
    };
    macro_rules! types { ($($name:ident $t:ty, $a:ty;)*) => { match put.dtype {
        $( DType::$name => Ok(join::<$a, $t>(put, kind, operands!())), )*
        _ => Err(Error::library("internal error: a type that was not checked")),
    } } }
    types! {
        I8 i8, i64;
        I16 i16, i64;
        I32 i32, i64;
        I64 i64, i64;
        U8 u8, u64;
        U16 u16, u64;
        U32 u32, u64;
        U64 u64, u64;
        F16 f16, f32;
        Bf16 bf16, f32;
        F8E4M3 crate::core::fp8::F8E4M3, f32;
        F8E5M2 crate::core::fp8::F8E5M2, f32;
        F32 f32, f32;
        F64 f64, f64;
    }
}
