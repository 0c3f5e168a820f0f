//! A failure flows along data and along nothing else; work that overwrites all of a buffer heals it.
//!
//! The failing operations are ordered from the host engine's fault plan.

use crate::common::{Gate, columns, down, host, inline, into_columns, up};
use windlass::{Device, DeviceBuffer, Error, FaultPlan, Gemm};

/// Host devices whose operation `n` fails.
fn failing_at(n: u64) -> Vec<Device> {
    [host(2), inline()].map(|builder| builder.fault_plan(FaultPlan::new().fail(n)).open().unwrap()).into()
}

/// A buffer of ones whose update (operation 1 of the device) failed: what it should hold is -1, what it holds is not.
fn failed(device: &Device) -> DeviceBuffer<f64> {
    let x = up(device, [1.0f64; 4]);
    device.blas().scal(-1.0, x).unwrap().into_buffer()
}

#[track_caller]
fn assert_upstream<T: std::fmt::Debug>(answer: Result<T, impl Into<Error>>) {
    let error = answer.map_err(Into::into).expect_err("what it reads was never written");
    assert!(matches!(error, Error::Upstream { .. }), "{error}");
}

#[test]
fn the_operation_that_failed_says_so_and_gives_its_buffer_back() {
    for device in failing_at(1) {
        let x = up(&device, [1.0f64; 4]);
        let rejected = device.blas().scal(-1.0, x).unwrap().await_result().unwrap_err();
        assert!(matches!(rejected.error, Error::LibraryError { .. }), "{rejected}");
        let site = rejected.error.site().unwrap();
        let place = (site.op(), site.library(), site.device(), site.generation());
        assert_eq!(place, (Some("scal"), Some("blas"), Some(&*device.name()), Some(0)));
        let (x,) = rejected.back.expect("the buffer");
        assert_upstream(device.download(&x).unwrap().await_result());
    }
}

/// However far it is away, and nothing else tells of it: the chain was given on at once.
#[test]
fn what_follows_from_a_failure_tells_the_first_one() {
    for device in failing_at(1) {
        let x = failed(&device);
        let y = device.copy(&x, up(&device, [5.0; 4])).unwrap().into_output();
        let z = device.blas().axpy(1.0, &y, up(&device, [5.0; 4])).unwrap().into_buffer();
        let error = device.blas().nrm2(&z).unwrap().await_result().unwrap_err();
        assert_eq!(error.site().and_then(windlass::error::Site::op), Some("nrm2"));
        let first = error.first_failure().expect("the first failure");
        assert!(matches!(first, Error::LibraryError { message, .. } if message.contains("fault plan")), "{first}");
        let site = first.site().unwrap();
        assert_eq!((site.op(), site.library(), site.device()), (Some("scal"), Some("blas"), Some(&*device.name())));
        assert!(error.to_string().contains("fault plan") && error.to_string().contains("scal"), "{error}");
    }
}

#[test]
fn a_failure_flows_to_whatever_reads_the_result_however_far() {
    for device in failing_at(1) {
        let x = failed(&device);
        assert_upstream(device.blas().dot(&x, &x).unwrap().await_result());
        let y = device.copy(&x, up(&device, [5.0; 4])).unwrap().into_output();
        let z = device.blas().axpy(1.0, &y, up(&device, [5.0; 4])).unwrap().into_buffer();
        assert_upstream(device.download(&z).unwrap().await_result());
        let x = device.blas().scal(2.0, x).unwrap(); // an update reads
        let (error, back) = match x.await_result() {
            Err(rejected) => (rejected.error, rejected.back),
            Ok(_) => panic!("an update of what was never written"),
        };
        assert!(matches!(error, Error::Upstream { .. }));
        let x = back.expect("the buffer").0.share();
        assert_upstream(device.download(x.slice(1..2).unwrap()).unwrap().await_result());
        assert_eq!(down(&device, &up(&device, [3.0f64])), [3.0], "unrelated work goes on");
    }
}

#[test]
fn a_failure_flows_on_whether_the_failed_work_is_done_or_in_flight() {
    let device = host(1).fault_plan(FaultPlan::new().fail(2)).open().unwrap();
    let x = up(&device, [1.0f64]);
    let gate = Gate::default();
    let x = gate.hold(&device, x).into_output();
    let x = device.blas().scal(2.0, x).unwrap().into_buffer();
    let early = device.download(&x).unwrap(); // before the failure
    gate.open();
    device.synchronize(std::time::Duration::from_secs(60)).unwrap();
    let late = device.download(&x).unwrap();
    assert_upstream(early.await_result());
    assert_upstream(late.await_result());
}

#[test]
fn a_failed_reader_does_not_taint_the_writer_after_it() {
    // 0 and 1 upload; 2 reads x and fails; 3 writes x.
    for device in failing_at(2) {
        let (x, y) = (up(&device, [1.0f64; 4]), up(&device, [1.0f64; 4]));
        let y = device.blas().axpy(1.0, &x, y).unwrap().into_buffer();
        let x = device
            .blas()
            .scal(3.0, x)
            .unwrap()
            .await_result()
            .expect("it only had to wait for the reader")
            .into_buffer();
        assert_eq!(down(&device, &x), [3.0; 4]);
        assert_upstream(device.download(&y).unwrap().await_result());
    }
}

#[test]
fn overwriting_all_of_a_buffer_heals_it() {
    for device in failing_at(1) {
        let x = device.fill(failed(&device), 7.0).unwrap().await_result().expect("it reads nothing");
        assert_eq!(down(&device, &x), [7.0; 4]);
    }
    for device in failing_at(1) {
        let x = device.upload_into([1.0, 2.0, 3.0, 4.0], failed(&device)).unwrap().into_output();
        assert_eq!(down(&device, &x), [1.0, 2.0, 3.0, 4.0]);
    }
    for device in failing_at(1) {
        let x = failed(&device);
        let a = up(&device, [1.0f64; 4]);
        let (a, x) = (columns(&a, 2, 2), into_columns(x, 2, 2));
        let x = device.blas().gemm(Gemm::new(), &a, &a, x).unwrap().into_output();
        assert_eq!(down(&device, &x), [2.0; 4]);
    }
    for device in failing_at(1) {
        let x = failed(&device);
        let a = up(&device, [1.0f64; 4]);
        let (a, x) = (columns(&a, 2, 2), into_columns(x, 2, 2));
        assert_upstream(device.blas().gemm(Gemm::new().beta(1.0), &a, &a, x).unwrap().await_result());
    }
}

#[test]
fn overwriting_a_part_does_not_heal_the_rest() {
    for device in failing_at(1) {
        let x = failed(&device).narrow(0..2).unwrap();
        let x = device.fill(x, 7.0).unwrap().into_buffer().widen();
        assert_upstream(device.download(&x).unwrap().await_result());
    }
}

#[test]
fn parts_of_a_failed_buffer_have_failed_and_heal_one_by_one() {
    for device in failing_at(1) {
        let (left, right) = failed(&device).split_at(2).unwrap();
        let left = device.fill(left, 7.0).unwrap().into_output();
        assert_eq!(down(&device, &left), [7.0; 2]);
        assert_upstream(device.download(&right).unwrap().await_result());
        let right = device.fill(right, 8.0).unwrap().into_output();
        assert_eq!(down(&device, &left.into_buffer().join(right.into_buffer()).unwrap()), [7.0, 7.0, 8.0, 8.0]);
    }
}

/// A whole joined of a part whose update failed and one that is well.
fn joined(device: &Device, left_fails: bool) -> DeviceBuffer<f64> {
    let (mut left, mut right) = up(device, [1.0f64; 4]).split_at(2).unwrap();
    let part = if left_fails { &mut left } else { &mut right };
    let taken = std::mem::replace(part, device.uninit(0).unwrap().into_buffer());
    *part = device.blas().scal(-1.0, taken).unwrap().into_buffer();
    device.synchronize(std::time::Duration::from_secs(60)).unwrap();
    left.join(right).unwrap()
}

#[test]
fn a_failed_left_part_fails_the_whole_that_it_is_joined_to() {
    for device in failing_at(1) {
        assert_upstream(device.download(&joined(&device, true)).unwrap().await_result());
    }
}

#[test]
fn a_failed_right_part_fails_the_whole_that_it_is_joined_to() {
    for device in failing_at(1) {
        assert_upstream(device.download(&joined(&device, false)).unwrap().await_result());
    }
}

#[test]
fn the_verdict_of_a_split_pending_is_the_failure() {
    for device in failing_at(1) {
        let ((x,), verdict) = device.blas().scal(2.0, up(&device, [1.0f64])).unwrap().into_parts();
        assert!(matches!(verdict.await_result(), Err(Error::LibraryError { .. })));
        assert_upstream(device.download(&x).unwrap().await_result());
    }
}

#[test]
fn an_allocation_ordered_to_fail_is_out_of_memory_and_the_next_one_is_not() {
    let device = host(1).fault_plan(FaultPlan::new().out_of_memory(1)).open().unwrap();
    let x = up(&device, [1.0f64]);
    let error = device.duplicate(&x).unwrap_err();
    assert!(matches!(error, Error::OutOfMemory { requested: 8, .. }) && error.is_retryable(), "{error}");
    assert_eq!(down(&device, &device.duplicate(&x).unwrap().await_result().unwrap()), [1.0]);
}
