//! What is read or written beside a product: masks, biases, gradients, where they lie and what the library refuses of them.

use super::{ASK, MATMUL, device};
use crate::common::{columns, down, rows, up};
use crate::standin::session;
use windlass::blaslt::{Epilogue, Operands};
use windlass::tensor::Layout;
use windlass::{Error, F8E4M3, Matmul, TensorRef, bf16};

/// The library has no way for it: it is done in steps.
#[test]
fn gradients_of_8_bit_factors_are_done() {
    let driver = session();
    let device = device(2);
    let lt = device.blas_lt();
    // The terms of the sum lie side by side: the library's epilogue does not take that, and a product of ones has none.
    let factor = up(&device, [F8E4M3::ONE; 16 * 16]);
    let d = up(&device, [bf16::ONE; 256]).with_layout(Layout::columns(16, 16)).unwrap();
    let operands = Operands::new(rows(&factor, 16, 16), columns(&factor, 16, 16));
    let pending = lt.matmul_with(Matmul::new(), operands, Epilogue::bgrad_a(), d).unwrap();
    let (d, grad) = pending.await_result().unwrap();
    let sixteen = bf16::from_f32(16.0);
    assert_eq!((down(&device, &d), down(&device, &grad)), (vec![sixteen; 256], vec![sixteen; 16]));
    drop((factor, d, grad, lt, device));
    driver.assert_finished();
}

/// An odd bias is copied, and zeros stand for what is not read: all that only once it is known that the library has a way.
/// Where nothing is multiplied, none is needed.
#[test]
fn a_refusal_leaves_what_lies_beside_a_product_as_it_was() {
    let driver = session();
    let device = device(2);
    let lt = device.blas_lt();
    let (x, one) = (up(&device, [3.0f32; 4]), up(&device, [1.0f32; 2]));
    let (x, one) = (columns(&x, 4, 1), columns(&one, 1, 2));
    let (none_x, none) = (device.zeros::<f32>([4, 0]).unwrap(), device.zeros::<f32>([0, 2]).unwrap());
    let bias = up(&device, [1.0f32; 5]);
    let odd = bias.as_in().slice(1..5).unwrap();
    let d = || up(&device, [5.0f32; 8]).with_layout(Layout::columns(4, 2)).unwrap();
    let with = |terms, alpha, biased, d| {
        let operands = if terms { Operands::new(&x, &one) } else { Operands::new(&none_x, &none) };
        let epilogue = if biased { Epilogue::relu_aux_bias(odd).per_row() } else { Epilogue::relu_aux() };
        lt.matmul_with(Matmul::new().alpha(alpha), operands, epilogue, d)
    };
    for (terms, alpha, biased) in [(true, 1.0, false), (true, 1.0, true), (false, 1.0, false), (true, 0.0, true)] {
        let calls = driver.calls_of(ASK);
        driver.fail(ASK, 0, 15);
        driver.fail(ASK, 1, 15);
        let outcome = with(terms, alpha, biased, d());
        driver.clear();
        if !terms || alpha == 0.0 {
            let (d, _) = outcome.unwrap().await_result().unwrap();
            assert_eq!(down(&device, &d), vec![if biased { 1.0 } else { 0.0 }; 8]);
            assert_eq!(driver.calls_of(ASK) - calls, 1);
            continue;
        }
        let rejected = outcome.unwrap_err();
        assert!(matches!(rejected.error, Error::Unsupported { .. }), "{}", rejected.error);
        assert_eq!(driver.calls_of(ASK) - calls, 2);
        assert_eq!(down(&device, &rejected.back.unwrap().0), [5.0; 8]);
    }
    // The same product once the library has a way for the padded one, and once more when that is known: one question.
    let stats = device.stats();
    for _ in 0..2 {
        let (d, _) = with(true, 1.0, true, d()).unwrap().await_result().unwrap();
        assert_eq!(down(&device, &d), [4.0; 8]);
    }
    let after = device.stats();
    assert_eq!((after.plan_hits - stats.plan_hits, after.plan_misses - stats.plan_misses), (1, 1));
    drop((x, one));
    drop((none_x, none, bias, lt, device));
    driver.assert_finished();
}

/// Without rows there is no product to call for.
#[test]
fn a_product_of_no_rows_asks_the_library_nothing() {
    let driver = session();
    let device = device(1);
    let (lt, a, b) = (device.blas_lt(), device.zeros::<f32>([0, 4]).unwrap(), device.full([4, 5], 1.0f32).unwrap());
    let d = || device.zeros::<f32>([0, 5]).unwrap();
    let operands = || Operands::new(&a, &b);
    let calls = driver.calls_of(MATMUL) + driver.calls_of(ASK);
    let (_, mask) = lt.matmul_with(Matmul::new(), operands(), Epilogue::relu_aux(), d()).unwrap().into_output();
    let pending = lt.matmul_with(Matmul::new(), operands(), Epilogue::drelu_bgrad(&mask), d()).unwrap();
    let (_, grad) = pending.await_result().unwrap();
    assert_eq!(down(&device, &grad), [0.0; 5]);
    assert_eq!(driver.calls_of(MATMUL) + driver.calls_of(ASK), calls);
    drop((a, b, mask, grad, lt, device));
    driver.assert_finished();
}

/// The library loads and stores the biases of a batch 16 bytes at a time, wherever they lie; the stand-in complains of
/// those that would fault.
#[test]
fn biases_of_a_batch_lie_where_the_library_may_move_them() {
    let driver = session();
    let device = device(1);
    let lt = device.blas_lt();
    let a = device.tensor([2, 3, 1], [1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0]).unwrap();
    let b = device.tensor([2, 1, 1], [1.0f32, 2.0]).unwrap();
    let (operands, d) = (|| Operands::new(&a, &b), || device.uninit::<f32>([2, 3, 1]).unwrap());
    let x = f32::NAN;
    let apart = up(&device, [10.0, 20.0, 30.0, x, x, 40.0, 50.0, 60.0]);
    // A bias that begins in between.
    let later = up(&device, [x, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0]);
    for layout in [Layout::new([2, 3], [5, 1], 0).unwrap(), Layout::new([2, 3], [3, 1], 1).unwrap()] {
        let bias = if layout.offset() == 0 { &apart } else { &later }.view(layout).unwrap();
        let d = lt.matmul_with(Matmul::new(), operands(), Epilogue::bias(bias).per_row(), d()).unwrap();
        assert_eq!(down(&device, &d.await_result().unwrap()), [11.0, 22.0, 33.0, 48.0, 60.0, 72.0]);
    }
    // Gradients lie one after the other, and are written aside.
    let pending = lt.matmul_with(Matmul::new(), operands(), Epilogue::bgrad_a(), d()).unwrap();
    let (_, grad) = pending.await_result().unwrap();
    assert_eq!((down(&device, &grad), grad.shape()), (vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0], &[2, 3][..]));
    drop((a, b, apart, later, grad, lt, device));
    driver.assert_finished();
}

/// The epilogue wants a factor that lies with its terms apart; of the others, and of what is refused for other reasons, the
/// sum is a product of its own.
#[test]
fn gradients_of_factors_that_the_library_refuses_are_products_with_ones() {
    let driver = session();
    let device = device(1);
    let lt = device.blas_lt();
    // A is 2 x 3 with rows (1, 2, 3) and (4, 5, 6), B 3 x 1.
    let (by_columns, by_rows) = ([1.0f32, 4.0, 2.0, 5.0, 3.0, 6.0], [1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0]);
    let on_b = up(&device, [1.0f32, 10.0, 100.0, 0.0, 0.0, 0.0]);
    let (b_by_columns, b_by_rows) = (columns(&on_b, 3, 1), on_b.view(Layout::columns(1, 3)).unwrap().transpose());
    let gradient = |spec: Matmul<'_>, a: &TensorRef<'_, f32>, b: &TensorRef<'_, f32>, of_a: bool| {
        let d = up(&device, [f32::NAN; 2]).with_layout(Layout::columns(2, 1)).unwrap();
        let epilogue = if of_a { Epilogue::bgrad_a() } else { Epilogue::bgrad_b() };
        let before = driver.calls_of(MATMUL);
        let (d, grad) = lt.matmul_with(spec, Operands::new(a, b), epilogue, d).unwrap().await_result().unwrap();
        (down(&device, &d), down(&device, &grad), driver.calls_of(MATMUL) - before)
    };
    let (on_apart, on_along) = (up(&device, by_columns), up(&device, by_rows));
    let (apart, along) = (columns(&on_apart, 2, 3), rows(&on_along, 2, 3));
    let (d, grad, calls) = gradient(Matmul::new(), &apart, &b_by_columns, true);
    assert_eq!((d, grad, calls), (vec![321.0, 654.0], vec![6.0, 15.0], 1));
    for _ in 0..2 {
        let (d, grad, calls) = gradient(Matmul::new(), &along, &b_by_columns, true);
        assert_eq!((d, grad, calls), (vec![321.0, 654.0], vec![6.0, 15.0], 2));
    }
    // One column lies in both orders: as D does, by rows, so its terms are apart.
    for b in [&b_by_columns, &b_by_rows] {
        let (d, grad, calls) = gradient(Matmul::new(), &apart, b, false);
        assert_eq!((d, grad, calls), (vec![321.0, 654.0], vec![111.0], 1));
    }
    // Of two columns, the terms are along.
    let two = columns(&on_b, 3, 2);
    let d = device.uninit::<f32>([2, 2]).unwrap();
    let before = driver.calls_of(MATMUL);
    let pending = lt.matmul_with(Matmul::new(), Operands::new(&apart, &two), Epilogue::bgrad_b(), d).unwrap();
    let (d, grad) = pending.await_result().unwrap();
    assert_eq!((down(&device, &d), down(&device, &grad)), (vec![321.0, 0.0, 654.0, 0.0], vec![111.0, 0.0]));
    assert_eq!(driver.calls_of(MATMUL) - before, 2);
    // Alpha does not count, and where it is zero the factors are read for the gradient alone.
    let (d, grad, _) = gradient(Matmul::new().alpha(0.0), &along, &b_by_columns, true);
    assert_eq!((d, grad), (vec![0.0, 0.0], vec![6.0, 15.0]));
    // Refused for whatever reason.
    let wide = up(&device, [1.0f32, 4.0, 0.0, 2.0, 5.0, 0.0, 3.0, 6.0]);
    let wide = wide.view(Layout::columns(2, 3).ld(3)).unwrap();
    driver.fail(ASK, 0, 15);
    let (d, grad, calls) = gradient(Matmul::new().alpha(2.0), &wide, &b_by_columns, true);
    driver.clear();
    assert_eq!((d, grad, calls), (vec![642.0, 1308.0], vec![6.0, 15.0], 2));
    // A batch, each with its own gradient.
    let a = device.tensor([2, 1, 2], [1.0f32, 2.0, 3.0, 4.0]).unwrap();
    let (b, d) = (device.full([2, 1], 1.0f32).unwrap(), device.full([2, 1, 1], f32::NAN).unwrap());
    let pending = lt.matmul_with(Matmul::new(), Operands::new(&a, &b), Epilogue::bgrad_a(), d).unwrap();
    let (d, grad) = pending.await_result().unwrap();
    assert_eq!((down(&device, &d), down(&device, &grad)), (vec![3.0, 7.0], vec![3.0, 7.0]));
    drop((apart, along, b_by_columns, b_by_rows, two, wide));
    drop((on_apart, on_along, on_b, a, b, d, grad));
    drop((lt, device));
    driver.assert_finished();
}

/// A copy of it lies elsewhere, and is still one.
#[test]
fn a_bias_that_a_batch_shares_is_shared_wherever_it_begins() {
    let driver = session();
    let device = device(2);
    let (m, n, batch) = (2, 4, 3);
    let (a, b) = (device.full([batch, m, 1], 1.0f32).unwrap(), device.full([batch, 1, n], 2.0f32).unwrap());
    for from in 0..4 {
        let bias: Vec<f32> = (0..from + n).map(|i| if i < from { f32::NAN } else { (i - from) as f32 }).collect();
        let bias = up(&device, bias);
        let epilogue = Epilogue::bias(bias.as_in().slice(from..from + n).unwrap());
        let d = device.uninit::<f32>([batch, m, n]).unwrap();
        let d = device.blas_lt().matmul_with(Matmul::new(), Operands::new(&a, &b), epilogue, d).unwrap();
        let want: Vec<f32> = (0..m * n * batch).map(|i| 2.0 + (i % n) as f32).collect();
        assert_eq!(down(&device, &d.await_result().unwrap()), want, "{from}");
    }
    drop((a, b, device));
    driver.assert_finished();
}

/// A number of the device beside a value: the library reads both from the device, where the value is written.
#[test]
fn a_value_beside_a_number_of_the_device_is_written_to_the_device() {
    let driver = session();
    let device = device(1);
    let lt = device.blas_lt();
    let (x, one) = (device.full([8, 1], 3.0f32).unwrap(), device.full([1, 8], 1.0f32).unwrap());
    let two = up(&device, [2.0f32]);
    let d = || device.full([8, 8], 10.0f32).unwrap();
    for (spec, want) in [
        (Matmul::new().alpha(&two).beta(0.5), 11.0),
        (Matmul::new().alpha(0.5).beta(&two), 21.5),
        (Matmul::new().alpha(&two), 6.0),
        (Matmul::new().beta(&two), 23.0),
        (Matmul::new().alpha(0.0).beta(&two), 20.0),
        (Matmul::new().alpha(&two).beta(&two), 26.0),
    ] {
        let d = lt.matmul(spec.clone(), &x, &one, d()).unwrap().await_result().unwrap();
        assert_eq!(down(&device, &d), [want; 64], "{spec:?}");
    }
    // Refused: nothing was written, and it is done in steps.
    driver.fail(ASK, 0, 15);
    let epilogue = Epilogue::relu();
    let d = lt.matmul_with(Matmul::new().alpha(&two).beta(0.5), Operands::new(&x, &one), epilogue, d()).unwrap();
    driver.clear();
    assert_eq!(down(&device, &d.await_result().unwrap()), [11.0; 64]);
    drop((x, one, two, lt, device));
    driver.assert_finished();
}
