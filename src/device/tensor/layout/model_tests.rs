//! Layouts against a model: the extents, and a list of the offsets of all elements, the last axis fastest. Each view is
//! made of both, by arithmetic on strides and by enumeration of indices.

use super::{AxisSlice, Layout, fused};

/// What a layout says, spelled out.
#[derive(Clone, Debug, PartialEq)]
struct Model {
    extents: Vec<usize>,
    offsets: Vec<usize>,
}

impl Model {
    fn of(layout: &Layout) -> Self {
        Model { extents: layout.extents().to_vec(), offsets: layout.offsets().collect() }
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
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % n as u64) as usize
    }

    fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    /// As the caller may write it: from the front, or from the end.
    fn signed(&mut self, axis: usize, rank: usize) -> isize {
        if self.one_in(2) { axis as isize } else { axis as isize - rank as isize }
    }
}

/// A random view, by both ways. Fails if one way accepts what the other refuses.
fn step(random: &mut Random, layout: &Layout, model: &Model) -> (Layout, Model) {
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
                assert_eq!(Model::of(&back), tail);
                (front, head)
            } else {
                assert_eq!(Model::of(&front), head);
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

fn check(layout: &Layout, model: &Model) {
    assert_eq!(&Model::of(layout), model, "{layout:?}");
    let offsets = &model.offsets;
    assert_eq!(layout.len(), offsets.len());
    assert_eq!(layout.reach(), offsets.iter().min().copied().zip(offsets.iter().max().copied()), "{layout:?}");
    let (mut sorted, len) = (offsets.clone(), offsets.len());
    sorted.sort_unstable();
    sorted.dedup();
    if layout.is_distinct() {
        assert_eq!(sorted.len(), len, "{layout:?} is said to be distinct");
    }
    let dense: Vec<usize> = (offsets.first().copied().unwrap_or(0)..).take(len).collect();
    assert_eq!(layout.is_row_major(), *offsets == dense, "{layout:?}");
    let turned: Vec<usize> = layout.transpose().offsets().collect();
    assert_eq!(layout.is_column_major(), turned == dense, "{layout:?}");
    // What goes through a file is the same, or refused.
    let bytes = postcard::to_stdvec(layout).unwrap();
    assert_eq!(&postcard::from_bytes::<Layout>(&bytes).unwrap(), layout);
}

/// Two layouts of the same extents, fused: the same pairs of offsets.
fn check_fused(one: &Layout, other: &Layout) {
    let pairs = |a: &Layout, b: &Layout| {
        let mut pairs: Vec<_> = a.offsets().zip(b.offsets()).collect();
        pairs.sort_unstable();
        pairs
    };
    let both = fused(&[one, other]);
    let [a, b] = &both[..] else { panic!("two operands") };
    assert_eq!(a.extents(), b.extents());
    assert_eq!(pairs(a, b), pairs(one, other), "{one:?} and {other:?} became {a:?} and {b:?}");
    assert!(a.is_empty() || a.extents().iter().all(|n| *n > 1) && a.strides().iter().all(|s| *s >= 0), "{a:?}");
    assert!(a.rank() <= one.rank().max(1));
    // A fused layout passes what admits one.
    for fused in [a, b] {
        assert_eq!(&Layout::new(fused.extents(), fused.strides(), fused.offset()).unwrap(), fused);
    }
}

#[test]
fn random_views_are_what_the_enumeration_of_their_indices_says() {
    let seed = std::env::var("WINDLASS_TEST_SEED").ok().and_then(|s| s.parse().ok()).unwrap_or(20_26u64);
    println!("WINDLASS_TEST_SEED={seed}");
    for round in 0..6000 {
        let mut random = Random(seed.wrapping_mul(0x1_0000_0001).wrapping_add(round));
        let extents: Vec<usize> = (0..random.below(5)).map(|_| [0, 1, 1, 2, 3, 4, 5, 6][random.below(8)]).collect();
        let mut layout =
            if random.one_in(3) { Layout::column_major(&extents) } else { Layout::row_major(&extents) }.unwrap();
        let mut model = Model::of(&layout);
        for _ in 0..1 + random.below(6) {
            if layout.len() > 3000 || layout.rank() > 7 {
                break;
            }
            (layout, model) = step(&mut random, &layout, &model);
            check(&layout, &model);
            let dense = Layout::row_major(layout.extents()).unwrap();
            check_fused(&dense, &layout);
            check_fused(&layout, &dense);
        }
    }
}

#[test]
fn dense_layouts_in_one_order_become_one_axis() {
    let columns = Layout::column_major([3, 4, 5]).unwrap();
    for layout in [Layout::row_major([3, 4, 5]).unwrap(), columns.clone(), columns.flip(0).unwrap().flip(2).unwrap()] {
        let both = fused(&[&layout, &layout]);
        // Axes that are flipped in both are flipped back.
        assert!(both.iter().all(|l| l.extents() == [60] && l.strides() == [1] && l.offset() == 0), "{both:?}");
    }
    let scalar = Layout::row_major([1, 1]).unwrap();
    assert_eq!(fused(&[&scalar])[0].rank(), 0);
}

#[test]
fn a_rank_of_64_is_the_largest() {
    let layout = Layout::row_major([1; 64]).unwrap();
    assert_eq!((layout.len(), layout.reach()), (1, Some((0, 0))));
    for refused in [
        Layout::row_major([1; 65]),
        Layout::new([1; 65], [1; 65], 0),
        layout.unsqueeze(0),
        layout.broadcast([1; 65]),
        layout.windows(0, 1, 1),
        layout.slice(vec![AxisSlice::New]),
        layout.reshape([1; 65]),
    ] {
        assert!(refused.unwrap_err().to_string().contains("65 axes"));
    }
}

#[test]
fn what_overflows_or_leaves_the_buffer_is_refused_with_its_argument() {
    let half = 1usize << 32;
    let refused = |layout: crate::core::error::Result<Layout>, argument: &str| match layout.unwrap_err() {
        crate::core::error::Error::InvalidArgument { argument: named, .. } => assert_eq!(named, argument),
        other => panic!("{other}"),
    };
    refused(Layout::row_major([half, half]), "extents");
    // As in NumPy, also if there are no elements.
    refused(Layout::row_major([half, half, 0]), "extents");
    refused(Layout::column_major([0, half, half]), "extents");
    refused(Layout::row_major([usize::MAX]), "extents");
    refused(Layout::new([half, half], [0, 0], 0), "extents");
    refused(Layout::new([2], [1, 1], 0), "strides");
    refused(Layout::new([2], [-1], 0), "strides");
    refused(Layout::new([3], [isize::MAX], 0), "strides");
    refused(Layout::new([2; 64], [isize::MIN; 64], 0), "extents");
    refused(Layout::new([2; 60], [isize::MIN; 60], 0), "strides");
    refused(Layout::new([], [], usize::MAX), "strides");
    assert!(Layout::new([1], [isize::MIN], 0).unwrap().flip(0).is_ok());
    let wide = Layout::row_major([half]).unwrap();
    refused(wide.broadcast([half, half]), "extents");
    refused(Layout::row_major([2 * half]).unwrap().windows(0, half, 1), "extents");
    let x = Layout::row_major([4, 5]).unwrap();
    refused(x.slice((0, 0, 0)), "slices");
    refused(x.slice((AxisSlice::Rest, AxisSlice::Rest)), "slices");
    refused(x.slice(4), "slices");
    refused(x.slice(-5), "slices");
    refused(x.slice((.., 2..6)), "slices");
    refused(x.slice(AxisSlice::Range { start: 3, end: Some(2), step: 1 }), "slices");
    refused(x.slice(AxisSlice::from(..).step(0)), "slices");
    refused(x.slice(usize::MAX..), "slices");
    refused(x.permute([0]), "axes");
    refused(x.permute([0, 0]), "axes");
    refused(x.permute([0, 2]), "axes");
    refused(x.permute([0, 1, -1]), "axes");
    refused(x.swap_axes(0, 2), "other");
    refused(x.squeeze_axis(0), "axis");
    refused(x.squeeze_axis(7), "axis");
    refused(x.unsqueeze(3), "axis");
    refused(x.diagonal(6, 0, 1), "above");
    refused(x.diagonal(isize::MIN, 0, 1), "above");
    refused(x.diagonal(0, 1, -1), "other");
    refused(x.split(0, 5).map(|parts| parts.0), "mid");
    refused(x.windows(0, 5, 1), "size");
    refused(x.windows(0, 0, 1), "size");
    refused(x.windows(0, 1, 0), "size");
    refused(x.broadcast([4]), "extents");
    refused(x.broadcast([4, 4]), "extents");
    refused(x.reshape([3, 7]), "extents");
    refused(x.transpose().reshape([20]), "extents");
    let plain = postcard::to_stdvec(&(vec![2usize], vec![-1isize], 0usize)).unwrap();
    assert!(postcard::from_bytes::<Layout>(&plain).is_err(), "admitted like any other");
}

#[test]
fn ranges_and_numbers_of_every_type_are_slices() {
    let x = Layout::row_major([10]).unwrap();
    let taken = |slice: AxisSlice| x.slice(slice).unwrap().offsets().collect::<Vec<_>>();
    assert_eq!(taken((2..4).into()), [2, 3]);
    assert_eq!(taken((-2..).into()), [8, 9]);
    assert_eq!(taken((..=-1).into()).len(), 10);
    assert_eq!(taken((..=2usize).into()), [0, 1, 2]);
    assert_eq!(taken((7i64..=8).into()), [7, 8]);
    assert_eq!(taken(AxisSlice::from(2..7).step(-2)), [6, 4, 2]);
    assert_eq!(taken(AxisSlice::from(..).step(4)), [0, 4, 8]);
    assert_eq!(taken(AxisSlice::from(..).step(isize::MIN)), [9]);
    assert_eq!(taken((-1isize).into()), [9]);
}

#[test]
fn a_layout_that_meets_itself_is_not_distinct() {
    let x = Layout::row_major([3, 4]).unwrap();
    assert!(x.is_distinct() && x.transpose().is_distinct() && x.flip(1).unwrap().is_distinct());
    assert!(!x.unsqueeze(0).unwrap().broadcast([2, 3, 4]).unwrap().is_distinct());
    assert!(!x.windows(1, 2, 1).unwrap().is_distinct());
    assert!(x.windows(1, 2, 2).unwrap().is_distinct());
    assert!(Layout::row_major([0, 3]).unwrap().broadcast([5, 0, 3]).unwrap().is_distinct(), "nothing meets nothing");
}
