//! The normal form of a contraction of two operands, as plain data: which modes are batch, rows, columns and inner ones, and
//! whether strides allow one product of matrices.

use super::modes::Modes;
use crate::core::element::DType;
use crate::core::error::Result;
use crate::device::tensor::Layout;
use crate::libraries::blas::is_turned;

/// A value: its modes, and where its elements lie along each of them. No mode is there twice, and none has the extent 1.
#[derive(Clone, Debug)]
pub(super) struct Slot {
    /// That of the operands; of a sum of halves inside a step the wider one.
    pub(super) dtype: DType,
    pub(super) modes: Vec<usize>,
    pub(super) layout: Layout,
    /// Whether the conjugates of its elements are meant.
    pub(super) conjugate: bool,
}

impl Slot {
    /// A new value of these modes, the last one fastest.
    pub(super) fn row_major(dtype: DType, modes: Vec<usize>, extents: &[usize]) -> Result<Self> {
        let own: Vec<usize> = modes.iter().map(|mode| extents.get(*mode).copied().unwrap_or(1)).collect();
        Ok(Slot { dtype, layout: Layout::row_major(own)?, modes, conjugate: false })
    }

    pub(super) fn set(&self) -> Modes {
        self.modes.iter().copied().collect()
    }

    fn axis(&self, mode: usize) -> Option<(usize, isize)> {
        let place = self.modes.iter().position(|other| *other == mode)?;
        Some((*self.layout.shape().get(place)?, *self.layout.strides().get(place)?))
    }

    /// The modes of a set that it has, in the order of its memory: the fastest last.
    pub(super) fn in_memory_order(&self, of: impl Fn(usize) -> bool) -> Vec<usize> {
        let mut modes: Vec<(usize, usize, usize)> = (0..)
            .zip(self.modes.iter().zip(self.layout.strides()))
            .filter(|(_, (mode, _))| of(**mode))
            .map(|(place, (mode, stride))| (usize::MAX - stride.unsigned_abs(), place, *mode))
            .collect();
        modes.sort_unstable();
        modes.into_iter().map(|(_, _, mode)| mode).collect()
    }

    /// Its elements along these modes in this order; along a mode that it does not have there is one.
    pub(super) fn along(&self, modes: &[usize]) -> Result<Layout> {
        let axes: Vec<(usize, isize)> = modes.iter().map(|mode| self.axis(*mode).unwrap_or((1, 0))).collect();
        let (extents, strides): (Vec<usize>, Vec<isize>) = axes.into_iter().unzip();
        Layout::new(extents, strides, self.layout.offset())
    }

    /// Modes that lie in each other as one: its extent and stride.
    fn fused(&self, modes: &[usize]) -> Option<(usize, isize)> {
        let mut all = (1usize, 0isize);
        for mode in modes.iter().rev() {
            let (n, stride) = self.axis(*mode)?;
            all = match all {
                (1, _) => (n, stride),
                (inner, step) if step.checked_mul(isize::try_from(inner).ok()?) == Some(stride) => {
                    (inner.checked_mul(n)?, step)
                }
                _ => return None,
            };
        }
        Some(all)
    }

    /// The value as matrices whose rows or columns are contiguous, at even distances: two axes, or three with a batch. `None` if
    /// strides do not allow it.
    pub(super) fn matrices(&self, batch: &[usize], rows: &[usize], columns: &[usize]) -> Option<Layout> {
        let (count, step) = self.fused(batch)?;
        let ((rows, down), (columns, right)) = (self.fused(rows)?, self.fused(columns)?);
        // A line of one element has any stride, and so has a single line.
        let lines = |line: usize, inner: isize, lines: usize, outer: isize| {
            (inner == 1 || line <= 1) && (lines <= 1 || usize::try_from(outer).is_ok_and(|outer| outer >= line.max(1)))
        };
        let fits = step >= 0 && (lines(columns, right, rows, down) || lines(rows, down, columns, right));
        let offset = self.layout.offset();
        let made = match batch.is_empty() {
            true => Layout::new([rows, columns], [down, right], offset),
            false => Layout::new([count, rows, columns], [step, down, right], offset),
        };
        made.ok().filter(|_| fits)
    }

    /// As [`matrices`](Self::matrices), which can be written: each ends before the next one begins.
    pub(super) fn written_matrices(&self, batch: &[usize], rows: &[usize], columns: &[usize]) -> Option<Layout> {
        let all = self.matrices(batch, rows, columns)?;
        let ([.., rows, columns], [steps @ .., down, right]) = (all.shape(), all.strides()) else { return None };
        let last = (rows.saturating_sub(1)).saturating_mul(down.unsigned_abs());
        let last = last.saturating_add((columns.saturating_sub(1)).saturating_mul(right.unsigned_abs()));
        let apart = steps.first().is_none_or(|step| step.unsigned_abs() > last);
        apart.then_some(all)
    }
}

/// The modes of a product of matrices, each list from the slowest to the fastest: A is `batch, m, k`, B is `batch, k, n`, C is
/// `batch, m, n`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Pair {
    pub(super) batch: Vec<usize>,
    pub(super) m: Vec<usize>,
    pub(super) n: Vec<usize>,
    pub(super) k: Vec<usize>,
}

/// Where a product leaves its result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// Where it is wanted.
    Direct,
    /// In memory of its own, `batch, m, n`, from where it is copied.
    Apart,
}

/// A product, which of its operands are copied first, and where the result goes.
#[derive(Debug)]
pub(super) struct Choice {
    pub(super) pair: Pair,
    pub(super) copies: [bool; 2],
    pub(super) place: Place,
}

impl Pair {
    /// The roles of the modes of two operands of which no mode stands alone; `is_kept` of a mode says whether it is in the result.
    pub(super) fn new(a: &Slot, b: &Slot, is_kept: impl Fn(usize) -> bool) -> Self {
        let (of_a, of_b) = (a.set(), b.set());
        let pick = |from: &Slot, wanted: &dyn Fn(usize) -> bool| -> Vec<usize> {
            from.modes.iter().copied().filter(|mode| wanted(*mode)).collect()
        };
        Pair {
            batch: pick(a, &|mode| of_b.contains(mode) && is_kept(mode)),
            m: pick(a, &|mode| !of_b.contains(mode)),
            n: pick(b, &|mode| !of_a.contains(mode)),
            k: pick(a, &|mode| of_b.contains(mode) && !is_kept(mode)),
        }
    }

    /// Both operands as matrices, if strides allow it.
    pub(super) fn operands(&self, a: &Slot, b: &Slot) -> Option<[Layout; 2]> {
        Some([a.matrices(&self.batch, &self.m, &self.k)?, b.matrices(&self.batch, &self.k, &self.n)?])
    }

    /// The orders of modes, among those of the operands and of what is wanted, with which the fewest elements are copied.
    pub(super) fn arrange(self, a: &Slot, b: &Slot, wanted: Option<&Slot>) -> Choice {
        let all = |slot: &Slot, modes: &[usize]| slot.in_memory_order(|mode| modes.contains(&mode));
        let orders = |modes: &[usize], slots: [Option<&Slot>; 3]| {
            let mut orders: Vec<Vec<usize>> = Vec::with_capacity(3);
            for order in slots.into_iter().flatten().map(|slot| all(slot, modes)) {
                if !orders.contains(&order) {
                    orders.push(order);
                }
            }
            orders
        };
        let batches = orders(&self.batch, [wanted, Some(a), Some(b)]);
        let (rows, columns) = (orders(&self.m, [wanted, Some(a), None]), orders(&self.n, [wanted, Some(b), None]));
        let inner = orders(&self.k, [Some(a), Some(b), None]);
        let size = |slot: &Slot| slot.layout.len() as u128;
        let mut best: Option<(u128, Choice)> = None;
        for (batch, m) in batches.iter().flat_map(|batch| rows.iter().map(move |m| (batch, m))) {
            for (n, k) in columns.iter().flat_map(|n| inner.iter().map(move |k| (n, k))) {
                let there = wanted.map(|slot| slot.written_matrices(batch, m, n));
                let place = if matches!(there, Some(None)) { Place::Apart } else { Place::Direct };
                // Where it has memory of its own it is row-major.
                let made = there.flatten().or_else(|| packed(a, b, [batch, m, n]));
                // A product reads the conjugate only of what it reads transposed.
                let copied = |of: &Slot, matrices: Option<Layout>| match (matrices, &made) {
                    (Some(own), Some(made)) => of.conjugate && is_turned(&own, made) != Some(true),
                    (own, _) => own.is_none() || of.conjugate,
                };
                let copies = [copied(a, a.matrices(batch, m, k)), copied(b, b.matrices(batch, k, n))];
                let mut cost = 0;
                cost += if copies[0] { size(a) } else { 0 };
                cost += if copies[1] { size(b) } else { 0 };
                cost += if place == Place::Apart { wanted.map_or(0, size) } else { 0 };
                if best.as_ref().is_none_or(|(least, _)| cost < *least) {
                    let pair = Pair { batch: batch.clone(), m: m.clone(), n: n.clone(), k: k.clone() };
                    best = Some((cost, Choice { pair, copies, place }));
                }
            }
        }
        best.map_or(Choice { pair: self, copies: [true; 2], place: Place::Apart }, |(_, choice)| choice)
    }

    /// The modes of the result where it has memory of its own.
    pub(super) fn result(&self) -> Vec<usize> {
        [&self.batch[..], &self.m, &self.n].concat()
    }
}

/// The matrices of a result of two operands that has memory of its own.
fn packed(a: &Slot, b: &Slot, modes: [&[usize]; 3]) -> Option<Layout> {
    let size = |modes: &[usize]| {
        let extent = |mode: &usize| a.axis(*mode).or_else(|| b.axis(*mode)).map_or(1, |(n, _)| n);
        modes.iter().try_fold(1usize, |all, mode| all.checked_mul(extent(mode)))
    };
    let [batch, m, n] = modes;
    match batch.is_empty() {
        true => Layout::row_major([size(m)?, size(n)?]).ok(),
        false => Layout::row_major([size(batch)?, size(m)?, size(n)?]).ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slot(modes: &[usize], layout: Layout) -> Slot {
        Slot { dtype: DType::F32, modes: modes.to_vec(), layout, conjugate: false }
    }

    fn rows(modes: &[usize], extents: &[usize]) -> Slot {
        slot(modes, Layout::row_major(extents).unwrap())
    }

    fn choice(a: &Slot, b: &Slot, c: &Slot) -> Choice {
        let kept = c.set();
        Pair::new(a, b, |mode| kept.contains(mode)).arrange(a, b, Some(c))
    }

    #[test]
    fn what_is_a_product_of_matrices_copies_nothing() {
        // bij,bjk->bik
        let (a, b, c) = (rows(&[0, 1, 2], &[5, 2, 3]), rows(&[0, 2, 3], &[5, 3, 4]), rows(&[0, 1, 3], &[5, 2, 4]));
        let of = choice(&a, &b, &c);
        assert_eq!((of.copies, of.place), ([false; 2], Place::Direct));
        assert_eq!(of.pair, Pair { batch: vec![0], m: vec![1], n: vec![3], k: vec![2] });
        // abcd,cdef->abef: three pairs of modes that fuse.
        let (a, b) = (rows(&[0, 1, 2, 3], &[2, 3, 4, 5]), rows(&[2, 3, 4, 5], &[4, 5, 6, 7]));
        let of = choice(&a, &b, &rows(&[0, 1, 4, 5], &[2, 3, 6, 7]));
        assert_eq!((of.copies, of.place), ([false; 2], Place::Direct));
        assert_eq!(a.matrices(&of.pair.batch, &of.pair.m, &of.pair.k).unwrap().shape(), [6, 20]);
        // The transposed result, of transposed operands: ji,kj->ki
        let of = choice(&rows(&[1, 0], &[3, 2]), &rows(&[2, 1], &[4, 3]), &rows(&[2, 0], &[4, 2]));
        assert_eq!((of.copies, of.place), ([false; 2], Place::Direct));
    }

    #[test]
    fn the_smaller_copy_is_chosen() {
        // Inner modes in two orders: the smaller operand is brought into the other's.
        let (a, b) = (rows(&[0, 1, 2], &[50, 3, 4]), rows(&[2, 1, 3], &[4, 3, 5]));
        let of = choice(&a, &b, &rows(&[0, 3], &[50, 5]));
        assert_eq!((of.copies, of.place), ([false, true], Place::Direct));
        // A result between whose matrices other ones lie is copied: bhqk,bkhd->bqhd.
        let (a, b) = (rows(&[0, 1, 2, 3], &[2, 3, 4, 5]), rows(&[0, 3, 1, 4], &[2, 5, 3, 6]));
        let of = choice(&a, &b, &rows(&[0, 2, 1, 4], &[2, 4, 3, 6]));
        assert_eq!((of.copies, of.place), ([false, true], Place::Apart));
    }

    #[test]
    fn strides_that_no_product_has_are_seen() {
        let x = rows(&[0, 1], &[4, 6]);
        assert!(x.matrices(&[], &[0], &[1]).is_some() && x.matrices(&[], &[1], &[0]).is_some());
        let of = |strides: [isize; 2], offset| slot(&[0, 1], Layout::new([4, 6], strides, offset).unwrap());
        assert!(of([12, 2], 0).matrices(&[], &[0], &[1]).is_none(), "neither rows nor columns");
        assert!(of([-6, 1], 18).matrices(&[], &[0], &[1]).is_none(), "backwards");
        assert!(of([0, 1], 0).matrices(&[], &[0], &[1]).is_none(), "all rows at one place");
        assert!(of([0, 1], 0).matrices(&[0], &[], &[1]).is_some(), "one matrix for all of a batch");
        assert!(of([0, 1], 0).written_matrices(&[0], &[], &[1]).is_none(), "but not to write");
        assert!(of([3, 1], 0).matrices(&[], &[0], &[1]).is_none(), "rows that overlap");
    }
}
