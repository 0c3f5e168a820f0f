//! Copies of views into views, and fills, against the same by indices on the host.

use super::{places, spelled, view};
use crate::common::{Rng, assert_same_bits, devices, seeds};
use windlass::tensor::AxisSlice;
use windlass::{Complex, Device, Element, Tensor, bf16};

fn random_copies<T: Element>(device: &Device, rng: &mut Rng) {
    let extents: Vec<usize> = (0..rng.below(5)).map(|_| rng.pick(&[0, 1, 2, 3, 4, 5, 7, 16])).collect();
    let len: usize = extents.iter().product();
    let (from, to): (Vec<T>, Vec<T>) = (rng.bits(len), rng.bits(len));
    let source = device.tensor(&extents, &from).unwrap();
    let view_of_source = view(rng, &source.view());

    // Into a new one.
    let dense = device.contiguous(&view_of_source).unwrap().await_result().unwrap();
    let wanted = spelled(device, &view_of_source);
    assert!(dense.layout().is_row_major() && dense.shape() == view_of_source.shape());
    assert!(same(&device.download(dense.buffer()).unwrap().await_result().unwrap(), &wanted), "{view_of_source:?}");
    assert!(same(&device.download(&view_of_source).unwrap().await_result().unwrap(), &wanted));
    if view_of_source.rank() >= 2 {
        let columns = device.contiguous_columns(&view_of_source).unwrap().await_result().unwrap();
        assert!(same(&spelled(device, &columns.view()), &wanted));
        assert!(columns.swap_axes(-1, -2).unwrap().layout().is_row_major());
    }

    // Into a part of another: what does not belong to it stays.
    let target = device.tensor(&extents, &to).unwrap();
    let part = view(rng, &target.view());
    let (layout, at) = (part.layout().clone(), places(&part));
    let mut wanted = to.clone();
    let value = rng.bits::<T>(1)[0];
    // Something that broadcasts to it.
    let extents: Vec<usize> = layout.shape().iter().map(|n| if rng.below(3) == 0 { 1 } else { *n }).collect();
    let skip = if extents.first() == Some(&1) { rng.below(2) } else { 0 };
    let count = extents[skip..].iter().product();
    let small = device.tensor(&extents[skip..], rng.bits::<T>(count)).unwrap();
    let small_view = small.broadcast(layout.shape()).unwrap();
    let is_distinct = layout.is_distinct();
    let (filled, written) = if rng.below(3) == 0 {
        at.iter().for_each(|place| wanted[*place] = value);
        (true, device.fill(target.part(|_| Ok(layout)).unwrap(), value))
    } else {
        let elements = spelled(device, &small_view);
        at.iter().zip(elements).for_each(|(place, x)| wanted[*place] = x);
        (false, device.assign(target.part(|_| Ok(layout)).unwrap(), &small))
    };
    let target: Tensor<T> = match written {
        Ok(pending) => {
            assert!(is_distinct, "it is written though two elements meet");
            pending.await_result().unwrap()
        }
        Err(rejected) => {
            assert!(!is_distinct, "{rejected} (filled: {filled})");
            assert!(rejected.to_string().contains("`target`"), "{rejected}");
            wanted = to;
            rejected.back.unwrap().0
        }
    };
    let got = device.download(target.buffer()).unwrap().await_result().unwrap();
    assert!(same(&got, &wanted), "T = {}", T::DTYPE);
}

/// Bit for bit.
fn same<T: Element>(a: &[T], b: &[T]) -> bool {
    bytemuck::cast_slice::<T, u8>(a) == bytemuck::cast_slice::<T, u8>(b)
}

#[test]
fn random_views_are_copied_and_filled_as_by_indices() {
    for device in devices() {
        seeds(400, |rng, _| match rng.below(5) {
            0 => random_copies::<u8>(&device, rng),
            1 => random_copies::<bf16>(&device, rng),
            2 => random_copies::<f32>(&device, rng),
            3 => random_copies::<i64>(&device, rng),
            _ => random_copies::<Complex<f64>>(&device, rng),
        });
    }
}

/// Large enough for several threads, and for several tiles; sizes that no block divides.
fn large<T: Element>(device: &Device, extents: &[usize], order: &[isize]) {
    let len: usize = extents.iter().product();
    let data: Vec<T> = Rng::new(len as u64).bits(len);
    let x = device.tensor(extents, &data).unwrap();
    let turned = x.permute(order).unwrap();
    let dense = device.contiguous(&turned).unwrap().await_result().unwrap();
    let wanted: Vec<T> = places(&turned).into_iter().map(|place| data[place]).collect();
    assert!(
        same(&device.download(dense.buffer()).unwrap().await_result().unwrap(), &wanted),
        "{} {extents:?} {order:?}",
        T::DTYPE
    );
    // And back, in place of zeros.
    let back = device.zeros::<T>(extents).unwrap();
    let back = device.assign(back.part(|all| all.permute(order)).unwrap(), &dense).unwrap().await_result().unwrap();
    assert!(same(&device.download(back.buffer()).unwrap().await_result().unwrap(), &data));
}

#[test]
fn large_permutations_are_exact() {
    for device in devices() {
        large::<u8>(&device, &[1037, 1051], &[1, 0]);
        large::<i16>(&device, &[67, 70, 130], &[2, 1, 0]);
        large::<f32>(&device, &[130, 5, 3, 257], &[3, 1, 2, 0]);
        large::<f64>(&device, &[513, 515], &[1, 0]);
        large::<Complex<f64>>(&device, &[300, 3, 100], &[2, 0, 1]);
    }
}

/// Seventeen axes that do not fuse: more than a kernel takes as parameters.
fn many_axes<T: Element>(device: &Device) {
    let data: Vec<T> = (0..1u32 << 18).map(|i| bits_of(i)).collect();
    let x = device.tensor([2; 18], &data).unwrap();
    // 7 and 18 have no common factor, so it names each axis once.
    let order: Vec<isize> =
        (0..18).map(|axis| (axis * 7) % 18).map(|a: isize| if a % 2 == 0 { a } else { a - 18 }).collect();
    let turned = x.permute(&order[..]).unwrap();
    let part = turned.slice((AxisSlice::Rest, AxisSlice::from(..).step(-1), 1)).unwrap();
    let dense = device.contiguous(&part).unwrap().await_result().unwrap();
    let got = device.download(dense.buffer()).unwrap().await_result().unwrap();
    assert_same_bits(&got, &spelled(device, &part), "many axes");
    let value = bits_of::<T>(u32::MAX);
    let mut wanted = data.clone();
    places(&turned.slice((.., 1)).unwrap()).into_iter().for_each(|place| wanted[place] = value);
    let filled = device.fill(x.part(|all| all.permute(&order[..])?.slice((.., 1))).unwrap(), value).unwrap();
    let filled = device.download(&filled.into_output()).unwrap().await_result().unwrap();
    assert_same_bits(&filled, &wanted, "a filled half");
}

/// An element whose bytes are those of `i`, again and again.
fn bits_of<T: Element>(i: u32) -> T {
    let bytes: Vec<u8> = i.to_le_bytes().into_iter().cycle().take(size_of::<T>()).collect();
    bytemuck::pod_read_unaligned(&bytes)
}

#[test]
fn many_axes_that_do_not_fuse_are_copied() {
    for device in devices() {
        many_axes::<i8>(&device);
        many_axes::<bf16>(&device);
        many_axes::<i32>(&device);
        many_axes::<f64>(&device);
        many_axes::<Complex<f64>>(&device);
    }
}

#[test]
fn copies_are_ordered_like_every_other_operation() {
    for device in devices() {
        let mut x = device.tensor([64, 64], vec![1i64; 4096]).unwrap();
        for round in 2..20i64 {
            // Each reads what the one before has written, with no wait between them.
            let turned = device.contiguous(x.transpose().flip(0).unwrap()).unwrap().into_output();
            let whole = device.fill(x.part(|all| all.index(0, (round % 64) as isize)).unwrap(), round).unwrap();
            let half = whole.into_output().part(|all| all.slice((32.., ..))).unwrap();
            x = device.assign(half, turned.slice(..32).unwrap()).unwrap().into_output();
        }
        let mut model = vec![1i64; 4096];
        for round in 2..20i64 {
            let turned: Vec<i64> = (0..4096).map(|k| model[(k % 64) * 64 + 63 - k / 64]).collect();
            let row = (round % 64) as usize * 64;
            model[row..row + 64].fill(round);
            model[2048..].copy_from_slice(&turned[..2048]);
        }
        assert_eq!(device.download(&x).unwrap().await_result().unwrap(), model);
    }
}

#[test]
fn a_copy_into_all_of_a_tensor_needs_no_earlier_contents_and_one_into_a_part_does() {
    for device in devices() {
        let x = device.tensor([2, 3], [1, 2, 3, 4, 5, 6]).unwrap();
        let new = device.uninit::<i32>([3, 2]).unwrap();
        let new = device.assign(new, x.transpose()).unwrap().into_output();
        assert_eq!(device.download(&new).unwrap().await_result().unwrap(), [1, 4, 2, 5, 3, 6]);
        let new = device.uninit::<i32>([3, 2]).unwrap();
        let rejected = device.fill(new.part(|all| all.index(1, 1)).unwrap(), 7).unwrap_err();
        assert!(rejected.back.is_some() && rejected.to_string().contains("never written"), "{rejected}");
    }
}

#[test]
fn an_empty_copy_is_one_too() {
    for device in devices() {
        let x = device.zeros::<f32>([3, 0, 2]).unwrap();
        let dense = device.contiguous(x.transpose()).unwrap().await_result().unwrap();
        assert_eq!((dense.shape(), dense.len()), (&[2, 0, 3][..], 0));
        let y = device.full([2, 2], 1.0f32).unwrap();
        let part = y.part(|all| all.slice((.., 1..1))).unwrap();
        let y = device.assign(part, x.index(2, 0).unwrap().slice(..2).unwrap()).unwrap().await_result().unwrap();
        assert_eq!(device.download(&y).unwrap().await_result().unwrap(), [1.0; 4]);
        let scalar = device.tensor([0usize; 0], [5.0f32]).unwrap();
        let y = device.assign(y, &scalar).unwrap().await_result().unwrap();
        assert_eq!(device.item(y.slice((1, 1)).unwrap()).unwrap(), 5.0);
    }
}
