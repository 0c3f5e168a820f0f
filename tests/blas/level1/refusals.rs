//! What does not fit is refused by name, with both values, and what was moved in comes back.

use crate::common::{devices, down, refused, routine, up};
use windlass::tensor::Layout;
use windlass::{Device, DeviceBuffer, Error, Tensor};

#[track_caller]
fn says(error: &Error, name: &str, parts: &[&str]) {
    let (argument, reason) = refused(error);
    assert_eq!(argument, name, "{reason}");
    assert!(parts.iter().all(|part| reason.contains(part)), "{reason:?} lacks one of {parts:?}");
}

/// Outside of a buffer no view can be made, so a call sees none.
#[test]
fn vectors_outside_their_buffers_are_refused() {
    for device in devices() {
        let x = up(&device, [1.0f64; 8]);
        for (n, inc) in [(9, 1), (5, 2), (5, -2), (4, isize::MAX), (4, isize::MIN)] {
            let offset = if inc < 0 { 7 } else { 0 };
            let made = Layout::new([n], [inc], offset).and_then(|layout| x.view(layout).map(drop));
            assert!(matches!(made, Err(Error::InvalidArgument { .. })), "{n}, {inc}");
        }
        let y = up(&device, [2.0f64; 8]).with_layout(Layout::new([9], [1], 0).unwrap()).unwrap_err();
        assert_eq!(down(&device, &y.back.unwrap()), [2.0; 8], "y comes back whole, as it was");
    }
}

/// The first element, again and again.
fn broadcast(x: DeviceBuffer<f64>) -> Tensor<f64> {
    x.with_layout(Layout::new([8], [0], 0).unwrap()).unwrap()
}

#[test]
fn a_vector_that_is_broadcast_is_refused() {
    for device in devices() {
        let (blas, good, parts) = (device.blas(), || up(&device, [2.0f64; 8]), &["increment of 0"]);
        let (x, bad) = (broadcast(good()), || broadcast(good()));
        says(&blas.nrm2(&x).unwrap_err(), "x", parts);
        says(&blas.asum(&x).unwrap_err(), "x", parts);
        says(&blas.iamax(&x).unwrap_err(), "x", parts);
        says(&blas.iamin(&x).unwrap_err(), "x", parts);
        says(&blas.scal(1.0, bad()).unwrap_err().error, "x", parts);
        says(&blas.scal_real(1.0, bad()).unwrap_err().error, "x", parts);
        says(&blas.dot(&x, &good()).unwrap_err(), "x", parts);
        says(&blas.dot(&good(), &x).unwrap_err(), "y", parts);
        says(&blas.axpy(1.0, &x, good()).unwrap_err().error, "x", parts);
        says(&blas.copy(&x, good()).unwrap_err().error, "x", parts);
        says(&blas.swap(good(), bad()).unwrap_err().error, "y", parts);
        says(&blas.rot(1.0, 0.0, bad(), good()).unwrap_err().error, "x", parts);
        says(&blas.rotm([0.0; 5], good(), bad()).unwrap_err().error, "y", parts);
        let rejected = blas.axpy(1.0, &good(), bad()).unwrap_err();
        says(&rejected.error, "y", parts);
        let (back,) = rejected.back.unwrap();
        assert_eq!(down(&device, back.buffer()), [2.0; 8], "y comes back whole, as it was");
    }
}

#[test]
fn vectors_of_different_lengths_are_refused() {
    for device in devices() {
        let (blas, x) = (device.blas(), up(&device, [1.0f64; 8]));
        let y = || up(&device, [2.0f64; 8]);
        let parts = ["3 elements", "8"];
        let three = Layout::new([3], [2], 0).unwrap();
        let (short, shorts) = (|| x.view(&three).unwrap(), || y().with_layout(&three).unwrap());
        says(&blas.dot(short(), &x).unwrap_err(), "x", &parts);
        says(&blas.copy(short(), y()).unwrap_err().error, "x", &parts);
        says(&blas.axpy(1.0, short(), y()).unwrap_err().error, "x", &parts);
        let rejected = blas.swap(shorts(), y()).unwrap_err();
        says(&rejected.error, "x", &parts);
        let (a, b) = rejected.back.unwrap();
        assert_eq!((a.buffer().len(), b.len()), (8, 8), "both come back");
        says(&blas.rot(1.0, 0.0, shorts(), y()).unwrap_err().error, "x", &parts);
        says(&blas.rotm([0.0; 5], shorts(), y()).unwrap_err().error, "x", &parts);
    }
}

#[test]
fn buffers_of_another_device_are_refused() {
    for device in devices() {
        let other = Device::builder().host().open().unwrap();
        let (theirs, ours) = (up(&other, [1.0f64; 2]), up(&device, [1.0f64; 2]));
        assert!(matches!(device.blas().asum(&theirs), Err(Error::InvalidArgument { .. })));
        let rejected = device.blas().copy(&theirs, ours).unwrap_err();
        assert!(matches!(rejected.error, Error::InvalidArgument { .. }));
        let (ours,) = rejected.back.unwrap();
        let rejected = device.blas().swap(ours, theirs).unwrap_err();
        assert!(matches!(rejected.error, Error::InvalidArgument { .. }) && rejected.back.is_some());
    }
}

/// Gaps are not written, so a vector with gaps does not make a buffer of what was never written.
#[test]
fn a_strided_copy_does_not_count_as_writing_all_of_a_buffer() {
    for device in devices() {
        let (blas, x) = (device.blas(), up(&device, [1.0f64, 2.0]));
        let rejected = blas
            .copy(&x, device.uninit(3).unwrap().with_layout(Layout::new([2], [2], 0).unwrap()).unwrap())
            .unwrap_err();
        assert!(rejected.error.to_string().contains("never written"), "{rejected}");
        let back = device.uninit([2]).unwrap().part(|all| all.flip(0)).unwrap();
        assert_eq!(down(&device, blas.copy(&x, back).unwrap()), [2.0, 1.0]);
    }
}

#[test]
fn a_refusal_names_the_routine_that_was_called() {
    for device in devices() {
        let (blas, bad) = (device.blas(), || broadcast(up(&device, [1.0f64; 8])));
        let (x, one) = (up(&device, [1.0f64; 8]), || up(&device, [1.0f64]));
        let apart = bad();
        let far = || &apart;
        assert_eq!(routine(blas.dot(far(), &x)), "dot");
        assert_eq!(routine(blas.dotc(far(), &x)), "dotc");
        assert_eq!(routine(blas.dot_into(far(), &x, one())), "dot");
        assert_eq!(routine(blas.dotc_into(far(), &x, one())), "dotc");
        assert_eq!(routine(blas.nrm2(far())), "nrm2");
        assert_eq!(routine(blas.asum(far())), "asum");
        assert_eq!(routine(blas.iamax(far())), "iamax");
        assert_eq!(routine(blas.iamin(far())), "iamin");
        assert_eq!(routine(blas.axpy(1.0, &x, bad())), "axpy");
        assert_eq!(routine(blas.scal(1.0, bad())), "scal");
        assert_eq!(routine(blas.scal_real(1.0, bad())), "scal_real");
        assert_eq!(routine(blas.copy(&x, bad())), "copy");
        assert_eq!(routine(blas.swap(bad(), bad())), "swap");
        assert_eq!(routine(blas.rot(1.0, 0.0, bad(), bad())), "rot");
        assert_eq!(routine(blas.rot_real(1.0, 0.0, bad(), bad())), "rot_real");
        assert_eq!(routine(blas.rotm([0.0; 5], bad(), bad())), "rotm");
    }
}
