//! Layouts against a model: the extents, and a list of the offsets of all elements, the last axis fastest. Each view is
//! made of both, by arithmetic on strides and by enumeration of indices.

use super::model::{Model, Random, step};
use super::{AxisSlice, Layout, fused};

fn check(layout: &Layout, model: &Model) {
    assert_eq!(&Model::from_layout(layout), model, "{layout:?}");
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
    assert_eq!(a.shape(), b.shape());
    assert_eq!(pairs(a, b), pairs(one, other), "{one:?} and {other:?} became {a:?} and {b:?}");
    assert!(a.is_empty() || a.shape().iter().all(|n| *n > 1) && a.strides().iter().all(|s| *s >= 0), "{a:?}");
    assert!(a.rank() <= one.rank().max(1));
    // A fused layout passes what admits one.
    for fused in [a, b] {
        assert_eq!(&Layout::new(fused.shape(), fused.strides(), fused.offset()).unwrap(), fused);
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
        let mut model = Model::from_layout(&layout);
        for _ in 0..1 + random.below(6) {
            if layout.len() > 3000 || layout.rank() > 7 {
                break;
            }
            (layout, model) = step(&mut random, &layout, &model);
            check(&layout, &model);
            let dense = Layout::row_major(layout.shape()).unwrap();
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
        assert!(both.iter().all(|l| l.shape() == [60] && l.strides() == [1] && l.offset() == 0), "{both:?}");
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
    refused(x.windows(0, 1, 0), "step");
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
