//! The loops: a chunk of places at once. Their numbers and weights are those of the formulas of `places.rs`, step by step, and the products
//! are added in the order of the reductions' tree, so that the bits are those of the general path.

use super::direct::Sample;
use crate::core::error::Result;
use crate::libraries::dnn::number::Own;
use crate::libraries::dnn::product::tiles::Shared;
use crate::libraries::tensor_routine::{Checked, missing};
use crate::numerics::isa;
use crate::numerics::parallel::each_number;

/// Places of a chunk.
const CHUNK: usize = 64;
/// Elements that a thread makes at least.
const LEAST: usize = 1 << 12;

/// A number for each place of a chunk.
type Chunk<T> = [T; CHUNK];

/// Where places lie along an axis: the numbers of the elements around them, and their weights.
struct Places<T> {
    at: [Chunk<u32>; 2],
    weight: [Chunk<T>; 2],
}

impl<T: Own> Places<T> {
    #[inline(always)]
    fn new(of: &Sample, n: usize, coordinates: &Chunk<T>) -> Self {
        let [zero, one, two] = [0.0, 1.0, 2.0].map(T::of);
        let (all, last) = (T::of(n as f64), T::of(n as f64 - 1.0));
        let [low, high] = if of.align { [zero, last] } else { [T::of(-0.5), T::of(n as f64 - 1.0 + 0.5)] };
        let mut places = Places { at: [[0; CHUNK]; 2], weight: [[zero; CHUNK]; 2] };
        let ([at, next], [weight, other]) = (&mut places.at, &mut places.weight);
        let out = at.iter_mut().zip(next).zip(weight.iter_mut().zip(other));
        for (x, ((at, next), (weight, other))) in coordinates.iter().zip(out) {
            let raw = if of.align { (*x + one) / two * last } else { ((*x + one) * all - one) / two };
            let place = if of.linear { raw } else { raw.round_even() };
            let is_outside = (place < low) | (place > high);
            let place = if of.border & is_outside { place.within(zero, last) } else { place };
            let first = place.floor();
            let part = place - first;
            let (near, far) = if of.linear { (one - part, part) } else { (place * zero + one, zero) };
            let there = |own: T, weight: T| {
                let there = (own >= zero) & (own <= last);
                if there | of.border { weight } else { zero }
            };
            (*at, *weight) = (first.within(zero, last).index(), there(first, near));
            (*next, *other) = ((first + one).within(zero, last).index(), there(first + one, far));
        }
        places
    }
}

/// Places of one batch, for all channels.
struct Part<'p, T> {
    of: &'p Sample,
    /// The elements of the batch.
    x: &'p [T],
    /// Its coordinates from the first place on.
    grid: &'p [T],
    /// The extents of the elements.
    extents: [usize; 2],
    /// The places, and all of the batch: as far apart are the channels of the result.
    places: [usize; 2],
    to: &'p Shared<'p, T>,
    /// The first element of the result.
    first: usize,
}

impl<T: Own> isa::Loop for Part<'_, T> {
    type Output = ();

    #[inline(always)]
    fn body(self) {
        let ([high, width], [count, all]) = (self.extents, self.places);
        let mut coordinates = [[T::default(); CHUNK]; 2];
        let [along, down] = &mut coordinates;
        for (pair, (x, y)) in self.grid.chunks_exact(2).zip(along.iter_mut().zip(down)) {
            if let [of_x, of_y] = pair {
                (*x, *y) = (*of_x, *of_y);
            }
        }
        let [along, down] = &coordinates;
        let (across, within) = (Places::new(self.of, high, down), Places::new(self.of, width, along));
        // The corners in the order of the formulas: the last axis fastest.
        let mut at = [[0u32; CHUNK]; 4];
        let mut weight = [[T::default(); CHUNK]; 4];
        let corners = if self.of.linear { 4 } else { 1 };
        for (corner, (at, weight)) in at.iter_mut().zip(&mut weight).take(corners).enumerate() {
            let of = |places: &Places<T>, second: bool| match second {
                true => (places.at[1], places.weight[1]),
                false => (places.at[0], places.weight[0]),
            };
            let ((row, v), (column, w)) = (of(&across, corner / 2 == 1), of(&within, corner % 2 == 1));
            let places = row.iter().zip(&column).zip(v.iter().zip(&w));
            for ((at, weight), ((row, column), (v, w))) in at.iter_mut().zip(weight).zip(places) {
                (*at, *weight) = (*row * width as u32 + *column, *v * *w);
            }
        }
        for (channel, plane) in self.x.chunks_exact(high * width).enumerate() {
            let mut products = [[T::default(); CHUNK]; 4];
            for ((products, at), weight) in products.iter_mut().zip(&at).zip(&weight).take(corners) {
                for ((product, at), weight) in products.iter_mut().zip(at).zip(weight) {
                    let x = plane.get(*at as usize).copied().unwrap_or_default();
                    *product = if *weight == T::default() { *weight } else { x * *weight };
                }
            }
            let [a, b, c, d] = &products;
            // SAFETY: these places of this channel belong to this part alone.
            let to = unsafe { self.to.line(self.first + channel * all, count) };
            let mut made = [T::default(); CHUNK];
            for (((made, a), b), (c, d)) in made.iter_mut().zip(a).zip(b).zip(c.iter().zip(d)) {
                *made = T::narrow(if corners == 1 { *a } else { (*a + *c) + (*b + *d) });
            }
            to.iter_mut().zip(&made).for_each(|(to, made)| *to = *made);
        }
    }
}

pub(super) fn run<T: Own>(of: &Sample, operands: Checked<'_, '_>) -> Result<()> {
    let (reads, writes) = operands.typed::<T, T>()?;
    let ([x, grid], [y]) = (&reads[..], <[_; 1]>::try_from(writes).map_err(|_| missing())?) else {
        return Err(missing());
    };
    let (x, grid) = (x.get(of.x.offset()..).unwrap_or_default(), grid.get(of.grid.offset()..).unwrap_or_default());
    let ([batch, channels, high, width], places) = of.sizes().ok_or_else(missing)?;
    let (chunks, to) = (places.div_ceil(CHUNK), Shared::new(y));
    let size = channels * high * width;
    each_number(batch * chunks, LEAST / (CHUNK * channels.max(1)), &|number| {
        let (b, first) = (number / chunks, number % chunks * CHUNK);
        let count = CHUNK.min(places - first);
        let from = 2 * (b * places + first);
        isa::run(Part {
            of,
            x: x.get(b * size..(b + 1) * size).unwrap_or_default(),
            grid: grid.get(from..from + 2 * count).unwrap_or_default(),
            extents: [high, width],
            places: [count, places],
            to: &to,
            first: b * channels * places + first,
        });
    });
    Ok(())
}
