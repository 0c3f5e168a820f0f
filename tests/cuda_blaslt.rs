//! Fused products on the CUDA engine, call by call, and what goes wrong with them; on the stand-in for the libraries.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]
#![cfg(all(feature = "blas", feature = "blaslt", target_os = "linux"))]

mod common;
mod standin;

use common::{down, up};
use standin::{Current, Mode, session};
use std::time::Duration;
use windlass::blaslt::{Epilogue, Operands, Order};
use windlass::{Device, DeviceBuffer, Error, Matmul, Transpose};

const ASK: &str = "cublasLtMatmulAlgoGetHeuristic";
const MATMUL: &str = "cublasLtMatmul";

/// With room for every slot's workspace, which is part of a problem.
fn device(slots: usize) -> Device {
    standin::driver().set_total_memory(1 << 30);
    Device::builder().cuda(0).slots(slots).open().expect("the stand-in opens")
}

/// `y = x * 1` of eight elements.
fn copy(device: &Device, x: &DeviceBuffer<f32>, one: &DeviceBuffer<f32>, y: DeviceBuffer<f32>) -> DeviceBuffer<f32> {
    device.blas_lt().matmul(Matmul::new(8, 1, 1), x, one, y).expect("a product").into_output()
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
        driver.fail(ASK, 0, code);
        let y = up(&device, [5.0f32; 8]);
        let rejected = device.blas_lt().matmul(Matmul::new(8, 1, 1), &x, &one, y).unwrap_err();
        let Error::Unsupported { reason, site } = &rejected.error else { panic!("{}", rejected.error) };
        assert!(reason.contains("CUBLAS_STATUS_") && reason.contains("8 x 1"), "{reason}");
        assert_eq!(site.op(), Some("matmul"));
        // Nothing was enqueued, so what it would have written is what it was.
        assert_eq!(down(&device, &rejected.back.unwrap().0), [5.0; 8]);
        driver.clear();
    }
    // Nothing of that is remembered.
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
    let rejected = device.blas_lt().matmul(Matmul::new(8, 1, 1), &x, &one, y).unwrap_err();
    assert!(matches!(rejected.error, Error::LibraryError { .. }), "{}", rejected.error);
    assert!(rejected.error.to_string().contains("CUBLAS_STATUS_INTERNAL_ERROR"), "{}", rejected.error);
    driver.clear();
    // What a failed product would have written is not to be read, but may be written anew.
    y = copy(&device, &x, &one, rejected.back.unwrap().0);
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

#[test]
fn a_measured_way_is_used_by_every_slot_from_then_on() {
    let driver = session();
    let device = device(4);
    let x = up(&device, vec![1.0f32; 64]);
    let spec = Matmul::new(8, 8, 8).trans_a(Transpose::Yes);
    // Each slot has a plan of the guessed way first.
    for _ in 0..8 {
        let ds: Vec<_> = (0..4).map(|_| device.uninit(64).unwrap()).collect();
        ds.into_iter().for_each(|d| drop(device.blas_lt().matmul(spec, &x, &x, d).unwrap().into_output()));
    }
    let d = up(&device, vec![7.0f32; 64]);
    let (d, tuning) = device.blas_lt().autotune(spec, Operands::new(&x, &x), Epilogue::none(), d).unwrap();
    assert_eq!(down(&device, &d), [7.0; 64]);
    assert_eq!(tuning.candidates.len(), 3);
    assert!(tuning.chosen.is_some());
    let asked = driver.calls_of(ASK);
    for _ in 0..8 {
        let d = device.blas_lt().matmul(spec, &x, &x, device.uninit(64).unwrap()).unwrap().await_result().unwrap();
        assert_eq!(down(&device, &d), [8.0; 64]);
    }
    assert_eq!(driver.calls_of(ASK), asked);
    assert_eq!(device.stats().plans_pinned, 1);
    drop((x, d, device));
    driver.assert_finished();
}

/// What our own half of a product refuses, for the library would end in a fault or has no way.
#[test]
fn auxiliary_matrices_between_vectors_and_gradients_of_8_bit_factors_are_unsupported() {
    use windlass::{F8E4M3, bf16};
    let driver = session();
    let device = device(2);
    let lt = device.blas_lt();
    let (x, one, mask) = (up(&device, [3.0f32; 8]), up(&device, [1.0f32; 2]), up(&device, [0u8; 64]));
    let spec = Matmul::new(4, 2, 1);
    for (from, refused) in [(0, false), (16, false), (1, true), (8, true)] {
        let epilogue = Epilogue::drelu(mask.as_in().slice(from..64).unwrap());
        let outcome = lt.matmul_with(spec, Operands::new(&x, &one), epilogue, up(&device, [5.0f32; 8]));
        match outcome {
            Ok(pending) => {
                assert_eq!((down(&device, &pending.await_result().unwrap()), refused), (vec![0.0; 8], false))
            }
            Err(rejected) => {
                let Error::Unsupported { reason, .. } = &rejected.error else { panic!("{}", rejected.error) };
                assert!(refused && reason.contains(&format!("{} past one", from % 16)), "{reason}");
                assert_eq!(down(&device, &rejected.back.unwrap().0), [5.0; 8]);
            }
        }
    }
    let factor = up(&device, [F8E4M3::ONE; 16 * 16]);
    // The terms of the sum lie side by side: the library's epilogue does not take that, and a product of ones has none.
    let spec = Matmul::new(16, 16, 16).trans_a(Transpose::Yes);
    let (grad, d) = (up(&device, [bf16::ONE; 16]), up(&device, [bf16::ONE; 256]));
    let rejected = lt.matmul_with(spec, Operands::new(&factor, &factor), Epilogue::bgrad_a(grad), d).unwrap_err();
    let Error::Unsupported { reason, .. } = &rejected.error else { panic!("{}", rejected.error) };
    assert!(reason.contains("f8e4m3"), "{reason}");
    let (d, grad) = rejected.back.unwrap();
    assert_eq!((down(&device, &d), down(&device, &grad)), (vec![bf16::ONE; 256], vec![bf16::ONE; 16]));
    drop((x, one, mask, factor, d, grad, lt, device));
    driver.assert_finished();
}

/// A mask with gaps is filled with zeros, an odd bias copied, and zeros stand for what is not read: all that only once it
/// is known that the library has a way.
#[test]
fn a_refusal_leaves_what_lies_beside_a_product_as_it_was() {
    let driver = session();
    let device = device(2);
    let lt = device.blas_lt();
    let (x, one) = (up(&device, [3.0f32; 8]), up(&device, [1.0f32; 2]));
    let bias = up(&device, [1.0f32; 5]);
    let (spec, odd) = (Matmul::new(4, 2, 1), bias.as_in().slice(1..5).unwrap());
    for (spec, biased) in [(spec, false), (spec, true), (Matmul::new(4, 2, 0), false), (spec.alpha(0.0), true)] {
        let mask = up(&device, vec![9u8; spec.mask_len().unwrap()]);
        let epilogue = if biased { Epilogue::relu_aux_bias(mask, odd) } else { Epilogue::relu_aux(mask) };
        let (operands, d, calls) = (Operands::new(&x, &one), up(&device, [5.0f32; 8]), driver.calls_of(ASK));
        driver.fail(ASK, 0, 15);
        let rejected = lt.matmul_with(spec, operands, epilogue, d).unwrap_err();
        driver.clear();
        assert!(matches!(rejected.error, Error::Unsupported { .. }), "{}", rejected.error);
        assert_eq!(driver.calls_of(ASK) - calls, 1);
        let (d, mask) = rejected.back.unwrap();
        assert_eq!(down(&device, &d), [5.0; 8]);
        assert!(down(&device, &mask).iter().all(|byte| *byte == 9), "the mask was touched");
    }
    // The same product once the library has a way, and once more when that is known: one question.
    let stats = device.stats();
    for _ in 0..2 {
        let mask = up(&device, vec![9u8; spec.mask_len().unwrap()]);
        let pending = lt.matmul_with(
            spec,
            Operands::new(&x, &one),
            Epilogue::relu_aux_bias(mask, odd),
            device.uninit(8).unwrap(),
        );
        let (d, mask) = pending.unwrap().await_result().unwrap();
        assert_eq!(down(&device, &d), [4.0; 8]);
        let mask = down(&device, &mask);
        assert_eq!((mask[0] & 15, mask[1..16].iter().all(|byte| *byte == 0)), (15, true));
    }
    let after = device.stats();
    assert_eq!((after.plan_hits - stats.plan_hits, after.plan_misses - stats.plan_misses), (1, 1));
    drop((x, one, bias, lt, device));
    driver.assert_finished();
}

/// Without rows there is no product to call for, and the gaps of what is beside it are zero all the same.
#[test]
fn what_is_beside_a_product_of_no_rows_is_filled_with_zeros() {
    let driver = session();
    let device = device(1);
    let (lt, none, b) = (device.blas_lt(), device.zeros::<f32>(0).unwrap(), up(&device, [1.0f32; 20]));
    let spec = Matmul::new(0, 5, 4);
    let (operands, d) = (Operands::new(&none, &b), || device.zeros::<f32>(0).unwrap());
    let calls = driver.calls_of(MATMUL) + driver.calls_of(ASK);
    let mask = device.uninit(spec.mask_len().unwrap()).unwrap();
    let (_, mask) = lt.matmul_with(spec, operands, Epilogue::relu_aux(mask), d()).unwrap().await_result().unwrap();
    assert_eq!(down(&device, &mask), [0; 80]);
    let pre = device.uninit(spec.preactivation_len().unwrap()).unwrap();
    let (_, pre) = lt.matmul_with(spec, operands, Epilogue::gelu_aux(pre), d()).unwrap().await_result().unwrap();
    assert_eq!(down(&device, &pre), [0.0; 40]);
    assert_eq!(driver.calls_of(MATMUL) + driver.calls_of(ASK), calls);
    drop((none, b, mask, pre, lt, device));
    driver.assert_finished();
}

/// One column has no next one, however far away the caller says it is: the library is not told.
#[test]
fn a_single_column_may_be_said_to_lie_far_from_the_next() {
    let driver = session();
    let device = device(1);
    let (a, b) = (up(&device, [1.0f64, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]), up(&device, [1.0, 10.0]));
    let c = up(&device, [100.0; 4]);
    let spec = Matmul::<f64>::new(4, 1, 2).beta(1.0).ldb(1 << 61).ldc(1 << 61).ldd(1 << 61);
    let operands = Operands::new(&a, &b).c(&c);
    let d = device.blas_lt().matmul_with(spec, operands, Epilogue::none(), device.uninit(4).unwrap()).unwrap();
    let d = d.await_result().unwrap();
    assert_eq!(down(&device, &d), [151.0, 162.0, 173.0, 184.0]);
    drop((a, b, c, d, device));
    driver.assert_finished();
}

/// What is tuned is admitted before anything is measured.
#[test]
fn tuning_asks_the_library_nothing_about_buffers_that_a_product_refuses() {
    let driver = session();
    let device = device(1);
    let (x, spec) = (up(&device, [1.0f32; 4]), Matmul::new(2, 2, 2));
    let stale = up(&device, [1.0f32; 4]);
    device.rebuild(Duration::from_secs(60)).unwrap();
    let fresh = up(&device, [1.0f32; 4]);
    let asked = driver.calls_of(ASK) + driver.calls_of(MATMUL);
    let operands = Operands::new(&fresh, &fresh);
    let error = device.blas_lt().autotune(spec, operands, Epilogue::none(), stale).unwrap_err().error;
    assert!(matches!(error, Error::GpuRefStale { .. }), "{error}");
    let d = || device.zeros::<f32>(4).unwrap();
    let error = device.blas_lt().autotune(spec, Operands::new(&x, &x), Epilogue::none(), d()).unwrap_err().error;
    assert!(matches!(error, Error::GpuRefStale { .. }), "{error}");
    let unread = device.blas_lt().autotune(spec.beta(1.0), operands, Epilogue::none(), device.uninit(4).unwrap());
    assert!(matches!(unread.unwrap_err().error, Error::InvalidArgument { .. }));
    assert_eq!(driver.calls_of(ASK) + driver.calls_of(MATMUL), asked);
    drop((x, fresh, device));
    driver.assert_finished();
}

/// A gradient that the library could not store to is written aside: to be measured too.
#[test]
fn a_measured_way_is_used_whatever_the_alignment_of_the_gradient() {
    let driver = session();
    let device = device(1);
    let lt = device.blas_lt();
    let x = up(&device, vec![1.0f32; 1024]);
    for (batch, stride) in [(1, 8), (2, 8), (2, 9)] {
        let spec = Matmul::new(8, 8, 8).trans_a(Transpose::Yes).batch(batch).stride_bias(stride);
        let mask = up(&device, vec![255u8; spec.mask_len().unwrap()]);
        for from in [0, 1] {
            let len = stride * (batch - 1) + 8;
            let grad = || up(&device, vec![7.0f32; len + from]).narrow(from..from + len).unwrap();
            let d = || up(&device, vec![7.0f32; 64 * batch]);
            let operands = Operands::new(&x, &x);
            let outcome = lt.autotune(spec, operands, Epilogue::drelu_bgrad(&mask, grad()), d()).unwrap();
            let ((d_back, grad_back), tuning) = outcome;
            assert_eq!((down(&device, &d_back), down(&device, &grad_back)), (vec![7.0; 64 * batch], vec![7.0; len]));
            assert!(tuning.chosen.is_some());
            let asked = driver.calls_of(ASK);
            let pending = lt.matmul_with(spec, operands, Epilogue::drelu_bgrad(&mask, grad()), d()).unwrap();
            let (d, grad) = pending.await_result().unwrap();
            assert_eq!(driver.calls_of(ASK), asked, "batch {batch}, {stride} apart, {from} past an aligned address");
            assert_eq!(down(&device, &d), vec![8.0; 64 * batch]);
            let grad = down(&device, &grad);
            for (at, value) in grad.iter().enumerate() {
                assert_eq!(*value, if at % stride < 8 { 64.0 } else { 7.0 }, "{at}");
            }
        }
    }
    drop((x, lt, device));
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
        let spec = Matmul::new(8, 1, 1).tf32(allowed);
        let d = device.blas_lt().matmul(spec, &x, &one, device.uninit(8).unwrap()).unwrap().await_result().unwrap();
        assert_eq!(down(&device, &d), [want; 8], "{allowed}");
    }
    assert_eq!((device.stats().plan_hits, device.stats().plan_misses), (2, 2));
    drop((x, one, device));
    driver.assert_finished();
}

/// The library loads and stores the biases of a batch 16 bytes at a time, wherever they lie; the stand-in complains of
/// those that would fault.
#[test]
fn biases_of_a_batch_lie_where_the_library_may_move_them() {
    let driver = session();
    let device = device(1);
    let lt = device.blas_lt();
    let (a, b) = (up(&device, [1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0]), up(&device, [1.0f32, 2.0]));
    let spec = Matmul::new(3, 1, 1).batch(2).stride_bias(5);
    let x = f32::NAN;
    let apart = up(&device, [10.0, 20.0, 30.0, x, x, 40.0, 50.0, 60.0]);
    let d = lt.matmul_with(spec, Operands::new(&a, &b), Epilogue::bias(&apart), device.uninit(6).unwrap()).unwrap();
    assert_eq!(down(&device, &d.await_result().unwrap()), [11.0, 22.0, 33.0, 48.0, 60.0, 72.0]);
    // A bias that begins in between.
    let bias = up(&device, [x, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0]);
    let later = bias.as_in().slice(1..7).unwrap();
    let (spec, operands) = (spec.stride_bias(3), Operands::new(&a, &b));
    let d = lt.matmul_with(spec, operands, Epilogue::bias(later), device.uninit(6).unwrap()).unwrap();
    assert_eq!(down(&device, &d.await_result().unwrap()), [11.0, 22.0, 33.0, 48.0, 60.0, 72.0]);
    // A gradient is written aside, and what lies between two of a batch stays as it is.
    let (spec, grad) = (spec.stride_bias(5), up(&device, [7.0f32; 8]));
    let d = up(&device, [0.0f32; 6]);
    let (_, grad) =
        lt.matmul_with(spec, Operands::new(&a, &b), Epilogue::bgrad_a(grad), d).unwrap().await_result().unwrap();
    assert_eq!(down(&device, &grad), [1.0, 2.0, 3.0, 7.0, 7.0, 4.0, 5.0, 6.0]);
    drop((a, b, apart, bias, grad, lt, device));
    driver.assert_finished();
}

/// The library refuses a C at D's address when their types differ, though a zero `beta` does not read it.
#[test]
fn a_c_of_another_type_does_not_lie_where_d_does() {
    use windlass::F8E4M3;
    let driver = session();
    let device = device(1);
    let ones = up(&device, vec![F8E4M3::from_f32(1.0); 16 * 16]);
    let spec = Matmul::new(16, 16, 16).trans_a(Transpose::Yes);
    let d = device.blas_lt().matmul(spec, &ones, &ones, device.uninit::<F8E4M3>(16 * 16).unwrap()).unwrap();
    let d = d.await_result().unwrap();
    assert_eq!(down(&device, &d), vec![F8E4M3::from_f32(16.0); 16 * 16]);
    drop((ones, d, device));
    driver.assert_finished();
}

/// The epilogue wants a factor that lies with its terms apart; of the others, and of what is refused for other reasons, the
/// sum is a product of its own.
#[test]
fn gradients_of_factors_that_the_library_refuses_are_products_with_ones() {
    let driver = session();
    let device = device(1);
    let lt = device.blas_lt();
    // op(A) is 2 x 3 with rows (1, 2, 3) and (4, 5, 6), op(B) 3 x 1.
    let (by_columns, by_rows) = ([1.0f32, 4.0, 2.0, 5.0, 3.0, 6.0], [1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0]);
    let b = up(&device, [1.0f32, 10.0, 100.0]);
    let spec = Matmul::new(2, 1, 3);
    let gradient = |spec: Matmul<f32>, a: &DeviceBuffer<f32>, of_a: bool| {
        let (d, grad) = (up(&device, [f32::NAN; 2]), up(&device, [f32::NAN; 3]));
        let epilogue = if of_a { Epilogue::bgrad_a(grad) } else { Epilogue::bgrad_b(grad) };
        let before = driver.calls_of(MATMUL);
        let (d, grad) = lt.matmul_with(spec, Operands::new(a, &b), epilogue, d).unwrap().await_result().unwrap();
        (down(&device, &d), down(&device, &grad), driver.calls_of(MATMUL) - before)
    };
    let (apart, along) = (up(&device, by_columns), up(&device, by_rows));
    let (d, grad, calls) = gradient(spec, &apart, true);
    assert_eq!((d, &grad[..2], calls), (vec![321.0, 654.0], &[6.0, 15.0][..], 1));
    for _ in 0..2 {
        let (d, grad, calls) = gradient(spec.trans_a(Transpose::Yes), &along, true);
        assert_eq!((d, &grad[..2], calls), (vec![321.0, 654.0], &[6.0, 15.0][..], 2));
        assert!(grad[2].is_nan(), "past the gradient");
    }
    let (d, grad, calls) = gradient(spec, &apart, false);
    assert_eq!((d, grad[0], calls), (vec![321.0, 654.0], 111.0, 2));
    let (d, grad, calls) = gradient(spec.trans_b(Transpose::Yes), &apart, false);
    assert_eq!((d, grad[0], calls), (vec![321.0, 654.0], 111.0, 1));
    // By rows it is the other way round.
    let rows = spec.order_a(Order::Row);
    let (d, grad, calls) = gradient(rows, &along, true);
    assert_eq!((d, &grad[..2], calls), (vec![321.0, 654.0], &[6.0, 15.0][..], 2));
    // Alpha does not count, and where it is zero the factors are read for the gradient alone.
    let (d, grad, _) = gradient(spec.trans_a(Transpose::Yes).alpha(0.0), &along, true);
    assert_eq!((d, &grad[..2]), (vec![0.0, 0.0], &[6.0, 15.0][..]));
    // Refused for whatever reason.
    driver.fail(ASK, 0, 15);
    let (d, grad, calls) = gradient(spec.lda(2).alpha(2.0).beta(0.0).trans_b(Transpose::Yes).ldb(1), &apart, true);
    driver.clear();
    assert_eq!((d, &grad[..2], calls), (vec![642.0, 1308.0], &[6.0, 15.0][..], 2));
    // A batch, each with its own gradient, and something between them.
    let (a, b) = (up(&device, [1.0f32, 2.0, 3.0, 4.0]), up(&device, [1.0f32, 1.0, 1.0, 1.0]));
    let (d, grad) = (up(&device, [f32::NAN; 2]), up(&device, [7.0f32; 4]));
    let spec = Matmul::new(1, 1, 2).trans_a(Transpose::Yes).batch(2).stride_bias(3);
    let pending = lt.matmul_with(spec, Operands::new(&a, &b), Epilogue::bgrad_a(grad), d).unwrap();
    let (d, grad) = pending.await_result().unwrap();
    assert_eq!((down(&device, &d), down(&device, &grad)), (vec![3.0, 7.0], vec![3.0, 7.0, 7.0, 7.0]));
    drop((apart, along, a, b, d, grad));
    drop((lt, device));
    driver.assert_finished();
}
