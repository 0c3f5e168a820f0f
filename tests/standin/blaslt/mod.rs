//! Fused products on the CUDA engine, call by call, and what goes wrong with them; on the stand-in for the libraries.

mod beside;
#[allow(dead_code, unreachable_pub, reason = "what the suite on every device has, in part")]
#[path = "../../blas/blaslt/case.rs"]
mod case;
#[allow(dead_code, unreachable_pub, reason = "what the suite on every device has, in part")]
#[path = "../../blas/blaslt/check.rs"]
mod check;
#[allow(dead_code, unreachable_pub, reason = "what the suite on every device has, in part")]
#[path = "../../blas/blaslt/kept.rs"]
mod kept;
use crate::common;
use crate::standin;
mod padded;
mod tuned;

use common::{columns, down, new_columns, rows, up};
use standin::{Current, Mode, session};
use std::time::Duration;
use windlass::blaslt::{Epilogue, Operands};
use windlass::tensor::Layout;
use windlass::{Device, DeviceBuffer, Error, Matmul, Tensor};

const ASK: &str = "cublasLtMatmulAlgoGetHeuristic";
const MATMUL: &str = "cublasLtMatmul";

/// With room for every slot's workspace, which is part of a problem.
fn device(slots: usize) -> Device {
    standin::driver().set_total_memory(1 << 30);
    standin::device(slots)
}

/// `y = x * 1` of eight elements.
fn copy(device: &Device, x: &DeviceBuffer<f32>, one: &DeviceBuffer<f32>, y: DeviceBuffer<f32>) -> DeviceBuffer<f32> {
    let (x, one, y) = (columns(x, 8, 1), columns(one, 1, 1), column(y));
    device.blas_lt().matmul(Matmul::new(), x, one, y).expect("a product").into_buffer()
}

fn column(y: DeviceBuffer<f32>) -> Tensor<f32> {
    y.with_layout(Layout::columns(8, 1)).expect("a layout")
}

#[test]
fn a_known_product_is_one_look_at_the_context_the_library_call_and_one_record() {
    let driver = session();
    let current = Current::of(0);
    let device = device(1);
    let (x, one, mut y) = (up(&device, [3.0f32; 8]), up(&device, [1.0f32]), up(&device, [0.0f32; 8]));
    y = copy(&device, &x, &one, y);
    assert_eq!(down(&device, &y), [3.0; 8]);
    device.synchronize(Duration::from_secs(60)).unwrap();
    driver.mode(Mode::Manual);
    for _ in 0..4 {
        // Its verdict is kept, so that the housekeeping thread has nothing to do.
        let (next, calls) = driver.calls_in(|| copy(&device, &x, &one, y));
        let library: Vec<_> = calls.iter().filter(|call| call.starts_with("cublas")).collect();
        assert_eq!(library, [MATMUL], "{calls:?}");
        assert!(
            calls.iter().filter(|call| call.starts_with("cu") && !call.starts_with("cublas")).count() <= 4,
            "{calls:?}"
        );
        y = next;
    }
    driver.mode(Mode::Eager);
    assert_eq!(down(&device, &y), [3.0; 8]);
    assert_eq!((device.stats().plan_hits, device.stats().plan_misses), (4, 1));
    drop((x, one, y, device, current));
    driver.assert_finished();
}

#[test]
fn slots_and_threads_share_what_one_of_them_was_told() {
    let driver = session();
    driver.mode(Mode::Background);
    let device = device(8);
    let asked = driver.calls_of(ASK);
    let (x, one) = (up(&device, [3.0f32; 8]), up(&device, [1.0f32]));
    let y = up(&device, [0.0f32; 8]);
    drop(copy(&device, &x, &one, y));
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let y = (0..40).fold(up(&device, [0.0f32; 8]), |y, _| copy(&device, &x, &one, y));
                assert_eq!(down(&device, &y), [3.0; 8]);
            });
        }
    });
    assert_eq!(driver.calls_of(ASK) - asked, 1);
    let stats = device.stats();
    assert_eq!((stats.plan_hits, stats.plan_misses), (8 * 40, 1));
    drop((x, one, device));
    driver.assert_finished();
}

#[test]
fn what_the_library_refuses_is_unsupported_with_its_word_and_costs_nothing() {
    let driver = session();
    let device = device(2);
    let (x, one) = (up(&device, [3.0f32; 8]), up(&device, [1.0f32]));
    for code in [15, 8, 7] {
        // As it lies, which is known from the second time on, and padded.
        driver.fail(ASK, 0, code);
        driver.fail(ASK, 1, code);
        let y = up(&device, [5.0f32; 8]);
        let (x_1, one_1) = (columns(&x, 8, 1), columns(&one, 1, 1));
        let rejected = device.blas_lt().matmul(Matmul::new(), x_1, one_1, column(y)).unwrap_err();
        let Error::Unsupported { reason, site, .. } = &rejected.error else { panic!("{}", rejected.error) };
        assert!(reason.contains("CUBLAS_STATUS_") && reason.contains("1 x 8"), "{reason}");
        assert_eq!(site.op(), Some("matmul"));
        // Nothing was enqueued, so what it would have written is what it was.
        assert_eq!(down(&device, &rejected.back.unwrap().0), [5.0; 8]);
        driver.clear();
    }
    // What is remembered is that it does not go as it lies.
    let y = copy(&device, &x, &one, up(&device, [5.0f32; 8]));
    assert_eq!(down(&device, &y), [3.0; 8]);
    drop((x, one, y, device));
    driver.assert_finished();
}

#[test]
fn a_library_call_that_fails_is_a_library_error_and_memory_is_asked_for_once_more() {
    let driver = session();
    let device = device(1);
    let (x, one) = (up(&device, [3.0f32; 8]), up(&device, [1.0f32]));
    // The first handle finds no memory; after what could be given back was, there is some.
    driver.fail("cublasLtCreate", 0, 3);
    let mut y = copy(&device, &x, &one, up(&device, [5.0f32; 8]));
    assert_eq!(down(&device, &y), [3.0; 8]);
    driver.fail(MATMUL, 0, 14);
    let (x_1, one_1) = (columns(&x, 8, 1), columns(&one, 1, 1));
    let rejected = device.blas_lt().matmul(Matmul::new(), x_1, one_1, column(y)).unwrap_err();
    assert!(matches!(rejected.error, Error::LibraryError { .. }), "{}", rejected.error);
    assert!(rejected.error.to_string().contains("CUBLAS_STATUS_INTERNAL_ERROR"), "{}", rejected.error);
    driver.clear();
    // What a failed product would have written is not to be read, but may be written anew.
    y = copy(&device, &x, &one, rejected.back.unwrap().0.into_buffer());
    assert_eq!(down(&device, &y), [3.0; 8]);
    drop((x, one, y, device));
    driver.assert_finished();
}

#[test]
fn a_rebuilt_device_asks_anew_and_leaves_no_handle_behind() {
    let driver = session();
    let device = device(2);
    for generation in 0..3 {
        let (x, one) = (up(&device, [3.0f32; 8]), up(&device, [1.0f32]));
        let y = copy(&device, &x, &one, up(&device, [5.0f32; 8]));
        assert_eq!(down(&device, &y), [3.0; 8]);
        let stats = device.stats();
        assert_eq!((stats.generation, stats.plan_misses), (generation, 1));
        drop((x, one, y));
        device.rebuild(Duration::from_secs(60)).unwrap();
    }
    drop(device);
    driver.assert_finished();
}

#[test]
fn handles_are_made_ahead_for_every_slot() {
    let driver = session();
    let device = device(3);
    device.blas_lt().warm().unwrap();
    assert_eq!(device.stats().library_handles, 3);
    drop(device);
    driver.assert_finished();
}

/// One column has no next one, however far away the caller says it is: the library is not told.
#[test]
fn a_single_column_may_be_said_to_lie_far_from_the_next() {
    let driver = session();
    let device = device(1);
    let (a, b) = (up(&device, [1.0f64, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]), up(&device, [1.0, 10.0]));
    let c = up(&device, [100.0; 4]);
    let far = |m| Layout::columns(m, 1).ld(1 << 61);
    let operands = Operands::new(columns(&a, 4, 2), b.view(far(2)).unwrap()).c(c.view(far(4)).unwrap());
    let d = device.uninit(4).unwrap().with_layout(far(4)).unwrap();
    let d = device.blas_lt().matmul_with(Matmul::new().beta(1.0), operands, Epilogue::none(), d).unwrap();
    let d = d.await_result().unwrap();
    assert_eq!(down(&device, &d), [151.0, 162.0, 173.0, 184.0]);
    drop((a, b, c, d, device));
    driver.assert_finished();
}

/// The stand-in rounds the factors when the compute type says so: which is part of the problem.
#[test]
fn tf32_is_asked_for_where_it_is_allowed() {
    let driver = session();
    let device = device(1);
    let fine = 1.0 + 2.0f32.powi(-12);
    let (x, one) = (up(&device, [fine; 8]), up(&device, [1.0f32]));
    for (allowed, want) in [(false, fine), (true, 1.0), (false, fine), (true, 1.0)] {
        let (x, one, d) = (columns(&x, 8, 1), columns(&one, 1, 1), new_columns(&device, 8, 1));
        let d = device.blas_lt().matmul(Matmul::new().tf32(allowed), x, one, d).unwrap().await_result().unwrap();
        assert_eq!(down(&device, &d), [want; 8], "{allowed}");
    }
    assert_eq!((device.stats().plan_hits, device.stats().plan_misses), (2, 2));
    drop((x, one, device));
    driver.assert_finished();
}

/// The library refuses a C at D's address when their types differ, though a zero `beta` does not read it.
#[test]
fn a_c_of_another_type_does_not_lie_where_d_does() {
    use windlass::F8E4M3;
    let driver = session();
    let device = device(1);
    let ones = up(&device, vec![F8E4M3::from_f32(1.0); 16 * 16]);
    let (a, b, d) = (rows(&ones, 16, 16), columns(&ones, 16, 16), new_columns::<F8E4M3>(&device, 16, 16));
    let d = device.blas_lt().matmul(Matmul::new(), a, b, d).unwrap();
    let d = d.await_result().unwrap();
    assert_eq!(down(&device, &d), vec![F8E4M3::from_f32(16.0); 16 * 16]);
    drop((ones, d, device));
    driver.assert_finished();
}
