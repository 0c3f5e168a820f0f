//! The index of the first element with the largest or smallest magnitude.

use super::super::simd::{Kernel, run};
use super::PIECE;
use super::field::Field;
use super::reduce::{LEAF, tree};
use super::view::View;

/// Lanes of a search.
const LANES: usize = 16;

/// The largest or smallest `|re| + |im|` of contiguous elements. NaNs are skipped; `None` if nothing else is there.
fn extreme<T: Field, const LARGEST: bool>(x: &[T]) -> Option<T::Part> {
    struct Extreme<'a, T, const LARGEST: bool>(&'a [T]);
    impl<T: Field, const LARGEST: bool> Kernel for Extreme<'_, T, LARGEST> {
        type Output = Option<T::Part>;

        #[inline(always)]
        #[expect(clippy::indexing_slicing, reason = "l < LANES, the length of both")]
        fn body(self) -> Option<T::Part> {
            let (chunks, tail) = self.0.as_chunks::<LANES>();
            let worst = if LARGEST { -<T::Part as Field>::IDENTITY } else { T::Part::infinity() };
            let mut lanes = [worst; LANES];
            for chunk in chunks {
                for l in 0..LANES {
                    lanes[l] = better::<_, LARGEST>(lanes[l], chunk[l].size());
                }
            }
            let best = lanes.iter().fold(worst, |best, x| better::<_, LARGEST>(best, *x));
            let best = tail.iter().fold(best, |best, x| better::<_, LARGEST>(best, x.size()));
            // In a search for the smallest, the start value is infinity, which may also be the true result.
            let found = best != worst || self.0.iter().any(|x| x.size() == best);
            found.then_some(best)
        }
    }
    run(Extreme::<T, LARGEST>(x))
}

#[inline(always)]
fn better<R: PartialOrd, const LARGEST: bool>(best: R, x: R) -> R {
    if if LARGEST { x > best } else { x < best } { x } else { best }
}

/// The index, counted from 1, of the first element with the largest or smallest `|re| + |im|`. 0 if there are no
/// elements, 1 if all are NaN.
pub(crate) fn find_extreme<T: Field>(n: usize, x: &[T], incx: isize, largest: bool) -> usize {
    if largest { find::<T, true>(n, x, incx) } else { find::<T, false>(n, x, incx) }
}

fn find<T: Field, const LARGEST: bool>(n: usize, x: &[T], incx: isize) -> usize {
    let Some(view) = (incx != 0).then(|| View::new(n, incx, x.len())).flatten() else {
        return 0;
    };
    // The extreme of the elements `from..to`, with the range of the piece that contains it; of equal values, the first.
    let stretch = |from: usize, to: usize| {
        let mut found: Option<(T::Part, usize, usize)> = None;
        let mut look = |x: &[T], from: usize, to: usize| {
            if let Some(best) = extreme::<T, LARGEST>(x)
                && found.is_none_or(|(old, ..)| if LARGEST { best > old } else { best < old })
            {
                found = Some((best, from, to));
            }
        };
        if let Some(x) = view.contiguous(x, from, to) {
            look(x, from, to);
        } else {
            let mut piece = [T::default(); PIECE];
            for from in (from..to).step_by(PIECE) {
                let to = to.min(from + PIECE);
                if let Some(piece) = piece.get_mut(..to - from) {
                    view.gather(x, from, piece);
                    look(piece, from, to);
                }
            }
        }
        found
    };
    let first = |left: Option<(T::Part, usize, usize)>, right: Option<(T::Part, usize, usize)>| match (left, right) {
        (Some(l), Some(r)) => Some(if if LARGEST { r.0 > l.0 } else { r.0 < l.0 } { r } else { l }),
        (left, right) => left.or(right),
    };
    const { assert!(LEAF >= PIECE) };
    let Some((best, from, to)) = tree(0, n, &stretch, &first) else {
        return 1;
    };
    let at = (from..to).find(|i| x.get(view.at(*i)).is_some_and(|x| x.size() == best));
    at.map_or(1, |at| at + 1)
}
