//! Uploads into parts, downloads of views, and copies between two devices, of any layout, against lists of places.

use crate::common::{Rng, builders, down, refused, seeds};
use windlass::tensor::{AxisSlice, Layout};
use windlass::{Device, Tensor};

/// A view of a row-major tensor of these extents: sliced, flipped, permuted, with gaps and odd offsets.
fn view(rng: &mut Rng, extents: &[usize]) -> Layout {
    let mut layout = Layout::row_major(extents).unwrap();
    for axis in 0..extents.len() {
        let n = layout.shape()[axis];
        let (start, step) = (rng.below(n / 2 + 1), 1 + rng.below(2));
        let mut slices = vec![AxisSlice::from(..); extents.len()];
        slices[axis] = AxisSlice::from(start..n).step(step as isize);
        layout = layout.slice(slices).unwrap();
        if rng.below(3) == 0 {
            layout = layout.flip(axis as isize).unwrap();
        }
    }
    match rng.below(2) {
        0 => layout,
        _ => layout.transpose(),
    }
}

fn extents(rng: &mut Rng) -> Vec<usize> {
    (0..1 + rng.below(4)).map(|_| rng.below(9)).collect()
}

/// Where its elements are, the last axis fastest.
fn places(layout: &Layout) -> Vec<usize> {
    let mut all = vec![layout.offset() as isize];
    for (n, stride) in layout.shape().iter().zip(layout.strides()) {
        all = all.iter().flat_map(|at| (0..*n as isize).map(move |i| at + i * stride)).collect();
    }
    all.into_iter().map(|at| usize::try_from(at).unwrap()).collect()
}

fn numbers(n: usize, from: u32) -> Vec<u32> {
    (0..n as u32).map(|i| from + i).collect()
}

/// What `all` holds after `elements` were written to the part.
fn written(all: &mut [u32], part: &Layout, elements: &[u32]) {
    places(part).into_iter().zip(elements).for_each(|(at, element)| all[at] = *element);
}

/// What the device holds behind the tensor.
fn held(device: &Device, tensor: Tensor<u32>) -> Vec<u32> {
    down(device, &tensor.into_buffer())
}

#[test]
fn a_part_of_any_layout_takes_elements_from_the_host_and_gives_them_back() {
    for builder in builders() {
        let device = builder.open().unwrap();
        seeds(40, |rng, seed| {
            let shape = extents(rng);
            let part = view(rng, &shape);
            let mut model = numbers(shape.iter().product(), 0);
            let x = device.tensor(&shape[..], &model[..]).unwrap();
            let elements = numbers(part.len(), 1000);
            let x = device.upload_to(&elements[..], x.part(|_| Ok(part.clone())).unwrap()).unwrap().into_output();
            written(&mut model, &part, &elements);
            let x = x.with_layout(part.clone()).unwrap();
            assert_eq!(down(&device, &x), elements, "{seed}: {part:?}");
            assert_eq!(held(&device, x), model, "{seed}: {part:?}");
        });
    }
}

/// Rows that a GPU takes as they lie, in several pieces: of many and of few bytes, from odd places on, up to the last element; one is longer
/// than a piece of a transfer.
fn wide_rows<T: windlass::Element + PartialEq + From<u8>>(device: &Device) {
    let of = |i: usize| T::from((i % 251) as u8);
    for (rows, columns, part) in [
        (3, 400, (0..3, 1..400)),
        (700, 1300, (3..700, 5..1299)),
        (2000, 260, (1..1999, 3..259)),
        (9, 900, (2..9, 0..900)),
        (4, 600_000, (1..4, 7..540_001)),
        (700, 300, (5..5, 0..300)),
    ] {
        let mut model: Vec<T> = (0..rows * columns).map(of).collect();
        let x = device.tensor([rows, columns], &model[..]).unwrap();
        let elements: Vec<T> = (0..part.0.len() * part.1.len()).map(|i| of(i + 100)).collect();
        let x = x.part(|all| all.slice(part.clone())).unwrap();
        let x = device.upload_to(&elements[..], x).unwrap().into_output();
        let mut next = elements.iter();
        part.0.clone().flat_map(|row| part.1.clone().map(move |column| row * columns + column)).for_each(|at| {
            model[at] = *next.next().unwrap();
        });
        let given = down(device, x.view().slice(part.clone()).unwrap());
        assert!(given == elements, "{rows} x {columns}: {part:?}");
        assert!(down(device, &x) == model, "{rows} x {columns}: {part:?}");
    }
}

#[test]
fn wide_rows_of_a_part_take_elements_from_the_host_and_nothing_else_changes() {
    for builder in builders() {
        let device = builder.open().unwrap();
        wide_rows::<u8>(&device);
        wide_rows::<u16>(&device);
        wide_rows::<f32>(&device);
        wide_rows::<f64>(&device);
    }
}

#[test]
fn tensors_of_any_layout_go_from_one_device_to_another() {
    for (one, two) in builders().into_iter().zip(builders()) {
        let (one, two) = (one.open().unwrap(), two.open().unwrap());
        if one.is_isolated() {
            let rejected =
                two.copy_peer(one.zeros::<u32>([2, 2]).unwrap().view().transpose(), two.zeros([2, 2]).unwrap());
            let rejected = rejected.unwrap_err();
            assert!(rejected.error.to_string().contains("another process") && rejected.back.is_some(), "{rejected}");
            continue;
        }
        seeds(30, |rng, seed| {
            let shape = extents(rng);
            let (from, to) = (view(rng, &shape), Layout::row_major(&shape).unwrap());
            let source = one.tensor(&shape[..], numbers(to.len(), 0)).unwrap();
            let source = source.with_layout(from.clone()).unwrap();
            let sent: Vec<u32> = places(&from).into_iter().map(|at| at as u32).collect();
            // Into a dense tensor, and into a part of a larger one.
            let dense = two.uninit::<u32>(from.shape()).unwrap();
            let dense = two.copy_peer(&source, dense).unwrap().into_output();
            assert_eq!(held(&two, dense), sent, "{seed}: {from:?}");
            let wide: Vec<usize> = from.shape().iter().map(|n| n + 2).collect();
            let inner: Vec<AxisSlice> = from.shape().iter().map(|n| AxisSlice::from(1..n + 1)).collect();
            let part = Layout::row_major(&wide).unwrap().slice(inner).unwrap();
            let mut model = vec![9; wide.iter().product()];
            let target = two.full(&wide[..], 9u32).unwrap().part(|_| Ok(part.clone())).unwrap();
            let target = two.copy_peer(&source, target).unwrap().into_output();
            written(&mut model, &part, &sent);
            assert_eq!(held(&two, target), model, "{seed}: {from:?} into {part:?}");
            // The next writer of the source follows the copies.
            let source = one.fill(source, 7).unwrap().into_output();
            assert!(down(&one, &source).iter().all(|one| *one == 7));
        });
    }
}

#[test]
fn what_does_not_fit_is_refused_with_the_target_back() {
    for builder in builders() {
        let device = builder.open().unwrap();
        let x = device.full([3, 4], 5u32).unwrap();
        let column = |all: &Layout| all.index(1, 1);
        let rejected = device.upload_to([1, 2], x.part(column).unwrap()).unwrap_err();
        assert_eq!(refused(&rejected.error).0, "target");
        let x = rejected.back.unwrap().0;
        let windows = |all: &Layout| all.reshape([12])?.windows(0, 4, 2);
        let rejected = device.upload_to(numbers(20, 0), x.part(windows).unwrap()).unwrap_err();
        assert_eq!(refused(&rejected.error).0, "target");
        let x = rejected.back.unwrap().0;
        if !device.is_isolated() {
            let rejected =
                device.copy_peer(device.zeros([4, 3]).unwrap().view(), x.part(|all| Ok(all.transpose())).unwrap());
            let x = rejected.unwrap().into_output();
            assert_eq!(held(&device, x), [0; 12]);
            continue;
        }
        assert_eq!(held(&device, x), [5; 12]);
    }
}
