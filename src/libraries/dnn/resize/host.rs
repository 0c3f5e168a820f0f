//! The loops: lines are blended into a line in the cache, which is then gathered from. What an element is made of is added in the order of
//! the reductions' tree, so that the bits are those of the general path: `(a + c) + (b + d)`.

use super::blend::{Blend, MOST, Steps};
use crate::core::error::Result;
use crate::core::room::collected;
use crate::libraries::dnn::number::Own;
use crate::libraries::dnn::product::Real;
use crate::libraries::dnn::product::scratch::lent;
use crate::libraries::tensor_routine::{Checked, missing};
use crate::numerics::isa;
use crate::numerics::parallel::{Parts, try_each_part};

/// Elements that are gathered at once.
const CHUNK: usize = 64;
/// Elements of a part, at least.
const PART: usize = 1 << 12;

/// What elements side by side take of one place around them.
struct Tap<T> {
    at: [u32; CHUNK],
    weight: [T; CHUNK],
    share: [T; CHUNK],
}

/// The taps of each chunk of new elements, `each` for a chunk.
struct Along<T> {
    taps: Vec<Tap<T>>,
    each: usize,
    n: usize,
    m: usize,
}

impl<T: Own> Along<T> {
    fn new(steps: &Steps) -> Result<Self> {
        let (each, m) = (steps.each, steps.m());
        let tap = |number: usize| {
            let (first, k) = (number / each * CHUNK, number % each);
            let place = |i: usize| if first + i < m { (first + i) * each + k } else { usize::MAX };
            Tap {
                at: std::array::from_fn(|i| steps.indices.get(place(i)).copied().unwrap_or(0)),
                weight: std::array::from_fn(|i| T::of(steps.weights.get(place(i)).copied().unwrap_or(0.0))),
                share: std::array::from_fn(|i| T::of(steps.shares.get(place(i)).copied().unwrap_or(0.0))),
            }
        };
        Ok(Along { taps: collected((0..m.div_ceil(CHUNK) * each).map(tap))?, each, n: steps.n, m })
    }
}

/// A summand.
#[inline(always)]
fn summand<T: Own>(x: T, weight: T, share: T) -> T {
    if weight == T::default() { share } else { x.fused(weight, share) }
}

/// A line, gathered from another one.
struct Gather<'l, T> {
    from: &'l [T],
    to: &'l mut [T],
    taps: &'l [Tap<T>],
    each: usize,
}

impl<T: Own> isa::Loop for Gather<'_, T> {
    type Output = ();

    #[inline(always)]
    fn body(self) {
        for (to, taps) in self.to.chunks_mut(CHUNK).zip(self.taps.chunks(self.each)) {
            let mut all = [[T::default(); CHUNK]; MOST];
            for (sums, tap) in all.iter_mut().zip(taps) {
                for (((sum, at), weight), share) in sums.iter_mut().zip(&tap.at).zip(&tap.weight).zip(&tap.share) {
                    *sum = summand(self.from.get(*at as usize).copied().unwrap_or_default(), *weight, *share);
                }
            }
            let ([a, b, c, d], each) = (all, self.each);
            let mut made = [T::default(); CHUNK];
            for (((made, a), b), (c, d)) in made.iter_mut().zip(&a).zip(&b).zip(c.iter().zip(&d)) {
                *made = T::narrow(match each {
                    1 => *a,
                    2 => *a + *b,
                    _ => (*a + *c) + (*b + *d),
                });
            }
            to.iter_mut().zip(&made).for_each(|(to, made)| *to = *made);
        }
    }
}

/// A line, made of up to four.
struct Across<'l, T> {
    from: [&'l [T]; MOST],
    weights: [T; MOST],
    shares: [T; MOST],
    each: usize,
    to: &'l mut [T],
}

impl<T: Own> isa::Loop for Across<'_, T> {
    type Output = ();

    #[inline(always)]
    fn body(self) {
        let ([a, b, c, d], [v, w, x, y], [p, q, r, s]) = (self.from, self.weights, self.shares);
        match self.each {
            1 => self.to.iter_mut().zip(a).for_each(|(to, a)| *to = T::narrow(summand(*a, v, p))),
            2 => {
                for ((to, a), b) in self.to.iter_mut().zip(a).zip(b) {
                    *to = T::narrow(summand(*a, v, p) + summand(*b, w, q));
                }
            }
            _ => {
                for ((to, a), (b, (c, d))) in self.to.iter_mut().zip(a).zip(b.iter().zip(c.iter().zip(d))) {
                    let even = summand(*a, v, p) + summand(*c, x, r);
                    *to = T::narrow(even + (summand(*b, w, q) + summand(*d, y, s)));
                }
            }
        }
    }
}

/// Blends a line of the new ones.
fn blend<T: Own>(steps: &Steps, x: &[T], row: usize, to: &mut [T]) {
    let (m, line) = (steps.m().max(1), to.len());
    let places = row % m * steps.each..(row % m + 1) * steps.each;
    let plane = x.get(row / m * steps.n * line..).unwrap_or_default();
    let (mut from, mut weights, mut shares) = ([&[][..]; MOST], [T::default(); MOST], [T::default(); MOST]);
    let known = places.clone().zip(from.iter_mut().zip(weights.iter_mut().zip(&mut shares)));
    for (place, (from, (weight, share))) in known {
        let at = steps.indices.get(place).map_or(0, |at| *at as usize) * line;
        *from = plane.get(at..at + line).unwrap_or_default();
        *weight = T::of(steps.weights.get(place).copied().unwrap_or(0.0));
        *share = T::of(steps.shares.get(place).copied().unwrap_or(0.0));
    }
    isa::run(Across { from, weights, shares, each: steps.each, to });
}

pub(super) fn run<T: Real>(of: &Blend, operands: Checked<'_, '_>) -> Result<()> {
    let (reads, writes) = operands.typed::<T, T>()?;
    let ([x], [y]) = (&reads[..], <[_; 1]>::try_from(writes).map_err(|_| missing())?) else { return Err(missing()) };
    let x = x.get(of.x.offset()..).and_then(|x| x.get(..of.x.len())).ok_or_else(missing)?;
    let [line, new] = of.line().ok_or_else(missing)?;
    let along = of.along.as_ref().map(Along::<T>::new).transpose()?;
    if new == 0 {
        return Ok(());
    }
    let rows = PART.div_ceil(new);
    try_each_part(y, Parts::with_size(rows * new), &|part, to| {
        let each = to.chunks_mut(new).zip(part * rows..);
        let Some(along) = &along else {
            each.for_each(|(to, row)| of.across.iter().for_each(|steps| blend(steps, x, row, to)));
            return Ok(());
        };
        let gathered = |from: &[T], to: &mut [T]| {
            for (from, to) in from.chunks(along.n.max(1)).zip(to.chunks_mut(along.m.max(1))) {
                isa::run(Gather { from, to, taps: &along.taps, each: along.each });
            }
        };
        match &of.across {
            None => {
                each.for_each(|(to, row)| gathered(x.get(row * line..(row + 1) * line).unwrap_or_default(), to));
                Ok(())
            }
            Some(steps) => lent(line, |between| {
                each.for_each(|(to, row)| {
                    blend(steps, x, row, between);
                    gathered(between, to);
                });
                Ok(())
            }),
        }
    })
}
