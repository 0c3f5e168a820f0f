//! Owners and views: what they own, share and say.

use crate::common::{assert_back_at, devices, holdings, host};
use windlass::tensor::Layout;
use windlass::{DeviceBuffer, Error, Tensor, TensorRef};

#[test]
fn a_tensor_is_made_of_a_buffer_and_taken_apart_without_a_copy() {
    for device in devices() {
        let buffer = device.upload((0..6).collect::<Vec<i32>>()).unwrap().into_output();
        let before = device.stats().dispatches;
        let x = Tensor::from_buffer(buffer, [2, 3]).unwrap();
        let x = x.with_layout(Layout::column_major([2, 3]).unwrap()).unwrap();
        let (corner, turned) = (x.slice((1, ..)).unwrap(), x.transpose());
        assert_eq!((corner.layout().strides(), turned.shape()), (&[2][..], &[3, 2][..]));
        let buffer: DeviceBuffer<i32> = x.into_buffer();
        assert_eq!((buffer.len(), device.stats().dispatches), (6, before));
        let vector = Tensor::from(buffer);
        assert_eq!((vector.shape(), vector.len(), vector.is_empty()), (&[6][..], 6, false));
    }
}

#[test]
fn a_window_of_a_buffer_is_a_tensor_and_stays_a_window() {
    for device in devices() {
        let buffer = device.upload((0..10).collect::<Vec<i32>>()).unwrap().into_output();
        let x = Tensor::from_buffer(buffer.narrow(2..8).unwrap(), [2, 3]).unwrap();
        let x = device.fill(x.part(|all| all.index(0, 1)).unwrap(), -1).unwrap().await_result().unwrap();
        assert_eq!(device.download(&x).unwrap().await_result().unwrap(), [2, 3, 4, -1, -1, -1]);
        // Shared and taken back, it has the same elements.
        let x = x.share();
        let other = x.index(0, 0).unwrap();
        let x = x.try_unique().unwrap_err();
        drop(other);
        let x = x.try_unique().unwrap();
        assert_eq!(device.download(&x).unwrap().await_result().unwrap(), [2, 3, 4, -1, -1, -1]);
        let whole = x.into_buffer().widen();
        assert_eq!(device.download(&whole).unwrap().await_result().unwrap(), [0, 1, 2, 3, 4, -1, -1, -1, 8, 9]);
        // A slice of a shared buffer, as the last handle of it.
        let part = whole.share().slice(4..).unwrap();
        let x = TensorRef::from(part).try_unique().unwrap();
        assert_eq!(device.download(&x).unwrap().await_result().unwrap(), [4, -1, -1, -1, 8, 9]);
    }
}

#[test]
fn a_borrowed_view_is_never_the_owner() {
    let device = host(1).open().unwrap();
    let buffer: &'static DeviceBuffer<i32> = Box::leak(Box::new(device.zeros(4).unwrap().into_buffer()));
    let view = TensorRef::from_buffer(buffer, Layout::row_major([2, 2]).unwrap()).unwrap();
    assert!(view.try_unique().is_err());
}

#[test]
fn shared_views_are_read_from_any_thread() {
    for device in devices() {
        let x = device.tensor([64, 64], (0..4096).collect::<Vec<i32>>()).unwrap().share();
        let threads: Vec<_> = (0..4)
            .map(|i| {
                let (device, row) = (device.clone(), x.index(0, 16 * i).unwrap());
                std::thread::spawn(move || device.download(&row).unwrap().await_result().unwrap())
            })
            .collect();
        for (i, thread) in threads.into_iter().enumerate() {
            assert!(thread.join().unwrap().iter().copied().eq(1024 * i as i32..1024 * i as i32 + 64));
        }
    }
}

#[test]
fn what_it_says_of_itself_is_no_dispatch() {
    let device = host(1).open().unwrap();
    let x = device.zeros::<f32>([2, 3]).unwrap();
    let before = device.stats().dispatches;
    let place = format!("on {}, generation 0", device.name());
    assert_eq!(format!("{x:?}"), format!("Tensor<f32>([2, 3] in DeviceBuffer<f32>(6 {place}))"));
    assert_eq!(format!("{:?}", x.transpose()), format!("TensorRef<f32>([3, 2] strides [1, 3] {place})"));
    assert_eq!((device.stats().dispatches, x.generation()), (before, 0));
}

#[test]
fn the_memory_goes_back() {
    for device in devices() {
        let base = holdings(&device);
        let x = device.zeros::<f64>([100, 100]).unwrap();
        let dense = device.contiguous(x.transpose()).unwrap();
        drop(x);
        drop(dense.into_output().share());
        assert_back_at(&device, base);
    }
}

#[test]
fn tensors_of_an_earlier_life_are_stale() {
    let device = host(1).open().unwrap();
    let x = device.zeros::<f64>([2, 2]).unwrap();
    device.rebuild(crate::common::LONG).unwrap();
    assert!(matches!(device.contiguous(&x), Err(Error::GpuRefStale { .. })));
    let rejected = device.fill(x, 1.0).unwrap_err();
    assert!(matches!(rejected.error, Error::GpuRefStale { .. }) && rejected.back.is_some());
}

#[test]
fn close_is_what_numpy_calls_close() {
    for device in devices() {
        let of = |x: &[f64]| device.tensor([x.len()], x).unwrap();
        let close = |a: &[f64], b: &[f64], rtol, atol| device.allclose(&of(a), &of(b), rtol, atol).unwrap();
        assert!(close(&[1.0, 100.0], &[1.0, 101.0], 0.01, 0.0));
        assert!(!close(&[1.0, 100.0], &[1.0, 101.0], 0.009, 0.0));
        assert!(close(&[0.0], &[1e-9], 1e-5, 1e-8) && !close(&[0.0], &[1e-7], 1e-5, 1e-8));
        assert!(close(&[f64::INFINITY], &[f64::INFINITY], 0.0, 0.0));
        assert!(
            !close(&[f64::INFINITY], &[f64::NEG_INFINITY], 1.0, 1e300) && !close(&[1.0], &[f64::INFINITY], 1.0, 0.0)
        );
        assert!(!close(&[f64::NAN], &[f64::NAN], 1.0, 1.0) && close(&[], &[], 0.0, 0.0));
        let far = device.tensor([1], [i64::MIN]).unwrap();
        assert!(!device.allclose(&far, &device.tensor([1], [i64::MAX]).unwrap(), 0.5, 0.0).unwrap());
        assert!(device.allclose(&of(&[1.0]), &of(&[1.0, 2.0, 3.0]), 1.0, 0.0).unwrap(), "broadcast");
        assert!(device.allclose(&of(&[1.0, 2.0]), &of(&[1.0, 2.0, 3.0]), 1.0, 0.0).is_err());
    }
}
