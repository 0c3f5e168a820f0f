//! Managed tensors in and out.

use super::producer::{Consumer, Made};
use crate::common::{assert_back_at, devices, eventually, holdings, host, inline, is_host};
use std::sync::atomic::Ordering;
use windlass::dlpack::{Dlpack, DlpackForm};
use windlass::external::ForeignStream::Idle;
use windlass::{DType, Device, Tensor};

const FORMS: [DlpackForm; 2] = [DlpackForm::Versioned, DlpackForm::Legacy];

fn host_devices() -> impl Iterator<Item = Device> {
    [host(2), inline()].into_iter().map(|builder| builder.open().unwrap())
}

fn count(n: usize) -> Vec<f32> {
    (0..n).map(|i| i as f32).collect()
}

#[test]
fn what_comes_in_is_seen_written_and_deleted_once() {
    for device in host_devices() {
        for form in FORMS {
            let made = Made::new(&[2, 3], count(6));
            let deleted = made.deleted.clone();
            let x = device.tensor_of_dlpack(made.managed(form), Idle).unwrap();
            assert_eq!((x.dtype(), x.shape(), x.layout().strides()), (DType::F32, &[2, 3][..], &[3, 1][..]));
            let x: Tensor<f32> = x.downcast().unwrap();
            let x = device.fill(x.part(|x| x.slice((1, ..))).unwrap(), 9.0).unwrap().into_output();
            assert_eq!(deleted.load(Ordering::SeqCst), 0);
            // Out again: the same memory, by way of us.
            let at = device.hand_out(x.into_buffer(), Idle).unwrap();
            // SAFETY: the six elements are there, and nobody writes them.
            let elements = unsafe { std::slice::from_raw_parts(at.address() as *const f32, 6) };
            assert_eq!(elements, [0.0, 1.0, 2.0, 9.0, 9.0, 9.0]);
            drop(at);
            assert!(eventually(10, || deleted.load(Ordering::SeqCst) == 1));
        }
    }
}

#[test]
fn offsets_and_strides_of_every_kind_come_in() {
    let shown = |made: Made| {
        let device = Device::host().unwrap();
        let x = device.tensor_of_dlpack(made.managed(DlpackForm::Versioned), Idle).unwrap();
        device.show_any(&x).unwrap().to_string()
    };
    assert_eq!(shown(Made::new(&[2, 2], count(9)).strided(1, &[3, 1])), "[[1. 2.]\n [4. 5.]]");
    assert_eq!(shown(Made::new(&[2, 2], count(4)).strided(0, &[1, 2])), "[[0. 2.]\n [1. 3.]]");
    assert_eq!(shown(Made::new(&[3], count(3)).strided(2, &[-1])), "[2. 1. 0.]");
    assert_eq!(shown(Made::new(&[2, 3], count(6)).strided(5, &[-3, -1])), "[[5. 4. 3.]\n [2. 1. 0.]]");
    assert_eq!(shown(Made::new(&[2, 2], count(2)).strided(1, &[0, -1])), "[[1. 0.]\n [1. 0.]]");
    assert_eq!(shown(Made::new(&[], count(3)).strided(2, &[])), "2.0");
    assert_eq!(shown(Made::new(&[2, 0], vec![])), "[]");
    assert_eq!(shown(Made::new(&[0], count(1)).strided(0, &[i64::MIN])), "[]");
    assert_eq!(shown(Made::new(&[1], count(1)).strided(0, &[i64::MIN])), "[0.]");
}

#[test]
fn what_is_read_only_stays_so() {
    for device in host_devices() {
        let made = || {
            let mut made = Made::new(&[3], count(3));
            made.flags = 1;
            (made.deleted.clone(), made.managed(DlpackForm::Versioned))
        };
        let (deleted, managed) = made();
        assert!(managed.is_read_only());
        let rejected = device.tensor_of_dlpack(managed, Idle).unwrap_err();
        assert!(rejected.error.to_string().contains("shared_of_dlpack"));
        assert_eq!(deleted.load(Ordering::SeqCst), 0, "it came back");
        let x = device.shared_of_dlpack::<f32>(rejected.back.unwrap(), Idle).unwrap();
        assert_eq!(device.download(&x).unwrap().await_result().unwrap(), [0.0, 1.0, 2.0]);
        let x = x.try_unique().unwrap_err();
        drop(x);
        assert!(eventually(10, || deleted.load(Ordering::SeqCst) == 1));
        // What may be written may be shared, and written again.
        let x = device.shared_of_dlpack::<f32>(Made::new(&[3], count(3)).managed(DlpackForm::Legacy), Idle).unwrap();
        assert!(x.try_unique().is_ok());
        let (deleted, managed) = made();
        assert!(device.shared_of_dlpack::<i32>(managed, Idle).unwrap_err().error.to_string().contains("f32, not i32"));
        assert_eq!(deleted.load(Ordering::SeqCst), 1);
    }
}

#[test]
fn what_goes_out_is_freed_by_its_consumer_on_any_thread() {
    for device in devices() {
        for form in FORMS {
            let base = holdings(&device);
            let x = device.tensor([2, 3], count(6)).unwrap();
            let out = Consumer::new(device.dlpack(x, form, Idle).unwrap());
            let (view, kind) = (out.view(), if is_host(&device) { 1 } else { 2 });
            assert_eq!((view.device.0, view.code, view.bits, view.lanes, view.byte_offset), (kind, 2, 32, 1, 0));
            assert_eq!(out.shape(), (vec![2, 3], vec![3, 1]));
            if form == DlpackForm::Versioned {
                assert_eq!(out.flags(), ((1, 0), 0));
            }
            if is_host(&device) {
                // SAFETY: the six elements are there, and are the consumer's.
                let elements = unsafe { std::slice::from_raw_parts_mut(view.data.cast::<f32>(), 6) };
                assert_eq!(elements, [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
                elements.fill(1.0);
            }
            std::thread::spawn(move || drop(out)).join().unwrap();
            assert_back_at(&device, base);
        }
    }
}

#[test]
fn work_in_flight_is_done_before_a_tensor_is_out() {
    let device = host(2).open().unwrap();
    let mut x = device.full([1 << 16], 1.0f32).unwrap().into_buffer();
    for _ in 0..20 {
        x = device.blas().scal(2.0, x).unwrap().into_buffer();
    }
    let out = Consumer::new(device.dlpack(Tensor::from(x), DlpackForm::Legacy, Idle).unwrap());
    // SAFETY: the elements are there.
    let elements = unsafe { std::slice::from_raw_parts(out.view().data.cast::<f32>(), 1 << 16) };
    assert!(elements.iter().all(|x| *x == 1048576.0));
}

#[test]
fn a_view_goes_out_as_it_lies() {
    let device = Device::host().unwrap();
    let x = device.tensor([3, 4], count(12)).unwrap().share();
    let part = x.slice((1.., 2..)).unwrap().transpose().flip(0).unwrap();
    let out = Consumer::new(device.dlpack_shared(&part, Idle).unwrap());
    assert_eq!((out.shape(), out.flags().1), ((vec![2, 2], vec![-1, 4]), 1));
    // SAFETY: the element is there.
    assert_eq!(unsafe { *out.view().data.cast::<f32>() }, 7.0);
    drop(part);
    let x = x.try_unique().unwrap_err(); // the consumer may still read it
    drop(out);
    assert!(x.try_unique().is_ok());
    // A borrowed view has an owner who may write.
    let x = device.tensor([1], count(1)).unwrap();
    let borrowed: windlass::TensorRef<'_, f32> = x.view();
    let _ = borrowed;
    // Nothing at all.
    let out = Consumer::new(device.dlpack(device.zeros::<f64>([0, 2]).unwrap(), DlpackForm::Legacy, Idle).unwrap());
    assert!(out.view().data.is_null() && out.shape().0 == [0, 2]);
}

#[test]
fn a_tensor_outlives_its_device_and_a_rebuild() {
    for form in FORMS {
        let device = host(1).open().unwrap();
        let out = Consumer::new(device.dlpack(device.tensor([3], count(3)).unwrap(), form, Idle).unwrap());
        let made = Made::new(&[3], count(3));
        let deleted = made.deleted.clone();
        let x = device.tensor_of_dlpack(made.managed(form), Idle).unwrap();
        device.rebuild(crate::common::LONG).unwrap();
        assert!(device.bytes_any(&x).is_err(), "it is of an earlier generation");
        drop(x);
        assert!(eventually(10, || deleted.load(Ordering::SeqCst) == 1));
        drop(device);
        // SAFETY: the elements are there as long as the consumer has them.
        assert_eq!(unsafe { std::slice::from_raw_parts(out.view().data.cast::<f32>(), 3) }, [0.0, 1.0, 2.0]);
    }
}

#[test]
fn each_type_goes_out_and_comes_back() {
    for device in devices() {
        for dtype in crate::files::TYPES {
            let bits: Vec<u8> = (0..6 * dtype.size()).map(|i| (i % 2) as u8).collect();
            let x = device.tensor_any(dtype, [2, 3], &bits).unwrap();
            let out: Dlpack = device.dlpack(x, DlpackForm::Versioned, Idle).unwrap();
            let x = device.tensor_of_dlpack(out, Idle).unwrap();
            assert_eq!((x.dtype(), device.bytes_any(&x).unwrap()), (dtype, bits));
        }
    }
}
