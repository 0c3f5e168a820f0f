//! Nothing at all is a size like any other: every operation of empty buffers with every size zero is done.

use crate::common::{columns, devices, down, into_columns, up};
use windlass::blas::{Geam, Gemv, Ger, Her2k, Herk, Symm, Symv, Syr, Syr2k, Syrk};
use windlass::blas::{Triangular, Trmv};
use windlass::tensor::Layout;
use windlass::{Complex, Device, DeviceBuffer, Element, Gemm, Matmul, Side, Tensor, TensorRef, Transpose, Uplo};

type Z = Complex<f64>;

fn none<T: Element>(device: &Device) -> DeviceBuffer<T> {
    let buffer = device.uninit::<T>(0).unwrap();
    assert!(buffer.is_empty());
    buffer.into_buffer()
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
        let (left, right) = y.into_buffer().split_at(0).unwrap();
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
        let (of_a, of_z) = (columns(&a, 0, 0), columns(&z, 0, 0));
        let (square, of_w) = (|| into_columns(y(), 0, 0), || into_columns(w(), 0, 0));
        let band = columns(&a, 1, 0);
        assert!(done!(blas.gemv(Gemv::new(), &of_a, &a, y())).is_empty());
        assert!(done!(blas.gemv(Gemv::banded(0, 0), &band, &a, y())).is_empty());
        for count in [0, 3] {
            let vectors = || y().with_layout(Layout::rows(count, 0)).unwrap();
            let matrices = a.view(Layout::columns(0, 0).batch(count, 0)).unwrap();
            assert!(done!(blas.gemv(Gemv::new(), matrices, &vectors(), vectors())).is_empty());
        }
        let no: [TensorRef<'_, f64>; 0] = [];
        assert!(done!(blas.gemv_batched(Gemv::new(), no.clone(), no, Vec::<Tensor<f64>>::new())).is_empty());
        let all = done!(blas.gemv_batched(Gemv::new(), [&of_a], [&a], [y()]));
        assert_eq!(all.len(), 1);
        assert!(done!(blas.ger(Ger::new(), &a, &a, square())).is_empty());
        assert!(done!(blas.gerc(Ger::new(), &z, &z, of_w())).is_empty());
        for uplo in [Uplo::Upper, Uplo::Lower] {
            for (symv, of) in
                [(Symv::new(uplo), &of_a), (Symv::banded(uplo), &band), (Symv::packed(uplo), &a.as_in().into())]
            {
                assert!(done!(blas.symv(symv, of, &a, y())).is_empty());
            }
            assert!(done!(blas.hemv(Symv::new(uplo), &of_z, &z, w())).is_empty());
            assert!(done!(blas.syr(Syr::new(uplo), &a, square())).is_empty());
            assert!(done!(blas.her(Syr::new(uplo), &z, of_w())).is_empty());
            assert!(done!(blas.syr2(Syr::new(uplo), &a, &a, square())).is_empty());
            assert!(done!(blas.her2(Syr::new(uplo), &z, &z, of_w())).is_empty());
            for (trmv, of) in
                [(Trmv::new(uplo), &of_a), (Trmv::banded(uplo), &band), (Trmv::packed(uplo), &a.as_in().into())]
            {
                assert!(done!(blas.trmv(trmv, of, y())).is_empty());
                assert!(done!(blas.trsv(trmv, of, y())).is_empty());
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
        let (on_a, on_h) = (columns(&a, 0, 0), columns(&h, 0, 0));
        assert!(done!(blas.gemm(Gemm::new(), &on_a, &on_a, into_columns(c(), 0, 0))).buffer().is_empty());
        assert!(done!(blas.gemm_mixed(Gemm::new(), &on_h, &on_h, into_columns(single(), 0, 0))).buffer().is_empty());
        for count in [0, 3] {
            let all = Layout::columns(0, 0).batch(count, 0);
            let of_c = blas.gemm(Gemm::new(), a.view(all).unwrap(), &on_a, c().with_layout(all).unwrap());
            assert!(done!(of_c).buffer().is_empty());
            let mixed = blas.gemm_mixed(Gemm::new(), &on_h, &on_h, single().with_layout(all).unwrap());
            assert!(done!(mixed).buffer().is_empty());
            let x = blas.trsm(Triangular::new(Side::Left, Uplo::Upper), &on_a, c().with_layout(all).unwrap());
            assert!(done!(x).buffer().is_empty());
        }
        for count in [0, 2] {
            let (all, halves) = (vec![&on_a; count], vec![&on_h; count]);
            let (all, halves) = (|| all.iter().copied(), || halves.iter().copied());
            let tensors = || (0..count).map(|_| into_columns(c(), 0, 0));
            let singles = || (0..count).map(|_| into_columns(single(), 0, 0));
            assert_eq!(done!(blas.gemm_batched(Gemm::new(), all(), all(), tensors())).len(), count);
            assert_eq!(done!(blas.gemm_mixed_batched(Gemm::new(), halves(), halves(), singles())).len(), count);
            let grouped = blas.gemm_grouped([(Gemm::new(), count)], all(), all(), tensors());
            assert_eq!(done!(grouped).len(), count);
            let grouped = blas.gemm_mixed_grouped([(Gemm::new(), count)], halves(), halves(), singles());
            assert_eq!(done!(grouped).len(), count);
            let solve = Triangular::new(Side::Right, Uplo::Lower);
            assert_eq!(done!(blas.trsm_batched(solve, all(), tensors())).len(), count);
        }
        let nothing: [windlass::Tensor<f64>; 0] = [];
        let grouped = blas.gemm_grouped([], &nothing, &nothing, [] as [windlass::Tensor<f64>; 0]);
        assert!(done!(grouped).is_empty());
        let on_z = columns(&z, 0, 0);
        let (of_c, of_w) = (|| into_columns(c(), 0, 0), || into_columns(w(), 0, 0));
        assert!(done!(blas.geam(Geam::new(), &on_a, &on_a, of_c())).is_empty());
        for side in [Side::Left, Side::Right] {
            assert!(done!(blas.dgmm(side, &on_a, &a, of_c())).is_empty());
            for uplo in [Uplo::Upper, Uplo::Lower] {
                assert!(done!(blas.symm(Symm::new(side, uplo), &on_a, &on_a, of_c())).is_empty());
                assert!(done!(blas.hemm(Symm::new(side, uplo), &on_z, &on_z, of_w())).is_empty());
                assert!(done!(blas.syrk(Syrk::new(uplo), &on_a, of_c())).is_empty());
                assert!(done!(blas.herk(Herk::new(uplo), &on_z, of_w())).is_empty());
                assert!(done!(blas.syr2k(Syr2k::new(uplo), &on_a, &on_a, of_c())).is_empty());
                assert!(done!(blas.syrkx(Syr2k::new(uplo), &on_a, &on_a, of_c())).is_empty());
                assert!(done!(blas.her2k(Her2k::new(uplo), &on_z, &on_z, of_w())).is_empty());
                assert!(done!(blas.herkx(Her2k::new(uplo), &on_z, &on_z, of_w())).is_empty());
                let solve = || Triangular::new(side, uplo);
                assert!(done!(blas.trmm(solve(), &on_a, of_c())).is_empty());
                assert!(done!(blas.trmm_into(solve(), &on_a, &on_a, of_c())).is_empty());
                assert!(done!(blas.trsm(solve(), &on_a, of_c())).is_empty());
            }
        }
        let (lt, square) = (device.blas_lt(), windlass::tensor::Layout::columns(0, 0));
        let (a, d) = (a.view(square).unwrap(), c().with_layout(square).unwrap());
        assert!(lt.matmul(Matmul::new(), &a, &a, d).unwrap().await_result().unwrap().layout().is_empty());
        let (h, d) = (h.view(square.batch(3, 0)).unwrap(), none::<windlass::f16>(&device));
        let d = d.with_layout(square.batch(3, 0)).unwrap();
        assert!(lt.matmul(Matmul::new(), &h, &h, d).unwrap().await_result().unwrap().layout().is_empty());
    }
}

#[test]
fn factors_of_nothing() {
    for device in devices() {
        let blas = device.blas();
        for count in [0usize, 2] {
            let none = |extents: [usize; 3]| device.uninit::<f64>(extents).unwrap();
            let (a, p) = (none([count, 0, 0]), device.uninit::<i32>([count, 0]).unwrap());
            let (c, i) = (|| none([count, 0, 0]), || device.uninit::<i32>([count, 0]).unwrap());
            let info = || up(&device, vec![9i32; count]);
            let factors = done!(blas.getrf(c(), i(), info()));
            assert!(factors.0.is_empty());
            assert_eq!(down(&device, &factors.2), vec![0; count], "there is nothing that could be singular");
            let (_, left) = done!(blas.getri(&a, &p, c(), info()));
            assert_eq!(down(&device, &left), vec![0; count]);
            let (_, left) = done!(blas.matinv(&a, c(), info()));
            assert_eq!(down(&device, &left), vec![0; count]);
            assert!(done!(blas.getrs(Transpose::No, &a, &p, c())).is_empty());
            let list = || (0..count).map(|_| device.uninit::<f64>([0, 0]).unwrap()).collect::<Vec<_>>();
            let factors = done!(blas.getrf_batched(list(), i(), info()));
            assert_eq!(down(&device, &factors.2), vec![0; count]);
            let (_, left) = done!(blas.getri_batched(&list(), &p, list(), info()));
            assert_eq!(down(&device, &left), vec![0; count]);
            let (_, left) = done!(blas.matinv_batched(&list(), list(), info()));
            assert_eq!(down(&device, &left), vec![0; count]);
            assert_eq!(done!(blas.getrs_batched(Transpose::No, &list(), &p, list())).len(), count);
        }
    }
}
