//! Matrices, and their batches.

use super::Bench;
use windlass::blas::{Her2k, Herk, Symm, Syr2k, Syrk, Triangular};
use windlass::{Complex, Diag, Gemm, Side, Transpose, Uplo, f16};

const C: Complex<f32> = Complex::new(2.0, -1.0);
const Z: Complex<f64> = Complex::new(2.0, -1.0);

pub(crate) fn all(bench: &Bench) {
    symmetric(bench);
    rank_k(bench);
    hermitian(bench);
    triangular(bench);
    without_a_product(bench);
    batches(bench);
}

#[test]
fn matrices_go_to_their_own_function_with_all_that_it_takes() {
    let bench = Bench::new();
    all(&bench);
    bench.finish();
}

fn symmetric(bench: &Bench) {
    let (a, b, c) = (bench.named::<f32>("A", 20), bench.named("B", 20), bench.named("C", 20));
    bench.calls(
        &["cublasSsymm_v2_64 host side=1 uplo=0 m=2 n=3 alpha=2 a=A lda=4 b=B ldb=5 beta=0.5 c=C ldc=6"],
        |blas| {
            let spec = Symm::new(Side::Right, Uplo::Lower, 2, 3).lda(4).ldb(5).ldc(6).alpha(2.0).beta(0.5);
            blas.symm(spec, &a, &b, c)
        },
    );
    let (p, q, c) = (bench.named("P", 1), bench.named("Q", 1), bench.named("C", 6));
    bench.calls(
        &["cublasSsymm_v2_64 device side=0 uplo=1 m=2 n=3 alpha=P a=A lda=2 b=B ldb=2 beta=Q c=C ldc=2"],
        |blas| blas.symm(Symm::new(Side::Left, Uplo::Upper, 2, 3).scalars_at(&p, &q), &a, &b, c),
    );
    let (a, b, c) = (bench.named("A", 4), bench.named("B", 6), bench.named("C", 6));
    bench.calls(
        &["cublasZhemm_v2_64 host side=0 uplo=1 m=2 n=3 alpha=2-1i a=A lda=2 b=B ldb=2 beta=0+0i c=C ldc=2"],
        |blas| blas.hemm(Symm::new(Side::Left, Uplo::Upper, 2, 3).alpha(Z), &a, &b, c),
    );
}

fn rank_k(bench: &Bench) {
    let (a, b) = (bench.named::<f64>("A", 12), bench.named("B", 15));
    let c = || bench.named("C", 16);
    let d = c();
    bench.calls(&["cublasDsyrk_v2_64 host uplo=1 trans=1 n=3 k=4 alpha=2 a=A lda=4 beta=0.5 c=C ldc=3"], |blas| {
        blas.syrk(Syrk::new(Uplo::Upper, 3, 4).trans(Transpose::Yes).alpha(2.0).beta(0.5), &a, d)
    });
    // A zero factor leaves nothing of A to read.
    let d = c();
    bench.calls(&["cublasDsyrk_v2_64 host uplo=0 trans=0 n=3 k=0 alpha=0 a=A lda=3 beta=0 c=C ldc=4"], |blas| {
        blas.syrk(Syrk::new(Uplo::Lower, 3, 4).alpha(0.0).ldc(4), &a, d)
    });
    let d = c();
    bench.calls(
        &["cublasDsyr2k_v2_64 host uplo=0 trans=0 n=3 k=2 alpha=2 a=A lda=3 b=B ldb=5 beta=0 c=C ldc=3"],
        |blas| blas.syr2k(Syr2k::new(Uplo::Lower, 3, 2).ldb(5).alpha(2.0), &a, &b, d),
    );
    let d = c();
    bench.calls(
        &["cublasDsyrkx_64 host uplo=1 trans=1 n=3 k=2 alpha=1 a=A lda=2 b=B ldb=2 beta=0.5 c=C ldc=3"],
        |blas| blas.syrkx(Syr2k::new(Uplo::Upper, 3, 2).trans(Transpose::Yes).beta(0.5), &a, &b, d),
    );
}

fn hermitian(bench: &Bench) {
    let (a, b) = (bench.named("A", 6), bench.named("B", 6));
    let c = || bench.named("C", 9);
    let d = c();
    // Both factors are real; of two products only that of the old matrix is.
    bench.calls(&["cublasCherk_v2_64 host uplo=0 trans=2 n=3 k=2 alpha=2 a=A lda=2 beta=0.5 c=C ldc=3"], |blas| {
        let spec = Herk::<Complex<f32>>::new(Uplo::Lower, 3, 2).trans(Transpose::Conjugate);
        blas.herk(spec.alpha(2.0).beta(0.5), &a, d)
    });
    let d = c();
    bench.calls(
        &["cublasCher2k_v2_64 host uplo=1 trans=0 n=3 k=2 alpha=2-1i a=A lda=3 b=B ldb=3 beta=0.5 c=C ldc=3"],
        |blas| blas.her2k(Her2k::new(Uplo::Upper, 3, 2).alpha(C).beta(0.5), &a, &b, d),
    );
    // By rows the transposed product: the other triangle, and the factors change places.
    let d = c();
    bench.calls(
        &["cublasCher2k_v2_64 host uplo=0 trans=2 n=3 k=2 alpha=2-1i a=B lda=2 b=A ldb=2 beta=0.5 c=C ldc=3"],
        |blas| blas.her2k(Her2k::new(Uplo::Upper, 3, 2).row_major().alpha(C).beta(0.5), &a, &b, d),
    );
    let (d, p, q) = (c(), bench.named("P", 1), bench.named("Q", 1));
    bench.calls(
        &["cublasCherkx_64 device uplo=1 trans=2 n=3 k=2 alpha=P a=A lda=2 b=B ldb=2 beta=Q c=C ldc=3"],
        |blas| {
            let spec = Her2k::new(Uplo::Upper, 3, 2).trans(Transpose::Conjugate);
            blas.herkx(spec.scalars_at(&p, &q), &a, &b, d)
        },
    );
}

fn triangular(bench: &Bench) {
    let a = bench.named::<f32>("A", 12);
    let spec = Triangular::new(Side::Right, Uplo::Upper, 2, 3).trans(Transpose::Yes).diag(Diag::Unit).lda(4).alpha(2.0);
    let b = bench.named("B", 6);
    bench.calls(
        &["cublasStrmm_v2_64 host side=1 uplo=1 trans=1 diag=1 m=2 n=3 alpha=2 a=A lda=4 b=B ldb=2 c=B ldc=2"],
        |blas| blas.trmm(spec, &a, b),
    );
    let (b, c) = (bench.named("B", 6), bench.named("C", 9));
    bench.calls(
        &["cublasStrmm_v2_64 host side=1 uplo=1 trans=1 diag=1 m=2 n=3 alpha=2 a=A lda=4 b=B ldb=2 c=C ldc=3"],
        |blas| blas.trmm_into(spec.ldc(3), &a, &b, c),
    );
    let b = bench.named("B", 6);
    bench.calls(
        &["cublasStrmm_v2_64 host side=0 uplo=0 trans=1 diag=1 m=3 n=2 alpha=2 a=A lda=4 b=B ldb=3 c=B ldc=3"],
        |blas| blas.trmm(spec.row_major(), &a, b),
    );
    let b = bench.named("B", 9);
    bench.calls(&["cublasStrsm_v2_64 host side=0 uplo=0 trans=0 diag=0 m=2 n=3 alpha=1 a=A lda=2 b=B ldb=3"], |blas| {
        blas.trsm(Triangular::new(Side::Left, Uplo::Lower, 2, 3).ldb(3), &a, b)
    });
    let (b, p) = (bench.named("B", 6), bench.named("P", 1));
    bench.calls(
        &["cublasStrsm_v2_64 device side=0 uplo=0 trans=0 diag=0 m=2 n=3 alpha=P a=A lda=2 b=B ldb=2"],
        |blas| blas.trsm(Triangular::new(Side::Left, Uplo::Lower, 2, 3).alpha_at(&p), &a, b),
    );
    let (a, b) = (bench.named::<f64>("A", 8), bench.named("B", 12));
    bench.calls(
        &["cublasDtrsmBatched_64 host side=0 uplo=1 trans=0 diag=1 m=2 n=3 alpha=2 a=scratch lda=2 b=scratch+16 ldb=2 \
           batch=2"],
        |blas| {
            let spec = Triangular::new(Side::Left, Uplo::Upper, 2, 3).diag(Diag::Unit).alpha(2.0);
            blas.trsm_strided_batched(spec.batch(2), &a, b)
        },
    );
    let (p, b) = (bench.named("P", 1), vec![bench.named("B", 6), bench.named("C", 6)]);
    bench.calls(
        &["cublasDtrsmBatched_64 device side=0 uplo=1 trans=0 diag=0 m=2 n=3 alpha=P a=scratch lda=2 b=scratch+16 ldb=2 \
           batch=2"],
        |blas| {
            let spec = Triangular::new(Side::Left, Uplo::Upper, 2, 3).alpha_at(&p);
            blas.trsm_batched(spec, &[a.as_in(), a.as_in()], b)
        },
    );
}

/// `alpha == 0`: what is left is `C = beta * C`, by a product that has no columns and reads nothing.
fn without_a_product(bench: &Bench) {
    let (a, b, c) = (bench.named::<f32>("A", 4), bench.named("B", 6), bench.named("C", 9));
    bench.calls(
        &["cublasSgemm_v2_64 host trans_a=0 trans_b=0 m=2 n=3 k=0 alpha=0 a=C lda=2 b=C ldb=1 beta=0.5 c=C ldc=3"],
        |blas| blas.symm(Symm::new(Side::Left, Uplo::Upper, 2, 3).alpha(0.0).beta(0.5).ldc(3), &a, &b, c),
    );
    let b = bench.named("B", 6);
    bench.calls(
        &["cublasSgemm_v2_64 host trans_a=0 trans_b=0 m=2 n=3 k=0 alpha=0 a=B lda=2 b=B ldb=1 beta=0 c=B ldc=2"],
        |blas| blas.trsm(Triangular::new(Side::Left, Uplo::Upper, 2, 3).alpha(0.0), &a, b),
    );
}

fn batches(bench: &Bench) {
    let (a, b, c) = (bench.named::<f64>("A", 12), bench.named("B", 24), bench.named("C", 16));
    let spec = Gemm::new(2, 4, 3).trans_a(Transpose::Yes).alpha(2.0).beta(0.5);
    bench.calls(
        &["cublasGemmStridedBatchedEx_64 host trans_a=1 trans_b=0 m=2 n=4 k=3 alpha=2 a=A a_type=1 lda=3 stride_a=0 \
           b=B b_type=1 ldb=3 stride_b=12 beta=0.5 c=C c_type=1 ldc=2 stride_c=8 batch=2 compute=70 algo=-1"],
        |blas| blas.gemm_strided_batched(spec.batch(2).stride_a(0), &a, &b, c),
    );
    // Halves are scaled by f32, and may be summed into f32.
    let (a, b, c) = (bench.named::<f16>("A", 12), bench.named("B", 12), bench.named("C", 8));
    bench.calls(
        &["cublasGemmStridedBatchedEx_64 host trans_a=0 trans_b=0 m=2 n=2 k=3 alpha=1 a=A a_type=2 lda=2 stride_a=6 \
           b=B b_type=2 ldb=3 stride_b=6 beta=0 c=C c_type=0 ldc=2 stride_c=4 batch=2 compute=68 algo=-1"],
        |blas| blas.gemm_mixed_strided_batched(Gemm::new(2, 2, 3).batch(2), &a, &b, c),
    );
    let (a, b) = (bench.named::<Complex<f32>>("A", 6), bench.named("B", 6));
    let c = vec![bench.named("C", 4), bench.named("C", 4), bench.named("C", 4)];
    bench.calls(
        &["cublasGemmBatchedEx_64 host trans_a=0 trans_b=2 m=2 n=2 k=3 alpha=2-1i a=scratch a_type=4 lda=2 b=scratch+24 \
           b_type=4 ldb=2 beta=0+0i c=scratch+48 c_type=4 ldc=2 batch=3 compute=68 algo=-1"],
        |blas| {
            let spec = Gemm::new(2, 2, 3).trans_b(Transpose::Conjugate).alpha(C);
            blas.gemm_batched(spec, &[a.as_in(); 3], &[b.as_in(); 3], c)
        },
    );
    let (a, b) = (bench.named::<f32>("A", 12), bench.named("B", 12));
    let c = vec![bench.named("C", 4), bench.named("C", 4), bench.named("C", 1)];
    let groups = [(Gemm::new(2, 2, 3).alpha(2.0), 2), (Gemm::new(1, 1, 4).trans_a(Transpose::Yes).beta(0.5), 1)];
    bench.calls(
        &["cublasGemmGroupedBatchedEx_64 host trans_a=[0,1] trans_b=[0,0] m=[2,1] n=[2,1] k=[3,4] alpha=[2,1] \
           a=scratch a_type=0 lda=[2,4] b=scratch+24 b_type=0 ldb=[3,4] beta=[0,0.5] c=scratch+48 c_type=0 ldc=[2,1] \
           groups=2 sizes=[2,1] compute=68"],
        |blas| blas.gemm_grouped(&groups, &[a.as_in(); 3], &[b.as_in(); 3], c),
    );
    // A group with scalars in device memory: a batch for each group, each in its own pointer mode.
    let (p, q, c) = (bench.named("P", 1), bench.named("Q", 1), vec![bench.named("C", 4), bench.named("C", 1)]);
    let groups = [(Gemm::new(2, 2, 3).alpha(2.0).into(), 1), (Gemm::new(1, 1, 4).scalars_at(&p, &q), 1)];
    bench.calls(
        &[
            "cublasGemmBatchedEx_64 host trans_a=0 trans_b=0 m=2 n=2 k=3 alpha=2 a=scratch a_type=0 lda=2 b=scratch+16 \
             b_type=0 ldb=3 beta=0 c=scratch+32 c_type=0 ldc=2 batch=1 compute=68 algo=-1",
            "cublasGemmBatchedEx_64 device trans_a=0 trans_b=0 m=1 n=1 k=4 alpha=P a=scratch+8 a_type=0 lda=1 \
             b=scratch+24 b_type=0 ldb=4 beta=Q c=scratch+40 c_type=0 ldc=1 batch=1 compute=68 algo=-1",
        ],
        |blas| blas.gemm_grouped(&groups, &[a.as_in(); 2], &[b.as_in(); 2], c),
    );
}
