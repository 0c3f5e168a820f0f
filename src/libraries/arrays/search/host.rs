//! The half for the CPU: eight values at a time halve the vector, each without a branch, so that they wait for memory together. Where
//! there are many values the keys of the vector are made first.
//!
//! Counts of bins are places too: those of the values among the edges. They are counted in a table of each task, or in four of them so
//! that an element need not wait for an equal one before it, and these are added at the end.

use super::even::{Even, value};
use super::op::{Answer, Search};
use crate::core::element::DType;
use crate::core::error::{Error, Result};
use crate::core::room;
use crate::device::tensor::Layout;
use crate::libraries::arrays::sort::order::{Bits, Order, for_order};
use crate::numerics::parallel::{self, Parts};
use parking_lot::Mutex;
use std::ops::Range;
use std::sync::atomic::{AtomicI64, Ordering};

/// Values that are searched together.
const TOGETHER: usize = 8;
/// Values that a thread searches at least.
const FEW: usize = 1 << 10;
/// Values that a thread counts at least.
const MANY: usize = 1 << 16;
/// More bins than this have one table.
const SMALL: usize = 1 << 12;

fn offset(layout: &Layout, mut number: usize) -> usize {
    let mut offset = layout.offset() as isize;
    for (n, stride) in layout.shape().iter().zip(layout.strides()).rev() {
        offset += (number % n) as isize * stride;
        number /= n;
    }
    offset.unsigned_abs()
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
        self.all.get(self.first.map_or_else(|| offset(self.layout, number), |first| first + number))
    }

    /// Some elements from a number on; what is not there is left.
    fn fill(&self, from: usize, to: &mut [T]) {
        let near = self.first.and_then(|first| self.all.get(first + from..first + from + to.len()));
        match near {
            Some(near) => to.copy_from_slice(near),
            None => to.iter_mut().zip(from..).for_each(|(to, number)| *to = self.at(number).copied().unwrap_or(*to)),
        }
    }
}

/// How many of `n` keys come before each value's own.
#[inline(always)]
fn halve<T: Bits>(key: impl Fn(usize) -> T, n: usize, right: bool, own: &[T; TOGETHER]) -> [usize; TOGETHER] {
    let mut low = [0usize; TOGETHER];
    let is_before = |at: usize, own: T| {
        let key = key(at);
        usize::from((key < own) | (right & (key == own)))
    };
    let mut len = n;
    while len > 1 {
        let half = len / 2;
        for (low, own) in low.iter_mut().zip(own) {
            // Arithmetic, so that the compiler makes no branch of it.
            *low += half & 0usize.wrapping_sub(is_before(*low + half - 1, *own));
        }
        len -= half;
    }
    for (low, own) in low.iter_mut().zip(own).take(if n > 0 { TOGETHER } else { 0 }) {
        *low += is_before(*low, *own);
    }
    low
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

    /// Calls `f(k, key, place)` for values of a range.
    fn places(&self, values: &Elements<'_, T>, right: bool, range: Range<usize>, mut f: impl FnMut(usize, T, usize)) {
        let order = self.order;
        for from in range.clone().step_by(TOGETHER) {
            let mut own = [T::default(); TOGETHER];
            let len = (range.end - from).min(TOGETHER);
            values.fill(from, own.get_mut(..len).unwrap_or_default());
            let own = own.map(|value| order.key_of(value));
            let known = |at: usize| self.keys.get(at).copied().unwrap_or(T::ALL);
            let low = match (self.keys.is_empty(), right) {
                (true, _) => halve(|at| self.key(at), self.n, right, &own),
                (false, true) => halve(known, self.n, true, &own),
                (false, false) => halve(known, self.n, false, &own),
            };
            for (k, (own, low)) in own.iter().zip(low).enumerate().take(len) {
                f(from + k, *own, low);
            }
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
        sorted.places(&values, search.right, first..first + to.len(), |number, _, place| {
            to.iter_mut().skip(number - first).take(1).for_each(|to| *to = place as i64);
        });
    });
    Ok(())
}

/// A task's table, or its four tables.
struct Tables {
    counts: Vec<u32>,
    bins: usize,
    tables: usize,
}

impl Tables {
    fn new(bins: usize) -> Result<Self> {
        let tables = if bins <= SMALL { 4 } else { 1 };
        let counts = room::filled((bins + 1) * tables, 0)?;
        Ok(Tables { counts, bins: bins + 1, tables })
    }

    /// Counts a value of this number; what is in no bin has the number behind the last one, or a larger one.
    #[inline(always)]
    fn count(&mut self, number: usize, bin: usize) {
        let at = (number & (self.tables - 1)) * self.bins + bin.min(self.bins - 1);
        if let Some(count) = self.counts.get_mut(at) {
            *count += 1;
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
            for from in range.clone().step_by(TOGETHER) {
                let mut own = [T::default(); TOGETHER];
                let len = (range.end - from).min(TOGETHER);
                values.fill(from, own.get_mut(..len).unwrap_or_default());
                for (number, x) in own.iter().enumerate().take(len) {
                    tables.count(number, even.bin(value(*x)));
                }
            }
            Ok(())
        });
    }
    let last = edges.key(n.saturating_sub(1));
    tally(search.values.len(), counts, &|tables, range| {
        edges.places(&values, true, range, |number, key, place| {
            // Behind no edge, and behind the last one, is no bin; the last edge itself lies in the last bin.
            let is_end = place == n && key == last;
            let bin = if is_end { bins - 1 } else { place.wrapping_sub(1) };
            tables.count(number, if place == n && !is_end { bins } else { bin });
        });
        Ok(())
    })
}

/// Counts numbers, then those that are negative.
fn numbers<T: bytemuck::Pod + Sync>(
    search: &Search,
    values: &[u8],
    counts: &mut [i64],
    of: impl Fn(T) -> i64 + Sync,
) -> Result<()> {
    let values = Elements::<T>::new(values, &search.values)?;
    let Some((below, counts)) = counts.split_last_mut() else { return Ok(()) };
    let all = AtomicI64::new(0);
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
        let (mut negative, bins) = (0i64, tables.bins);
        let mut each = tables.counts.chunks_exact_mut(bins);
        let mut count = |table: &mut [u32], x: T| {
            let value = of(x);
            negative += i64::from(value < 0);
            // A negative one is larger than all bins.
            if let Some(count) = table.get_mut((value as u64).min(bins as u64 - 1) as usize) {
                *count += 1;
            }
        };
        match (each.next(), each.next(), each.next(), each.next()) {
            (Some(a), Some(b), Some(c), Some(d)) => {
                let mut fours = near.chunks_exact(4);
                for four in &mut fours {
                    let [p, q, r, s] = *four else { break };
                    count(a, p);
                    count(b, q);
                    count(c, r);
                    count(d, s);
                }
                fours.remainder().iter().for_each(|x| count(a, *x));
            }
            (Some(a), ..) => near.iter().for_each(|x| count(a, *x)),
            _ => {}
        }
        all.fetch_add(negative, Ordering::Relaxed);
        Ok(())
    })?;
    *below = all.into_inner();
    Ok(())
}

/// Writes what is asked for.
pub(super) fn answer(search: &Search, (sorted, values): (&[u8], &[u8]), places: &mut [i64]) -> Result<()> {
    let order = search.order()?;
    match search.answer {
        Answer::Places => self::search(search, order, sorted, values, places),
        _ if places.is_empty() => Ok(()),
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
