//! Captures beside other threads: the simulated driver breaks one that is not alone where a real one may, and says so.

use super::{N, is_done, program, session};
use crate::common;
use crate::standin;

use common::{Asleep, LONG, down, eventually, let_others_run, up};
use standin::{Driver, Mode, device};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use windlass::{Device, Gemm, Program};

/// The second replay on the same buffers is captured.
fn replay_twice(device: &Device, program: &Program) -> Vec<f32> {
    let x = up(device, vec![1.0f32; N]);
    let mut y = up(device, vec![0.0f32; N]);
    for _ in 0..2 {
        y = program.replay((&x,), (y,)).unwrap().await_result().unwrap().operands.0.into_buffer();
    }
    down(device, &y)
}

/// A product on a slot that has no handle yet.
fn first_product(device: &Device) {
    let (a, b) = (device.full([2, 2], 1.0f64).unwrap(), device.full([2, 2], 1.0f64).unwrap());
    let c = device.blas().gemm(Gemm::new(), &a, &b, device.zeros([2, 2]).unwrap()).unwrap();
    assert_eq!(down(device, &c.into_output()), [2.0; 4]);
}

#[track_caller]
fn comes(driver: &Driver, call: &str, before: u64) {
    assert!(eventually(LONG.as_secs(), || driver.calls_of(call) > before), "nobody calls {call}");
}

#[test]
fn who_wants_the_driver_during_a_capture_has_it_afterwards() {
    let driver = session();
    let device = device(4);
    let (program, _) = program(&device);
    let x = up(&device, vec![1.0f32; N]);
    let y = up(&device, vec![0.0f32; N]);
    let (y,) = program.replay((&x,), (y,)).unwrap().await_result().unwrap().operands;
    is_done(&device);
    let (axpys, handles) = (driver.calls_of("cublasAxpyEx"), driver.calls_of("cublasCreate"));
    let held = driver.hold("cublasAxpyEx_64");
    std::thread::scope(|scope| {
        let replay = scope.spawn(|| program.replay((&x,), (y,)).unwrap().await_result().unwrap().operands);
        comes(&driver, "cublasAxpyEx", axpys);
        let (asleep, device) = (Asleep::default(), &device);
        let here = asleep.clone();
        let other = scope.spawn(move || {
            here.here();
            first_product(device);
        });
        asleep.wait();
        let_others_run();
        assert_eq!(driver.calls_of("cublasCreate"), handles, "a handle is made beside a capture");
        assert!(!other.is_finished());
        drop(held);
        other.join().unwrap();
        assert_eq!(down(device, &replay.join().unwrap().0), [4.0; N]);
    });
    assert_eq!(program.stats().graph_launches, 1, "{:?}", program.stats());
    drop((x, program, device));
    driver.assert_finished();
}

#[test]
fn a_thread_that_stays_in_the_driver_puts_a_capture_off_and_no_replay() {
    let driver = session();
    let device = device(4);
    let (program, _) = program(&device);
    let x = up(&device, vec![1.0f32; N]);
    let y = up(&device, vec![0.0f32; N]);
    let (y,) = program.replay((&x,), (y,)).unwrap().await_result().unwrap().operands;
    is_done(&device);
    let handles = driver.calls_of("cublasCreate");
    let held = driver.hold("cublasCreate_v2");
    let mut y = std::thread::scope(|scope| {
        let mut y = y;
        let other = scope.spawn(|| first_product(&device));
        comes(&driver, "cublasCreate", handles);
        for round in 2..4 {
            (y,) = program.replay((&x,), (y,)).unwrap().await_result().unwrap().operands;
            assert_eq!(down(&device, &y), [2.0 * round as f32; N]);
        }
        let stats = program.stats();
        assert_eq!((stats.graph_launches, stats.instantiations), (0, 0), "{stats:?}");
        assert!(stats.put_off > 0, "{stats:?}");
        drop(held);
        other.join().unwrap();
        y
    });
    // How often it is put off says when it is tried again.
    let tries = 1 + (1 << program.stats().put_off);
    for _ in 0..tries {
        (y,) = program.replay((&x,), (y,)).unwrap().await_result().unwrap().operands;
        is_done(&device);
    }
    assert!(program.stats().graph_launches > 0, "{:?}", program.stats());
    drop((x, y, program, device));
    driver.assert_finished();
}

/// Allocations, first uses on every slot, copies both ways, devices that come and go, and several programs at once.
#[test]
fn captures_beside_eight_threads_that_do_everything_else() {
    for mode in [Mode::Auto, Mode::Background] {
        let driver = session();
        driver.mode(mode);
        let device = device(4);
        let (over, launched) = (AtomicBool::new(false), AtomicU64::new(0));
        let launches: u64 = std::thread::scope(|scope| {
            for thread in 0..8 {
                let (device, over) = (&device, &over);
                scope.spawn(move || {
                    while !over.load(Ordering::Relaxed) {
                        match thread % 4 {
                            0 => first_product(&standin::device(2)),
                            1 => first_product(device),
                            2 => {
                                let x = up(device, vec![1.0f32; 64 << 10]);
                                let x = device.blas().scal(2.0, x).unwrap().into_buffer();
                                assert_eq!(down(device, &x)[0], 2.0);
                            }
                            _ => assert_eq!(down(device, &device.zeros::<f32>(100).unwrap()), [0.0; 100]),
                        }
                    }
                });
            }
            let launched = &launched;
            let capturing: Vec<_> = (0..3)
                .map(|_| {
                    let device = &device;
                    scope.spawn(move || {
                        // A capture that meets others is put off, and how often it does is the machine's affair: until one is not.
                        for k in 0.. {
                            if k >= 20 && (k >= 2000 || launched.load(Ordering::Relaxed) > 0) {
                                break;
                            }
                            let (program, _) = program(device);
                            assert_eq!(replay_twice(device, &program), [4.0; N]);
                            launched.fetch_add(program.stats().graph_launches, Ordering::Relaxed);
                        }
                    })
                })
                .collect();
            let ends = capturing.into_iter().map(|thread| thread.join()).collect::<Vec<_>>();
            over.store(true, Ordering::Relaxed);
            ends.into_iter().for_each(|end| end.unwrap());
            launched.load(Ordering::Relaxed)
        });
        assert!(launches > 0, "each capture was put off");
        drop(device);
        driver.assert_finished();
    }
}
