//! What is read or written beside a product: masks, biases, gradients, where they lie and what the library refuses of them.

use super::{ASK, MATMUL, device};
use crate::common::{down, up};
use crate::standin::session;
use windlass::blaslt::{Epilogue, Operands, Order};
use windlass::{DeviceBuffer, Error, F8E4M3, Matmul, Transpose, bf16};

/// The library would fault on the one and has no way for the other: both are done in steps.
#[test]
fn auxiliary_matrices_between_vectors_and_gradients_of_8_bit_factors_are_done() {
    let driver = session();
    let device = device(2);
    let lt = device.blas_lt();
    let (x, one, mask) = (up(&device, [3.0f32; 8]), up(&device, [1.0f32; 2]), up(&device, [0b0110u8; 64]));
    let spec = Matmul::new(4, 2, 1);
    for from in [0, 16, 1, 8] {
        let epilogue = Epilogue::drelu(mask.as_in().slice(from..64).unwrap());
        let pending = lt.matmul_with(spec, Operands::new(&x, &one), epilogue, up(&device, [5.0f32; 8])).unwrap();
        assert_eq!(down(&device, &pending.await_result().unwrap()), [0.0, 3.0, 3.0, 0.0, 0.0, 3.0, 3.0, 0.0], "{from}");
    }
    // The terms of the sum lie side by side: the library's epilogue does not take that, and a product of ones has none.
    let factor = up(&device, [F8E4M3::ONE; 16 * 16]);
    let spec = Matmul::new(16, 16, 16).trans_a(Transpose::Yes);
    let (grad, d) = (up(&device, [bf16::ONE; 16]), up(&device, [bf16::ONE; 256]));
    let pending = lt.matmul_with(spec, Operands::new(&factor, &factor), Epilogue::bgrad_a(grad), d).unwrap();
    let (d, grad) = pending.await_result().unwrap();
    let sixteen = bf16::from_f32(16.0);
    assert_eq!((down(&device, &d), down(&device, &grad)), (vec![sixteen; 256], vec![sixteen; 16]));
    drop((x, one, mask, factor, d, grad, lt, device));
    driver.assert_finished();
}

/// A mask with gaps is filled with zeros, an odd bias copied, and zeros stand for what is not read: all that only once it
/// is known that the library has a way. Where nothing is multiplied, none is needed.
#[test]
fn a_refusal_leaves_what_lies_beside_a_product_as_it_was() {
    let driver = session();
    let device = device(2);
    let lt = device.blas_lt();
    let (x, one) = (up(&device, [3.0f32; 8]), up(&device, [1.0f32; 2]));
    let bias = up(&device, [1.0f32; 5]);
    let (spec, odd) = (Matmul::new(4, 2, 1), bias.as_in().slice(1..5).unwrap());
    for (spec, biased, multiplies) in
        [(spec, false, true), (spec, true, true), (Matmul::new(4, 2, 0), false, false), (spec.alpha(0.0), true, false)]
    {
        let mask = up(&device, vec![9u8; spec.mask_len().unwrap()]);
        let epilogue = if biased { Epilogue::relu_aux_bias(mask, odd) } else { Epilogue::relu_aux(mask) };
        let (operands, d, calls) = (Operands::new(&x, &one), up(&device, [5.0f32; 8]), driver.calls_of(ASK));
        driver.fail(ASK, 0, 15);
        driver.fail(ASK, 1, 15);
        let outcome = lt.matmul_with(spec, operands, epilogue, d);
        driver.clear();
        if !multiplies {
            let (d, mask) = outcome.unwrap().await_result().unwrap();
            let (value, bits) = if biased { (1.0, 15) } else { (0.0, 0) };
            let mask = down(&device, &mask);
            assert_eq!((down(&device, &d), mask[0]), (vec![value; 8], bits));
            assert!(mask[1..16].iter().all(|byte| *byte == 0));
            assert_eq!(driver.calls_of(ASK) - calls, 1);
            continue;
        }
        let rejected = outcome.unwrap_err();
        assert!(matches!(rejected.error, Error::Unsupported { .. }), "{}", rejected.error);
        assert_eq!(driver.calls_of(ASK) - calls, 2);
        let (d, mask) = rejected.back.unwrap();
        assert_eq!(down(&device, &d), [5.0; 8]);
        assert!(down(&device, &mask).iter().all(|byte| *byte == 9), "the mask was touched");
    }
    // The same product once the library has a way for the padded one, and once more when that is known: one question.
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

/// A copy of it lies elsewhere, and is still one.
#[test]
fn a_bias_that_a_batch_shares_is_shared_wherever_it_begins() {
    let driver = session();
    let device = device(2);
    let (m, n, k, batch) = (4, 2, 1, 3);
    let (a, b) = (up(&device, vec![1.0f32; m * k * batch]), up(&device, vec![2.0f32; k * n * batch]));
    for from in 0..4 {
        let bias: Vec<f32> = (0..from + m).map(|i| if i < from { f32::NAN } else { (i - from) as f32 }).collect();
        let bias = up(&device, bias);
        let spec = Matmul::new(m, n, k).batch(batch).stride_bias(0);
        let epilogue = Epilogue::bias(bias.as_in().slice(from..from + m).unwrap());
        let d = device.uninit::<f32>(m * n * batch).unwrap();
        let d = device.blas_lt().matmul_with(spec, Operands::new(&a, &b), epilogue, d).unwrap().await_result().unwrap();
        let want: Vec<f32> = (0..m * n * batch).map(|i| 2.0 + (i % m) as f32).collect();
        assert_eq!(down(&device, &d), want, "{from}");
    }
    drop((a, b, device));
    driver.assert_finished();
}
