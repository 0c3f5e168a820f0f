//! What does not fit is refused by name, with both values, and what was moved in comes back.

use crate::common::{devices, down, refused, routine, up};
use windlass::{Device, Error};

/// A vector that does not lie inside its buffer: elements, increment, and what the reason must say.
const BAD: [(usize, isize, &[&str]); 6] = [
    (4, 0, &["increment of 0"]),
    (9, 1, &["8 elements", "9"]),
    (5, 2, &["8 elements", "increment of 2", "9"]),
    (5, -2, &["8 elements", "increment of -2", "9"]),
    (4, isize::MAX, &["overflows"]),
    (4, isize::MIN, &["overflows"]),
];

#[track_caller]
fn says(error: &Error, name: &str, parts: &[&str]) {
    let (argument, reason) = refused(error);
    assert_eq!(argument, name, "{reason}");
    assert!(parts.iter().all(|part| reason.contains(part)), "{reason:?} lacks one of {parts:?}");
}

#[test]
fn vectors_outside_their_buffers_are_refused() {
    for device in devices() {
        let (blas, x) = (device.blas(), up(&device, [1.0f64; 8]));
        let y = || up(&device, [2.0f64; 8]);
        for (n, inc, parts) in BAD {
            let bad = || x.strided(n, inc);
            says(&blas.nrm2(bad()).unwrap_err(), "x", parts);
            says(&blas.asum(bad()).unwrap_err(), "x", parts);
            says(&blas.iamax(bad()).unwrap_err(), "x", parts);
            says(&blas.iamin(bad()).unwrap_err(), "x", parts);
            says(&blas.scal(1.0, y().into_strided(n, inc)).unwrap_err().error, "x", parts);
            says(&blas.scal_real(1.0, y().into_strided(n, inc)).unwrap_err().error, "x", parts);
            let good = || up(&device, vec![1.0f64; n]);
            says(&blas.dot(bad(), &good()).unwrap_err(), "x", parts);
            says(&blas.dot(&good(), bad()).unwrap_err(), "y", parts);
            says(&blas.axpy(1.0, bad(), good()).unwrap_err().error, "x", parts);
            says(&blas.copy(bad(), good()).unwrap_err().error, "x", parts);
            says(&blas.swap(good(), y().into_strided(n, inc)).unwrap_err().error, "y", parts);
            says(&blas.rot(1.0, 0.0, y().into_strided(n, inc), good()).unwrap_err().error, "x", parts);
            says(&blas.rotm([0.0; 5], good(), y().into_strided(n, inc)).unwrap_err().error, "y", parts);
            let rejected = blas.axpy(1.0, &good(), y().into_strided(n, inc)).unwrap_err();
            says(&rejected.error, "y", parts);
            let (back,) = rejected.back.unwrap();
            assert_eq!(down(&device, &back), [2.0; 8], "y comes back whole, as it was");
        }
    }
}

#[test]
fn vectors_of_different_lengths_are_refused() {
    for device in devices() {
        let (blas, x) = (device.blas(), up(&device, [1.0f64; 8]));
        let y = || up(&device, [2.0f64; 8]);
        let parts = ["3 elements", "8"];
        says(&blas.dot(x.strided(3, 2), &x).unwrap_err(), "x", &parts);
        says(&blas.copy(x.strided(3, 2), y()).unwrap_err().error, "x", &parts);
        says(&blas.axpy(1.0, x.strided(3, 2), y()).unwrap_err().error, "x", &parts);
        let rejected = blas.swap(y().into_strided(3, 1), y()).unwrap_err();
        says(&rejected.error, "x", &parts);
        let (a, b) = rejected.back.unwrap();
        assert_eq!((a.len(), b.len()), (8, 8), "both come back");
        says(&blas.rot(1.0, 0.0, y().into_strided(3, 1), y()).unwrap_err().error, "x", &parts);
        says(&blas.rotm([0.0; 5], y().into_strided(3, 1), y()).unwrap_err().error, "x", &parts);
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
        let rejected = blas.copy(&x, device.uninit(3).unwrap().into_strided(2, 2)).unwrap_err();
        assert!(rejected.error.to_string().contains("never written"), "{rejected}");
        let whole = blas.copy(&x, device.uninit(2).unwrap().into_strided(2, -1)).unwrap().await_result().unwrap();
        assert_eq!(down(&device, &whole), [2.0, 1.0]);
    }
}

#[test]
fn a_refusal_names_the_routine_that_was_called() {
    for device in devices() {
        let (blas, bad) = (device.blas(), || up(&device, [1.0f64; 8]).into_strided(9, 1));
        let (x, one) = (up(&device, [1.0f64; 8]), || up(&device, [1.0f64]));
        let far = || x.strided(9, 1);
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
