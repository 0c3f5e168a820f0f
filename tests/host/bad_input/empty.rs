//! Nothing at all is a size like any other: every operation of empty buffers with every size zero is done.

use crate::common::{devices, down, up};
use windlass::blas::{Dgmm, Geam, Gemv, Ger, Her, Her2k, Herk, LuBatch, Symm, Symv, Syr, Syr2, Syr2k, Syrk};
use windlass::blas::{Triangular, Trmv};
use windlass::{Complex, Device, DeviceBuffer, Element, Gemm, In, Matmul, Side, Transpose, Uplo};

type Z = Complex<f64>;

fn none<T: Element>(device: &Device) -> DeviceBuffer<T> {
    let buffer = device.uninit::<T>(0).unwrap();
    assert!(buffer.is_empty());
    buffer
}

/// Submits it and waits for it.
macro_rules! done {
    ($pending:expr) => {
        match $pending {
            Ok(pending) => match pending.await_result() {
                Ok(output) => output,
                Err(error) => panic!("{}: {}", stringify!($pending), windlass::Error::from(error)),
            },
            Err(error) => panic!("{}: {}", stringify!($pending), windlass::Error::from(error)),
        }
    };
}

#[test]
fn copies_of_nothing() {
    for device in devices() {
        let x = done!(device.upload(Vec::<f64>::new()));
        let x = done!(device.upload_into(&[][..], x));
        let x = done!(device.fill(x, 7.0));
        let y = done!(device.copy(&x, none(&device)));
        let y = done!(device.duplicate(&y));
        assert!(down(&device, &y).is_empty());
        device.download(&y).unwrap().await_result_into(&mut []).unwrap();
        let (left, right) = y.split_at(0).unwrap();
        let y = left.join(right).unwrap().narrow(0..0).unwrap().widen();
        assert!(down(&device, y.share()).is_empty());
        let device = &device;
        assert!(down(device, &device.zeros::<u8>(0).unwrap()).is_empty());
        // An empty part of what is not.
        let x = up(device, [1.0f32, 2.0]);
        for at in 0..=2 {
            assert!(down(device, x.as_in().slice(at..at).unwrap()).is_empty());
        }
    }
}

#[test]
fn vectors_of_nothing() {
    for device in devices() {
        let (blas, x) = (device.blas(), none::<f64>(&device));
        let (one, y) = (up(&device, [1.0f64]), || none::<f64>(&device));
        assert_eq!(done!(blas.asum(&x)), 0.0);
        assert_eq!(done!(blas.nrm2(&x)), 0.0);
        assert_eq!(done!(blas.dot(&x, &x)), 0.0);
        assert_eq!(done!(blas.dotc(&none::<Z>(&device), &none::<Z>(&device))), Z::default());
        assert_eq!(done!(blas.iamax(&x)), None);
        assert_eq!(done!(blas.iamin(&x)), None);
        let number = || up(&device, [9.0f64]);
        assert_eq!(down(&device, &done!(blas.asum_into(&x, number()))), [0.0]);
        assert_eq!(down(&device, &done!(blas.nrm2_into(&x, number()))), [0.0]);
        assert_eq!(down(&device, &done!(blas.dot_into(&x, &x, number()))), [0.0]);
        assert_eq!(down(&device, &done!(blas.dotc_into(&x, &x, number()))), [0.0]);
        assert_eq!(down(&device, &done!(blas.iamax_into(&x, up(&device, [9i64])))), [0]);
        assert_eq!(down(&device, &done!(blas.iamin_into(&x, up(&device, [9i64])))), [0]);
        assert!(done!(blas.axpy(2.0, &x, y())).is_empty());
        assert!(done!(blas.axpy(&one, &x, y())).is_empty());
        assert!(done!(blas.copy(&x, y())).is_empty());
        assert!(done!(blas.swap(y(), y())).0.is_empty());
        assert!(done!(blas.rotm([-1.0, 1.0, 2.0, 3.0, 4.0], y(), y())).0.is_empty());
        assert!(done!(blas.rotm(&up(&device, [-1.0, 1.0, 2.0, 3.0, 4.0]), y(), y())).0.is_empty());
        assert!(done!(blas.rot(0.0, 1.0, y(), y())).0.is_empty());
        assert!(done!(blas.rot(&one, &one, y(), y())).0.is_empty());
        assert!(done!(blas.rot_real(0.0, 1.0, y(), y())).0.is_empty());
        assert!(done!(blas.rot_real(&one, &one, y(), y())).0.is_empty());
        assert!(done!(blas.scal(2.0, y())).is_empty());
        assert!(done!(blas.scal(&one, y())).is_empty());
        assert!(done!(blas.scal_real(2.0, y())).is_empty());
        assert!(done!(blas.scal_real(&one, y())).is_empty());
        // No elements of a buffer that has some.
        let full = up(&device, [3.0f64]);
        let none = windlass::tensor::Layout::new([0], [1], 0).unwrap();
        assert_eq!(done!(blas.nrm2(full.view(&none).unwrap())), 0.0);
        assert_eq!(down(&device, done!(blas.scal(2.0, full.with_layout(none).unwrap())).buffer()), [3.0]);
    }
}

#[test]
fn matrices_of_nothing_and_vectors() {
    for device in devices() {
        let (blas, a, z) = (device.blas(), none::<f64>(&device), none::<Z>(&device));
        let (y, w) = (|| none::<f64>(&device), || none::<Z>(&device));
        assert!(done!(blas.gemv(Gemv::new(0, 0), &a, &a, y())).is_empty());
        assert!(done!(blas.gemv(Gemv::banded(0, 0, 0, 0), &a, &a, y())).is_empty());
        assert!(done!(blas.gemv_strided_batched(Gemv::new(0, 0).batch(0), &a, &a, y())).is_empty());
        assert!(done!(blas.gemv_strided_batched(Gemv::new(0, 0).batch(3), &a, &a, y())).is_empty());
        assert!(done!(blas.gemv_batched(Gemv::<f64>::new(0, 0), &[], &[], vec![])).is_empty());
        let all = done!(blas.gemv_batched(Gemv::new(0, 0), &[a.as_in()], &[(&a).into()], vec![y().into()]));
        assert_eq!(all.len(), 1);
        assert!(done!(blas.ger(Ger::new(0, 0), &a, &a, y())).is_empty());
        assert!(done!(blas.gerc(Ger::new(0, 0), &z, &z, w())).is_empty());
        for uplo in [Uplo::Upper, Uplo::Lower] {
            for symv in [Symv::new(0, uplo), Symv::banded(0, 0, uplo), Symv::packed(0, uplo)] {
                assert!(done!(blas.symv(symv, &a, &a, y())).is_empty());
            }
            assert!(done!(blas.hemv(Symv::new(0, uplo), &z, &z, w())).is_empty());
            assert!(done!(blas.syr(Syr::new(0, uplo), &a, y())).is_empty());
            assert!(done!(blas.her(Her::new(0, uplo), &z, w())).is_empty());
            assert!(done!(blas.syr2(Syr2::new(0, uplo), &a, &a, y())).is_empty());
            assert!(done!(blas.her2(Syr2::new(0, uplo), &z, &z, w())).is_empty());
            for trmv in [Trmv::new(0, uplo), Trmv::banded(0, 0, uplo), Trmv::packed(0, uplo)] {
                assert!(done!(blas.trmv(trmv, &a, y())).is_empty());
                assert!(done!(blas.trsv(trmv, &a, y())).is_empty());
            }
        }
    }
}

#[test]
fn products_of_nothing() {
    for device in devices() {
        let (blas, a, z) = (device.blas(), none::<f64>(&device), none::<Z>(&device));
        let (c, w) = (|| none::<f64>(&device), || none::<Z>(&device));
        let h = none::<windlass::f16>(&device);
        let single = || none::<f32>(&device);
        assert!(done!(blas.gemm(Gemm::new(0, 0, 0), &a, &a, c())).is_empty());
        assert!(done!(blas.gemm_mixed(Gemm::new(0, 0, 0), &h, &h, single())).is_empty());
        for count in [0, 3] {
            assert!(done!(blas.gemm_strided_batched(Gemm::new(0, 0, 0).batch(count), &a, &a, c())).is_empty());
            let mixed = blas.gemm_mixed_strided_batched(Gemm::new(0, 0, 0).batch(count), &h, &h, single());
            assert!(done!(mixed).is_empty());
            let solve = Triangular::new(Side::Left, Uplo::Upper, 0, 0);
            assert!(done!(blas.trsm_strided_batched(solve.batch(count), &a, c())).is_empty());
        }
        let (ins, halves) = ([a.as_in(); 2], [h.as_in(); 2]);
        for count in [0, 2] {
            let (ins, halves) = (&ins[..count], &halves[..count]);
            let outs = || (0..count).map(|_| c()).collect::<Vec<_>>();
            let singles = || (0..count).map(|_| single()).collect::<Vec<_>>();
            assert_eq!(done!(blas.gemm_batched(Gemm::new(0, 0, 0), ins, ins, outs())).len(), count);
            assert_eq!(done!(blas.gemm_mixed_batched(Gemm::new(0, 0, 0), halves, halves, singles())).len(), count);
            let groups = [(Gemm::new(0, 0, 0), count)];
            assert_eq!(done!(blas.gemm_grouped(&groups, ins, ins, outs())).len(), count);
            let groups = [(Gemm::new(0, 0, 0), count)];
            assert_eq!(done!(blas.gemm_mixed_grouped(&groups, halves, halves, singles())).len(), count);
            let solve = Triangular::new(Side::Right, Uplo::Lower, 0, 0);
            assert_eq!(done!(blas.trsm_batched(solve, ins, outs())).len(), count);
        }
        let no_groups: [(Gemm<f64>, usize); 0] = [];
        assert!(done!(blas.gemm_grouped(&no_groups, &[], &[], vec![])).is_empty());
        assert!(done!(blas.geam(Geam::new(0, 0), &a, &a, c())).is_empty());
        for side in [Side::Left, Side::Right] {
            assert!(done!(blas.dgmm(Dgmm::new(side, 0, 0), &a, &a, c())).is_empty());
            for uplo in [Uplo::Upper, Uplo::Lower] {
                assert!(done!(blas.symm(Symm::new(side, uplo, 0, 0), &a, &a, c())).is_empty());
                assert!(done!(blas.hemm(Symm::new(side, uplo, 0, 0), &z, &z, w())).is_empty());
                assert!(done!(blas.syrk(Syrk::new(uplo, 0, 0), &a, c())).is_empty());
                assert!(done!(blas.herk(Herk::new(uplo, 0, 0), &z, w())).is_empty());
                assert!(done!(blas.syr2k(Syr2k::new(uplo, 0, 0), &a, &a, c())).is_empty());
                assert!(done!(blas.syrkx(Syr2k::new(uplo, 0, 0), &a, &a, c())).is_empty());
                assert!(done!(blas.her2k(Her2k::new(uplo, 0, 0), &z, &z, w())).is_empty());
                assert!(done!(blas.herkx(Her2k::new(uplo, 0, 0), &z, &z, w())).is_empty());
                let solve = || Triangular::new(side, uplo, 0, 0);
                assert!(done!(blas.trmm(solve(), &a, c())).is_empty());
                assert!(done!(blas.trmm_into(solve(), &a, &a, c())).is_empty());
                assert!(done!(blas.trsm(solve(), &a, c())).is_empty());
            }
        }
        assert!(done!(device.blas_lt().matmul(Matmul::new(0, 0, 0), &a, &a, c())).is_empty());
        assert!(
            done!(device.blas_lt().matmul(Matmul::new(0, 0, 0).batch(3), &h, &h, none::<windlass::f16>(&device)))
                .is_empty()
        );
    }
}

#[test]
fn factors_of_nothing() {
    for device in devices() {
        let (blas, a, p) = (device.blas(), none::<f64>(&device), none::<i32>(&device));
        let (c, i) = (|| none::<f64>(&device), || none::<i32>(&device));
        for count in [0usize, 2] {
            let lu = || LuBatch::new(0).batch(count);
            let info = || up(&device, vec![9i32; count]);
            let factors = done!(blas.getrf_strided_batched(lu(), c(), i(), info()));
            assert!(factors.0.is_empty());
            assert_eq!(down(&device, &factors.2), vec![0; count], "there is nothing that could be singular");
            let (_, left) = done!(blas.getri_strided_batched(lu(), &a, &p, c(), info()));
            assert_eq!(down(&device, &left), vec![0; count]);
            let (_, left) = done!(blas.matinv_strided_batched(lu(), &a, c(), info()));
            assert_eq!(down(&device, &left), vec![0; count]);
            assert!(done!(blas.getrs_strided_batched(lu(), Transpose::No, 0, &a, &p, c())).is_empty());
            let (ins, outs): (Vec<In<'_, f64>>, _) =
                (vec![a.as_in(); count], || (0..count).map(|_| c()).collect::<Vec<_>>());
            let factors = done!(blas.getrf_batched(lu(), outs(), i(), info()));
            assert_eq!(down(&device, &factors.2), vec![0; count]);
            let (_, left) = done!(blas.getri_batched(lu(), &ins, &p, outs(), info()));
            assert_eq!(down(&device, &left), vec![0; count]);
            let (_, left) = done!(blas.matinv_batched(lu(), &ins, outs(), info()));
            assert_eq!(down(&device, &left), vec![0; count]);
            assert_eq!(done!(blas.getrs_batched(lu(), Transpose::No, 0, &ins, &p, outs())).len(), count);
        }
    }
}
