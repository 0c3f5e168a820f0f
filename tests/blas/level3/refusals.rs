//! What level 3 refuses: an error that names the argument and both values, before anything runs, with the buffers back.

use crate::common::{devices, down, refused, routine, up};
use windlass::blas::{Dgmm, Geam, Her2k, Herk, LuBatch, Symm, Syr2k, Syrk, Triangular};
use windlass::{Complex, DeviceBuffer, Gemm, Rejected, Side, Transpose, Uplo, f16};

/// The refusal names `argument` and says `text`; the buffer is back.
#[track_caller]
fn refuses<T: windlass::Element>(
    answer: Result<windlass::PendingDispatch<DeviceBuffer<T>>, Rejected<(DeviceBuffer<T>,)>>,
    argument: &str,
    texts: &[&str],
) -> DeviceBuffer<T> {
    let Err(Rejected { error, back, .. }) = answer else { panic!("{argument} was not refused") };
    let (name, reason) = refused(&error);
    assert_eq!(name, argument, "{reason}");
    texts.iter().for_each(|text| assert!(reason.contains(text), "{reason} does not say {text}"));
    back.expect("the buffer").0
}

#[test]
fn matrices_that_do_not_fit_are_named() {
    for device in devices() {
        let blas = device.blas();
        let x = up(&device, vec![1f64; 9]);
        let mut c = up(&device, vec![5f64; 9]);
        let symm = Symm::new(Side::Left, Uplo::Lower, 3, 3);
        c = refuses(blas.symm(symm.lda(2), &x, &x, c), "lda", &["2", "3"]);
        c = refuses(blas.symm(symm.ldb(0), &x, &x, c), "ldb", &["0", "3"]);
        c = refuses(blas.symm(symm.ldc(4), &x, &x, c), "c", &["9 elements", "3 x 3", "ldc = 4", "11"]);
        c = refuses(
            blas.symm(Symm::new(Side::Right, Uplo::Lower, 1, 4), &x, &x, c),
            "a",
            &["9 elements", "4 x 4", "16"],
        );
        c = refuses(blas.symm(Symm::new(Side::Left, Uplo::Lower, 3, usize::MAX), &x, &x, c), "n", &["64-bit"]);
        c = refuses(blas.syrk(Syrk::new(Uplo::Upper, 3, 4), &x, c), "a", &["9 elements", "3 x 4", "12"]);
        c = refuses(blas.syrk(Syrk::new(Uplo::Upper, 3, 3).trans(Transpose::Yes).lda(2), &x, c), "lda", &["2", "3"]);
        c = refuses(blas.syr2k(Syr2k::new(Uplo::Upper, 3, 3).ldb(5), &x, &x, c), "b", &["9 elements", "13"]);
        c = refuses(blas.syrkx(Syr2k::new(Uplo::Upper, 4, 1), &x, &x, c), "c", &["9 elements", "4 x 4", "16"]);
        let triangular = Triangular::new(Side::Right, Uplo::Upper, 3, 3);
        c = refuses(blas.trsm(triangular.ldb(2), &x, c), "ldb", &["2", "3"]);
        c = refuses(blas.trmm(triangular.lda(4), &x, c), "a", &["9 elements", "11"]);
        c = refuses(blas.trmm_into(triangular.ldc(2), &x, &x, c), "ldc", &["2", "3"]);
        c = refuses(blas.geam(Geam::new(3, 3).lda(4), &x, &x, c), "a", &["9 elements", "11"]);
        c = refuses(blas.geam(Geam::new(9, 1).trans_b(Transpose::Yes).ldb(2), &x, &x, c), "b", &["1 x 9", "17"]);
        c = refuses(blas.dgmm(Dgmm::new(Side::Left, 3, 3), &x, &x, c), "x", &["9 elements", "m is 3"]);
        c = refuses(blas.dgmm(Dgmm::new(Side::Left, 3, 3), &x, x.strided(3, 0), c), "x", &["increment of 0"]);
        c = refuses(blas.dgmm(Dgmm::new(Side::Right, 3, 3).ldc(2), &x, x.strided(3, 1), c), "ldc", &["2", "3"]);
        c = refuses(blas.gemm(Gemm::new(2, 4, 2).row_major().ldc(3), &x, &x, c), "ldc", &["3", "4"]);
        assert_eq!(down(&device, &c), vec![5.0; 9], "nothing ran");
    }
}

#[test]
fn transposes_that_break_the_symmetry_are_refused() {
    for device in devices() {
        let blas = device.blas();
        let x = up(&device, vec![Complex::new(1f32, 1.0); 9]);
        let mut c = up(&device, vec![Complex::new(1f32, 1.0); 9]);
        let syrk = Syrk::new(Uplo::Upper, 3, 3).trans(Transpose::Conjugate);
        c = refuses(blas.syrk(syrk, &x, c), "trans", &["Conjugate"]);
        let syr2k = Syr2k::new(Uplo::Upper, 3, 3).trans(Transpose::Conjugate);
        c = refuses(blas.syr2k(syr2k, &x, &x, c), "trans", &["Conjugate"]);
        c = refuses(blas.syrkx(syr2k, &x, &x, c), "trans", &["Conjugate"]);
        c = refuses(blas.herk(Herk::new(Uplo::Upper, 3, 3).trans(Transpose::Yes), &x, c), "trans", &["Yes"]);
        let her2k = Her2k::new(Uplo::Upper, 3, 3).trans(Transpose::Yes);
        c = refuses(blas.her2k(her2k, &x, &x, c), "trans", &["Yes"]);
        refuses(blas.herkx(her2k, &x, &x, c), "trans", &["Yes"]);
    }
}

#[test]
fn batches_that_overlap_or_reach_too_far_are_refused() {
    for device in devices() {
        let blas = device.blas();
        let x = up(&device, vec![1f32; 12]);
        let mut c = up(&device, vec![1f32; 12]);
        let gemm = Gemm::new(2, 2, 2);
        c = refuses(blas.gemm_strided_batched(gemm.batch(3).stride_c(3), &x, &x, c), "c", &["4 elements", "3"]);
        c = refuses(blas.gemm_strided_batched(gemm.batch(4), &x, &x, c), "a", &["12 elements", "4 matrices", "16"]);
        let far = gemm.batch(3).stride_b(usize::MAX / 4);
        c = refuses(blas.gemm_strided_batched(far, &x, &x, c), "b", &["12 elements"]);
        c = refuses(blas.gemm_strided_batched(gemm.ldb(1).batch(3), &x, &x, c), "ldb", &["1", "2"]);
        let solve = Triangular::new(Side::Left, Uplo::Lower, 2, 2);
        c = refuses(blas.trsm_strided_batched(solve.batch(3).stride_b(0), &x, c), "b", &["overlap"]);
        drop(c);
        // Lists: all of them come back.
        let (list, c) = ([x.as_in(), x.as_in()], vec![up(&device, vec![1f32; 4])]);
        let Err(rejected) = blas.gemm_batched(gemm, &list, &list, c) else { panic!("two factors for one product") };
        assert_eq!(refused(&rejected.error).0, "a");
        assert_eq!(rejected.back.unwrap().0.len(), 1);
        let c = vec![up(&device, vec![1f32; 4]), up(&device, vec![1f32; 3])];
        let Err(rejected) = blas.gemm_batched(gemm, &list, &list, c) else { panic!("a short C") };
        assert_eq!((refused(&rejected.error).0.as_str(), rejected.back.unwrap().0.len()), ("c", 2));
        let c = vec![up(&device, vec![1f32; 4]), up(&device, vec![1f32; 4])];
        let Err(rejected) = blas.gemm_grouped(&[(gemm, usize::MAX), (gemm, 3)], &list, &list, c) else { panic!() };
        assert_eq!((refused(&rejected.error).0.as_str(), rejected.back.unwrap().0.len()), ("a", 2));
        let empty = up(&device, Vec::<f32>::new());
        let groups = [(gemm.into(), 1), (gemm.scalars_at(&x, &empty), 1)];
        let c = vec![up(&device, vec![1f32; 4]), up(&device, vec![1f32; 4])];
        let Err(rejected) = blas.gemm_grouped(&groups, &list, &list, c) else { panic!("a scalar of no element") };
        assert_eq!((refused(&rejected.error).0.as_str(), rejected.back.unwrap().0.len()), ("beta", 2));
        let b = || vec![up(&device, vec![1f32; 4]), up(&device, vec![1f32; 3])];
        let Err(rejected) = blas.trsm_batched(solve, &list[..1], b()) else { panic!("one A for two B") };
        let (name, reason) = refused(&rejected.error);
        assert!(name == "a" && reason.contains("1 matrices") && reason.contains("of 2"), "{reason}");
        let Err(rejected) = blas.trsm_batched(solve, &list, b()) else { panic!("a short B") };
        assert_eq!((refused(&rejected.error).0.as_str(), rejected.back.unwrap().0.len()), ("b", 2));
        let Err(rejected) = blas.trsm_batched(solve.lda(1), &[], vec![]) else { panic!("a leading dimension of none") };
        assert_eq!(refused(&rejected.error).0, "lda");
    }
}

#[test]
fn factorizations_need_room_for_pivots_and_info() {
    for device in devices() {
        let blas = device.blas();
        let refused_with = |lu: LuBatch, a: usize, pivots: usize, info: usize| {
            let (a, pivots) = (up(&device, vec![1f64; a]), up(&device, vec![0; pivots]));
            let Err(rejected) = blas.getrf_strided_batched(lu, a, pivots, up(&device, vec![0; info])) else {
                panic!("{lu:?}")
            };
            assert!(rejected.back.is_some());
            refused(&rejected.error)
        };
        let lu = LuBatch::new(2).batch(3);
        assert_eq!(refused_with(lu, 11, 6, 3).0, "a");
        let (name, reason) = refused_with(lu, 12, 5, 3);
        assert!(name == "pivots" && reason.contains('5') && reason.contains('6'), "{reason}");
        let (name, reason) = refused_with(lu, 12, 6, 2);
        assert!(name == "info" && reason.contains('2') && reason.contains('3'), "{reason}");
        assert_eq!(refused_with(lu.stride_a(3), 12, 6, 3).0, "a");
        assert_eq!(refused_with(lu.lda(1), 12, 6, 3).0, "lda");
        let (name, reason) = refused_with(LuBatch::new(usize::MAX), 1, 1, 1);
        assert!(name == "n" && reason.contains("32-bit"), "{reason}");
        let (x, places) = (up(&device, vec![1f64; 12]), up(&device, vec![1; 6]));
        let short = up(&device, vec![1f64; 5]);
        refuses(blas.getrs_strided_batched(lu, Transpose::No, 1, &x, &places, short), "b", &["5 elements", "6"]);
        let Err(rejected) =
            blas.getri_strided_batched(lu, &x, &places, up(&device, vec![1f64; 11]), up(&device, vec![0; 3]))
        else {
            panic!("C is too small")
        };
        assert!(refused(&rejected.error).0 == "c" && rejected.back.is_some());
        let Err(rejected) = blas.matinv_strided_batched(lu, &x, up(&device, vec![1f64; 12]), up(&device, vec![0; 2]))
        else {
            panic!("info is too small")
        };
        assert!(refused(&rejected.error).0 == "info" && rejected.back.is_some());
        // Lists: as many as there are to be, and no distances.
        let lists = || vec![up(&device, vec![1f64; 4]), up(&device, vec![1f64; 4]), up(&device, vec![1f64; 4])];
        let beside = || (up(&device, vec![0; 6]), up(&device, vec![0; 3]));
        let refused_with = |lu: LuBatch, a: Vec<DeviceBuffer<f64>>| {
            let ((pivots, info), count) = (beside(), a.len());
            let Err(rejected) = blas.getrf_batched(lu, a, pivots, info) else { panic!("{lu:?}") };
            assert_eq!(rejected.back.unwrap().0.len(), count);
            refused(&rejected.error)
        };
        let (name, reason) = refused_with(lu, lists()[..2].iter().map(|_| device.zeros(4).unwrap()).collect());
        assert!(name == "a" && reason.contains("2 matrices") && reason.contains("of 3"), "{reason}");
        let (name, reason) = refused_with(lu.stride_a(4), lists());
        assert!(name == "stride_a" && reason.contains('4'), "{reason}");
        assert_eq!(refused_with(lu.stride_b(4), lists()).0, "stride_b");
        assert_eq!(refused_with(lu.lda(3), lists()).0, "a");
        let (a, (pivots, info)) = ([x.as_in(), x.as_in(), x.as_in()], beside());
        let Err(rejected) = blas.getrs_batched(lu, Transpose::No, 3, &a, &pivots, lists()) else { panic!("a short B") };
        assert!(refused(&rejected.error).0 == "b" && rejected.back.unwrap().0.len() == 3);
        let Err(rejected) = blas.getri_batched(lu, &a[..2], &pivots, lists(), info) else { panic!("two for three") };
        assert!(refused(&rejected.error).0 == "a" && rejected.back.unwrap().0.len() == 3);
    }
}

#[test]
fn a_refusal_names_the_routine_that_was_called() {
    for device in devices() {
        let (blas, x) = (device.blas(), up(&device, [Complex::new(1f32, 0.0)]));
        let c = || up(&device, [Complex::new(1f32, 0.0)]);
        let (symm, lower) = (Symm::new(Side::Left, Uplo::Lower, 2, 2), Uplo::Lower);
        let triangular = Triangular::new(Side::Left, Uplo::Lower, 2, 2);
        assert_eq!(routine(blas.gemm(Gemm::new(2, 2, 2), &x, &x, c())), "gemm");
        assert_eq!(routine(blas.symm(symm, &x, &x, c())), "symm");
        assert_eq!(routine(blas.hemm(symm, &x, &x, c())), "hemm");
        assert_eq!(routine(blas.syrk(Syrk::new(lower, 2, 2), &x, c())), "syrk");
        assert_eq!(routine(blas.herk(Herk::new(lower, 2, 2), &x, c())), "herk");
        assert_eq!(routine(blas.syr2k(Syr2k::new(lower, 2, 2), &x, &x, c())), "syr2k");
        assert_eq!(routine(blas.her2k(Her2k::new(lower, 2, 2), &x, &x, c())), "her2k");
        assert_eq!(routine(blas.syrkx(Syr2k::new(lower, 2, 2), &x, &x, c())), "syrkx");
        assert_eq!(routine(blas.herkx(Her2k::new(lower, 2, 2), &x, &x, c())), "herkx");
        assert_eq!(routine(blas.trmm(triangular, &x, c())), "trmm");
        assert_eq!(routine(blas.trmm_into(triangular, &x, &x, c())), "trmm");
        assert_eq!(routine(blas.trsm(triangular, &x, c())), "trsm");
        assert_eq!(routine(blas.geam(Geam::new(2, 2), &x, &x, c())), "geam");
        assert_eq!(routine(blas.dgmm(Dgmm::new(Side::Left, 2, 2), &x, &x, c())), "dgmm");
        // Batches, and products of halves into f32.
        let (spec, of_x) = (Gemm::new(2, 2, 2), [x.as_in()]);
        assert_eq!(routine(blas.gemm_strided_batched(spec.batch(1), &x, &x, c())), "gemm_strided_batched");
        assert_eq!(routine(blas.gemm_batched(spec, &of_x, &of_x, vec![c()])), "gemm_batched");
        assert_eq!(routine(blas.gemm_grouped(&[(spec, 1)], &of_x, &of_x, vec![c()])), "gemm_grouped");
        assert_eq!(routine(blas.trsm_batched(triangular, &of_x, vec![c()])), "trsm_batched");
        assert_eq!(routine(blas.trsm_strided_batched(triangular.batch(1), &x, c())), "trsm_strided_batched");
        let (lu, pivots) = (LuBatch::new(2), up(&device, [1, 2]));
        let (beside, info) = (|| up(&device, [1, 2]), || up(&device, [0]));
        assert_eq!(routine(blas.getrf_batched(lu, vec![c()], beside(), info())), "getrf_batched");
        assert_eq!(routine(blas.getrf_strided_batched(lu, c(), beside(), info())), "getrf_strided_batched");
        let (no, list) = (Transpose::No, || vec![c()]);
        assert_eq!(routine(blas.getrs_batched(lu, no, 1, &of_x, &pivots, list())), "getrs_batched");
        assert_eq!(routine(blas.getrs_strided_batched(lu, no, 1, &x, &pivots, c())), "getrs_strided_batched");
        assert_eq!(routine(blas.getri_batched(lu, &of_x, &pivots, list(), info())), "getri_batched");
        assert_eq!(routine(blas.getri_strided_batched(lu, &x, &pivots, c(), info())), "getri_strided_batched");
        assert_eq!(routine(blas.matinv_batched(lu, &of_x, list(), info())), "matinv_batched");
        assert_eq!(routine(blas.matinv_strided_batched(lu, &x, c(), info())), "matinv_strided_batched");
        let (spec, x, c) = (Gemm::new(2, 2, 2), up(&device, [f16::ONE]), || up(&device, [1f32]));
        let of_x = [x.as_in()];
        assert_eq!(routine(blas.gemm_mixed(spec, &x, &x, c())), "gemm_mixed");
        assert_eq!(routine(blas.gemm_mixed_batched(spec, &of_x, &of_x, vec![c()])), "gemm_mixed_batched");
        assert_eq!(routine(blas.gemm_mixed_grouped(&[(spec, 1)], &of_x, &of_x, vec![c()])), "gemm_mixed_grouped");
        let answer = blas.gemm_mixed_strided_batched(spec.batch(1), &x, &x, c());
        assert_eq!(routine(answer), "gemm_mixed_strided_batched");
    }
}
