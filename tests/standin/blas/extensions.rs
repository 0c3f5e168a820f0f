//! What cuBLAS has beyond BLAS: sums, diagonals, many small systems.

use super::Bench;
use crate::common::{columns, into_columns, op};
use windlass::blas::Geam;
use windlass::tensor::Layout;
use windlass::{Complex, Side, Transpose};

pub(crate) fn all(bench: &Bench) {
    sums_and_diagonals(bench);
    factors(bench);
}

#[test]
fn extensions_go_to_their_own_function_with_all_that_it_takes() {
    let bench = Bench::new();
    all(&bench);
    bench.finish();
}

/// What is multiplied by zero, by value, is nothing to call for.
#[test]
fn axpy_by_zero_calls_nothing() {
    let bench = Bench::new();
    let (x, alpha) = (bench.named::<f32>("X", 4), bench.named("P", 1));
    let [y, same, other] = [(); 3].map(|()| bench.named("Y", 4));
    // In device memory it is the library that finds out.
    let (submitted, told) = bench.told(|| bench.device.blas().axpy(&alpha, &x, y));
    drop(submitted.unwrap().into_output());
    assert!(told.iter().any(|line| line.starts_with("cublasAxpyEx_64")), "{told:?}");
    bench.calls(&[], |blas| blas.axpy(0.0, &x, same));
    bench.calls(&[], |blas| blas.axpy(-0.0, &x, other));
    bench.finish();
}

fn sums_and_diagonals(bench: &Bench) {
    const SHAPE: (usize, usize) = (2, 3);
    let (a, b) = (bench.named::<f32>("A", 8), bench.named("B", 6));
    let (of_a, of_b) = (op(&a, Transpose::Yes, SHAPE, 3), columns(&b, 2, 3));
    let c = into_columns(bench.named("C", 6), 2, 3);
    bench.calls(
        &["cublasSgeam_64 host trans_a=1 trans_b=0 m=2 n=3 alpha=2 a=A lda=3 beta=0.5 b=B ldb=2 c=C ldc=2"],
        |blas| blas.geam(Geam::new().alpha(2.0).beta(0.5), &of_a, &of_b, c),
    );
    // By rows the transposed sum.
    let c = bench.named("C", 6).with_layout(Layout::rows(2, 3)).unwrap();
    bench.calls(
        &["cublasSgeam_64 host trans_a=0 trans_b=1 m=3 n=2 alpha=2 a=A lda=3 beta=0.5 b=B ldb=2 c=C ldc=3"],
        |blas| blas.geam(Geam::new().alpha(2.0).beta(0.5), &of_a, &of_b, c),
    );
    let (a, b) = (bench.named::<Complex<f32>>("A", 6), bench.named("B", 6));
    let (of_a, of_b) = (columns(&a, 2, 3), op(&b, Transpose::Yes, SHAPE, 3));
    let (p, q) = (bench.named("P", 1), bench.named("Q", 1));
    let c = || bench.named("C", 9).with_layout(Layout::columns(2, 3).ld(3)).unwrap();
    let (d, e, f) = (c(), c(), c());
    bench.calls(
        &["cublasCgeam_64 device trans_a=0 trans_b=2 m=2 n=3 alpha=P a=A lda=2 beta=Q b=B ldb=3 c=C ldc=3"],
        |blas| blas.geam(Geam::new().conjugate_b().alpha(&p).beta(&q), &of_a, &of_b, d),
    );
    // One of them by value: written beside the other's.
    bench.calls(
        &["cublasCgeam_64 device trans_a=0 trans_b=2 m=2 n=3 alpha=P a=A lda=2 beta=scratch b=B ldb=3 c=C ldc=3"],
        |blas| blas.geam(Geam::new().conjugate_b().alpha(&p).beta(Complex::new(2.0, 0.0)), &of_a, &of_b, e),
    );
    bench.calls(
        &["cublasCgeam_64 device trans_a=2 trans_b=2 m=2 n=3 alpha=scratch a=B lda=3 beta=Q b=B ldb=3 c=C ldc=3"],
        |blas| blas.geam(Geam::new().conjugate_b().alpha(Complex::default()).beta(&q), &of_a, &of_b, f),
    );
    // A matrix whose factor is zero is not named; where both are, C becomes zero without them.
    let (a, b) = (bench.named::<f32>("A", 6), bench.named("B", 12));
    let (of_a, of_b) = (op(&a, Transpose::Yes, SHAPE, 3), op(&b, Transpose::No, SHAPE, 4));
    let (c, d) = (into_columns(bench.named("C", 6), 2, 3), into_columns(bench.named("C", 6), 2, 3));
    let e = bench.named("C", 9).with_layout(Layout::columns(2, 3).ld(3)).unwrap();
    bench.calls(
        &["cublasSgeam_64 host trans_a=0 trans_b=0 m=2 n=3 alpha=0 a=B lda=4 beta=3 b=B ldb=4 c=C ldc=2"],
        |blas| blas.geam(Geam::new().alpha(0.0).beta(3.0), &of_a, &of_b, c),
    );
    bench.calls(
        &["cublasSgeam_64 host trans_a=1 trans_b=1 m=2 n=3 alpha=1 a=A lda=3 beta=0 b=A ldb=3 c=C ldc=2"],
        |blas| blas.geam(Geam::new(), &of_a, &of_b, d),
    );
    bench.calls(
        &["cublasSgemm_v2_64 host trans_a=0 trans_b=0 m=2 n=3 k=0 alpha=0 a=C lda=2 b=C ldb=1 beta=0 c=C ldc=3"],
        |blas| blas.geam(Geam::new().alpha(0.0), &of_a, &of_b, e),
    );
    let (a, x, c) = (bench.named::<f64>("A", 9), bench.named("X", 5), into_columns(bench.named("C", 6), 2, 3));
    let of_x = x.view(Layout::new([3], [2], 0).unwrap()).unwrap();
    bench.calls(&["cublasDdgmm_64 host side=1 m=2 n=3 a=A lda=3 x=X incx=2 c=C ldc=2"], |blas| {
        blas.dgmm(Side::Right, op(&a, Transpose::No, SHAPE, 3), of_x, c)
    });
}

/// The stand-in computes these: what they are given is seen by their answers, in `cuda_blas_guards`.
fn factors(bench: &Bench) {
    let squares = Layout::columns(3, 3).batch(2, 9);
    let beside = || {
        let pivots = bench.named::<i32>("P", 6).with_layout(Layout::row_major([2, 3]).unwrap()).unwrap();
        (pivots, bench.named::<i32>("I", 2))
    };
    let (a, (pivots, info)) = (bench.named::<f64>("A", 18).with_layout(squares).unwrap(), beside());
    bench.calls(&["cublasDgetrfBatched 2 of 3"], |blas| blas.getrf(a, pivots, info));
    let (a, (pivots, _)) = (bench.named::<f64>("A", 18).with_layout(squares).unwrap(), beside());
    let b = bench.named("B", 16).with_layout(Layout::columns(3, 2).ld(4).batch(2, 8)).unwrap();
    bench.calls(&["cublasDgetrsBatched 2 of 3"], |blas| blas.getrs(Transpose::Yes, &a, &pivots, b));
    let c = || bench.named("C", 24).with_layout(Layout::columns(3, 3).ld(4).batch(2, 12)).unwrap();
    let (d, info) = (c(), bench.named("I", 2));
    bench.calls(&["cublasDgetriBatched 2 of 3"], |blas| blas.getri(&a, &pivots, d, info));
    let (d, info) = (c(), bench.named("I", 2));
    bench.calls(&["cublasDmatinvBatched 2 of 3"], |blas| blas.matinv(&a, d, info));
    // Beyond what the library inverts at once: the factors of a copy.
    let large = |name| into_columns(bench.named::<f32>(name, 33 * 33), 33, 33);
    let (a, c) = (large("A"), large("C"));
    let info = bench.named::<i32>("I", 1).with_layout(Layout::row_major([]).unwrap()).unwrap();
    bench.calls(&["cublasSgetrfBatched 1 of 33", "cublasSgetriBatched 1 of 33"], |blas| blas.matinv(&a, c, info));
    // Each in a buffer of its own.
    let list = || [bench.named::<f64>("C", 9), bench.named("C", 9)].map(|c| into_columns(c, 3, 3));
    let (a, (pivots, info)) = (list(), beside());
    bench.calls(&["cublasDgetrfBatched 2 of 3"], |blas| blas.getrf_batched(a, pivots, info));
    let (a, b, (pivots, info)) = (into_columns(bench.named::<f64>("A", 9), 3, 3), list(), beside());
    bench.calls(&["cublasDgetrsBatched 2 of 3"], |blas| blas.getrs_batched(Transpose::No, [&a, &a], &pivots, b));
    let c = list();
    bench.calls(&["cublasDgetriBatched 2 of 3"], |blas| blas.getri_batched([&a, &a], &pivots, c, info));
    let (c, (_, info)) = (list(), beside());
    bench.calls(&["cublasDmatinvBatched 2 of 3"], |blas| blas.matinv_batched([&a, &a], c, info));
    let large = |name| into_columns(bench.named::<f64>(name, 33 * 33), 33, 33);
    let (a, c, (_, info)) = (large("A"), [large("C"), large("C")], beside());
    bench.calls(&["cublasDgetrfBatched 2 of 33", "cublasDgetriBatched 2 of 33"], |blas| {
        blas.matinv_batched([&a, &a], c, info)
    });
}
