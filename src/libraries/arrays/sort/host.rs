//! The host half: each line is packed into pairs of a key and what goes with it, and these are sorted by the key's bytes.
//!
//! What goes with a key is the element itself if elements are all that is written, else its place. Pairs have 64 bits, or 128 for
//! keys of 64. Lines are treated by several threads.

use super::lines::Lines;
use super::op::Sort;
use super::order::{Numbers, Order};
use crate::core::error::{Error, Result};
use crate::core::room;
use rayon::prelude::*;

/// A key in the upper half, what goes with it in the lower one.
trait Pair: Copy + Ord + Send + Default {
    fn new(key: u64, with: u64) -> Self;
    fn key(self) -> u64;
    fn with(self) -> u64;
}

macro_rules! pairs { ($($t:ty, $bits:expr;)*) => { $(
    impl Pair for $t {
        #[inline(always)]
        fn new(key: u64, with: u64) -> Self {
            (key as $t) << $bits | with as $t
        }
        #[inline(always)]
        fn key(self) -> u64 {
            (self >> $bits) as u64
        }
        #[inline(always)]
        fn with(self) -> u64 {
            (self & (<$t>::MAX >> $bits)) as u64
        }
    }
)* } }
pairs! {
    u64, 32;
    u128, 64;
}

/// The bits of an element.
trait Bits: Copy {
    fn widen(self) -> u64;
    fn narrow(bits: u64) -> Self;
}

macro_rules! bits { ($($t:ty)*) => { $(
    impl Bits for $t {
        #[inline(always)]
        fn widen(self) -> u64 {
            self.into()
        }
        #[inline(always)]
        fn narrow(bits: u64) -> Self {
            bits as $t
        }
    }
)* } }
bits!(u8 u16 u32 u64);

/// Memory that a thread uses for one line after the other.
#[derive(Default)]
struct Spare<P> {
    pairs: Vec<P>,
    other: Vec<P>,
    counts: Vec<[u32; 256]>,
}

/// Fewer pairs than this are compared.
const FEW: usize = 256;

/// Sorts by the lowest `passes` bytes of the keys; equal ones keep their order. `distinct` says that no two pairs are equal and that
/// what goes with the keys rises.
fn radix<P: Pair>(spare: &mut Spare<P>, passes: usize, distinct: bool) -> Result<()> {
    let Spare { pairs, other, counts } = spare;
    let n = pairs.len();
    if n <= FEW {
        if distinct {
            pairs.sort_unstable();
        } else {
            pairs.sort_by_key(|pair| pair.key());
        }
        return Ok(());
    }
    counts.clear();
    room::grown(counts, passes, [0; 256])?;
    for pair in pairs.iter() {
        let key = pair.key();
        for (pass, counts) in counts.iter_mut().enumerate() {
            let digit = (key >> (8 * pass)) as u8;
            if let Some(count) = counts.get_mut(usize::from(digit)) {
                *count += 1;
            }
        }
    }
    other.clear();
    room::grown(other, n, P::default())?;
    for (pass, counts) in counts.iter_mut().enumerate() {
        // Nothing moves if all have one digit.
        if counts.iter().any(|count| *count as usize == n) {
            continue;
        }
        let mut next = 0;
        for count in counts.iter_mut() {
            (*count, next) = (next, next + *count);
        }
        for pair in pairs.iter() {
            let digit = (pair.key() >> (8 * pass)) as u8;
            if let Some(place) = counts.get_mut(usize::from(digit)) {
                if let Some(to) = other.get_mut(*place as usize) {
                    *to = *pair;
                }
                *place += 1;
            }
        }
        std::mem::swap(pairs, other);
    }
    Ok(())
}

/// What a line is made of.
struct Line<T> {
    x: *const T,
    step: isize,
    values: *mut T,
    indices: *mut i64,
    target_step: isize,
}

/// # Safety
/// The elements of the line lie at their distances, and nothing else uses those that are written.
unsafe fn line<T: Bits, P: Pair>(
    sort: &Sort,
    order: Order,
    n: usize,
    line: &Line<T>,
    spare: &mut Spare<P>,
) -> Result<()> {
    let is_part = sort.keep < n;
    // Equal keys of different bits have to stay in order, which places tell.
    let with_places = sort.indices || is_part;
    let Spare { pairs, .. } = spare;
    pairs.clear();
    room::reserve(pairs, n)?;
    macro_rules! pack {
        ($order:expr) => {{
            let order: Order = $order;
            for i in 0..n {
                // SAFETY: the caller's promise.
                let bits = unsafe { *line.x.offset(i as isize * line.step) }.widen();
                pairs.push(P::new(order.key(bits), if with_places { i as u64 } else { bits }));
            }
        }};
    }
    match order.numbers {
        Numbers::Unsigned => pack!(Order { numbers: Numbers::Unsigned, ..order }),
        Numbers::Signed => pack!(Order { numbers: Numbers::Signed, ..order }),
        Numbers::Truth => pack!(Order { numbers: Numbers::Truth, ..order }),
        Numbers::Float(infinity) => pack!(Order { numbers: Numbers::Float(infinity), ..order }),
    }
    if is_part && sort.keep > 0 && sort.keep * 4 < n {
        pairs.select_nth_unstable(sort.keep - 1);
        pairs.truncate(sort.keep);
        pairs.sort_unstable();
    } else {
        radix(spare, order.passes, with_places)?;
    }
    for (i, pair) in (0..sort.keep as isize).zip(spare.pairs.iter()) {
        let to = i * line.target_step;
        let with = pair.with();
        // SAFETY: the caller's promise.
        unsafe {
            if !line.indices.is_null() {
                *line.indices.offset(to) = with as i64;
            }
            if !line.values.is_null() {
                let value = if with_places { *line.x.offset(with as isize * line.step) } else { T::narrow(with) };
                *line.values.offset(to) = value;
            }
        }
    }
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

/// Elements of lines that one thread sorts at least.
const PIECE: usize = 1 << 12;

/// # Safety
/// As [`sort`], for elements of this size.
unsafe fn all<T: Bits, P: Pair>(sort: &Sort, lines: &Lines, bases: Bases<T>) -> Result<()> {
    let (order, [step, target_step]) = (sort.order()?, lines.steps);
    let bases = &bases;
    let run = |spare: &mut Spare<P>, number: usize| {
        let (from, to) = (lines.offset(0, number), lines.offset(1, number));
        let null = |is_there: bool| if is_there { to } else { 0 };
        let one = Line {
            x: bases.x.wrapping_offset(from),
            step,
            values: bases.values.wrapping_offset(null(!bases.values.is_null())),
            indices: bases.indices.wrapping_offset(null(!bases.indices.is_null())),
            target_step,
        };
        // SAFETY: the caller's promise; each line is treated once.
        unsafe { line(sort, order, lines.len, &one, spare) }
    };
    let (count, together) = (lines.count(), (PIECE / lines.len).max(1));
    if count <= together {
        let mut spare = Spare::default();
        return (0..count).try_for_each(|number| run(&mut spare, number));
    }
    let numbers = (0..count).into_par_iter().with_min_len(together);
    numbers.try_for_each_init(Spare::default, run)
}

/// Sorts. What is not written is null.
///
/// # Safety
/// The layouts of the operation, which was checked, lie inside the operands, which are aligned for their types; nothing else uses
/// those that are written.
pub(super) unsafe fn sort(sort: &Sort, x: *const u8, values: *mut u8, indices: *mut i64) -> Result<()> {
    let Some(lines) = Lines::new(sort)? else { return Ok(()) };
    macro_rules! go {
        ($t:ty, $p:ty) => {
            // SAFETY: the caller's promise.
            unsafe { all::<$t, $p>(sort, &lines, Bases { x: x.cast(), values: values.cast(), indices }) }
        };
    }
    match sort.dtype.size() {
        1 => go!(u8, u64),
        2 => go!(u16, u64),
        4 => go!(u32, u64),
        8 => go!(u64, u128),
        _ => Err(Error::library("internal error: a sort of a type that was not checked")),
    }
}
