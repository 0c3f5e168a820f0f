//! Matrices and vectors.

use super::Bench;
use windlass::blas::{Gemv, Ger, Her, Symv, Syr, Syr2, Trmv};
use windlass::{Complex, Diag, Transpose, Uplo};

const Z: Complex<f64> = Complex::new(2.0, -1.0);
const C: Complex<f32> = Complex::new(2.0, -1.0);

pub(crate) fn all(bench: &Bench) {
    general(bench);
    rank_one(bench);
    symmetric(bench);
    hermitian(bench);
    updates(bench);
    triangular(bench);
    batches(bench);
}

#[test]
fn matrices_and_vectors_go_to_their_own_function_with_all_that_it_takes() {
    let bench = Bench::new();
    all(&bench);
    bench.finish();
}

fn general(bench: &Bench) {
    let (a, x, y) = (bench.named::<f32>("A", 15), bench.named("X", 7), bench.named("Y", 3));
    let spec = Gemv::new(4, 3).trans(Transpose::Yes).lda(5).alpha(2.0).beta(0.5);
    bench
        .calls(&["cublasSgemv_v2_64 host trans=1 m=4 n=3 alpha=2 a=A lda=5 x=X incx=2 beta=0.5 y=Y incy=-1"], |blas| {
            blas.gemv(spec, &a, x.strided(4, 2), y.into_strided(3, -1))
        });
    let (p, q, y) = (bench.named("P", 1), bench.named("Q", 1), bench.named("Y", 3));
    bench.calls(&["cublasSgemv_v2_64 device trans=1 m=4 n=3 alpha=P a=A lda=5 x=X incx=1 beta=Q y=Y incy=1"], |blas| {
        blas.gemv(spec.scalars_at(&p, &q), &a, x.strided(4, 1), y)
    });
    // And back, though the routine's scalars are what they were before.
    let y = bench.named("Y", 3);
    bench.calls(&["cublasSgemv_v2_64 host trans=1 m=4 n=3 alpha=2 a=A lda=5 x=X incx=1 beta=0.5 y=Y incy=1"], |blas| {
        blas.gemv(spec, &a, x.strided(4, 1), y)
    });
    let (a, x, y) = (bench.named::<f64>("A", 12), bench.named("X", 3), bench.named("Y", 4));
    bench.calls(
        &["cublasDgbmv_v2_64 host trans=0 m=4 n=3 kl=1 ku=2 alpha=1 a=A lda=4 x=X incx=1 beta=0 y=Y incy=1"],
        |blas| blas.gemv(Gemv::banded(4, 3, 1, 2), &a, &x, y),
    );
    // Nothing of a real type is conjugated; of a complex one it is.
    let (x, y) = (bench.named("X", 4), bench.named("Y", 3));
    bench.calls(
        &["cublasDgbmv_v2_64 host trans=1 m=4 n=3 kl=1 ku=2 alpha=1 a=A lda=4 x=X incx=1 beta=0 y=Y incy=1"],
        |blas| blas.gemv(Gemv::banded(4, 3, 1, 2).trans(Transpose::Conjugate), &a, &x, y),
    );
    let (a, x, y) = (bench.named("A", 6), bench.named("X", 2), bench.named("Y", 3));
    bench.calls(
        &["cublasZgemv_v2_64 host trans=2 m=2 n=3 alpha=2-1i a=A lda=2 x=X incx=1 beta=0+0i y=Y incy=1"],
        |blas| blas.gemv(Gemv::new(2, 3).trans(Transpose::Conjugate).alpha(Z), &a, &x, y),
    );
}

fn rank_one(bench: &Bench) {
    let (x, y, a) = (bench.named::<f32>("X", 3), bench.named("Y", 2), bench.named("A", 8));
    bench.calls(&["cublasSger_v2_64 host m=3 n=2 alpha=2 x=X incx=1 y=Y incy=1 a=A lda=4"], |blas| {
        blas.ger(Ger::new(3, 2).lda(4).alpha(2.0), &x, &y, a)
    });
    let (x, y, a) = (bench.named::<f32>("X", 3), bench.named("Y", 2), bench.named("A", 12));
    bench.calls(&["cublasSger_v2_64 host m=2 n=3 alpha=2 x=Y incx=1 y=X incy=1 a=A lda=4"], |blas| {
        blas.ger(Ger::new(3, 2).row_major().lda(4).alpha(2.0), &x, &y, a)
    });
    let (x, y, a) = (bench.named("X", 3), bench.named("Y", 3), bench.named("A", 6));
    bench.calls(&["cublasCgeru_v2_64 host m=3 n=2 alpha=2-1i x=X incx=-1 y=Y incy=2 a=A lda=3"], |blas| {
        blas.ger(Ger::new(3, 2).alpha(C), x.strided(3, -1), y.strided(2, 2), a)
    });
    let a = bench.named("A", 6);
    bench.calls(&["cublasCgerc_v2_64 host m=3 n=2 alpha=2-1i x=X incx=1 y=Y incy=1 a=A lda=3"], |blas| {
        blas.gerc(Ger::new(3, 2).alpha(C), &x, y.strided(2, 1), a)
    });
}

fn symmetric(bench: &Bench) {
    let (a, x, y) = (bench.named::<f64>("A", 12), bench.named("X", 3), bench.named("Y", 3));
    bench.calls(&["cublasDsymv_v2_64 host uplo=1 n=3 alpha=2 a=A lda=4 x=X incx=1 beta=0.5 y=Y incy=1"], |blas| {
        blas.symv(Symv::new(3, Uplo::Upper).lda(4).alpha(2.0).beta(0.5), &a, &x, y)
    });
    let (p, q, y) = (bench.named("P", 1), bench.named("Q", 1), bench.named("Y", 3));
    bench.calls(&["cublasDsymv_v2_64 device uplo=0 n=3 alpha=P a=A lda=3 x=X incx=1 beta=Q y=Y incy=1"], |blas| {
        blas.symv(Symv::new(3, Uplo::Lower).scalars_at(&p, &q), &a, &x, y)
    });
    let (a, x, y) = (bench.named::<f32>("A", 8), bench.named("X", 4), bench.named("Y", 4));
    bench.calls(&["cublasSsbmv_v2_64 host uplo=0 n=4 k=1 alpha=1 a=A lda=2 x=X incx=1 beta=0 y=Y incy=1"], |blas| {
        blas.symv(Symv::banded(4, 1, Uplo::Lower), &a, &x, y)
    });
    let (a, y) = (bench.named("A", 10), bench.named("Y", 4));
    bench.calls(&["cublasSspmv_v2_64 host uplo=1 n=4 alpha=1 ap=A x=X incx=1 beta=0 y=Y incy=1"], |blas| {
        blas.symv(Symv::packed(4, Uplo::Upper), &a, &x, y)
    });
}

fn hermitian(bench: &Bench) {
    let (a, x, y) = (bench.named("A", 9), bench.named("X", 3), bench.named("Y", 3));
    bench.calls(&["cublasChemv_v2_64 host uplo=0 n=3 alpha=2-1i a=A lda=3 x=X incx=1 beta=0+0i y=Y incy=1"], |blas| {
        blas.hemv(Symv::new(3, Uplo::Lower).alpha(C), &a, &x, y)
    });
    let y = bench.named("Y", 3);
    bench.calls(
        &["cublasChbmv_v2_64 host uplo=1 n=3 k=2 alpha=1+0i a=A lda=3 x=X incx=1 beta=2-1i y=Y incy=1"],
        |blas| blas.hemv(Symv::banded(3, 2, Uplo::Upper).beta(C), &a, &x, y),
    );
    let (a, x, y) = (bench.named("A", 6), bench.named("X", 3), bench.named("Y", 3));
    bench.calls(&["cublasZhpmv_v2_64 host uplo=0 n=3 alpha=2-1i ap=A x=X incx=1 beta=0+0i y=Y incy=1"], |blas| {
        blas.hemv(Symv::packed(3, Uplo::Lower).alpha(Z), &a, &x, y)
    });
}

fn updates(bench: &Bench) {
    let (x, y) = (bench.named::<f32>("X", 3), bench.named("Y", 3));
    let a = bench.named("A", 12);
    bench.calls(&["cublasSsyr_v2_64 host uplo=1 n=3 alpha=2 x=X incx=1 a=A lda=4"], |blas| {
        blas.syr(Syr::new(3, Uplo::Upper).lda(4).alpha(2.0), &x, a)
    });
    let a = bench.named("A", 6);
    bench.calls(&["cublasSspr_v2_64 host uplo=0 n=3 alpha=1 x=X incx=-1 ap=A"], |blas| {
        blas.syr(Syr::packed(3, Uplo::Lower), x.strided(3, -1), a)
    });
    let a = bench.named("A", 9);
    bench.calls(&["cublasSsyr2_v2_64 host uplo=0 n=3 alpha=2 x=X incx=1 y=Y incy=1 a=A lda=3"], |blas| {
        blas.syr2(Syr2::new(3, Uplo::Lower).alpha(2.0), &x, &y, a)
    });
    let (p, a) = (bench.named("P", 1), bench.named("A", 6));
    bench.calls(&["cublasSspr2_v2_64 device uplo=1 n=3 alpha=P x=X incx=1 y=Y incy=1 ap=A"], |blas| {
        blas.syr2(Syr2::packed(3, Uplo::Upper).alpha_at(&p), &x, &y, a)
    });
    let (x, y, a) = (bench.named("X", 3), bench.named("Y", 3), bench.named("A", 9));
    // One real factor, and a complex one.
    bench.calls(&["cublasCher_v2_64 host uplo=0 n=3 alpha=2 x=X incx=1 a=A lda=3"], |blas| {
        blas.her(Her::<Complex<f32>>::new(3, Uplo::Lower).alpha(2.0), &x, a)
    });
    let a = bench.named("A", 9);
    bench.calls(&["cublasCher2_v2_64 host uplo=1 n=3 alpha=2-1i x=X incx=1 y=Y incy=1 a=A lda=3"], |blas| {
        blas.her2(Syr2::new(3, Uplo::Upper).alpha(C), &x, &y, a)
    });
    let (x, y, a) = (bench.named("X", 3), bench.named("Y", 3), bench.named("A", 6));
    bench.calls(&["cublasZhpr_v2_64 host uplo=1 n=3 alpha=2 x=X incx=1 ap=A"], |blas| {
        blas.her(Her::<Complex<f64>>::packed(3, Uplo::Upper).alpha(2.0), &x, a)
    });
    let a = bench.named("A", 6);
    bench.calls(&["cublasZhpr2_v2_64 host uplo=0 n=3 alpha=2-1i x=X incx=1 y=Y incy=1 ap=A"], |blas| {
        blas.her2(Syr2::packed(3, Uplo::Lower).alpha(Z), &x, &y, a)
    });
}

fn triangular(bench: &Bench) {
    let a = bench.named::<f64>("A", 12);
    let full = Trmv::new(3, Uplo::Upper).trans(Transpose::Yes).diag(Diag::Unit).lda(4);
    let banded = Trmv::banded(3, 1, Uplo::Lower).diag(Diag::Unit);
    let packed = Trmv::packed(3, Uplo::Upper).trans(Transpose::Yes);
    let x = || bench.named("X", 3);
    let y = x();
    bench.calls(&["cublasDtrmv_v2_64 host uplo=1 trans=1 diag=1 n=3 a=A lda=4 x=X incx=1"], |b| b.trmv(full, &a, y));
    let y = x();
    bench.calls(&["cublasDtrsv_v2_64 host uplo=1 trans=1 diag=1 n=3 a=A lda=4 x=X incx=1"], |b| b.trsv(full, &a, y));
    let y = x();
    bench.calls(&["cublasDtbmv_v2_64 host uplo=0 trans=0 diag=1 n=3 k=1 a=A lda=2 x=X incx=1"], |blas| {
        blas.trmv(banded, &a, y)
    });
    let y = x();
    bench.calls(&["cublasDtbsv_v2_64 host uplo=0 trans=0 diag=1 n=3 k=1 a=A lda=2 x=X incx=1"], |blas| {
        blas.trsv(banded, &a, y)
    });
    let y = x();
    bench.calls(&["cublasDtpmv_v2_64 host uplo=1 trans=1 diag=0 n=3 ap=A x=X incx=1"], |b| b.trmv(packed, &a, y));
    let y = x().into_strided(3, -1);
    bench.calls(&["cublasDtpsv_v2_64 host uplo=1 trans=1 diag=0 n=3 ap=A x=X incx=-1"], |b| b.trsv(packed, &a, y));
}

fn batches(bench: &Bench) {
    let (a, x, y) = (bench.named::<f32>("A", 24), bench.named("X", 3), bench.named("Y", 8));
    let batch = Gemv::new(2, 3).batch(4).stride_x(0);
    bench.calls(
        &["cublasSgemvStridedBatched_64 host trans=0 m=2 n=3 alpha=1 a=A lda=2 stride_a=6 x=X incx=1 stride_x=0 \
           beta=0 y=Y incy=1 stride_y=2 batch=4"],
        |blas| blas.gemv_strided_batched(batch, &a, &x, y),
    );
    // The product is zero: nothing of it is read, and each y is scaled as the rows of a matrix.
    let y = bench.named("Y", 8);
    let zero = Gemv::new(2, 3).alpha(0.0).beta(0.5).batch(4);
    let (a, x) = (bench.named::<f32>("A", 24), bench.named("X", 12));
    bench.calls(
        &["cublasSgemmStridedBatched_64 host trans_a=0 trans_b=0 m=1 n=2 k=0 alpha=0 a=Y lda=1 stride_a=0 b=Y ldb=1 \
           stride_b=0 beta=0.5 c=Y ldc=1 stride_c=2 batch=4"],
        |blas| blas.gemv_strided_batched(zero, &a, &x, y),
    );
    let y = vec![bench.named("Y", 2), bench.named("Y", 2)];
    let (a, x) = ([a.as_in(), a.as_in()], [x.strided(3, 1), x.strided(3, 1)]);
    bench.calls(
        &["cublasSgemvBatched_64 host trans=0 m=2 n=3 alpha=1 a=scratch lda=2 x=scratch+16 incx=1 beta=0 \
           y=scratch+32 incy=1 batch=2"],
        |blas| blas.gemv_batched(Gemv::new(2, 3), &a, &x, y.into_iter().map(Into::into).collect()),
    );
    let y = vec![bench.named("Y", 2), bench.named("Y", 2)];
    bench.calls(
        &["cublasSgemmBatched_64 host trans_a=0 trans_b=0 m=1 n=2 k=0 alpha=0 a=scratch+32 lda=1 b=scratch+32 ldb=1 \
           beta=0 c=scratch+32 ldc=1 batch=2"],
        |blas| blas.gemv_batched(Gemv::new(2, 3).alpha(0.0), &a, &x, y.into_iter().map(Into::into).collect()),
    );
}
