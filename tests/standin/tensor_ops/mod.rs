//! Contractions on the CUDA engine: the stand-in runs the text of the kernels, so that integers are what the loops give; products of
//! matrices are written down. `cutensor.rs` is what cuTENSOR is called for, `isolated.rs` that in a worker process.

#[allow(dead_code, reason = "a part of it")]
#[path = "../../host/tensor_ops/cases.rs"]
mod cases;
#[path = "../../host/tensor_ops/oracle.rs"]
mod oracle;

mod cutensor;
#[cfg(target_os = "linux")]
mod isolated;

use crate::common::{assert_back_at, holdings};
use crate::standin::{device, session};
use cases::{Case, Random, whole};
use windlass::Error;
use windlass::tensor_ops::Backend;

#[test]
fn random_expressions_of_integers_equal_the_loops() {
    let driver = session();
    let devices = [device(2)];
    let base = holdings(&devices[0]);
    let number = |name: &str| std::env::var(name).ok().and_then(|n| n.parse().ok());
    let first = number("WINDLASS_TEST_SEED").unwrap_or(0);
    for seed in first..first + number("WINDLASS_TEST_EINSUM").unwrap_or(200) {
        let random = &mut Random(seed ^ 0x77);
        let case = Case::random(random);
        whole(&case, &devices, random, seed);
    }
    assert_back_at(&devices[0], base);
    drop(devices);
    driver.assert_finished();
}

#[test]
fn a_batch_of_products_is_one_call_without_a_copy() {
    let driver = session();
    let device = device(1);
    let ops = device.tensor_ops().backend(Backend::Products);
    let (a, b) = (device.zeros::<f64>([5, 2, 3]).unwrap(), device.zeros::<f64>([5, 3, 4]).unwrap());
    ops.einsum("bij,bjk->bik", (&a, &b)).unwrap().await_result().unwrap();
    let told = |text: &str| {
        driver.log_of_this_thread();
        let made = ops.einsum(text, (&a, &b)).unwrap().into_output();
        driver.log(false);
        device.synchronize(std::time::Duration::from_secs(60)).unwrap();
        drop(made);
        let log = driver.take_log();
        let of = |start: &str| log.iter().filter(|line| line.starts_with(start)).cloned().collect::<Vec<_>>();
        (of("cublasGemm"), of("cuLaunch").len() + of("cuMemcpy").len())
    };
    let (products, others) = told("bij,bjk->bik");
    assert_eq!((products.len(), others), (1, 0), "{products:?}");
    // Row-major, so the library sees the transposed product.
    for part in ["cublasGemmStridedBatchedEx_64", " m=4 n=2 k=3 ", "stride_a=12 ", "stride_b=6 ", "stride_c=8 batch=5"]
    {
        assert!(products[0].contains(part), "{} has no {part}", products[0]);
    }
    // The transposed result of one product is one product; no mode but the batch stays behind it.
    let (products, others) = told("bij,bjk->bki");
    assert_eq!((products.len(), others), (1, 0), "{products:?}");
    // A result between whose matrices others lie is brought there by one copy.
    let (products, others) = told("bij,bjk->ibk");
    assert_eq!((products.len(), others), (1, 1), "{products:?}");
    drop((a, b, ops, device));
    driver.assert_finished();
}

#[test]
fn a_failure_of_a_step_is_that_of_the_call() {
    let driver = session();
    let device = device(1);
    let x = device.uninit::<f32>([2, 2]).unwrap();
    let error = device.tensor_ops().einsum("ij,jk->ik", (&x, &x)).map(|_| ()).unwrap_err();
    assert!(!matches!(error, Error::LibraryError { .. }), "{error}");
    drop((x, device));
    driver.assert_finished();
}
