//! What cuBLAS has beyond BLAS: sums, diagonals, many small systems.

use super::Bench;
use windlass::blas::{Dgmm, Geam, LuBatch};
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
    let (a, b, c) = (bench.named::<f32>("A", 8), bench.named("B", 6), bench.named("C", 6));
    bench.calls(
        &["cublasSgeam_64 host trans_a=1 trans_b=0 m=2 n=3 alpha=2 a=A lda=3 beta=0.5 b=B ldb=2 c=C ldc=2"],
        |blas| blas.geam(Geam::new(2, 3).trans_a(Transpose::Yes).alpha(2.0).beta(0.5), &a, &b, c),
    );
    let (a, b) = (bench.named("A", 6), bench.named("B", 6));
    let (p, q, c) = (bench.named("P", 1), bench.named("Q", 1), bench.named("C", 9));
    bench.calls(
        &["cublasCgeam_64 device trans_a=0 trans_b=2 m=2 n=3 alpha=P a=A lda=2 beta=Q b=B ldb=3 c=C ldc=3"],
        |blas| {
            let spec = Geam::<Complex<f32>>::new(2, 3).trans_b(Transpose::Conjugate).ldc(3);
            blas.geam(spec.scalars_at(&p, &q), &a, &b, c)
        },
    );
    // A matrix whose factor is zero is not named; where both are, C becomes zero without them.
    let (a, b) = (bench.named::<f32>("A", 6), bench.named("B", 12));
    let (c, d, e) = (bench.named("C", 6), bench.named("C", 6), bench.named("C", 9));
    let spec = Geam::new(2, 3).trans_a(Transpose::Yes).ldb(4);
    bench.calls(
        &["cublasSgeam_64 host trans_a=0 trans_b=0 m=2 n=3 alpha=0 a=B lda=4 beta=3 b=B ldb=4 c=C ldc=2"],
        |blas| blas.geam(spec.alpha(0.0).beta(3.0), &a, &b, c),
    );
    bench.calls(
        &["cublasSgeam_64 host trans_a=1 trans_b=1 m=2 n=3 alpha=1 a=A lda=3 beta=0 b=A ldb=3 c=C ldc=2"],
        |blas| blas.geam(spec, &a, &b, d),
    );
    bench.calls(
        &["cublasSgemm_v2_64 host trans_a=0 trans_b=0 m=2 n=3 k=0 alpha=0 a=C lda=2 b=C ldb=1 beta=0 c=C ldc=3"],
        |blas| blas.geam(spec.alpha(0.0).ldc(3), &a, &b, e),
    );
    let (a, x, c) = (bench.named::<f64>("A", 9), bench.named("X", 5), bench.named("C", 6));
    bench.calls(&["cublasDdgmm_64 host side=1 m=2 n=3 a=A lda=3 x=X incx=2 c=C ldc=2"], |blas| {
        blas.dgmm(Dgmm::new(Side::Right, 2, 3).lda(3), &a, x.strided(3, 2), c)
    });
}

/// The stand-in computes these: what they are given is seen by their answers, in `cuda_blas_guards`.
fn factors(bench: &Bench) {
    let lu = LuBatch::new(3).batch(2).ldb(4);
    let (a, pivots, info) = (bench.named::<f64>("A", 18), bench.named("P", 6), bench.named("I", 2));
    bench.calls(&["cublasDgetrfBatched 2 of 3"], |blas| blas.getrf_strided_batched(lu, a, pivots, info));
    let (a, pivots, b) = (bench.named::<f64>("A", 18), bench.named("P", 6), bench.named("B", 16));
    bench.calls(&["cublasDgetrsBatched 2 of 3"], |blas| {
        blas.getrs_strided_batched(lu, Transpose::Yes, 2, &a, &pivots, b)
    });
    let (c, info) = (bench.named("C", 24), bench.named("I", 2));
    bench.calls(&["cublasDgetriBatched 2 of 3"], |blas| blas.getri_strided_batched(lu, &a, &pivots, c, info));
    let (c, info) = (bench.named("C", 24), bench.named("I", 2));
    bench.calls(&["cublasDmatinvBatched 2 of 3"], |blas| blas.matinv_strided_batched(lu, &a, c, info));
    // Beyond what the library inverts at once: the factors of a copy.
    let (a, c, info) = (bench.named::<f32>("A", 33 * 33), bench.named("C", 33 * 33), bench.named("I", 1));
    bench.calls(&["cublasSgetrfBatched 1 of 33", "cublasSgetriBatched 1 of 33"], |blas| {
        blas.matinv_strided_batched(LuBatch::new(33), &a, c, info)
    });
    // Each in a buffer of its own.
    let lu = LuBatch::new(3).batch(2);
    let list = || vec![bench.named::<f64>("C", 9), bench.named("C", 9)];
    let beside = || (bench.named("P", 6), bench.named("I", 2));
    let (a, (pivots, info)) = (list(), beside());
    bench.calls(&["cublasDgetrfBatched 2 of 3"], |blas| blas.getrf_batched(lu, a, pivots, info));
    let (a, b, (pivots, info)) = (bench.named::<f64>("A", 9), list(), beside());
    let a = [a.as_in(), a.as_in()];
    bench.calls(&["cublasDgetrsBatched 2 of 3"], |blas| blas.getrs_batched(lu, Transpose::No, 3, &a, &pivots, b));
    let c = list();
    bench.calls(&["cublasDgetriBatched 2 of 3"], |blas| blas.getri_batched(lu, &a, &pivots, c, info));
    let (c, (_, info)) = (list(), beside());
    bench.calls(&["cublasDmatinvBatched 2 of 3"], |blas| blas.matinv_batched(lu, &a, c, info));
    let (a, (_, info)) = (bench.named::<f64>("A", 33 * 33), beside());
    let c = vec![bench.named("C", 33 * 33), bench.named("C", 33 * 33)];
    bench.calls(&["cublasDgetrfBatched 2 of 33", "cublasDgetriBatched 2 of 33"], |blas| {
        blas.matinv_batched(LuBatch::new(33).batch(2), &[a.as_in(), a.as_in()], c, info)
    });
}
