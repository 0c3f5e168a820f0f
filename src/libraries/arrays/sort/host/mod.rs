//! The host half: each line is packed into pairs of a key and what goes with it, and these are sorted by the key's bytes.
//!
//! What goes with a key is the element's place. Pairs have 64 bits, or 128 for keys of 64. If elements are all that is written,
//! integers and those of 64 bits go alone: their keys are made again in each pass, which moves half as many bytes. Integers of 16 bits
//! and less are counted only (`count.rs`), of truth values the places are listed (`truth.rs`), and of a line of which few elements are
//! wanted no others are packed than may be among them (`few.rs`). Lines are treated by several threads; a long one by all of them (`long.rs`).

mod count;
mod few;
mod item;
mod long;
mod radix;
pub(in crate::libraries::arrays) mod truth;

use super::lines::Lines;
use super::op::Sort;
use super::order::{Numbers, Order, for_order};
use crate::core::element::DType;
use crate::core::error::{Error, Result};
use crate::core::room;
use crate::numerics::parallel;
use item::{Alone, Bits, Item};
use radix::radix;

/// Memory that a thread uses for one line after the other.
#[derive(Default)]
struct Spare<P> {
    pairs: Vec<P>,
    other: Vec<P>,
    counts: Vec<[u32; 256]>,
}

/// What a line is made of.
struct Line<T> {
    x: *const T,
    step: isize,
    values: *mut T,
    indices: *mut i64,
    target_step: isize,
}

/// Packs as many elements as there are pairs, of which the first one is number `first` of its line.
///
/// # Safety
/// The elements of the line lie at their distances.
unsafe fn pack<T: Bits, P: Item>(order: Order, line: &Line<T>, first: usize, pairs: &mut [P]) {
    let with_places = !P::IS_ELEMENT;
    for_order!(order => {
        for (i, pair) in pairs.iter_mut().enumerate() {
            // SAFETY: the caller's promise.
            let bits = unsafe { *line.x.offset(i as isize * line.step) };
            *pair = P::new(order.key_of(bits).widen(), if with_places { (first + i) as u64 } else { bits.widen() });
        }
    });
}

/// Writes sorted pairs, from element `first` of the result on.
///
/// # Safety
/// The elements of the line lie at their distances, and nothing else uses those that are written.
unsafe fn put<T: Bits, P: Item>(line: &Line<T>, first: usize, pairs: &[P]) {
    for (i, pair) in (first as isize..).zip(pairs) {
        let to = i * line.target_step;
        let with = pair.with();
        // SAFETY: the caller's promise.
        unsafe {
            if !line.indices.is_null() {
                *line.indices.offset(to) = with as i64;
            }
            if !line.values.is_null() {
                let value = if P::IS_ELEMENT { T::narrow(with) } else { *line.x.offset(with as isize * line.step) };
                *line.values.offset(to) = value;
            }
        }
    }
}

/// # Safety
/// As [`put`].
unsafe fn line<T: Bits, P: Item>(
    sort: &Sort,
    order: Order,
    n: usize,
    line: &Line<T>,
    spare: &mut Spare<P>,
) -> Result<()> {
    let is_part = sort.keep < n;
    let Spare { pairs, other, counts } = spare;
    pairs.clear();
    if is_part && sort.keep > 0 && sort.keep * 4 < n {
        // SAFETY: the caller's promise.
        unsafe { few::line(order, line, (n, sort.keep), pairs)? };
    } else {
        room::grown(pairs, n, P::default())?;
        // SAFETY: the caller's promise.
        unsafe { pack(order, line, 0, pairs) };
        room::grown(other, n, P::default())?;
        radix(pairs, other.get_mut(..n).unwrap_or_default(), counts, order)?;
    }
    // SAFETY: the caller's promise.
    unsafe { put(line, 0, pairs.get(..sort.keep).unwrap_or_default()) };
    Ok(())
}

/// Pointers that threads share.
#[derive(Clone, Copy)]
struct Bases<T> {
    x: *const T,
    values: *mut T,
    indices: *mut i64,
}

// SAFETY: what is read is written by nobody, and each line of what is written belongs to one thread.
unsafe impl<T> Sync for Bases<T> {}

impl<T> Bases<T> {
    fn line(&self, lines: &Lines, number: usize) -> Line<T> {
        let (from, to) = (lines.offset(0, number), lines.offset(1, number));
        let null = |is_there: bool| if is_there { to } else { 0 };
        let [step, target_step] = lines.steps;
        Line {
            x: self.x.wrapping_offset(from),
            step,
            values: self.values.wrapping_offset(null(!self.values.is_null())),
            indices: self.indices.wrapping_offset(null(!self.indices.is_null())),
            target_step,
        }
    }
}

/// Elements of lines that one thread sorts at least.
const PIECE: usize = 1 << 12;

/// # Safety
/// As [`sort`], for elements of this size.
unsafe fn all<T: Bits, P: Item>(sort: &Sort, lines: &Lines, bases: Bases<T>) -> Result<()> {
    let (order, bases) = (sort.order()?, &bases);
    let one = |number: usize| bases.line(lines, number);
    let (count, together, sizes) = (lines.count(), (PIECE / lines.len).max(1), (lines.len, sort.keep));
    if long::is_for(count, lines.len) && sort.keep * 4 >= lines.len {
        // SAFETY: the caller's promise; each line is treated once.
        return (0..count).try_for_each(|number| unsafe { long::line::<T, P>(order, sizes, &one(number)) });
    }
    let run = |spare: &mut Spare<P>, number: usize| {
        // SAFETY: the caller's promise; each line is treated once.
        unsafe { line(sort, order, lines.len, &one(number), spare) }
    };
    if count <= together {
        let mut spare = Spare::default();
        return (0..count).try_for_each(|number| run(&mut spare, number));
    }
    parallel::try_each_range(count, together, &|mut numbers| {
        let mut spare = Spare::default();
        numbers.try_for_each(|number| run(&mut spare, number))
    })
}

/// Sorts by counts.
///
/// # Safety
/// As [`sort`], for elements of this size.
unsafe fn counted<T: Bits>(sort: &Sort, lines: &Lines, bases: Bases<T>) -> Result<()> {
    let (order, bases, sizes) = (sort.order()?, &bases, (lines.len, sort.keep));
    parallel::try_each_range(lines.count(), PIECE / lines.len, &|mut numbers| {
        let mut counts = Vec::new();
        // SAFETY: the caller's promise; each line is treated once.
        numbers.try_for_each(|number| unsafe { count::line(order, sizes, &bases.line(lines, number), &mut counts) })
    })
}

/// Sorts. What is not written is null.
///
/// # Safety
/// The layouts of the operation, which was checked, lie inside the operands, which are aligned for their types; nothing else uses
/// those that are written.
pub(super) unsafe fn sort(sort: &Sort, x: *const u8, values: *mut u8, indices: *mut i64) -> Result<()> {
    let Some(lines) = Lines::new(sort)? else { return Ok(()) };
    // Equal keys of different bits have to stay in order where a part is selected, which places tell.
    // The key of a short float costs more than to move it.
    let is_cheap = sort.dtype.size() == 8 || !matches!(sort.order()?.numbers, Numbers::Float(_));
    let alone = !sort.indices && sort.keep == lines.len && is_cheap;
    macro_rules! bases {
        ($t:ty) => {
            Bases::<$t> { x: x.cast(), values: values.cast(), indices }
        };
    }
    let is_near = lines.count() == 1 && lines.steps == [1, 1] && sort.keep == lines.len;
    if sort.dtype == DType::Bool && !sort.values && is_near {
        let (x, indices) = (x.wrapping_offset(lines.offset(0, 0)), indices.wrapping_offset(lines.offset(1, 0)));
        // SAFETY: the caller's promise.
        return unsafe { truth::places(std::slice::from_raw_parts(x, lines.len), sort.descending, indices) };
    }
    if !sort.indices && count::is_for(sort.order()?, lines.len) {
        // SAFETY: the caller's promise.
        return unsafe {
            match sort.dtype.size() {
                1 => counted(sort, &lines, bases!(u8)),
                _ => counted(sort, &lines, bases!(u16)),
            }
        };
    }
    macro_rules! go {
        ($t:ty, $p:ty) => {{
            let bases = bases!($t);
            // SAFETY: the caller's promise.
            unsafe {
                if alone { all::<$t, Alone<$t>>(sort, &lines, bases) } else { all::<$t, $p>(sort, &lines, bases) }
            }
        }};
    }
    match sort.dtype.size() {
        1 => go!(u8, u64),
        2 => go!(u16, u64),
        4 => go!(u32, u64),
        8 => go!(u64, u128),
        _ => Err(Error::library("internal error: a sort of a type that was not checked")),
    }
}
