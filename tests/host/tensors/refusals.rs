//! What is refused: with the argument's name, and the tensor back.

use crate::common::{devices, host};
use windlass::tensor::{AxisSlice, Layout};
use windlass::{Device, Error, Tensor, TensorRef};

#[track_caller]
fn refused(error: impl Into<Error>, argument: &str, says: &str) {
    let error = error.into();
    match &error {
        Error::InvalidArgument { argument: named, reason, .. } => {
            assert_eq!((named.as_ref(), reason.contains(says)), (argument, true), "{error}");
        }
        other => panic!("{other}"),
    }
}

#[test]
fn sizes_that_do_not_fit() {
    for device in devices() {
        refused(device.tensor([2, 3], [1.0f32; 5]).unwrap_err(), "elements", "5 elements");
        refused(device.zeros::<f32>([usize::MAX, 2]).unwrap_err(), "extents", "more elements");
        refused(device.zeros::<f64>([1 << 40, 1 << 22]).unwrap_err(), "len", "overflows");
        let buffer = device.zeros::<f32>(6).unwrap();
        let rejected = Tensor::from_buffer(buffer.into_buffer(), [7]).unwrap_err();
        let buffer = rejected.back.unwrap();
        refused(rejected.error, "extents", "the buffer has 6");
        let outside = Layout::new([2], [6], 0).unwrap();
        refused(TensorRef::from_buffer(&buffer, outside.clone()).unwrap_err(), "layout", "reaches element 6");
        let rejected = Tensor::from(buffer).with_layout(outside.clone()).unwrap_err();
        let x = rejected.back.unwrap();
        refused(rejected.error, "layout", "reaches element 6");
        let rejected = x.part(|_| Ok(outside)).unwrap_err();
        let x = rejected.back.unwrap();
        refused(rejected.error, "layout", "reaches element 6");
        refused(x.part(|all| all.index(0, 6)).unwrap_err().error, "index", "6 elements");
    }
}

fn x(device: &Device) -> Tensor<i32> {
    device.tensor([2, 3], [1, 2, 3, 4, 5, 6]).unwrap()
}

#[test]
fn targets_that_meet_themselves_and_sources_that_do_not_broadcast() {
    for device in devices() {
        let source = x(&device);
        let rejected = device.assign(x(&device), source.transpose()).unwrap_err();
        refused(rejected.error, "source", "do not broadcast");
        let target = rejected.back.unwrap().0;
        let wide = target.part(|all| all.broadcast([4, 2, 3])).unwrap();
        let rejected = device.assign(wide, &source).unwrap_err();
        let target = rejected.back.unwrap().0;
        refused(rejected.error, "target", "one place");
        let rejected = device.fill(target.part(|all| all.windows(1, 2, 1)).unwrap(), 0).unwrap_err();
        let target = rejected.back.unwrap().0;
        refused(rejected.error, "target", "one place");
        assert_eq!(device.download(&target).unwrap().await_result().unwrap(), [1, 2, 3, 4, 5, 6]);
        refused(device.item(&target).unwrap_err(), "x", "6 elements");
        refused(source.transpose().reshape([6]).unwrap_err(), "extents", "contiguous");
        refused(device.contiguous_columns(source.index(0, 0).unwrap()).unwrap_err(), "other", "axis -2");
    }
}

#[test]
fn tensors_of_another_device() {
    let (one, other) = (host(1).open().unwrap(), host(1).open().unwrap());
    let rejected = one.assign(x(&one), &x(&other)).unwrap_err();
    refused(rejected.error, "source", "belongs to");
    let rejected = one.assign(x(&other), &rejected.back.unwrap().0).unwrap_err();
    refused(rejected.error, "target", "belongs to");
    assert!(rejected.back.is_some());
}

/// Every view with an axis, an index or a size that is not there: the argument is named, and what the tensor has.
#[test]
fn views_that_there_are_not() {
    let device = host(1).open().unwrap();
    let x = device.zeros::<i32>([2, 3, 4]).unwrap();
    refused(x.permute([0, 1]).unwrap_err(), "axes", "names 2 of 3 axes");
    refused(x.permute([0, 1, 1]).unwrap_err(), "axes", "names axis 1 twice");
    refused(x.permute([0, 1, -4]).unwrap_err(), "axes", "axis -4, but the rank is 3");
    refused(x.swap_axes(3, 0).unwrap_err(), "one", "axis 3");
    refused(x.swap_axes(0, -4).unwrap_err(), "other", "axis -4");
    refused(x.flip(3).unwrap_err(), "axis", "axis 3");
    refused(x.index(3, 0).unwrap_err(), "axis", "axis 3");
    refused(x.index(1, 3).unwrap_err(), "index", "index 3 on axis 1, which has 3 elements");
    refused(x.index(1, -4).unwrap_err(), "index", "index -4 on axis 1");
    refused(x.squeeze_axis(1).unwrap_err(), "axis", "has 3 elements, not 1");
    refused(x.squeeze_axis(5).unwrap_err(), "axis", "axis 5");
    refused(x.unsqueeze(4).unwrap_err(), "axis", "a new axis 4");
    refused(x.unsqueeze(-5).unwrap_err(), "axis", "a new axis -5");
    refused(x.diagonal(0, 1, 1).unwrap_err(), "other", "both are axis 1");
    refused(x.diagonal(0, 0, 3).unwrap_err(), "other", "axis 3");
    refused(x.diagonal(5, 1, 2).unwrap_err(), "above", "5 is beyond the 4 elements of axis 2");
    refused(x.diagonal(isize::MIN, 1, 2).unwrap_err(), "above", "beyond the 3 elements of axis 1");
    refused(x.split(2, 5).unwrap_err(), "mid", "5 is past the end of axis 2");
    refused(x.split(-4, 0).unwrap_err(), "axis", "axis -4");
    refused(x.windows(1, 4, 1).unwrap_err(), "size", "windows of 4");
    refused(x.windows(1, 0, 1).unwrap_err(), "size", "windows of 0");
    refused(x.windows(1, 1, 0).unwrap_err(), "step", "0, but each window");
    refused(x.windows(3, 1, 1).unwrap_err(), "axis", "axis 3");
    refused(x.slice((0..2, 0..4)).unwrap_err(), "slices", "the range 0..4 on axis 1, which has 3 elements");
    refused(
        x.slice((.., AxisSlice::Range { start: 3, end: Some(2), step: 1 })).unwrap_err(),
        "slices",
        "the range 3..2 on axis 1",
    );
    refused(x.slice((.., -4..)).unwrap_err(), "slices", "on axis 1");
    refused(x.slice(AxisSlice::from(..).step(0)).unwrap_err(), "slices", "a step of 0, which leads nowhere, on axis 0");
    refused(x.slice((.., .., .., 0)).unwrap_err(), "slices", "4 ranges and indices");
    refused(x.slice((AxisSlice::Rest, AxisSlice::Rest)).unwrap_err(), "slices", "2 times `Rest`");
    refused(x.broadcast([3, 4]).unwrap_err(), "extents", "fewer axes");
    refused(x.broadcast([5, 3, 4]).unwrap_err(), "extents", "2 elements on axis 0");
    refused(x.broadcast([usize::MAX, 2, 3, 4]).unwrap_err(), "extents", "more elements");
    refused(x.reshape([5, 5]).unwrap_err(), "extents", "are 25 elements, but [2, 3, 4] are 24");
    refused(x.reshape([usize::MAX, 2]).unwrap_err(), "extents", "more elements");
    refused(x.reshape([1; 65]).unwrap_err(), "extents", "at most 64");
    refused(device.zeros::<i32>([1; 65]).unwrap_err(), "extents", "at most 64");
    refused(Layout::new([2, 3], [1], 0).unwrap_err(), "strides", "1 strides for 2 axes");
    refused(Layout::new([2], [-1], 0).unwrap_err(), "strides", "");
    refused(Layout::new([3], [isize::MAX], 0).unwrap_err(), "strides", "");
    refused(Layout::new([2], [1], usize::MAX).unwrap_err(), "strides", "");
}

#[test]
fn targets_of_an_earlier_life_come_back() {
    let device = host(1).open().unwrap();
    let (old, other) = (x(&device), x(&device));
    device.rebuild(crate::common::LONG).unwrap();
    let rejected = device.assign(old, &x(&device)).unwrap_err();
    assert!(matches!(rejected.error, Error::GpuRefStale { .. }) && rejected.back.is_some());
    let rejected = device.assign(x(&device), &other).unwrap_err();
    assert!(matches!(rejected.error, Error::GpuRefStale { .. }) && rejected.back.is_some());
    assert!(matches!(device.item(other.slice((0, 0)).unwrap()), Err(Error::GpuRefStale { .. })));
    assert!(matches!(device.show(&other), Err(Error::GpuRefStale { .. })));
    assert!(matches!(device.allclose(&other, &x(&device), 0.0, 0.0), Err(Error::GpuRefStale { .. })));
}
