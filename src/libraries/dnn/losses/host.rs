//! The loops. A row's sum is made in the order of the reductions' tree (`reductions::space`), by the steps of their recipe for
//! exponentials, so that the bits are those of the general path.

use super::rows::CHUNK;
use crate::core::element::Element;
use crate::core::error::Result;
use crate::libraries::dnn::product::Real;
use crate::libraries::dnn::product::scratch::lent;
use crate::libraries::expressions::Elementary;
use crate::libraries::tensor_routine::{Checked, missing};
use crate::numerics::isa;
use crate::numerics::parallel::{Parts, each_part, try_each_part};
use num_complex::Complex;

/// The elements of a group of the tree.
const GROUP: usize = 1024;
/// The chains of a group.
const CHAINS: usize = 64;
/// Groups whose last chains are joined side by side.
const LANES: usize = 16;
/// Elements that a thread treats at least.
const LEAST: usize = 1 << 14;

/// A largest element, and the sum of the exponentials of the distances from it.
type Pair<T> = (T, T);
/// Such numbers of chains, or of groups.
type Chains<T> = [T; CHAINS];

/// Of two pairs one. An element by itself has the sum 1.
#[inline(always)]
fn joined<T: Real + Elementary>((most, sum): Pair<T>, (x, of_x): Pair<T>) -> Pair<T> {
    let grows = x > most;
    let (low, high) = if grows { (most, x) } else { (x, most) };
    let (of_low, of_high) = if grows { (sum, of_x) } else { (of_x, sum) };
    let factor = if x == most { T::ONE } else { (low - high).exponential() };
    (high, factor.fused(of_low, of_high))
}

/// Joins the chains of the second half of `2 * HALF` to those of the first.
#[inline(always)]
fn halve<T: Real + Elementary, const HALF: usize>(most: &mut Chains<T>, sums: &mut Chains<T>) {
    let ((most, other), (sums, others)) = (most.split_at_mut(HALF), sums.split_at_mut(HALF));
    for ((most, sum), (x, of_x)) in most.iter_mut().zip(sums).zip(other.iter().zip(others.iter())).take(HALF) {
        (*most, *sum) = joined((*most, *sum), (*x, *of_x));
    }
}

/// The chains of a group, joined until [`LANES`] of them are left.
#[inline(always)]
fn group<T: Real + Elementary>(x: &[T]) -> (Chains<T>, Chains<T>) {
    let (mut most, mut sums) = ([T::LOWEST; CHAINS], [T::default(); CHAINS]);
    let mut last = [T::default(); CHAINS];
    for x in x.chunks(CHAINS) {
        let count = x.len() as u32;
        let x = x.first_chunk().unwrap_or_else(|| {
            last.iter_mut().zip(x).for_each(|(to, x)| *to = *x);
            &last
        });
        for (((most, sum), x), chain) in most.iter_mut().zip(&mut sums).zip(x).zip(0u32..) {
            let next = joined((*most, *sum), (*x, T::ONE));
            // A chain without an element keeps what it has.
            *most = if chain < count { next.0 } else { *most };
            *sum = if chain < count { next.1 } else { *sum };
        }
    }
    halve::<_, 32>(&mut most, &mut sums);
    halve::<_, 16>(&mut most, &mut sums);
    (most, sums)
}

/// Rows, and their pairs: the largest element, and the logarithm of the sum.
struct Sums<'r, T> {
    scores: &'r [T],
    classes: usize,
    /// Room for the pairs of all groups.
    groups: [&'r mut [T]; 2],
    to: &'r mut [Complex<T>],
}

impl<T: Real + Elementary> Sums<'_, T> {
    /// The pairs of all groups, of some at once.
    #[inline(always)]
    fn groups(&mut self) {
        let mut parts = self.scores.chunks_exact(self.classes).flat_map(|row| row.chunks(GROUP));
        let [all_most, all_sums] = &mut self.groups;
        for (to_most, to_sums) in all_most.chunks_mut(LANES).zip(all_sums.chunks_mut(LANES)) {
            let (mut most, mut sums) = ([[T::LOWEST; LANES]; LANES], [[T::default(); LANES]; LANES]);
            for (lane, x) in (0..to_most.len()).zip(&mut parts) {
                let (own_most, own_sums) = group(x);
                for (to, own) in most.iter_mut().zip(&own_most).chain(sums.iter_mut().zip(&own_sums)) {
                    to.iter_mut().skip(lane).take(1).for_each(|to| *to = *own);
                }
            }
            let mut half = LANES / 2;
            while half > 0 {
                let ((most, other), (sums, others)) = (most.split_at_mut(half), sums.split_at_mut(half));
                for ((most, sums), (x, of_x)) in most.iter_mut().zip(sums).zip(other.iter().zip(others.iter())) {
                    for ((most, sum), (x, of_x)) in most.iter_mut().zip(sums).zip(x.iter().zip(of_x)) {
                        (*most, *sum) = joined((*most, *sum), (*x, *of_x));
                    }
                }
                half /= 2;
            }
            let ([most, ..], [sums, ..]) = (&most, &sums);
            to_most.iter_mut().zip(most).for_each(|(to, most)| *to = *most);
            to_sums.iter_mut().zip(sums).for_each(|(to, sum)| *to = *sum);
        }
    }
}

/// Joins the pairs of a row's groups, level by level, in place.
#[inline(always)]
fn level<T: Real + Elementary>(most: &mut [T], sums: &mut [T]) -> Option<Pair<T>> {
    let mut len = most.len();
    while len > 1 {
        for (first, to) in (0..len).step_by(GROUP).zip(0..) {
            let count = GROUP.min(len - first);
            let chains = (CHAINS..count).map(|k| (k % CHAINS, k));
            let halves = [32, 16, 8, 4, 2, 1].into_iter();
            let halves = halves.flat_map(|half| (half..count.min(2 * half)).map(move |k| (k - half, k)));
            for (to, from) in chains.chain(halves) {
                let own = (*most.get(first + to)?, *sums.get(first + to)?);
                let made = joined(own, (*most.get(first + from)?, *sums.get(first + from)?));
                (*most.get_mut(first + to)?, *sums.get_mut(first + to)?) = made;
            }
            (*most.get_mut(to)?, *sums.get_mut(to)?) = (*most.get(first)?, *sums.get(first)?);
        }
        len = len.div_ceil(GROUP);
    }
    Some((*most.first()?, *sums.first()?))
}

impl<T: Real + Elementary> isa::Loop for Sums<'_, T> {
    type Output = ();

    #[inline(always)]
    fn body(mut self) {
        self.groups();
        let (each, [most, sums]) = (self.classes.div_ceil(GROUP), self.groups);
        for (to, (most, sums)) in self.to.iter_mut().zip(most.chunks_mut(each).zip(sums.chunks_mut(each))) {
            let Some((most, sum)) = level(most, sums) else { continue };
            // The distance of an infinite element from itself is no number.
            #[expect(clippy::eq_op, reason = "of an infinity this is NaN")]
            let sum = if most == T::of(f64::INFINITY) { most - most } else { sum };
            *to = Complex::new(most, T::narrow(sum.logarithm()));
        }
    }
}

/// A row, and its gradients.
struct Gradients<'r, T> {
    scores: &'r [T],
    pair: Complex<T>,
    factor: T,
    label: i64,
    to: &'r mut [T],
}

impl<T: Real + Elementary> isa::Loop for Gradients<'_, T> {
    type Output = ();

    #[inline(always)]
    fn body(self) {
        let slope = |x: T| (x - self.pair.re - self.pair.im).exponential();
        let last = self.to.len().saturating_sub(CHUNK);
        // The last chunk may make some elements again.
        for at in (0..self.to.len()).step_by(CHUNK).map(|at| at.min(last)) {
            let x = self.scores.get(at..).and_then(<[T]>::first_chunk::<CHUNK>);
            let to = self.to.get_mut(at..).and_then(<[T]>::first_chunk_mut::<CHUNK>);
            let (Some(x), Some(to)) = (x, to) else { continue };
            to.iter_mut().zip(x).for_each(|(to, x)| *to = T::narrow(slope(*x) * self.factor));
        }
        let label = usize::try_from(self.label).unwrap_or(usize::MAX);
        if let (Some(to), Some(x)) = (self.to.get_mut(label), self.scores.get(label)) {
            *to = T::narrow((slope(*x) - T::ONE) * self.factor);
        }
    }
}

fn written<'w, W: Element>(operands: Checked<'_, 'w>) -> Result<&'w mut [W]> {
    operands.writes.into_iter().next().and_then(|slice| slice.downcast()).ok_or_else(missing)
}

pub(super) fn run<T: Real + Elementary>(
    [rows, classes]: [usize; 2],
    offset: usize,
    gradients: bool,
    operands: Checked<'_, '_>,
) -> Result<()>
where
    Complex<T>: Element,
{
    let scores = operands.elements::<T>(0)?.get(offset..).and_then(|x| x.get(..rows * classes)).ok_or_else(missing)?;
    if gradients {
        let (labels, pairs) = (operands.elements::<i64>(1)?, operands.elements::<Complex<T>>(2)?);
        let factors = operands.elements::<T>(3)?;
        each_part(written(operands)?, Parts::with_size(classes).least(LEAST.div_ceil(classes)), &|row, to| {
            let of_row = (labels.get(row), pairs.get(row), factors.get(row));
            let scores = scores.get(row * classes..(row + 1) * classes).unwrap_or_default();
            if let (Some(label), Some(pair), Some(factor)) = of_row {
                isa::run(Gradients { scores, pair: *pair, factor: *factor, label: *label, to });
            }
        });
        return Ok(());
    }
    let each = classes.div_ceil(GROUP);
    let some = (4 * LANES).div_ceil(each);
    let parts = Parts::with_size(some).least(LEAST.div_ceil(some * classes));
    try_each_part(written(operands)?, parts, &|part, to| {
        let (count, first) = (to.len(), part * some * classes);
        lent(2 * count * each, |memory| {
            let (most, sums) = memory.split_at_mut(count * each);
            let scores = scores.get(first..first + count * classes).unwrap_or_default();
            isa::run(Sums { scores, classes, groups: [most, sums], to });
            Ok(())
        })
    })
}
