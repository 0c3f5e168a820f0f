//! What is refused: with the argument's name, and the tensor back.

use crate::common::{devices, host};
use windlass::tensor::Layout;
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
        refused(device.zeros_tensor::<f32>([usize::MAX, 2]).unwrap_err(), "extents", "more elements");
        refused(device.zeros_tensor::<f64>([1 << 40, 1 << 22]).unwrap_err(), "len", "overflows");
        let buffer = device.zeros::<f32>(6).unwrap();
        let rejected = Tensor::from_buffer(buffer, [7]).unwrap_err();
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
        refused(x.part(|all| all.index(0, 6)).unwrap_err().error, "slices", "6 elements");
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
        let rejected = device.fill_part(target.part(|all| all.windows(1, 2, 1)).unwrap(), 0).unwrap_err();
        let target = rejected.back.unwrap().0;
        refused(rejected.error, "target", "one place");
        assert_eq!(device.download_tensor(&target).unwrap().await_result().unwrap(), [1, 2, 3, 4, 5, 6]);
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
