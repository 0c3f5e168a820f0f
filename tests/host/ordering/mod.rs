//! An operation sees the effect of every earlier one on its buffers, and nothing else waits for it.

use crate::common;

mod failures;
mod program;

use common::{Gate, beside_work, busy, concurrent_devices, devices, down, host, up, within};
use windlass::{Device, DeviceBuffer, Gemm, GpuRef};

#[test]
fn a_chain_of_updates_runs_in_program_order_with_no_wait_on_the_host() {
    for device in devices() {
        within(60, move || {
            let (blas, one) = (device.blas(), up(&device, [1.0f64]));
            let mut x = up(&device, [0.0f64]);
            let mut want = 0.0;
            for i in 0..2000u32 {
                // Neither of the two commutes with the other.
                x = blas.axpy(f64::from(i % 5), &one, x).unwrap().into_buffer();
                x = blas.scal(if i % 2 == 0 { 2.0 } else { 0.5 }, x).unwrap().into_buffer();
                want = (want + f64::from(i % 5)) * if i % 2 == 0 { 2.0 } else { 0.5 };
            }
            assert_eq!(down(&device, &x), [want], "{device:?}");
        });
    }
}

/// Whoever waited for what it follows before it is submitted would wait for ever.
#[test]
fn a_chain_is_submitted_while_its_first_link_is_held() {
    within(60, || {
        let device = host(2).open().unwrap();
        let (gate, one) = (Gate::default(), up(&device, [1.0f64]));
        let x = gate.hold(&device, up(&device, [0.0f64])).into_output();
        gate.await_arrivals(1);
        let x = (0..500).fold(x, |x, _| device.blas().axpy(1.0, &one, x).unwrap().into_buffer());
        let sum = device.download(&x).unwrap();
        assert!(!sum.is_ready());
        gate.open();
        assert_eq!(sum.await_result().unwrap(), [500.0]);
    });
}

#[test]
fn work_on_an_unrelated_buffer_is_done_while_other_work_is_held() {
    within(60, || {
        let device = host(2).open().unwrap();
        let gate = Gate::default();
        let held = gate.hold(&device, up(&device, [1.0f64]));
        gate.await_arrivals(1);
        let other = up(&device, [2.0f64]);
        assert_eq!(device.blas().dot(&other, &other).unwrap().await_result().unwrap(), 4.0);
        assert!(!held.is_ready());
        gate.open();
        assert_eq!(down(&device, &held.await_result().unwrap()), [1.0]);
    });
}

/// `2 x + y` into a buffer that slow work is still busy with: it begins late, with `x` and `y` as they are now.
fn late_reader(device: &Device, x: &GpuRef<f64>, y: &GpuRef<f64>) -> DeviceBuffer<f64> {
    let own = busy(device, device.zeros(x.len()).unwrap().into_buffer(), 1);
    let own = device.blas().axpy(2.0, x, own).unwrap().into_buffer();
    device.blas().axpy(1.0, y, own).unwrap().into_buffer()
}

#[test]
fn the_last_handle_is_the_owner_while_readers_are_in_flight_and_the_next_writer_follows_them() {
    for device in devices() {
        within(60, move || {
            for _ in 0..40 {
                let x = up(&device, vec![1.0f64; 512]).share();
                let y = x.clone();
                let reader = late_reader(&device, &x, &y);
                assert!(x.try_unique().is_err(), "two handles");
                let x = y.try_unique().expect("the last handle; the reader in flight does not count");
                let x = device.fill(x, 7.0).unwrap().into_output();
                assert_eq!(down(&device, &reader), [3.0; 512], "the reader saw what was there before");
                assert_eq!(down(&device, &x), [7.0; 512]);
            }
        });
    }
}

#[test]
fn a_writer_waits_for_every_reader_on_every_queue() {
    for device in devices() {
        within(60, move || {
            for _ in 0..20 {
                let mut x = up(&device, vec![3.0f64; 64]);
                let shared = x.share();
                let readers: Vec<_> = (0..12).map(|_| late_reader(&device, &shared, &shared)).collect();
                x = device.fill(shared.try_unique().unwrap(), -1.0).unwrap().into_buffer();
                for reader in readers {
                    assert_eq!(down(&device, &reader), [9.0; 64]);
                }
                assert_eq!(down(&device, &x), [-1.0; 64]);
            }
        });
    }
}

#[test]
fn a_reader_dropped_in_flight_still_holds_the_writer_off() {
    for device in devices() {
        within(60, move || {
            for _ in 0..20 {
                let x = up(&device, vec![3.0f64; 64]);
                let own = busy(&device, device.zeros(64).unwrap().into_buffer(), 1);
                let ((target,), verdict) = device.copy(&x, own).unwrap().into_parts();
                drop(verdict);
                common::forget(device.download(&x).unwrap());
                drop(device.fill(x, 0.0).unwrap());
                assert_eq!(down(&device, &target), [3.0; 64]);
            }
        });
    }
}

#[test]
fn work_on_unrelated_buffers_does_not_wait() {
    for device in concurrent_devices() {
        within(60, move || {
            beside_work(400, |ms| {
                let held = busy(&device, up(&device, [1.0f64]), ms);
                let slow = device.download(&held).unwrap();
                let other = up(&device, [2.0f64]);
                assert_eq!(device.blas().dot(&other, &other).unwrap().await_result().unwrap(), 4.0);
                let lasts = !slow.is_ready();
                assert_eq!(slow.await_result().unwrap(), [1.0]);
                lasts
            });
        });
    }
}

#[test]
fn parts_of_one_buffer_are_worked_on_at_the_same_time() {
    for device in concurrent_devices() {
        within(60, move || {
            beside_work(400, |ms| {
                let (left, right) = up(&device, [1.0f64; 8]).split_at(4).unwrap();
                assert!(device.synchronize(common::LONG).is_ok());
                let left = busy(&device, left, ms);
                let slow = device.download(&left).unwrap();
                let right = device.blas().scal(3.0, right).unwrap().await_result().unwrap().into_buffer();
                let lasts = !slow.is_ready();
                // Joined, what follows waits for both.
                assert_eq!(down(&device, &left.join(right).unwrap()), [1., 1., 1., 1., 3., 3., 3., 3.]);
                assert_eq!(slow.await_result().unwrap(), [1.0; 4]);
                lasts
            });
        });
    }
}

#[test]
fn two_parts_meet_at_gates_of_their_own() {
    let device = host(2).open().unwrap();
    let (left, right) = up(&device, [1.0f64; 8]).split_at(4).unwrap();
    let gate = Gate::default();
    let left = gate.hold(&device, left).into_output();
    let right = gate.hold(&device, right).into_output();
    gate.await_arrivals(2); // both are inside their host halves now
    gate.open();
    assert_eq!(down(&device, &left.join(right).unwrap()), [1.0; 8]);
}

#[test]
fn parts_start_from_what_was_in_flight_on_the_whole() {
    for device in devices() {
        within(60, move || {
            for _ in 0..20 {
                let whole = busy(&device, up(&device, vec![1.0f64; 16]), 1);
                let whole = device.blas().scal(5.0, whole).unwrap().into_buffer();
                let own = busy(&device, device.zeros(16).unwrap().into_buffer(), 2);
                let reader = device.copy(&whole, own).unwrap().into_output();
                let (left, right) = whole.split_at(8).unwrap();
                let left = device.fill(left, 0.0).unwrap().into_output();
                assert_eq!(down(&device, &right), [5.0; 8]);
                let right = device.fill(right, 1.0).unwrap().into_output();
                assert_eq!(down(&device, &reader), [5.0; 16], "the parts waited for the reader of the whole");
                assert_eq!(down(&device, &left.into_buffer().join(right.into_buffer()).unwrap())[7..9], [0.0, 1.0]);
            }
        });
    }
}

#[test]
fn one_buffer_may_be_read_twice_by_one_operation() {
    for device in devices() {
        let a = device.tensor([2, 2], [1.0f64, 2.0, 3.0, 4.0]).unwrap();
        let c = device.blas().gemm(Gemm::new(), &a, &a, device.uninit([2, 2]).unwrap()).unwrap();
        let c = c.into_output();
        let a = device.fill(a.into_buffer(), 0.0).unwrap().into_output();
        assert_eq!((down(&device, &c), down(&device, &a)), (vec![7., 10., 15., 22.], vec![0.; 4]));
    }
}

#[test]
fn threads_that_share_a_buffer_see_the_writes_made_before_it_was_shared() {
    for device in devices() {
        within(60, move || {
            for round in 0..50u32 {
                let x = busy(&device, device.zeros::<f64>(32).unwrap().into_buffer(), 1);
                let x = device.fill(x, f64::from(round)).unwrap().into_output().share();
                std::thread::scope(|scope| {
                    for _ in 0..4 {
                        let (device, x) = (&device, x.clone());
                        scope.spawn(move || assert_eq!(down(device, &x), [f64::from(round); 32]));
                    }
                });
                let x = x.try_unique().expect("the threads dropped theirs");
                drop(device.fill(x, -1.0).unwrap());
            }
        });
    }
}
