//! The model of a layout for tests: extents, and a list of the offsets of all elements, the last axis fastest.

use super::{AxisSlice, Layout};

/// What a layout says, spelled out.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Model {
    pub(super) extents: Vec<usize>,
    pub(super) offsets: Vec<usize>,
}

impl Model {
    pub(super) fn from_layout(layout: &Layout) -> Self {
        Model { extents: layout.shape().to_vec(), offsets: layout.offsets().collect() }
    }

    /// A tensor of these extents, whose elements are at the offsets that `old` has at the indices that `from` gives.
    fn made(&self, extents: Vec<usize>, from: impl Fn(&[usize]) -> Vec<usize>) -> Self {
        let offsets = indices(&extents).iter().map(|index| self.at(&from(index))).collect();
        Model { extents, offsets }
    }

    fn at(&self, index: &[usize]) -> usize {
        assert_eq!(index.len(), self.extents.len());
        let place = index.iter().zip(&self.extents).fold(0, |place, (i, n)| {
            assert!(i < n, "{index:?} in {:?}", self.extents);
            place * n + i
        });
        self.offsets[place]
    }
}

/// All indices, the last axis fastest.
fn indices(extents: &[usize]) -> Vec<Vec<usize>> {
    let mut all = vec![vec![]];
    for n in extents {
        all = all.iter().flat_map(|index| (0..*n).map(|i| [&index[..], &[i]].concat())).collect();
    }
    all
}

/// Random numbers, the same for a seed everywhere (splitmix64).
pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % n as u64) as usize
    }

    pub(super) fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    /// As the caller may write it: from the front, or from the end.
    fn signed(&mut self, axis: usize, rank: usize) -> isize {
        if self.one_in(2) { axis as isize } else { axis as isize - rank as isize }
    }
}

/// A random view, by both ways. Fails if one way accepts what the other refuses.
pub(super) fn step(random: &mut Random, layout: &Layout, model: &Model) -> (Layout, Model) {
    let (rank, extents) = (layout.rank(), model.extents.clone());
    let choice = random.below(11);
    if rank == 0 && !matches!(choice, 3..=5) {
        return (layout.clone(), model.clone());
    }
    let axis = random.below(rank.max(1));
    let named = random.signed(axis, rank);
    match choice {
        0 => {
            let mut order: Vec<usize> = (0..rank).collect();
            (1..rank).for_each(|i| order.swap(i, random.below(i + 1)));
            let names: Vec<isize> = order.iter().map(|axis| random.signed(*axis, rank)).collect();
            let new = order.iter().map(|axis| extents[*axis]).collect();
            let model = model.made(new, |index| {
                let mut old = vec![0; rank];
                order.iter().zip(index).for_each(|(axis, i)| old[*axis] = *i);
                old
            });
            (layout.permute(names).unwrap(), model)
        }
        1 => {
            let new = extents.iter().rev().copied().collect();
            (layout.transpose(), model.made(new, |index| index.iter().rev().copied().collect()))
        }
        2 => {
            // Ranges with steps, indices and new axes; `Rest` somewhere for the axes that are left.
            let taken = random.below(rank + 1);
            let at_end = random.one_in(2);
            let first = if at_end { rank - taken } else { 0 };
            let mut slices = vec![];
            let mut maps: Vec<Option<Vec<usize>>> = (0..rank).map(|axis| Some((0..extents[axis]).collect())).collect();
            let mut new: Vec<Option<usize>> = vec![]; // the old axis, or a new one
            let place = |slices: &mut Vec<AxisSlice>, new: &mut Vec<Option<usize>>, random: &mut Random| {
                if random.one_in(6) {
                    slices.push(AxisSlice::New);
                    new.push(None);
                }
            };
            if at_end {
                slices.push(AxisSlice::Rest);
                new.extend((0..first).map(Some));
            }
            for axis in first..first + taken {
                place(&mut slices, &mut new, random);
                let n = extents[axis];
                if n > 0 && random.one_in(4) {
                    let i = random.below(n);
                    slices.push(AxisSlice::Index(random.signed(i, n)));
                    maps[axis] = Some(vec![i]);
                    continue;
                }
                let (a, b) = (random.below(n + 1), random.below(n + 1));
                let (from, to) = (a.min(b), a.max(b));
                let step = [1, 1, 2, 3, -1, -2, -5][random.below(7)];
                let start = if from < n { random.signed(from, n) } else { from as isize };
                let end = match to {
                    to if to == n && random.one_in(2) => None,
                    to if to < n => Some(random.signed(to, n)),
                    to => Some(to as isize),
                };
                slices.push(AxisSlice::Range { start, end, step });
                let range: Vec<usize> = (from..to).collect();
                maps[axis] = Some(match step {
                    1.. => range.into_iter().step_by(step as usize).collect(),
                    _ => range.into_iter().rev().step_by(step.unsigned_abs()).collect(),
                });
                new.push(Some(axis));
            }
            if !at_end {
                new.extend((taken..rank).map(Some));
            }
            let maps: Vec<Vec<usize>> = maps.into_iter().flatten().collect();
            let of = |axis: &Option<usize>| axis.map_or(1, |axis| maps[axis].len());
            let new_extents: Vec<usize> = new.iter().map(of).collect();
            let model = model.made(new_extents, |index| {
                let mut old: Vec<usize> = maps.iter().map(|map| map.first().copied().unwrap_or(0)).collect();
                for (axis, i) in new.iter().zip(index) {
                    if let Some(axis) = axis {
                        old[*axis] = maps[*axis][*i];
                    }
                }
                old
            });
            (layout.slice(slices).unwrap(), model)
        }
        3 => {
            let mut new = extents.clone();
            for n in &mut new {
                if *n == 1 && random.one_in(2) {
                    *n = random.below(4);
                }
            }
            if rank < 5 && random.one_in(2) {
                new.insert(0, 1 + random.below(3));
            }
            let front = new.len() - rank;
            let broadcast = model.made(new.clone(), |index| {
                index[front..].iter().zip(&extents).map(|(i, n)| if *n == 1 { 0 } else { *i }).collect()
            });
            (layout.broadcast(new).unwrap(), broadcast)
        }
        4 => {
            let at = random.below(rank + 1);
            let mut new = extents.clone();
            new.insert(at, 1);
            let offsets = model.offsets.clone();
            (layout.unsqueeze(random.signed(at, rank + 1)).unwrap(), Model { extents: new, offsets })
        }
        5 => {
            let new = extents.iter().copied().filter(|n| *n != 1).collect();
            (layout.squeeze(), Model { extents: new, offsets: model.offsets.clone() })
        }
        6 if rank >= 2 => {
            let other = (axis + 1 + random.below(rank - 1)) % rank;
            let (down, right) = (extents[axis], extents[other]);
            let above = random.below(down + right + 1) as isize - down as isize;
            let (i0, j0) = ((-above).max(0) as usize, above.max(0) as usize);
            let len = (down - i0).min(right - j0);
            let kept: Vec<usize> = (0..rank).filter(|a| *a != axis && *a != other).collect();
            let new = kept.iter().map(|a| extents[*a]).chain([len]).collect();
            let model = model.made(new, |index| {
                let mut old = vec![0; rank];
                kept.iter().zip(index).for_each(|(a, i)| old[*a] = *i);
                (old[axis], old[other]) = (i0 + index[index.len() - 1], j0 + index[index.len() - 1]);
                old
            });
            (layout.diagonal(above, named, random.signed(other, rank)).unwrap(), model)
        }
        7 if extents[axis] > 0 && layout.len() < 2000 => {
            let (size, every) = (1 + random.below(extents[axis]), 1 + random.below(3));
            let mut new = extents.clone();
            new[axis] = (extents[axis] - size) / every + 1;
            new.push(size);
            let model = model.made(new, |index| {
                let mut old = index[..rank].to_vec();
                old[axis] = old[axis] * every + index[rank];
                old
            });
            (layout.windows(named, size, every).unwrap(), model)
        }
        8 => {
            let mid = random.below(extents[axis] + 1);
            let (front, back) = layout.split(named, mid).unwrap();
            let part = |from: usize, len: usize| {
                let mut new = extents.clone();
                new[axis] = len;
                model.made(new, |index| {
                    let mut old = index.to_vec();
                    old[axis] += from;
                    old
                })
            };
            let (head, tail) = (part(0, mid), part(mid, extents[axis] - mid));
            if random.one_in(2) {
                assert_eq!(Model::from_layout(&back), tail);
                (front, head)
            } else {
                assert_eq!(Model::from_layout(&front), head);
                (back, tail)
            }
        }
        9 => {
            // Any reshape that is accepted keeps the order; merges and splits that the strides allow are accepted.
            let len = layout.len();
            let mut new = vec![];
            let mut left = len.max(1);
            while left > 1 {
                let factors: Vec<usize> = (2..=left).filter(|f| left.is_multiple_of(*f)).collect();
                new.push(factors[random.below(factors.len())]);
                left /= new[new.len() - 1];
                if random.one_in(4) {
                    new.push(1);
                }
            }
            if len == 0 {
                new.push(0);
            }
            match layout.reshape(&new) {
                Ok(reshaped) => (reshaped, Model { extents: new, offsets: model.offsets.clone() }),
                Err(error) => {
                    assert!(error.to_string().contains("contiguous"), "{error}");
                    assert!(!could_be_reshaped(&model.offsets, &new), "{layout:?} to {new:?}");
                    (layout.clone(), model.clone())
                }
            }
        }
        _ => {
            let model = model.made(extents.clone(), |index| {
                let mut old = index.to_vec();
                old[axis] = extents[axis] - 1 - old[axis];
                old
            });
            (layout.flip(named).unwrap(), model)
        }
    }
}

/// Whether elements at these offsets in order have strides for these extents.
fn could_be_reshaped(offsets: &[usize], extents: &[usize]) -> bool {
    let Some(first) = offsets.first() else { return true };
    let mut inner = offsets.len();
    let mut strides = vec![];
    for n in extents {
        inner /= n;
        strides.push(if *n > 1 { offsets[inner] as isize - *first as isize } else { 0 });
    }
    let at = |index: &Vec<usize>| index.iter().zip(&strides).map(|(i, s)| *i as isize * s).sum::<isize>();
    indices(extents).iter().map(|index| *first as isize + at(index)).eq(offsets.iter().map(|o| *o as isize))
}
