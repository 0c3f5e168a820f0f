//! Complex numbers as real ones and back: one memory, one order of the work on it.

use crate::common::{devices, down, refused, shift};
use windlass::tensor::{AxisSlice, Layout};
use windlass::{Complex, Device, Error, Tensor};

type C = Complex<f64>;

fn numbers(device: &Device) -> Tensor<C> {
    device.tensor([2, 3], (0..6).map(|i| C::new(f64::from(i), f64::from(10 * i))).collect::<Vec<_>>()).unwrap()
}

#[test]
fn views_have_a_last_axis_of_two_and_lie_in_the_same_memory() {
    for device in devices() {
        let x = numbers(&device);
        let real = x.as_real().unwrap();
        assert_eq!((real.shape(), real.layout().strides()), (&[2, 3, 2][..], &[6, 2, 1][..]));
        assert_eq!(down(&device, real.index(-1, 1).unwrap()), [0.0, 10.0, 20.0, 30.0, 40.0, 50.0]);
        // Any view, and back.
        let view = x.slice((.., 1..)).unwrap().transpose();
        let pairs = view.as_real().unwrap();
        assert_eq!(down(&device, pairs.index(2, 0).unwrap()), [1.0, 4.0, 2.0, 5.0]);
        assert_eq!(down(&device, pairs.as_complex().unwrap()), down(&device, &view));
        let flipped = x.flip(0).unwrap();
        assert_eq!(down(&device, flipped.as_real().unwrap().as_complex().unwrap()), down(&device, &flipped));
        // Shared, none, and one.
        let shared = numbers(&device).share().as_real().unwrap();
        assert_eq!(device.item(shared.slice((1, 2, 1)).unwrap()).unwrap(), 50.0);
        let whole = shared.as_complex().unwrap();
        drop(shared);
        assert_eq!(whole.try_unique().unwrap().shape(), [2, 3]);
        let none = device.zeros::<Complex<f32>>([0, 3]).unwrap();
        assert_eq!(none.as_real().unwrap().as_complex().unwrap().shape(), [0, 3]);
        let one = device.tensor([], [C::new(1.0, 2.0)]).unwrap();
        assert_eq!(down(&device, one.as_real().unwrap()), [1.0, 2.0]);
    }
}

#[test]
fn an_owner_of_the_other_kind_writes_the_same_memory() {
    for device in devices() {
        let x = numbers(&device).into_real().unwrap();
        let x = device.fill(x.part(|all| all.index(-1, 1)).unwrap(), 7.0).unwrap().into_output();
        let x = x.into_complex().unwrap();
        assert_eq!(down(&device, &x), (0..6).map(|i| C::new(f64::from(i), 7.0)).collect::<Vec<_>>());
        // All of it is overwritten, so what was undefined is not any more.
        let y = device.uninit::<C>([4]).unwrap().into_real().unwrap();
        let y = device.fill(y, 1.0).unwrap().into_output().into_complex().unwrap();
        assert_eq!(down(&device, &y), [C::new(1.0, 1.0); 4]);
        // Half of it is not.
        let y = device.uninit::<C>([4]).unwrap().into_real().unwrap();
        let half = y.part(|all| all.slice((..2, AxisSlice::Rest))).unwrap();
        let half = device.fill(half, 1.0).unwrap().into_output();
        assert!(refused(&device.download(&half).map(drop).unwrap_err()).1.contains("undefined"));
        // The full extent of the buffer comes back.
        let buffer = numbers(&device).into_real().unwrap().into_buffer();
        let (one, other) = buffer.split_at(4).unwrap();
        assert_eq!((one.len(), other.len()), (4, 8));
        let whole = one.join(other).unwrap().narrow(2..4).unwrap().widen();
        assert_eq!(Tensor::from_buffer(whole, [6, 2]).unwrap().into_complex().unwrap().shape(), [6]);
    }
}

/// Readers of one kind are followed by writers of the other, in programs too.
#[test]
fn work_on_both_kinds_follows_in_order() {
    for device in devices() {
        let mut x = device.zeros::<C>([20_000]).unwrap();
        for round in 1..=20 {
            let before = device.contiguous(x.as_real().unwrap().index(-1, 0).unwrap()).unwrap();
            let real = device.fill(x.into_real().unwrap(), f64::from(round)).unwrap().into_output();
            x = real.into_complex().unwrap();
            assert_eq!(down(&device, &before), vec![f64::from(round - 1); 20_000]);
        }
        assert_eq!(down(&device, &x)[9], C::new(20.0, 20.0));
    }
}

#[test]
fn what_is_no_pairs_is_refused() {
    for device in devices() {
        let x = device.tensor([4, 6], vec![0.0f32; 24]).unwrap();
        let says = |error: &Error| refused(error).1;
        assert!(says(&x.as_complex().map(drop).unwrap_err()).contains("last axis of two"));
        let odd = x.slice((.., 1..3)).unwrap();
        assert!(says(&odd.as_complex().map(drop).unwrap_err()).contains("`contiguous`"));
        let apart = x.slice((.., AxisSlice::from(..4).step(2))).unwrap();
        assert!(says(&apart.as_complex().map(drop).unwrap_err()).contains("`contiguous`"));
        let buffer = device.zeros::<f32>(9).unwrap().into_buffer();
        let behind = buffer.slice(1..).unwrap().view(Layout::rows(4, 2)).unwrap();
        assert!(says(&behind.as_complex().map(drop).unwrap_err()).contains("`contiguous`"));
        let rejected = x.into_complex().map(drop).unwrap_err();
        assert_eq!(rejected.back.unwrap().shape(), [4, 6]);
        if shift() == 0 {
            let pairs = device.zeros::<f32>([4, 6]).unwrap().with_layout(Layout::new([4, 2], [6, 1], 2).unwrap());
            assert_eq!(pairs.unwrap().into_complex().unwrap().layout().strides(), [3]);
        }
    }
}
