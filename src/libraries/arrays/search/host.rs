//! The half for the CPU: many values at a time halve the vector, each without a branch, so that they wait for memory together. Where
//! there are many values the keys of the vector are made first.
//!
//! Counts of bins are places too: those of the values among the edges. They are counted in a table of each task, or in four of them so
//! that an element need not wait for an equal one before it, and these are added at the end.

use super::even::{Even, STEP};
use super::op::{Answer, Search};
use crate::core::element::DType;
use crate::core::error::{Error, Result};
use crate::core::room;
use crate::device::tensor::Layout;
use crate::libraries::arrays::sort::order::{Bits, Order, for_order};
use crate::libraries::expressions::host::kernels::Level;
use crate::numerics::parallel::{self, Parts};
use parking_lot::Mutex;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Values that are searched together. Vectors of the CPU gather their keys.
const TOGETHER: usize = 32;
/// Values that a thread searches at least.
const FEW: usize = 1 << 10;
/// Values that a thread counts at least.
const MANY: usize = 1 << 16;
/// More bins than this have one table.
const SMALL: usize = 1 << 12;

/// Where an element lies, and how many are behind it along the last axis, itself among them.
fn offset(layout: &Layout, mut number: usize) -> (usize, usize) {
    let (mut offset, mut left) = (layout.offset() as isize, None);
    for (n, stride) in layout.shape().iter().zip(layout.strides()).rev() {
        offset += (number % n) as isize * stride;
        left.get_or_insert(n - number % n);
        number /= n;
    }
    (offset.unsigned_abs(), left.unwrap_or(1))
}

/// Elements of an operand, as their bits.
struct Elements<'e, T> {
    all: &'e [T],
    layout: &'e Layout,
    /// Where they begin, if they lie in order without gaps.
    first: Option<usize>,
}

impl<'e, T: bytemuck::Pod> Elements<'e, T> {
    fn new(bytes: &'e [u8], layout: &'e Layout) -> Result<Self> {
        let all =
            bytemuck::try_cast_slice(bytes).map_err(|_| Error::library("internal error: an unaligned operand"))?;
        let first = layout.is_row_major().then(|| layout.offset());
        Ok(Elements { all, layout, first })
    }

    fn at(&self, number: usize) -> Option<&T> {
        self.all.get(self.first.map_or_else(|| offset(self.layout, number).0, |first| first + number))
    }

    /// Some elements from a number on; what is not there is left.
    fn fill(&self, mut from: usize, mut to: &mut [T]) {
        if let Some(near) = self.first.and_then(|first| self.all.get(first + from..first + from + to.len())) {
            return to.copy_from_slice(near);
        }
        let step = self.layout.strides().last().copied().unwrap_or(0);
        while !to.is_empty() {
            let (at, left) = offset(self.layout, from);
            let near = left.min(to.len());
            let (own, rest) = std::mem::take(&mut to).split_at_mut(near);
            for (to, k) in own.iter_mut().zip(0..) {
                *to = self.all.get(at.wrapping_add_signed(k * step)).copied().unwrap_or(*to);
            }
            (from, to) = (from + own.len(), rest);
        }
    }
}

/// How many of `n` keys, which rise, come before each value's own. It asks for those below `n`.
#[inline(always)]
fn halve<T: Bits>(key: impl Fn(usize) -> T, n: usize, right: bool, (own, places): (&[T], &mut [usize])) {
    places.fill(0);
    let mut len = n;
    while len > 0 {
        let half = len.div_ceil(2);
        for (low, own) in places.iter_mut().zip(own) {
            // Below `n`, for `low + len` is at most that: with each step `low` grows by what `len` loses, or not at all.
            let key = key(*low + half - 1);
            // Arithmetic, so that the compiler makes no branch of it.
            *low += half & 0usize.wrapping_sub(usize::from((key < *own) | (right & (key == *own))));
        }
        len -= half;
    }
}

/// # Safety
/// The CPU has the vectors.
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,fma,f16c"))]
unsafe fn halve_in_vectors<T: Bits>(keys: &[T], right: bool, own: &[T; TOGETHER]) -> [usize; TOGETHER] {
    let mut places = [0; TOGETHER];
    // SAFETY: it asks for keys that are there.
    halve(|at| unsafe { *keys.get_unchecked(at) }, keys.len(), right, (own, &mut places));
    places
}

/// A vector that is searched.
struct Sorted<'e, T> {
    elements: Elements<'e, T>,
    n: usize,
    order: Order,
    /// The keys of all elements, if they are made first.
    keys: Vec<T>,
}

impl<'e, T: Bits + bytemuck::Pod> Sorted<'e, T> {
    fn new(search: &'e Search, order: Order, sorted: &'e [u8]) -> Result<Self> {
        let (elements, n) = (Elements::<T>::new(sorted, &search.sorted)?, search.sorted.len());
        let mut keys = Vec::new();
        if n / 8 <= search.values.len() {
            keys = room::filled(n, T::default())?;
            parallel::each_part(&mut keys, Parts::with_size(MANY), &|part, keys| {
                elements.fill(part * MANY, keys);
                for_order!(order => keys.iter_mut().for_each(|key| *key = order.key_of(*key)));
            });
        }
        Ok(Sorted { elements, n, order, keys })
    }

    fn key(&self, at: usize) -> T {
        self.order.key_of(self.elements.at(at).copied().unwrap_or_default())
    }

    /// Calls `f(k, keys, places)` for values of a range, from number `k` on.
    fn places(
        &self,
        values: &Elements<'_, T>,
        right: bool,
        range: Range<usize>,
        mut f: impl FnMut(usize, &[T], &mut [usize]),
    ) {
        let (order, level) = (self.order, Level::detect());
        for from in range.clone().step_by(TOGETHER) {
            let mut own = [T::default(); TOGETHER];
            let len = (range.end - from).min(TOGETHER);
            values.fill(from, own.get_mut(..len).unwrap_or_default());
            for_order!(order => own.iter_mut().for_each(|own| *own = order.key_of(*own)));
            let mut places = [0; TOGETHER];
            let known = |at: usize| self.keys.get(at).copied().unwrap_or(T::ALL);
            match level {
                _ if self.keys.is_empty() => {
                    let places = places.get_mut(..len).unwrap_or_default();
                    halve(|at| self.key(at), self.n, right, (&own, places));
                }
                // SAFETY: they were detected.
                Level::Vectors | Level::Wide => places = unsafe { halve_in_vectors(&self.keys, right, &own) },
                Level::Scalar => halve(known, self.keys.len(), right, (&own, &mut places)),
            }
            f(from, own.get(..len).unwrap_or_default(), places.get_mut(..len).unwrap_or_default());
        }
    }
}

/// Writes the places of values.
pub(super) fn search(search: &Search, order: Order, sorted: &[u8], values: &[u8], places: &mut [i64]) -> Result<()> {
    match order.size {
        1 => search_of::<u8>(search, order, (sorted, values), places),
        2 => search_of::<u16>(search, order, (sorted, values), places),
        4 => search_of::<u32>(search, order, (sorted, values), places),
        _ => search_of::<u64>(search, order, (sorted, values), places),
    }
}

fn search_of<T: Bits + bytemuck::Pod>(
    search: &Search,
    order: Order,
    (sorted, values): (&[u8], &[u8]),
    to: &mut [i64],
) -> Result<()> {
    let (sorted, values) = (Sorted::<T>::new(search, order, sorted)?, Elements::<T>::new(values, &search.values)?);
    parallel::each_part(to, Parts::with_size(FEW), &|part, to| {
        let first = part * FEW;
        sorted.places(&values, search.right, first..first + to.len(), |number, _, places| {
            let own = to.get_mut(number - first..).unwrap_or_default();
            own.iter_mut().zip(places).for_each(|(to, place)| *to = *place as i64);
        });
    });
    Ok(())
}

/// A task's table, or its four tables.
struct Tables {
    counts: Vec<u32>,
    bins: usize,
}

impl Tables {
    fn new(bins: usize) -> Result<Self> {
        let tables = if bins <= SMALL { 4 } else { 1 };
        let counts = room::filled((bins + 1) * tables, 0)?;
        Ok(Tables { counts, bins: bins + 1 })
    }

    /// Counts values, each in its bin; what is in no bin has the number behind the last one, or a larger one.
    #[inline(always)]
    fn count<T: Copy>(&mut self, values: &[T], mut bin: impl FnMut(T) -> usize) {
        let none = self.bins - 1;
        let mut each = self.counts.chunks_exact_mut(self.bins);
        let mut count = |table: &mut [u32], value| {
            if let Some(count) = table.get_mut(bin(value).min(none)) {
                *count += 1;
            }
        };
        match (each.next(), each.next(), each.next(), each.next()) {
            (Some(a), Some(b), Some(c), Some(d)) => {
                let mut fours = values.chunks_exact(4);
                for four in &mut fours {
                    let [p, q, r, s] = *four else { break };
                    count(a, p);
                    count(b, q);
                    count(c, r);
                    count(d, s);
                }
                fours.remainder().iter().for_each(|x| count(a, *x));
            }
            (Some(a), ..) => values.iter().for_each(|x| count(a, *x)),
            _ => {}
        }
    }

    /// Adds all to the counts, and clears them.
    fn flush(&mut self, all: &Mutex<&mut [i64]>) {
        let mut all = all.lock();
        for table in self.counts.chunks(self.bins) {
            all.iter_mut().zip(table).for_each(|(all, own)| *all += i64::from(*own));
        }
        self.counts.fill(0);
    }
}

/// Counts values, each by `count` of its range.
fn tally(
    len: usize,
    counts: &mut [i64],
    count: &(dyn Fn(&mut Tables, Range<usize>) -> Result<()> + Sync),
) -> Result<()> {
    // So many of one bin fit its count.
    const MOST: usize = 1 << 30;
    counts.fill(0);
    let bins = counts.len();
    let all = Mutex::new(counts);
    parallel::try_each_range(len, MANY.max(bins), &|range| {
        let mut tables = Tables::new(bins)?;
        for first in range.clone().step_by(MOST) {
            count(&mut tables, first..range.end.min(first + MOST))?;
            tables.flush(&all);
        }
        Ok(())
    })
}

fn bins<T: Bits + bytemuck::Pod>(
    search: &Search,
    order: Order,
    (edges, values): (&[u8], &[u8]),
    counts: &mut [i64],
) -> Result<()> {
    let (edges, values) = (Sorted::<T>::new(search, order, edges)?, Elements::<T>::new(values, &search.values)?);
    let (n, bins) = (edges.n, counts.len());
    if let Some(even) = Even::new(search.dtype, (0..n).filter_map(|k| edges.elements.at(k).copied())) {
        return tally(search.values.len(), counts, &|tables, range| {
            let mut own = [T::default(); STEP];
            for from in range.clone().step_by(STEP) {
                let len = (range.end - from).min(STEP);
                values.fill(from, own.get_mut(..len).unwrap_or_default());
                tables.count(even.bins(&own).get(..len).unwrap_or_default(), |bin| bin as usize);
            }
            Ok(())
        });
    }
    let last = edges.key(n.saturating_sub(1));
    tally(search.values.len(), counts, &|tables, range| {
        edges.places(&values, true, range, |_, keys, places| {
            for (place, key) in places.iter_mut().zip(keys) {
                // Behind no edge, and behind the last one, is no bin; the last edge itself lies in the last bin.
                let is_end = *place == n && *key == last;
                *place = if *place == n && !is_end { bins } else { place.wrapping_sub(1 + usize::from(is_end)) };
            }
            tables.count(places, |bin| bin);
        });
        Ok(())
    })
}

/// Counts numbers. The first one that is negative is an error.
fn numbers<T: bytemuck::Pod + Sync>(
    search: &Search,
    values: &[u8],
    counts: &mut [i64],
    of: impl Fn(T) -> i64 + Sync,
) -> Result<()> {
    let values = Elements::<T>::new(values, &search.values)?;
    let wrong = AtomicUsize::new(usize::MAX);
    tally(search.values.len(), counts, &|tables, range| {
        // The own copy of what does not lie in order.
        let mut copied: Vec<T>;
        let near = match values.first.and_then(|first| values.all.get(first + range.start..first + range.end)) {
            Some(near) => near,
            None => {
                copied = room::filled(range.len(), T::zeroed())?;
                values.fill(range.start, &mut copied);
                &copied
            }
        };
        let mut is_negative = false;
        tables.count(near, |x| {
            let value = of(x);
            is_negative |= value < 0;
            // A negative one is larger than all bins.
            usize::try_from(value as u64).unwrap_or(usize::MAX)
        });
        if is_negative && let Some(at) = near.iter().position(|x| of(*x) < 0) {
            wrong.fetch_min(range.start + at, Ordering::Relaxed);
        }
        Ok(())
    })?;
    let place = wrong.into_inner();
    if place == usize::MAX {
        return Ok(());
    }
    let value = values.at(place).map_or(0, |x| of(*x));
    let reason = format!("number {place} of them is {value}, which is negative: there is no bin for it");
    Err(Error::invalid("x", reason).in_op("bincount", "arrays"))
}

/// Writes what is asked for.
pub(super) fn answer(search: &Search, (sorted, values): (&[u8], &[u8]), places: &mut [i64]) -> Result<()> {
    let order = search.order()?;
    match search.answer {
        Answer::Places => self::search(search, order, sorted, values, places),
        Answer::Bins if places.is_empty() => Ok(()),
        Answer::Bins => match order.size {
            1 => bins::<u8>(search, order, (sorted, values), places),
            2 => bins::<u16>(search, order, (sorted, values), places),
            4 => bins::<u32>(search, order, (sorted, values), places),
            _ => bins::<u64>(search, order, (sorted, values), places),
        },
        Answer::Numbers(_) => match search.dtype {
            DType::I32 => numbers(search, values, places, |x: i32| x.into()),
            DType::I64 => numbers(search, values, places, |x: i64| x),
            DType::U32 => numbers(search, values, places, |x: u32| x.into()),
            DType::U64 => numbers(search, values, places, |x: u64| i64::try_from(x).unwrap_or(i64::MAX)),
            _ => Err(Error::library("internal error: a type that was not checked")),
        },
    }
}
