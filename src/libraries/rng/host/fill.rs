//! A whole draw: cut into parts for the threads; each part is processed a few hundred visits at a time.

use super::super::distribution::Random;
use super::super::layout::Layout;
use super::super::scrambled;
use super::super::spec::{Spec, Start};
use super::super::stream::Generator;
use super::cursor::Cursor;
use super::make::{CHUNK, Words};
use super::{kept, mrg, mt, mtgp, philox, sobol, xorwow};
use crate::core::room::{OrUnwind, boxed};
use crate::numerics::parallel::{Parts, each_part};

pub(crate) use super::make::Batch;

/// `count` visits of a stream from `first` on.
struct Visits {
    first: u64,
    count: u64,
}

fn cursor(place: &Start, layout: Layout, Visits { first, count }: Visits) -> Box<dyn Cursor> {
    let Start { generator, seed, lanes, .. } = *place;
    let words = layout.words();
    let word = first.wrapping_mul(words as u64);
    match generator {
        Generator::Philox => boxed(philox::Philox::new(seed, layout, first)).or_unwind(),
        Generator::Xorwow => boxed(xorwow::Xorwow::new(seed, words, first, count)).or_unwind(),
        Generator::Mrg32k3a => boxed(mrg::Mrg::new(seed, words, lanes.into(), first)).or_unwind(),
        Generator::Mt19937 => boxed(mt::Mt::new(seed, word, count.saturating_mul(words as u64))).or_unwind(),
        _ => boxed(mtgp::Mtgp::new(seed, lanes as usize, word)).or_unwind(),
    }
}

/// Makes the numbers from the cursor's position on, without the first `skip` of its first visit.
fn walk<T: Random>(
    (spec, generator, layout): (&Spec, Generator, Layout),
    cursor: &mut dyn Cursor,
    mut skip: usize,
    mut out: &mut [T],
) {
    let mut words: Words = [[0; CHUNK]; 4];
    let mut spare = [T::zeroed(); 2 * CHUNK];
    let each = layout.outputs();
    while !out.is_empty() {
        let visits = out.len().saturating_add(skip).div_ceil(each).min(CHUNK);
        let count = (visits * each - skip).min(out.len());
        let mut all = words.each_mut().map(|w| w.get_mut(..visits).unwrap_or_default());
        cursor.next(all.get_mut(..layout.words()).unwrap_or_default());
        let (now, rest) = std::mem::take(&mut out).split_at_mut(count);
        let mut batch = Batch { spec, generator, layout, visits, words: &mut words };
        if count == visits * each {
            T::make(&mut batch, now);
        } else {
            let whole = spare.get_mut(..visits * each).unwrap_or_default();
            T::make(&mut batch, whole);
            now.iter_mut().zip(whole.iter().skip(skip)).for_each(|(to, from)| *to = *from);
        }
        (skip, out) = (0, rest);
    }
}

/// The size of a part, in numbers: for cursors that are cheap to make, and for expensive ones.
const SMALL: usize = 1 << 15;
const LARGE: usize = 1 << 20;

/// Fills `out` with the numbers from `place` on.
pub(crate) fn fill<T: Random>(place: &Start, spec: &Spec, out: &mut [T]) {
    let layout = Layout::new(place.generator, spec, T::KIND);
    let how = (spec, place.generator, layout);
    let each = layout.outputs() as u64;
    match place.generator {
        Generator::Philox => each_part(out, Parts::with_size(SMALL), &|i, out| {
            random(place, how, place.first.wrapping_add((i * SMALL) as u64), out);
        }),
        Generator::Xorwow | Generator::Mrg32k3a => each_part(out, Parts::with_size(LARGE), &|i, out| {
            random(place, how, place.first.wrapping_add((i * LARGE) as u64), out);
        }),
        Generator::Mt19937 | Generator::Mtgp32 => {
            // In one part, with the cursor that an earlier draw left at this place, if there is one.
            let key = |visit: u64| kept::Key::new(place, visit.wrapping_mul(layout.words() as u64));
            let (visit, skip) = (place.first / each, (place.first % each) as usize);
            let end = place.first.wrapping_add(out.len() as u64);
            let visits = Visits { first: visit, count: (out.len() as u64).saturating_add(skip as u64).div_ceil(each) };
            let mut cursor = kept::take(&key(visit)).unwrap_or_else(|| cursor(place, layout, visits));
            walk(how, &mut *cursor, skip, out);
            if end.is_multiple_of(each) && cursor.goes_on() {
                kept::put(key(end / each), cursor);
            }
        }
        _ => quasi(place, how, out),
    }
}

/// Makes the numbers of a random stream from `first` on.
fn random<T: Random>(place: &Start, how: (&Spec, Generator, Layout), first: u64, out: &mut [T]) {
    let (_, _, layout) = how;
    let each = layout.outputs() as u64;
    let (visit, skip) = (first / each, (first % each) as usize);
    let count = (out.len() as u64).saturating_add(skip as u64).div_ceil(each);
    walk(how, &mut *cursor(place, layout, Visits { first: visit, count }), skip, out);
}

/// Makes the points of a quasi-random sequence, dimension by dimension.
fn quasi<T: Random>(place: &Start, how: (&Spec, Generator, Layout), out: &mut [T]) {
    let points = (out.len() / place.dimensions.max(1) as usize).max(1);
    each_part(out, Parts::with_size(SMALL), &|i, mut out| {
        let mut at = i * SMALL;
        while !out.is_empty() {
            let (dimension, point) = (at / points, at % points);
            let (now, rest) = out.split_at_mut(out.len().min(points - point));
            let first = scrambled::point(place).wrapping_add(point as u64);
            let directions = scrambled::directions(place.generator, place.scrambled, dimension);
            walk(how, &mut sobol::Sobol::new(directions, first), 0, now);
            at += now.len();
            out = rest;
        }
    });
}

/// The two words of a draw of one 64-bit number.
pub(crate) fn key(place: &Start) -> [u32; 2] {
    let layout = Layout::Wide;
    let (mut x, mut y) = ([0], [0]);
    cursor(place, layout, Visits { first: place.first, count: 1 }).next(&mut [&mut x, &mut y]);
    let ([x], [y]) = (x, y);
    [x, y].map(|word| super::units::bits_of(place.generator, word))
}
