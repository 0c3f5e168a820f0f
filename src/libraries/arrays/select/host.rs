//! The half for the CPU: it is counted how many elements are true in each part, then each part writes what it has, eight elements at a
//! time. Where slices are long, or chosen from several lines, the numbers of the true elements are written first.

use super::op::{Choose, Slices};
use crate::core::error::Result;
use crate::core::room;
use crate::libraries::arrays::sort::host::truth::{SET, count, mask};
use crate::libraries::tensor_routine::missing;
use crate::numerics::parallel::{self, Parts};

/// Elements of a part.
const PART: usize = 1 << 14;

/// Writes `of` of the number of each element that is not zero.
///
/// # Safety
/// There are `left` places from `to` on, which nothing else uses, and no more such elements. They need no alignment.
#[inline(always)]
unsafe fn pick<T: Copy>(truth: &[u8], (mut to, mut left): (*mut T, usize), of: impl Fn(usize) -> T) {
    for (first, bytes) in (0..).step_by(8).zip(truth.chunks(8)) {
        let mut eight = [0; 8];
        match bytes.try_into() {
            Ok(whole) => eight = whole,
            Err(_) => eight.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from),
        }
        let mask = mask(eight);
        let (found, count) = (SET.get(usize::from(mask)).copied().unwrap_or_default(), mask.count_ones() as usize);
        // SAFETY: the caller's promise. Eight are written at once where as many places are left; what is too much comes later.
        unsafe {
            if left >= 8 {
                let mut all = [of(first); 8];
                for (to, bit) in all.iter_mut().zip(found) {
                    *to = of(first + usize::from(bit));
                }
                to.cast::<[T; 8]>().write_unaligned(all);
            } else {
                for (k, bit) in found.iter().take(count).enumerate() {
                    to.add(k).write_unaligned(of(first + usize::from(*bit)));
                }
            }
        }
        (to, left) = (to.wrapping_add(count), left.saturating_sub(count));
    }
}

/// A pointer that threads share.
struct Shared<T>(*mut T);

// SAFETY: each thread uses what its own parts write or read.
unsafe impl<T> Sync for Shared<T> {}

impl<T> Shared<T> {
    fn at(&self, number: usize) -> *mut T {
        self.0.wrapping_add(number)
    }
}

/// Truth values, and how many are true before each part, and in all.
struct Truth<'t> {
    all: &'t [u8],
    before: Vec<usize>,
    count: usize,
}

impl<'t> Truth<'t> {
    fn new(all: &'t [u8]) -> Result<Self> {
        let mut before = room::filled(all.len().div_ceil(PART), 0)?;
        let part = |k: usize| all.get(k * PART..all.len().min((k + 1) * PART)).unwrap_or_default();
        let parts = Parts::with_size(1).least(4);
        parallel::each_part(&mut before, parts, &|k, own| own.iter_mut().for_each(|own| *own = count(part(k))));
        let mut sum = 0;
        for own in &mut before {
            (*own, sum) = (sum, sum + *own);
        }
        Ok(Truth { all, before, count: sum })
    }

    /// Calls `f(part, [first, before, count])` with each part: it begins with element `first`, has `count` that are true, and `before`
    /// more are before it.
    fn each_part(&self, f: &(dyn Fn(&[u8], [usize; 3]) + Sync)) {
        parallel::each_number(self.before.len(), 4, &|part| {
            let first = part * PART;
            let own = self.all.get(first..self.all.len().min(first + PART)).unwrap_or_default();
            let before = |part: usize| self.before.get(part).copied().unwrap_or(self.count);
            f(own, [first, before(part), before(part + 1) - before(part)]);
        });
    }

    /// Writes `of` of the numbers of all true elements, and zeros behind them.
    ///
    /// # Safety
    /// There are as many places as truth values, and nothing else uses them; zeros are a `T`.
    unsafe fn write<T: Copy>(&self, to: *mut T, of: impl Fn(usize) -> T + Sync) {
        let to = Shared(to);
        self.each_part(&|own, [first, before, count]| {
            // SAFETY: the places of what is true in this part, and as many behind all of them as are not.
            unsafe {
                pick(own, (to.at(before), count), |k| of(first + k));
                let zeros = to.at(self.count + first - before).cast::<u8>();
                zeros.write_bytes(0, (own.len() - count) * size_of::<T>());
            }
        });
    }

    /// Writes the places, a row for each axis.
    ///
    /// # Safety
    /// There are as many places as truth values in each row, and nothing else uses them.
    unsafe fn places(&self, extents: &[usize], to: *mut i64) {
        let Some((n, outer)) = extents.split_last() else { return };
        let (len, n) = (self.all.len(), *n as i64);
        // The numbers of the elements are in the last row first.
        let last = to.wrapping_add(outer.len() * len);
        // SAFETY: the caller's promise.
        unsafe { self.write(last, |number| number as i64) };
        if outer.is_empty() {
            return;
        }
        let (to, last) = (Shared(to), Shared(last));
        self.each_part(&|own, [first, before, count]| {
            let mut row = first / n as usize;
            let mut begin = row as i64 * n;
            let mut at: Vec<i64> = vec![0; outer.len()];
            for (at, n) in at.iter_mut().zip(outer).rev() {
                *at = (row % n) as i64;
                row /= n;
            }
            for k in before..before + count {
                // SAFETY: this part has written the number, and nobody else uses what has its place in the rows.
                unsafe {
                    let own = *last.at(k) - begin;
                    let mut rest = own;
                    while rest >= n {
                        (rest, begin) = (rest - n, begin + n);
                        for (at, n) in at.iter_mut().zip(outer).rev() {
                            *at += 1;
                            if *at < *n as i64 {
                                break;
                            }
                            *at = 0;
                        }
                    }
                    *last.at(k) = rest;
                    at.iter().enumerate().for_each(|(axis, at)| *to.at(axis * len + k) = *at);
                }
            }
            for axis in 0..outer.len() {
                // SAFETY: as in `write`.
                unsafe { to.at(axis * len + self.count + first - before).write_bytes(0, own.len() - count) };
            }
        });
    }

    /// Writes slices of so many bytes from lines of `n`, each by `copy`.
    ///
    /// # Safety
    /// The lines are there, and as many slices as truth values in each line of the result, which nothing else uses. `copy` reads and
    /// writes a slice.
    unsafe fn slices(
        &self,
        [lines, n, bytes]: [usize; 3],
        (x, to): (*const u8, *mut u8),
        copy: &(impl Fn(*const u8, *mut u8) + Sync),
    ) -> Result<()> {
        let (len, mut places) = (self.all.len(), room::filled(self.all.len(), 0i64)?);
        // SAFETY: as many places as truth values.
        unsafe { self.write(places.as_mut_ptr(), |number| number as i64) };
        let (x, to) = (Shared(x.cast_mut()), Shared(to));
        let least = (1 << 16) / bytes.max(1);
        parallel::each_range(lines * len, least, &|range| {
            let mut next = range.start;
            while next < range.end {
                let (line, first) = (next / len, next % len);
                let end = len.min(first + (range.end - next));
                let (from, own) = (x.at(line * n * bytes), to.at(line * len * bytes));
                let chosen = places.get(first..end.min(self.count)).unwrap_or_default();
                for (k, place) in (first..).zip(chosen) {
                    copy(from.wrapping_add(*place as usize * bytes), own.wrapping_add(k * bytes));
                }
                let zeros = first + chosen.len();
                // SAFETY: the rest of what this range has of the line.
                unsafe { own.wrapping_add(zeros * bytes).write_bytes(0, (end - zeros) * bytes) };
                next += end - first;
            }
        });
        Ok(())
    }
}

/// Chooses, and gives the number of what is chosen.
///
/// # Safety
/// The layouts of the operation, which was checked, lie inside the operands, which are aligned for their types; nothing else uses `to`,
/// which has the extents of the operation.
pub(super) unsafe fn choose(choose: &Choose, truth: *const u8, x: Option<*const u8>, to: *mut u8) -> Result<usize> {
    let condition = &choose.condition;
    // SAFETY: the caller's promise; a truth value is a byte.
    let all = unsafe { std::slice::from_raw_parts(truth.wrapping_add(condition.offset()), condition.len()) };
    let truth = Truth::new(all)?;
    let (Some(Slices { dtype, x: layout, axis }), Some(x)) = (&choose.slices, x) else {
        // SAFETY: the caller's promise.
        unsafe { truth.places(condition.shape(), to.cast()) };
        return Ok(truth.count);
    };
    let (outer, inner) = layout.shape().split_at(*axis);
    let [n, inner @ ..] = inner else { return Err(missing()) };
    let (lines, n, inner) = (outer.iter().product(), *n, inner.iter().product::<usize>());
    let x = x.wrapping_add(layout.offset() * dtype.size());
    let (sizes, ends) = ([lines, n, inner * dtype.size()], (x, to));
    macro_rules! elements {
        ($t:ty) => {{
            let x = Shared(x.cast_mut().cast::<$t>());
            // SAFETY: the caller's promise: the elements of the lines, in what is read and in the result. Some have parts that need a
            // smaller alignment.
            unsafe {
                match lines {
                    1 => truth.write(to.cast::<$t>(), |number| x.at(number).read_unaligned()),
                    _ => {
                        let copy = |from: *const u8, to: *mut u8| {
                            to.cast::<$t>().write_unaligned(from.cast::<$t>().read_unaligned());
                        };
                        truth.slices(sizes, ends, &copy)?;
                    }
                }
            }
        }};
    }
    match inner * dtype.size() {
        1 => elements!(u8),
        2 => elements!(u16),
        4 => elements!(u32),
        8 => elements!(u64),
        16 => elements!([u64; 2]),
        bytes => {
            // SAFETY: a slice in what is read, and one of the result.
            let copy = |from: *const u8, to: *mut u8| unsafe { to.copy_from_nonoverlapping(from, bytes) };
            // SAFETY: the caller's promise.
            unsafe { truth.slices(sizes, ends, &copy)? };
        }
    }
    Ok(truth.count)
}
