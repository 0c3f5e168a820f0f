//! Copies and fills of tensors on the stand-in: which of the driver's copies and of our kernels they become, and that these get
//! what they need. The kernels here are written anew from their description; a GPU runs the real ones (`host tensors::`).

use crate::common::{Rng, assert_back_at, holdings, seeds};
use crate::standin::{device, session};
use windlass::tensor::AxisSlice;
use windlass::{Complex, Device, Element, TensorRef, bf16};

/// The elements of a view by indices, from all of its buffer.
fn spelled<T: Element>(device: &Device, x: &TensorRef<'_, T>) -> Vec<T> {
    let all = device.download(x.buffer()).unwrap().await_result().unwrap();
    let layout = x.layout();
    let mut places = vec![layout.offset() as isize];
    for (n, stride) in layout.shape().iter().zip(layout.strides()) {
        places = places.iter().flat_map(|at| (0..*n as isize).map(move |i| at + i * stride)).collect();
    }
    places.into_iter().map(|place| all[place as usize]).collect()
}

fn check<T: Element>(device: &Device, rng: &mut Rng) {
    let extents: Vec<usize> = (0..1 + rng.below(4)).map(|_| rng.pick(&[1, 2, 3, 17, 20, 33])).collect();
    let len: usize = extents.iter().product();
    let data: Vec<T> = rng.bits(len);
    let x = device.tensor(&extents, &data).unwrap();
    let mut view = x.view();
    for _ in 0..rng.below(4) {
        let axis = rng.below(extents.len()) as isize;
        view = match rng.below(4) {
            0 => view.transpose(),
            1 => view.flip(axis).unwrap(),
            2 => view.swap_axes(0, axis).unwrap(),
            _ => {
                let (n, mut slices) = (view.shape()[axis as usize], vec![AxisSlice::from(..); axis as usize]);
                slices.push(AxisSlice::from(rng.below(n)..).step(rng.pick(&[1, 2, -1])));
                view.slice(slices).unwrap()
            }
        };
    }
    let dense = device.contiguous(&view).unwrap().into_output();
    let got = device.download(dense.buffer()).unwrap().await_result().unwrap();
    let wanted = spelled(device, &view);
    assert!(bytemuck::cast_slice::<T, u8>(&got) == bytemuck::cast_slice::<T, u8>(&wanted), "{view:?}");
    // Back into the same view of a tensor of one value.
    let layout = view.layout().clone();
    let value = rng.bits::<T>(1)[0];
    let y = device.full(&extents, value).unwrap();
    let y = device.assign(y.part(|_| Ok(layout.clone())).unwrap(), &dense).unwrap().into_output();
    let got = device.download(y.buffer()).unwrap().await_result().unwrap();
    let back = spelled(device, &TensorRef::from_buffer(y.buffer(), layout.clone()).unwrap());
    assert!(bytemuck::cast_slice::<T, u8>(&back) == bytemuck::cast_slice::<T, u8>(&wanted));
    let changed =
        bytemuck::cast_slice::<T, u8>(&got).chunks(size_of::<T>()).filter(|x| *x != bytemuck::bytes_of(&value));
    assert!(changed.count() <= wanted.len());
    let y = device.fill(y.part(|_| Ok(layout)).unwrap(), value).unwrap().into_output();
    let all = device.download(y.buffer()).unwrap().await_result().unwrap();
    let rest = bytemuck::cast_slice::<T, u8>(&all).chunks(size_of::<T>()).all(|x| x == bytemuck::bytes_of(&value));
    assert!(rest, "filled where it was written");
}

#[test]
fn random_views_are_copied_and_filled_as_by_indices() {
    let driver = session();
    let device = device(2);
    let base = holdings(&device);
    seeds(150, |rng, _| match rng.below(5) {
        0 => check::<u8>(&device, rng),
        1 => check::<bf16>(&device, rng),
        2 => check::<f32>(&device, rng),
        3 => check::<i64>(&device, rng),
        _ => check::<Complex<f64>>(&device, rng),
    });
    assert_back_at(&device, base);
    drop(device);
    driver.assert_finished();
}

#[test]
fn axes_beyond_what_a_kernel_takes_go_by_a_table() {
    let driver = session();
    let device = device(2);
    let x = device.tensor([2; 12], (0..1 << 12).collect::<Vec<i32>>()).unwrap();
    let order: Vec<isize> = (0..12).map(|axis| (axis * 5) % 12).collect();
    let turned = x.permute(order).unwrap();
    let dense = device.contiguous(&turned).unwrap().into_output();
    assert_eq!(device.download(dense.buffer()).unwrap().await_result().unwrap(), spelled(&device, &turned));
    drop((x, dense, device));
    driver.assert_finished();
}

/// They go as they lie, in pieces that end inside a row. Short ones, and rows in another order, are brought into order before.
#[test]
fn wide_rows_with_gaps_are_downloaded_without_a_copy_on_the_device() {
    let driver = session();
    let device = device(2);
    let x = device.tensor([700, 4000], (0..2_800_000u32).collect::<Vec<_>>()).unwrap();
    let download = |view: TensorRef<'_, u32>| {
        let copies = device.stats().operand_copies;
        let got = device.download(&view).unwrap().await_result().unwrap();
        assert_eq!(got, spelled(&device, &view), "{:?}", view.layout());
        device.stats().operand_copies - copies
    };
    for (rows, columns) in [(3..700, 11..3990), (1..3, 5..4000), (0..700, 0..64)] {
        assert_eq!(download(x.view().slice((rows, columns)).unwrap()), 0);
    }
    for (rows, columns) in [(699..700, 0..3000), (5..5, 0..64), (0..1, 7..8)] {
        download(x.view().slice((rows, columns)).unwrap());
    }
    assert!(driver.calls_of("cuMemcpy2DAsync_v2") > 3);
    assert_eq!(download(x.view().slice((.., ..63)).unwrap()), 1);
    assert_eq!(download(x.view().slice((.., ..64)).unwrap().flip(0).unwrap()), 1);
    drop((x, device));
    driver.assert_finished();
}

/// The same the other way: no memory of the device's own, and few copies. Short rows are brought into order by a kernel, after the
/// transfer, and so are rows that are longer than a piece of it.
#[test]
fn wide_rows_with_gaps_are_uploaded_without_a_copy_on_the_device() {
    let driver = session();
    let device = device(2);
    let mut x = device.zeros::<u32>([700, 4000]).unwrap();
    let data: Vec<u32> = (1..2_800_001).collect();
    for (rows, columns, as_they_lie) in
        [(3..5, 11..3990, true), (3..700, 11..3990, true), (0..700, 0..64, true), (0..700, 0..63, false)]
    {
        let (before, copies) = (device.stats(), driver.calls_of("cuMemcpy2DAsync_v2"));
        let part = x.part(|all| all.slice((rows.clone(), columns.clone()))).unwrap();
        x = device.upload_to(&data[..rows.len() * columns.len()], part).unwrap().await_result().unwrap();
        let (after, copies) = (device.stats(), driver.calls_of("cuMemcpy2DAsync_v2") - copies);
        let got = device.download(x.view().slice((rows, columns)).unwrap()).unwrap().await_result().unwrap();
        assert_eq!(got, data[..got.len()]);
        assert_eq!(after.bytes_up - before.bytes_up, 4 * got.len() as u64);
        let bytes = 4 * got.len();
        let dispatches = bytes.div_ceil(if bytes <= 8 << 20 { 512 << 10 } else { 8 << 20 }) as u64;
        match as_they_lie {
            true => {
                assert_eq!(after.allocations, before.allocations);
                assert!((dispatches..dispatches + 2).contains(&(after.dispatches - before.dispatches)));
                assert_eq!(copies, after.dispatches - before.dispatches);
            }
            false => assert_eq!((after.dispatches - before.dispatches, copies), (dispatches + 1, 0)),
        }
    }
    let long = device.zeros::<u32>([3, 200_000]).unwrap();
    let part = long.part(|all| all.slice((.., 1..))).unwrap();
    let before = driver.calls_of("cuMemcpy2DAsync_v2");
    let long = device.upload_to(&data[..3 * 199_999], part).unwrap().await_result().unwrap();
    assert_eq!(driver.calls_of("cuMemcpy2DAsync_v2") - before, 1, "the copy on the device");
    // Of another device it is refused by name.
    let host = Device::host().unwrap();
    let part = long.part(|all| all.slice((.., ..1000))).unwrap();
    let rejected = host.upload_to(&data[..3000], part).unwrap_err();
    assert!(rejected.error.to_string().contains("belongs to"), "{rejected}");
    drop((x, rejected, device));
    driver.assert_finished();
}
